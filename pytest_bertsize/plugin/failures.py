"""Test reports of reviews: their data, their one line, their drawing, and a verdict that no mark changes."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Generator, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, cast

import pytest
from rich.cells import cell_len

from pytest_bertsize.inventory import TOTAL, TRAINABLE
from pytest_bertsize.plugin.items import REVIEW, BudgetFailure, BudgetItem
from pytest_bertsize.plugin.marker import Mistaken, hold_marked
from pytest_bertsize.reports.drawing import Style, can_show
from pytest_bertsize.reports.from_review import report_model
from pytest_bertsize.reports.report import to_plain
from pytest_bertsize.reports.terminal import draw_failure

if TYPE_CHECKING:
    from _pytest._io import TerminalWriter  # the type of a documented argument; imported for no other reason

    from pytest_bertsize.reports.report import ModelReport
    from pytest_bertsize.review.review import Review

_PROPERTY = "bertsize."
"""Begins the name of each property that we leave on a test."""


class Attachments:
    """Puts each review on its test's report as plain data, which survives the way from an xdist worker."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Runs after pytest's own plugins have had their say, ``skip`` and ``xfail`` among them."""
        report = yield
        failure = call.excinfo.value if call.excinfo else None
        if isinstance(item, BudgetItem) and call.when == "call" and isinstance(failure, BudgetFailure | None):
            _attach_changes(item, report)
        if report.skipped and not isinstance(failure, BudgetFailure | Mistaken):
            failure = _check_skipped_test(item)
        if isinstance(failure, BudgetFailure):
            _fail_report(report, failure.review.headline)
            report.location = _place_of_failure(item, failure.review)
            _attach_review(failure.review, item, report)
        elif isinstance(failure, Mistaken):
            _fail_report(report, str(failure))
        elif isinstance(item, BudgetItem) and call.when == "call" and REVIEW in item.stash:
            _attach_review(item.stash[REVIEW], item, report)
        return report


def _check_skipped_test(item: pytest.Item) -> BaseException | None:
    """A test that is skipped before its first line is held to its markers' budgets all the same."""
    if REVIEW in item.stash or item.get_closest_marker("bert_budget") is None:
        return None
    try:
        hold_marked(item)
    except (BudgetFailure, Mistaken) as failure:
        return failure
    return None


def _fail_report(report: pytest.TestReport, message: str) -> None:
    """Whatever a mark has made of it: an expected failure would be green."""
    report.outcome = "failed"
    report.longrepr = message
    vars(report).pop("wasxfail", None)


def _attach_review(review: Review, item: pytest.Item, report: pytest.TestReport) -> None:
    model = report_model(review)
    report.bertsize = {"declared": isinstance(item, BudgetItem), "model": to_plain(model)}  # type: ignore[attr-defined]
    others = [(name, value) for name, value in item.user_properties if not name.startswith(_PROPERTY)]
    item.user_properties[:] = [
        *others,
        *((f"{_PROPERTY}{name}", value) for name, value in _junit_properties(model, review)),
    ]


def _junit_properties(model: ModelReport, review: Review) -> Iterator[tuple[str, object]]:
    """What JUnit's file has of a model: what is known of its sizes, whether it was built or not."""
    totals, base, limit = model.totals, model.base, review.limit(TOTAL)
    counted = [(row.name, row.actual) for row in model.components if row.name not in {TOTAL, TRAINABLE}]
    yield "verdict", model.verdict
    yield "mode", "full" if model.built else "no-build"
    known = {
        "total": totals.actual,
        "trainable": totals.trainable,
        "expected": totals.expected,
        "base": base.total if base else None,
        "limit": str(limit) if limit else None,
        **{f"component.{name}": count for name, count in counted if "." not in name},
    }
    yield from ((name, value) for name, value in known.items() if value is not None)


def _place_of_failure(item: pytest.Item, review: Review) -> tuple[str, int | None, str]:
    """The line of the budget, or of the config's key, so that an annotation lands on it."""
    path, line, title = item.location
    if not isinstance(item, BudgetItem):
        return path, line, title
    where = next((finding for finding in review.errors if finding.file and finding.line), None)
    return (where.file or path, (where.line or 1) - 1, title) if where else (path, line, title)


def _attach_changes(item: BudgetItem, report: pytest.TestReport) -> None:
    """What the model's test asks of its budget, where the run changes budgets."""
    if item.gate.mode.verb is None:
        return
    asked = item.gate.changes(item.name)
    report.bertsize_changes = [asdict(change) for change in asked.changes]  # type: ignore[attr-defined]
    report.bertsize_refused = [asdict(each) for each in asked.refused]  # type: ignore[attr-defined]
    if item.gate.mode.verb == "update" and item.gate.lock:
        report.bertsize_lock = {item.name: item.gate.to_lock(item.name)}  # type: ignore[attr-defined]
    if asked.changes:
        report.bertsize_before = to_plain(report_model(asked.review))  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True)
class Crash:
    """What the short summary, JUnit and annotations show: one line, and where to look."""

    path: str
    lineno: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.lineno}: {self.message}"


class Failure:
    """Stands in for ``report.longrepr``."""

    def __init__(self, model: ModelReport, location: tuple[str, int | None, str], config: pytest.Config) -> None:
        self.model = model
        self.verbosity = config.get_verbosity()
        path, line, _ = location
        self.reprcrash = Crash(path, (line or 0) + 1, model.headline)

    def shorten_line(self, width: int) -> None:
        """Shorten the line for the short summary by whole words: pytest itself would cut through a number."""
        self.reprcrash = replace(
            self.reprcrash, message=textwrap.shorten(self.model.headline, width, placeholder=" ...")
        )

    def toterminal(self, tw: TerminalWriter) -> None:
        tw.line(draw_failure(self.model, terminal_style(tw, self.verbosity)))

    def __str__(self) -> str:
        return draw_failure(self.model, Style(verbosity=self.verbosity))


def terminal_style(tw: TerminalWriter, verbosity: int) -> Style:
    """Width and colour as pytest sees them (so NO_COLOR, FORCE_COLOR and ``--color`` work), and what can be encoded."""
    return Style(tw.fullwidth, tw.hasmarkup, can_show(getattr(sys.__stdout__, "encoding", None)), verbosity)


def shorten_summary_lines(reports: Sequence[pytest.TestReport], terminalreporter: pytest.TerminalReporter) -> None:
    """Where pytest trims its summary lines to the terminal, trim ours first; it does not on CI, and neither do we."""
    if os.environ.get("CI") or os.environ.get("BUILD_NUMBER") or terminalreporter.verbosity > 1:
        return
    config = terminalreporter.config
    for report in reports:
        path, _, name = report.nodeid.partition("::")
        shown = os.path.relpath(config.rootpath / path, config.invocation_params.dir)
        room = terminalreporter._tw.fullwidth - cell_len(f"FAILED {shown}::{name} - ")  # noqa: SLF001  (no other way)
        cast("Failure", report.longrepr).shorten_line(max(room, 0))
