"""The gate in pytest: a declared model as a test item; a Review becomes pass or fail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_bertsize import check
from pytest_bertsize.reports import model_report
from pytest_bertsize.settings import Limit, Settings, SettingsError, load

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from pathlib import Path

    from pytest_bertsize.build import Built, Helper, NotBuilt, Request
    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.review import Review


class Gate:
    """Everything that one pytest process knows of the declared models."""

    def __init__(
        self,
        settings: Settings,
        registry: Registry,
        result: Callable[[str], Built | NotBuilt],
        *,
        formulas: bool = False,
    ) -> None:
        self.settings = settings
        self.subjects = {
            name: check.examine(model, settings, registry, formulas=formulas) for name, model in settings.models.items()
        }
        self._result = result

    def review(self, name: str, extra: tuple[Limit, ...] = ()) -> Review:
        """The review of one declared model, held to ``extra`` limits as well; waits for it to be built."""
        subject = self.subjects[name]
        built = self._result(name) if subject.request else None
        return check.conclude(subject, built, self.settings, extra)

    @property
    def requests(self) -> dict[str, Request]:
        """What there is to build: every model that the closed form has bounded."""
        return {name: subject.request for name, subject in self.subjects.items() if subject.request}


GATE = pytest.StashKey[Gate | SettingsError]()
REVIEW = pytest.StashKey["Review"]()


class BudgetFailure(Exception):
    """A review that did not pass: a test failure without a traceback."""

    def __init__(self, review: Review) -> None:
        super().__init__(review.headline)
        self.review = review


# opening the gate


def table_path(config: pytest.Config) -> Path:
    """Always the root's own pyproject.toml: pytest's settings may live in another file."""
    return config.rootpath / "pyproject.toml"


def open_for_run(config: pytest.Config, helper: Helper) -> None:
    """Arm the whole run: ``--bert-budget``.

    :raises pytest.UsageError: for any mistake in the table or in an option.
    """
    from pytest_bertsize import contributions, ledger, workers

    try:
        settings = load(table_path(config))
        reports = ledger.asked_for(config, settings)
        registry = contributions.registry(config)
    except SettingsError as error:
        raise pytest.UsageError(str(error)) from None
    if hasattr(config, "workerinput"):
        gate = Gate(settings, registry, workers.results_of(config), formulas=bool(reports))
    else:
        gate = Gate(settings, registry, helper.result, formulas=bool(reports))
        config.pluginmanager.register(ledger.Ledger(config, settings, helper.versions, reports), "bertsize-ledger")
        config.pluginmanager.register(workers.Controller([*gate.requests], helper), "bertsize-workers")
        _ask(helper, gate, config)
    config.pluginmanager.register(Collector(gate), "bertsize-collector")
    _arm(config, gate)


def open_for_tests(config: pytest.Config, helper: Helper) -> None:
    """Arm the tests that carry the marker or use the fixture; a mistake in the table is theirs to report."""
    from pytest_bertsize import contributions

    try:
        gate = Gate(load(table_path(config)), contributions.registry(config), helper.result)
    except SettingsError as error:
        config.stash[GATE] = error
        return
    _ask(helper, gate, config)
    _arm(config, gate)


def _ask(helper: Helper, gate: Gate, config: pytest.Config) -> None:
    if not config.getoption("collectonly"):
        helper.ask([*gate.requests.values()])


def _arm(config: pytest.Config, gate: Gate) -> None:
    config.stash[GATE] = gate
    config.pluginmanager.register(Attachments(), "bertsize-attachments")


# declared models as test items


class Collector:
    """Collects the declared models whatever ``testpaths`` and the command line say."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> BudgetFile | None:
        if file_path != self.gate.settings.path:
            return None
        return BudgetFile.from_parent(parent, path=file_path, gate=self.gate)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        if not any(isinstance(item, BudgetItem) for item in items):
            file = BudgetFile.from_parent(session, path=self.gate.settings.path, gate=self.gate)
            items.extend(session.genitems(file))


class BudgetFile(pytest.File):
    """The project's pyproject.toml."""

    def __init__(self, *, gate: Gate, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.gate = gate

    def collect(self) -> Iterator[pytest.Item]:
        for name in self.gate.settings.names:
            yield BudgetItem.from_parent(self, name=name, gate=self.gate)


class BudgetItem(pytest.Item):
    """One declared model: ``pyproject.toml::NAME``."""

    def __init__(self, *, gate: Gate, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.gate = gate

    def runtest(self) -> None:
        hold(self, self.gate.review(self.name))

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, f"bert budget: {self.name}"


def hold(item: pytest.Item, review: Review) -> None:
    item.stash[REVIEW] = review
    if review.verdict == "failed":
        raise BudgetFailure(review)


# reports


class Attachments:
    """Puts each review on its test's report as plain data, which survives the way from an xdist worker."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        failure = call.excinfo.value if call.excinfo else None
        if isinstance(failure, BudgetFailure):
            report.longrepr = failure.review.headline
            report.location = _location(item, failure.review)
            _attach(failure.review, item, report)
        elif isinstance(item, BudgetItem) and call.when == "call" and REVIEW in item.stash:
            _attach(item.stash[REVIEW], item, report)
        return report


def _attach(review: Review, item: pytest.Item, report: pytest.TestReport) -> None:
    report.bertsize = {"declared": isinstance(item, BudgetItem), "model": model_report(review)}  # type: ignore[attr-defined]
    if review.actual:
        item.user_properties += [(f"bertsize.{name}", review.actual[name]) for name in ("total", "trainable")]


def _location(item: pytest.Item, review: Review) -> tuple[str, int | None, str]:
    """The line of the budget, or of the config's key, so that an annotation lands on it."""
    path, line, title = item.location
    if not isinstance(item, BudgetItem):
        return path, line, title
    where = next((finding for finding in review.errors if finding.file and finding.line), None)
    return (where.file or path, (where.line or 1) - 1, title) if where else (path, line, title)
