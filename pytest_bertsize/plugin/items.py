"""Test items of declared models, and checks of tests with the marker or the fixture ``bert_budget``."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bertsize.plugin.refusals import refuse_tables_beside_tests
from pytest_bertsize.plugin.startup import GATE
from pytest_bertsize.table.settings import Settings, SettingsError, find_declared, limits_from, tighten

if TYPE_CHECKING:
    from pytest_bertsize.review.gate import Gate
    from pytest_bertsize.review.review import Review
    from pytest_bertsize.table.limits import Limit

REVIEW = pytest.StashKey["Review"]()


class BudgetFailure(Exception):
    """A failed review: a test failure without a traceback."""

    def __init__(self, review: Review) -> None:
        super().__init__(review.headline)
        self.review = review


class Mistaken(Exception):
    """A mistake in a marker or in the table: a test failure without a traceback."""


def hold(item: pytest.Item, review: Review) -> None:
    item.stash[REVIEW] = review
    if review.verdict == "failed":
        raise BudgetFailure(review)


# declared models as test items


class Collector:
    """Collects the declared models, whatever ``testpaths`` and the command line select."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> BudgetFile | None:
        if file_path != self.gate.settings.path:
            return None
        outside: Any = parent  # a package among the parents of an item would be imported before it
        while isinstance(outside, pytest.Package):
            outside = outside.parent
        return BudgetFile.from_parent(outside, path=file_path, gate=self.gate)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        refuse_tables_beside_tests(session.config, items)
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
        self.add_marker("bert_budget")  # for pytest's -m

    def runtest(self) -> None:
        hold(self, self.gate.review(self.name))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the headline, so that pytest draws no traceback."""
        failure = excinfo.value
        return failure.review.headline if isinstance(failure, BudgetFailure) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, f"bert budget: {self.name}"


# tests with the marker or the fixture

EXAMPLE = '@pytest.mark.bert_budget("NAME")'
_MARKER = inspect.signature(lambda model=None, **limits: None)  # noqa: ARG005  (the marker's parameters)


def hold_marked(item: pytest.Item) -> None:
    """Check all models of a test's markers, but not of a model's own item; keep the review of the nearest marker."""
    if isinstance(item, BudgetItem):
        return
    reviews = _review_named(item)
    for review in reviews:
        hold(item, review)
    item.stash[REVIEW] = reviews[0]


def review_for_test(item: pytest.Item) -> Review:
    """Return the value of ``bert_budget``: the review of the nearest marker's model, or of the only declared model."""
    return _require_build(_review_named(item)[0], "bert_budget")


def review_by_name(config: pytest.Config, name: str) -> Review:
    """Return the review of a model by its name, for ``bert_budgets``."""
    try:
        gate = _armed_gate(config)
        name = find_declared(name, gate.settings, "bert_budgets", 'bert_budgets("NAME")')
    except SettingsError as error:
        raise Mistaken(str(error)) from None
    return _require_build(gate.review(name), "bert_budgets")


def _require_build(review: Review, fixture: str) -> Review:
    if review.unbuilt and review.verdict != "failed":
        raise Mistaken(f"the fixture {fixture} needs a build: run it without --bert-budget-no-build")
    if review.actual is None or review.unbuilt:
        raise BudgetFailure(review)
    return review


def _armed_gate(config: pytest.Config) -> Gate:
    """Return the gate of the run; raise SettingsError for a mistake in the table."""
    gate = config.stash[GATE]
    if isinstance(gate, SettingsError):
        raise gate
    return gate


def _review_named(item: pytest.Item) -> list[Review]:
    """Review the models that a test asks for, the nearest marker's first."""
    try:
        gate = _armed_gate(item.config)
        limits: dict[str, tuple[Limit, ...]] = {}
        for marker in item.iter_markers("bert_budget"):
            name, extra = _read_marker(marker, gate.settings, item)
            limits[name] = (*limits.get(name, ()), *extra)
        if not limits:
            limits[find_declared(None, gate.settings, "the fixture bert_budget", EXAMPLE)] = ()
    except SettingsError as error:
        raise Mistaken(str(error)) from None
    return [gate.review(name, extra) for name, extra in limits.items()]


def _read_marker(marker: pytest.Mark, settings: Settings, item: pytest.Item) -> tuple[str, tuple[Limit, ...]]:
    """Return the name of a marker's model, and the marker's limits."""
    path, line = item.location[0], (item.location[1] or 0) + 1
    place = f"{path}:{line}: @pytest.mark.bert_budget"
    try:
        arguments = _MARKER.bind(*marker.args, **marker.kwargs).arguments
    except TypeError as error:
        raise SettingsError(f'{place}: {error}; write @pytest.mark.bert_budget("NAME", total="110M")') from None
    name = find_declared(arguments.get("model"), settings, place, EXAMPLE)
    found = limits_from(arguments.get("limits", {}), file=path, line=line)
    return name, tuple(tighten(limit, settings.models[name], settings, place) for limit in found)
