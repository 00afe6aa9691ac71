"""What a class pays for and does not use, and what it holds that no budget of parameters counts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_bertsize.findings import Finding
from pytest_bertsize.wording import exact

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pytest_bertsize.builder.messages import Buffer
    from pytest_bertsize.inventory import Inventory, Tensor

POOLER = "pooler.dense.weight"
_LAYER = re.compile(r"\.\d+\.")
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


def unused_poolers(actual: Inventory) -> Iterator[Finding]:
    """A backbone's own pooler, where the class has one of the same shape beside it."""
    backbones = {
        tensor.name.removesuffix(POOLER)
        for tensor in actual.tensors
        if tensor.name.endswith(f".{POOLER}") and tensor.tied_to is None
    }
    for backbone in sorted(backbones):
        pooler = actual.by_name[f"{backbone}{POOLER}"]
        others = {each for each in backbones if each != backbone and _has_layers(each, actual)}  # with one each
        rebuilt = next((e for e in actual.tensors if _is_another(e, pooler, {backbone, *others})), None)
        if rebuilt:
            count = sum(each.owned for each in actual.tensors if each.name.startswith(f"{backbone}pooler."))
            message = (
                f"{backbone}pooler has {exact(count)} parameters, and {rebuilt.name} is a pooler of the same shape"
            )
            fix = f"if {backbone}pooler is not used, build the backbone with add_pooling_layer=False"
            yield Finding("dead-weight", message, fix, "warning", component=pooler.component)


def _has_layers(module: str, actual: Inventory) -> bool:
    return any(_LAYER.search(each.name.removeprefix(module)) for each in actual.tensors if each.name.startswith(module))


def _is_another(each: Tensor, pooler: Tensor, backbones: Iterable[str]) -> bool:
    """Whether it is a pooler of the class's own: no tensor of a backbone, and none that is another by a second name."""
    own = not any(each.name.startswith(backbone) for backbone in backbones)
    return each.shape == pooler.shape and each.tied_to is None and "pool" in each.name and own
