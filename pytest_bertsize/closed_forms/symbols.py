"""Arithmetic with sizes that stay symbols: what blocks are called with while a formula is shown.

As far as closed forms go: sums, products, powers and quotients rounded down, of positive integers. A product of sums
stays one until it is multiplied out, and what comes to a whole number is an ``int`` again.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from pytest_bertsize.config.dims import Dims


@dataclass(frozen=True, slots=True)
class Floor:
    """A quotient, rounded down."""

    quotient: Expression

    @property
    def symbols(self) -> frozenset[str]:
        return self.quotient.symbols

    def at(self, sizes: Mapping[str, Any]) -> Fraction:
        return Fraction(math.floor(self.quotient.at(sizes)))


Base: TypeAlias = "str | Floor | Expression"
"""What a monomial has powers of: the name of a size, a rounded quotient, or a sum in brackets."""


@dataclass(frozen=True, slots=True)
class Monomial:
    """A summand, ``4·D²`` or ``D/2``."""

    number: Fraction
    powers: tuple[tuple[Base, int], ...]
    """Each base once, in one order; a negative exponent divides."""

    @property
    def is_whole(self) -> bool:
        """Return whether nothing is divided."""
        return self.number.denominator == 1 and all(exponent > 0 for _, exponent in self.powers)

    @property
    def factors(self) -> tuple[Expression, ...]:
        """Its powers, each by itself."""
        return tuple(_as_power(*power) for power in self.powers)


@dataclass(frozen=True, slots=True)
class Expression:
    """A sum of monomials, like terms together, in one order: equal sums are equal."""

    terms: tuple[Monomial, ...]

    def __add__(self, other: Count) -> Count:
        return _add_terms((*self.terms, *terms_of(other)))

    __radd__ = __add__

    def __neg__(self) -> Count:
        return self * -1

    def __sub__(self, other: Count) -> Count:
        return self + -1 * other

    def __rsub__(self, other: Count) -> Count:
        return -self + other

    def __mul__(self, other: Count) -> Count:
        return multiplied(self, other)

    __rmul__ = __mul__

    def __pow__(self, exponent: int) -> Count:
        return multiplied(*(self,) * exponent)

    def __floordiv__(self, other: Count) -> Count:
        return _round_down(_divide(self, other))

    def __rfloordiv__(self, other: Count) -> Count:
        return _round_down(_divide(other, self))

    def __mod__(self, other: Count) -> Count:
        return self - self // other * other

    def __rmod__(self, other: Count) -> Count:
        return other - other // self * self

    @property
    def symbols(self) -> frozenset[str]:
        """The names of the sizes in it."""
        bases = [base for term in self.terms for base, _ in term.powers]
        return frozenset().union(*({base} if isinstance(base, str) else base.symbols for base in bases))

    def at(self, sizes: Mapping[str, Any]) -> Fraction:
        """Return its value with these sizes."""
        return sum((_evaluate(term, sizes) for term in self.terms), Fraction())


Count: TypeAlias = int | Expression


def symbol(name: str) -> Expression:
    """A size, by its name."""
    return _as_power(name)


def terms_of(count: Count) -> tuple[Monomial, ...]:
    """The summands of a number or an expression; none of zero."""
    if isinstance(count, Expression):
        return count.terms
    return (Monomial(Fraction(count), ()),) if count else ()


def symbols_of(count: Count) -> frozenset[str]:
    """The names of the sizes in a number or an expression."""
    return count.symbols if isinstance(count, Expression) else frozenset()


def multiplied(*counts: Count) -> Count:
    """Multiply numbers and expressions; a number alone goes into a sum: ``2·(L - 1)`` is ``2·L - 2``."""
    return _add_terms([_multiply(map(in_one, counts))])


def in_one(count: Count) -> Monomial:
    """A number or an expression as one monomial: a sum stands in brackets."""
    if isinstance(count, int):
        return Monomial(Fraction(count), ())
    return count.terms[0] if len(count.terms) == 1 else Monomial(Fraction(1), ((count, 1),))


def expanded(count: Count) -> Count:
    """Multiplied out: ``(L - 1)·D`` → ``L·D - D``. What is below a line stays together."""
    return _add_terms(each for term in terms_of(count) for each in _expand(term))


def over_one_line(terms: Iterable[Monomial]) -> tuple[list[tuple[int, dict[Base, int]]], tuple[int, dict[Base, int]]]:
    """A sum of fractions as one: the products above the line, and the one below it, whole numbers all of them."""
    terms = list(terms)
    divisor = math.lcm(*(term.number.denominator for term in terms))
    below: dict[Base, int] = {}
    for term in terms:
        for base, exponent in term.powers:
            below[base] = max(below.get(base, 0), -exponent)
    above = [
        (int(term.number * divisor), {**below, **{base: exponent + below[base] for base, exponent in term.powers}})
        for term in terms
    ]
    return above, (divisor, below)


def symbolic(dims: Dims) -> Dims:
    """Return the same switches, with a symbol for every size that is there."""
    sizes = {name: None if size is None else symbol(name) for name, size in dims.sizes.items()}
    return replace(dims, sizes=sizes, numbers=dims.sizes)


def with_even_quotients(count: Count, sizes: Mapping[str, Any]) -> Count:
    """Leave the floor of a quotient out that comes out even: ``A·floor(D/A)`` → ``D`` where A divides D."""

    def simplify(base: Base) -> Count:
        if isinstance(base, str):
            return symbol(base)
        if isinstance(base, Expression):
            return with_even_quotients(base, sizes)
        quotient = with_even_quotients(base.quotient, sizes)
        is_even = isinstance(quotient, int) or quotient.at(sizes).denominator == 1
        return quotient if is_even else _round_down(quotient)

    return _add_terms(
        _multiply([Monomial(term.number, ()), *(_raise_to(simplify(base), exponent) for base, exponent in term.powers)])
        for term in terms_of(count)
    )


def _add_terms(terms: Iterable[Monomial]) -> Count:
    numbers: dict[tuple[tuple[Base, int], ...], Fraction] = {}
    for term in terms:
        for each in _without_brackets(term):
            numbers[each.powers] = numbers.get(each.powers, Fraction()) + each.number
    found = [Monomial(number, powers) for powers, number in numbers.items() if number]
    if all(term.is_whole and not term.powers for term in found):
        return sum(int(term.number) for term in found)
    return Expression(tuple(sorted(found, key=_sort_key)))


def _as_power(base: Base, exponent: int = 1) -> Expression:
    if isinstance(base, Expression) and exponent == 1:
        return base
    return Expression((Monomial(Fraction(1), ((base, exponent),)),))


def _without_brackets(term: Monomial) -> tuple[Monomial, ...]:
    """A sum that nothing but a number stands before is its summands."""
    match term.powers:
        case ((Expression() as inner, 1),):
            return tuple(Monomial(term.number * each.number, each.powers) for each in inner.terms)
    return (term,)


def _multiply(factors: Iterable[Monomial]) -> Monomial:
    number, powers = Fraction(1), Counter[Base]()
    for factor in factors:
        number *= factor.number
        for base, exponent in factor.powers:
            powers[base] += exponent
    return Monomial(number, tuple(sorted((power for power in powers.items() if power[1]), key=_sort_key_of_power)))


def _raise_to(count: Count, exponent: int) -> Monomial:
    one = in_one(count)
    return Monomial(one.number**exponent, tuple((base, each * exponent) for base, each in one.powers))


def _divide(count: Count, divisor: Count) -> Count:
    return _add_terms([_multiply((in_one(count), _raise_to(divisor, -1)))])


def _expand(term: Monomial) -> list[Monomial]:
    found = [Monomial(term.number, ())]
    for base, exponent in term.powers:
        if isinstance(base, Expression) and exponent > 0:
            for _ in range(exponent):
                found = [_multiply((each, other)) for each in found for other in terms_of(expanded(base))]
        else:
            found = [_multiply((each, Monomial(Fraction(1), ((base, exponent),)))) for each in found]
    return found


def _round_down(quotient: Count) -> Count:
    """Round a quotient down; what is whole stands before the floor: ``floor(D/2 + 1)`` → ``floor(D/2) + 1``."""
    terms = terms_of(expanded(quotient))
    whole = [term for term in terms if term.is_whole]
    broken = _add_terms(term for term in terms if not term.is_whole)
    if isinstance(broken, int):
        return quotient
    rounded: Count = math.floor(broken.at({})) if not broken.symbols else _as_power(Floor(broken))
    return _add_terms((*whole, *terms_of(rounded)))


def _evaluate(term: Monomial, sizes: Mapping[str, Any]) -> Fraction:
    values = (Fraction(sizes[base]) if isinstance(base, str) else base.at(sizes) for base, _ in term.powers)
    powers = (value**exponent for value, (_, exponent) in zip(values, term.powers, strict=True))
    return math.prod(powers, start=term.number)


# one order


_LAST = ((3,),)


def _sort_key(term: Monomial) -> tuple[Any, ...]:
    """Order by the alphabet, higher powers first, and a number last: ``D² + D·E + D + E + 1``."""
    return (*(_sort_key_of_power(power) for power in term.powers), _LAST)


def _sort_key_of_power(power: tuple[Base, int]) -> tuple[Any, ...]:
    """Sizes by the alphabet, then rounded quotients, then sums."""
    base, exponent = power
    if isinstance(base, str):
        return (0, base), -exponent
    terms = base.quotient.terms if isinstance(base, Floor) else base.terms
    return (1 if isinstance(base, Floor) else 2, tuple((_sort_key(term), term.number) for term in terms)), -exponent
