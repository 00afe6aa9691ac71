"""Test items of declared models, checks of tests with the marker or the fixture, and refusals of runs."""

from __future__ import annotations

import inspect
import io
import re
import tokenize
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bertsize.plugin.startup import GATE
from pytest_bertsize.table.settings import SettingsError, find_declared, limits_from, tables_of_models, tighten
from pytest_bertsize.wording import printable

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

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> BudgetFile | None:
        if file_path != table_path(parent.config):
            return None
        outside: Any = parent  # a package among the parents of an item would be imported before it
        while isinstance(outside, pytest.Package):
            outside = outside.parent
        return BudgetFile.from_parent(outside, path=file_path)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        refuse_tables_beside_tests(session.config, items)
        if not any(isinstance(item, BudgetItem) for item in items):
            file = BudgetFile.from_parent(session, path=table_path(session.config))
            items.extend(session.genitems(file))


class BudgetFile(pytest.File):
    """The project's pyproject.toml."""

    def collect(self) -> list[pytest.Item]:
        with open_gate(self.config) as gate:
            return [BudgetItem.from_parent(self, name=name) for name in gate.settings.models]


class BudgetItem(pytest.Item):
    """One declared model: ``pyproject.toml::NAME``."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.add_marker("bert_budget")  # for pytest's -m

    def runtest(self) -> None:
        with open_gate(self.config) as gate:
            hold(self, gate.review(self.name))

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
    with open_gate(config) as gate:
        name = find_declared(name, gate.settings, "bert_budgets", 'bert_budgets("NAME")')
    return _require_build(gate.review(name), "bert_budgets")


def _require_build(review: Review, fixture: str) -> Review:
    if review.unbuilt and review.verdict != "failed":
        raise Mistaken(f"the fixture {fixture} needs a build: run it without --bert-budget-no-build")
    if review.actual is None or review.unbuilt:
        raise BudgetFailure(review)
    return review


@contextmanager
def open_gate(config: pytest.Config) -> Iterator[Gate]:
    """Yield the gate of the run; a mistake in the table, or in a name or limit that is read with it, is Mistaken."""
    gate = config.stash[GATE]
    try:
        if isinstance(gate, SettingsError):
            raise gate
        yield gate
    except SettingsError as error:
        raise Mistaken(str(error)) from None


def _review_named(item: pytest.Item) -> list[Review]:
    """Review the models that a test asks for, the nearest marker's first."""
    limits: dict[str, tuple[Limit, ...]] = {}
    path, line = item.location[0], (item.location[1] or 0) + 1
    place = f"{path}:{line}: @pytest.mark.bert_budget"
    with open_gate(item.config) as gate:
        for marker in item.iter_markers("bert_budget"):
            try:
                arguments = _MARKER.bind(*marker.args, **marker.kwargs).arguments
            except TypeError as error:
                raise SettingsError(f'{place}: {error}; write @pytest.mark.bert_budget("NAME", total="110M")') from None
            name = find_declared(arguments.get("model"), gate.settings, place, EXAMPLE)
            found = limits_from(arguments.get("limits", {}), file=path, line=line)
            extra = (tighten(limit, gate.settings.models[name], gate.settings, place) for limit in found)
            limits[name] = (*limits.get(name, ()), *extra)
        if not limits:
            limits[find_declared(None, gate.settings, "the fixture bert_budget", EXAMPLE)] = ()
    return [gate.review(name, extra) for name, extra in limits.items()]


# runs that would silently check too little: another table, a misspelt marker, a module that skips itself


def table_path(config: pytest.Config) -> Path:
    """Return the pyproject.toml of pytest's root: pytest's own settings may live in another file."""
    return config.rootpath / "pyproject.toml"


def refuse_other_tables(config: pytest.Config) -> None:
    """Raise SettingsError for another table than the root's in, or above, the working directory or an argument."""
    here = config.invocation_params.dir
    given = config.args if config.args_source == pytest.Config.ArgsSource.ARGS else []
    named = [here / argument.partition("::")[0] for argument in given]
    inside = [here] if config.rootpath.resolve() in here.resolve().parents else []
    messages = (_describe_table(config, here), *(_find_other_table(config, path) for path in (*inside, *named)))
    if message := next(filter(None, messages), ""):
        raise SettingsError(message)


def refuse_tables_beside_tests(config: pytest.Config, items: Sequence[pytest.Item]) -> None:
    """Refuse the run if a folder between a collected test and the root has another table than the root."""
    for folder, item in {item.path.parent: item for item in reversed(items)}.items():
        if message := _find_other_table(config, folder):
            _stop_run(message, item, config)


def _find_other_table(config: pytest.Config, path: Path) -> str:
    """Return the message about the nearest folder with a table, between a path and the root, or ``""``."""
    root, path = config.rootpath.resolve(), path.resolve()
    folders = (path, *path.parents) if path.exists() else ()
    between = takewhile(lambda folder: folder != root and folder not in root.parents, folders)
    return next(filter(None, (_describe_table(config, folder) for folder in between)), "")


def _describe_table(config: pytest.Config, folder: Path) -> str:
    """Return the message about a folder that has another table than the root, or ``""``."""
    read, other = table_path(config), folder / "pyproject.toml"
    if not other.is_file() or other.resolve() == read.resolve() or tables_of_models(other) is None:
        return ""
    too = "one too" if tables_of_models(read) is not None else "none"
    return (
        f"{other} has a [tool.bertsize], and pytest's root directory is {read.parent}, which has {too}; run pytest in "
        "the folder whose table you mean, and give its pyproject.toml a "
        '[tool.pytest.ini_options] with minversion = "8.2", which makes it a root'
    )


def refuse_misspelt_markers(names: dict[str, pytest.Item], config: pytest.Config) -> None:
    """Refuse an unregistered marker that resembles ours, by a test that has it: it would check nothing."""
    registered = {re.split(r"[:(]", line)[0].strip() for line in config.getini("markers")}
    for name, item in names.items():
        if name not in registered and get_close_matches(name, ["bert_budget"], cutoff=0.8):
            path, line, _ = item.location
            _stop_run(f"{path}:{(line or 0) + 1}: unknown marker {name!r}; did you mean 'bert_budget'?", item, config)


def _stop_run(message: str, named: pytest.Item, config: pytest.Config) -> None:
    """Raise pytest.UsageError; an xdist worker cannot do that, and fails the test instead."""
    if not hasattr(config, "workerinput"):
        raise pytest.UsageError(message)

    class FailingTest:
        """Fails one test before its marks can skip it."""

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_setup(self, item: pytest.Item) -> None:
            if item is named:
                pytest.fail(message, pytrace=False)

    config.pluginmanager.register(FailingTest())


def fail_skipped_module(report: pytest.CollectReport, collector: pytest.Collector) -> None:
    """Fail a module that skips itself on import although its code names the marker or the fixture."""
    tokens = tokenize.tokenize(io.BytesIO(collector.path.read_bytes()).readline)
    uses = (each.start[0] for each in tokens if each.string.strip("\"'") in {"bert_budget", "bert_budgets"})
    if line := next(uses, 0):
        skips = "skips itself on import, so that its tests with bert_budget never run"
        instead = "declare the budget in pyproject.toml, or skip inside the tests"
        report.outcome = "failed"
        report.longrepr = f"{printable(collector.nodeid)}:{line}: the module {skips}; {instead}"
