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
STACKS = ("encoder", "decoder")  # components that consist of layers


class Line(Struct, frozen=True):
    """One line of an explanation."""

    depth: int
    name: str
    formula: str = ""
    numbers: str = ""  # the formula with sizes in place of symbols, or a tensor's shape
    count: int = 0  # the parameters; for the line one layer and the lines inside it, the parameters of a single layer
    in_all: int | None = None  # the parameters in all layers, for lines of one layer; None for other lines
    minor: bool = False  # true if the line is drawn dim: a kind of parameter, a tensor, or nothing to count
    tensor: bool = False  # true if the line has the name of a tensor, which may be shortened for a narrow terminal


class Leaf(NamedTuple):
    """One tensor, or the same tensor in every layer of a stack: its sizes as integers and as symbols."""

    name: str  # the name, with ``*`` for the index of a layer
    component: str
    shape: tuple[int, ...]
    size: int
    tied_to: str | None  # the name of the tensor whose storage this one shares, with ``*`` for the index of a layer
    times: int  # the number of layers that have the tensor; 1 outside repeated layers
    passes: int
    frozen: int  # the number of layers in which the tensor is frozen
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
        runs = [waiting[written.name].popleft()]
        while sum(run.times for run in runs) < int(written.times):
            runs.append(waiting[written.name].popleft())
        term, passes = runs[0], sum(run.passes for run in runs)
        frozen = sum(run.times for run in runs if not run.trainable)
        sizes = term.shape, int(term.size), term.tied_to and pattern(term.tied_to), int(written.times), passes, frozen
        found.append(Leaf(term.name, term.component, *sizes, written))
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

    def make_component_line(self, name: str, *, has_lines: bool) -> Line:
        """Return the line of a component; if ``has_lines``, its numbers are the sums of its repeated layers."""
        members = self.by_component[name]
        formula = self.formulas.sum_all_copies(leaf.symbolic for leaf in members)
        groups = group_by(members, lambda leaf: leaf.repeats)
        if not has_lines:
            numbers = formula.in_numbers(self.form.dims.sizes)
        elif groups.keys() == {ONE}:
            numbers = ""
        else:  # as in ``12·7,087,872``
            sums = ((repeats, group[0].times, sum(leaf.owned for leaf in group)) for repeats, group in groups.items())
            shown = ((f"{times:,}·" if repeats != ONE else "", size) for repeats, times, size in sums if times * size)
            numbers = " + ".join(f"{times}{exact(size)}" for times, size in shown)
        return Line(0, name, formula.text, numbers, sum(leaf.times * leaf.owned for leaf in members))

    def make_line(self, depth: int, name: str, members: list[Leaf], numbers: str | None = None, **also: Any) -> Line:
        """Return a line with the sum of some tensors in one layer and, if layers repeat, the sum over all layers.

        :param numbers: by default the formula in numbers; ``""`` if it has no symbols, or if all ``members`` are tied.
        :param also: other fields of the line; ``formula`` names the owner of a tied tensor.
        """
        formula = self.formulas.sum_one_copy(leaf.symbolic for leaf in members)
        count = sum(leaf.owned for leaf in members)
        if numbers is None:
            written = formula.in_numbers(self.form.dims.sizes) if any(leaf.owned for leaf in members) else ""
            numbers = "" if written == formula.text else written
        in_all = None if members[0].repeats == ONE else members[0].times * count
        fields: dict[str, Any] = {"formula": formula.text, "numbers": numbers, "count": count, "in_all": in_all, **also}
        return Line(depth, name, **fields)


def write_shape(shape: Sequence[int]) -> str:
    return f"({', '.join(map(str, shape))})"


def list_tree(form: ClosedForm, family: Family, *, tensors: bool = False) -> list[Line]:
    """List all lines down to the total, also one for each component that only other classes of the family have."""
    tree = _Tree(form, lists_tensors=tensors)
    layers = {size.symbol for size in family.keys.sizes if size.repeats}
    absent = [name for name in family.component_names(form.dims) if "." not in name]
    lines: list[Line] = []
    for name in parents_first({**tree.by_component, **dict.fromkeys(absent)}):
        if name in tree.by_component:
            lines += tree.list_component(name, layers)
        else:
            lines.append(Line(0, name, f"none in {form.architecture.name}", minor=True))
    return [*lines, Line(0, TOTAL, count=form.total)]


class _Tree(Tensors):
    def __init__(self, form: ClosedForm, *, lists_tensors: bool) -> None:
        super().__init__(form)
        self.lists_tensors = lists_tensors

    def list_component(self, name: str, layers: set[str]) -> list[Line]:
        """List a component and the modules in it, of layers one; ``layers`` are the symbols of numbers of layers."""
        below: list[Line] = []
        for repeats, group in group_by(self.by_component[name], lambda leaf: leaf.repeats).items():
            times, passes = group[0].times, group[0].passes
            if repeats == ONE:
                below += self._list_inside(name, group, 1)
            elif times:
                of_layers = (len(repeats) > 1 or repeats[0].number == 1) and symbols_of(repeats) <= layers
                one = "one layer" if name in STACKS and of_layers else "one"
                label = f"{one} of {times:,}" + (f", used {passes:,} times" if passes != times else "")
                below += [self.make_line(1, label, group, ""), *self._list_inside(name, group, 2)]
        return [self.make_component_line(name, has_lines=bool(below)), *below]

    def _list_inside(self, path: str, members: list[Leaf], depth: int) -> list[Line]:
        """List the components below ``path`` and the tensors directly in it, with the parameters of a single layer."""
        lines: list[Line] = []
        for level, group in group_by(members, lambda leaf: leaf.component[len(path) + 1 :].partition(".")[0]).items():
            if level:
                below = self._list_inside(f"{path}.{level}", group, depth + 1)
                lines += [self.make_line(depth, level, group, "" if below else None), *below]
            elif self.lists_tensors:
                lines += [self._describe_tensor(leaf, depth) for leaf in group]
            else:  # weights, biases and norms if at least two of them occur, and tensors tied to another component
                kinds = group_by((leaf for leaf in group if not leaf.tied_to), _find_kind)
                sums = [self.make_line(depth, kind, each, minor=True) for kind, each in kinds.items()]
                lines += sums if len(kinds) > 1 else []
                ties = group_by((leaf for leaf in group if leaf.tied_to), self._find_tie)
                for tie, (leaf, *_) in ties.items():
                    if tie:
                        size = f"{exact(leaf.size)} shared"
                        lines.append(self.make_line(depth, _find_kind(leaf), [leaf], size, minor=True, formula=tie))
        return lines

    def _find_tie(self, leaf: Leaf) -> str:
        """Return ``tied to``, with the other component that owns a tensor; ``""`` for a tie inside a component."""
        source = self.by_name.get(leaf.tied_to or "")
        component = source.component if source else leaf.tied_to or ""
        return "" if component == leaf.component else f"tied to {component}"

    def _describe_tensor(self, leaf: Leaf, depth: int) -> Line:
        name, shape, also = leaf.name.rpartition(".*.")[2], write_shape(leaf.shape), {}
        if leaf.tied_to:
            also["formula"] = self._find_tie(leaf) or f"tied to {leaf.tied_to}"
        elif leaf.frozen:
            shape += ", frozen" + (f" in {leaf.frozen} of {leaf.times}" if leaf.frozen < leaf.times else "")
        return self.make_line(depth, name, [leaf], shape, minor=True, tensor=True, **also)


def _find_kind(leaf: Leaf) -> str:
    """Return ``norm`` for a tensor of a norm, ``biases`` for another bias vector, ``weights`` for any other tensor."""
    if _NORM.search(leaf.module.rpartition(".")[2]):
        return "norm"
    return "biases" if len(leaf.shape) == 1 and leaf.name.endswith("bias") else "weights"
