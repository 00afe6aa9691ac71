"""Counts as polynomials of the config's sizes: a closed form worked out once, and asked of thousands of shapes.

What is decided while the blocks are made (``dims.known``) is decided as today's sizes have it: where another shape
would decide otherwise, its polynomial is off. So whoever shows a shape has it counted by the closed form itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import product
from math import lcm
from typing import TYPE_CHECKING, TypeAlias

from pytest_bertsize.closed_forms import flops
from pytest_bertsize.closed_forms.blocks import terms
from pytest_bertsize.config.symbols import Expression, Floor, symbol
from pytest_bertsize.inventory import TOTAL, TRAINABLE, is_within

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Count, Term
    from pytest_bertsize.closed_forms.family import ClosedForm
    from pytest_bertsize.config.dims import Dims
    from pytest_bertsize.config.symbols import Base, Monomial

Factors: TypeAlias = tuple[str, ...]
"""Of a product, in Python, in one order, each as often as it is there."""
Sum: TypeAlias = dict[Factors, int]
"""Products and how often each is there."""
Counts: TypeAlias = "Callable[..., list[int]]"
"""From sizes, in one order, to counts, in one order."""


def counts_of(form: ClosedForm, symbols: Sequence[str], components: Sequence[str]) -> Counts:
    """What components count to, as a function of the sizes by these symbols; the other sizes are as they are.

    :param components: names, ``"total"`` and ``"trainable"`` among them.
    """
    worked = _Worked(form.dims, symbols)
    found = [Counter[Factors]() for _ in components]
    for term in terms(form.architecture.blocks(worked.dims)):
        inside = [each for each, name in zip(found, components, strict=True) if _counts_for(term, name)]
        if inside and term.parameter.tied_to is None:
            own = worked.product((term.times, *term.parameter.shape))
            for each in inside:
                each.update(own)
    return worked.function(found)


def flops_of(form: ClosedForm, symbols: Sequence[str], seq_len: int) -> Counts | None:
    """FLOPs of a forward pass in the same way; ``None`` for a class without a closed form of them."""
    worked = _Worked(form.dims, symbols)
    rows = flops.products(form.architecture, worked.dims, seq_len=seq_len)
    if rows is None:
        return None
    found = Counter[Factors]()
    for _, *factors in rows:
        found.update(worked.product((2, *factors)))
    return worked.function([found])


def _counts_for(term: Term, component: str) -> bool:
    if component in {TOTAL, TRAINABLE}:
        return component == TOTAL or term.trainable
    return is_within(term.component, component)


class _Worked:
    """Works expressions out, with a name of our own for each size that is a symbol."""

    def __init__(self, dims: Dims, symbols: Sequence[str]) -> None:
        sizes = {name: symbol(name) if name in symbols else size for name, size in dims.sizes.items()}
        self.dims = replace(dims, sizes=sizes, numbers=dims.sizes)
        self._fixed = {name: size for name, size in dims.sizes.items() if name not in symbols and size is not None}
        self._names = {name: f"v{place}" for place, name in enumerate(symbols)}
        self._known: dict[Expression | Floor, Sum] = {}

    def product(self, factors: Iterable[Count]) -> Sum:
        found: Sum = {(): 1}
        for factor in factors:
            found = _times(found, self._sum(factor))
        return found

    def function(self, sums: Iterable[Sum]) -> Counts:
        """In Python: of names that are ours and of numbers, so that nothing which a file says is in it."""
        source = f"lambda {', '.join(self._names.values())}: [{', '.join(map(_written, sums))}]"
        found: Counts = eval(source, {"__builtins__": {}})  # noqa: S307
        return found

    def _sum(self, count: Count) -> Sum:
        if not isinstance(count, Expression):
            return {(): int(count)}
        if count not in self._known:
            self._known[count] = _added(self._monomial(each) for each in count.terms)
        return self._known[count]

    def _monomial(self, term: Monomial) -> Sum:
        """:raises ValueError: for what divides outside of a quotient that is rounded, which no closed form does."""
        if not term.is_whole:
            raise ValueError("a count that is a fraction")
        return self._power_product(int(term.number), term.powers)

    def _power_product(self, number: int, powers: Iterable[tuple[Base, int]]) -> Sum:
        found: Sum = {(): number}
        for base, exponent in powers:
            for _ in range(exponent):
                found = _times(found, self._base(base))
        return found

    def _base(self, base: Base) -> Sum:
        if isinstance(base, str):
            return {(self._names[base],): 1} if base in self._names else {(): self._fixed[base]}
        if isinstance(base, Expression):
            return self._sum(base)
        if base not in self._known:
            self._known[base] = {(self._quotient(base.quotient),): 1}
        return self._known[base]

    def _quotient(self, quotient: Expression) -> str:
        """Rounded down over one denominator: the floor of a sum is not the sum of floors."""
        below: Counter[Base] = Counter()
        for term in quotient.terms:
            below |= Counter({base: -exponent for base, exponent in term.powers})
        number = lcm(*(term.number.denominator for term in quotient.terms))
        above: list[Sum] = []
        for term in quotient.terms:
            left = Counter(below)
            left.update(dict(term.powers))
            above.append(self._power_product(int(term.number * number), left.items()))
        return f"(({_written(_added(above))})//({_written(self._power_product(number, below.items()))}))"


def _times(one: Sum, other: Sum) -> Sum:
    found = Counter[Factors]()
    for (factors, number), (more, times) in product(one.items(), other.items()):
        found[tuple(sorted((*factors, *more)))] += number * times
    return found


def _added(sums: Iterable[Sum]) -> Sum:
    found = Counter[Factors]()
    for each in sums:
        found.update(each)
    return found


def _written(sum_: Sum) -> str:
    return "+".join("*".join((str(number), *factors)) for factors, number in sum_.items()) or "0"
