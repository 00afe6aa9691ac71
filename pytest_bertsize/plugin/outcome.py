"""What the run was configured to check, what it checked, and what became of it: summary, report files, exit status."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pytest_bertsize.plugin.longrepr import style_of
from pytest_bertsize.reports import github
from pytest_bertsize.reports.ci import sign_of_ci
from pytest_bertsize.reports.files import ReportFiles, report_files
from pytest_bertsize.reports.model_report import count_failed, names_not_checked
from pytest_bertsize.reports.terminal import text as terminal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_bertsize.plugin.update import Rewriter
    from pytest_bertsize.reports.shape import ModelReport
    from pytest_bertsize.table.settings import Settings


def asked_for(config: pytest.Config, settings: Settings) -> ReportFiles:
    """The files of ``--bert-budget-report``, relative to where pytest was called.

    :raises SettingsError: for one that cannot be written.
    """
    given, option = config.getoption("bert_budget_report"), "--bert-budget-report"
    return report_files(given, config.invocation_params.dir, settings, option)


class Ledger:
    """Kept by the process that talks to the user: the only one, or xdist's controller."""

    def __init__(
        self, config: pytest.Config, settings: Settings, versions: Mapping[str, str], reports: ReportFiles
    ) -> None:
        self.config = config
        self.settings = settings
        self.versions = versions
        self.reports = reports
        self.told = False
        """Whether the terminal has said what was checked."""
        self.rewriter: Rewriter | None = None
        """Who changes budgets, where the run does."""
        self._models: dict[str, ModelReport] = {}

    @property
    def models(self) -> list[ModelReport]:
        """The models that were checked, in the order of their declaration."""
        return [self._models[name] for name in self.settings.names if name in self._models]

    @property
    def failed(self) -> int:
        return count_failed(self.models)

    @property
    def not_checked(self) -> list[str]:
        return names_not_checked(self.models, self.settings.names)

    @property
    def status(self) -> pytest.ExitCode:
        """What the run's exit status is, as far as the ledger has a say."""
        if self.reports.problems:
            return pytest.ExitCode.USAGE_ERROR
        return pytest.ExitCode.TESTS_FAILED if self.not_checked or self.failed else pytest.ExitCode.OK

    def pytest_report_header(self) -> str:
        count = len(self.settings.names)
        return f"bertsize: {count} {'model' if count == 1 else 'models'} declared in {self.settings.path}"

    def pytest_sessionstart(self) -> None:
        """Write an incomplete report before anything runs: a run that dies leaves it, and not that of the run before.

        :raises pytest.UsageError: when it cannot be written.
        """
        self.reports.write(self.models, self.versions)
        if self.reports.problems:
            raise pytest.UsageError(*self.reports.problems)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Enter what was found; a model that failed once stays failed, however often it runs."""
        found = getattr(report, "bertsize", None)
        if found and found["declared"]:
            model = found["model"]
            before = self._models.setdefault(model["name"], model)
            self._models[model["name"]] = before if before["verdict"] == "failed" else model

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the reports, and never leave with 0 where a declared model failed or was not checked."""
        if self.rewriter:
            self.reports = replace(self.reports, settings=self.rewriter.settings)
            self._models |= self.rewriter.taken_back
        self.reports.finish(self.models, self.versions)
        good = {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}
        if session.exitstatus in good and self.status != pytest.ExitCode.OK:
            session.exitstatus = self.status

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        self.told = True
        verbosity = self.config.get_verbosity()
        style = style_of(terminalreporter._tw, verbosity)  # noqa: SLF001  (pytest's own plugins have no other way)
        terminalreporter.ensure_newline()
        terminalreporter.section("bert size")
        if self.models and verbosity >= 0:
            terminalreporter.write_line(terminal.overview(self.models, style))
            self._write_details(terminalreporter, style)
        for problem in self.reports.problems:
            terminalreporter.write_line(problem, red=True)
        if self.not_checked:
            terminalreporter.write_line(f"NOT CHECKED: {', '.join(self.not_checked)}", red=True)
        if self.reports.base and (text := terminal.base_of_run(self.reports.base, self.models, style)):
            terminalreporter.write_line(text)
        for line in self._annotations():
            terminalreporter.write_line(line)
        if self.rewriter is None and (way := terminal.way_to_accept(self.models, style)) and not sign_of_ci():
            terminalreporter.write_line(way)
        written = () if self.reports.problems else self.reports.paths
        terminalreporter.write_line(
            terminal.count(self.models, len(self.settings.names), written, builds=self.reports.builds)
        )

    def _annotations(self) -> list[str]:
        """Of what GitHub reads at the start of a line, where it is GitHub that reads."""
        if not github.reads_the_log():
            return []
        return github.lines_for_log(self.reports.report(self.models, self.versions), self.settings.root)

    def _write_details(self, terminalreporter: pytest.TerminalReporter, style: terminal.Style) -> None:
        """Of what passed: tables where they are asked for, warnings always."""
        for model in self.models:
            if model["verdict"] == "passed" and style.verbosity > 0:
                terminalreporter.write_line(f"\n{terminal.breakdown(model, style)}\n")
            elif model["verdict"] == "passed" and (changed := terminal.against_base(model, style)):
                terminalreporter.write_line(changed)
            if model["verdict"] == "passed" and (warnings := terminal.notes(model, style)):
                terminalreporter.write_line(warnings)
