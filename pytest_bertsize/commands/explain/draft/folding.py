"""The modules of a class at several sizes, as one tree: equal layers are one, and every axis is a size or a number."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from pytest_bertsize.commands.explain.draft.fitting import Point, Size, fitted, moved_by

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pytest_bertsize.inventory import Tensor


@dataclass(slots=True)
class Module:
    """What a build has at one path."""

    tensors: dict[str, Tensor] = field(default_factory=dict)
    modules: dict[str, Module] = field(default_factory=dict)

    @property
    def form(self) -> tuple[object, ...]:
        """Equal of two layers that fold."""
        own = ((name, each.shape, each.trainable, each.tied_to) for name, each in self.tensors.items())
        return (*own, *((name, module.form) for name, module in self.modules.items()))


def module_of(tensors: Iterable[Tensor]) -> Module:
    """The tree of a build."""
    root = Module()
    for tensor in tensors:
        *path, name = tensor.name.split(".")
        at = root
        for each in path:
            at = at.modules.setdefault(each, Module())
        at.tensors[name] = tensor._replace(tied_to=tensor.tied_to and _beside(tensor.name, tensor.tied_to))
    return root


ZERO = Size(0)
STAR = "*"
"""In the name of an owner: the place in a list that the tensor itself has."""
LONGEST_INDEX = 7


@dataclass(frozen=True, slots=True)
class Leaf:
    """A tensor of the draft."""

    name: str
    shape: tuple[Size, ...]
    trainable: bool = True
    tied_to: str | None = None
    """The owner's full name, with a star for the index of the layer that both are in."""


@dataclass(frozen=True, slots=True)
class Part:
    """A module of the draft; with ``times`` that many under its name, from ``start`` on."""

    name: str
    leaves: tuple[Leaf, ...]
    parts: tuple[Part, ...]
    kind: str = ""
    """What torch calls its class, where it is torch's own."""
    times: Size | None = None
    start: Size = ZERO


class Otherwise(Exception):
    """At one of the points the class has other tensors, which no number of layers explains."""

    def __init__(self, at: int) -> None:
        super().__init__(at)
        self.at = at
        """Of the points."""


@dataclass
class Drawing:
    """Draws what is common to builds at several points."""

    points: Sequence[Point]
    """The config as it is first."""
    kinds: Mapping[str, str]
    """Of the first build, by path."""
    unfitted: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Names of tensors or layers of which a size was not found, and the keys that move it."""

    def root(self, modules: Sequence[Module]) -> Part:
        """The whole class.

        :param modules: of each point its build.
        :raises Otherwise: at the first point that does not fit the first build.
        """
        return _settled(self._single("", "", "", modules))

    def _single(self, name: str, path: str, pattern: str, modules: Sequence[Module]) -> Part:
        first = modules[0]
        for at, module in enumerate(modules):
            if [*module.tensors] != [*first.tensors] or _named(module) != _named(first):
                raise Otherwise(at)
        leaves = tuple(self._leaf(each, pattern, [m.tensors[each] for m in modules]) for each in first.tensors)
        parts: list[Part] = []
        for each in _named(first):
            below = [module.modules[each] for module in modules]
            parts += self._at(each, _below(path, each), _below(pattern, each), below)
        kind = self.kinds.get(path, "")
        return Part(name, leaves, tuple(parts), kind)

    def _at(self, name: str, path: str, pattern: str, modules: Sequence[Module]) -> Iterator[Part]:
        """A module, and each run of its layers."""
        runs = self._runs(modules)
        if modules[0].tensors or _named(modules[0]) or not runs:
            yield self._single(name, path, pattern, modules)
        elif any(_named(each) or each.tensors for each in modules):
            raise Otherwise(next(at for at, each in enumerate(modules) if _named(each) or each.tensors))
        for run in runs:
            start = self._size(f"{pattern}: where its layers begin", [first for first, _, _ in run])
            times = self._size(f"{pattern}: how many layers it has", [count for _, count, _ in run])
            held = [module for _, _, module in run]
            one = self._single("", f"{path}.{run[0][0]}", f"{pattern}.*", held)
            if times == Size(1) and not start.keys:
                yield replace(one, name=f"{name}.{start.constant}")
                continue
            inside = (one,) if one.kind else one.parts
            yield Part(name, () if one.kind else one.leaves, inside, "", times, start)

    def _runs(self, modules: Sequence[Module]) -> list[list[tuple[int, int, Module]]]:
        """Run by run, of each point where it begins, how many layers it has, and what one is.

        :raises Otherwise: where a point has other runs than the rest.
        """
        starts = [_starts(module) for module in modules]
        most = max(map(len, starts))
        fullest = [(found, len(_numbered(module))) for found, module in zip(starts, modules, strict=True)]
        models = [(found, end) for found, end in fullest if len(found) == most]
        refined = []
        for at, (found, layers) in enumerate(fullest):
            wanted = found if len(found) == most else _like(models, layers)
            if wanted is None or not {*found} <= {*wanted} or [*wanted, layers] != sorted({*wanted, layers}):
                raise Otherwise(at or [len(found) for found in starts].index(most))
            refined.append([*wanted, layers])
        return [
            [
                (number := _numbered(module)[cuts[run]], cuts[run + 1] - cuts[run], module.modules[str(number)])
                for cuts, module in zip(refined, modules, strict=True)
            ]
            for run in range(most)
        ]

    def _leaf(self, name: str, path: str, tensors: Sequence[Tensor]) -> Leaf:
        first, whole = tensors[0], _below(path, name)
        for at, each in enumerate(tensors):
            if (len(each.shape), each.trainable, each.tied_to) != (len(first.shape), first.trainable, first.tied_to):
                raise Otherwise(at)
        sizes = (self._size(whole, axis) for axis in zip(*(each.shape for each in tensors), strict=True))
        return Leaf(name, tuple(sizes), first.trainable, first.tied_to)

    def _size(self, what: str, numbers: Sequence[int]) -> Size:
        seen = [*zip(self.points, numbers, strict=True)]
        if found := fitted(seen):
            return found
        by = moved_by(seen) or tuple(
            key for point, number in seen if number != numbers[0] for key in point if point[key] != seen[0][0][key]
        )
        self.unfitted[what] = tuple(dict.fromkeys((*self.unfitted.get(what, ()), *by)))
        return Size(numbers[0])


def _beside(name: str, owner: str) -> str:
    """``layer.*.a.weight`` for an owner in the same layer: stars for places in lists that both names have."""
    parts, shared = owner.split("."), True
    for at, part in enumerate(name.split(".")[: len(parts)]):
        shared = shared and part == parts[at]
        if shared and is_index(part):
            parts[at] = STAR
    return ".".join(parts)


def _settled(part: Part, above: tuple[str, ...] = ()) -> Part:
    """With stars in the names of owners where a layer repeats, and nowhere else."""
    path = (*above, *filter(None, part.name.split(".")), *((STAR,) if part.times else ()))
    leaves = tuple(replace(leaf, tied_to=leaf.tied_to and _at(leaf.tied_to, path)) for leaf in part.leaves)
    return replace(part, leaves=leaves, parts=tuple(_settled(each, path) for each in part.parts))


def _at(owner: str, path: Sequence[str]) -> str:
    parts = owner.split(".")
    there = [here if part == STAR and is_index(here) else part for part, here in zip(parts, path, strict=False)]
    return ".".join([*there, *parts[len(path) :]])


def is_index(name: str) -> bool:
    """Whether it is a place in a list, and no name that looks like one: ``007``."""
    return name.isascii() and name.isdecimal() and str(int(name[:LONGEST_INDEX])) == name


def _named(module: Module) -> list[str]:
    return [name for name in module.modules if not is_index(name)]


def _numbered(module: Module) -> list[int]:
    return sorted(int(name) for name in module.modules if is_index(name))


def _starts(module: Module) -> list[int]:
    """Of each run of equal layers that follow one another, the place of the first."""
    numbers = _numbered(module)
    forms = [module.modules[str(number)].form for number in numbers]
    together = zip(pairwise(numbers), pairwise(forms), strict=True)
    cuts = [at for at, ((a, b), (one, other)) in enumerate(together, 1) if b != a + 1 or one != other]
    return [0, *cuts] if numbers else []


def _like(models: Sequence[tuple[Sequence[int], int]], layers: int) -> list[int] | None:
    """Where runs begin that are equal by chance: as far from the front, or from the back, as at every other point."""
    found = []
    for places in zip(*(starts for starts, _ in models), strict=True):
        from_back = {end - place for place, (_, end) in zip(places, models, strict=True)}
        if len({*places}) == 1:
            found.append(places[0])
        elif len(from_back) == 1:
            found.append(layers - from_back.pop())
        else:
            return None
    return found


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
