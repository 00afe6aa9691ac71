"""The memory of builds under pytest and ``check``: which run uses it, and what is said of it."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_bertsize.__main__ import main
from pytest_bertsize.builder import memory

Project = Callable[..., pytest.Pytester]

TABLE = """
[tool.bertsize.models.fits]
config = "config.json"
budget.total = 59_549                            # the tiny model of conftest.py, as test_gate.py derives it
"""
FOLDER = Path(".pytest_cache", "d", "bertsize")


def is_recalled(pytester: pytest.Pytester, *options: str) -> bool:
    """Run the gate, and tell whether an earlier run built the model."""
    result = pytester.runpytest_inprocess("--bert-budget", "--bert-budget-report=r.json", *options)
    assert result.ret == pytest.ExitCode.OK
    (model,) = json.loads(Path("r.json").read_text("utf-8"))["models"]
    is_said = re.search(r"; built before, \d+ seconds? ago", result.stdout.str()) is not None
    assert is_said == (model["seconds_ago"] is not None)
    return is_said


@pytest.fixture(autouse=True)
def _at_a_desk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(memory, "_STARTED", sys.maxsize)  # other tests write in the checkout meanwhile


def test_the_second_run_builds_nothing_and_says_so_unless_it_is_asked_to(project: Project) -> None:
    pytester = project(TABLE)
    assert not is_recalled(pytester)
    assert Path(".pytest_cache", ".gitignore").is_file()
    assert not is_recalled(pytester, "--bert-budget-no-cache")
    assert not is_recalled(pytester, "-p", "no:cacheprovider")
    assert not is_recalled(pytester, "--bert-budget-tighten")
    assert not is_recalled(pytester, "--bert-budget-update", "--bert-budget-reason=ADR-1: more rows")
    assert is_recalled(pytester)
    assert not is_recalled(pytester, "--cache-clear")


def test_ci_remembers_only_in_a_folder_that_it_names(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    pytester = project(TABLE)
    assert [is_recalled(pytester) for _ in range(2)] == [False, False]
    assert not FOLDER.exists()
    assert [is_recalled(pytester, "--bert-budget-cache=kept") for _ in range(2)] == [False, True]


def test_check_and_pytest_share_their_builds(project: Project) -> None:
    pytester = project(TABLE)
    assert not is_recalled(pytester)
    recalled = []
    for options in ([], ["--no-cache"]):
        assert main(["check", "--report", "r.json", *options]) == 0
        (model,) = json.loads(Path("r.json").read_text("utf-8"))["models"]
        recalled.append(model["seconds_ago"] is not None)
    assert recalled == [True, False]


def test_a_recalled_model_is_reported_as_a_built_one(project: Project) -> None:
    pytester = project(TABLE)
    reports = []
    for _ in range(2):
        assert pytester.runpytest_inprocess("--bert-budget", "--bert-budget-report=r.json").ret == 0
        reports.append(json.loads(Path("r.json").read_text("utf-8"))["models"][0] | {"seconds_ago": None})
    assert reports[0] == reports[1]
