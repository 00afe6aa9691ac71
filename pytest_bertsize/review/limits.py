"""Hold a count against the limits of a budget: what is over or under, and the way out.

A count by hand usually forgets something: some 35 public derivations leave biases out, count one layer instead of all,
miss the pooler, the head or the position table, or count the tied decoder twice. That is recognised from the number
itself, and named only where it explains a limit to the parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from pytest_bertsize.findings import Finding, Kind
from pytest_bertsize.inventory import TOTAL, TRAINABLE, Inventory, fold
from pytest_bertsize.quantity import restated
from pytest_bertsize.table.model import BYTES, FLOPS, GROWTH, NAMED, TRAINING, unit_of
from pytest_bertsize.wording import did_you_mean, exact, nearest_to, shown, signed

if TYPE_CHECKING:
    from pytest_bertsize.inventory import Fold
    from pytest_bertsize.review.review import Review
    from pytest_bertsize.table.model import Limit

CLOSED_FORM_FIRST = "its closed form comes first: what is off it cannot be accepted"


def check_limits(subject: Review, actual: Inventory, known_components: Callable[[], list[str]]) -> list[Finding]:
    """Return a finding for every limit that the count exceeds, falls below, or that names nothing.

    :param actual: what was built, or what the closed form says where nothing is built.
    :param known_components: what a limit may name although this architecture does not have it; asked when one does.
    """
    return [found for limit in subject.budget for found in _check_limit(limit, actual, subject, known_components)]


def _check_limit(
    limit: Limit, actual: Inventory, subject: Review, known_components: Callable[[], list[str]]
) -> list[Finding]:
    component = limit.component
    if limit.measure:
        measured = next((each for each in subject.measured if each.name == component), None)
        return _check_bounds(limit, measured.actual, subject, actual) if measured else []
    if component not in {TOTAL, TRAINABLE, *actual.components}:
        known = known_components()
        if component not in known and (subject.closed_form or limit.maximum != 0 or _is_other_name(component, known)):
            names = [TOTAL, TRAINABLE, BYTES, FLOPS, TRAINING, GROWTH, *known]
            return [refuse_unknown_component(component, limit, subject, names)]
        if limit.maximum != 0:
            message = f"the budget limits {shown(component)}, which this {subject.architecture} does not have"
            fix = f"remove it, or write budget.{shown(component)} = 0 to keep it out"
            return [_make_finding("config-invalid", limit, f"{message}: nothing would be held", fix)]
    return _check_bounds(limit, actual[component], subject, actual)


def _is_other_name(component: str, known: list[str]) -> bool:
    """Return whether a component that is not there is one by another name: ``pooler`` of ``bert.pooler``."""
    parts = {part for each in known for part in each.split(".")}
    return bool(nearest_to(component.rpartition(".")[2], parts, cutoff=0.8))


def refuse_unknown_component(component: str, limit: Limit, subject: Review, names: list[str]) -> Finding:
    """Return the finding about a limit whose component nothing has.

    :param names: what it may be about.
    """
    lacking = f"no {subject.family} model has" if subject.family else f"{subject.architecture} does not have"
    message = f"the budget names the component {shown(component)}, which {lacking}"
    hint = did_you_mean(component, names, f"there are {', '.join(names)}")
    return _make_finding("config-invalid", limit, message, hint)


def _check_bounds(limit: Limit, count: int, subject: Review, actual: Inventory) -> list[Finding]:
    kind: Kind
    if limit.maximum is not None and count > limit.maximum:
        kind, bound = "over-budget", limit.maximum
    elif limit.minimum is not None and count < limit.minimum:
        kind, bound = "under-budget", limit.minimum
    else:
        return []
    side = "over" if kind == "over-budget" else "under"
    message = f"{limit.component} is {exact(count)}, {exact(abs(count - bound))} {side} its {_write_bound(limit)}"
    if limit.measure:
        measured = next(each for each in subject.measured if each.name == limit.component)
        message = f"{message} ({measured.what})"
        is_as_derived = measured.expected in {None, measured.actual}
        fix = _suggest_float16(count, bound, measured.what)
    else:
        is_as_derived = subject.expected is None or subject.expected[limit.component] == count
        cause = _name_forgotten_part(actual, limit.component, bound) if is_as_derived else ""
        if cause := cause or _name_wrong_parts(limit, bound, subject.budget, actual):
            return [_make_finding(kind, limit, message, cause, count, bound)]
        fix = _count_fitting_layers(kind, limit, bound, actual)
    accept = _write_accepted(kind, limit, count) if is_as_derived else CLOSED_FORM_FIRST
    return [_make_finding(kind, limit, message, f"{fix}{accept}", count, bound)]


def _make_finding(
    kind: Kind, limit: Limit, message: str, fix: str, actual: int | None = None, bound: int | None = None
) -> Finding:
    """Return a finding at the place of a limit."""
    place = {"component": limit.component, "file": limit.file, "line": limit.line, "table_key": limit.table_key}
    return Finding(kind, message, fix, actual=actual, limit=bound, **place)  # type: ignore[arg-type]


def _name_forgotten_part(inventory: Inventory, component: str, claim: int) -> str:
    """Return the sentence that derives ``claim`` from the inventory by one usual mistake, or ``""``.

    :param claim: the count that somebody wrote down for ``component``.
    """
    rows = fold(inventory.under(component))
    guesses = _guess_total(inventory, rows) if component == TOTAL else _guess_component(rows)
    return next((sentence for count, sentence in guesses if count == claim and claim), "") or _name_parts_of_zero(
        claim, inventory, component
    )


def _guess_component(rows: list[Fold]) -> Iterator[tuple[int, str]]:
    layers = max((row.times for row in rows), default=1)
    biases = _sum_rows(rows, lambda row: row.count if _is_bias(row) else 0)
    weights = _sum_rows(rows, lambda row: 0 if _is_bias(row) else row.count)
    one_layer = _sum_rows(rows, lambda row: row.count // row.times)
    one_layer_weights = _sum_rows(rows, lambda row: 0 if _is_bias(row) else row.count // row.times)
    yield weights, f"that is without the biases, which are {exact(biases)}"
    if layers > 1:
        yield one_layer, f"that is one layer: ×{layers} is {exact(one_layer * layers)}"
        yield (
            one_layer_weights,
            f"that is one layer without its biases: ×{layers} is {exact(weights)}, and the biases are {exact(biases)}",
        )


def _guess_total(inventory: Inventory, rows: list[Fold]) -> Iterator[tuple[int, str]]:
    total = inventory.unique
    yield inventory.stored, f"that counts tied tensors twice, {exact(inventory.stored - total)} too many"
    for part in ("pooler", "head", "embeddings.position", "embeddings"):
        if count := inventory[part]:
            yield total - count, f"that is without the {part}, which is {exact(count)}"
    yield from _guess_component(rows)


def _name_parts_of_zero(claim: int, inventory: Inventory, component: str) -> str:
    """Return the parts of a component that somebody has taken to have none."""
    if claim or component == TOTAL:
        return ""
    parts = [
        f"{name} {exact(count)}"
        for name, count in inventory.components.items()
        if name.startswith(f"{component}.") and count
    ]
    return f"that leaves out {', '.join(parts)}" if parts else ""


def _is_bias(row: Fold) -> bool:
    return row.pattern.endswith(".bias") and "LayerNorm" not in row.pattern


def _sum_rows(rows: list[Fold], count: Callable[[Fold], int]) -> int:
    return sum(count(row) for row in rows)


def _suggest_float16(count: int, bound: int, what: str) -> str:
    """Return the size in 16 bits in place of 32, where that fits."""
    half = -(-count // 2)
    halves = what.startswith("float32") and "buffers" not in what
    return f"as float16 it is {exact(half)}, which fits; " if halves and half <= bound < count else ""


def _count_fitting_layers(kind: Kind, limit: Limit, bound: int, actual: Inventory) -> str:
    """Return how many of a component's identical layers its limit affords."""
    have = actual.layers(limit.component)
    if have == 1 or kind != "over-budget":
        return ""
    each = actual[limit.component] // have
    return f"one layer of it is {exact(each)}, so {bound // each} of {have} fit; "


def _name_wrong_parts(limit: Limit, bound: int, budget: tuple[Limit, ...], actual: Inventory) -> str:
    """Return the parts that are off, where a claimed total is the sum of the claimed parts."""
    parts = [
        each
        for each in budget
        if each.component not in {TOTAL, TRAINABLE} and not each.measure and not _has_limits_below(each, budget)
    ]
    if limit.component != TOTAL or sum(part.maximum or 0 for part in parts) != bound:
        return ""
    off = [(part.component, actual[part.component] - (part.maximum or 0)) for part in parts]
    named = ", ".join(f"{component} {signed(delta)}" for component, delta in off if delta)
    return f"that is the sum of the other limits, and off by as much as they are: {named}" if named else ""


def _has_limits_below(limit: Limit, budget: tuple[Limit, ...]) -> bool:
    return any(other.component.startswith(f"{limit.component}.") for other in budget)


def _write_bound(limit: Limit) -> str:
    if limit.is_exact:
        return f"exact limit of {exact(limit.maximum or 0)}"
    named = limit.maximum is not None and limit.component == BYTES and str(limit) in NAMED
    return f"limit of {limit}" + (f" ({exact(limit.maximum or 0)})" if named else "")


def _write_accepted(kind: Kind, limit: Limit, count: int) -> str:
    """Return how to write the budget that accepts the model as it is."""
    bound = limit.bound(kind)
    named = f"{bound} = " if isinstance(limit.written, dict) else ""
    return f"to accept it, write {named}{restated(count, bound, limit.written_at(bound), unit_of(limit.component))}"
