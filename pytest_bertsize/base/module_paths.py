"""The modules of an inventory by their paths, and which of them are wholly among some tensors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from pytest_bertsize.base.ranges import taken_apart
from pytest_bertsize.inventory import levels

if TYPE_CHECKING:
    from pytest_bertsize.inventory import Inventory, Tensor

    Signature = tuple[tuple[str, tuple[int, ...]], ...]


class Side:
    """One of two inventories that are held against each other."""

    def __init__(self, inventory: Inventory) -> None:
        self.tensors = inventory.by_name

    @cached_property
    def paths(self) -> dict[str, list[Tensor]]:
        """Every module, and every tensor as one, with the tensors in it."""
        found: dict[str, list[Tensor]] = {}
        for tensor in self.tensors.values():
            for path in levels(tensor.name):
                found.setdefault(path, []).append(tensor)
        return found

    def signature(self, path: str) -> Signature:
        """Names inside a module, and shapes: what tells one that was built alike."""
        return tuple(sorted((each.name.removeprefix(path), each.shape) for each in self.paths[path]))

    @cached_property
    def _below(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in self.paths:
            if path and path not in self.tensors:  # a name that begins with a dot is in a module of no name
                found.setdefault(path.rpartition(".")[0], []).append(path)
        return found

    def modules_in(self, path: str) -> list[str]:
        """The modules that one consists of."""
        return self._below.get(path, [])

    def count(self, path: str) -> int:
        return sum(each.owned for each in self.paths[path])

    def roots(self, names: Collection[str]) -> list[str]:
        """The outermost modules all of whose tensors are among these; a tensor itself where there is none."""
        left = Counter(path for name in names for path in outer(name))
        found = (next((path for path in outer(name) if left[path] == len(self.paths[path])), name) for name in names)
        return list(dict.fromkeys(found))

    def siblings(self, path: str) -> list[str]:
        """The others of the list that a module stands in."""
        parent, _, index = path.rpartition(".")
        if not index.isdigit():
            return []
        inside = f"{parent}." if parent else ""
        heads = {name[len(inside) :].split(".")[0] for name in self.tensors if name.startswith(inside)}
        return [f"{inside}{head}" for head in sorted(heads) if head.isdigit() and head != index]

    def holds_layers(self, path: str) -> bool:
        """Whether it is large enough to be a backbone: a list of layers, in a module of several."""
        return any(taken_apart(each.name.removeprefix(f"{path}."))[1] for each in self.paths[path])


def outer(name: str) -> Iterator[str]:
    """The modules that a tensor is in, the outermost first."""
    return (path for path in levels(name) if path != name)


def alike(one: str, other: str) -> int:
    """How many parts two paths share at their beginning and at their end."""
    first, second = one.split("."), other.split(".")
    return _shared(first, second) + _shared(first[::-1], second[::-1])


def _shared(first: Iterable[str], second: Iterable[str]) -> int:
    count = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        count += 1
    return count
