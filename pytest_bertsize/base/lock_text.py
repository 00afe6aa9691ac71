"""A lock as text: what does not change in a model changes none of its lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pytest_bertsize.base.lock import FORMAT, Locked, Weight, key_of, quoted
from pytest_bertsize.base.ranges import STAR, boxes, escaped, taken_apart, written
from pytest_bertsize.inventory import FLOAT32

if TYPE_CHECKING:
    from pytest_bertsize.inventory import Tensor

HEAD = f"""\
# The tensors of every model, as they were last accepted: pytest --bert-budget --bert-budget-update writes this file.
# A model is one block. After a merge, keep either side's and run that again.
lock = {FORMAT}
"""


def render(models: Mapping[str, Locked]) -> str:
    """The whole file, its models sorted by name."""
    return HEAD + "".join(f"\n{block(name, models[name])}" for name in sorted(models))


def accepted(before: Mapping[str, Locked], now: Mapping[str, Locked], declared: Iterable[str]) -> dict[str, Locked]:
    """What a lock is to say: what is accepted now, what was not looked at as it was, nothing of models that left."""
    kept = {name: locked for name, locked in before.items() if name in {*declared}}
    same = {name for name, locked in now.items() if locked.is_as(before.get(name))}
    return {**kept, **{name: locked for name, locked in now.items() if name not in same}}


def block(name: str, locked: Locked) -> str:
    """One model."""
    table = f"models.{key_of(name)}"
    said = [
        f"{key} = {quoted(value)}\n"
        for key, value in (("config", locked.config), ("built-with", locked.built_with))
        if value
    ]
    rows = "".join(f"{quoted(row)} = {value}\n" for row, value in _sorted(_tensors(locked.tensors)))
    found = f"[{table}]\n{''.join(said)}\n[{table}.tensors]\n{rows}"
    if locked.buffers:
        buffers = "".join(f"{quoted(row)} = {value}\n" for row, value in _sorted(_buffers(locked.buffers)))
        found += f"\n[{table}.buffers]\n{buffers}"
    return found


def _sorted(rows: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """By name, a layer's number as a number."""
    return sorted(rows, key=lambda row: (_parts(row[0]), row[0]))


def _parts(name: str) -> list[str | tuple[int, str]]:
    """Words and, between them, numbers, by how many digits they have."""
    parts = re.split(r"0*([0-9]+)", name)
    return [(len(part), part) if at % 2 else part for at, part in enumerate(parts)]


def _tensors(tensors: Iterable[Tensor]) -> Iterator[tuple[str, str]]:
    groups: dict[tuple[str, str, bool], list[tuple[int, ...]]] = {}
    for tensor in tensors:
        template, place = taken_apart(escaped(tensor.name))
        groups.setdefault((template, *_value(tensor, place)), []).append(place)
    for (template, value, is_beside), places in groups.items():
        for box in boxes(places):
            yield written(template, box), quoted(written(value, box, STAR)) if is_beside else value


def _value(tensor: Tensor, place: Sequence[int]) -> tuple[str, bool]:
    """What stands behind the name, and whether it is a tensor of the same layer, whose name has that layer's index."""
    if tensor.tied_to:
        template, owners_place = taken_apart(escaped(tensor.tied_to))
        is_beside = bool(place) and owners_place == place
        return (template, True) if is_beside else (quoted(escaped(tensor.tied_to)), False)
    shape = f"[{', '.join(map(str, tensor.shape))}]"
    dtype = "" if tensor.dtype == FLOAT32 else f", dtype = {quoted(tensor.dtype)}"
    if tensor.trainable and not dtype:
        return shape, False
    return f"{{ {'shape' if tensor.trainable else 'frozen'} = {shape}{dtype} }}", False


def _buffers(buffers: Mapping[str, Weight]) -> Iterator[tuple[str, str]]:
    groups: dict[tuple[str, Weight], list[tuple[int, ...]]] = {}
    for name, weight in buffers.items():
        template, place = taken_apart(escaped(name))
        groups.setdefault((template, weight), []).append(place)
    for (template, weight), places in groups.items():
        for box in boxes(places):
            yield written(template, box), f"{{ numbers = {weight.numbers}, dtype = {quoted(weight.dtype)} }}"
