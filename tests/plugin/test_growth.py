"""Growth in a run of pytest: what was built is held against the base, by a marker alone too, and nobody raises it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.git_projects import LAYER, git

if TYPE_CHECKING:
    from tests.conftest import Project

TABLE = """
[tool.bertsize.models.encoder]
config = "config.json"
budget.total = "60K"
budget.growth = { total = "1%", head = 0 }
"""
MARKED = "import pytest\n@pytest.mark.bert_budget\ndef test_it(): pass"


@pytest.fixture
def deeper(project: Project, tiny: dict[str, Any]) -> pytest.Pytester:
    """A project whose config has a layer more than that of the base."""
    found = project(TABLE, test_a=MARKED)
    for arguments in (["init", "--quiet", "--initial-branch", "main"], ["add", "--all", "."]):
        git(found.path, *arguments)
    git(found.path, "commit", "--quiet", "--message", "state")
    Path("config.json").write_text(json.dumps({**tiny, "num_hidden_layers": 4}), encoding="utf-8")
    return found


def test_what_was_built_is_held_against_the_base(deeper: pytest.Pytester) -> None:
    result = deeper.runpytest("--bert-budget", "--bert-budget-base=main", "-k", "toml")
    result.assert_outcomes(failed=1, deselected=1)
    # 59,549/100 is 595.49, and 16,632 - 595 is 16,037
    result.stdout.fnmatch_lines(
        [
            f"✗ growth * {LAYER:,} *",
            "  growth.head * 0 *",
            "✗ total grew by 16,632 since main, 16,037 over its limit of 1% (595 of 59,549)",
            "  (pyproject.toml:6)",
        ]
    )


def test_a_marker_alone_holds_growth_where_ci_names_the_base(
    deeper: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(deeper.path, "update-ref", "refs/remotes/origin/main", "main")
    monkeypatch.setenv("GITHUB_BASE_REF", "main")
    result = deeper.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["✗ total grew by 16,632 since origin/main, 16,037 over its limit of 1% *"])


def test_to_accept_raises_the_limit_and_leaves_growth_alone(deeper: pytest.Pytester) -> None:
    result = deeper.runpytest("--bert-budget", "--bert-budget-update", "--bert-budget-base=main", "-k", "toml")
    result.assert_outcomes(failed=1, deselected=1)
    said = Path("pyproject.toml").read_text("utf-8")
    assert 'budget.total = "77K"\nbudget.growth = { total = "1%", head = 0 }' in said
    tightened = deeper.runpytest("--bert-budget", "--bert-budget-tighten", "--bert-budget-base=none", "-k", "toml")
    assert tightened.ret == pytest.ExitCode.TESTS_FAILED
    assert Path("pyproject.toml").read_text("utf-8") == said
