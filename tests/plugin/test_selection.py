"""Runs that list or select tests: of use to an editor at a desk, and a selection an error in CI."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Project = Callable[..., pytest.Pytester]

FITS = """
[tool.bertsize.models.fits]
config = "config.json"
budget.total = 59_549
"""
BURSTS = FITS.replace("fits", "bursts").replace("59_549", "50_000")
# the tiny BertForMaskedLM of conftest.py has 59,549
NO_BUILD = ("--bert-budget", "--bert-budget-no-build")
ON = "bert_budget = true\n"
A_TEST = "def test_a(): pass\ndef test_b(): pass"
WHY = "the run selects other tests, which is an error in CI"


@pytest.mark.parametrize("arguments", [[], ["tests"], ["pyproject.toml"]], ids=str)
def test_every_model_is_checked_as_with_the_option(project: Project, arguments: list[str]) -> None:
    pytester = project(ON + FITS + BURSTS)
    pytester.mkdir("tests").joinpath("test_a.py").write_text(A_TEST)
    result = pytester.runpytest("--bert-budget-no-build", *arguments)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["bursts: total 59,549, limit 50,000*", "2 configured, 2 checked, 1 failed; *"])


LISTED = [["--collect-only", "-q"], ["--setup-plan"], ["--fixtures"]]
IN_A_WORKER = pytest.param(["-k", "test_a", "-n", "1"], marks=pytest.mark.process)
SELECTED = [["-k", "test_a"], ["--deselect", "pyproject.toml::bursts"], IN_A_WORKER]


@pytest.mark.parametrize("arguments", [*LISTED, *SELECTED], ids=str)
@pytest.mark.parametrize("on", [["--bert-budget"], []], ids=["option", "setting"])
def test_a_run_that_lists_or_selects_says_what_it_left_and_succeeds(
    project: Project, arguments: list[str], on: list[str]
) -> None:
    result = project((BURSTS if on else ON + BURSTS), test_a=A_TEST).runpytest(*on, *arguments)
    assert result.ret == pytest.ExitCode.OK
    assert "NOT CHECKED: bursts" in result.stdout.str() + result.stderr.str()


@pytest.mark.parametrize(
    ("ci", "last"), [("", f"\x1b[33mNOT CHECKED: bursts: {WHY}"), ("1", "\x1b[31mNOT CHECKED: bursts")]
)
def test_the_last_line_says_what_is_left_in_yellow_and_in_ci_in_red(
    project: Project, monkeypatch: pytest.MonkeyPatch, ci: str, last: str
) -> None:
    monkeypatch.setenv("CI", ci)
    result = project(ON + BURSTS, test_a=A_TEST).runpytest("-k", "test_a", "--color=yes")
    assert result.outlines[-1] == f"{last}\x1b[0m"


@pytest.mark.parametrize("workers", [[], pytest.param(["-n", "1"], marks=pytest.mark.process)], ids=str)
@pytest.mark.parametrize("test", ["test_a.py", "test_a.py::test_b"])
def test_a_run_of_other_tests_loads_no_gate(project: Project, test: str, workers: list[str]) -> None:
    result = project(ON + BURSTS, test_a=A_TEST).runpytest(test, *workers)
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines([f"NOT CHECKED: every declared model (bert_budget = true): {WHY}"])
    result.stdout.no_fnmatch_line("bertsize: *declared in*")


def test_the_last_failed_alone_are_a_selection(project: Project) -> None:
    pytester = project(ON + FITS + BURSTS)
    assert pytester.runpytest("--bert-budget-no-build").ret == pytest.ExitCode.TESTS_FAILED
    table = pytester.path / "pyproject.toml"
    table.write_text(table.read_text("utf-8").replace("50_000", "60_000"), encoding="utf-8")
    result = pytester.runpytest("--bert-budget-no-build", "--lf")
    assert (result.ret, result.outlines[-1]) == (pytest.ExitCode.OK, f"NOT CHECKED: fits: {WHY}")


def test_a_marked_test_that_is_selected_is_held_to_its_budget(project: Project) -> None:
    marked = "import pytest\n@pytest.mark.bert_budget\ndef test_a(): pass"
    result = project(ON + BURSTS, test_a=marked).runpytest("test_a.py::test_a", "--bert-budget-no-build")
    result.assert_outcomes(failed=1)


def test_a_model_that_is_selected_and_fails_is_red(project: Project) -> None:
    result = project(ON + FITS + BURSTS).runpytest("pyproject.toml::bursts", "--bert-budget-no-build")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["2 configured, 1 checked, 1 failed; *", f"NOT CHECKED: fits: {WHY}"])


def test_the_marker_selects_models_and_marked_tests(project: Project) -> None:
    source = "import pytest\n@pytest.mark.bert_budget('fits')\ndef test_a(): pass\ndef test_b(): assert False"
    result = project(FITS, test_a=source).runpytest(*NO_BUILD, "--strict-markers", "-m", "bert_budget")
    result.assert_outcomes(passed=2, deselected=1)
    assert result.ret == pytest.ExitCode.OK


def test_a_model_that_a_conftest_skips_is_not_taken_for_a_marked_test(project: Project) -> None:
    conftest = "import pytest\ndef pytest_runtest_setup(item): pytest.skip('slow')"
    result = project(FITS + BURSTS, conftest=conftest).runpytest(*NO_BUILD)
    result.assert_outcomes(skipped=2)
    result.stdout.fnmatch_lines(["NOT CHECKED: fits, bursts*"])


@pytest.mark.parametrize("arguments", [["-k", "test_a"], IN_A_WORKER, ["test_a.py"]], ids=str)
def test_a_selection_fails_in_ci(project: Project, monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> None:
    monkeypatch.setenv("CI", "true")
    assert project(ON + BURSTS, test_a=A_TEST).runpytest(*arguments).ret == pytest.ExitCode.TESTS_FAILED


@pytest.mark.parametrize("arguments", [["--collect-only"], ["--help"]], ids=str)
def test_a_run_that_lists_is_good_in_ci_too(
    project: Project, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.setenv("CI", "true")
    assert project(BURSTS, test_a=A_TEST).runpytest("--bert-budget", *arguments).ret == pytest.ExitCode.OK


def test_models_that_a_conftest_takes_away_are_missed_at_a_desk_too(project: Project) -> None:
    conftest = "def pytest_collection_modifyitems(items): items[:] = items[-1:]"
    result = project(ON + BURSTS, test_a=A_TEST, conftest=conftest).runpytest()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["NOT CHECKED: bursts"])
