"""Add reviews to test reports: data, headline, drawing, and a verdict that no mark such as ``xfail`` changes."""

from __future__ import annotations

import sys
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

import pytest
from msgspec import to_builtins
from msgspec.structs import replace

from pytest_bertsize.inventory import TOTAL, TRAINABLE
from pytest_bertsize.plugin.items import REVIEW, BudgetFailure, BudgetItem, Mistaken, hold_marked, open_gate
from pytest_bertsize.reports.drawing import Style, can_show
from pytest_bertsize.reports.from_review import report_model
from pytest_bertsize.reports.report import to_plain
from pytest_bertsize.reports.terminal import draw_failure, take_common

if TYPE_CHECKING:
    from _pytest._io import TerminalWriter  # the type of a documented argument; imported for no other reason

    from pytest_bertsize.reports.report import ModelReport
    from pytest_bertsize.review.review import Review

_PROPERTY = "bertsize."  # prefix of the properties that we add to a test


class Attachments:
    """Attaches each review to its test's report as plain data, which xdist can send."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Attach reviews after pytest's own plugins have applied marks such as ``skip`` and ``xfail``."""
        report = yield
        failure = call.excinfo.value if call.excinfo else None
        if isinstance(item, BudgetItem) and call.when == "call" and isinstance(failure, BudgetFailure | None):
            with open_gate(item.config) as gate:
                if gate.mode.verb:  # the run changes budgets
                    asked = gate.changes_to_write(item.name)
                    before = to_plain(report_model(gate.reviewed(item.name))) if asked.changes else None
                    report.bertsize_changes = to_builtins(replace(asked, before=before))  # type: ignore[attr-defined]
        if report.skipped and not isinstance(failure, BudgetFailure | Mistaken) and REVIEW not in item.stash:
            try:  # the markers' budgets of a test that is skipped before its first line
                if item.get_closest_marker("bert_budget"):
                    hold_marked(item)
            except (BudgetFailure, Mistaken) as wrong:
                failure = wrong
        if isinstance(failure, BudgetFailure):
            _fail_report(report, failure.review.headline)
            if isinstance(item, BudgetItem):  # the line of the budget, or of the config's key, for annotations
                found = (each for each in failure.review.errors if each.file and each.line)
                file, line = next(((each.file, each.line) for each in found), ("", 0))
                report.location = (file, (line or 1) - 1, item.location[2]) if file else item.location
            _attach_review(failure.review, item, report)
        elif isinstance(failure, Mistaken):
            _fail_report(report, str(failure))
        elif isinstance(item, BudgetItem) and call.when == "call" and REVIEW in item.stash:
            _attach_review(item.stash[REVIEW], item, report)
        return report


def _fail_report(report: pytest.TestReport, message: str) -> None:
    """Fail the test whatever its marks: with ``xfail``, its failure would count as expected."""
    report.outcome = "failed"
    report.longrepr = message
    vars(report).pop("wasxfail", None)


def _attach_review(review: Review, item: pytest.Item, report: pytest.TestReport) -> None:
    """Attach the review as data, and the model's known sizes for JUnit's file."""
    model, limit = report_model(review), review.limit(TOTAL)
    report.bertsize = {"declared": isinstance(item, BudgetItem), "model": to_plain(model)}  # type: ignore[attr-defined]
    rows = {row.name: row.actual for row in model.components if row.name not in {TOTAL, TRAINABLE}}
    properties = {
        "verdict": model.verdict,
        "mode": "full" if model.built else "no-build",
        "total": model.totals.actual,
        "trainable": model.totals.trainable,
        "expected": model.totals.expected,
        "base": model.base.total if model.base else None,
        "limit": str(limit) if limit else None,
        **{f"component.{name}": count for name, count in rows.items() if "." not in name},
    }
    item.user_properties[:] = [
        *((name, value) for name, value in item.user_properties if not name.startswith(_PROPERTY)),
        *((f"{_PROPERTY}{name}", value) for name, value in properties.items() if value is not None),
    ]


class Crash(NamedTuple):
    """A message with its file and line, for the short summary, JUnit and annotations."""

    path: str
    lineno: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.lineno}: {self.message}"


class Failure:
    """Draws a failed review in place of pytest's ``report.longrepr``."""

    def __init__(self, model: ModelReport, location: tuple[str, int | None, str], config: pytest.Config) -> None:
        self.model = model
        self.verbosity = config.get_verbosity()
        path, line, _ = location
        self.reprcrash = Crash(path, (line or 0) + 1, model.headline)

    def toterminal(self, tw: TerminalWriter) -> None:
        tw.line(draw_failure(self.model, terminal_style(tw, self.verbosity)))

    def __str__(self) -> str:
        return draw_failure(self.model, Style(verbosity=self.verbosity))


def terminal_style(tw: TerminalWriter, verbosity: int) -> Style:
    """Return width and colour as pytest sees them (NO_COLOR, FORCE_COLOR, ``--color``), and the encoding."""
    return Style(tw.fullwidth, tw.hasmarkup, can_show(getattr(sys.__stdout__, "encoding", None)), verbosity)


def draw_common(reports: Sequence[pytest.TestReport], terminalreporter: pytest.TerminalReporter) -> None:
    """Draw once the findings that failed models share; a model without other findings is not drawn again."""
    if terminalreporter.config.option.tbstyle == "no":
        return
    failures = [cast("Failure", report.longrepr) for report in reports]
    style = terminal_style(terminalreporter._tw, terminalreporter.config.get_verbosity())  # noqa: SLF001  (no other way)
    common, rest = take_common([failure.model for failure in failures], style)
    if common:
        terminalreporter.ensure_newline()
        terminalreporter.section("bert size: findings of several models")
        terminalreporter.write_line(common)
    for report, failure, model in zip(reports, failures, rest, strict=True):
        failure.model = model
        if not (model.components or model.own_findings):
            report._pdbshown = True  # type: ignore[attr-defined]  # noqa: SLF001  (pytest's mark of what was shown)
