"""A limit that lets more pass than it did at the base fails, unless the same change says why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.git_projects import GitProject, committed

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_bertsize.findings import Finding
    from tests.conftest import Project

MODEL = """
[tool.bertsize.models.fits]
config = "config.json"
{budget}
"""
LINE_OF_BUDGET = 5
"""Behind the line [tool.pytest], an empty one and the two of the model."""

LOOSENED = {
    "max raised": ('budget.total = "60K"', 'budget.total = "90K"', ["60K", "90K", "30,000 more"]),
    "max raised by one": ("budget.total = 59_549", "budget.total = 59_550", ["59,549", "59,550", "1 more"]),
    "min lowered": ("budget.total = {min = 50_000}", "budget.total = {min = 40_000}", ["50,000", "40,000"]),
    "min taken away": ("budget.total = {min = 5_000, max = 60_000}", "budget.total = 60_000", ["5,000-60,000"]),
    "max taken away": ("budget.total = {min = 9, max = 60_000}", "budget.total = {min = 9}", ["9-60,000", "≥9"]),
    "exact became max": ("budget.total = {exact = 59_549}", "budget.total = 59_549", ["=59,549", " 59,549"]),
    "exact became a range": (
        "budget.total = {exact = 59_549}",
        "budget.total = {min = 59_000, max = 60_000}",
        ["=59,549", "59,000-60,000", "451 more"],
    ),
    "limit removed": ('budget.total = "90K"\nbudget.head = 3_000', 'budget.total = "90K"', ["head", "3,000"]),
    "report-only": ('budget.total = "60K"', 'budget = "report-only"', ["total", "60K", "report-only"]),
    "closed_form = false": (
        'budget.total = "60K"',
        'closed_form = false\nbudget.total = "60K"',
        ["closed_form = false"],
    ),
}
NOT_LOOSENED = {
    "nothing": ("budget.total = 60_000", "budget.total = 60_000"),
    "written otherwise": ("budget.total = 60_000", 'budget.total = "60K"'),
    "max lowered": ("budget.total = 60_000", "budget.total = 59_549"),
    "min raised": ("budget.total = {min = 5}", "budget.total = {min = 6}"),
    "min added": ("budget.total = 60_000", "budget.total = {min = 6, max = 60_000}"),
    "max became exact": ("budget.total = 59_549", "budget.total = {exact = 59_549}"),
    "limit added": ("budget.total = 60_000", "budget.total = 60_000\nbudget.head = 3_000"),
    "report-only got a budget": ('budget = "report-only"', "budget.total = 60_000"),
    "closed_form = false taken away": ("closed_form = false\nbudget.total = 60_000", "budget.total = 60_000"),
}


def changed(folder: Path, tiny: dict[str, Any], before: str, after: str) -> GitProject:
    found = committed(folder, tiny, MODEL.format(budget=before))
    found.declare(MODEL.format(budget=after))
    return found


def loosened(project: GitProject, name: str = "fits") -> list[Finding]:
    return [finding for finding in project.review(name).findings if finding.kind == "budget-loosened"]


@pytest.mark.parametrize(("before", "after", "said"), LOOSENED.values(), ids=LOOSENED)
def test_a_loosened_limit_is_an_error_with_its_line_and_both_values(
    tmp_path: Path, tiny: dict[str, Any], before: str, after: str, said: list[str]
) -> None:
    (found,) = loosened(changed(tmp_path, tiny, before, after))
    assert found.severity == "error"
    assert found.place == f"pyproject.toml:{LINE_OF_BUDGET}"
    assert [part for part in ["main", *said] if part not in found.message] == []
    assert "reason = " in found.fix


@pytest.mark.parametrize(("before", "after", "said"), LOOSENED.values(), ids=LOOSENED)
def test_with_a_reason_of_the_same_change_it_is_a_note_that_shows_the_reason(
    tmp_path: Path, tiny: dict[str, Any], before: str, after: str, said: list[str]
) -> None:
    review = changed(tmp_path, tiny, before, f'{after}\nreason = "a head for ranking"').review()
    (found,) = [finding for finding in review.findings if finding.kind == "budget-loosened"]
    assert found.severity == "note"
    assert "a head for ranking" in f"{found.message} {found.fix}"
    assert [part for part in said if part not in found.message] == []
    assert [finding for finding in review.findings if finding.severity == "error"] == []


@pytest.mark.parametrize(("before", "after"), NOT_LOOSENED.values(), ids=NOT_LOOSENED)
def test_what_lets_no_more_pass_is_nothing_to_say(
    tmp_path: Path, tiny: dict[str, Any], before: str, after: str
) -> None:
    assert loosened(changed(tmp_path, tiny, before, after)) == []


@pytest.mark.parametrize(
    ("before", "after", "severity"),
    [("more labels", "more labels", "error"), ("more labels", "a new head", "note"), ("more labels", "", "error")],
    ids=["the same", "another", "taken away"],
)
def test_a_reason_counts_only_where_it_came_with_the_change(
    tmp_path: Path, tiny: dict[str, Any], before: str, after: str, severity: str
) -> None:
    old, new = (f'budget.total = "{limit}"\nreason = "{why}"' for limit, why in (("60K", before), ("70K", after)))
    (found,) = loosened(changed(tmp_path, tiny, old, new if after else 'budget.total = "70K"'))
    assert found.severity == severity


def test_a_reason_with_a_blank_more_is_the_same(tmp_path: Path, tiny: dict[str, Any]) -> None:
    project = changed(tmp_path, tiny, 'budget.total = "60K"\nreason = "x"', 'budget.total = "70K"\nreason = "x "')
    (found,) = loosened(project)
    assert found.severity == "error"


def test_each_loosened_limit_is_found_on_its_own_line(tmp_path: Path, tiny: dict[str, Any]) -> None:
    before = 'budget.total = "60K"\nbudget.head = 3_000\nbudget.encoder = 50_000'
    project = changed(tmp_path, tiny, before, 'budget.total = "70K"\nbudget.head = 2_900\nbudget.encoder = 50_001')
    found = [(finding.component, finding.line) for finding in loosened(project)]
    assert found == [("total", LINE_OF_BUDGET), ("encoder", LINE_OF_BUDGET + 2)]


def test_a_new_name_does_not_hide_a_loosened_limit(tmp_path: Path, tiny: dict[str, Any]) -> None:
    project = committed(tmp_path, tiny, MODEL.format(budget="budget.total = 60_000"))
    project.declare(MODEL.format(budget="budget.total = 70_000").replace("fits", "renamed"))
    (found,) = loosened(project, "renamed")
    assert "60,000" in found.message


def test_a_config_that_cannot_be_counted_does_not_hide_a_loosened_limit(tmp_path: Path, tiny: dict[str, Any]) -> None:
    project = committed(tmp_path, {**tiny, "hidden_size": 47}, MODEL.format(budget="budget.total = 60_000"))
    project.write("config.json", tiny)
    project.declare(MODEL.format(budget="budget.total = 70_000"))
    assert [finding.severity for finding in loosened(project)] == ["error"]


def test_a_new_model_has_nothing_that_was_loosened(tmp_path: Path, tiny: dict[str, Any]) -> None:
    project = changed(tmp_path, tiny, "budget.total = 60_000", "budget.total = 60_000")
    project.write("other.json", tiny)
    project.write("pyproject.toml", (tmp_path / "pyproject.toml").read_text() + OTHER)
    assert loosened(project, "other") == []


OTHER = '[tool.bertsize.models.other]\nconfig = "other.json"\nbudget.total = "1B"\n'


def test_a_run_fails_for_a_loosened_limit_in_which_the_model_fits(project: Project, tiny: dict[str, Any]) -> None:
    pytester = project("")
    changed(pytester.path, tiny, 'budget.total = "60K"', 'budget.total = "70K"')
    result = pytester.runpytest("--bert-budget", "--bert-budget-base=main")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        ["✗ *limit of total was 60K at main and is 70K now*", "*reason = *", "1 configured, 1 checked, 1 failed"]
    )


def test_a_run_passes_and_shows_the_reason(project: Project, tiny: dict[str, Any]) -> None:
    pytester = project("")
    changed(pytester.path, tiny, 'budget.total = "60K"', 'budget.total = "70K"\nreason = "a head for ranking"')
    result = pytester.runpytest("--bert-budget", "--bert-budget-base=main")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(
        ["*limit of total was 60K at main and is 70K now*", "*a head for ranking*", "1 configured, 1 checked, 0 failed"]
    )
