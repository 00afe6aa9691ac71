"""The inventory: the named tensors of a model, and their roll-up by component."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from itertools import accumulate
from math import prod
from typing import NamedTuple

from pytest_bertsize.wording import did_you_mean, exact

TOTAL = "total"
TRAINABLE = "trainable"

CANONICAL = ("embeddings", "encoder", "decoder", "pooler", "head", "adapters")  # in the order of a forward pass
_INDEX = re.compile(r"(?<=\.)\d+(?=\.)")


class Tensor(NamedTuple):
    """One named tensor of a model."""

    name: str  # dotted, as named_parameters gives it: encoder.layer.0.attention.self.query.weight
    shape: tuple[int, ...]
    component: str  # dotted name of the component in which the tensor counts: encoder.attention
    trainable: bool = True
    tied_to: str | None = None  # name of the tensor whose storage this one shares; that one owns the parameters

    @property
    def size(self) -> int:
        """Number of elements, whether or not the tensor owns them."""
        return prod(self.shape)

    @property
    def owned(self) -> int:
        """Number of parameters that count under this name: none for a tied tensor."""
        return 0 if self.tied_to else self.size


def levels(component: str) -> Iterator[str]:
    """Yield a component's name level by level: ``'encoder'``, then ``'encoder.attention'``."""
    return accumulate(component.split("."), lambda outer, inner: f"{outer}.{inner}")


def common(components: Iterable[str], otherwise: str) -> str:
    """Return the innermost component that contains all of ``components``; ``otherwise`` if there is none."""
    shared = set.intersection(*(set(levels(component)) for component in components))
    return max(shared, key=len, default=otherwise)


Modules = Mapping[tuple[str, ...], Collection[str]]  # the components in each module, by its parts, "*" for any layer


def group_by_module(known: Iterable[tuple[str, str]]) -> Modules:
    """Return the model and its modules, each with the known components of the tensors in it."""
    found: dict[tuple[str, ...], set[str]] = {}
    for name, component in known:
        parts = name.split(".")
        for depth in range(len(parts)):
            found.setdefault(tuple(parts[:depth]), set()).add(component)
    return found


def find_nearest(name: str, modules: Modules, otherwise: str) -> str:
    """Return the component that all tensors in the innermost known module around a name share; else ``otherwise``."""
    inside: set[str] = set()
    paths: list[tuple[str, ...]] = [()]
    for part in name.split(".")[:-1]:
        paths = [path for outer in paths for each in {part, "*"} if (path := (*outer, each)) in modules]
        inside = {component for path in paths for component in modules[path]} or inside
    return common(inside, otherwise) if inside else otherwise


def is_within(component: str, outer: str) -> bool:
    """Return whether a component is ``outer`` or below it; everything is within the total."""
    return outer == TOTAL or f"{component}.".startswith(f"{outer}.")


class Inventory:
    """The named tensors of one model. Its components' own counts always sum to :attr:`unique`."""

    def __init__(self, tensors: tuple[Tensor, ...], list_known: Callable[[], Iterable[str]] = tuple) -> None:
        """:param list_known: returns components that other models of the family have."""
        self._tensors, self.list_known = tensors, list_known

    def __repr__(self) -> str:
        outermost = (f"{name}: {exact(count)}" for name, count in self.components.items() if "." not in name)
        return f"<{type(self).__name__} of {exact(self.unique)} parameters: {', '.join(outermost)}>"

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        return self._tensors

    @property
    def counted(self) -> Iterator[tuple[str, bool, int]]:
        """The component, the training and the parameters of every tensor, or of some tensors that are alike."""
        return ((each.component, each.trainable, each.owned) for each in self.tensors)

    @cached_property
    def by_name(self) -> dict[str, Tensor]:
        return {tensor.name: tensor for tensor in self.tensors}

    @cached_property
    def own(self) -> dict[str, int]:
        """Parameters of each component itself, without those of the components below it."""
        counts: Counter[str] = Counter()
        for component, _, owned in self.counted:
            counts[component] += owned
        return dict(counts)

    @cached_property
    def components(self) -> dict[str, int]:
        """Parameters of every component at every level, parents first: the roll-up of :attr:`own`."""
        return roll_up(self.own)

    @cached_property
    def unique(self) -> int:
        """All parameters, tied ones counted once: the number that budgets limit."""
        return sum(owned for _, _, owned in self.counted)

    @cached_property
    def trainable(self) -> int:
        """Parameters that an optimiser would change, tied ones counted once."""
        return sum(owned for _, trainable, owned in self.counted if trainable)

    @property
    def stored(self) -> int:
        """All parameters, tied ones counted under each name."""
        return sum(tensor.size for tensor in self.tensors)

    def __getitem__(self, component: str) -> int:
        """Return the parameters of a component; 0 if only other models of the family have it, KeyError if none has."""
        if component not in {TOTAL, TRAINABLE, *self.components} and component not in self.list_known():
            there = did_you_mean(component, self.components, f"the components are {', '.join(self.components)}")
            raise KeyError(f"there is no component {component!r}; {there}")
        return self.count_of(component)

    def count_of(self, component: str) -> int:
        """Parameters of a component, of ``"total"`` or of ``"trainable"``; 0 for any that the model does not have."""
        if component in {TOTAL, TRAINABLE}:
            return self.unique if component == TOTAL else self.trainable
        return self.components.get(component, 0)

    @cached_property
    def folded(self) -> list[Fold]:
        """The tensors with identical layers in one row: twelve ``encoder.layer.N.dense.weight`` become one ``×12``."""
        groups: dict[Fold, list[Tensor]] = {}
        for each in self.tensors:
            tied_to = each.tied_to and pattern(each.tied_to)
            row = Fold(pattern(each.name), each.component, each.shape, 0, 0, tied_to, each.trainable)
            groups.setdefault(row, []).append(each)
        return [row._replace(times=len(same), owned=sum(each.owned for each in same)) for row, same in groups.items()]

    def layers(self, component: str) -> int:
        """Return the number of layers, such as 12, if each has every tensor of the component once; else return 1."""
        times: Counter[tuple[object, ...]] = Counter()
        for row in self.folded:
            if is_within(row.component, component):
                times[row.pattern, row.component, row.shape, row.tied_to] += row.times  # whether it trains or not
        return times.popitem()[1] if component != TOTAL and len(set(times.values())) == 1 else 1


class Loading(NamedTuple):
    """A file's tensors as transformers loads them into the model."""

    rows: tuple[tuple[str, str | None, tuple[int, ...]], ...]  # name in the file, in the model (None: ignored), shape
    unsaved: frozenset[str] = frozenset()  # names that save_pretrained leaves out: the class makes them again


def roll_up(own: dict[str, int]) -> dict[str, int]:
    """Return the count of each component with those below it; the components are sorted by :func:`parents_first`."""
    counts: Counter[str] = Counter()
    for component, count in own.items():
        for level in levels(component):
            counts[level] += count
    return {name: counts[name] for name in parents_first(counts)}


def parents_first(names: Iterable[str]) -> list[str]:
    """Return the components, each before those below it; :data:`CANONICAL` ones come first, others as they appear."""
    return [*_parents_first(tuple(names))]


@lru_cache(256)
def _parents_first(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the sorted components from a cache, because many models of a run have the same ones."""
    order = {name: index for index, name in enumerate(dict.fromkeys((*CANONICAL, *names)))}
    return tuple(sorted(names, key=lambda name: [(order.get(level, len(order)), level) for level in levels(name)]))


class Fold(NamedTuple):
    """Tensors that differ only in their layer's index, as one row."""

    pattern: str  # the name with * for the index: encoder.layer.*.output.dense.weight
    component: str
    shape: tuple[int, ...]
    times: int
    owned: int  # parameters of all these tensors together
    tied_to: str | None
    trainable: bool = True


def pattern(name: str) -> str:
    """A tensor's name with ``*`` in place of every layer index."""
    return _INDEX.sub("*", name)
