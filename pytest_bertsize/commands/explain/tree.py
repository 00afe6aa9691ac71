"""List the lines of an explanation: component → one layer → part → tensor, each with formula, numbers and count."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from msgspec import Struct

from pytest_bertsize.closed_forms.formula import Formulas
from pytest_bertsize.closed_forms.symbols import ONE, symbols_of, terms_of
from pytest_bertsize.inventory import TOTAL, parents_first, pattern
from pytest_bertsize.wording import exact

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Term
    from pytest_bertsize.closed_forms.family import ClosedForm, Family
    from pytest_bertsize.closed_forms.symbols import Sum

Key = TypeVar("Key", bound=Hashable)

_NORM = re.compile(r"norm|(^|[._])ln", re.IGNORECASE)
TIED, NONE = "tied to ", "none in "
"""Words in place of a formula: for a tensor that shares its storage, and for a component that is missing."""
STACKS = ("encoder", "decoder")
"""Components that consist of layers."""


class Line(Struct, frozen=True):
    """One line of an explanation."""

    depth: int
    name: str
    formula: str = ""
    numbers: str = ""
    """The formula with sizes in place of symbols, or a tensor's shape."""
    count: int = 0
    """The parameters; for the line ``one layer`` and the lines inside it, the parameters of a single layer."""
    in_all: int | None = None
    """The parameters in all layers, for the line ``one layer`` and the lines inside it; ``None`` for other lines."""
    minor: bool = False
    """True for a line that is drawn dim: a kind of parameter, a tensor, or a line without parameters."""
    tensor: bool = False
    """True if the line has the name of a tensor, which may be shortened for a narrow terminal."""


# the tensors


class Leaf(NamedTuple):
    """One tensor, or the same tensor in every layer of a stack: its sizes as integers and as symbols."""

    name: str
    """The name, with ``*`` for the index of a layer."""
    component: str
    shape: tuple[int, ...]
    size: int
    tied_to: str | None
    """The name of the tensor whose storage this one shares, with ``*`` for the index of a layer."""
    times: int
    """The number of layers that have the tensor; 1 outside repeated layers."""
    passes: int
    frozen: int
    """The number of layers in which the tensor is frozen."""
    symbolic: Term

    @property
    def owned(self) -> int:
        return 0 if self.tied_to else self.size

    @property
    def module(self) -> str:
        return self.name.rpartition(".")[0]

    @property
    def repeats(self) -> Sum:
        """Return :attr:`times` as an expression of symbols; :data:`ONE` for a tensor outside repeated layers."""
        return terms_of(self.symbolic.times)


def list_leaves(form: ClosedForm) -> list[Leaf]:
    """List the tensors of a closed form in the order of its blocks; frozen and trained layers of a stack are joined."""
    waiting: dict[str, deque[Term]] = defaultdict(deque)
    for term in form.terms:
        waiting[term.name].append(term)
    found = []
    for written in form.symbolic:
        times = int(written.times)
        runs = [waiting[written.name].popleft()]
        while sum(run.times for run in runs) < times:
            runs.append(waiting[written.name].popleft())
        passes, frozen = sum(run.passes for run in runs), sum(run.times for run in runs if not run.trainable)
        term = runs[0]
        size, tied_to = int(term.size), term.tied_to and pattern(term.tied_to)
        found.append(Leaf(term.name, term.component, term.shape, size, tied_to, times, passes, frozen, written))
    return found


def group_by(members: Iterable[Leaf], key: Callable[[Leaf], Key]) -> dict[Key, list[Leaf]]:
    """Return the tensors by key, in the order in which the keys first appear."""
    groups: dict[Key, list[Leaf]] = {}
    for leaf in members:
        groups.setdefault(key(leaf), []).append(leaf)
    return groups


class Tensors:
    """All tensors of a closed form, and lines with sums of them."""

    def __init__(self, form: ClosedForm) -> None:
        self.form, self.formulas = form, Formulas(form.dims)
        leaves = list_leaves(form)
        self.by_name = {leaf.name: leaf for leaf in leaves}
        self.by_component = group_by(leaves, lambda leaf: leaf.component.partition(".")[0])

    def make_component_line(self, name: str, members: list[Leaf], numbers: str | None = None) -> Line:
        """Return the line of a component; ``numbers`` are by default its formula with sizes in place of symbols."""
        formula = self.formulas.sum_all_copies(leaf.symbolic for leaf in members)
        numbers = formula.in_numbers(self.form.dims.sizes) if numbers is None else numbers
        return Line(0, name, formula.text, numbers, sum(leaf.times * leaf.owned for leaf in members))

    def make_sum_line(self, depth: int, name: str, members: list[Leaf], times: int | None = None, **also: Any) -> Line:
        """Return a line with the sum of some tensors in one layer and, if layers repeat, the sum over all layers.

        :param also: other fields of the line.
        """
        formula = self.formulas.sum_one_copy(leaf.symbolic for leaf in members)
        count = sum(leaf.owned for leaf in members)
        return Line(depth, name, formula.text, count=count, in_all=times and times * count, **also)

    def write_numbers(self, members: list[Leaf]) -> str:
        """Return the formula for one layer in numbers; ``""`` if it has no symbols, or if all ``members`` are tied."""
        formula = self.formulas.sum_one_copy(leaf.symbolic for leaf in members)
        numbers = formula.in_numbers(self.form.dims.sizes) if any(leaf.owned for leaf in members) else ""
        return "" if numbers == formula.text else numbers


def write_sums(groups: Iterable[list[Leaf]]) -> str:
    """Return the sums of repeated layers, as in ``12·7,087,872``; ``""`` if no layer repeats."""
    groups = [*groups]
    if all(group[0].repeats == ONE for group in groups):
        return ""
    sums = ((group[0].times, group[0].repeats, sum(leaf.owned for leaf in group)) for group in groups)
    return " + ".join(
        exact(size) if repeats == ONE else f"{times:,}·{exact(size)}" for times, repeats, size in sums if times * size
    )


def write_shape(shape: Sequence[int]) -> str:
    return f"({', '.join(map(str, shape))})"


# the tree


def list_tree(form: ClosedForm, family: Family, *, tensors: bool = False) -> list[Line]:
    """List all lines down to the total; also a line for each component that only other classes of the family have.

    :param tensors: whether to list each tensor, in place of sums of weights, biases and norms.
    """
    tree = _Tree(form)
    layers = {size.symbol for size in family.keys.sizes if size.repeats}
    absent = [name for name in family.component_names(form.dims) if "." not in name]
    lines: list[Line] = []
    for name in parents_first({**tree.by_component, **dict.fromkeys(absent)}):
        if name in tree.by_component:
            lines += tree.list_component(name, layers, tensors=tensors)
        else:
            lines.append(Line(0, name, f"{NONE}{form.architecture.name}", minor=True))
    return [*lines, Line(0, TOTAL, count=form.total)]


class _Tree(Tensors):
    def list_component(self, name: str, layers: set[str], *, tensors: bool) -> list[Line]:
        """List a component, then the modules in it; of layers that repeat, list one.

        :param layers: the symbols of the family's sizes that are numbers of layers.
        """
        members = self.by_component[name]
        groups = group_by(members, lambda leaf: leaf.repeats)
        below: list[Line] = []
        for repeats, group in groups.items():
            times, passes = group[0].times, group[0].passes
            if repeats == ONE:
                below += self._list_inside(name, group, 1, None, tensors=tensors)
            elif times:
                of_layers = (len(repeats) > 1 or repeats[0].number == 1) and symbols_of(repeats) <= layers
                one = "one layer" if name in STACKS and of_layers else "one"
                label = f"{one} of {times:,}" + (f", used {passes:,} times" if passes != times else "")
                below.append(self.make_sum_line(1, label, group, times))
                below += self._list_inside(name, group, 2, times, tensors=tensors)
        return [self.make_component_line(name, members, write_sums(groups.values()) if below else None), *below]

    def _list_inside(
        self, path: str, members: list[Leaf], depth: int, times: int | None, *, tensors: bool
    ) -> list[Line]:
        """List the components below ``path`` and the tensors directly in it, with the parameters of a single layer."""
        lines: list[Line] = []
        for level, group in group_by(members, lambda leaf: leaf.component[len(path) + 1 :].partition(".")[0]).items():
            if level:
                below = self._list_inside(f"{path}.{level}", group, depth + 1, times, tensors=tensors)
                numbers = "" if below else self.write_numbers(group)
                lines += [self.make_sum_line(depth, level, group, times, numbers=numbers), *below]
            elif tensors:
                lines += [self._tensor_line(leaf, depth, times) for leaf in group]
            else:
                lines += self._list_kinds(group, depth, times)
        return lines

    def _list_kinds(self, members: list[Leaf], depth: int, times: int | None) -> list[Line]:
        """List weights, biases and norms if at least two of them occur, and tensors tied to another component."""
        kinds = group_by((leaf for leaf in members if not leaf.tied_to), _find_kind)
        lines = [
            self.make_sum_line(depth, kind, group, times, numbers=self.write_numbers(group), minor=True)
            for kind, group in kinds.items()
            if len(kinds) > 1
        ]
        for tie, (leaf, *_) in group_by((leaf for leaf in members if leaf.tied_to), self._find_tie).items():
            if tie:
                shared = f"{exact(leaf.size)} shared"
                lines.append(Line(depth, _find_kind(leaf), f"{TIED}{tie}", shared, 0, times and 0, minor=True))
        return lines

    def _find_tie(self, leaf: Leaf) -> str:
        """Find the other component that owns a tensor; ``""`` for a tie inside a component."""
        source = self.by_name.get(leaf.tied_to or "")
        component = source.component if source else leaf.tied_to or ""
        return "" if component == leaf.component else component

    def _tensor_line(self, leaf: Leaf, depth: int, times: int | None) -> Line:
        name, shape = leaf.name.rpartition(".*.")[2], write_shape(leaf.shape)
        if leaf.tied_to:
            tie = f"{TIED}{self._find_tie(leaf) or leaf.tied_to}"
            return Line(depth, name, tie, shape, 0, times and 0, minor=True, tensor=True)
        if leaf.frozen:
            shape += ", frozen" + (f" in {leaf.frozen} of {leaf.times}" if leaf.frozen < leaf.times else "")
        return self.make_sum_line(depth, name, [leaf], times, numbers=shape, minor=True, tensor=True)


def _find_kind(leaf: Leaf) -> str:
    """Return ``norm`` for a tensor of a norm, ``biases`` for another bias vector, ``weights`` for any other tensor."""
    if _NORM.search(leaf.module.rpartition(".")[2]):
        return "norm"
    return "biases" if len(leaf.shape) == 1 and leaf.name.endswith("bias") else "weights"
