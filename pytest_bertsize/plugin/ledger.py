"""The ledger of a run: collects the reports of tests, gives pytest the outcome, and writes changed budgets."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec
import pytest
from msgspec.structs import replace

from pytest_bertsize.plugin.failures import terminal_style
from pytest_bertsize.reports.drawing import draw_marked
from pytest_bertsize.reports.outcome import Outcome, name_unchecked, summarize_run
from pytest_bertsize.reports.report import model_from_plain
from pytest_bertsize.review.accept import BudgetChanges, Verb, Writer
from pytest_bertsize.wording import plural

if TYPE_CHECKING:
    from pytest_bertsize.plugin.selection import Selection
    from pytest_bertsize.reports.files import ReportFiles
    from pytest_bertsize.reports.report import ModelReport

EXIT = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.USAGE_ERROR)  # by the status of a command
_OVER = {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED}
_DONE: Mapping[Verb, str] = {"update": "raised", "tighten": "lowered"}


class Ledger:
    """Collects the results of a run: in the controller, if xdist runs the tests."""

    def __init__(
        self, selection: Selection, versions: Mapping[str, str], reports: ReportFiles, rewriter: Rewriter | None
    ) -> None:
        """:param rewriter: ``None`` if the run changes no budgets."""
        self.selection, self.versions, self.reports, self.rewriter = selection, versions, reports, rewriter
        self.terminal: pytest.TerminalReporter | None = None  # true after the summary
        self._models: dict[str, ModelReport] = {}

    @property
    def outcome(self) -> Outcome:
        """The outcome of the reports so far."""
        checked = [self._models[name] for name in self.reports.settings.models if name in self._models]
        return Outcome(checked, self.versions, self.reports, self.selection.excuse)

    @property
    def status(self) -> pytest.ExitCode:
        return EXIT[self.outcome.status]

    def pytest_report_header(self) -> str:
        settings = self.reports.settings
        return f"bertsize: {plural(len(settings.models), 'model')} declared in {settings.path}"

    def pytest_sessionstart(self) -> None:
        """Write an incomplete report before the run: after a crash, no earlier report is taken for this run's."""
        if self.reports:
            self.reports.write(self.outcome.report)
        if self.reports.problems:
            raise pytest.UsageError(*self.reports.problems)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record a report; a model that failed once stays failed, also after reruns."""
        found = getattr(report, "bertsize", None)
        if found and found["declared"]:
            model = model_from_plain(found["model"])
            before = self._models.setdefault(model.name, model)
            self._models[model.name] = before if before.verdict == "failed" else model

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the reports, and never exit with 0 if a declared model failed or was not checked."""
        if self.rewriter:
            self.reports = replace(self.reports, settings=self.rewriter.settings)
            self._models |= self.rewriter.taken_back
        if self.reports:
            self.reports.write(self.outcome.report, is_final=True)
        good = {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}
        if session.exitstatus in good and self.status != pytest.ExitCode.OK:
            session.exitstatus = self.status

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        self.terminal = terminalreporter
        style = terminal_style(terminalreporter._tw, self.selection.config.get_verbosity())  # noqa: SLF001  (no other way)
        terminalreporter.ensure_newline()
        terminalreporter.section("bert size")
        for text, colour in summarize_run(self.outcome, style, accepting=self.rewriter is not None):
            terminalreporter.write_line(text, **{colour: True} if colour else {})

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        """Name the unchecked models, after pytest's own last line."""
        if self.terminal:
            for line in name_unchecked(self.outcome):
                self.terminal.write_line(line.text, **{line.colour: True})


class Rewriter(Writer):
    """Collects budget changes in the process with the terminal, and writes them."""

    _is_broken_off = False

    @property
    def taken_back(self) -> Mapping[str, ModelReport]:
        """The models whose budgets could not be written: their old budgets still apply."""
        asked = self._asked.values() if self.problem and self.verb == "update" else ()
        return {each.model: model_from_plain(each.before) for each in asked if each.before}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if changes := getattr(report, "bertsize_changes", None):
            self.ask(msgspec.convert(changes, BudgetChanges))

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
