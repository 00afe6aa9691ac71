"""Which release of transformers the closed forms of a run are asked about, and that nothing is imported to know it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_bertsize.release import NEWEST, Release
from pytest_bertsize.table import which_release
from pytest_bertsize.table.settings import Settings, SettingsError, parse
from pytest_bertsize.table.which_release import asked_about

MODEL = '[tool.bertsize.models.encoder]\nconfig = "config.json"\nbudget = "report-only"\n'


def settings(transformers: str | None = None) -> Settings:
    key = f'[tool.bertsize]\ntransformers = "{transformers}"\n' if transformers is not None else ""
    return parse(key + MODEL, Path("pyproject.toml"))


@pytest.fixture
def none_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(which_release, "installed", lambda: None)


def test_the_installed_one_counts() -> None:
    found = asked_about(settings(), "4.57.6")
    assert (found.release, str(found)) == (Release(4, 57, 6), "4.57.6")
    assert asked_about(settings("4.57"), "4.57.6") == found
    assert asked_about(None, "4.57.6") == found


@pytest.mark.usefixtures("none_installed")
def test_where_none_is_installed_the_table_says() -> None:
    found = asked_about(settings("4.57"))
    assert (found.release, str(found)) == (Release(4, 57), "4.57 (as the table says: none is installed)")


@pytest.mark.usefixtures("none_installed")
def test_where_nothing_says_the_newest_that_is_known_is_assumed_and_said() -> None:
    found = asked_about(settings())
    assert (found.release, str(found)) == (NEWEST, "5.23 (the newest that is known: none is installed)")


def test_a_table_that_says_another_than_the_installed_one_is_a_mistake() -> None:
    with pytest.raises(SettingsError) as mistaken:
        asked_about(settings("4.57"), "5.23.0")
    assert str(mistaken.value) == (
        "pyproject.toml:2: tool.bertsize.transformers: transformers is '4.57', and 5.23.0 is installed, which builds; "
        "correct it, or install what it says"
    )


@pytest.mark.parametrize("version", ["4.39.3", "5.0.0", "unknown"])
def test_an_installed_one_that_is_not_known_is_a_mistake_with_a_way_out(version: str) -> None:
    with pytest.raises(SettingsError, match=r"; install transformers 4\.40 or newer, 5\.0 excepted$"):
        asked_about(settings(), version)


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("5.0", "transformers 5.0.0 loses ties on the meta device, as every 5.0 does: its counts are wrong"),
        ("3.5", "transformers 3.5.0 is older than 4.40, the oldest whose closed forms are known"),
        (">=4.40", "'>=4.40' is no release of transformers; write \"4.57\", for example"),
    ],
)
def test_a_table_that_names_none_is_a_mistake_with_its_line(written: str, says: str) -> None:
    with pytest.raises(SettingsError) as mistaken:
        settings(written)
    assert str(mistaken.value) == f"pyproject.toml:2: tool.bertsize.transformers: {says}"
