"""``--bert-budget-update`` and ``--bert-budget-tighten``: collect budget changes from the reports of tests."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec
import pytest

from pytest_bertsize.plugin.failures import terminal_style
from pytest_bertsize.reports.drawing import draw_marked
from pytest_bertsize.reports.report import model_from_plain
from pytest_bertsize.review.accept import BudgetChanges, Verb, Writer

if TYPE_CHECKING:
    from pytest_bertsize.base.lock import Lock
    from pytest_bertsize.reports.report import ModelReport
    from pytest_bertsize.table.settings import Settings

_OVER = {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED}
_DONE: Mapping[Verb, str] = {"update": "raised", "tighten": "lowered"}


class Rewriter(Writer):
    """Collects budget changes in the process with the terminal, and writes them."""

    def __init__(self, settings: Settings, verb: Verb, lock: Lock | None = None, reason: str = "") -> None:
        super().__init__(settings, verb, lock, reason)
        self._is_broken_off = False
        self._before: dict[str, ModelReport] = {}

    @property
    def taken_back(self) -> Mapping[str, ModelReport]:
        """The models whose budgets could not be written: their old budgets still apply."""
        return self._before if self.problem and self.verb == "update" else {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if asked := getattr(report, "bertsize_changes", None):
            changes = msgspec.convert(asked, BudgetChanges)
            self.ask(changes)
            if changes.before:
                self._before[changes.model] = model_from_plain(changes.before)

    def pytest_keyboard_interrupt(self) -> None:
        """Record an interrupt, because ``pytest.exit`` can have any exit status."""
        self._is_broken_off = True

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the changes, unless the run was interrupted."""
        self.write(is_broken_off=self._is_broken_off or session.exitstatus not in _OVER)
        if self.problem and session.exitstatus in _OVER:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if not session.config.pluginmanager.hasplugin("terminalreporter"):
            sys.stderr.write("".join(f"{line.mark}{line.text}\n" for line in self.list_lines()))

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        style = terminal_style(terminalreporter._tw, 0)  # noqa: SLF001  (pytest's own plugins have no other way)
        terminalreporter.section(f"budgets {_DONE[self.verb]}" if self.done else "budgets")
        for line in self.list_lines():
            terminalreporter.write_line(draw_marked(line.mark, line.text, style), red=line.is_bad)
