"""Layers of a model: those in which base, closed form and built model differ, and those that do not train."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from msgspec.structs import replace

from pytest_bertsize.inventory import Inventory, Tensor, pattern
from pytest_bertsize.reports.report import Layer, LayerTensor
from pytest_bertsize.wording import listed, number, printable

_LAYER = re.compile(r"(?P<stack>.*?)\.(?P<index>[0-9]+)\.(?P<inside>.+)")
T = TypeVar("T")


def list_differing_layers(base: Inventory | None, expected: Inventory | None, actual: Inventory | None) -> list[Layer]:
    """Return a row for each layer that differs, or for neighbours that differ alike."""
    inventories = (base, expected, actual)
    sides = [_find_stacks(side) if side else {} for side in inventories]
    known = [place for place, side in enumerate(inventories) if side]
    rows = []
    for stack in sorted({stack for side in sides for stack in side}):
        differing = {}
        for index in sorted({index for side in sides for index in side.get(stack, ())}):
            if row := _compare_layer([side.get(stack, {}).get(index, {}) for side in sides], known):
                differing[index] = row
        for run, row in _join_neighbours(differing):
            name = f"{stack}.{run[0]}" + (f"-{run[-1]}" if run[1:] else "")
            rows.append(replace(row, name=printable(name), times=len(run)))
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


def _join_neighbours(rows: Mapping[int, T]) -> list[tuple[list[int], T]]:
    """Join indices that follow each other and have equal rows."""
    runs: list[tuple[list[int], T]] = []
    for index, row in rows.items():
        if runs and runs[-1][0][-1] == index - 1 and runs[-1][1] == row:
            runs[-1][0].append(index)
        else:
            runs.append(([index], row))
    return runs


def describe_frozen(inventory: Inventory) -> list[str]:
    """Return a line for each part that does not train: whole components, else whole layers, else tensors."""
    if inventory.trainable == inventory.unique:
        return []
    rest = {tensor.name for tensor in inventory.tensors if not tensor.trainable}
    return [
        *_describe_components(inventory, rest),
        *_describe_layers(inventory, rest),
        *_describe_rest(inventory, rest),
    ]


def _describe_components(inventory: Inventory, rest: set[str]) -> Iterator[str]:
    """Name the outermost components of which nothing trains, and take their tensors from the rest."""
    for component, count in inventory.components.items():
        own = [*inventory.under(component)]
        if {tensor.name for tensor in own} <= rest:
            rest -= {tensor.name for tensor in own}
            if count:
                yield f"{component}: {number(count)}"


def _describe_layers(inventory: Inventory, rest: set[str]) -> Iterator[str]:
    """Name the layers of which nothing trains, in runs, and take their tensors from the rest."""
    for stack, layers in _find_stacks(inventory).items():
        frozen = {
            index: names
            for index, own in sorted(layers.items())
            if not any(tensor.trainable for tensor in own.values())
            and (names := rest.intersection(tensor.name for tensor in own.values()))
        }
        if frozen:
            names = set().union(*frozen.values())
            rest -= names
            runs = [run for run, _ in _join_neighbours(dict.fromkeys(frozen))]
            named = ", ".join(f"{run[0]} to {run[-1]}" if run[1:] else str(run[0]) for run in runs)
            count = sum(inventory.by_name[name].owned for name in names)
            yield f"{printable(stack)} {named} of {len(layers)}: {number(count)}"


def _describe_rest(inventory: Inventory, rest: set[str]) -> Iterator[str]:
    by_component: dict[str, list[Tensor]] = {}
    for tensor in inventory.tensors:
        if tensor.name in rest and tensor.owned:
            by_component.setdefault(tensor.component, []).append(tensor)
    for component, own in by_component.items():
        patterns = dict.fromkeys(printable(pattern(tensor.name)) for tensor in own)
        count = number(sum(tensor.owned for tensor in own))
        yield f"{component or 'model'} in part: {count} ({listed([*patterns], 1)})"
