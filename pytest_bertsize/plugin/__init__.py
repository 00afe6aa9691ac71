"""pytest's side, in the order of a run: options, marker, collection, fixture, reports.

Imported at every start of pytest wherever the plugin is installed, so it imports nothing but pytest; the gate itself is
loaded when ``--bert-budget``, the marker or the fixture asks for it.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_bertsize.review.review import Review

MARKER = """bert_budget(model=None, **limits): hold a model declared in [tool.bertsize.models] to its budget before \
the test runs. model is its name (needed where several are declared); keyword limits such as pooler=0 or \
encoder="86M" tighten its budget, never loosen it. Works with and without --bert-budget."""

_FLAG: Mapping[str, Any] = {"action": "store_true", "default": False}
OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "--bert-budget": {
        **_FLAG,
        "help": (
            "check every model declared in pyproject.toml ([tool.bertsize.models.NAME]): count its parameters on "
            "the meta device and compare them with the closed form and with its budget"
        ),
    },
    "--bert-budget-no-build": {
        **_FLAG,
        "help": (
            "with --bert-budget: build nothing, and hold budgets against the closed form alone, without torch and in "
            "less than half a second; every report says so"
        ),
    },
    "--bert-budget-base": {
        "metavar": "REV",
        "help": (
            "with --bert-budget: compare with the table and the configs at this git revision, or where this branch "
            "left it, and refuse a budget that was loosened since without a new reason; default: the base of the pull "
            "or merge request that CI runs for; none: compare with nothing"
        ),
    },
    "--bert-budget-python": {
        "metavar": "PATH",
        "help": (
            "with --bert-budget: build with this interpreter, whatever the table says: that of the project's own "
            "environment, which has torch and transformers"
        ),
    },
    "--bert-budget-update": {
        **_FLAG,
        "help": (
            "with --bert-budget: accept what was counted, and raise exactly the budgets that fail, in pyproject.toml, "
            "as their author writes numbers; never in CI"
        ),
    },
    "--bert-budget-tighten": {
        **_FLAG,
        "help": ("with --bert-budget: lower the budgets that have room, in pyproject.toml; never in CI"),
    },
    "--bert-budget-report": {
        "action": "append",
        "default": [],
        "metavar": "PATH",
        "help": (
            "with --bert-budget: write what was found to PATH, as JSON (.json), Markdown (.md) or a page (.html); "
            "may be repeated"
        ),
    },
}
"""The first opens the gate for the whole run; the others say how."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("bertsize", "size of BERT-family models (pytest-bertsize)")
    for name, said in OPTIONS.items():
        group.addoption(name, **said)
    parser.addini(
        "bert_budget",
        type="bool",
        default=False,
        help="have --bert-budget in every run; at a desk, one that only lists or selects tests may leave models "
        "unchecked, and says so",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Have the helper process import torch while conftests are loaded."""
    if early_config.known_args_namespace.bert_budget:
        from pytest_bertsize.plugin import startup

        startup.start_early(early_config)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)
    config.pluginmanager.register(FailureReports(config))
    given = [name for name in OPTIONS if config.getoption(name) not in (None, False, [])]
    if given and not is_on(config):
        raise pytest.UsageError(f"{given[0]} needs --bert-budget: without it no declared model is checked")
    if is_on(config):
        from pytest_bertsize.plugin import selection, startup

        if selection.is_for_other_tests(config):
            config.pluginmanager.register(selection.Notice())
        else:
            startup.open_for_run(config)


def is_on(config: pytest.Config) -> bool:
    """Whether every declared model is to be checked: by the option, or by the setting of its name."""
    return bool(config.getoption("bert_budget") or config.getini("bert_budget"))


@pytest.hookimpl(wrapper=True)
def pytest_cmdline_main(config: pytest.Config) -> Generator[None, object, object]:
    """With ``--bert-budget``, 0 says that all is checked, whatever pytest was told to do, such as to list fixtures."""
    status = yield
    if status == pytest.ExitCode.OK and is_on(config) and not hasattr(config, "workerinput"):
        from pytest_bertsize.plugin import session

        return session.status_of_run(config)
    return status


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """A module that skips itself is no test that was looked at."""
    report = yield
    skips = report.outcome == "skipped" and isinstance(collector, pytest.Module)
    if skips and b"bert_budget" in collector.path.read_bytes():
        from pytest_bertsize.plugin import refusals

        refusals.fail_skipped_module(report, collector)
    return report


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Have models built as soon as a test is known to need one.

    :raises pytest.UsageError: for a marker that was probably meant to be ours.
    """
    alike: dict[str, pytest.Item] = {}
    for item in items:
        alike.update({marker.name: item for marker in item.iter_markers() if _is_like_ours(marker.name)})
    if alike:
        from pytest_bertsize.plugin import refusals

        refusals.refuse_misspelt_markers(alike, config)
    if any(_asks_for_review(item) for item in items):
        from pytest_bertsize.plugin import startup

        startup.open_for_tests(config)


def _is_like_ours(name: str) -> bool:
    return ("bert" in name or "budget" in name) and name != "bert_budget"


def _asks_for_review(item: pytest.Item) -> bool:
    return item.get_closest_marker("bert_budget") is not None or "bert_budget" in getattr(item, "fixturenames", ())


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """The marker is the check: a model over its budget fails the test before its first line."""
    if item.get_closest_marker("bert_budget") is not None:
        from pytest_bertsize.plugin import marker, startup

        startup.open_for_tests(item.config)
        marker.hold_marked(item)


@pytest.fixture
def bert_budget(request: pytest.FixtureRequest) -> Review:
    """The Review of the marker's model, or of the only one declared: actual, expected, budget, findings, model."""
    from pytest_bertsize.plugin import marker, startup

    startup.open_for_tests(request.config)
    return marker.review_for_test(request.node)


class FailureReports:
    """Draws failed reviews where the terminal is: in the controller, whether or not workers ran the tests."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.failed: list[pytest.TestReport] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and _is_failed_review(report) and not hasattr(self.config, "workerinput"):
            from pytest_bertsize.plugin.failures import Failure
            from pytest_bertsize.reports.report import model_from_plain

            model = model_from_plain(report.bertsize["model"])
            report.longrepr = Failure(model, report.location, self.config)  # type: ignore[assignment]
            self.failed.append(report)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.failed:
            from pytest_bertsize.plugin.failures import shorten_summary_lines

            shorten_summary_lines(self.failed, terminalreporter)


def _is_failed_review(report: pytest.TestReport) -> bool:
    """The test of a model that is within its budget may be failed by another plugin, which has its own words for it."""
    return hasattr(report, "bertsize") and report.bertsize["model"]["verdict"] == "failed"
