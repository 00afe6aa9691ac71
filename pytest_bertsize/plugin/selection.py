"""Runs that only list or select tests, as editors do: they may leave models unchecked, and their last line says so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from pytest_bertsize.reports.ci import sign_of_ci

LISTING = "collectonly setuponly setupplan showfixtures show_fixtures_per_test markers help version"
"""Options of pytest that run no test."""
LEFT_OUT = "bertsize_left_out"  # key of xdist's workeroutput: whether tests were left out
RESULTS = "bertsize_results"  # key of xdist's workerinput: the file with the builds
LISTED = "tests were only listed"
SELECTED = "the run selects other tests, which is an error in CI"


def only_lists(config: pytest.Config) -> bool:
    """Return whether pytest runs no tests."""
    return any(config.getoption(name, default=False) for name in LISTING.split())


def is_lenient(config: pytest.Config) -> bool:
    """Return whether only the setting ``bert_budget`` enables the gate, and the run is not in CI."""
    return not config.getoption("bert_budget") and not sign_of_ci()


def is_for_other_tests(config: pytest.Config) -> bool:
    """Return whether the run is lenient, and its arguments are only files, or tests in files, other than the table."""
    if hasattr(config, "workerinput"):
        return RESULTS not in config.workerinput  # the controller decides
    if config.args_source != pytest.Config.ArgsSource.ARGS or not is_lenient(config):
        return False
    table, here = config.rootpath / "pyproject.toml", config.invocation_params.dir
    files = [here / argument.partition("::")[0] for argument in config.args]
    return all(file.is_file() and file.resolve() != table.resolve() for file in files)


class Selection:
    """Records whether a run lists or selects tests, in xdist's workers too."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        chosen = config.args_source == pytest.Config.ArgsSource.ARGS and any("::" in each for each in config.args)
        self.left_out = chosen or config.getoption("lf", default=False)  # which leaves files out without a hook
        """True if an option, a plugin, or a test id in the command left out other tests."""

    @property
    def excuse(self) -> str:
        """The reason that allows unchecked models, or ``""``."""
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
    """Reports that a run for other tests checked no model."""

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.write_line(f"NOT CHECKED: every declared model (bert_budget = true): {SELECTED}", yellow=True)
