"""What a model does not train, in words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pytest_bertsize.inventory import is_within, pattern
from pytest_bertsize.wording import listed, number, printable

if TYPE_CHECKING:
    from pytest_bertsize.inventory import Inventory, Tensor

_INDEX = re.compile(r"^(?P<list>.*?)\.(?P<index>\d+)\.")


def frozen_parts(inventory: Inventory) -> list[str]:
    """What does not train, a line for each part: components that stand still as a whole, else layers, else tensors."""
    if inventory.trainable == inventory.unique:
        return []
    still = [tensor for tensor in inventory.tensors if not tensor.trainable]
    lines = []
    for component in _whole(inventory):
        count = inventory[component]
        if count:
            lines.append(f"{component}: {number(count)}")
        still = [tensor for tensor in still if not is_within(tensor.component, component)]
    return [*lines, *_layers(inventory, still)]


def _whole(inventory: Inventory) -> Iterator[str]:
    """The outermost components of which nothing trains."""
    found: list[str] = []
    for component in inventory.components:
        if not any(is_within(component, outer) for outer in found) and not any(
            tensor.trainable for tensor in inventory.under(component)
        ):
            found.append(component)
            yield component


def _layers(inventory: Inventory, still: Sequence[Tensor]) -> Iterator[str]:
    """Layers of which nothing trains, in runs; what is left, by component."""
    layers: dict[str, dict[int, list[Tensor]]] = {}
    for tensor in inventory.tensors:
        if matched := _INDEX.match(tensor.name):
            layers.setdefault(matched["list"], {}).setdefault(int(matched["index"]), []).append(tensor)
    names = {tensor.name for tensor in still}
    for path, each in layers.items():
        whole = [index for index, own in sorted(each.items()) if not any(tensor.trainable for tensor in own)]
        left = [index for index in whole if any(tensor.name in names for tensor in each[index])]
        if not left:
            continue
        count = sum(t.owned for index in left for t in each[index] if t.name in names)
        names -= {tensor.name for index in left for tensor in each[index]}
        yield f"{printable(path)} {_runs(left)} of {len(each)}: {number(count)}"
    rest: dict[str, list[Tensor]] = {}
    for tensor in still:
        if tensor.name in names and tensor.owned:
            rest.setdefault(tensor.component, []).append(tensor)
    for component, own in rest.items():
        patterns = list(dict.fromkeys(pattern(tensor.name) for tensor in own))
        what = listed([*map(printable, patterns)], 1)
        yield f"{component or 'model'} in part: {number(sum(tensor.owned for tensor in own))} ({what})"


def _runs(indices: Sequence[int]) -> str:
    """``[0, 1, 2, 7]`` → ``"0 to 2, 7"``."""
    runs: list[list[int]] = []
    for index in indices:
        if runs and runs[-1][-1] == index - 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
