"""GitLab's Code Quality report, by https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bertsize.reports.gitlab import is_ours, issues, render
from tests.support.run_reports import failing, not_built, passing, refused, renamed, run
from tests.support.tables import TABLE

if TYPE_CHECKING:
    from pytest_bertsize.reports.gitlab import Issue
    from pytest_bertsize.reports.shape import FindingRow, RunReport
    from tests.conftest import Project


def fingerprints(report: RunReport) -> list[str]:
    return [issue["fingerprint"] for issue in issues(report, "")]


def with_findings(*findings: FindingRow) -> RunReport:
    return run({**failing(), "findings": list(findings)})


def behind_headline(report: RunReport) -> list[Issue]:
    line, *rest = issues(report, "")
    assert (line["check_name"], line["description"]) == ("bertsize/headline", report["headline"])
    return rest


def a_finding(**changes: Any) -> FindingRow:
    return {**failing()["findings"][0], **changes}  # type: ignore[typeddict-item]


def test_a_run_that_found_nothing_has_no_issue(project: Project) -> None:
    pytester = project(TABLE.partition("[tool.bertsize.models.bursts]")[0])
    pytester.runpytest("--bert-budget", "--bert-budget-report=gl-code-quality-report.json")
    assert json.loads(Path("gl-code-quality-report.json").read_text("utf-8")) == []


def test_a_finding_is_an_issue_at_its_line_of_the_table(project: Project) -> None:
    project(TABLE).runpytest("--bert-budget", "--bert-budget-report=size.codequality.json")
    line, issue = json.loads(Path("size.codequality.json").read_text("utf-8"))
    assert line["description"] == "1 of 2 models failed; 119,098 parameters; bursts: head 2,549, limit 2,548 (+1)"
    assert (line["check_name"], line["severity"]) == ("bertsize/headline", "info")
    assert re.fullmatch("[0-9a-f]{64}", issue.pop("fingerprint"))
    assert issue == {
        "description": "bursts: head is 2,549, 1 over its limit of 2,548; to accept it, write 2_549",
        "check_name": "bertsize/over-budget",
        "severity": "major",
        "location": {"path": "pyproject.toml", "lines": {"begin": 8}},
    }


def test_every_issue_has_what_gitlab_asks_for() -> None:
    found = issues(run(failing(), refused(), not_built(), passing(), not_checked=["lost"], complete=False), "")
    assert len(found) > 5
    for issue in found:
        assert set(issue) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert issue["severity"] in {"info", "minor", "major", "critical", "blocker"}
        assert issue["location"]["lines"]["begin"] >= 1
        assert issue["location"]["path"]
        assert issue["check_name"].startswith("bertsize/")


@pytest.mark.parametrize(
    ("kind", "severity", "shown"),
    [
        ("over-budget", "error", "major"),
        ("off-closed-form", "error", "major"),
        ("config-invalid", "error", "blocker"),
        ("build-failed", "error", "blocker"),
        ("config-refused", "error", "blocker"),
        ("unknown-closed-form", "error", "blocker"),
        ("ignored-key", "warning", "minor"),
        ("config-invalid", "warning", "minor"),
        ("defaulted-key", "note", "info"),
    ],
)
def test_what_kept_a_model_from_being_checked_blocks_and_a_warning_is_minor(
    kind: str, severity: str, shown: str
) -> None:
    (issue,) = behind_headline(with_findings(a_finding(kind=kind, severity=severity)))
    assert (issue["check_name"], issue["severity"]) == (f"bertsize/{kind}", shown)


def test_an_incomplete_run_is_a_blocking_issue_that_names_what_was_not_checked() -> None:
    first, *others = behind_headline(run(passing(), not_checked=["a", "b"], complete=False))
    assert others == []
    assert first["description"] == "incomplete: NOT CHECKED: a, b"
    assert (first["severity"], first["check_name"]) == ("blocker", "bertsize/incomplete")
    assert first["location"] == {"path": "pyproject.toml", "lines": {"begin": 1}}


def test_a_file_that_a_run_has_begun_says_that_it_is_incomplete(project: Project) -> None:
    dies = "import os\ndef test_dies():\n    os._exit(0)\n"
    pytester = project(TABLE, None, test_dies=dies)
    pytester.runpytest_subprocess("--bert-budget", "--bert-budget-report=size.codequality.json", "test_dies.py")
    line, issue = json.loads(Path("size.codequality.json").read_text("utf-8"))
    assert line["description"] == "INCOMPLETE: 2 of 2 models were not checked"
    assert issue["description"] == "incomplete: NOT CHECKED: fits, bursts"


def test_no_two_issues_have_one_fingerprint() -> None:
    twice = failing()
    twice["findings"] += failing()["findings"]
    found = fingerprints(run(twice, renamed(twice, "other"), not_checked=["x"], complete=False))
    assert len(found) > 20
    assert len(set(found)) == len(found)


def test_another_number_is_the_same_issue() -> None:
    one = with_findings(a_finding(message="total is 5, 1 over its limit of 4", actual=5))
    other = with_findings(a_finding(message="total is 6, 2 over its limit of 4", actual=6, line=99))
    assert fingerprints(one) == fingerprints(other)


@pytest.mark.parametrize("changed", [{"component": "pooler"}, {"kind": "under-budget"}])
def test_another_component_or_kind_is_another_issue(changed: dict[str, Any]) -> None:
    assert fingerprints(with_findings(a_finding())) != fingerprints(with_findings(a_finding(**changed)))


def test_another_model_is_another_issue() -> None:
    assert fingerprints(run(refused("a"))) != fingerprints(run(refused("b")))


def test_a_finding_without_a_place_stands_at_the_table() -> None:
    (issue,) = behind_headline(with_findings(a_finding(file=None, line=None)))
    assert issue["location"] == {"path": "pyproject.toml", "lines": {"begin": 1}}


def test_a_finding_about_a_whole_file_stands_at_its_beginning() -> None:
    (issue,) = behind_headline(with_findings(a_finding(file="models/config.json", line=None)))
    assert issue["location"] == {"path": "models/config.json", "lines": {"begin": 1}}


def test_a_project_inside_the_repository_is_placed_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "services/search").mkdir(parents=True)
    report = with_findings(a_finding(file="models/config.json", line=4))
    monkeypatch.setenv("CI_PROJECT_DIR", str(tmp_path))
    _, issue = json.loads(render(report, tmp_path / "services/search"))
    assert issue["location"] == {"path": "services/search/models/config.json", "lines": {"begin": 4}}
    _, issue = json.loads(render(report, tmp_path))
    assert issue["location"]["path"] == "models/config.json"


def test_a_project_outside_the_repository_keeps_its_own_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI_PROJECT_DIR", str(tmp_path / "builds"))
    _, issue = json.loads(render(with_findings(a_finding(file="config.json", line=4)), tmp_path / "elsewhere"))
    assert issue["location"]["path"] == "config.json"


def test_a_description_is_one_line_that_steers_no_log() -> None:
    (issue,) = behind_headline(with_findings(a_finding(message="a\n::error::b\x1b[31m", fix="")))
    assert issue["description"] == r"encoder: a\n:\x3aerror:\x3ab\x1b[31m"


@pytest.mark.parametrize("content", ["[]", " [ ]\n", '[{"check_name": "bertsize/untied"}]'])
def test_a_list_of_our_issues_is_ours(content: str) -> None:
    assert is_ours(content)


def test_what_is_written_is_ours(tmp_path: Path) -> None:
    assert is_ours(render(run(failing(), not_checked=["x"], complete=False), tmp_path))


@pytest.mark.parametrize(
    "content", ["", "{}", "null", "[1]", "[[]]", '[{"check_name": "ruff/E501"}]', '[{"check_name": null}]', "[" * 10**5]
)
def test_anything_else_is_not_ours(content: str) -> None:
    assert not is_ours(content)
