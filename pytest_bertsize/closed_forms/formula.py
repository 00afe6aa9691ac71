"""Formulas as people write them: ``V·D``, as the tensors have it, squares first.

A formula is a sum of products in that order; a writer for each of text and LaTeX has the signs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.symbols import (
    Expression,
    Floor,
    Monomial,
    expanded,
    in_one,
    multiplied,
    symbols_of,
    terms_of,
    with_even_quotients,
)
from pytest_bertsize.inventory import TOTAL, levels, parents_first

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Term
    from pytest_bertsize.closed_forms.symbols import Base, Count
    from pytest_bertsize.config.dims import Dims


@dataclass(frozen=True)
class Formula:
    """A sum: what it is of, and how it is written."""

    products: tuple[Product, ...]

    def __str__(self) -> str:
        return self.text

    @cached_property
    def text(self) -> str:
        """``L·(4·D² + 4·D)``: what a table cell can hold; ``0`` for what owns nothing."""
        return _formula(self, _Text())

    @property
    def latex(self) -> str:
        r"""``L \cdot (4 \cdot D^{2} + 4 \cdot D)``."""
        return _formula(self, _Latex())

    @property
    def symbols(self) -> set[str]:
        """The names of those that it has."""
        return {name for product in self.products for factor in product.factors for name in factor.symbols}

    def in_numbers(self, sizes: Mapping[str, int]) -> str:
        """With sizes in place of their symbols: ``4·768² + 4·768``."""
        return _formula(self, _Text(sizes))


@dataclass(frozen=True, slots=True)
class Product:
    """A summand."""

    number: int
    factors: tuple[Expression | Formula, ...]
    """In order; a formula among them stands in brackets."""


class Formulas:
    """Writes what the parameters of a closed form sum to."""

    def __init__(self, dims: Dims) -> None:
        """Write the formulas of one config.

        :param dims: a quotient that comes out even is written without its floor.
        """
        self._sizes = dims.sizes
        self._known: dict[tuple[Count, ...], list[_Term]] = {}

    def by_component(self, terms: Iterable[Term]) -> dict[str, Formula]:
        """For every component at every level, and their own in a row for the total."""
        members: dict[str, list[Term]] = {}
        for term in terms:
            for level in levels(term.component):
                members.setdefault(level, []).append(term)
        found = {component: self.all(members[component]) for component in members}
        tops = (found[name] for name in parents_first(found) if "." not in name)
        return {**found, TOTAL: Formula(tuple(product for top in tops for product in top.products))}

    def all(self, terms: Iterable[Term]) -> Formula:
        """All copies of some parameters, what is repeated kept as a factor: ``L·(4·D² + 4·D) + D``."""
        by_repeat: dict[Count, list[Term]] = {}
        for term in terms:
            by_repeat.setdefault(term.times, []).append(term)
        numbers: dict[tuple[Expression | Formula, ...], int] = {}
        for times, members in by_repeat.items():
            for product in self._repeated(times, members):
                numbers[product.factors] = numbers.get(product.factors, 0) + product.number
        return Formula(tuple(Product(number, factors) for factors, number in numbers.items() if number))

    def one(self, terms: Iterable[Term]) -> Formula:
        """A single copy of some parameters: ``4·D² + 4·D``, like terms together."""
        numbers: dict[Monomial, int] = {}
        factors: dict[Monomial, tuple[Expression, ...]] = {}
        for term in terms:
            if term.parameter.tied_to is None:
                for each in self._terms(term.parameter.shape):
                    numbers[each.rest] = numbers.get(each.rest, 0) + each.number
                    factors.setdefault(each.rest, each.factors)
        rests = sorted((rest for rest, number in numbers.items() if number), key=_degree, reverse=True)
        return Formula(tuple(Product(numbers[rest], factors[rest]) for rest in rests))

    def _repeated(self, times: Count, members: Iterable[Term]) -> list[Product]:
        single = self.one(members)
        repeats = self._even(times)
        if repeats == 0 or not single.products:
            return []
        if repeats == 1:
            return list(single.products)
        if len(single.products) == 1:
            (product,) = single.products
            shape = (repeats, *(each for each in product.factors if isinstance(each, Expression)))
            found = sorted(_split(multiplied(*shape), shape), key=lambda each: _degree(each.rest), reverse=True)
            return [Product(product.number * each.number, each.factors) for each in found]
        repeated = _term(in_one(repeats), {})
        return [Product(repeated.number, (*repeated.factors, single))]

    def _terms(self, shape: tuple[Count, ...]) -> list[_Term]:
        if shape not in self._known:
            self._known[shape] = _split(expanded(self._even(multiplied(*shape))), shape)
        return self._known[shape]

    def _even(self, count: Count) -> Count:
        return with_even_quotients(count, self._sizes)


@dataclass(frozen=True, slots=True)
class _Term:
    number: int
    rest: Monomial
    """What like terms have in common."""
    factors: tuple[Expression, ...]


def _split(total: Count, shape: Sequence[Count]) -> list[_Term]:
    """The terms of a sum, each with its factors in the order of a shape: rows before columns."""
    place = {name: index for index, size in reversed(list(enumerate(shape))) for name in symbols_of(size)}
    return [_term(monomial, place) for monomial in terms_of(total)]


def _term(monomial: Monomial, place: Mapping[str, int]) -> _Term:
    """A quotient stays whole."""
    number = monomial.number
    if not monomial.is_whole:
        rest = replace(monomial, number=abs(number))
        return _Term(1 if number > 0 else -1, rest, (Expression((rest,)),))
    factors = sorted(monomial.factors, key=lambda factor: min(place.get(each, -1) for each in factor.symbols))
    return _Term(int(number), replace(monomial, number=Fraction(1)), tuple(factors))


def _degree(monomial: Monomial) -> int:
    return sum(exponent for _, exponent in monomial.powers)


# how it is written

_SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_SUBSCRIPT = re.compile(r"([^\W\d_])(?:_(\w+)|([a-z0-9]{1,2}))")
"""``d_kv``, ``De``, ``P2``."""


def _formula(formula: Formula, writer: _Text) -> str:
    return _sum([(each.number, _product(each, writer)) for each in formula.products], writer)


def _sum(signed: Iterable[tuple[int | Fraction, str]], writer: _Text) -> str:
    """Products with their signs between them."""
    written = ""
    for number, product in signed:
        sign = (" - " if written else "-") if number < 0 else " + " if written else ""
        written += sign + product
    return written or writer.number(0)


def _product(product: Product, writer: _Text) -> str:
    number = abs(product.number)
    factors = [_factor(each, writer) for each in product.factors]
    return writer.times.join(factors if factors and number == 1 else [writer.number(number), *factors])


def _factor(factor: Expression | Formula, writer: _Text) -> str:
    if isinstance(factor, Formula):
        return writer.bracketed(_formula(factor, writer))
    written = _expression(factor, writer)
    return writer.bracketed(written) if len(factor.terms) > 1 else written


def _expression(expression: Expression, writer: _Text) -> str:
    return _sum([(each.number, _monomial(each, writer)) for each in expression.terms], writer)


def _monomial(monomial: Monomial, writer: _Text) -> str:
    """Without its sign."""
    above = [_power(base, exponent, writer) for base, exponent in monomial.powers if exponent > 0]
    below = [_power(base, -exponent, writer) for base, exponent in monomial.powers if exponent < 0]
    number, divisor = abs(monomial.number).as_integer_ratio()
    written = writer.times.join(above if above and number == 1 else [writer.number(number), *above])
    below = below if divisor == 1 else [writer.number(divisor), *below]
    return writer.fraction(written, below) if below else written


def _power(base: Base, exponent: int, writer: _Text) -> str:
    if isinstance(base, str):
        written = writer.symbol(base)
    elif isinstance(base, Floor):
        written = writer.floor(_expression(base.quotient, writer))
    else:
        written = writer.bracketed(_expression(base, writer))
    return written if exponent == 1 else writer.power(written, exponent)


class _Text:
    """Has the signs, and puts together what is written already."""

    times = "·"

    def __init__(self, sizes: Mapping[str, int] | None = None) -> None:
        self._sizes = sizes or {}

    def number(self, number: int) -> str:
        return str(number)

    def symbol(self, name: str) -> str:
        return str(self._sizes.get(name, name))

    def bracketed(self, inside: str) -> str:
        return f"({inside})"

    def floor(self, inside: str) -> str:
        return f"floor({inside})"

    def power(self, base: str, exponent: int) -> str:
        return base + str(exponent).translate(_SUPERSCRIPT)

    def fraction(self, above: str, below: Sequence[str]) -> str:
        return f"{above}/{below[0] if len(below) == 1 else self.bracketed(self.times.join(below))}"


class _Latex(_Text):
    times = r" \cdot "

    def symbol(self, name: str) -> str:
        """What is more than a letter stands upright: in italics it would read as a product."""
        letter, below = _letter_and_subscript(name)
        if below:
            return f"{letter}_{{{below if below.isdecimal() else self._upright(below)}}}"
        return letter if len(letter) == 1 else self._upright(letter)

    def floor(self, inside: str) -> str:
        return rf"\left\lfloor{{{inside}}}\right\rfloor"

    def power(self, base: str, exponent: int) -> str:
        return f"{base}^{{{exponent}}}"

    def fraction(self, above: str, below: Sequence[str]) -> str:
        return rf"\frac{{{above}}}{{{self.times.join(below)}}}"

    def _upright(self, name: str) -> str:
        return rf"\mathrm{{{re.sub(r'[^A-Za-z0-9]', ' ', name)}}}".replace(" ", r"\_")


def _letter_and_subscript(name: str) -> tuple[str, str]:
    """A symbol of several letters has a subscript, so that it is no product; another name is one word."""
    parts = _SUBSCRIPT.fullmatch(name)
    return (parts[1], parts[2] or parts[3]) if parts else (name, "")
