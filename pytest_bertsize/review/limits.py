"""Compare a count with the limits of a budget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_bertsize.inventory import TOTAL, TRAINABLE, Inventory
from pytest_bertsize.quantity import restated
from pytest_bertsize.table.limits import BYTES, FLOPS, GROWTH, NAMED, TRAINING, Limit, unit_of
from pytest_bertsize.wording import did_you_mean, exact, nearest_to, shown

if TYPE_CHECKING:
    from pytest_bertsize.findings import Finding, Kind
    from pytest_bertsize.review.measures import Measured
    from pytest_bertsize.review.review import Review

CLOSED_FORM_FIRST = "fix the difference from the closed form first: a limit cannot accept it"


def check_limits(review: Review, actual: Inventory) -> list[Finding]:
    """Return a finding for every limit that is not met, and for every limit on an unknown component.

    :param actual: the built inventory; if nothing is built, that of the closed form or the lock.
    """
    found = (_check_limit(limit, actual, review) for limit in review.budget)
    return [finding for finding in found if finding]


def _check_limit(limit: Limit, actual: Inventory, review: Review) -> Finding | None:
    component = limit.component
    if limit.measure:
        measured = review.find_measured(component)
        return _check_bounds(limit, measured.actual, review, actual, measured) if measured else None
    if component not in {TOTAL, TRAINABLE, *actual.components}:
        known, closed_form = review.known_components, review.subject.model.closed_form
        if component not in known and (closed_form or limit.maximum != 0 or _is_other_name(component, known)):
            return refuse_unknown_component(component, limit, review, [BYTES, FLOPS, TRAINING, GROWTH])
        if limit.maximum != 0 and not (review.expected and review.expected.count_of(component)):
            message = f"the budget limits {shown(component)}, which this {review.subject.architecture} does not have"
            fix = f"remove the limit, or write budget.{shown(component)} = 0 to forbid the component"
            return limit.make_finding("config-invalid", f"{message}: the limit would check nothing", fix)
    return _check_bounds(limit, actual.count_of(component), review, actual)


def _is_other_name(component: str, known: list[str]) -> bool:
    """Return whether a missing component may exist under another name: ``pooler`` may be called ``bert.pooler``."""
    parts = {part for each in known for part in each.split(".")}
    return bool(nearest_to(component.rpartition(".")[2], parts, cutoff=0.8))


def refuse_unknown_component(component: str, limit: Limit, review: Review, measures: Sequence[str] = ()) -> Finding:
    """Return the finding about a limit on an unknown component.

    :param measures: other quantities that a limit may name.
    """
    family, names = review.subject.family, [TOTAL, TRAINABLE, *measures, *review.known_components]
    lacking = f"no {family} model has" if family else f"{review.subject.architecture} does not have"
    message = f"the budget names the component {shown(component)}, which {lacking}"
    hint = did_you_mean(component, names, f"a budget can name {', '.join(names)}")
    return limit.make_finding("config-invalid", message, hint)


def _check_bounds(
    limit: Limit, count: int, review: Review, actual: Inventory, measured: Measured | None = None
) -> Finding | None:
    """Return a finding if ``count`` is not within the limit; ``measured`` is the quantity, ``None`` for parameters."""
    kind: Kind
    if limit.maximum is not None and count > limit.maximum:
        kind, side, bound = "over-budget", "over", limit.maximum
    elif limit.minimum is not None and count < limit.minimum:
        kind, side, bound = "under-budget", "under", limit.minimum
    else:
        return None
    written = f"limit of {limit}"
    if limit.is_exact:
        written = f"exact limit of {exact(bound)}"
    elif limit.maximum is not None and limit.component == BYTES and str(limit) in NAMED:
        written = f"limit of {limit} ({exact(limit.maximum)})"
    message = f"{limit.component} is {exact(count)}, {exact(abs(count - bound))} {side} its {written}"
    if measured:
        message = f"{message} ({measured.what})"
        is_as_derived = measured.expected in {None, measured.actual}
        fix = ""
    else:
        is_free = limit.component == TRAINABLE and review.freezes_at_will and not review.is_off_closed_form
        is_as_derived = is_free or review.expected is None or review.expected.count_of(limit.component) == count
        fix = _count_fitting_layers(kind, limit, bound, actual)
    accept = _write_accepted(kind, limit, count) if is_as_derived else CLOSED_FORM_FIRST
    return limit.make_finding(kind, message, f"{fix}{accept}", actual=count)._replace(limit=bound)


def _count_fitting_layers(kind: Kind, limit: Limit, bound: int, actual: Inventory) -> str:
    """Name how many of a component's identical layers fit the limit."""
    have = actual.layers(limit.component)
    if have == 1 or kind != "over-budget":
        return ""
    each = actual.count_of(limit.component) // have
    return f"one layer of it is {exact(each)}, so {bound // each} of {have} fit; "


def _write_accepted(kind: Kind, limit: Limit, count: int) -> str:
    """Return advice to accept the count: the value to write in the budget."""
    bound = limit.bound(kind)
    named = f"{bound} = " if isinstance(limit.written, dict) else ""
    return f"to accept it, write {named}{restated(count, bound, limit.written_at(bound), unit_of(limit.component))}"
