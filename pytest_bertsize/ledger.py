"""What the run was configured to check, what it checked, and what became of it: summary, report files, exit status."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_bertsize.failure import style_of
from pytest_bertsize.report_files import report_paths
from pytest_bertsize.reports import count_failed, json, names_not_checked, terminal
from pytest_bertsize.settings import SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pytest_bertsize.reports import ModelReport
    from pytest_bertsize.settings import Settings


def asked_for(config: pytest.Config, settings: Settings) -> list[Path]:
    """The files of ``--bert-budget-report``, relative to where pytest was called.

    :raises SettingsError: for one that cannot be written, or where no declared model is checked.
    """
    option = "--bert-budget-report"
    if not config.getoption("bert_budget"):
        raise SettingsError(f"{option} needs --bert-budget: without it no declared model is checked")
    return report_paths(config.getoption("bert_budget_report"), config.invocation_params.dir, settings, option)


class Ledger:
    """Kept by the process that talks to the user: the only one, or xdist's controller."""

    def __init__(
        self, config: pytest.Config, settings: Settings, versions: Mapping[str, str], reports: Sequence[Path]
    ) -> None:
        self.config = config
        self.settings = settings
        self.versions = versions
        self.reports = reports
        self.problems: list[str] = []
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

    def pytest_report_header(self) -> str:
        count = len(self.settings.names)
        return f"bertsize: {count} {'model' if count == 1 else 'models'} declared in {self.settings.path}"

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        found = getattr(report, "bertsize", None)
        if found and found["declared"]:
            self._models[found["model"]["name"]] = found["model"]

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the reports, and never leave with 0 where a declared model failed or was not checked."""
        if self.config.getoption("collectonly"):
            return
        for path in self.reports:
            try:
                json.write(path, self._document())
            except OSError as error:
                self.problems.append(f"the report {path} could not be written: {error.strerror or error}")
        if session.exitstatus == pytest.ExitCode.OK:
            if self.problems:
                session.exitstatus = pytest.ExitCode.USAGE_ERROR
            elif self.not_checked or self.failed:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _document(self) -> dict[str, object]:
        return json.document(self.models, self.settings.names, self.versions)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        verbosity = self.config.get_verbosity()
        style = style_of(terminalreporter._tw, verbosity)  # noqa: SLF001  (pytest's own plugins have no other way)
        terminalreporter.ensure_newline()
        terminalreporter.section("bert size")
        if self.models and verbosity >= 0:
            terminalreporter.write_line(terminal.overview(self.models, style))
            self._write_details(terminalreporter, style)
        for problem in self.problems:
            terminalreporter.write_line(problem, red=True)
        if self.not_checked:
            terminalreporter.write_line(f"NOT CHECKED: {', '.join(self.not_checked)}", red=True)
        written = [] if self.problems else self.reports
        terminalreporter.write_line(terminal.count(self.models, len(self.settings.names), written))

    def _write_details(self, terminalreporter: pytest.TerminalReporter, style: terminal.Style) -> None:
        """Of what passed: tables where they are asked for, warnings always."""
        for model in self.models:
            if model["verdict"] == "passed" and style.verbosity > 0:
                terminalreporter.write_line(f"\n{terminal.breakdown(model, style)}\n")
            if model["verdict"] == "passed" and (warnings := terminal.notes(model, style)):
                terminalreporter.write_line(warnings)
