"""Which release of transformers the closed forms of a run are asked about, and that nothing is imported to know it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_bertsize.config.which_release import asked_about
from pytest_bertsize.release import NEWEST, Release
from pytest_bertsize.table.settings import Settings, SettingsError, parse

MODEL = '[tool.bertsize.models.encoder]\nconfig = "config.json"\nbudget = "report-only"\n'


def settings(root: Path, transformers: str | None = None, installed: str | None = None) -> Settings:
    """Settings of a project whose environment has a release, or none; ``transformers`` is what its table says."""
    site = root / "env/lib/python3.12/site-packages"
    site.mkdir(parents=True)
    (root / "env/pyvenv.cfg").write_text("version = 3.12.1\n")
    if installed:
        (site / f"transformers-{installed}.dist-info").mkdir()
    key = f'transformers = "{transformers}"\n' if transformers is not None else ""
    return parse(f'[tool.bertsize]\n{key}python = "env/bin/python"\n{MODEL}', root / "pyproject.toml")


def test_the_one_that_is_installed_where_models_are_built_counts_else_the_tables_else_the_newest(
    tmp_path: Path,
) -> None:
    found = asked_about(settings(tmp_path / "a", installed="4.57.6"))
    assert (found.release, str(found)) == (Release(4, 57, 6), "4.57.6")
    assert asked_about(settings(tmp_path / "b", "4.57", "4.57.6")) == found
    found = asked_about(settings(tmp_path / "c", "4.57"))
    assert (found.release, str(found)) == (Release(4, 57), "4.57 (as the table says: none is installed)")
    found = asked_about(settings(tmp_path / "d"))
    assert (found.release, str(found)) == (NEWEST, "5.23 (the newest that is known: none is installed)")


def test_a_table_that_says_another_than_the_installed_one_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as mistaken:
        asked_about(settings(tmp_path, "4.57", "5.23.0"))
    assert str(mistaken.value) == (
        "pyproject.toml:2: tool.bertsize.transformers: transformers is '4.57', but 5.23.0 is installed and builds; "
        "correct it, or install that release"
    )


@pytest.mark.parametrize("installed", ["4.39.3", "5.0.0", "unknown"])
def test_an_installed_one_that_is_not_known_is_a_mistake_with_a_way_out(tmp_path: Path, installed: str) -> None:
    with pytest.raises(SettingsError, match=r"; install transformers 4\.40 or newer, 5\.0 excepted$"):
        asked_about(settings(tmp_path, installed=installed))
