"""The lines of an explanation under the names of another vocabulary: what ``model.summary()`` or a checkpoint lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.formula import Formulas
from pytest_bertsize.commands.explain.leaves import Leaf, leaves
from pytest_bertsize.commands.explain.tree import TIED, Line, by_level, by_repeat
from pytest_bertsize.commands.explain.vocabularies import (
    BERT4KERAS,
    in_bert4keras,
    in_tensorflow,
    in_transformers,
    transposed,
)
from pytest_bertsize.inventory import TOTAL, parents_first
from pytest_bertsize.wording import exact

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.family import ClosedForm
    from pytest_bertsize.closed_forms.formula import Formula

_ORDER = {name: index for index, name in enumerate(dict.fromkeys(BERT4KERAS.values()))}


def named(form: ClosedForm, vocabulary: str) -> list[Line]:
    """A line for every layer or tensor, each component's sum under its lines, and the total."""
    found = leaves(form)
    naming = _Naming(form, Formulas(form.dims), {leaf.name: leaf for leaf in found}, vocabulary)
    tops = by_level(found, "")
    lines = [line for name in parents_first(tops) for line in naming.component(name, tops[name])]
    if vocabulary == "bert4keras":
        lines.append(Line(0, "dropout and add layers", count=0, minor=True))
    return [*lines, Line(0, TOTAL, count=form.total)]


@dataclass(frozen=True, slots=True)
class _Naming:
    form: ClosedForm
    formulas: Formulas
    by_name: dict[str, Leaf]
    vocabulary: str

    def component(self, name: str, members: list[Leaf]) -> list[Line]:
        lines: list[Line] = []
        sums: list[str] = []
        for repeats, group in by_repeat(members).items():
            times, single = group[0].times, sum(leaf.owned for leaf in group)
            shown = self._lines(group, None if repeats == 1 else times)
            lines += shown
            if repeats != 1:
                one = "one Transformer" if self.vocabulary == "bert4keras" else "one layer"
                lines.append(Line(0, f"{one} of {times:,}", self._one(group).text, "", single, times * single))
            sums += [exact(single) if repeats == 1 else f"{times:,}·{exact(single)}"]
        if len(lines) == 1:
            return lines
        total = sum(leaf.times * leaf.owned for leaf in members)
        numbers = " + ".join(sums) if any("·" in each for each in sums) else ""
        return [
            *lines,
            Line(0, name, self.formulas.sum_all_copies(leaf.symbolic for leaf in members).text, numbers, total),
        ]

    def _one(self, members: Sequence[Leaf]) -> Formula:
        return self.formulas.sum_one_copy(leaf.symbolic for leaf in members)

    def _lines(self, members: list[Leaf], times: int | None) -> list[Line]:
        groups: dict[str, list[Leaf]] = {}
        for leaf in members:
            groups.setdefault(self._name(leaf), []).append(leaf)
        return [self._line(name, groups[name], times) for name in sorted(groups, key=self._place)]

    def _place(self, name: str) -> int:
        """In the order of the vocabulary's own listing; what it does not have comes last."""
        return _ORDER.get(name, len(_ORDER)) if self.vocabulary == "bert4keras" else 0

    def _name(self, leaf: Leaf) -> str:
        architecture = self.form.architecture
        known = {"bert4keras": in_bert4keras, "tensorflow": in_tensorflow}.get(self.vocabulary)
        held = leaf.name.removeprefix(f"{architecture.added.get('backbone', '')}.")
        if found := known and known(held, architecture.name):
            return found
        if self.vocabulary == "bert4keras" and held == leaf.name and architecture.added:
            return leaf.module  # a layer of the class itself
        return in_transformers(leaf.name)

    def _line(self, name: str, group: Sequence[Leaf], times: int | None) -> Line:
        if all(leaf.tied_to for leaf in group):
            source = group[0].tied_to or ""
            owner = self._name(self.by_name[source]) if source in self.by_name else source
            return Line(1, name, f"{TIED}{owner}", self._shape(name, group[0]), 0, times and 0, minor=True, tensor=True)
        formula, count = self._one(group), sum(leaf.owned for leaf in group)
        numbers, tensor = self._numbers(name, group, formula), self.vocabulary != "bert4keras"
        return Line(1, name, formula.text, numbers, count, times and times * count, tensor=tensor)

    def _numbers(self, name: str, group: Sequence[Leaf], formula: Formula) -> str:
        """A tensor's shape; of a layer of several modules, what each of them has."""
        if self.vocabulary != "bert4keras":
            return self._shape(name, group[0])
        modules: dict[str, int] = {}
        for leaf in group:
            modules[leaf.module] = modules.get(leaf.module, 0) + leaf.owned
        counts = list(modules.values())
        if len(counts) == 1:
            return formula.in_numbers(self.form.dims.sizes)
        if len(set(counts)) == 1:
            return f"{len(counts)}·{exact(counts[0])}"
        return " + ".join(map(exact, counts))

    def _shape(self, name: str, leaf: Leaf) -> str:
        shape = leaf.shape[::-1] if self.vocabulary == "tensorflow" and transposed(name) else leaf.shape
        return f"({', '.join(map(str, shape))})"
