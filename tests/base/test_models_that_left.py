"""A model that leaves the table takes its limit with it, which is loosened more than any other: it needs a reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_bertsize.commands.console import FOUND, GOOD
from tests.support.git_projects import FITS, GitProject, committed

OTHER = FITS.replace("fits", "other").replace("config.json", "other.json")
REMOVED = '[tool.bertsize.removed]\nfits = "ADR-14: replaced by other"\n'
FORMER = "fits (config.json, 59,549 parameters under a limit of 90K)"
SAID = f"removed: main declares {FORMER}"
SAY_WHY = 'and this table does not; if you meant to remove it, give the reason in the same change: [tool.bertsize.removed] fits = "…"'


@pytest.fixture
def change(tmp_path: Path, tiny: dict[str, Any]) -> GitProject:
    found = committed(tmp_path / "change", tiny)
    found.write("other.json", {**tiny, "vocab_size": 50})
    found.declare(OTHER)
    return found


def test_a_model_that_left_without_a_word_fails_the_run(change: GitProject) -> None:
    status, said = change.check("r.json", "r.md", "r.html")
    assert status == FOUND
    assert f"ERROR: {SAID}, {SAY_WHY}" in said
    assert "1 configured, 1 checked, 0 failed, 1 removed without a reason" in said
    report = json.loads((change.folder / "r.json").read_text())
    assert (report["failed"], report["checked"], report["complete"]) == (1, 1, True)
    (removed,) = report["base"]["removed"]
    texts = {"name": "fits", "config": "config.json", "limit": "90K", "problem": "", "reason": ""}
    assert removed == {**texts, "total": 59_549, "failed": True}
    assert f"- ❌ {SAID}, and this table does not; " in (change.folder / "r.md").read_text()
    assert "1 model left the table without a reason: fits" in (change.folder / "r.html").read_text()


def test_a_reason_lets_it_leave_and_is_shown(change: GitProject) -> None:
    change.declare(OTHER + REMOVED)
    status, said = change.check("r.json")
    assert status == GOOD
    assert f"- {SAID}; its reason: ADR-14: replaced by other" in said
    (removed,) = json.loads((change.folder / "r.json").read_text())["base"]["removed"]
    assert (removed["reason"], removed["failed"]) == ("ADR-14: replaced by other", False)


def test_a_later_change_may_drop_the_reason(change: GitProject) -> None:
    change.base_on(OTHER + REMOVED)
    assert change.check()[0] == GOOD
    change.declare(OTHER)
    assert change.check()[0] == GOOD


def test_a_reason_that_was_there_before_of_another_name_or_of_blanks_explains_nothing(change: GitProject) -> None:
    for removed in ('fit = "gone"', r'fits = "\u200b\u2800\u3164"'):
        change.declare(f"{OTHER}[tool.bertsize.removed]\n{removed}\n")
        assert change.check()[0] == FOUND
    change.base_on(FITS + REMOVED)
    for blank in ("", "\\u200b"):
        change.declare(OTHER + REMOVED.replace("other", f"other{blank}"))
        assert change.check()[0] == FOUND


def test_a_model_that_was_held_to_no_limit_may_leave(change: GitProject) -> None:
    change.base_on(FITS.replace('budget.total = "90K"', 'budget = "report-only"'))
    change.declare(OTHER)
    status, said = change.check()
    assert status == GOOD
    assert "removed: main declares fits (config.json, 59,549 parameters)" in said
