"""Formulas as people write them: ``V·D``, as the tensors have it, squares first.

A formula is a sum of products in that order; text and LaTeX have a writer each.
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
    """A sum of products, and how it is written."""

    products: tuple[Product, ...]

    def __str__(self) -> str:
        return self.text

    @cached_property
    def text(self) -> str:
        """``L·(4·D² + 4·D)``: what a table cell can hold; ``0`` for what owns nothing."""
        return _Text().write_formula(self)

    @property
    def latex(self) -> str:
        r"""``L \cdot (4 \cdot D^{2} + 4 \cdot D)``."""
        return _Latex().write_formula(self)

    @property
    def symbols(self) -> set[str]:
        """The names of those that it has."""
        return {name for product in self.products for factor in product.factors for name in factor.symbols}

    def in_numbers(self, sizes: Mapping[str, int]) -> str:
        """Write sizes in place of their symbols: ``4·768² + 4·768``."""
        return _Text(sizes).write_formula(self)


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
        """Return a formula for every component at every level, and their sum for the total."""
        members: dict[str, list[Term]] = {}
        for term in terms:
            for level in levels(term.component):
                members.setdefault(level, []).append(term)
        found = {component: self.sum_all_copies(members[component]) for component in members}
        tops = (found[name] for name in parents_first(found) if "." not in name)
        return {**found, TOTAL: Formula(tuple(product for top in tops for product in top.products))}

    def sum_all_copies(self, terms: Iterable[Term]) -> Formula:
        """Sum all copies of some parameters, what is repeated kept as a factor: ``L·(4·D² + 4·D) + D``."""
        by_repeat: dict[Count, list[Term]] = {}
        for term in terms:
            by_repeat.setdefault(term.times, []).append(term)
        numbers: dict[tuple[Expression | Formula, ...], int] = {}
        for times, members in by_repeat.items():
            for product in self._repeated(times, members):
                numbers[product.factors] = numbers.get(product.factors, 0) + product.number
        return Formula(tuple(Product(number, factors) for factors, number in numbers.items() if number))

    def sum_one_copy(self, terms: Iterable[Term]) -> Formula:
        """Sum a single copy of some parameters: ``4·D² + 4·D``, like terms together."""
        numbers: dict[Monomial, int] = {}
        factors: dict[Monomial, tuple[Expression, ...]] = {}
        for term in terms:
            if term.tied_to is None:
                for each in self._terms(term.shape):
                    numbers[each.rest] = numbers.get(each.rest, 0) + each.number
                    factors.setdefault(each.rest, each.factors)
        rests = sorted((rest for rest, number in numbers.items() if number), key=_degree, reverse=True)
        return Formula(tuple(Product(numbers[rest], factors[rest]) for rest in rests))

    def _repeated(self, times: Count, members: Iterable[Term]) -> list[Product]:
        single = self.sum_one_copy(members)
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
    """Return the terms of a sum, each with its factors in the order of a shape: rows before columns."""
    place = {name: index for index, size in reversed(list(enumerate(shape))) for name in symbols_of(size)}
    return [_term(monomial, place) for monomial in terms_of(total)]


def _term(monomial: Monomial, place: Mapping[str, int]) -> _Term:
    """Take a monomial apart; a quotient stays whole."""
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


class _Text:
    """Writes formulas in Unicode, with sizes in place of their symbols where they are given."""

    times = "·"

    def __init__(self, sizes: Mapping[str, int] | None = None) -> None:
        self._sizes = sizes or {}

    def write_formula(self, formula: Formula) -> str:
        return self._write_sum((each.number, self._write_product(each)) for each in formula.products)

    def _write_sum(self, signed: Iterable[tuple[int | Fraction, str]]) -> str:
        """Write products with their signs between them."""
        written = ""
        for number, product in signed:
            sign = (" - " if written else "-") if number < 0 else " + " if written else ""
            written += sign + product
        return written or "0"

    def _write_product(self, product: Product) -> str:
        number = abs(product.number)
        factors = map(self._write_factor, product.factors)
        return self.times.join([*([str(number)] if number != 1 or not product.factors else []), *factors])

    def _write_factor(self, factor: Expression | Formula) -> str:
        if isinstance(factor, Formula):
            return f"({self.write_formula(factor)})"
        written = self._write_expression(factor)
        return f"({written})" if len(factor.terms) > 1 else written

    def _write_expression(self, expression: Expression) -> str:
        return self._write_sum((each.number, self._write_monomial(each)) for each in expression.terms)

    def _write_monomial(self, monomial: Monomial) -> str:
        """Write it without its sign."""
        above = [self._write_power(base, exponent) for base, exponent in monomial.powers if exponent > 0]
        below = [self._write_power(base, -exponent) for base, exponent in monomial.powers if exponent < 0]
        number, divisor = abs(monomial.number).as_integer_ratio()
        written = self.times.join(above if above and number == 1 else [str(number), *above])
        below = below if divisor == 1 else [str(divisor), *below]
        return self.write_fraction(written, below) if below else written

    def _write_power(self, base: Base, exponent: int) -> str:
        if isinstance(base, str):
            written = self.write_symbol(base)
        elif isinstance(base, Floor):
            written = self.write_floor(self._write_expression(base.quotient))
        else:
            written = f"({self._write_expression(base)})"
        return written if exponent == 1 else self.write_exponent(written, exponent)

    def write_symbol(self, name: str) -> str:
        return str(self._sizes.get(name, name))

    def write_floor(self, inside: str) -> str:
        return f"floor({inside})"

    def write_exponent(self, base: str, exponent: int) -> str:
        return base + str(exponent).translate(_SUPERSCRIPT)

    def write_fraction(self, above: str, below: Sequence[str]) -> str:
        return f"{above}/{below[0] if len(below) == 1 else f'({self.times.join(below)})'}"


class _Latex(_Text):
    times = r" \cdot "

    def write_symbol(self, name: str) -> str:
        """Write a symbol of several letters with a subscript, so that it is no product; another name is one word."""
        parts = _SUBSCRIPT.fullmatch(name)
        letter, below = (parts[1], parts[2] or parts[3]) if parts else (name, "")
        if below:
            return f"{letter}_{{{below if below.isdecimal() else self._write_upright(below)}}}"
        return letter if len(letter) == 1 else self._write_upright(letter)

    def write_floor(self, inside: str) -> str:
        return rf"\left\lfloor{{{inside}}}\right\rfloor"

    def write_exponent(self, base: str, exponent: int) -> str:
        return f"{base}^{{{exponent}}}"

    def write_fraction(self, above: str, below: Sequence[str]) -> str:
        return rf"\frac{{{above}}}{{{self.times.join(below)}}}"

    def _write_upright(self, name: str) -> str:
        return rf"\mathrm{{{re.sub(r'[^A-Za-z0-9]', ' ', name)}}}".replace(" ", r"\_")
