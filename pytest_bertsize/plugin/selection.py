"""Runs that only list tests, or select some: they may leave models unchecked, and say so in their last line.

An editor has pytest list the tests, or run the one at the cursor, a hundred times a day. A selection is an error in CI.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from pytest_bertsize.reports.ci import sign_of_ci

LISTING = (
    "collectonly",
    "setuponly",
    "setupplan",
    "showfixtures",
    "show_fixtures_per_test",
    "markers",
    "help",
    "version",
)
"""Options of pytest with which it runs no test."""
LEFT_OUT = "bertsize_left_out"
"""Key of xdist's ``workeroutput``: whether tests were left out."""
RESULTS = "bertsize_results"
"""Key of xdist's ``workerinput``: the file in which workers find what was built."""
LISTED = "tests were only listed"
SELECTED = "the run selects other tests, which is an error in CI"


def only_lists(config: pytest.Config) -> bool:
    """Tell whether pytest was asked for something else than to run tests."""
    return any(config.getoption(name, default=False) for name in LISTING)


def is_lenient(config: pytest.Config) -> bool:
    """Tell whether the setting alone has the gate in this run, and somebody at a desk has started it."""
    return not config.getoption("bert_budget") and not sign_of_ci()


def is_for_other_tests(config: pytest.Config) -> bool:
    """Tell whether pytest was given files or single tests, none of them ours; ``pytest tests`` is any run."""
    if hasattr(config, "workerinput"):
        return RESULTS not in config.workerinput  # as the controller has decided
    if config.args_source != pytest.Config.ArgsSource.ARGS or not is_lenient(config):
        return False
    table, here = config.rootpath / "pyproject.toml", config.invocation_params.dir
    files = [here / argument.partition("::")[0] for argument in config.args]
    return all(file.is_file() and file.resolve() != table.resolve() for file in files)


def may_run_nothing(config: pytest.Config) -> bool:
    """Tell whether a run that has not even armed the gate may succeed: one that lists, or is for other tests."""
    return only_lists(config) or is_lenient(config)


class Selection:
    """Sees whether a run lists or selects tests, in xdist's workers too."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        chosen = config.args_source == pytest.Config.ArgsSource.ARGS and any("::" in each for each in config.args)
        self.left_out = chosen
        """Whether there are tests that this run was not meant to run."""

    @property
    def excuse(self) -> str:
        """Why models may be left unchecked; ``""`` where they may not."""
        if only_lists(self.config):
            return LISTED
        return SELECTED if self.left_out and not sign_of_ci() else ""

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        self.left_out |= bool(items)
        if hasattr(self.config, "workeroutput"):
            self.config.workeroutput[LEFT_OUT] = self.left_out

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self.left_out |= bool(getattr(node, "workeroutput", {}).get(LEFT_OUT))


class Notice:
    """Says of a run for other tests that no model was checked."""

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.write_line(f"NOT CHECKED: any model of bert_budget = true: {SELECTED}", yellow=True)
