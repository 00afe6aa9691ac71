"""The layers in which base, closed form and built model are not the same; those that differ alike are one row."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pytest_bertsize.inventory import Inventory, Tensor
from pytest_bertsize.reports.report import Layer, LayerTensor
from pytest_bertsize.wording import printable

_LAYER = re.compile(r"(?P<stack>.*?)\.(?P<index>[0-9]+)\.(?P<inside>.+)")

Stack = dict[tuple[str, int], dict[str, Tensor]]
"""By the name of the stack and the index of the layer: its tensors by their name inside the layer."""


def layers(base: Inventory | None, expected: Inventory | None, actual: Inventory | None) -> list[Layer]:
    """A row for each layer that differs, or for neighbours that differ alike."""
    sides = [_stacks(side) for side in (base, expected, actual)]
    known = sorted({key for side in sides for key in side})
    rows: list[tuple[str, int, Layer]] = []
    for stack, index in known:
        row = _layer(
            f"{stack}.{index}", [side.get((stack, index), {}) for side in sides], compared=[base, expected, actual]
        )
        if row is None:
            continue
        if rows and _goes_on(rows[-1], stack, index, row):
            first, last = rows[-1][2].name.removeprefix(f"{stack}.").partition("-")[0], index
            row.times = rows[-1][2].times + 1
            row.name = f"{printable(stack)}.{first}-{last}"
            rows[-1] = (stack, index, row)
        else:
            rows.append((stack, index, row))
    return [row for *_, row in rows]


def _stacks(side: Inventory | None) -> Stack:
    found: Stack = {}
    for tensor in side.tensors if side else ():
        if named := _LAYER.fullmatch(tensor.name):
            found.setdefault((named["stack"], int(named["index"])), {})[named["inside"]] = tensor
    return found


def _layer(name: str, sides: Sequence[dict[str, Tensor]], compared: Sequence[Inventory | None]) -> Layer | None:
    """One layer, if the sides that there are differ in it."""
    there = [tensors for tensors, side in zip(sides, compared, strict=True) if side is not None]
    differing = list(_differing(there, sides))
    if not differing:
        return None
    counts = [sum(tensor.owned for tensor in tensors.values()) if tensors else None for tensors in sides]
    return Layer(name=printable(name), times=1, base=counts[0], expected=counts[1], actual=counts[2], tensors=differing)


def _differing(there: Sequence[dict[str, Tensor]], sides: Sequence[dict[str, Tensor]]) -> Iterator[LayerTensor]:
    for name in dict.fromkeys(name for tensors in there for name in tensors):
        found = [(tensors[name].shape, tensors[name].tied_to) if name in tensors else None for tensors in there]
        if any(each != found[0] for each in found):
            base, expected, actual = (list(tensors[name].shape) if name in tensors else None for tensors in sides)
            yield LayerTensor(name=printable(name), base=base, expected=expected, actual=actual)


def _goes_on(before: tuple[str, int, Layer], stack: str, index: int, row: Layer) -> bool:
    last_stack, last_index, last = before
    same = all(getattr(last, key) == getattr(row, key) for key in ("base", "expected", "actual", "tensors"))
    return last_stack == stack and last_index + 1 == index and same
