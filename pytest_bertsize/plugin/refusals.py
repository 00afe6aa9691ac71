"""Refuse runs that would silently check too little: another table, a misspelt marker, a module that skips itself."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from itertools import takewhile
from pathlib import Path

import pytest

from pytest_bertsize.table.settings import SettingsError, tables_of_models
from pytest_bertsize.wording import printable

NAME = "bert_budget"


def table_path(config: pytest.Config) -> Path:
    """Return the pyproject.toml of pytest's root: pytest's own settings may live in another file."""
    return config.rootpath / "pyproject.toml"


def refuse_other_tables(config: pytest.Config) -> None:
    """Raise SettingsError for another table than the root's in, or above, the working directory or an argument."""
    here, root = config.invocation_params.dir, config.rootpath.resolve()
    given = config.args if config.args_source == pytest.Config.ArgsSource.ARGS else []
    named = [here / argument.partition("::")[0] for argument in given]
    inside = [here] if root in here.resolve().parents else []
    for folder in (here, *(above for path in (*inside, *named) for above in _folders_up_to(root, path))):
        if message := _describe_other_table(config, folder):
            raise SettingsError(message)


def refuse_tables_beside_tests(config: pytest.Config, items: Sequence[pytest.Item]) -> None:
    """Refuse the run if a folder between a collected test and the root has another table than the root."""
    first = {item.path.parent: item for item in reversed(items)}
    for folder, item in first.items():
        for above in _folders_up_to(config.rootpath.resolve(), folder):
            if message := _describe_other_table(config, above):
                _stop_run(message, item, config)


def _describe_other_table(config: pytest.Config, folder: Path) -> str:
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


def _folders_up_to(root: Path, path: Path) -> Iterator[Path]:
    """Return a path's folder and the folders above it, up to the root or a folder that contains the root."""
    path = path.resolve()
    above = takewhile(lambda folder: folder != root and folder not in root.parents, (path, *path.parents))
    yield from above if path.exists() else ()


def refuse_misspelt_markers(names: dict[str, pytest.Item], config: pytest.Config) -> None:
    """Refuse an unregistered marker that resembles ours, by a test that has it: it would check nothing."""
    registered = {re.split(r"[:(]", line)[0].strip() for line in config.getini("markers")}
    for name, item in names.items():
        if name not in registered and get_close_matches(name, [NAME], cutoff=0.8):
            path, line, _ = item.location
            _stop_run(f"{path}:{(line or 0) + 1}: unknown marker {name!r}; did you mean '{NAME}'?", item, config)


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
    uses = (each.start[0] for each in tokens if each.string.strip("\"'") in {NAME, f"{NAME}s"})
    if line := next(uses, 0):
        skips = "skips itself on import, so that its tests with bert_budget never run"
        instead = "declare the budget in pyproject.toml, or skip inside the tests"
        report.outcome = "failed"
        report.longrepr = f"{printable(collector.nodeid)}:{line}: the module {skips}; {instead}"
