"""The ledger of a run: what it was to check, what it checked, and that nothing else can come out of it than that."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Literal, cast

import pytest

from pytest_bertsize.plugin.ledger import report_files_of
from pytest_bertsize.plugin.selection import WHY
from pytest_bertsize.reports.json import FOR_PAGES
from pytest_bertsize.table.settings import SettingsError
from tests.support.ledger_alone import (
    VERSIONS,
    Config,
    Screen,
    a_report,
    declared,
    enter,
    found,
    opened,
    printed,
    status_after,
    warning,
    written,
)
from tests.support.model_reports import finding

if TYPE_CHECKING:
    from pytest_bertsize.plugin.update import Rewriter
    from pytest_bertsize.reports.files import ReportFiles

OK, TESTS_FAILED = pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED
NO_TESTS_COLLECTED, USAGE_ERROR = pytest.ExitCode.NO_TESTS_COLLECTED, pytest.ExitCode.USAGE_ERROR


@pytest.fixture(autouse=True)
def stdout_that_can_show_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "__stdout__", SimpleNamespace(encoding="utf-8"))


# what was checked


def test_before_anything_ran_nothing_is_checked() -> None:
    ledger = opened("a", "b")
    assert (ledger.outcome.checked, ledger.outcome.failed, ledger.outcome.not_checked) == ([], 0, ["a", "b"])


def test_models_are_told_in_the_order_of_their_declaration_whatever_ran_first() -> None:
    ledger = enter(opened("c", "a", "b"), found("b"), found("c"))
    assert [model["name"] for model in ledger.outcome.checked] == ["c", "b"]
    assert ledger.outcome.not_checked == ["a"]


def test_models_that_failed_are_counted() -> None:
    ledger = enter(opened("a", "b", "c"), found("a", "failed"), found("b"), found("c", "failed"))
    assert (ledger.outcome.failed, ledger.outcome.not_checked) == (2, [])


def test_a_marked_test_does_not_check_the_declared_model() -> None:
    ledger = enter(opened("a"), found("a"), found("a", "failed"), by_declaration=False)
    assert (ledger.outcome.checked, ledger.outcome.failed, ledger.outcome.not_checked) == ([], 0, ["a"])


def test_a_report_of_another_test_is_nothing_to_the_ledger() -> None:
    ledger = opened("a")
    ledger.pytest_runtest_logreport(a_report("a"))
    assert ledger.outcome.not_checked == ["a"]


def test_a_model_that_nobody_declared_is_nothing_to_the_ledger() -> None:
    ledger = enter(opened("a"), found("b", "failed"))
    assert (ledger.outcome.checked, ledger.outcome.failed, ledger.outcome.not_checked) == ([], 0, ["a"])


# the sticky failure


@pytest.mark.parametrize("runs", [["failed", "passed"], ["passed", "failed"], ["failed", "passed", "passed"]], ids=str)
def test_a_model_that_failed_once_stays_failed_however_often_it_runs(runs: list[Literal["passed", "failed"]]) -> None:
    ledger = enter(opened("a"), *(found("a", verdict) for verdict in runs))
    assert ledger.outcome.checked == [found("a", "failed")]
    assert ledger.outcome.failed == 1


def test_the_first_failure_is_the_one_that_is_told() -> None:
    first, second = found("a", "failed", warning("one")), found("a", "failed", warning("two"))
    assert enter(opened("a"), found("a"), first, second, found("a")).outcome.checked == [first]


def test_of_runs_that_passed_the_last_is_told() -> None:
    first, second = found("a", "passed", warning("one")), found("a", "passed", warning("two"))
    assert enter(opened("a"), first, second).outcome.checked == [second]


def test_a_failure_of_one_model_is_none_of_another() -> None:
    ledger = enter(opened("a", "b"), found("a", "failed"), found("b"))
    assert ledger.outcome.checked == [found("a", "failed"), found("b")]


# the exit status


GOOD_STATUSES = [OK, NO_TESTS_COLLECTED]
BAD_STATUSES = [status for status in pytest.ExitCode if status not in GOOD_STATUSES]


@pytest.mark.parametrize("status", pytest.ExitCode)
def test_a_run_that_checked_all_and_found_all_good_keeps_its_status(status: pytest.ExitCode) -> None:
    assert status_after(enter(opened("a", "b"), found("a"), found("b")), status) == status


@pytest.mark.parametrize("status", GOOD_STATUSES)
def test_a_model_that_was_not_checked_is_never_green(status: pytest.ExitCode) -> None:
    assert status_after(enter(opened("a", "b"), found("a")), status) == TESTS_FAILED


@pytest.mark.parametrize("status", GOOD_STATUSES)
def test_a_model_that_failed_is_never_green(status: pytest.ExitCode) -> None:
    ledger = enter(opened("a", "b"), found("a"), found("b", "failed"), found("b"))
    assert status_after(ledger, status) == TESTS_FAILED


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


def test_pytest_knows_every_hook_of_the_ledger() -> None:
    plugins = pytest.PytestPluginManager()
    ledger = opened("a")
    plugins.register(ledger)
    plugins.check_pending()
    assert {caller.name for caller in plugins.get_hookcallers(ledger) or ()} == {
        "pytest_report_header",
        "pytest_sessionstart",
        "pytest_runtest_logreport",
        "pytest_sessionfinish",
        "pytest_terminal_summary",
    }


# the report files


def test_a_report_that_says_that_it_is_incomplete_is_written_before_anything_runs(tmp_path: Path) -> None:
    paths = [tmp_path / "one.json", tmp_path / "two.json"]
    opened("a", "b", reports=paths).pytest_sessionstart()
    for path in paths:
        report = written(path)
        assert (report["complete"], report["not_checked"], report["models"]) == (False, ["a", "b"], [])


def test_the_report_of_the_run_before_does_not_outlive_the_start(tmp_path: Path) -> None:
    path = tmp_path / "size.json"
    status_after(enter(opened("a", reports=[path]), found("a")), OK)
    assert written(path)["complete"] is True
    opened("a", reports=[path]).pytest_sessionstart()
    assert written(path)["complete"] is False


def test_the_report_of_the_end_says_what_was_found(tmp_path: Path) -> None:
    path = tmp_path / "size.json"
    ledger = opened("a", "b", "c", reports=[path])
    ledger.pytest_sessionstart()
    status_after(enter(ledger, found("b", "failed"), found("a")), OK)
    report = written(path)
    told = [
        {key: said for key, said in each.items() if key not in FOR_PAGES} for each in (found("a"), found("b", "failed"))
    ]
    assert report["models"] == told
    assert {key: report[key] for key in ("configured", "checked", "failed", "not_checked", "complete")} == {
        "configured": 3,
        "checked": 2,
        "failed": 1,
        "not_checked": ["c"],
        "complete": False,
    }
    assert {name: report["versions"][name] for name in VERSIONS} == VERSIONS


def test_without_a_report_file_a_run_starts_and_ends_all_the_same() -> None:
    ledger = opened("a")
    ledger.pytest_sessionstart()
    assert status_after(enter(ledger, found("a")), OK) == OK


def test_a_report_that_cannot_be_written_stops_the_run_before_it_starts(tmp_path: Path) -> None:
    gone, fine, lost = tmp_path / "gone/size.json", tmp_path / "size.json", tmp_path / "lost/size.json"
    with pytest.raises(pytest.UsageError) as error:
        opened("a", reports=[gone, fine, lost]).pytest_sessionstart()
    assert error.value.args == tuple(
        f"the report {path} could not be written: No such file or directory" for path in (gone, lost)
    )
    assert written(fine)["complete"] is False


def test_a_report_that_could_be_written_in_the_end_is_good_again(tmp_path: Path) -> None:
    ledger = opened("a", reports=[tmp_path / "late/size.json"])
    with pytest.raises(pytest.UsageError):
        ledger.pytest_sessionstart()
    (tmp_path / "late").mkdir()
    assert status_after(enter(ledger, found("a")), OK) == OK
    assert printed(ledger)[-1] == "1 configured, 1 checked, 0 failed; size.json written"


# what is printed


@pytest.mark.parametrize(
    ("names", "models"),
    [([], "0 models"), (["a"], "1 model"), (["a", "b"], "2 models")],
    ids=["none", "one", "two"],
)
def test_the_header_says_how_many_models_are_declared_and_where(names: list[str], models: str) -> None:
    header = opened(*names).pytest_report_header()
    assert header == f"bertsize: {models} declared in {Path('project', 'pyproject.toml')}"


HEAD = ["", "== bert size =="]
COLUMNS = "   model  architecture  parameters  budget  left"
A_PASSES = "✓  a      BertModel          1,090   2,000  +910"
B_FAILS = "✗  b      BertModel          1,090   1,000   -90"


LINE = "1 of 2 models failed; 2,180 parameters; b: total 1,090, limit 1,000"


def test_the_summary_has_a_line_for_each_model_and_one_for_the_run() -> None:
    ledger = enter(opened("a", "b"), found("a"), found("b", "failed"))
    assert printed(ledger) == [*HEAD, COLUMNS, A_PASSES, B_FAILS, "2 configured, 2 checked, 1 failed", LINE]


def test_the_summary_notes_that_it_was_told() -> None:
    ledger = opened("a")
    assert ledger.told is False
    printed(ledger)
    assert ledger.told is True


def test_where_nothing_was_checked_the_summary_says_just_that() -> None:
    assert printed(opened("a", "b")) == [*HEAD, "red: NOT CHECKED: a, b", "2 configured, 0 checked, 0 failed"]


def test_a_model_that_was_not_checked_is_named_in_red() -> None:
    ledger = enter(opened("a", "b"), found("a"))
    assert printed(ledger)[-2:] == ["red: NOT CHECKED: b", "2 configured, 1 checked, 0 failed"]


def test_reports_that_were_written_are_named(tmp_path: Path) -> None:
    ledger = enter(opened("a", reports=[tmp_path / "one.json", tmp_path / "two.json"]), found("a"))
    status_after(ledger, OK)
    assert printed(ledger)[-1] == "1 configured, 1 checked, 0 failed; one.json written; two.json written"


def test_a_report_that_could_not_be_written_is_told_in_red_and_none_is_called_written(tmp_path: Path) -> None:
    gone = tmp_path / "gone/size.json"
    ledger = enter(opened("a", "b", reports=[gone, tmp_path / "size.json"]), found("a"))
    status_after(ledger, OK)
    assert printed(ledger) == [
        *HEAD,
        COLUMNS,
        A_PASSES,
        f"red: the report {gone} could not be written: No such file or directory",
        "red: NOT CHECKED: b",
        "2 configured, 1 checked, 0 failed",
    ]


WARNED = [
    "! a: the key x is ignored (config.json:4)",
    "  → remove it",
]


def test_warnings_of_what_passed_are_told_and_those_of_what_failed_are_not_repeated() -> None:
    ignored = warning("the key x is ignored")
    ledger = enter(opened("a", "b"), found("a", "passed", ignored), found("b", "failed", ignored))
    assert printed(ledger) == [*HEAD, COLUMNS, A_PASSES, B_FAILS, *WARNED, "2 configured, 2 checked, 1 failed", LINE]


@pytest.mark.parametrize("verbosity", [-1, -2])
def test_a_quiet_summary_has_the_line_of_the_run_and_what_is_wrong(verbosity: int, tmp_path: Path) -> None:
    gone = tmp_path / "gone/size.json"
    ledger = opened("a", "b", "c", verbosity=verbosity, reports=[gone])
    status_after(enter(ledger, found("a", "passed", warning("x")), found("b", "failed")), OK)
    assert printed(ledger) == [
        *HEAD,
        f"red: the report {gone} could not be written: No such file or directory",
        "red: NOT CHECKED: c",
        "3 configured, 2 checked, 1 failed",
        "INCOMPLETE: 1 of 3 models was not checked; 1 of 3 models failed; b: total 1,090, limit 1,000",
    ]


TABLE = [
    "",
    "BertModel  config.json  V=101",
    "",
    "  component closed form actual share vs formula budget left used",
    "──────────────────────────────────────────────────────────────────────",
    "  pooler             90     90  8.3%          =",
    "  total           1,090  1,090  100%          =  2,000 +910  54% ████▉",
    "",
]


def test_a_verbose_summary_has_the_table_of_each_model_that_passed() -> None:
    models = found("a", "passed", warning("the key x is ignored")), found("b", "failed"), found("c")
    ledger = enter(opened("a", "b", "c", verbosity=1), *models)
    overview = [COLUMNS, A_PASSES, B_FAILS, A_PASSES.replace("a", "c", 1)]
    line = "1 of 3 models failed; 3,270 parameters; b: total 1,090, limit 1,000"
    assert printed(ledger) == [*HEAD, *overview, *TABLE, *WARNED, *TABLE, "3 configured, 3 checked, 1 failed", line]


def test_a_more_verbose_summary_has_tensors_as_well() -> None:
    lines = printed(enter(opened("a", verbosity=2), found("a")))
    assert [line for line in lines if "(9, 10)" in line]


def test_the_summary_has_colour_where_the_terminal_has() -> None:
    ledger = enter(opened("a"), found("a", "failed"))
    assert any("\x1b[31m✗" in line for line in printed(ledger, Screen(colour=True)))
    assert not any("\x1b" in line for line in printed(ledger, Screen(colour=False)))


@pytest.mark.parametrize("width", [80, 101])
def test_the_summary_is_as_wide_as_the_terminal(width: int) -> None:
    ledger = enter(opened("a"), found("a", "passed", warning(f"the key is {'x' * 200}")))
    assert max(len(line) for line in printed(ledger, Screen(width=width))) == width - 1


# where tests were only listed or selected


def test_models_that_are_left_out_fail_a_run_with_the_option_and_none_at_a_desk_without_it() -> None:
    ledger = opened("a")
    assert ledger.outcome.excuse == ""
    ledger.selection.left_out = True
    assert (ledger.outcome.excuse, status_after(ledger, OK)) == (WHY, OK)
    assert f"yellow: NOT CHECKED: a: {WHY}" in printed(ledger)
    cast("Config", ledger.config).options["bert_budget"] = True
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


def test_a_run_that_changes_budgets_names_no_way_to_change_them() -> None:
    way = "→ to accept what was counted: pytest --bert-budget --bert-budget-update"
    broken = enter(opened("a"), found("a", "failed", finding("a: total 1,090 exceeds the budget of 1,000")))
    assert way in printed(broken)
    broken.rewriter = cast("Rewriter", SimpleNamespace(settings=broken.settings, taken_back={}))
    assert way not in printed(broken)


# what was asked for


def asked(tmp_path: Path, *reports: str) -> ReportFiles:
    config = Config(options={"bert_budget_report": list(reports)}, folder=tmp_path / "called/from")
    config.folder.mkdir(parents=True)
    return report_files_of(cast("pytest.Config", config), declared("a", root=tmp_path))


def test_reports_are_written_relative_to_where_pytest_was_called(tmp_path: Path) -> None:
    files = asked(tmp_path, "size.json", "../other.json")
    folder = tmp_path / "called/from"
    assert files.paths == (folder / "size.json", folder / "../other.json")
    assert files.settings == declared("a", root=tmp_path)


def test_no_report_need_be_report_files_of(tmp_path: Path) -> None:
    assert asked(tmp_path).paths == ()


def test_a_report_that_may_not_stand_there_is_refused_in_the_words_of_the_option(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as error:
        asked(tmp_path, "size.txt")
    assert str(error.value) == (
        "--bert-budget-report=size.txt: the file must end in .json, .md or .html; "
        "write --bert-budget-report=bertsize.json"
    )
