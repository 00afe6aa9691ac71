"""What a review leaves on its test's report: its data, its line, and a verdict that no mark changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_bertsize.gate import REVIEW, BudgetFailure, BudgetItem
from pytest_bertsize.marked_tests import Mistaken, hold_marked
from pytest_bertsize.reports import model_report

if TYPE_CHECKING:
    from collections.abc import Generator

    from pytest_bertsize.review import Review


class Attachments:
    """Puts each review on its test's report as plain data, which survives the way from an xdist worker."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Runs after pytest's own plugins have had their say, ``skip`` and ``xfail`` among them."""
        report = yield
        failure = call.excinfo.value if call.excinfo else None
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
    report.bertsize = {"declared": isinstance(item, BudgetItem), "model": model_report(review)}  # type: ignore[attr-defined]
    if review.actual:
        item.user_properties += [(f"bertsize.{name}", review.actual[name]) for name in ("total", "trainable")]


def _location(item: pytest.Item, review: Review) -> tuple[str, int | None, str]:
    """The line of the budget, or of the config's key, so that an annotation lands on it."""
    path, line, title = item.location
    if not isinstance(item, BudgetItem):
        return path, line, title
    where = next((finding for finding in review.errors if finding.file and finding.line), None)
    return (where.file or path, (where.line or 1) - 1, title) if where else (path, line, title)
