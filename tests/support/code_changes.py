"""Changes of code as they change a model's tensors: the corpus of ``tests/data/code-changes.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pytest_bertsize.folding import unfold_name
from pytest_bertsize.inventory import Inventory, Tensor

FILE = Path(__file__).parents[1] / "data" / "code-changes.toml"


@dataclass(frozen=True)
class Case:
    name: str
    before: Inventory
    after: Inventory
    says: tuple[str, ...]


@cache
def corpus() -> tuple[Case, ...]:
    data = tomllib.loads(FILE.read_text("utf-8"))
    return tuple(_case(each, data["models"]) for each in data["case"])


def tree(written: dict[str, Any]) -> Inventory:
    """A model as a lock writes it: names with ranges, and a shape or the name of another tensor."""
    tensors: dict[str, Tensor] = {}
    for folded, said in written.items():
        shape, owner = ((), said) if isinstance(said, str) else (tuple(said), None)
        tensors |= {name: Tensor(name, shape, "", tied_to=owner) for name, _ in unfold_name(folded)}
    shaped = (each._replace(shape=tensors[each.tied_to or each.name].shape) for each in tensors.values())
    return Inventory(tuple(shaped))


def _case(said: dict[str, Any], models: dict[str, Any]) -> Case:
    before = tree(models[said["model"]])
    tensors = dict(before.by_name)
    for step in said["change"]:
        (what, names), *others = step.items()
        tensors = _STEPS[what](tensors, names, **dict(others))
    return Case(said["name"], before, Inventory(tuple(tensors.values())), tuple(said["says"]))


Tensors = dict[str, Tensor]


def _inside(tensors: Tensors, written: str) -> list[Tensor]:
    paths = [path for path, _ in unfold_name(written)]
    found = [each for each in tensors.values() if any(f"{each.name}.".startswith(f"{path}.") for path in paths)]
    assert found, f"there is no {written}"
    return found


def _add(tensors: Tensors, names: str, shape: list[int]) -> Tensors:
    return tensors | {name: Tensor(name, tuple(shape), "") for name, _ in unfold_name(names)}


def _drop(tensors: Tensors, names: str) -> Tensors:
    gone = {each.name for each in _inside(tensors, names)}
    return {name: each for name, each in tensors.items() if name not in gone}


def _copy(tensors: Tensors, names: str, to: str) -> Tensors:
    found = dict(tensors)
    for path, _ in unfold_name(to):
        for each in _inside(tensors, names):
            name = path + each.name.removeprefix(names)
            found[name] = each._replace(name=name)
    return found


def _move(tensors: Tensors, names: str, to: str) -> Tensors:
    found: Tensors = {}
    moved = dict(zip((path for path, _ in unfold_name(names)), (path for path, _ in unfold_name(to)), strict=True))

    def now(name: str) -> str:
        old = next((path for path in moved if f"{name}.".startswith(f"{path}.")), None)
        return name if old is None else moved[old] + name.removeprefix(old)

    for each in tensors.values():
        owner = each.tied_to and now(each.tied_to)
        found[now(each.name)] = each._replace(name=now(each.name), tied_to=owner)
    return found


def _tie(tensors: Tensors, names: str, to: str) -> Tensors:
    found = dict(tensors)
    for path, _ in unfold_name(names):
        for each in _inside(tensors, path):
            found[each.name] = each._replace(tied_to=to + each.name.removeprefix(path))
    return found


def _untie(tensors: Tensors, names: str) -> Tensors:
    return tensors | {each.name: each._replace(tied_to=None) for each in _inside(tensors, names)}


def _freeze(tensors: Tensors, names: str) -> Tensors:
    inside = {each.name for each in _inside(tensors, names)}
    both = {each.name for each in tensors.values() if {each.name, each.tied_to} & inside}
    return tensors | {name: tensors[name]._replace(trainable=not tensors[name].trainable) for name in both}


def _shape(tensors: Tensors, names: str, to: list[int]) -> Tensors:
    return tensors | {name: tensors[name]._replace(shape=tuple(to)) for name, _ in unfold_name(names)}


def _size(tensors: Tensors, size: int, to: int) -> Tensors:
    def other(each: int) -> int:
        return to if each == size else each

    return {name: each._replace(shape=tuple(map(other, each.shape))) for name, each in tensors.items()}


_STEPS: dict[str, Any] = {
    each.__name__[1:]: each for each in (_add, _drop, _copy, _move, _tie, _untie, _freeze, _shape, _size)
}
