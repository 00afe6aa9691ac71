"""``bert_budget = true`` in pytest's settings: the gate in every run, but for those that only list or select tests.

An editor has pytest list the tests, or run the one at the cursor, a hundred times a day. At a desk such a run may leave
models unchecked: it says so, and may succeed. In CI, and with ``--bert-budget``, it is as red as ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

LISTING = ("collectonly", "setuponly", "setupplan", "showfixtures", "show_fixtures_per_test", "markers")
"""Options of pytest with which it runs no test."""
LEFT_OUT = "bertsize_left_out"
"""Key of xdist's ``workeroutput``: whether tests were left out."""
RESULTS = "bertsize_results"
"""Key of xdist's ``workerinput``: the file in which workers find what was built."""
WHY = "tests were only listed or selected, which CI would not let pass"


def is_lenient(config: pytest.Config) -> bool:
    """Tell whether the setting alone has the gate in this run, and somebody at a desk has started it."""
    if config.getoption("bert_budget"):
        return False
    from pytest_bertsize.reports.ci import sign_of_ci

    return not sign_of_ci()


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
    """Tell whether a run that has not even armed the gate may succeed: one for other tests, or ``--version``."""
    return not config.getoption("bert_budget") and (config.getoption("version") or is_lenient(config))


class Selection:
    """Sees whether a run lists or selects tests, in xdist's workers too."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        chosen = config.args_source == pytest.Config.ArgsSource.ARGS and any("::" in each for each in config.args)
        self.left_out = chosen or any(config.getoption(name, default=False) for name in LISTING)
        """Whether there are tests that this run was not meant to run."""

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
        terminalreporter.write_line(f"NOT CHECKED: any model of bert_budget = true: {WHY}", yellow=True)
