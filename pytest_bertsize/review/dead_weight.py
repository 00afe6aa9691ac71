"""Large buffers: what a class holds that no budget of parameters counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from pytest_bertsize.findings import Finding
from pytest_bertsize.wording import exact

if TYPE_CHECKING:
    from pytest_bertsize.builder.messages import Buffer
    from pytest_bertsize.inventory import Inventory

SHARE = 100
"""Buffers are told from a hundredth of the parameters on."""
MOST_NAMED = 3
"""Buffers in one message."""


def buffers(actual: Inventory, found: Iterable[Buffer], *, own: bool) -> Iterator[Finding]:
    """Weights that are no parameters: no optimiser trains them, and no budget of parameters counts them.

    :param own: whether a function of the project built them, and so it can be mended.
    """
    large = [each for each in found if each.dtype.startswith(("float", "bfloat", "complex")) or _kept(each)]
    numbers = sum(each.numbers for each in large)
    if SHARE * numbers > actual.unique:
        large.sort(key=lambda each: -each.numbers)
        named = ", ".join(f"{each.name} {exact(each.numbers)}" for each in large[:MOST_NAMED])
        more = f" and {len(large) - MOST_NAMED:,} more" if len(large) > MOST_NAMED else ""
        message = f"its buffers hold {exact(numbers)} numbers, which are no parameters: {named}{more}"
        fix = "if they are weights, make them parameters: budget.bytes alone counts buffers"
        yield Finding("dead-weight", message, fix if own else "", "warning" if own else "note")


def _kept(buffer: Buffer) -> bool:
    """Integers that a checkpoint has; a mask is neither weights nor large."""
    return buffer.saved and buffer.dtype != "bool"
