"""The way out of a limit that does not hold: what its author forgot, what would fit, how to accept what is there.

What a count by hand usually forgets is recognised from the number itself. Some 35 public derivations leave biases out,
count one layer instead of all, miss the pooler, the head or the position table, or count the tied decoder twice. A
guess is only made where it explains a limit to the parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from pytest_bertsize.inventory import TOTAL, TRAINABLE, Inventory, fold
from pytest_bertsize.quantity import restated
from pytest_bertsize.table.byte_sizes import NAMED
from pytest_bertsize.table.model import BYTES, unit_of
from pytest_bertsize.wording import exact, signed

if TYPE_CHECKING:
    from pytest_bertsize.findings import Kind
    from pytest_bertsize.inventory import Fold
    from pytest_bertsize.table.model import Limit


def what_was_forgotten(inventory: Inventory, component: str, claim: int) -> str:
    """A sentence that derives ``claim`` from the inventory by one usual mistake, or ``""``.

    :param claim: the count that somebody wrote down for ``component``.
    """
    rows = fold(inventory.under(component))
    guesses = _of_the_whole(inventory, rows) if component == TOTAL else _of_a_component(rows)
    return next((sentence for count, sentence in guesses if count == claim and claim), "") or _nothing(
        claim, inventory, component
    )


def _of_a_component(rows: list[Fold]) -> Iterator[tuple[int, str]]:
    layers = max((row.times for row in rows), default=1)
    biases = _sum(rows, lambda row: row.count if _is_bias(row) else 0)
    weights = _sum(rows, lambda row: 0 if _is_bias(row) else row.count)
    one_layer = _sum(rows, lambda row: row.count // row.times)
    one_layer_weights = _sum(rows, lambda row: 0 if _is_bias(row) else row.count // row.times)
    yield weights, f"that is without the biases, which are {exact(biases)}"
    if layers > 1:
        yield one_layer, f"that is one layer: ×{layers} is {exact(one_layer * layers)}"
        yield (
            one_layer_weights,
            f"that is one layer without its biases: ×{layers} is {exact(weights)}, and the biases are {exact(biases)}",
        )


def _of_the_whole(inventory: Inventory, rows: list[Fold]) -> Iterator[tuple[int, str]]:
    total = inventory.unique
    yield inventory.stored, f"that counts tied tensors twice, {exact(inventory.stored - total)} too many"
    for part in ("pooler", "head", "embeddings.position", "embeddings"):
        if count := inventory[part]:
            yield total - count, f"that is without the {part}, which is {exact(count)}"
    yield from _of_a_component(rows)


def _nothing(claim: int, inventory: Inventory, component: str) -> str:
    """A claim of none, against the parts that are there."""
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


def _sum(rows: list[Fold], count: Callable[[Fold], int]) -> int:
    return sum(count(row) for row in rows)


def narrower(count: int, bound: int, what: str) -> str:
    """What 16 bits in place of 32 would come to, where that fits."""
    half = -(-count // 2)
    halves = what.startswith("float32") and "buffers" not in what
    return f"as float16 it is {exact(half)}, which fits; " if halves and half <= bound < count else ""


def layers_that_fit(kind: Kind, limit: Limit, bound: int, actual: Inventory) -> str:
    """How many of a component's identical layers its limit affords."""
    have = actual.layers(limit.component)
    if have == 1 or kind != "over-budget":
        return ""
    each = actual[limit.component] // have
    return f"one layer of it is {exact(each)}, so {bound // each} of {have} fit; "


def sum_of_the_others(limit: Limit, bound: int, budget: tuple[Limit, ...], actual: Inventory) -> str:
    """Whether a claimed total is the sum of the claimed parts, so that only these are wrong."""
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


def bound_in_words(limit: Limit) -> str:
    if limit.is_exact:
        return f"exact limit of {exact(limit.maximum or 0)}"
    named = limit.maximum is not None and limit.component == BYTES and str(limit) in NAMED
    return f"limit of {limit}" + (f" ({exact(limit.maximum or 0)})" if named else "")


def to_accept(kind: Kind, limit: Limit, count: int) -> str:
    """How to write the budget that takes the model as it is."""
    bound = limit.bound(kind)
    named = f"{bound} = " if isinstance(limit.written, dict) else ""
    return f"to accept it, write {named}{restated(count, bound, limit.written_at(bound), unit_of(limit.component))}"
