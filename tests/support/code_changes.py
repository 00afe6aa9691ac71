"""Changes of code as they change a model's tensors: the corpus of ``tests/data/code-changes.toml``."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from pytest_bertsize.folding import unfold_name
from pytest_bertsize.inventory import Inventory, Tensor

FILE = Path(__file__).parents[1] / "data" / "code-changes.toml"
Tensors: TypeAlias = dict[str, Tensor]


class Case(NamedTuple):
    name: str
    before: Inventory
    after: Inventory
    says: tuple[str, ...]


@cache
def corpus() -> tuple[Case, ...]:
    data = tomllib.loads(FILE.read_text("utf-8"))
    return tuple(_read_case(each, data["models"]) for each in data["case"])


def tree(written: dict[str, Any]) -> Inventory:
    """A model as a lock writes it: names with ranges, and a shape or the name of another tensor."""
    tensors: Tensors = {}
    for folded, said in written.items():
        shape, owner = ((), said) if isinstance(said, str) else (tuple(said), None)
        tensors |= {name: Tensor(name, shape, "", tied_to=owner) for name in _unfold(folded)}
    shaped = (each._replace(shape=tensors[each.tied_to or each.name].shape) for each in tensors.values())
    return Inventory(tuple(shaped))


def _read_case(said: dict[str, Any], models: dict[str, Any]) -> Case:
    before = tree(models[said["model"]])
    tensors = dict(before.by_name)
    for step in said["change"]:
        (what, names), *others = step.items()
        tensors = _STEPS[what](tensors, names, **dict(others))
    return Case(said["name"], before, Inventory(tuple(tensors.values())), tuple(said["says"]))


def _unfold(written: str) -> list[str]:
    return [path for path, _ in unfold_name(written)]


def _inside(tensors: Tensors, written: str) -> Tensors:
    places = tuple(f"{path}." for path in _unfold(written))
    found = {name: each for name, each in tensors.items() if f"{name}.".startswith(places)}
    assert found, f"there is no {written}"
    return found


def _add(tensors: Tensors, names: str, shape: list[int]) -> Tensors:
    return tensors | {name: Tensor(name, tuple(shape), "") for name in _unfold(names)}


def _drop(tensors: Tensors, names: str) -> Tensors:
    gone = _inside(tensors, names)
    return {name: each for name, each in tensors.items() if name not in gone}


def _copy(tensors: Tensors, names: str, to: str) -> Tensors:
    inside = _inside(tensors, names)
    copies = {path + name.removeprefix(names): each for path in _unfold(to) for name, each in inside.items()}
    return tensors | {name: each._replace(name=name) for name, each in copies.items()}


def _move(tensors: Tensors, names: str, to: str) -> Tensors:
    moved = {"": "", **dict(zip(_unfold(names), _unfold(to), strict=True))}

    def now(name: str) -> str:
        old = next((path for path in moved if f"{name}.".startswith(f"{path}.")), "")
        return moved[old] + name.removeprefix(old)

    moves = (
        each._replace(name=now(each.name), tied_to=each.tied_to and now(each.tied_to)) for each in tensors.values()
    )
    return {each.name: each for each in moves}


def _tie(tensors: Tensors, names: str, to: str) -> Tensors:
    inside = [(path, each) for path in _unfold(names) for each in _inside(tensors, path).values()]
    return tensors | {each.name: each._replace(tied_to=to + each.name.removeprefix(path)) for path, each in inside}


def _untie(tensors: Tensors, names: str) -> Tensors:
    return tensors | {name: each._replace(tied_to=None) for name, each in _inside(tensors, names).items()}


def _freeze(tensors: Tensors, names: str) -> Tensors:
    inside = _inside(tensors, names).keys()
    both = (each for each in tensors.values() if {each.name, each.tied_to} & inside)
    return tensors | {each.name: each._replace(trainable=not each.trainable) for each in both}


def _shape(tensors: Tensors, names: str, to: list[int]) -> Tensors:
    return tensors | {name: tensors[name]._replace(shape=tuple(to)) for name in _unfold(names)}


def _size(tensors: Tensors, size: int, to: int) -> Tensors:
    shapes = {name: tuple(to if each == size else each for each in tensor.shape) for name, tensor in tensors.items()}
    return {name: each._replace(shape=shapes[name]) for name, each in tensors.items()}


_STEPS: dict[str, Any] = {
    each.__name__[1:]: each for each in (_add, _drop, _copy, _move, _tie, _untie, _freeze, _shape, _size)
}
