"""Compare two inventories: list new, gone, renamed, resized, tied, untied, frozen and trained tensors.

The layers in a difference are folded. This is the only comparison of tensors by name: a built model is compared with
its closed form, its lock and the base.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Literal, TypeAlias

from msgspec import Struct

from pytest_bertsize.folding import fold_alike, fold_names, split_indices
from pytest_bertsize.inventory import Inventory, Tensor, common, levels
from pytest_bertsize.wording import exact, listed, plural, printable, signed

Kind: TypeAlias = Literal["new", "gone", "renamed", "resized", "tied", "untied", "frozen", "trained"]

MOST_ALIKE = 64  # the most new modules that are compared with a gone one of the same shapes, by their names
DISTINCT = 4  # the fewest tensors of a module that is recognised by its shapes alone, whatever its name and parent
MOST_SHAPES = 2  # the most tensors of a module that are shown with their shapes; of a larger one, only their number
MOST_NAMED = 3


class Difference(Struct, frozen=True):
    """One difference, which may concern many tensors."""

    kind: Kind
    name: str  # the modules or tensors that differ, layers folded: bert.encoder.layer[12:14]
    count: int  # the parameters that the difference adds; negative if it removes some
    tensors: tuple[str, ...]  # the names of the tensors that differ, including those that are gone, and former names
    detail: str  # a number of parameters, or shapes
    other: str = ""  # the former name, or the tensor to which the tensors in name are or were tied
    is_plural: bool = False
    is_name_alone: bool = False  # True if all the tensors are tied to others: only names came or went

    @property
    def sentence(self) -> str:
        """A sentence without its full stop: ``bert.encoder.layer.12 is new: 7,087,872, like the other 12``."""
        name, other = printable(self.name), printable(self.other)
        verb, trains = ("are", "train") if self.is_plural else ("is", "trains")
        if self.is_name_alone:
            return f"{name} {verb} {self.kind} only as a name of {other}: no count changed"
        template = {
            "renamed": f"{other} {verb} now named {name}, with the same shapes",
            "resized": name,
            "tied": f"{name} {verb} now tied to {other}",
            "untied": f"{name} {verb} no longer tied to {other}",
            "frozen": f"{name} no longer {trains}",
            "trained": f"{name} now {trains}",
        }
        return f"{template.get(self.kind, f'{name} {verb} {self.kind}')}: {self.detail}"


def compare_inventories(before: Inventory, after: Inventory) -> list[Difference]:
    """Return the differences, the largest first; none if names, shapes, ties and frozen tensors are the same.

    Their counts add up to the difference of the two totals.
    """
    return sorted(_Comparison(_Side(before), _Side(after)).find_all(), key=lambda each: -abs(each.count))


def fold_modules(inventory: Inventory, names: Collection[str]) -> dict[str, int]:
    """Return the parameters of the outermost modules whose tensors are all in ``names``, with layers folded."""
    side = _Side(inventory)
    folded = fold_alike(side.find_roots(names), side.signature)
    return {name: sum(map(side.count_owned, paths)) for name, paths in folded}


class _Side:
    def __init__(self, inventory: Inventory) -> None:
        self.tensors = inventory.by_name
        self.paths: dict[str, list[Tensor]] = {}  # the tensors in each module by its path, or by a tensor's own name
        for tensor in inventory.tensors:
            for path in levels(tensor.name):
                self.paths.setdefault(path, []).append(tensor)

    @cached_property
    def modules_in(self) -> dict[str, list[str]]:
        """The modules right below each module."""
        found: dict[str, list[str]] = {}
        for path in self.paths:
            if path and path not in self.tensors:  # a name that begins with a dot is in a module without a name
                found.setdefault(path.rpartition(".")[0], []).append(path)
        return found

    @cached_property
    def groups(self) -> dict[str, set[str]]:
        """All names of a tensor that has several names, under each of these names."""
        found: dict[str, set[str]] = {}
        for tensor in self.tensors.values():
            found.setdefault(tensor.tied_to or tensor.name, set()).add(tensor.name)
        return {name: group for group in found.values() if len(group) > 1 for name in group}

    def signature(self, path: str) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """Return the names and shapes inside a module: equal for modules that were built alike."""
        return tuple(sorted((each.name.removeprefix(path), each.shape) for each in self.paths[path]))

    def count_owned(self, path: str) -> int:
        return sum(each.owned for each in self.paths[path])

    def names_within(self, paths: Iterable[str]) -> tuple[str, ...]:
        return tuple(each.name for path in paths for each in self.paths[path])

    def find_roots(self, names: Collection[str]) -> list[str]:
        """Return the outermost modules whose tensors are all in ``names``, and the names that are in no such module."""
        left = Counter(path for name in names for path in _outer_modules(name))
        whole = {path for path, count in left.items() if count == len(self.paths[path])}
        found = (next((path for path in _outer_modules(name) if path in whole), name) for name in names)
        return list(dict.fromkeys(found))

    def with_heirs(self, leaving: Collection[str]) -> _Side:
        """Return this side with new owners for tensors tied to a ``leaving`` one: then only a name comes or goes."""
        heirs: dict[str, str] = {}
        for each in self.tensors.values():
            if each.tied_to in leaving and each.name not in leaving:
                heirs.setdefault(str(each.tied_to), each.name)

        def inherit(each: Tensor) -> Tensor:
            heir = heirs.get(each.tied_to or each.name)
            return each._replace(tied_to=heir if heir != each.name else None) if heir else each

        return _Side(Inventory(tuple(map(inherit, self.tensors.values())))) if heirs else self


class _Comparison:
    def __init__(self, before: _Side, after: _Side) -> None:
        self.before, self.after = before, after
        self.stay = [name for name in after.tensors if name in before.tensors]
        self.new = {name: None for name in after.tensors if name not in before.tensors}
        self.gone = {name: None for name in before.tensors if name not in after.tensors}

    def find_all(self) -> list[Difference]:
        found = [*self._find_renamed()]  # a renamed tensor is neither new nor gone
        self.before, self.after = self.before.with_heirs(self.gone), self.after.with_heirs(self.new)
        return [
            *found,
            *self._find_whole("new", self.new, 1),
            *self._find_whole("gone", self.gone, -1),
            *self._find_resized(),
            *self._find_ties("tied", self.after, self.before),
            *self._find_ties("untied", self.before, self.after),
            *self._find_trained(),
        ]

    def _find_whole(self, kind: Kind, names: Collection[str], sign: int) -> Iterator[Difference]:
        side, other = (self.after, self.before) if sign > 0 else (self.before, self.after)
        alike = fold_alike(side.find_roots(names), lambda path: (side.signature(path), side.count_owned(path)))
        for name, paths in alike:
            each, inside, tensors = side.count_owned(paths[0]), side.paths[paths[0]], side.names_within(paths)
            count = each * len(paths)
            detail = exact(each) if len(paths) == 1 else f"{len(paths):,} × {exact(each)} = {exact(count)}"
            twins = self._count_twins(paths, side, other)
            like = f", like the other{f' {exact(twins)}' if twins > 1 else ''}" if twins else ""
            detail += like or _describe_module(paths[0], side)
            owner = next((tensor.tied_to for tensor in inside if tensor.tied_to), "")
            is_name_alone = all(tensor.tied_to for tensor in inside)
            yield Difference(kind, name, sign * count, tensors, detail, owner, _is_list(paths), is_name_alone)

    @staticmethod
    def _count_twins(paths: Sequence[str], side: _Side, other: _Side) -> int:
        """Return how many other layers both sides have in the list of ``paths``; 0 if one is unlike ``paths[0]``."""
        parent, _, index = paths[0].rpartition(".")
        if not index.isdigit():
            return 0
        siblings = (path for path in side.modules_in.get(parent, ()) if path.rpartition(".")[2].isdigit())
        there = [path for path in siblings if path not in paths and path in other.paths]
        signature = side.signature(paths[0])
        return len(there) if all(side.signature(path) == signature for path in there) else 0

    # renamed

    def _find_renamed(self) -> Iterator[Difference]:
        was: dict[str, str] = {}
        for old, new in self._pair_renamed():
            for names, side, path in ((self.gone, self.before, old), (self.new, self.after, new)):
                for each in side.paths[path]:
                    names.pop(each.name, None)
            was[new] = old
        for name, paths in fold_alike(was, lambda path: (split_indices(was[path])[0], self.after.signature(path))):
            former = [was[path] for path in paths]
            both = (*self.after.names_within(paths), *self.before.names_within(former))
            detail = exact(sum(map(self.after.count_owned, paths)))
            yield Difference("renamed", name, 0, both, detail, _join_names(former), is_plural=_is_list(former))

    def _pair_renamed(self) -> Iterator[tuple[str, str]]:
        """Pair modules that are gone with new modules of the same shapes, the outermost first."""
        waiting: dict[Hashable, list[str]] = {}  # new modules by shapes and places in lists, and by shapes alone
        for path, inside in self.after.paths.items() if self.gone else ():
            if all(each.name in self.new for each in inside):
                signature = self.after.signature(path)
                for place in (split_indices(path)[1], None):
                    if len(alike := waiting.setdefault((signature, place), [])) < MOST_ALIKE:
                        alike.append(path)
        asked = deque(self.before.find_roots(self.gone) if waiting else ())
        taken: set[str] = set()
        while asked:
            old = asked.popleft()
            signature = self.before.signature(old)
            known = (waiting.get((signature, place), []) for place in (split_indices(old)[1], None))  # or in any layer
            free = ([each for each in those if self._is_same(old, each, taken)] for those in known)
            if fitting := next(filter(None, free), []):
                new = max(fitting, key=lambda each: _count_common_parts(old, each))
                taken.update(self.after.names_within([new]))
                yield old, new
            else:
                asked.extend(self.before.modules_in.get(old, ()))

    def _is_same(self, old: str, new: str, taken: Collection[str]) -> bool:
        """Return whether two modules of equal shapes count as one that was renamed.

        They do if they share a name or a parent, if one contains the other, or if they have many tensors.
        """
        (parent, _, name), (other, _, now) = old.rpartition("."), new.rpartition(".")
        is_nested = f"{new}.".startswith(f"{old}.") or f"{old}.".startswith(f"{new}.")
        is_known = is_nested or len(self.before.paths[old]) >= DISTINCT or name == now or parent == other
        return is_known and not any(each.name in taken for each in self.after.paths[new])

    # tensors of both sides

    def _find_resized(self) -> Iterator[Difference]:
        groups: dict[tuple[str, str], list[tuple[Tensor, Tensor]]] = {}
        for name in self.stay:
            old, new = self.before.tensors[name], self.after.tensors[name]
            if old.shape != new.shape:
                groups.setdefault((new.component, _describe_resizing(old.shape, new.shape)), []).append((old, new))
        for (_, sizes), resized in groups.items():
            count = sum(new.size - old.size for old, new in resized if not old.tied_to)  # a tie counts apart
            tensors = tuple(new.name for _, new in resized)
            names = fold_names(tensors)
            outermost = dict.fromkeys(name.partition(".")[0] for name in names)
            where = common(names, "") or listed([*outermost], MOST_NAMED)
            inside = [printable(name.removeprefix(f"{where}.")) for name in names]
            many = plural(len(resized), "tensor") if len(names) > MOST_NAMED else listed(inside, MOST_NAMED)
            detail = f"{sizes}{f' in {many}' if len(names) > 1 else ''}, {_describe_count(count)}"
            yield Difference("resized", where, count, tensors, detail)

    def _find_ties(self, kind: Literal["tied", "untied"], there: _Side, elsewhere: _Side) -> Iterator[Difference]:
        """Find tensors that are tied ``there``, and that ``elsewhere`` are not tied, or are tied to another tensor."""
        owners = {}
        for name in self.stay:
            owner, other = there.tensors[name].tied_to, elsewhere.tensors[name].tied_to
            if owner is None or owner not in elsewhere.tensors or owner in elsewhere.groups.get(name, ()):
                continue
            if kind == "untied" or not other or other in there.tensors:  # else its owner has another name
                owners[name] = owner
        whole: dict[str, str] = {}
        for path in there.find_roots(owners):
            inside = there.paths[path]
            of_all = {owners[each.name].removesuffix(each.name.removeprefix(path)) for each in inside}
            whole |= {path: of_all.pop()} if len(of_all) == 1 else {each.name: owners[each.name] for each in inside}
        for name, paths in fold_alike(whole, lambda path: (split_indices(whole[path])[0], there.signature(path))):
            tensors = there.names_within(paths)
            pairs = ((self.before.tensors[each], self.after.tensors[each]) for each in tensors)
            count = sum(now.size * (bool(was.tied_to) - bool(now.tied_to)) for was, now in pairs)
            other_name = _join_names(whole[path] for path in paths)
            yield Difference(kind, name, count, tensors, _describe_count(count), other_name, is_plural=_is_list(paths))

    def _find_trained(self) -> Iterator[Difference]:
        kinds: dict[Kind, bool] = {"frozen": False, "trained": True}
        for kind, trains in kinds.items():
            was, now = self.before.tensors, self.after.tensors
            names = [each for each in self.stay if now[each].trainable == trains != was[each].trainable]
            for name, paths in fold_alike(self.after.find_roots(names), self.after.signature):
                if count := sum(map(self.after.count_owned, paths)):  # a tied tensor counts with its owner
                    tensors = self.after.names_within(paths)
                    yield Difference(kind, name, 0, tensors, exact(count), is_plural=_is_list(paths))


def _outer_modules(name: str) -> Iterator[str]:
    return (path for path in levels(name) if path != name)


def _join_names(paths: Iterable[str]) -> str:
    return ", ".join(fold_names(dict.fromkeys(paths)))


def _is_list(paths: Sequence[str]) -> bool:
    """Return whether a name for these paths takes the plural: ``layer[0:12]`` does, ``layer[0:12].norm`` does not."""
    return len(paths) > 1 and paths[0].rpartition(".")[2].isdigit()


def _count_common_parts(one: str, other: str) -> int:
    """Return how many names between dots two paths share at their beginning, plus how many at their end."""
    turned = tuple(".".join(reversed(path.split("."))) for path in (one, other))
    return sum(len({*levels(first)} & {*levels(second)}) for first, second in ((one, other), turned))


# words


def _describe_count(count: int) -> str:
    return signed(count) if count else "no count changed"


def _describe_module(path: str, side: _Side) -> str:
    """Return ``(weight 768×9, bias 9)`` for a small module, and the number of tensors of a larger one."""
    inside = side.paths[path]
    if len(inside) > MOST_SHAPES:
        return f" ({plural(len(inside), 'tensor')})"
    names = (printable(each.name.removeprefix(path).removeprefix(".")) for each in inside)
    shown = (f"{name} {write_shape(each.shape)}".strip() for name, each in zip(names, inside, strict=True))
    return f" ({', '.join(shown)})"


def write_shape(shape: tuple[int, ...]) -> str:
    """Write a shape: ``768×3,072``."""
    return "×".join(map(exact, shape)) or "one number"


def _describe_resizing(old: tuple[int, ...], new: tuple[int, ...]) -> str:
    """Return ``old → new``: the sizes that changed, or whole shapes if the axes do not match."""
    if len(old) != len(new) or sorted(old) == sorted(new):
        return f"{write_shape(old)} → {write_shape(new)}"
    changed = sorted({(was, now) for was, now in zip(old, new, strict=True) if was != now})
    return " and ".join(f"{exact(was)} → {exact(now)}" for was, now in changed)
