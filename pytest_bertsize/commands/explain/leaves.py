"""Every tensor of a closed form twice over: its integers and the symbols behind them, repeats left folded."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.symbols import symbolic
from pytest_bertsize.inventory import pattern

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Count, Term
    from pytest_bertsize.closed_forms.family import ClosedForm


@dataclass(frozen=True, slots=True)
class Leaf:
    """One tensor of one layer; alike in all layers."""

    term: Term
    symbolic: Term
    """The same with expressions."""
    frozen: int
    """In how many layers it does not train."""

    @property
    def name(self) -> str:
        """With ``*`` for the index of a layer."""
        return self.term.name

    @property
    def component(self) -> str:
        return self.term.component

    @property
    def shape(self) -> tuple[int, ...]:
        return self.term.parameter.shape

    @property
    def times(self) -> int:
        """In how many layers it stands."""
        return int(self.term.times)

    @property
    def repeats(self) -> Count:
        """The expression of :attr:`times`; 1 where nothing repeats it."""
        return self.symbolic.times

    @property
    def tied_to(self) -> str | None:
        """Name of the tensor whose storage it shares, with ``*`` for indices."""
        source = self.term.parameter.tied_to
        return source and pattern(source)

    @property
    def owned(self) -> int:
        return 0 if self.tied_to else int(self.term.size)

    @property
    def module(self) -> str:
        return self.name.rpartition(".")[0]


def leaves(form: ClosedForm) -> list[Leaf]:
    """The tensors of a closed form in the order of its blocks; runs of layers that train apart are one."""
    waiting: dict[str, deque[Term]] = {}
    for term in form.terms:
        waiting.setdefault(term.name, deque()).append(term)
    found, number = [], symbolic(form.dims).number
    for written in form.symbolic:
        here, times = waiting[written.name], number(written.times)
        runs = [here.popleft()]
        while sum(run.times for run in runs) < times:
            runs.append(here.popleft())
        passes, frozen = sum(run.passes for run in runs), sum(run.times for run in runs if not run.trainable)
        found.append(Leaf(runs[0]._replace(times=times, passes=passes), written, frozen))
    return found
