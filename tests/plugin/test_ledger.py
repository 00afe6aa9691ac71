"""The ledger of a run: what it was to check, what it checked, and that nothing else can come out of it than that."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Literal, cast

import pytest

from pytest_bertsize.plugin.selection import SELECTED
from pytest_bertsize.reports.report import to_plain
from tests.support.ledger_alone import VERSIONS, declared, enter, found, opened, printed, status_after, warning, written

if TYPE_CHECKING:
    from pytest_bertsize.plugin.ledger import Rewriter
    from pytest_bertsize.reports.report import ModelReport

OK, TESTS_FAILED = pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED
NO_TESTS_COLLECTED, USAGE_ERROR = pytest.ExitCode.NO_TESTS_COLLECTED, pytest.ExitCode.USAGE_ERROR


# what was checked


@pytest.mark.parametrize(
    ("models", "by_declaration"),
    [([], True), ([found("a"), found("a", "failed")], False), ([found("b", "failed")], True)],
    ids=["nothing ran", "a marked test", "a model that nobody declared"],
)
def test_what_does_not_check_a_declared_model(models: list[ModelReport], *, by_declaration: bool) -> None:
    ledger = enter(opened("a"), *models, by_declaration=by_declaration)
    assert (ledger.outcome.checked, ledger.outcome.report.failed) == ([], 0)
    assert ledger.outcome.report.not_checked == ["a"]


# the sticky failure


@pytest.mark.parametrize("runs", [["failed", "passed"], ["passed", "failed"], ["failed", "passed", "passed"]], ids=str)
def test_a_model_that_failed_once_stays_failed_however_often_it_runs(runs: list[Literal["passed", "failed"]]) -> None:
    ledger = enter(opened("a"), *(found("a", verdict) for verdict in runs))
    assert ledger.outcome.checked == [found("a", "failed")]
    assert ledger.outcome.report.failed == 1


def test_the_first_failure_is_the_one_that_is_told() -> None:
    first, second = found("a", "failed", warning("one")), found("a", "failed", warning("two"))
    assert enter(opened("a"), found("a"), first, second, found("a")).outcome.checked == [first]


# the exit status


GOOD_STATUSES = [OK, NO_TESTS_COLLECTED]
BAD_STATUSES = [status for status in pytest.ExitCode if status not in GOOD_STATUSES]


@pytest.mark.parametrize("status", pytest.ExitCode)
def test_a_run_that_checked_all_and_found_all_good_keeps_its_status(status: pytest.ExitCode) -> None:
    assert status_after(enter(opened("a", "b"), found("a"), found("b")), status) == status


@pytest.mark.parametrize("status", GOOD_STATUSES)
def test_a_model_that_was_not_checked_or_failed_is_never_green(status: pytest.ExitCode) -> None:
    for models in ([found("a")], [found("a"), found("b", "failed"), found("b")]):
        assert status_after(enter(opened("a", "b"), *models), status) == TESTS_FAILED


@pytest.mark.parametrize("status", BAD_STATUSES)
def test_a_status_that_is_bad_already_is_left_alone(status: pytest.ExitCode, tmp_path: Path) -> None:
    ledger = enter(opened("a", "b", reports=[tmp_path / "gone/size.json"]), found("b", "failed"))
    assert status_after(ledger, status) == status


@pytest.mark.parametrize("status", GOOD_STATUSES)
@pytest.mark.parametrize("verdict", ["passed", "failed"])
def test_a_report_that_cannot_be_written_is_a_usage_error(
    status: pytest.ExitCode, verdict: Literal["passed", "failed"], tmp_path: Path
) -> None:
    ledger = enter(opened("a", reports=[tmp_path / "gone/size.json"]), found("a", verdict))
    assert status_after(ledger, status) == USAGE_ERROR


def test_the_ledger_has_its_say_after_plugins_that_came_later() -> None:
    class Whitewash:
        def pytest_sessionfinish(self, session: pytest.Session) -> None:
            session.exitstatus = OK

    plugins = pytest.PytestPluginManager()
    plugins.register(enter(opened("a"), found("a", "failed")))
    plugins.register(Whitewash())
    session = SimpleNamespace(exitstatus=TESTS_FAILED)
    plugins.hook.pytest_sessionfinish(session=session, exitstatus=TESTS_FAILED)
    assert session.exitstatus == TESTS_FAILED


# the report files


def test_a_report_that_says_that_it_is_incomplete_replaces_that_of_the_run_before(tmp_path: Path) -> None:
    paths = [tmp_path / "one.json", tmp_path / "two.json"]
    status_after(enter(opened("a", "b", reports=paths), found("a"), found("b")), OK)
    assert [written(path)["complete"] for path in paths] == [True, True]
    opened("a", "b", reports=paths).pytest_sessionstart()
    for path in paths:
        report = written(path)
        assert (report["complete"], report["not_checked"], report["models"]) == (False, ["a", "b"], [])


def test_the_report_of_the_end_says_what_was_found(tmp_path: Path) -> None:
    path = tmp_path / "size.json"
    ledger = opened("a", "b", "c", reports=[path])
    ledger.pytest_sessionstart()
    status_after(enter(ledger, found("b", "failed"), found("a")), OK)
    report = written(path)
    assert report["models"] == [to_plain(each) for each in (found("a"), found("b", "failed"))]
    assert (report["configured"], report["checked"], report["failed"]) == (3, 2, 1)
    assert (report["not_checked"], report["complete"]) == (["c"], False)
    assert {name: report["versions"][name] for name in VERSIONS} == VERSIONS


def test_a_report_that_cannot_be_written_stops_the_run_before_it_starts(tmp_path: Path) -> None:
    gone, fine, lost = tmp_path / "gone/size.json", tmp_path / "size.json", tmp_path / "lost/size.json"
    with pytest.raises(pytest.UsageError) as error:
        opened("a", reports=[gone, fine, lost]).pytest_sessionstart()
    assert error.value.args == tuple(
        f"the report {path} could not be written: No such file or directory" for path in (gone, lost)
    )
    assert written(fine)["complete"] is False


# what is printed


def test_a_report_that_could_not_be_written_is_told_in_red_and_none_is_called_written(tmp_path: Path) -> None:
    gone = tmp_path / "gone/size.json"
    ledger = enter(opened("a", "b", reports=[gone, tmp_path / "size.json"]), found("a"))
    status_after(ledger, OK)
    assert printed(ledger) == [
        "",
        "== bert size ==",
        "   model  architecture  parameters  budget  left",
        "✓  a      BertModel          1,090   2,000  +910",
        f"red: the report {gone} could not be written: No such file or directory",
        "2 configured, 1 checked, 0 failed",
        "red: NOT CHECKED: b",
    ]


# where tests were only listed or selected


def test_models_that_are_left_out_fail_a_run_in_ci_and_none_at_a_desk(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = opened("a")
    assert ledger.outcome.excuse == ""
    ledger.selection.left_out = True
    assert (ledger.outcome.excuse, status_after(ledger, OK)) == (SELECTED, OK)
    assert f"yellow: NOT CHECKED: a: {SELECTED}" in printed(ledger)
    monkeypatch.setenv("CI", "true")
    assert (ledger.outcome.excuse, status_after(ledger, OK)) == ("", TESTS_FAILED)


# where the run changes budgets


def test_what_could_not_be_accepted_is_told_as_it_was_and_by_the_table_as_it_is(tmp_path: Path) -> None:
    after = declared("a", "b", root=tmp_path)
    ledger = enter(opened("a", "b", reports=[tmp_path / "size.json"]), found("a"), found("b"))
    ledger.rewriter = cast("Rewriter", SimpleNamespace(settings=after, taken_back={"b": found("b", "failed")}))
    assert status_after(ledger, OK) == TESTS_FAILED
    assert ledger.outcome.checked == [found("a"), found("b", "failed")]
    assert ledger.reports.settings is after
    assert written(tmp_path / "size.json")["failed"] == 1
