"""What GitHub Actions reads of a run: annotations in the log, and the page of the step, which others write as well."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest
from msgspec.structs import replace

from pytest_bertsize.builder.helper import Helper
from pytest_bertsize.commands.check import check
from pytest_bertsize.commands.console import FOUND, MISTAKEN
from pytest_bertsize.reports.ci import MOST, list_commands, sign_of_ci
from pytest_bertsize.reports.markdown import MARK
from tests.conftest import FITS, TABLE
from tests.support.run_reports import compared, failing, passing, refused, renamed, run

if TYPE_CHECKING:
    from pytest_bertsize.reports.report import FindingRow, RunReport
    from tests.conftest import Project

BURSTS = (
    "::error file=pyproject.toml,line=8,title=bertsize%3A bursts::"
    "head is 2,549, 1 over its limit of 2,548%0A→ to accept it, write 2_549"
)


LINE = "::notice title=bertsize::1 of 2 models failed: bursts; head 2,549, limit 2,548 (+1)"
"""Two models of 59,549 parameters; not compared with a base."""


def a_finding(**changes: Any) -> FindingRow:
    return replace(failing().findings[0], **{"fix": "", "file": None, **changes})


def of(*findings: FindingRow) -> RunReport:
    return run(replace(failing(), findings=list(findings)))


def errors(count: int, severity: Literal["error", "warning"] = "error") -> RunReport:
    return of(*(a_finding(message=f"finding {n}", severity=severity, actual=None) for n in range(count)))


@pytest.mark.parametrize(
    "name",
    [
        *("CI", "BUILD_NUMBER", "GITHUB_ACTIONS", "GITLAB_CI", "TF_BUILD", "JENKINS_URL", "TEAMCITY_VERSION"),
        *("BUILDKITE", "CODEBUILD_BUILD_ID"),
    ],
)
def test_a_ci_is_known_by_any_of_its_variables(name: str) -> None:
    assert [sign_of_ci({name: value}) for value in ("true", "1", " ")] == [f"{name}=true", f"{name}=1", f"{name}= "]
    assert [sign_of_ci({name: value}) for value in ("", "0", "False")] == ["", "", ""]


# annotations


def commands(report: RunReport, folder: str = "") -> list[str]:
    """Behind the run's own line, which is a notice."""
    headline, *rest = list_commands(report, folder)
    assert headline.startswith("::notice title=bertsize::")
    return rest


def test_the_run_has_its_line_before_any_error_and_as_no_error() -> None:
    told = list_commands(run(failing(), complete=False, not_checked=["a"]), "")
    assert told[0].startswith(
        "::notice title=bertsize::INCOMPLETE: 1 of 1 models was not checked; 1 of 1 models failed: encoder; off-closed-form"
    )
    assert [command.split()[0] for command in told] == ["::notice", *["::error"] * 5, "::warning"]
    assert told[1].startswith("::error title=bertsize::NOT CHECKED: a; ")


@pytest.mark.parametrize(
    ("changes", "folder", "place"),
    [
        ({"file": "models/config.json", "line": 4}, "", "file=models/config.json,line=4,"),
        ({"file": "config.json", "line": 4}, "services/search", "file=services/search/config.json,line=4,"),
        ({"file": "a.json", "line": None}, "", "file=a.json,line=1,"),
        ({"file": None, "line": None}, "", ""),
        ({"file": "a,b:c%.json", "line": 1}, "", "file=a%2Cb%3Ac%25.json,line=1,"),
    ],
)
def test_a_finding_is_an_annotation_at_its_line(changes: dict[str, Any], folder: str, place: str) -> None:
    report = of(a_finding(message="total is 2, 1 over", fix="write 2", **changes))
    assert commands(report, folder) == [f"::error {place}title=bertsize%3A encoder::total is 2, 1 over%0A→ write 2"]


UNREAD = compared(commit=None, problem="git does not know it")
ESCAPED = r"::error title=bertsize%3A encoder::100%25\r\n:\x3awarning:\x3ab"


@pytest.mark.parametrize(
    ("report", "told"),
    [
        (of(a_finding(message="100%\r\n::warning::b")), [ESCAPED]),
        (of(a_finding(severity="warning", message="w")), ["::warning title=bertsize%3A encoder::w"]),
        (of(a_finding(severity="note", message="n")), []),
        (run(passing(), base=UNREAD), ["::warning title=bertsize::not compared with main: git does not know it"]),
    ],
)
def test_what_github_reads_as_its_own_is_escaped_warnings_are_warnings_and_notes_are_not_told(
    report: RunReport, told: list[str]
) -> None:
    assert commands(report) == told


def test_a_run_that_found_nothing_says_nothing() -> None:
    assert list_commands(run(passing()), "") == []


@pytest.mark.parametrize("severity", ["error", "warning"])
def test_of_more_than_github_shows_the_last_says_how_many_there_are(severity: Literal["error", "warning"]) -> None:
    assert [command.rpartition("finding ")[2][0] for command in commands(errors(MOST, severity))] == [*"0123456789"]
    told = commands(errors(MOST + 1, severity))
    assert len(told) == MOST
    assert told[-1] == f"::{severity} title=bertsize::2 more {severity}s are in the log"


def test_the_worst_error_comes_first_whichever_model_it_is_of() -> None:
    component = a_finding(component="head", actual=100, limit=95, message="component")
    larger = a_finding(component="encoder", actual=90, limit=1, message="larger")
    total = a_finding(component="total", actual=2, limit=1, message="total")
    told = commands(run(replace(failing(), findings=[component, larger, total]), renamed(refused("hostile"), "z")))
    assert [re.sub(r".*::(\w+).*", r"\1", command) for command in told] == ["the", "total", "larger", "component"]


# in the log


@pytest.fixture
def actions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")


def annotations_in(lines: list[str]) -> list[str]:
    return [line for line in lines if line.startswith("::")]


# the page of the step


@pytest.fixture
def summary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that another program of the same step has begun."""
    path = tmp_path / "step_summary"
    path.write_text("# Lint\nall well", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
    return path


@pytest.mark.usefixtures("actions")
def test_a_run_on_github_tells_each_error_once_and_puts_its_page_once_behind_what_stands_there(
    project: Project, summary: Path
) -> None:
    result = project(TABLE).runpytest("--bert-budget", "--color=yes")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert annotations_in(result.outlines) == [LINE, BURSTS]
    before, page = summary.read_text("utf-8").split(MARK)
    assert before == "# Lint\nall well\n\n"
    assert "## ❌ 1 of 2 models failed: bursts; head 2,549, limit 2,548 (+1)" in page
    assert page.count("### ❌ bursts: head 2,549, limit 2,548 (+1)\n") == 1
    assert "$`L \\cdot (4 \\cdot D^{2} + 4 \\cdot D)`$" in page


@pytest.mark.usefixtures("actions")
def test_the_outer_check_tells_the_same_and_puts_the_same_page_there(
    project: Project, summary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester = project(TABLE)
    pytester.runpytest("--bert-budget")
    inner = summary.read_text("utf-8").partition(MARK)[2]
    summary.write_text("", encoding="utf-8")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(pytester.path.parent))
    out = io.StringIO()
    assert check(pytester.path, Helper(), out=out) == FOUND
    assert annotations_in(out.getvalue().splitlines()) == [LINE, BURSTS.replace("file=", f"file={pytester.path.name}/")]
    assert summary.read_text("utf-8") == MARK + inner


@pytest.mark.usefixtures("actions")
def test_a_run_that_is_not_the_gate_has_no_annotations_and_leaves_the_page_alone(
    project: Project, summary: Path
) -> None:
    test = "import pytest\n@pytest.mark.bert_budget('fits')\ndef test_marked():\n    assert True\n"
    result = project(TABLE, None, test_marked=test).runpytest()
    result.assert_outcomes(passed=1)
    assert annotations_in(result.outlines) == []
    assert summary.read_text("utf-8") == "# Lint\nall well"


def test_a_page_that_cannot_be_written_is_never_green_and_hides_no_verdict(project: Project, summary: Path) -> None:
    summary.unlink()
    (summary.parent / "elsewhere").touch()
    summary.symlink_to("elsewhere")
    pytester = project(FITS)
    result = pytester.runpytest("--bert-budget")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    said = f"the report {summary} could not be written: it is a symlink"
    result.stdout.fnmatch_lines([said, "* configured, *"])
    out, err = io.StringIO(), io.StringIO()
    assert check(pytester.path, Helper(), out=out, err=err) == MISTAKEN
    assert "configured, " in out.getvalue()
    assert f"ERROR: {said}\n" in err.getvalue()
    assert (summary.parent / "elsewhere").read_bytes() == b""
