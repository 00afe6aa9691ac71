"""``pytest --bert-budget``: every declared model is a test, however pytest is called."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

Project = Callable[..., pytest.Pytester]

FITS = """
[tool.bertsize.models.fits]
config = "config.json"
budget.total = 59_549                            # exactly what the tiny model has
"""
BURSTS = """
[tool.bertsize.models.bursts]
config = "config.json"
budget.total = "50K"
budget.head = 2_548
"""
# the tiny BertForMaskedLM of conftest.py: embeddings (101 + 40 + 5)·48 + 2·48 = 7,104, encoder 3·16,632 = 49,896,
# head 48² + 3·48 + 101 = 2,549, total 59,549
NO_BUILD = ("--bert-budget", "--bert-budget-no-build")
A_TEST = "def test_nothing_else(): assert True"


def outcome(result: pytest.RunResult) -> dict[str, int]:
    return {name: count for name, count in result.parseoutcomes().items() if name != "deselected"}


def test_a_model_on_its_budget_passes(project: Project) -> None:
    result = project(FITS).runpytest("--bert-budget", "-v")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(
        ["pyproject.toml::fits PASSED*", "*✓*fits*59,549*59,549*0*", "1 configured, 1 checked, 0 failed"]
    )


def test_a_package_of_the_root_is_not_imported(project: Project) -> None:
    pytester = project(FITS)
    Path("__init__.py").write_text("raise ImportError")
    for each in ("pyproject.toml", "pyproject.toml::fits", "."):
        assert pytester.runpytest_inprocess(*NO_BUILD, each).ret == pytest.ExitCode.OK


def test_without_the_option_nothing_is_collected_and_nothing_said(project: Project) -> None:
    result = project(BURSTS, test_a=A_TEST).runpytest()
    assert outcome(result) == {"passed": 1}
    result.stdout.no_fnmatch_line("*bert*size*models*")


def _comparable(result: pytest.RunResult) -> str:
    """From the failures on, without times, the rules that are as long as they leave room, and who ran the test."""
    text = re.sub(r"in \d+\.\d+s( \(\d:\d\d:\d\d\))?|\n\[gw\d\] linux.*", "", result.stdout.str())
    text = re.sub(r"={3,}", "===", text)
    return text[text.index("= FAILURES =") :]


@pytest.mark.process
def test_neither_workers_nor_hash_seed_change_output_status_or_report(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester = project(BURSTS + FITS)
    reports, said = set(), set()
    for number, workers in enumerate([[], ["-n2"]]):
        monkeypatch.setenv("PYTHONHASHSEED", str(number))
        options = ("--bert-budget-no-cache", "--bert-budget-report=size.json", "--color=yes", "-vv", *workers)
        result = pytester.runpytest_subprocess("--bert-budget", *options)
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        reports.add(Path("size.json").read_bytes())
        said.add(_comparable(result))
    assert len(reports) == len(said) == 1


def test_an_unbuildable_model_fails_and_the_next_is_checked(project: Project) -> None:
    table = FITS + FITS.replace("fits", "breaks") + "overrides = { pad_token_id = 5_000 }\n"
    result = project(table).runpytest("--bert-budget")
    assert outcome(result) == {"passed": 1, "failed": 1}
    message = "breaks: BertForMaskedLM could not be built: AssertionError: Padding_idx must be*"
    result.stdout.fnmatch_lines([message, "2 configured, 2 checked, 1 failed"])


# mistakes in table and options


def test_a_report_is_written_relative_to_where_pytest_was_called(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester = project(FITS)
    monkeypatch.chdir(pytester.mkdir("deep"))
    reports = ("--bert-budget-report=size.json", "--bert-budget-report=../other.json")
    assert pytester.runpytest_inprocess(*NO_BUILD, *reports).ret == pytest.ExitCode.OK
    assert Path("size.json").is_file()
    assert Path("../other.json").is_file()


def test_a_lost_report_is_not_green_whatever_a_conftest_says(project: Project) -> None:
    conftest = """
        import shutil
        import pytest
        @pytest.hookimpl(wrapper=True)
        def pytest_sessionfinish(session):
            shutil.rmtree("out")
            yield
            session.exitstatus = 0
    """
    pytester = project(FITS, conftest=conftest)
    Path("out").mkdir()
    result = pytester.runpytest(*NO_BUILD, "--bert-budget-report=out/size.json")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stdout.fnmatch_lines(["the report *out/size.json could not be written: No such file or directory"])


def test_help_and_markers_say_what_there_is(pytester: pytest.Pytester) -> None:
    pytester.runpytest("--help").stdout.fnmatch_lines(
        ["size of BERT-family models (pytest-bertsize):", "*--bert-budget *"]
    )
    pytester.runpytest("--markers").stdout.fnmatch_lines(["@pytest.mark.bert_budget(model=None, [*][*]limits): *"])


def test_of_two_roots_that_are_named_none_is_passed_over(pytester: pytest.Pytester) -> None:
    """pytest makes the first of them its root, and what the other declares would not be looked at."""
    for each in ("search", "chat"):
        Path(each).mkdir()
        table = f'[tool.bertsize.models.{each}]\nconfig = "config.json"\nbudget.total = 1\n'
        Path(each, "pyproject.toml").write_text(f'[tool.pytest.ini_options]\nminversion = "8.2"\n{table}')
        Path(each, "test_it.py").write_text("def test_a(): pass\n")
    result = pytester.runpytest_inprocess(*NO_BUILD, "search/test_it.py::test_a", "chat/test_it.py")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: *chat/pyproject.toml has a *root directory is *search, which has one too*"])
