"""The lines of an explanation: component → one layer → part → tensor, each with formula, numbers and count."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.formula import Formulas
from pytest_bertsize.closed_forms.symbols import in_one, symbols_of
from pytest_bertsize.commands.explain.leaves import Leaf, leaves
from pytest_bertsize.inventory import TOTAL, parents_first
from pytest_bertsize.wording import exact

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Count
    from pytest_bertsize.closed_forms.family import ClosedForm, Family
    from pytest_bertsize.closed_forms.formula import Formula

_NORM = re.compile(r"norm|(^|[._])ln", re.IGNORECASE)
TIED, NONE = "tied to ", "none in "
"""Where a formula would stand: of what shares its storage, and of a component that is not there."""
STACKS = ("encoder", "decoder")
"""Components that consist of layers."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line."""

    depth: int
    name: str
    formula: str = ""
    numbers: str = ""
    """The formula with sizes in place of symbols, or a tensor's shape."""
    count: int = 0
    """Of a single layer inside ``one layer``."""
    in_all: int | None = None
    """Of all layers, inside ``one layer``."""
    minor: bool = False
    """Below the level of components: a kind of parameter, a tensor, or nothing at all."""
    tensor: bool = False
    """Whether the name is a tensor's, which a narrow terminal may shorten."""


def tree(form: ClosedForm, family: Family, *, tensors: bool = False) -> list[Line]:
    """All lines down to the total; what other classes of the family have, and this one has not, is said to be none.

    :param tensors: go down to tensors, instead of to weights, biases and norms.
    """
    found = leaves(form)
    layers = frozenset(size.symbol for size in family.keys.sizes if size.repeats)
    planted = _Tree(Formulas(form.dims), form.dims.sizes, {leaf.name: leaf for leaf in found}, layers, tensors=tensors)
    tops = by_level(found, "")
    absent = [name for name in family.component_names(form.dims) if "." not in name]
    lines: list[Line] = []
    for name in parents_first({**tops, **dict.fromkeys(absent)}):
        if name in tops:
            lines += planted.top(name, tops[name])
        else:
            lines.append(Line(0, name, f"{NONE}{form.architecture.name}", minor=True))
    return [*lines, Line(0, TOTAL, count=form.total)]


def by_level(found: Iterable[Leaf], above: str) -> dict[str, list[Leaf]]:
    """The tensors by the component right below ``above``; under ``""`` those that are its own."""
    groups: dict[str, list[Leaf]] = {}
    for leaf in found:
        below = leaf.component.removeprefix(f"{above}.") if above else leaf.component
        level = "" if leaf.component == above else below.partition(".")[0]
        groups.setdefault(level, []).append(leaf)
    return groups


@dataclass(frozen=True, slots=True)
class _Tree:
    formulas: Formulas
    sizes: Mapping[str, int]
    by_name: dict[str, Leaf]
    layers: frozenset[str]
    """Symbols of the family's numbers of layers."""
    tensors: bool

    def top(self, name: str, members: list[Leaf]) -> list[Line]:
        """A component, then what stands in it once, and each of its layers once."""
        groups = list(by_repeat(members).items())
        total = sum(leaf.times * leaf.owned for leaf in members)
        below: list[Line] = []
        for repeats, group in groups:
            times = group[0].times
            if repeats == 1:
                below += self._inside(name, group, 1, None)
            if repeats == 1 or not times:
                continue
            single = sum(leaf.owned for leaf in group)
            label = self._label(name, repeats, group[0])
            below.append(Line(1, label, self._one(group).text, "", single, times * single))
            below += self._inside(name, group, 2, times)
        formula = self.formulas.sum_all_copies(leaf.symbolic for leaf in members)
        numbers = self._in_numbers(groups) if below else formula.in_numbers(self.sizes)
        return [Line(0, name, formula.text, numbers, total), *below]

    def _one(self, members: Iterable[Leaf]) -> Formula:
        return self.formulas.sum_one_copy(leaf.symbolic for leaf in members)

    def _label(self, name: str, repeats: Count, leaf: Leaf) -> str:
        of_layers = in_one(repeats).number == 1 and symbols_of(repeats) <= self.layers
        what = "one layer" if name in STACKS and of_layers else "one"
        used = f", used {leaf.term.passes:,} times" if leaf.term.passes != leaf.times else ""
        return f"{what} of {leaf.times:,}{used}"

    def _in_numbers(self, groups: list[tuple[Count, list[Leaf]]]) -> str:
        """``12·7,087,872`` where layers are repeated; else the lines below say it."""
        if all(repeats == 1 for repeats, _ in groups):
            return ""
        sums = [(group[0].times, repeats, sum(leaf.owned for leaf in group)) for repeats, group in groups]
        parts = [
            exact(size) if repeats == 1 else f"{times:,}·{exact(size)}" for times, repeats, size in sums if times * size
        ]
        return " + ".join(parts)

    def _inside(self, path: str, members: list[Leaf], depth: int, times: int | None) -> list[Line]:
        """The components right below ``path`` and what is its own, all of a single layer."""
        lines: list[Line] = []
        for level, group in by_level(members, path).items():
            if not level:
                lines += self._own(group, depth, times)
                continue
            inner = f"{path}.{level}"
            below = self._inside(inner, group, depth + 1, times)
            lines += [self._line(depth, level, group, times, numbers=not below), *below]
        return lines

    def _line(
        self, depth: int, name: str, group: Sequence[Leaf], times: int | None, *, numbers: bool, minor: bool = False
    ) -> Line:
        formula = self._one(group)
        count = sum(leaf.owned for leaf in group)
        text = formula.in_numbers(self.sizes) if numbers and count else ""
        return Line(
            depth, name, formula.text, text if text != formula.text else "", count, times and times * count, minor
        )

    def _own(self, members: list[Leaf], depth: int, times: int | None) -> list[Line]:
        """A component's tensors; one kind alone says no more than its component did."""
        if self.tensors:
            return [self._tensor(leaf, depth, times) for leaf in members]
        kinds = _grouped([leaf for leaf in members if not leaf.tied_to], self._kind)
        lines = [
            self._line(depth, kind, group, times, numbers=True, minor=True)
            for kind, group in kinds.items()
            if len(kinds) > 1
        ]
        tied = _grouped([leaf for leaf in members if leaf.tied_to], self._tie)
        return lines + [self._tied(depth, self._kind(group[0]), group[0], times) for tie, group in tied.items() if tie]

    def _kind(self, leaf: Leaf) -> str:
        """``weights``, ``biases`` or ``norm``: what is multiplied, added, or scaled and shifted."""
        if _NORM.search(leaf.module.rpartition(".")[2]):
            return "norm"
        return "biases" if len(leaf.shape) == 1 and leaf.name.endswith("bias") else "weights"

    def _tie(self, leaf: Leaf) -> str:
        """The other component that owns it; nothing is said of a tie inside a component."""
        source = self.by_name.get(leaf.tied_to or "")
        component = source.component if source else leaf.tied_to or ""
        return "" if component == leaf.component else component

    def _tied(self, depth: int, name: str, leaf: Leaf, times: int | None) -> Line:
        shared = f"{exact(leaf.term.size)} shared"
        return Line(depth, name, f"{TIED}{self._tie(leaf)}", shared, 0, times and 0, minor=True)

    def _tensor(self, leaf: Leaf, depth: int, times: int | None) -> Line:
        name = leaf.name.rpartition(".*.")[2]
        some = f" in {leaf.frozen} of {leaf.times}" if leaf.frozen < leaf.times else ""
        frozen = f", frozen{some}" if leaf.frozen else ""
        shape = f"({', '.join(map(str, leaf.shape))})"
        if leaf.tied_to:
            source = self._tie(leaf) or leaf.tied_to
            return Line(depth, name, f"{TIED}{source}", shape, 0, times and 0, minor=True, tensor=True)
        formula, count = self._one([leaf]).text, leaf.term.size
        return Line(depth, name, formula, f"{shape}{frozen}", count, times and times * count, minor=True, tensor=True)


def by_repeat(members: Iterable[Leaf]) -> dict[Count, list[Leaf]]:
    """The tensors by how often they are repeated, in order of appearance."""
    return _grouped(members, lambda leaf: leaf.repeats)


def _grouped(members: Iterable[Leaf], by: Callable[[Leaf], Count]) -> dict[Count, list[Leaf]]:
    groups: dict[Count, list[Leaf]] = {}
    for leaf in members:
        groups.setdefault(by(leaf), []).append(leaf)
    return groups
