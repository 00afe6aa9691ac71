"""What a review leaves on its test's report: its data, its line, and a verdict that no mark changes."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

import pytest

from pytest_bertsize.inventory import TOTAL, TRAINABLE
from pytest_bertsize.plugin.items import REVIEW, BudgetFailure, BudgetItem
from pytest_bertsize.plugin.marker import Mistaken, hold_marked
from pytest_bertsize.reports.model_report import model_report

if TYPE_CHECKING:
    from pytest_bertsize.reports.shape import ModelReport
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
            _ask(item, report)
        if report.skipped and not isinstance(failure, BudgetFailure | Mistaken):
            failure = _held_after_all(item)
        if isinstance(failure, BudgetFailure):
            _fail(report, failure.review.headline)
            report.location = _location(item, failure.review)
            _attach(failure.review, item, report)
        elif isinstance(failure, Mistaken):
            _fail(report, str(failure))
        elif isinstance(item, BudgetItem) and call.when == "call" and REVIEW in item.stash:
            _attach(item.stash[REVIEW], item, report)
        return report


def _held_after_all(item: pytest.Item) -> BaseException | None:
    """A test that is skipped before its first line is held to its markers' budgets all the same."""
    if REVIEW in item.stash or item.get_closest_marker("bert_budget") is None:
        return None
    try:
        hold_marked(item)
    except (BudgetFailure, Mistaken) as failure:
        return failure
    return None


def _fail(report: pytest.TestReport, message: str) -> None:
    """Whatever a mark has made of it: an expected failure would be green."""
    report.outcome = "failed"
    report.longrepr = message
    vars(report).pop("wasxfail", None)


def _attach(review: Review, item: pytest.Item, report: pytest.TestReport) -> None:
    model = model_report(review)
    report.bertsize = {"declared": isinstance(item, BudgetItem), "model": model}  # type: ignore[attr-defined]
    others = [(name, value) for name, value in item.user_properties if not name.startswith(_PROPERTY)]
    item.user_properties[:] = [*others, *((f"{_PROPERTY}{name}", value) for name, value in _properties(model, review))]


def _properties(model: ModelReport, review: Review) -> Iterator[tuple[str, object]]:
    """What JUnit's file has of a model: what is known of its sizes, whether it was built or not."""
    totals, base, limit = model["totals"], model["base"], review.limit(TOTAL)
    counted = [(row["name"], row["actual"]) for row in model["components"] if row["name"] not in {TOTAL, TRAINABLE}]
    yield "verdict", model["verdict"]
    yield "mode", "full" if model["built"] else "no-build"
    known = {
        "total": totals["actual"],
        "trainable": totals["trainable"],
        "expected": totals["expected"],
        "base": base["total"] if base else None,
        "limit": str(limit) if limit else None,
        **{f"component.{name}": count for name, count in counted if "." not in name},
    }
    yield from ((name, value) for name, value in known.items() if value is not None)


def _location(item: pytest.Item, review: Review) -> tuple[str, int | None, str]:
    """The line of the budget, or of the config's key, so that an annotation lands on it."""
    path, line, title = item.location
    if not isinstance(item, BudgetItem):
        return path, line, title
    where = next((finding for finding in review.errors if finding.file and finding.line), None)
    return (where.file or path, (where.line or 1) - 1, title) if where else (path, line, title)


def _ask(item: BudgetItem, report: pytest.TestReport) -> None:
    """What the model's test asks of its budget, where the run changes budgets."""
    if item.gate.mode.verb is None:
        return
    asked = item.gate.changes(item.name)
    report.bertsize_changes = [asdict(change) for change in asked.changes]  # type: ignore[attr-defined]
    report.bertsize_refused = [asdict(each) for each in asked.refused]  # type: ignore[attr-defined]
    if item.gate.mode.verb == "update" and item.gate.lock:
        report.bertsize_lock = {item.name: item.gate.to_lock(item.name)}  # type: ignore[attr-defined]
    if asked.changes:
        report.bertsize_before = model_report(asked.review)  # type: ignore[attr-defined]
