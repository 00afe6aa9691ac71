"""What became of a model's tensors, as a reviewer would say it: a layer more, a module renamed, a tie that is gone.

In: two inventories. Out: one :class:`TensorChange` for each thing that happened, however many tensors it is told by.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Literal, TypeAlias

from pytest_bertsize.base import tensor_words as words
from pytest_bertsize.base.module_paths import Side, alike, outer
from pytest_bertsize.base.ranges import folded, taken_apart
from pytest_bertsize.base.together import One, by_layer, by_leaf, by_new_name, names_of
from pytest_bertsize.inventory import Inventory, levels

if TYPE_CHECKING:
    from pytest_bertsize.base.together import Place
    from pytest_bertsize.inventory import Tensor

Kind: TypeAlias = Literal[
    "new", "gone", "renamed", "replaced", "resized", "untied", "tied", "frozen", "trained", "recast"
]

MOST_ALIKE = 64
"""Modules of the same shapes, of which that with the name most alike is taken."""
WEIGHT = ".weight"
DISTINCT = 4
"""Tensors of a module that is known by its shapes, whatever it is called and wherever it stands."""


@dataclass(frozen=True, slots=True)
class TensorChange:
    """One thing that happened to a model."""

    kind: Kind
    name: str
    """The modules or tensors it is about, layers folded: ``bert.encoder.layer[12:14]``."""
    count: int
    """Parameters that it adds; negative for what it takes."""
    said: str
    """A sentence without its full stop."""
    tensors: tuple[str, ...] = ()
    """The names of those that are there now, and of those that were and are not."""


def tensor_changes(before: Inventory, after: Inventory) -> list[TensorChange]:
    """What became of one inventory in the other: nothing where all names, shapes, ties and what trains are the same."""
    return _Both(Side(before), Side(after)).told()


class _Both:
    def __init__(self, before: Side, after: Side) -> None:
        self.before, self.after = before, after
        self.stay = [name for name in after.tensors if name in before.tensors]
        self.new = {name: None for name in after.tensors if name not in before.tensors}
        self.gone = {name: None for name in before.tensors if name not in after.tensors}

    def told(self) -> list[TensorChange]:
        """What takes a place that another has left is looked for first: what is left over is new, or gone."""
        found = [*self._renamed(), *self._merged("joined"), *self._merged("parted"), *self._rebuilt()]
        self.before, self.after = _inherited(self.before, self.gone), _inherited(self.after, self.new)
        found += [
            *self._new(),
            *self._gone(),
            *self._resized(),
            *self._tied(),
            *self._untied(),
            *self._trained(),
            *self._recast(),
        ]
        return sorted(found, key=lambda each: -abs(each.count))

    # what came and went

    def _new(self) -> Iterator[TensorChange]:
        roots = self.after.roots(self.new)
        ones = [One(path, (self.after.signature(path), self._shares(path))) for path in roots]
        for places in by_leaf(by_layer(ones), self.after):
            if len(places) > 1:
                yield _in_several("new", places, self.after)
                continue
            ((name, paths),) = places
            each = self.after.count(paths[0])
            said = words.new(name, paths, each, self._like(paths), self.after)
            yield TensorChange("new", name, each * len(paths), said, _within(self.after, paths))

    def _shares(self, path: str) -> tuple[str, ...]:
        """What else owns tensors of a module, by names without the layer's index."""
        owners = (each.tied_to for each in self.after.paths[path] if each.tied_to)
        return tuple(dict.fromkeys(taken_apart(owner)[0] for owner in owners if not f"{owner}.".startswith(f"{path}.")))

    def _gone(self) -> Iterator[TensorChange]:
        roots = self.before.roots(self.gone)
        ones = [One(path, (self.before.signature(path), self.before.count(path))) for path in roots]
        for places in by_leaf(by_layer(ones), self.before):
            if len(places) > 1:
                yield _in_several("gone", places, self.before)
                continue
            ((name, paths),) = places
            each = self.before.count(paths[0])
            left = [path for path in self.after.siblings(paths[0]) if path in self.after.paths]
            said = words.gone(name, paths, each, len(left), self.before)
            yield TensorChange("gone", name, -each * len(paths), said, _within(self.before, paths))

    def _like(self, paths: Sequence[str]) -> words.Like:
        """What else is built as a new module is."""
        path, signature = paths[0], self.after.signature(paths[0])
        others = [each for each in self.after.siblings(path) if each not in paths and each in self.before.paths]
        if others:
            same = [each for each in others if self.after.signature(each) == signature]
            return words.Like(others=len(others), same=len(same), unlike=self.after.count(others[0]))
        if len(signature) < DISTINCT:
            return words.Like()
        mine = {*paths}
        twin = next((e for e in self._modules_of(signature) if e not in mine and e in self.before.paths), "")
        return words.Like(twin=twin, is_backbone=bool(twin) and self.after.holds_layers(twin))

    def _modules_of(self, signature: Hashable) -> list[str]:
        wanted = len(signature)  # type: ignore[arg-type]
        modules = self.after.paths.items()
        return [path for path, inside in modules if len(inside) == wanted and self.after.signature(path) == signature]

    # what has another place

    def _renamed(self) -> Iterator[TensorChange]:
        ones = []
        for old, new in self._pairs():
            self._take(self.before.paths[old], self.after.paths[new])
            ones.append(One(new, (taken_apart(old)[0], self.after.signature(new)), old))
        was = {one.path: one.other for one in ones}
        moved = [(names_of(was[path] for path in paths), name, paths) for name, paths in by_layer(ones)]
        for places in by_new_name(moved):
            paths = [path for *_, found in places for path in found]
            if len(places) > 1:
                name, said = words.all_renamed([each[:2] for each in places], paths, self.after)
            else:
                former, name, _ = places[0]
                said = words.renamed(former, name, paths, self.after)
            both = (*_within(self.after, paths), *_within(self.before, [was[path] for path in paths]))
            yield TensorChange("renamed", name, 0, said, both)

    def _pairs(self) -> Iterator[tuple[str, str]]:
        """Modules that are gone, and those of the same shapes that are new; the outermost first."""
        waiting = self._waiting()
        asked = deque(self.before.roots(self.gone)) if waiting else deque()
        taken: set[str] = set()
        within: set[str] = set()  # those that are taken, and what these are in
        while asked:
            old = asked.popleft()
            signature = self.before.signature(old)
            for place in (taken_apart(old)[1], None):  # of the same layer, else of any
                free = (
                    e for e in waiting.get((signature, place), ()) if e not in within and taken.isdisjoint(outer(e))
                )
                fitting = [new for new in islice(free, MOST_ALIKE) if self._is_same(old, new)]
                if fitting:
                    new = max(fitting, key=lambda each: alike(old, each))
                    taken.add(new)
                    within.update(levels(new))
                    yield old, new
                    break
            else:
                asked.extend(self.before.modules_in(old))  # its own tensors are no modules

    def _waiting(self) -> dict[Hashable, list[str]]:
        """What is wholly new, by its shapes and its places in lists; and by its shapes alone."""
        found: dict[Hashable, list[str]] = {}
        for path, inside in self.after.paths.items():
            if all(each.name in self.new for each in inside):
                signature = self.after.signature(path)
                found.setdefault((signature, taken_apart(path)[1]), []).append(path)
                if len(of_any := found.setdefault((signature, None), [])) < MOST_ALIKE:
                    of_any.append(path)
        return found

    def _is_same(self, old: str, new: str) -> bool:
        """Whether what has the same shapes is the same: by its name, its place, one in the other, or many tensors."""
        (parent, _, name), (other, _, now) = old.rpartition("."), new.rpartition(".")
        nested = f"{new}.".startswith(f"{old}.") or f"{old}.".startswith(f"{new}.")
        return nested or len(self.before.paths[old]) >= DISTINCT or name == now or parent == other

    def _take(self, gone: Iterable[Tensor], new: Iterable[Tensor]) -> None:
        for each in gone:
            self.gone.pop(each.name, None)
        for each in new:
            self.new.pop(each.name, None)

    # what took the place of another

    def _merged(self, how: Literal["joined", "parted"]) -> Iterator[TensorChange]:
        """Linear layers of one module that are one now, or one that is several."""
        joined = how == "joined"
        found = dict(self._in_rows(joined=joined))
        ones = [One(one, tuple(taken_apart(each)[0] for each in parts)) for one, parts in found.items()]
        for name, paths in by_layer(ones):
            parts = [each for path in paths for each in found[path]]
            now, was = (paths, parts) if joined else (parts, paths)
            count = sum(map(self.after.count, now)) - sum(map(self.before.count, was))
            said = words.merged(
                how, name, [names_of(each) for each in zip(*(found[path] for path in paths), strict=True)]
            )
            yield TensorChange("replaced", name, count, f"{said}: {words.change(count)}", _within(self.after, now))
            self._take(_of(self.before, was), _of(self.after, now))

    def _in_rows(self, *, joined: bool) -> Iterator[tuple[str, tuple[str, ...]]]:
        """A module of one side, and those of the same place on the other whose rows together are its own."""
        few, many = (self.after, self.before) if joined else (self.before, self.after)
        of_few, of_many = (self.new, self.gone) if joined else (self.gone, self.new)
        modules, beside = (
            [name.removesuffix(WEIGHT) for name in names if name.endswith(WEIGHT)] for names in (of_few, of_many)
        )
        by_place: dict[str, list[str]] = {}
        for path in beside:
            by_place.setdefault(path.rpartition(".")[0], []).append(path)
        for one in modules:
            whole, parts = few.tensors[one + WEIGHT].shape, by_place.get(one.rpartition(".")[0], [])
            shapes = [many.tensors[path + WEIGHT].shape for path in parts]
            same = all(len(shape) > 1 and shape[1:] == whole[1:] for shape in shapes)
            if len(parts) > 1 and same and sum(shape[0] for shape in shapes) == whole[0]:
                yield one, tuple(parts)

    def _rebuilt(self) -> Iterator[TensorChange]:
        """What has the same name, and nothing else in common."""
        was = {*self.before.roots(self.gone)}
        both = [path for path in self.after.roots(self.new) if path in was]
        ones = [One(path, (self.before.signature(path), self.after.signature(path))) for path in both]
        for name, paths in by_layer(ones):
            before, after = (sum(map(side.count, paths)) for side in (self.before, self.after))
            said = words.rebuilt(name, paths, self.before, self.after)
            yield TensorChange("replaced", name, after - before, said, _within(self.after, paths))
            self._take(_of(self.before, paths), _of(self.after, paths))

    # what stayed, and is another

    def _resized(self) -> Iterator[TensorChange]:
        groups: dict[Hashable, list[tuple[Tensor, Tensor]]] = {}
        for name in self.stay:
            old, new = self.before.tensors[name], self.after.tensors[name]
            if old.shape != new.shape:
                groups.setdefault(words.steps(old.shape, new.shape), []).append((old, new))
        for pairs in groups.values():
            count = sum(new.size - old.size for old, new in pairs if not old.tied_to)  # a tie that is gone has its own
            names = [new.name for _, new in pairs]
            name, said = words.resized(pairs, count, [each for each, _ in folded(names)])
            yield TensorChange("resized", name, count, said, tuple(names))

    def _tied(self) -> Iterator[TensorChange]:
        """What is another tensor now, and was one of its own."""
        groups_before = _sharing(self.before)
        owners = {}
        for name in self.stay:
            owner, former = self.after.tensors[name].tied_to, self.before.tensors[name].tied_to
            if former and former not in self.after.tensors:  # its owner has another name
                continue
            if owner and owner not in groups_before.get(name, ()) and name not in groups_before.get(owner, ()):
                owners[name] = owner
        yield from self._of_ties(owners, self.after, "tied")

    def _untied(self) -> Iterator[TensorChange]:
        groups_now = _sharing(self.after)
        owners = {}
        for name in self.stay:
            owner = self.before.tensors[name].tied_to
            if owner in self.after.tensors and owner is not None and owner not in groups_now.get(name, ()):
                owners[name] = owner
        yield from self._of_ties(owners, self.before, "untied")

    def _of_ties(self, owners: dict[str, str], there: Side, kind: Literal["tied", "untied"]) -> Iterator[TensorChange]:
        ones = []
        for path in there.roots(owners):
            inside = there.paths[path]
            whole = {owners[each.name].removesuffix(each.name.removeprefix(path)) for each in inside}
            if len(whole) == 1:
                ones.append(One(path, (taken_apart(next(iter(whole)))[0], there.signature(path)), next(iter(whole))))
            else:
                ones += [One(e.name, (taken_apart(owners[e.name])[0], e.shape), owners[e.name]) for e in inside]
        other = {one.path: one.other for one in ones}
        for name, paths in by_layer(ones):
            tensors = _within(there, paths)
            count = sum(self.after.tensors[each].size * self._owns(each) for each in tensors)
            said = words.tie(kind, name, names_of(other[path] for path in paths), count, paths)
            yield TensorChange(kind, name, count, said, tensors)

    def _owns(self, name: str) -> int:
        """1 of a tensor that is one of its own only now, -1 of one that only was."""
        return bool(self.before.tensors[name].tied_to) - bool(self.after.tensors[name].tied_to)

    def _trained(self) -> Iterator[TensorChange]:
        kinds: tuple[tuple[Literal["frozen", "trained"], bool], ...] = (("frozen", False), ("trained", True))
        for kind, trains in kinds:
            names = {
                name: None
                for name in self.stay
                if self.after.tensors[name].trainable == trains != self.before.tensors[name].trainable
            }
            ones = [One(path, self.after.signature(path)) for path in self.after.roots(names)]
            for places in by_leaf(by_layer(ones), self.after):
                if len(places) > 1:
                    yield _in_several(kind, places, self.after)
                    continue
                ((name, paths),) = places
                if count := sum(self.after.count(path) for path in paths):  # what owns nothing goes with its owner
                    said = words.trained(kind, name, count, paths)
                    yield TensorChange(kind, name, 0, said, _within(self.after, paths))

    def _recast(self) -> Iterator[TensorChange]:
        """What is of another dtype; a tied tensor is with its owner."""
        groups: dict[tuple[str, str], dict[str, None]] = {}
        for name in self.stay:
            was, now = self.before.tensors[name].dtype, self.after.tensors[name].dtype
            if was != now:
                groups.setdefault((was, now), {})[name] = None
        for both, names in groups.items():
            roots = [] if len(names) == len(self.after.tensors) else self.after.roots(names)
            count = sum(self.after.tensors[name].owned for name in names)
            where, said = words.recast(*both, [name for name, _ in folded(roots)], roots, count)
            yield TensorChange("recast", where, 0, said, tuple(names))


def _inherited(side: Side, leaving: Collection[str]) -> Side:
    """With an owner that stays, of what shares its storage with a tensor that comes or goes: by name alone, then."""
    heirs: dict[str, str] = {}
    for each in side.tensors.values():
        if each.tied_to in leaving and each.name not in leaving:
            heirs.setdefault(str(each.tied_to), each.name)
    if not heirs:
        return side
    found = []
    for each in side.tensors.values():
        heir = heirs.get(each.tied_to or each.name)
        found.append(each._replace(tied_to=heir if heir != each.name else None) if heir else each)
    return Side(Inventory(tuple(found)))


def _in_several(kind: Literal["new", "gone", "frozen", "trained"], places: Sequence[Place], side: Side) -> TensorChange:
    """What happened alike to what has one name in several modules."""
    paths = [path for _, found in places for path in found]
    where, said = words.several(kind, [name for name, _ in places], paths, side)
    count = sum(map(side.count, paths)) * {"new": 1, "gone": -1}.get(kind, 0)
    return TensorChange(kind, where, count, said, _within(side, paths))


def _of(side: Side, paths: Iterable[str]) -> list[Tensor]:
    return [each for path in paths for each in side.paths[path]]


def _within(side: Side, paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(each.name for each in _of(side, paths))


def _sharing(side: Side) -> dict[str, set[str]]:
    """Of each tensor that shares its storage, all names of it."""
    groups: dict[str, set[str]] = {}
    for tensor in side.tensors.values():
        groups.setdefault(tensor.tied_to or tensor.name, set()).add(tensor.name)
    return {name: group for group in groups.values() if len(group) > 1 for name in group}
