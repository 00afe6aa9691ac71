"""``check-report``: a report is believed where it is whole, and of this commit, this table and these configs."""

from __future__ import annotations

import io
import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bertsize import __version__
from pytest_bertsize.commands.check_report import FOUND, GOOD, MISTAKEN, ReportOrder, check_report

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Project

TABLE = """
[tool.bertsize.models.fits]
config = "config.json"
budget.total = "60K"
"""
BURSTS = TABLE + '[tool.bertsize.models.bursts]\nconfig = "config.json"\nbudget.head = 2_548\n'
REPORT = "size.json"
SUMMARY = "size.json: 1 configured, 1 checked, 0 failed"


def git(*arguments: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    command = ["git", *who, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def checked(commit: str | None = None) -> tuple[int, list[str]]:
    out, err = io.StringIO(), io.StringIO()
    status = check_report(ReportOrder(Path(REPORT), Path.cwd(), commit), out, err)
    return status, (out.getvalue() + err.getvalue()).splitlines()


WRITTEN: dict[tuple[str, ...], bytes] = {}
"""The report of each run that several tests start from; where there is no commit, it depends on nothing else."""


@pytest.fixture
def reported(project: Project) -> Callable[..., None]:
    """Run the gate over a table, and write its report."""

    def run(table: str = TABLE, *arguments: str) -> None:
        pytester = project(table)
        if (table, *arguments) in WRITTEN and not Path(".git").exists():
            Path(REPORT).write_bytes(WRITTEN[table, *arguments])
            return
        pytester.runpytest("--bert-budget", f"--bert-budget-report={REPORT}", *arguments)
        if not Path(".git").exists():
            WRITTEN[table, *arguments] = Path(REPORT).read_bytes()

    return run


def edit(**changes: Any) -> None:
    report = {**json.loads(Path(REPORT).read_text("utf-8")), **changes}
    Path(REPORT).write_text(json.dumps(report), encoding="utf-8")


def models(**changes: Any) -> list[dict[str, Any]]:
    (model,) = json.loads(Path(REPORT).read_text("utf-8"))["models"]
    return [{**model, **changes}]


# what is believed


def test_a_whole_report_of_models_within_their_budget_is_good(reported: Callable[..., None]) -> None:
    reported()
    assert checked() == (GOOD, [SUMMARY])


def test_a_whole_report_of_a_model_over_its_budget_is_believed_and_is_no_success(
    reported: Callable[..., None],
) -> None:
    reported(BURSTS)
    assert checked() == (FOUND, ["size.json: 2 configured, 2 checked, 1 failed"])


def test_another_layout_of_the_same_table_is_the_same_table(reported: Callable[..., None]) -> None:
    reported()
    inline = '[tool.bertsize.models]\nfits = { budget = { total = "60K" }, config = "config.json" }  # the same\n'
    Path("pyproject.toml").write_text(inline, encoding="utf-8")
    assert checked() == (GOOD, [SUMMARY])


# what is refused


def test_a_missing_report_is_refused(project: Project) -> None:
    project(TABLE)
    assert checked() == (FOUND, ["REFUSED size.json: there is no such file"])


def test_a_report_of_a_run_that_did_not_check_all_is_refused(reported: Callable[..., None]) -> None:
    reported(BURSTS, "-k", "fits")
    lines = ["REFUSED size.json: NOT CHECKED: bursts", "REFUSED size.json: it says itself that it is incomplete"]
    assert checked() == (FOUND, lines)


def test_a_report_of_another_table_is_refused(reported: Callable[..., None]) -> None:
    reported()
    Path("pyproject.toml").write_text(TABLE.replace("60K", "59_000K"), encoding="utf-8")
    assert checked() == (FOUND, ["REFUSED size.json: it is of another [tool.bertsize] than pyproject.toml has now"])


def test_a_report_of_another_config_is_refused(reported: Callable[..., None]) -> None:
    reported()
    Path("config.json").write_text(Path("config.json").read_text() + "\n")
    assert checked() == (FOUND, ["REFUSED size.json: fits: it is of another config.json than there is now"])


def test_a_report_of_a_config_that_is_gone_is_refused(reported: Callable[..., None]) -> None:
    reported()
    Path("config.json").unlink()
    assert checked() == (FOUND, ["REFUSED size.json: fits: it is of another config.json than there is now"])


def test_a_report_of_another_commit_is_refused(reported: Callable[..., None]) -> None:
    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "first")
    first = git("rev-parse", "HEAD")
    reported()
    assert checked() == (GOOD, [f"{SUMMARY}; commit {first}"])
    git("commit", "-q", "--allow-empty", "-m", "second")
    second = git("rev-parse", "HEAD")
    assert checked() == (FOUND, [f"REFUSED size.json: it is of commit {first}, and this is commit {second}"])
    assert checked(commit=first) == (GOOD, [f"{SUMMARY}; commit {first}"])


def test_a_report_of_no_commit_is_no_report_of_one(reported: Callable[..., None]) -> None:
    reported()
    commit = "0" * 40
    assert checked(commit) == (FOUND, [f"REFUSED size.json: it is of no commit, and this is commit {commit}"])


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"complete": False}, "it says itself that it is incomplete"),
        ({"not_checked": ["fits"]}, "it says itself that it is incomplete"),
        ({"schema": 2}, "its schema is 2, and this is schema 1"),
        (
            {"versions": {"pytest_bertsize": "0.0.1"}},
            f"it was written by pytest-bertsize 0.0.1, and this is {__version__}",
        ),
        (
            {"checked": 2},
            "it says 1 configured, 2 checked, 0 failed, and has 1 of 1, 0 of them failed",
        ),
        (
            {"failed": 1},
            "it says 1 configured, 1 checked, 1 failed, and has 1 of 1, 0 of them failed",
        ),
    ],
)
def test_a_report_that_contradicts_itself_is_refused(
    reported: Callable[..., None], changes: dict[str, Any], reason: str
) -> None:
    reported()
    edit(**changes)
    assert checked() == (FOUND, [f"REFUSED size.json: {reason}"])


def test_a_model_with_an_error_cannot_have_passed(reported: Callable[..., None]) -> None:
    reported()
    edit(models=models(findings=[{"severity": "error"}]))
    assert checked() == (FOUND, ["REFUSED size.json: a model with an error is said to have passed"])


def test_a_model_that_is_not_declared_is_refused(reported: Callable[..., None]) -> None:
    reported()
    edit(models=[*models(), *models(name="::error::other")], configured=2, checked=2)
    status, lines = checked()
    assert status == FOUND
    assert (
        lines[0]
        == r'REFUSED size.json: it is of models that are not declared, or twice of one: [":\x3aerror:\x3aother"]'
    )


def test_a_model_that_stands_there_twice_is_refused(reported: Callable[..., None]) -> None:
    reported()
    edit(models=models() * 2, checked=2)
    status, lines = checked()
    assert status == FOUND
    assert 'REFUSED size.json: it is of models that are not declared, or twice of one: ["fits", "fits"]' in lines


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("", "Invalid JSON: EOF while parsing"),
        ("[]", "Input should be an object"),
        ("{}", "schema: Field required"),
        ('{"schema": true}', "schema: Input should be a valid integer"),
        ("\x1b[2J", "Invalid JSON: expected value"),
    ],
)
def test_what_is_no_report_is_refused_with_its_first_fault(project: Project, written: str, reason: str) -> None:
    project(TABLE)
    Path(REPORT).write_text(written, encoding="utf-8")
    status, lines = checked()
    assert status == FOUND
    assert len(lines) == 1
    assert lines[0].startswith(f"REFUSED size.json: it is no whole report: {reason}")
    assert lines[0].isprintable()


def test_a_mistake_in_the_table_is_told_before_the_report_is_looked_at(project: Project) -> None:
    project("")
    status, lines = checked()
    assert status == MISTAKEN
    assert lines[0].startswith("ERROR: ")


def test_a_run_that_dies_leaves_a_report_that_is_refused(reported: Callable[..., None], project: Project) -> None:
    """The report before it was good, and of the same commit, table and config."""
    reported()
    pytester = project(TABLE, test_a="import os\ndef test_dies(): os._exit(0)")
    died = pytester.runpytest_subprocess("--bert-budget", f"--bert-budget-report={REPORT}", "test_a.py")
    assert died.ret == 0
    assert checked()[0] == FOUND
    assert json.loads(Path(REPORT).read_text("utf-8"))["complete"] is False
