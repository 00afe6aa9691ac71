"""``bertsize accept``: limit, reason and lock in one step, by the code that ``--bert-budget-update`` runs."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bertsize.builder.helper import Helper
from pytest_bertsize.commands.accept import accept
from pytest_bertsize.commands.check import check
from pytest_bertsize.commands.console import FOUND, GOOD, MISTAKEN
from tests.conftest import TABLE
from tests.support.git_projects import repository

if TYPE_CHECKING:
    from tests.conftest import Project

LOCKED = f'    [tool.bertsize]\n    lock = "bertsize.lock"{TABLE}'
WRITTEN = ["pyproject.toml:9: bursts: head 2,548 → 2,549, for 2,549", "→ reason: written for bursts; commit it"]


def said(*names: str, reason: str = "ADR-12", **more: Any) -> tuple[int, list[str], list[str]]:
    out, err = io.StringIO(), io.StringIO()
    status = accept(Path(), Helper(), names, reason, out=out, err=err, **more)
    return status, out.getvalue().splitlines(), err.getvalue().splitlines()


def checked() -> int:
    """The status of a check against the last commit."""
    return check(Path(), None, base="HEAD", out=io.StringIO())


def text() -> str:
    return Path("pyproject.toml").read_text("utf-8")


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def test_limit_reason_and_lock_are_written_together_and_the_next_check_against_the_base_is_green(
    project: Project,
) -> None:
    project(LOCKED)
    repository(Path()).commit()
    before = text()
    assert said() == (GOOD, [*WRITTEN, "→ bertsize.lock: written for bursts, fits; commit it"], [])
    assert text() == before.replace("2_548", '2_549\nreason = "ADR-12"')
    assert "[models.bursts]" in Path("bertsize.lock").read_text("utf-8")
    assert checked() == GOOD
    nothing = "no limit that can be raised is exceeded, and none was raised; no reason is written"
    assert said()[:2] == (GOOD, [nothing])


def test_a_reason_that_the_base_has_explains_no_change(project: Project) -> None:
    project(f'{LOCKED}    reason = "ADR-12"\n')
    repository(Path()).commit()
    before = text()
    assert said()[0] == GOOD
    assert checked() == FOUND
    Path("pyproject.toml").write_text(before, "utf-8")
    assert said(reason="ADR-13")[0] == GOOD
    assert checked() == GOOD


@pytest.mark.parametrize("since", [{"base": "HEAD"}, {}])
def test_a_limit_that_was_raised_without_a_reason_is_given_it(project: Project, since: dict[str, str]) -> None:
    project(TABLE)
    repository(Path()).commit()
    Path("pyproject.toml").write_text(text().replace("2_548", "2_549"))
    assert checked() == FOUND
    assert said(**since)[:2] == (GOOD, ["→ reason: written for bursts; commit it"])
    assert checked() == GOOD


def test_a_reason_for_what_the_base_cannot_be_asked_is_written_too(project: Project) -> None:
    """Of a model without a closed form, the first lock, which its limit of growth is held against from then on."""
    uncounted = "closed_form = false\n    budget.total = 60_000\n    budget.growth = 0"
    project(LOCKED.replace("budget.head = 2_548", uncounted))
    repository(Path()).commit()
    status, lines, _ = said("bursts", base="HEAD", reason="the first lock")
    assert (status, lines[0]) == (GOOD, "→ reason: written for bursts; commit it")
    assert 'reason = "the first lock"' in text()
    assert "[models.bursts]" in Path("bertsize.lock").read_text("utf-8")


def test_only_the_models_that_are_named_are_accepted(project: Project) -> None:
    project(TABLE.replace('"60K"', '"50K"'))
    before = text()
    status, lines, _ = said("fits")
    assert (status, len(lines)) == (GOOD, 2)
    assert text() == before.replace('"50K"', '"60K"\nreason = "ADR-12"')


def test_a_model_that_fails_otherwise_is_told_and_left(project: Project, tiny: dict[str, Any]) -> None:
    project(TABLE, {**tiny, "hidden_act": "no such"})
    before = text()
    status, lines, _ = said("bursts")
    assert status == FOUND
    assert any("no such" in line for line in lines)
    assert text() == before


def test_a_mistake_is_one_line_and_writes_nothing(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project(LOCKED)
    before = text()
    undeclared = 'pyproject.toml declares no model "burst", only fits, bursts; did you mean'
    for ci, name, message in (
        ("", "burst", undeclared),
        ("1", "bursts", "this runs in CI (GITLAB_CI=1), where nobody "),
    ):
        monkeypatch.setenv("GITLAB_CI", ci)
        status, lines, mistakes = said(name)
        assert (status, lines, len(mistakes)) == (MISTAKEN, [], 1)
        assert mistakes[0].startswith(f"ERROR: bertsize accept: {message}")
    assert (text(), Path("bertsize.lock").exists()) == (before, False)
