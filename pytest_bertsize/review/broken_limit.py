"""What a count by hand usually forgets, recognised from the number itself.

From some 35 public derivations: biases left out, one layer counted instead of all, the pooler, the head or the position
table missing, the tied decoder counted twice. A guess is only made where it explains a limit to the parameter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bertsize.inventory import TOTAL, TRAINABLE, fold
from pytest_bertsize.quantity import exact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_bertsize.inventory import Fold, Inventory


def what_was_forgotten(inventory: Inventory, component: str, claim: int) -> str:
    """A sentence that derives ``claim`` from the inventory by one usual mistake, or ``""``.

    :param claim: the count that somebody wrote down for ``component``.
    """
    if component == TRAINABLE:
        return ""
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
