"""Arithmetic with sizes that stay symbols, to write a closed form as a formula or to count it for all sizes at once.

It has the operations of closed forms: sums, products, powers and quotients rounded down, of integers. Every product is
expanded, and a result without symbols is an ``int`` again. An :data:`Oracle` answers questions such as ``E != D``.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

if TYPE_CHECKING:
    from pytest_bertsize.config.dims import Dims


class Floor(Struct, frozen=True):
    """A quotient, rounded down."""

    above: Sum
    below: Sum


class Monomial(Struct, frozen=True):
    """A summand of a sum, such as ``4·D²`` or ``D/2``."""

    number: Fraction
    powers: tuple[tuple[Base, int], ...] = ()  # bases with their exponents, in a fixed order; negative: a divisor

    @property
    def is_whole(self) -> bool:
        """Return whether the summand has no divisor."""
        return self.number.denominator == 1 and all(exponent > 0 for _, exponent in self.powers)


Sum: TypeAlias = tuple[Monomial, ...]  # without like terms, in a fixed order, so that equal sums compare equal
Count: TypeAlias = "int | Expression"
ONE: Sum = (Monomial(Fraction(1)),)
Base: TypeAlias = "str | Floor | Sum"  # the base of a power: the name of a size, a rounded quotient, or a sum


def terms_of(count: Count) -> Sum:
    """Return the summands of a number or an expression."""
    if isinstance(count, Expression):
        return count.terms
    return (Monomial(Fraction(count)),) if count else ()


def symbols_of(terms: Sum) -> frozenset[str]:
    """Return the names of the sizes in a sum."""
    found: set[str] = set()
    for base in (base for term in terms for base, _ in term.powers):
        inner = (base.above, base.below) if isinstance(base, Floor) else (base,)
        found = found.union(*({each} if isinstance(each, str) else symbols_of(each) for each in inner))
    return frozenset(found)


def evaluate(terms: Sum, sizes: Mapping[str, Any]) -> Fraction:
    """Return the value of a sum with these sizes."""

    def value_of(base: Base) -> Fraction:
        if isinstance(base, Floor):
            return Fraction(evaluate(base.above, sizes) // evaluate(base.below, sizes))
        return Fraction(sizes[base]) if isinstance(base, str) else evaluate(base, sizes)

    products = (math.prod((value_of(base) ** n for base, n in term.powers), start=term.number) for term in terms)
    return sum(products, Fraction())


# sums


def add(terms: Iterable[Monomial]) -> Sum:
    """Add up terms; like terms become one."""
    numbers: dict[tuple[tuple[Base, int], ...], Fraction] = {}
    for term in terms:
        numbers[term.powers] = numbers.get(term.powers, Fraction()) + term.number
    return tuple(sorted((Monomial(number, powers) for powers, number in numbers.items() if number), key=_sort_key))


def subtract(one: Sum, other: Sum) -> Sum:
    return add((*one, *(replace(term, number=-term.number) for term in other)))


def multiply(*sums: Sum) -> Sum:
    found = ONE
    for each in sums:
        found = add(_multiply_terms(one, other) for one in found for other in each)
    return found


def divide(one: Sum, other: Sum) -> Sum:
    """Divide, and round down."""
    if not other:
        raise ZeroDivisionError
    exact = multiply(one, raise_to(other, -1))
    if all(term.is_whole for term in exact):
        return exact
    return as_power(Floor(one, other)) if symbols_of(exact) else terms_of(math.floor(evaluate(exact, {})))


def raise_to(terms: Sum, exponent: int) -> Sum:
    """Raise a sum to a power; a negative power of several terms is not expanded."""
    if exponent > 0:
        return multiply(*[terms] * exponent)
    if len(terms) > 1:
        return as_power(terms, exponent)
    ((number, powers),) = ((term.number, term.powers) for term in terms)
    return (Monomial(number**exponent, tuple((base, each * exponent) for base, each in powers)),)


def as_power(base: Base, exponent: int = 1) -> Sum:
    """Return ``base`` to the power ``exponent``, as a sum."""
    return (Monomial(Fraction(1), ((base, exponent),)),)


def with_even_quotients(terms: Sum, sizes: Mapping[str, Any]) -> Sum:
    """Drop the floor of an exact quotient: ``A·floor(D/A)`` → ``D`` if A divides D."""

    def simplify(base: Base) -> Sum:
        if not isinstance(base, Floor):
            return as_power(base)
        above, below = (with_even_quotients(each, sizes) for each in (base.above, base.below))
        is_even = evaluate(above, sizes) % evaluate(below, sizes) == 0
        return multiply(above, raise_to(below, -1)) if is_even else as_power(Floor(above, below))

    return add(
        found
        for term in terms
        for found in multiply((Monomial(term.number),), *(raise_to(simplify(base), n) for base, n in term.powers))
    )


def _multiply_terms(one: Monomial, other: Monomial) -> Monomial:
    powers = Counter(dict(one.powers))
    for base, exponent in other.powers:
        powers[base] += exponent
    kept = (each for each in powers.items() if each[1])
    return Monomial(one.number * other.number, tuple(sorted(kept, key=_sort_key_of_power)))


def _sort_key(term: Monomial) -> tuple[Any, ...]:
    """Order by the alphabet, higher powers first, and a number last: ``D² + D·E + D + E + 1``."""
    return (*(_sort_key_of_power(power) for power in term.powers), ((3,),))


def _sort_key_of_power(power: tuple[Base, int]) -> tuple[Any, ...]:
    """Order sizes by the alphabet, then rounded quotients, then sums."""
    base, exponent = power
    if isinstance(base, str):
        return (0, base), -exponent
    sums = (base.above, base.below) if isinstance(base, Floor) else (base,)
    terms = tuple((_sort_key(term), term.number) for each in sums for term in each)
    return (1 if isinstance(base, Floor) else 2, terms), -exponent


# expressions


Oracle: TypeAlias = Any  # an object that answers the questions of a closed form about its sizes, such as Numbers


class Numbers(Struct, frozen=True):
    """Answers the questions of a closed form with the numbers of its sizes."""

    sizes: Mapping[str, Any]

    def decide(self, count: Sum, *, is_zero: bool) -> bool:
        """Return whether ``count`` is zero if ``is_zero`` is set, else whether it is more than zero."""
        number = evaluate(count, self.sizes)
        return number == 0 if is_zero else number > 0

    def number(self, count: Sum) -> int:
        return int(evaluate(count, self.sizes))


def _calculate(operate: Callable[[Sum, Sum], Sum], *, swapped: bool = False) -> Callable[[Expression, Any], Any]:
    def calculate(self: Expression, other: Any) -> Any:
        if not isinstance(other, int | Expression):
            return NotImplemented
        one, two = self.terms, terms_of(other)
        found = operate(two, one) if swapped else operate(one, two)
        if all(term.is_whole and not term.powers for term in found):
            return sum(int(term.number) for term in found)
        return Expression(found, self.oracle)

    return calculate


def _compare(difference: Callable[[Any, Any], Any], *, is_zero: bool = False) -> Callable[[Expression, Any], Any]:
    def compare(self: Expression, other: Any) -> Any:
        if not isinstance(other, int | Expression):
            return NotImplemented
        found = difference(self, other)
        if isinstance(found, int):
            return found == 0 if is_zero else found > 0
        return self.oracle.decide(found.terms, is_zero=is_zero)

    return compare


class Expression:
    """A size, or a result of arithmetic with sizes."""

    __slots__ = ("oracle", "terms")

    def __init__(self, terms: Sum, oracle: Oracle) -> None:
        self.terms, self.oracle = terms, oracle

    __add__ = __radd__ = _calculate(lambda one, other: add((*one, *other)))
    __sub__, __rsub__ = (_calculate(subtract, swapped=each) for each in (False, True))
    __mul__ = __rmul__ = _calculate(multiply)
    __floordiv__, __rfloordiv__ = (_calculate(divide, swapped=each) for each in (False, True))
    __mod__, __rmod__ = (
        _calculate(lambda one, other: subtract(one, multiply(divide(one, other), other)), swapped=each)
        for each in (False, True)
    )

    def __neg__(self) -> Any:
        return self * -1

    def __pow__(self, exponent: int) -> Any:
        return math.prod([self] * operator.index(exponent))

    __eq__ = _compare(operator.sub, is_zero=True)
    __gt__ = _compare(operator.sub)
    __lt__ = _compare(lambda one, other: other - one)

    def __le__(self, other: Any) -> bool:
        return not self > other

    def __ge__(self, other: Any) -> bool:
        return not self < other

    def __bool__(self) -> bool:
        return self != 0

    def __index__(self) -> int:
        return int(self.oracle.number(self.terms))

    def __hash__(self) -> int:
        return hash(int(self))

    def __format__(self, form: str) -> str:
        return format(int(self), form)


def symbolic(dims: Dims) -> Dims:
    """Return the dimensions of a model with a symbol for every size that has a value."""
    numbers = Numbers(dims.sizes)
    sizes = {name: None if size is None else symbol(name, numbers) for name, size in dims.sizes.items()}
    return replace(dims, sizes=sizes, is_symbolic=True)


def symbol(name: str, oracle: Oracle) -> Expression:
    """Return a size as a symbol, by its name."""
    return Expression(as_power(name), oracle)
