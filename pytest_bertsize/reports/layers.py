"""Layers of a model: those in which base, closed form and built model differ, and those that do not train."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from pytest_bertsize.folding import group_indices
from pytest_bertsize.inventory import Inventory, Tensor, pattern
from pytest_bertsize.reports.report import Layer, LayerTensor
from pytest_bertsize.wording import listed, number, printable

_LAYER = re.compile(r"(?P<stack>.*?)\.(?P<index>[0-9]+)\.(?P<inside>.+)")


def list_differing_layers(base: Inventory | None, expected: Inventory | None, actual: Inventory | None) -> list[Layer]:
    """Return a row for each layer that differs, or for neighbours that differ alike."""
    inventories = (base, expected, actual)
    sides = [_find_stacks(side) if side else {} for side in inventories]
    known = [place for place, side in enumerate(inventories) if side]
    rows = []
    for stack in sorted({stack for side in sides for stack in side}):
        differing: dict[int, Layer] = {}
        runs: list[list[int]] = []
        for index in sorted({index for side in sides for index in side.get(stack, ())}):
            if row := _compare_layer([side.get(stack, {}).get(index, {}) for side in sides], known):
                differing[index] = row
        for index, row in differing.items():
            if row == differing.get(index - 1):
                runs[-1].append(index)
            else:
                runs.append([index])
        for run in runs:
            name = f"{stack}.{run[0]}" + (f"-{run[-1]}" if run[1:] else "")
            rows.append(replace(differing[run[0]], name=printable(name), times=len(run)))
    return rows


def _find_stacks(inventory: Inventory) -> dict[str, dict[int, dict[str, Tensor]]]:
    """Return tensors by the name of their stack, the index of their layer, and their name inside the layer."""
    found: dict[str, dict[int, dict[str, Tensor]]] = {}
    for tensor in inventory.tensors:
        if named := _LAYER.fullmatch(tensor.name):
            found.setdefault(named["stack"], {}).setdefault(int(named["index"]), {})[named["inside"]] = tensor
    return found


def _compare_layer(sides: Sequence[Mapping[str, Tensor]], known: Sequence[int]) -> Layer | None:
    """Compare one layer of base, closed form and built model; ``None`` where the ``known`` ones are the same."""
    differing = []
    for name in dict.fromkeys(name for place in known for name in sides[place]):
        found = [sides[place].get(name) for place in known]
        if len({each and (each.shape, each.tied_to) for each in found}) > 1:
            base, expected, actual = (list(side[name].shape) if name in side else None for side in sides)
            differing.append(LayerTensor(name=printable(name), base=base, expected=expected, actual=actual))
    if not differing:
        return None
    base_count, expected_count, actual_count = (
        sum(tensor.owned for tensor in side.values()) if side else None for side in sides
    )
    return Layer(name="", times=1, base=base_count, expected=expected_count, actual=actual_count, tensors=differing)


def describe_frozen(inventory: Inventory) -> list[str]:
    """Return a line for each part that does not train: whole components, else whole layers, else tensors."""
    if inventory.trainable == inventory.unique:
        return []
    rest = {tensor.name: tensor for tensor in inventory.tensors if not tensor.trainable}

    def take(tensors: Iterable[Tensor]) -> int:
        """Count those that no line has yet."""
        return sum(rest.pop(tensor.name).owned for tensor in tensors if tensor.name in rest)

    lines = []
    for component in inventory.components:  # the outermost first
        own = [*inventory.under(component)]
        if all(tensor.name in rest for tensor in own) and (count := take(own)):
            lines.append(f"{component}: {number(count)}")
    for stack, layers in _find_stacks(inventory).items():
        frozen = {
            index: own
            for index, own in sorted(layers.items())
            if not any(tensor.trainable for tensor in own.values()) and any(each.name in rest for each in own.values())
        }
        if frozen:
            runs = (run for (run,) in group_indices((index,) for index in frozen))
            named = ", ".join(f"{run.start} to {run[-1]}" if len(run) > 1 else str(run.start) for run in runs)
            count = take(tensor for own in frozen.values() for tensor in own.values())
            lines.append(f"{printable(stack)} {named} of {len(layers)}: {number(count)}")
    by_component: dict[str, list[Tensor]] = {}
    for tensor in rest.values():
        if tensor.owned:
            by_component.setdefault(tensor.component, []).append(tensor)
    for component, own in by_component.items():
        patterns = listed([*dict.fromkeys(printable(pattern(tensor.name)) for tensor in own)], 1)
        lines.append(f"{component or 'model'} in part: {number(take(own))} ({patterns})")
    return lines
