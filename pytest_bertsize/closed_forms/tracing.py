"""A function of sizes, followed along every way that it can take: what it comes to, and on which conditions.

It is called with symbols that note what is asked of them. Where it asks which of two sizes is larger, it is called
twice, once for either answer; where it asks for the number itself, nothing holds for other numbers, and that is said.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, NoReturn, TypeAlias, TypeVar

from pytest_bertsize.closed_forms.symbols import Count, Expression, symbol, symbols_of, terms_of

T = TypeVar("T")
MOST_WAYS = 64
"""Ends of one function; the families' own have a dozen at most."""


class NeedsNumber(Exception):
    """A function asks for a size itself, so that its result holds for that one alone."""

    def __init__(self, symbols: Iterable[str]) -> None:
        super().__init__()
        self.symbols = frozenset(symbols)


@dataclass(frozen=True, slots=True)
class End(Generic[T]):
    """The result of one way."""

    value: T


@dataclass(frozen=True, slots=True)
class Branch(Generic[T]):
    """Two ways: the first where a sum is zero, or else where it is more than zero."""

    count: Expression
    is_zero: bool
    then: Ways[T]
    otherwise: Ways[T]

    def choose(self, sizes: Mapping[str, int]) -> Ways[T]:
        value = self.count.at(sizes)
        return self.then if (value == 0 if self.is_zero else value > 0) else self.otherwise


Ways: TypeAlias = Branch[T] | End[T]


def end_at(ways: Ways[T], sizes: Mapping[str, int]) -> T:
    """Return what it comes to with these sizes."""
    while isinstance(ways, Branch):
        ways = ways.choose(sizes)
    return ways.value


def list_ends(ways: Ways[T]) -> list[T]:
    return [*list_ends(ways.then), *list_ends(ways.otherwise)] if isinstance(ways, Branch) else [ways.value]


def symbols_asked(ways: Ways[Any]) -> frozenset[str]:
    """Return the symbols that decide on the way."""
    if not isinstance(ways, Branch):
        return frozenset()
    return ways.count.symbols | symbols_asked(ways.then) | symbols_asked(ways.otherwise)


def follow_every_way(function: Callable[[Mapping[str, Any]], T], symbols: Iterable[str]) -> Ways[T]:
    """Return all that a function of some sizes can come to.

    :param function: is called with a symbol for each; what it returns may hold such ones, see :func:`untraced`.
    :raises NeedsNumber: where it asks for the number itself, or goes more ways than anybody would read.
    """
    names = tuple(symbols)
    met: list[frozenset[str]] = []

    def follow(answers: tuple[bool, ...]) -> Ways[T]:
        if len(met) >= MOST_WAYS:
            raise NeedsNumber(met[-1])
        trail = _Trail(answers)
        found: Ways[T] = End(function({name: Traced(symbol(name), trail) for name in names}))
        asked = list(trail.answered.items())
        met.append(asked[-1][0][0].symbols if asked else frozenset())
        for at in reversed(range(len(answers), len(asked))):
            other = tuple(answer for _, answer in asked[:at])
            found = Branch(*asked[at][0], found, follow((*other, False)))
        return found

    return follow(())


def untraced(count: Any) -> Count:
    """Return a count without its trail: a number or an expression."""
    return count.count if isinstance(count, Traced) else count


@dataclass(slots=True)
class _Trail:
    """The questions of one way, and their answers: those given, and then yes."""

    given: tuple[bool, ...]
    answered: dict[tuple[Expression, bool], bool] = field(default_factory=dict)

    def decide(self, count: Count, *, is_zero: bool) -> bool:
        """Decide whether a count is zero, or else whether it is positive.

        The opposite of a sum is asked as the sum: ``A - D > 0`` is that ``D - A + 1 > 0`` is not so.
        """
        if isinstance(count, int):
            return count == 0 if is_zero else count > 0
        opposite = -count if is_zero else 1 - count
        is_opposite = terms_of(count)[0].number < 0 and isinstance(opposite, Expression)
        question = opposite if is_opposite else count, is_zero
        at = len(self.answered)
        answer = self.answered.setdefault(question, self.given[at] if at < len(self.given) else True)  # type: ignore[arg-type]
        return answer != (is_opposite and not is_zero)


def _calculate(operate: Callable[[Any, Any], Any], *, swapped: bool = False) -> Callable[[Traced, Any], Any]:
    def calculate(self: Traced, other: Any) -> Any:
        one, two = (self.other(other), self.count) if swapped else (self.count, self.other(other))
        found = operate(one, two)
        return found if isinstance(found, int) else Traced(found, self.trail)

    return calculate


class Traced:
    """A size, or what was made of sizes: arithmetic gives another one, and every comparison is noted."""

    __slots__ = ("count", "trail")

    def __init__(self, count: Expression, trail: _Trail) -> None:
        self.count = count
        self.trail = trail

    def other(self, other: object) -> Count:
        """Return the other side of an operator."""
        found = untraced(other)
        return found if isinstance(found, int | Expression) else self._needed()

    __add__ = __radd__ = _calculate(operator.add)
    __mul__ = __rmul__ = _calculate(operator.mul)
    __sub__, __rsub__ = _calculate(operator.sub), _calculate(operator.sub, swapped=True)
    __floordiv__, __rfloordiv__ = _calculate(operator.floordiv), _calculate(operator.floordiv, swapped=True)
    __mod__, __rmod__ = _calculate(operator.mod), _calculate(operator.mod, swapped=True)

    def __neg__(self) -> Any:
        return self * -1

    def __pow__(self, exponent: int) -> Any:
        if not isinstance(exponent, int) or exponent < 0:
            self._needed()
        return _calculate(operator.pow)(self, exponent)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, int | float | Expression | Traced):
            return False
        return self.trail.decide(self.count - self.other(other), is_zero=True)

    def __lt__(self, other: Any) -> bool:
        return self.trail.decide(self.other(other) - self.count, is_zero=False)

    def __gt__(self, other: Any) -> bool:
        return self.trail.decide(self.count - self.other(other), is_zero=False)

    def __le__(self, other: Any) -> bool:
        return not self > other

    def __ge__(self, other: Any) -> bool:
        return not self < other

    def __bool__(self) -> bool:
        return not self.trail.decide(self.count, is_zero=True)

    def _needed(self, *_: object) -> NoReturn:
        raise NeedsNumber(symbols_of(self.count))

    __int__ = __index__ = __float__ = __complex__ = __round__ = __trunc__ = __floor__ = __ceil__ = _needed
    __str__ = __repr__ = __format__ = __abs__ = __pos__ = __invert__ = _needed
    __truediv__ = __rtruediv__ = __divmod__ = __rdivmod__ = __rpow__ = __reduce_ex__ = _needed
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _needed
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = at = _needed
    __hash__ = _needed  # of two that are equal, a set would not ask
    """What no formula can follow."""
