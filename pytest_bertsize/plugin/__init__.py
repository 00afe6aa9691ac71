"""The pytest plugin, in the order of a run. Every start of pytest imports it, so it imports nothing but pytest."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial
from importlib.machinery import ModuleSpec, PathFinder
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_bertsize.review.review import Review

MARKER = """bert_budget(model=None, **limits): check a model declared in [tool.bertsize.models] before the test \
runs. model is its name (needed if several are declared); keyword limits such as pooler=0 or \
encoder="86M" tighten its budget, never loosen it. Works with and without --bert-budget."""

_OPTIONS = """\
no-build  build nothing, and do not import torch: count each model by its closed form, else by its lock
strict  fail a model that is not counted, and a factory's model that only its lock counts
base REV  compare with this git revision, at the commit where this branch left it, and fail a budget that was loosened
    since that commit without a new reason; --bert-budget-base=none compares with nothing (default: in CI the base of
    the pull or merge request)
python PATH  build with this interpreter, in place of the table's
update  accept the counts: raise the limits that fail in pyproject.toml; refused in CI
reason WHY  write this reason, such as 'ADR-12: wider', beside each raised budget
tighten  lower the limits in pyproject.toml that are higher than needed; refused in CI
report PATH…  write a report, as JSON (.json), Markdown (.md) or a page (.html); may be repeated
no-cache  build every model, also if an earlier run built it from the same files
cache DIR  keep builds in this folder for later runs (default: pytest's cache; in CI none)
"""
"""Options that need another one: the word after ``--bert-budget-``, the name of a value, and the help text."""
_NEEDS = {"strict": "--bert-budget-no-build", "reason": "--bert-budget-update"}


def _list_options() -> Iterator[tuple[str, str, str]]:
    for line in _OPTIONS.replace("\n    ", " ").splitlines():
        usage, _, text = line.partition("  ")
        name, _, value = usage.partition(" ")
        yield name, value, text


def pytest_addoption(parser: pytest.Parser) -> None:
    add = parser.getgroup("bertsize", "size of BERT-family models (pytest-bertsize)").addoption
    every = "check every model that [tool.bertsize.models.NAME] in pyproject.toml declares: count its parameters and "
    add("--bert-budget", action="store_true", help=f"{every}compare them with its closed form and its budget")
    for name, value, text in _list_options():
        how: dict[str, Any] = {"metavar": value.strip("…")} if value else {"action": "store_true"}
        how |= {"action": "append", "default": []} if value.endswith("…") else {}
        add(f"--bert-budget-{name}", **how, help=f"with {_NEEDS.get(name, '--bert-budget')}: {text}")
    lenient = "use --bert-budget in every run; outside CI a run that selects tests may leave models unchecked"
    parser.addini("bert_budget", type="bool", default=False, help=lenient)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Start the helper process, which imports torch while pytest loads conftests."""
    if early_config.known_args_namespace.bert_budget:
        CompiledImports.begin()
        from pytest_bertsize.plugin import startup

        startup.start_early(early_config)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)
    config.pluginmanager.register(FailureReports(config))
    if not is_on(config):
        for name, _, _ in _list_options():
            if config.getoption(f"--bert-budget-{name}") not in (None, False, []):
                needs = "needs --bert-budget: without it no declared model is checked"
                raise pytest.UsageError(f"--bert-budget-{name} {needs}")
        return
    from pytest_bertsize.plugin import selection

    if selection.is_for_other_tests(config):
        config.pluginmanager.register(selection.Notice())
        return
    CompiledImports.begin()
    from pytest_bertsize.builder.confined import collector_paused
    from pytest_bertsize.plugin import startup

    helper = None if hasattr(config, "workerinput") else startup.take_helper(config)  # a worker builds nothing
    with collector_paused():
        from pytest_bertsize.plugin import session

        session.arm_run(config, helper)


class CompiledImports:
    """Finds our modules without pytest's rewriting of asserts, which would compile them again."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: Any = None) -> ModuleSpec | None:
        return PathFinder.find_spec(name, path, target) if name.startswith("pytest_bertsize.") else None

    @classmethod
    def begin(cls) -> None:
        if cls not in sys.meta_path:
            sys.meta_path.insert(0, cls)


def _arm_tests(config: pytest.Config) -> None:
    """Set up tests with the marker or the fixture, once; these tests report mistakes in the table."""
    CompiledImports.begin()
    from pytest_bertsize.plugin import startup

    if startup.GATE not in config.stash:
        helper = startup.take_helper(config)
        from pytest_bertsize.plugin import session

        session.arm_tests(config, helper)


def is_on(config: pytest.Config) -> bool:
    """Return whether every model is checked: by the option ``--bert-budget`` or by the setting ``bert_budget``."""
    return bool(config.getoption("bert_budget") or config.getini("bert_budget"))


@pytest.hookimpl(wrapper=True)
def pytest_cmdline_main(config: pytest.Config) -> Generator[None, object, object]:
    """Return 0 with the gate on only if all models passed, or may stay unchecked as with ``--fixtures``."""
    status = yield
    if status == pytest.ExitCode.OK and is_on(config) and not hasattr(config, "workerinput"):
        from pytest_bertsize.plugin import session

        return session.status_of_run(config)
    return status


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Fail a module that skips itself, because pytest then sees none of its tests."""
    report = yield
    skips = report.outcome == "skipped" and isinstance(collector, pytest.Module)
    if skips and b"bert_budget" in collector.path.read_bytes():
        from pytest_bertsize.plugin import items as ours

        ours.fail_skipped_module(report, collector)
    return report


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Refuse misspelt markers, and request builds as soon as a collected test needs one."""
    marked = {marker.name: item for item in items for marker in item.iter_markers()}
    alike = {name: item for name, item in marked.items() if "bert" in name or "budget" in name}
    is_named = alike.pop("bert_budget", None) is not None
    if alike:
        from pytest_bertsize.plugin import items as ours

        ours.refuse_misspelt_markers(alike, config)
    if is_named or any({"bert_budget", "bert_budgets"} & {*getattr(item, "fixturenames", ())} for item in items):
        _arm_tests(config)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """Check the models of the test's markers: if one fails, the test fails before its first line."""
    if item.get_closest_marker("bert_budget") is not None:
        _arm_tests(item.config)
        from pytest_bertsize.plugin import items

        items.hold_marked(item)


@pytest.fixture
def bert_budget(request: pytest.FixtureRequest) -> Review:
    """The Review of the marker's or the only declared model, with actual, expected, budget, findings and model."""
    _arm_tests(request.config)
    from pytest_bertsize.plugin import items

    return items.review_for_test(request.node)


@pytest.fixture(scope="session")
def bert_budgets(request: pytest.FixtureRequest) -> Callable[[str], Review]:
    """Return the Review of any declared model by its name, in fixtures of every scope: ``bert_budgets("encoder")``."""
    _arm_tests(request.config)
    from pytest_bertsize.plugin import items

    return partial(items.review_by_name, request.config)


class FailureReports:
    """Draws failed reviews in the process with the terminal, also if workers ran the tests."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.failed: list[pytest.TestReport] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect the reports of failed models, and draw their reviews; no review is drawn if the model passed."""
        plain = getattr(report, "bertsize", {}).get("model", {})
        if report.failed and plain.get("verdict") == "failed" and not hasattr(self.config, "workerinput"):
            from pytest_bertsize.plugin.failures import Failure
            from pytest_bertsize.reports.report import model_from_plain

            report.longrepr = Failure(model_from_plain(plain), report.location, self.config)  # type: ignore[assignment]
            self.failed.append(report)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> Generator[None, None, None]:
        """Draw the findings that failures share, before pytest's own hook draws the failures."""
        if self.failed:
            from pytest_bertsize.plugin.failures import draw_common

            draw_common(self.failed, terminalreporter)
        return (yield)
