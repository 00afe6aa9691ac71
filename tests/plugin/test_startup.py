"""When the helper process starts, and that none outlives its run."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_bertsize.builder import helper
from tests.conftest import FITS

if TYPE_CHECKING:
    from tests.conftest import Project

TELLS = 'from pathlib import Path\nwith Path("order").open("a") as file:\n    file.write("conftest ")\n'

Processes = list[subprocess.Popen[bytes]]


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> Processes:
    """Every helper process that runs in this one have started; ``order`` says when."""
    found: Processes = []
    start = vars(helper)["start_process"]  # as tests have it, forked from a warm one

    def told(command: Sequence[str]) -> subprocess.Popen[bytes]:
        with Path("order").open("a", encoding="utf-8") as file:
            file.write("helper ")
        found.append(start(command))
        return found[-1]

    monkeypatch.setattr(helper, "start_process", told)
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)  # where these tests are spread themselves
    return found


def order() -> list[str]:
    return Path("order").read_text("utf-8").split()


def test_the_helper_starts_before_any_conftest_is_loaded(project: Project, processes: Processes) -> None:
    result = project(FITS, conftest=TELLS).runpytest_inprocess("--bert-budget")
    result.assert_outcomes(passed=1)
    assert order() == ["helper", "conftest"]
    assert all(process.returncode is not None for process in processes)


@pytest.mark.parametrize(
    "changes",
    ['import os\nos.environ["TAGGER_DATA"] = "here"\n', 'import os\nos.mkdir("deep")\nos.chdir("deep")\n'],
    ids=["environment", "folder"],
)
def test_what_a_conftest_changes_is_what_the_helper_inherits(
    project: Project, processes: Processes, monkeypatch: pytest.MonkeyPatch, changes: str
) -> None:
    monkeypatch.setenv("TAGGER_DATA", "elsewhere")
    result = project(FITS, conftest=f"{TELLS}{changes}").runpytest_inprocess("--bert-budget")
    result.assert_outcomes(passed=1)
    assert len(processes) == 2
    assert all(process.returncode is not None for process in processes)


@pytest.mark.parametrize("options", [["--bert-budget-no-build"], ["--collect-only"]], ids=" ".join)
def test_who_builds_nothing_starts_none(project: Project, processes: Processes, options: list[str]) -> None:
    result = project(FITS, conftest=TELLS).runpytest_inprocess("--bert-budget", *options)
    assert result.ret == pytest.ExitCode.OK
    assert processes == []


def test_the_setting_alone_starts_one_when_the_conftests_are_loaded(project: Project, processes: Processes) -> None:
    """An editor lists tests all day, and pytest alone knows then whether this run is one for models."""
    project(f"bert_budget = true\n{FITS}", conftest=TELLS).runpytest_inprocess().assert_outcomes(passed=1)
    assert order() == ["conftest", "helper"]
    assert len(processes) == 1


@pytest.mark.parametrize(
    ("conftest", "options", "said"),
    [
        ("raise ValueError(7)", [], "ValueError: 7"),
        (TELLS, ["--no-such-option"], "unrecognized arguments: --no-such-option"),
    ],
    ids=["conftest", "option"],
)
def test_a_run_that_never_starts_leaves_none_behind(
    project: Project, processes: Processes, conftest: str, options: list[str], said: str
) -> None:
    result = project(FITS, conftest=conftest).runpytest_inprocess("--bert-budget", *options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert said in f"{result.stdout.str()}{result.stderr.str()}"
    assert len(processes) == 1
    assert processes[0].returncode is not None
