"""The budget changes of a run: accepting raises limits that fail, tightening lowers limits with room."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from pytest_bertsize.findings import BROKEN
from pytest_bertsize.quantity import restated
from pytest_bertsize.table.limits import NAMED, Growth, Limit, unit_of
from pytest_bertsize.table.rewrite import Change

if TYPE_CHECKING:
    from pytest_bertsize.review.review import Review

Verb = Literal["update", "tighten"]


class Refused(Struct, frozen=True):
    """A limit that the run does not change, and why."""

    model: str
    component: str
    why: str


class BudgetChanges(Struct, frozen=True):
    """The limits of one model that a run changes, and those that it refuses to change."""

    review: Review
    """The review of the model with its budget before these changes."""
    changes: list[Change] = []
    refused: list[Refused] = []
    asks_why: bool = False
    """True if a run with a base requires a reason: a limit is raised, was loosened by hand, or cannot be compared."""


def raise_limits(review: Review, *, shared: bool) -> BudgetChanges:
    """Return the limits with which a model passes, if it fails for nothing but its limits.

    :param shared: whether the same table declares other models.
    """
    broken = [finding for finding in review.errors if finding.kind in BROKEN]
    unexplained = [finding for finding in review.errors if finding.asks_why]
    settled = (*broken, *unexplained)
    others = [finding for finding in review.errors if finding not in settled and finding.kind != "over-growth"]
    if not broken:
        return BudgetChanges(review, asks_why=bool(unexplained) and not others)
    if others:
        command = review.subject.model.init_command
        meant = f" (if it is intended, by {command} --write)" if command else ""
        why = f"the model has another error ({others[0].kind}), which you must fix first{meant}"
        return BudgetChanges(review, [], [Refused(review.name, finding.component or "", why) for finding in broken])
    limits = {limit.table_key: limit for limit in review.budget}
    changes, refused = [], []
    for finding in broken:
        limit = limits[finding.table_key]
        bound = limit.bound(finding.kind)
        if limit.written_at(bound) in NAMED:
            why = f"{limit.written_at(bound)!r} is a limit of the service, not of the project"
            refused.append(Refused(review.name, limit.component, why))
        elif bound == "exact" and shared:
            why = "several models share this exact limit, so one of them cannot change it"
            refused.append(Refused(review.name, limit.component, why))
        else:
            changes.append(_change_limit(review.name, limit, bound, finding.actual or 0))
    return BudgetChanges(review, changes, refused, bool(changes or unexplained))


def lower_limits(review: Review) -> BudgetChanges:
    """Return, for each limit that may be lowered, the value with which the model just passes, in the limit's style."""
    lowerable = [
        limit
        for limit in review.budget
        if limit.table_key is not None and limit.maximum is not None and not isinstance(limit.measure, Growth)
        if limit.written_at("max") not in NAMED
    ]
    if review.verdict == "failed" or review.held is None:
        refused = [Refused(review.name, each.component, "its model fails") for each in lowerable]
        return BudgetChanges(review, [], refused)
    changes = []
    for limit in lowerable:
        measured = review.find_measured(limit.component)
        count = measured.actual if measured else review.held.count_of(limit.component)
        changes.append(_change_limit(review.name, limit, "max", count))
    return BudgetChanges(review, changes)


def _change_limit(model: str, limit: Limit, bound: str, count: int) -> Change:
    assert limit.table_key is not None
    after = restated(count, bound, limit.written_at(bound), unit_of(limit.component))
    return Change(model, limit.table_key, limit.component, bound, count, after)
