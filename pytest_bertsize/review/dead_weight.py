"""What a project's own class pays for and does not use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bertsize.findings import Finding
from pytest_bertsize.wording import exact

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_bertsize.inventory import Inventory, Tensor

POOLER = "pooler.dense.weight"
SHARE = 100
"""Buffers are told from a hundredth of the parameters on."""


def buffers(actual: Inventory, numbers: int) -> Iterator[Finding]:
    """Weights that are no parameters: no optimiser trains them, and no budget counts them."""
    if SHARE * numbers > actual.unique:
        message = f"its buffers hold {exact(numbers)} numbers, which are no parameters and are not counted"
        yield Finding("dead-weight", message, "if they are weights, make them parameters", "warning")


def unused_poolers(actual: Inventory) -> Iterator[Finding]:
    """A backbone's own pooler, where the class has one of the same shape beside it."""
    for tensor in actual.tensors:
        backbone = tensor.name.removesuffix(POOLER)
        if backbone in {tensor.name, ""}:
            continue
        rebuilt = next((each for each in actual.tensors if _is_another(each, tensor, backbone)), None)
        if rebuilt:
            count = sum(each.owned for each in actual.tensors if each.name.startswith(f"{backbone}pooler."))
            message = (
                f"{backbone}pooler has {exact(count)} parameters, and {rebuilt.name} is a pooler of the same shape"
            )
            fix = f"if {backbone}pooler is not used, build the backbone with add_pooling_layer=False"
            yield Finding("dead-weight", message, fix, "warning", component=tensor.component)


def _is_another(each: Tensor, pooler: Tensor, backbone: str) -> bool:
    return each.shape == pooler.shape and "pool" in each.name and not each.name.startswith(backbone)
