"""The gate beside other plugins and without pytest's own: the same verdict, exit status, counts and report as alone."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.conftest import without_others
from tests.support.runs_beside import GATE, LAYERS, NO_BUILD, Told, alone, inside, is_as_alone, lay

if TYPE_CHECKING:
    from tests.support.warm_helper import Warm

pytestmark = pytest.mark.tool

Full = Callable[[str], Told]
Quick = Callable[[pytest.Pytester, str], Told]


@pytest.fixture(autouse=True)
def others_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """All but pytest-randomly, and anyio's, which has no say in any run here."""
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:randomly -p no:anyio")


@pytest.fixture
def shuffling(monkeypatch: pytest.MonkeyPatch) -> None:
    """pytest-randomly too."""
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:anyio")


@pytest.fixture(scope="module")
def run_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Told]:
    """The gate with no other plugin that has a say, once for each verdict and way to run it."""
    found: dict[tuple[str, str], Told] = {}

    def run(verdict: str, way: str, start: Callable[[], Told]) -> Told:
        if (verdict, way) not in found:
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("PYTEST_ADDOPTS", without_others())
                patch.chdir(tmp_path_factory.mktemp(verdict))
                lay(verdict)
                found[verdict, way] = start()
        return found[verdict, way]

    return run


@pytest.fixture
def full(warm: Warm, run_once: Callable[..., Told]) -> Full:
    """The whole gate."""
    return lambda verdict: run_once(verdict, "full", lambda: alone(warm, *GATE))


@pytest.fixture
def quick(run_once: Callable[..., Told]) -> Quick:
    """The gate without building."""
    return lambda pytester, verdict: run_once(verdict, "quick", lambda: inside(pytester, *NO_BUILD))


# without parts of pytest, and with its own options

WITHOUT_TERMINAL = ("-p", "no:terminal")
ABSENT = (
    *("xdist", "cacheprovider", "junitxml", "logging", "skipping", "warnings"),
    *("html", "rerunfailures", "pytest_cov", "faulthandler", "stepwise", "reports"),
)
OPTIONS: Sequence[tuple[str, ...]] = [
    tuple(f"-pno:{name}" for name in ABSENT),
    ("-p", "no:assertion", "-p", "no:debugging"),
    ("--assert=plain", "--strict-markers", "--strict-config", "-W", "error"),
    ("-o", "strict=true"),
    ("-q", "--no-header", "--no-summary"),
    ("-v", "-s", "-rA"),
    ("-qq", "--no-summary", "--tb=no"),
    ("--capture=sys", "--tb=native", "--color=yes"),
    ("--show-capture=no", "--durations=3", "--junitxml=junit.xml", "--log-file=log.txt"),
]


@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
def test_an_option_of_pytest_changes_neither_verdict_nor_report(
    pytester: pytest.Pytester, quick: Quick, options: tuple[str, ...]
) -> None:
    lay("fails")
    plain, told = quick(pytester, "fails"), inside(pytester, *NO_BUILD, *options)
    is_as_alone(told, plain, "fails")


def test_without_a_terminal_a_model_that_was_not_checked_is_red_and_named_in_the_report(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "true")
    lay("passes")
    told = inside(pytester, *NO_BUILD, *WITHOUT_TERMINAL, "-k", "not plain")
    assert told.status == pytest.ExitCode.TESTS_FAILED
    assert json.loads(told.report)["not_checked"] == ["plain"]


def test_a_marker_is_known_where_markers_have_to_be(pytester: pytest.Pytester) -> None:
    """With neither an option nor a table of ours, as in a project that only has the plugin installed."""
    source = "import pytest\n@pytest.mark.bert_budget\n@pytest.mark.skip\ndef test_it(): pass"
    Path("test_it.py").write_text(source)
    assert inside(pytester, "--strict-markers", "--collect-only").status == pytest.ExitCode.OK


# pytest-xdist


def test_every_worker_may_run_all_tests(pytester: pytest.Pytester, quick: Quick) -> None:
    lay("fails")
    told = inside(pytester, *NO_BUILD, "--tx=2*popen", "--dist=each")
    is_as_alone(told, quick(pytester, "fails"), "fails")


# pytest-rerunfailures


@pytest.mark.parametrize(
    ("options", "reruns"),
    [
        (("--reruns=2", "--reruns-delay=0.01", "-v", "-rR"), 4),
        (("--reruns=2", "--only-rerun=BudgetFailure"), 4),
        (("--reruns=2", "--rerun-except=BudgetFailure"), 0),
        (("--reruns=2", "--fail-on-flaky"), 4),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, tuple) else "",
)
def test_a_rerun_never_turns_a_model_green(
    pytester: pytest.Pytester, quick: Quick, options: tuple[str, ...], reruns: int
) -> None:
    lay("fails")
    plain, told = quick(pytester, "fails"), inside(pytester, *NO_BUILD, *options)
    is_as_alone(told, plain, "fails")
    assert told.tests("failed") == plain.tests("failed") == 2
    assert told.tests("rerun") == reruns


def test_a_rerun_builds_nothing_again(warm: Warm, pytester: pytest.Pytester) -> None:
    factory = """
        from torch import nn
        def build():
            with open("built.log", "a") as log:
                log.write("x")
            return nn.Linear(7, 5)
    """
    Path("sized.py").write_text(textwrap.dedent(factory))
    table = '[tool.bertsize.models.sized]\nfactory = "sized:build"\nclosed_form = false\nbudget.total = 39\n'
    Path("pyproject.toml").write_text(f'[tool.pytest.ini_options]\nminversion = "8.2"\n{table}')
    told = alone(warm, *GATE, "--reruns=2", "-n2")
    assert told.status == pytest.ExitCode.TESTS_FAILED
    assert (told.tests("failed"), told.tests("rerun")) == (1, 2)
    assert told.counted == [("1", "1", "1")]
    assert told.models == {"sized": "failed"}
    assert Path("built.log").read_text() == "x"


# all of them at once


@pytest.mark.parametrize("verdict", [*LAYERS])
def test_the_whole_gate_beside_all_of_them_is_what_it_is_alone(
    warm: Warm, pytester: pytest.Pytester, shuffling: None, full: Full, verdict: str
) -> None:
    lay(verdict)
    coverage = ("--cov=covered", "--cov-report=json:coverage.json", "--cov-fail-under=75")
    others = [*coverage, "--reruns=2", "--randomly-seed=5", "--html=page.html", "--self-contained-html", "-n2"]
    told = alone(warm, *GATE, *others, "--strict-markers", "--strict-config", "-W", "error")
    is_as_alone(told, full(verdict), verdict)
    assert "Required test coverage of 75% reached" in told.text
    assert json.loads(Path("coverage.json").read_text())["totals"]["percent_covered"] == 75
    page = Path("page.html").read_text("utf-8")
    assert ("66,528" in page) == (verdict == "fails")
    assert ("vs formula" in page) == (verdict == "fails")
