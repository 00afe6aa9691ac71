"""Formulas as people write them: factors in the order of a tensor's shape (``V·D``), and squares before other terms.

A formula is a sum of products in that order. Its LaTeX is its text with other signs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from pytest_bertsize.closed_forms.symbols import (
    ONE,
    Floor,
    Monomial,
    as_power,
    multiply,
    symbols_of,
    terms_of,
    with_even_quotients,
)
from pytest_bertsize.inventory import TOTAL, levels, parents_first

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Term
    from pytest_bertsize.closed_forms.symbols import Base, Count, Sum
    from pytest_bertsize.config.dims import Dims


class Formula(Struct, frozen=True, dict=True):
    """A sum of products, written as text or LaTeX."""

    products: tuple[Product, ...]

    def __str__(self) -> str:
        return self.text

    @cached_property
    def raw_text(self) -> str:
        """The text with ``⌊…⌋`` for a quotient that is rounded down."""
        return _join_signed((number, _multiply(abs(number), factors)) for number, factors in self.products)

    @property
    def text(self) -> str:
        """The text, such as ``L·(4·D² + 4·D)``; ``0`` for a component without parameters of its own."""
        return _spell_floors(self.raw_text)

    @property
    def latex(self) -> str:
        r"""The LaTeX, such as ``L \cdot (4 \cdot D^{2} + 4 \cdot D)``."""
        named = _SYMBOL.sub(_write_subscript, self.raw_text)
        powers = _POWER.sub(lambda power: f"^{{{power[0].translate(_FROM_SUPERSCRIPT)}}}", named)
        return powers.replace("·", r" \cdot ").replace("⌊", r"\left\lfloor{").replace("⌋", r"}\right\rfloor")

    @property
    def symbols(self) -> set[str]:
        """The names of the symbols in the formula."""
        return set(_SYMBOL.findall(self.raw_text))

    def in_numbers(self, sizes: Mapping[str, int]) -> str:
        """Write the formula with sizes in place of symbols: ``4·768² + 4·768``."""
        return _spell_floors(_SYMBOL.sub(lambda symbol: str(sizes.get(symbol[0], symbol[0])), self.raw_text))


class Product(NamedTuple):
    """A summand of a formula."""

    number: int
    factors: tuple[Sum | Formula, ...] = ()  # in order; a formula, or a sum of several terms, is written in brackets


class Formulas:
    """Makes formulas for the parameters of a closed form."""

    def __init__(self, dims: Dims) -> None:
        """:param dims: the sizes; a quotient of these sizes without a remainder is written without a floor."""
        self._sizes = dims.sizes
        self._known: dict[tuple[Sum, ...], list[tuple[Monomial, Product]]] = {}

    def by_component(self, terms: Iterable[Term]) -> dict[str, Formula]:
        """Return a formula for every component at every level, and one for the total."""
        members: dict[str, list[Term]] = {}
        for term in terms:
            for level in levels(term.component):
                members.setdefault(level, []).append(term)
        found = {component: self.sum_all_copies(members[component]) for component in members}
        tops = (found[name] for name in parents_first(found) if "." not in name)
        return {**found, TOTAL: Formula(tuple(product for top in tops for product in top.products))}

    def sum_all_copies(self, terms: Iterable[Term]) -> Formula:
        """Sum all copies of some terms, with the number of copies as a factor: ``L·(4·D² + 4·D) + D``."""
        by_repeat: dict[tuple[Sum, ...], list[Term]] = {}
        for term in terms:
            counts = [with_even_quotients(terms_of(each.times), self._sizes) for each in term.copies]
            bracketed = [each for each in counts if len(each) > 1]
            by_repeat.setdefault((multiply(*(each for each in counts if len(each) <= 1)), *bracketed), []).append(term)
        numbers: dict[tuple[Sum | Formula, ...], int] = {}
        for times, members in by_repeat.items():
            for number, factors in _repeat(times, self.sum_one_copy(members)):
                numbers[factors] = numbers.get(factors, 0) + number
        return Formula(tuple(Product(number, factors) for factors, number in numbers.items() if number))

    def sum_one_copy(self, terms: Iterable[Term]) -> Formula:
        """Sum a single copy of some terms, with like terms added up: ``4·D² + 4·D``."""
        numbers: dict[Monomial, int] = {}
        factors: dict[Monomial, tuple[Sum | Formula, ...]] = {}
        for term in terms:
            if term.tied_to is None:
                for rest, product in self._list_products(term.shape):
                    numbers[rest] = numbers.get(rest, 0) + product.number
                    factors.setdefault(rest, product.factors)
        rests = sorted((rest for rest, number in numbers.items() if number), key=_degree, reverse=True)
        return Formula(tuple(Product(numbers[rest], factors[rest]) for rest in rests))

    def _list_products(self, shape: Sequence[Count]) -> list[tuple[Monomial, Product]]:
        sizes = tuple(map(terms_of, shape))
        if sizes not in self._known:
            self._known[sizes] = _split(with_even_quotients(multiply(*sizes), self._sizes), sizes)
        return self._known[sizes]


def _repeat(times: tuple[Sum, ...], single: Formula) -> Iterable[Product]:
    """Return the products of a formula for one copy, multiplied by the number of copies."""
    whole, *sums = times
    if not whole or not single.products:
        return ()
    if times == (ONE,):
        return single.products
    outer, inner = _as_product(whole[0], {}), Product(1, (single,))
    if len(single.products) == 1:
        (inner,) = single.products
        plain = [each for each in inner.factors if isinstance(each, tuple)]
        if not sums or not plain:
            found = _split(multiply(whole, *sums, *plain), (whole, *plain))
            found.sort(key=lambda each: _degree(each[0]), reverse=True)
            return [each._replace(number=each.number * inner.number) for _, each in found]
    return [Product(outer.number * inner.number, (*outer.factors, *sums, *inner.factors))]


def _split(total: Sum, shape: Sequence[Sum]) -> list[tuple[Monomial, Product]]:
    """Return each term of a sum without its coefficient, and as a product with factors in the order of a shape."""
    place = {name: index for index, size in reversed(list(enumerate(shape))) for name in symbols_of(size)}
    signs = (Fraction(1) if each.is_whole else abs(each.number) for each in total)  # a quotient keeps its number
    return [(replace(each, number=sign), _as_product(each, place)) for each, sign in zip(total, signs, strict=True)]


def _as_product(monomial: Monomial, place: Mapping[str, int]) -> Product:
    """Split a monomial into factors; a monomial with a divisor stays one factor."""
    if not monomial.is_whole:
        return Product(1 if monomial.number > 0 else -1, ((replace(monomial, number=abs(monomial.number)),),))
    factors = sorted(
        (as_power(*power) for power in monomial.powers),
        key=lambda factor: min(place.get(each, -1) for each in symbols_of(factor)),
    )
    return Product(int(monomial.number), tuple(factors))


def _degree(monomial: Monomial) -> int:
    return sum(exponent for _, exponent in monomial.powers)


# the text

_SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_SUPERSCRIPT = str.maketrans("0123456789", _SUPERSCRIPTS)
_FROM_SUPERSCRIPT = str.maketrans(_SUPERSCRIPTS, "0123456789")
_POWER = re.compile(f"[{_SUPERSCRIPTS}]+")
_SYMBOL = re.compile(rf"[^\W\d{_SUPERSCRIPTS}](?:[^\W{_SUPERSCRIPTS}]|\.)*")
_SUBSCRIPT = re.compile(r"([^\W\d_])(?:_(\w+)|([a-z0-9]{1,2}))")  # a symbol with a subscript, such as d_kv, De or P2


def _join_signed(signed: Iterable[tuple[int | Fraction, str]]) -> str:
    """Write products with their signs between them."""
    written = ""
    for number, product in signed:
        sign = (" - " if written else "-") if number < 0 else " + " if written else ""
        written += sign + product
    return written or "0"


def _multiply(number: int, factors: Iterable[str | Sum | Formula]) -> str:
    written = [each if isinstance(each, str) else _write_factor(each) for each in factors]
    return "·".join(written if written and number == 1 else [str(number), *written])


def _write_factor(factor: Sum | Formula) -> str:
    """Write a factor, in brackets if it is a formula or a sum of several terms."""
    written = factor.raw_text if isinstance(factor, Formula) else _write_sum(factor)
    return f"({written})" if isinstance(factor, Formula) or len(factor) > 1 else written


def _write_sum(terms: Sum) -> str:
    return _join_signed((each.number, _write_monomial(each)) for each in terms)


def _write_monomial(monomial: Monomial) -> str:
    """Write a monomial without its sign."""
    number, divisor = abs(monomial.number).as_integer_ratio()
    above = _multiply(number, (_write_power(*power) for power in monomial.powers if power[1] > 0))
    below = [_write_power(base, -exponent) for base, exponent in monomial.powers if exponent < 0]
    below = below if divisor == 1 else [str(divisor), *below]
    return _divide(above, "·".join(below)) if below else above


def _divide(above: str, below: str) -> str:
    return f"{above}/({below})" if re.search("[· ]", below) else f"{above}/{below}"


def _write_power(base: Base, exponent: int) -> str:
    if isinstance(base, Floor):
        base = f"⌊{_divide(_write_factor(base.above), _write_sum(base.below))}⌋"
    written = base if isinstance(base, str) else f"({_write_sum(base)})"
    return written if exponent == 1 else written + str(exponent).translate(_SUPERSCRIPT)


def _spell_floors(written: str) -> str:
    return written.replace("⌊", "floor(").replace("⌋", ")")


def _write_subscript(symbol: re.Match[str]) -> str:
    """Write a symbol of several letters with a subscript, so that it does not read as a product."""
    parts = _SUBSCRIPT.fullmatch(symbol[0])
    return f"{parts[1]}_{{{_write_upright(parts[2] or parts[3])}}}" if parts else _write_upright(symbol[0])


def _write_upright(name: str) -> str:
    if len(name) == 1 or name.isdecimal():
        return name
    return r"\mathrm{" + re.sub("[^A-Za-z0-9]", r"\\_", name) + "}"
