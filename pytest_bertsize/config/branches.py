"""A function of sizes, followed along every way that it can take: what it comes to, and on which conditions.

It is called with symbols that note what is asked of them. Where it asks which of two sizes is larger, it is called
twice, once for either answer; where it asks for the number itself, nothing holds for other numbers, and that is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeAlias, TypeVar

from pytest_bertsize.config.symbols import Expression, symbol, symbols_of, terms_of

if TYPE_CHECKING:
    from pytest_bertsize.config.symbols import Count

T = TypeVar("T")
MOST_WAYS = 64
"""Ends of one function; the families' own have a dozen at most."""


class NeedsNumber(Exception):
    """A function asks for a size itself, so that its result holds for that one alone."""

    def __init__(self, symbols: Iterable[str]) -> None:
        super().__init__()
        self.symbols = frozenset(symbols)


@dataclass(frozen=True, slots=True)
class Condition:
    """That a sum is zero, or else that it is more than zero."""

    count: Expression
    is_zero: bool

    def holds(self, sizes: Mapping[str, int]) -> bool:
        value = self.count.at(sizes)
        return value == 0 if self.is_zero else value > 0


@dataclass(frozen=True, slots=True)
class End(Generic[T]):
    """What one way comes to."""

    value: T


@dataclass(frozen=True, slots=True)
class Branch(Generic[T]):
    """Which of two ways to go."""

    condition: Condition
    then: Branch[T] | End[T]
    otherwise: Branch[T] | End[T]


Ways: TypeAlias = Branch[T] | End[T]


def end_at(ways: Ways[T], sizes: Mapping[str, int]) -> T:
    """What it comes to with these sizes."""
    while isinstance(ways, Branch):
        ways = ways.then if ways.condition.holds(sizes) else ways.otherwise
    return ways.value


def ends(ways: Ways[T]) -> list[T]:
    """All that it can come to."""
    return [*ends(ways.then), *ends(ways.otherwise)] if isinstance(ways, Branch) else [ways.value]


def conditions(ways: Ways[T]) -> list[Condition]:
    """All that it depends on."""
    return [ways.condition, *conditions(ways.then), *conditions(ways.otherwise)] if isinstance(ways, Branch) else []


def every_way(of: Callable[[Mapping[str, Any]], T], symbols: Iterable[str]) -> Ways[T]:
    """All that a function of some sizes can come to.

    :param of: is called with a symbol for each; what it returns may hold such ones, see :func:`plain`.
    :raises NeedsNumber: where it asks for the number itself, or goes more ways than anybody would read.
    """
    names = tuple(symbols)
    met: list[frozenset[str]] = []

    def followed(answers: tuple[bool, ...]) -> Ways[T]:
        if len(met) >= MOST_WAYS:
            raise NeedsNumber(met[-1])
        trail = _Trail(answers)
        found: Ways[T] = End(of({name: Traced(symbol(name), trail) for name in names}))
        asked = list(trail.answered.items())
        met.append(asked[-1][0].count.symbols if asked else frozenset())
        for at in reversed(range(len(answers), len(asked))):
            other = tuple(answer for _, answer in asked[:at])
            found = Branch(asked[at][0], found, followed((*other, False)))
        return found

    return followed(())


def plain(count: Any) -> Count:
    """A count without its trail: a number or an expression."""
    return count.count if isinstance(count, Traced) else count


@dataclass(slots=True)
class _Trail:
    """What was asked on one way, and what the answers were: those given, and then yes."""

    given: tuple[bool, ...]
    answered: dict[Condition, bool] = field(default_factory=dict)

    def decide(self, condition: Condition) -> bool:
        if condition not in self.answered:
            at = len(self.answered)
            self.answered[condition] = self.given[at] if at < len(self.given) else True
        return self.answered[condition]

    def is_positive(self, count: Count) -> bool:
        """The opposite of a sum is asked as the sum: ``A - D > 0`` is that ``D - A + 1 > 0`` is not so."""
        if isinstance(count, int):
            return count > 0
        opposite = 1 - count
        if terms_of(count)[0].number < 0 and isinstance(opposite, Expression):
            return not self.decide(Condition(opposite, is_zero=False))
        return self.decide(Condition(count, is_zero=False))

    def is_zero(self, count: Count) -> bool:
        if isinstance(count, int):
            return count == 0
        opposite = -count
        is_negative = terms_of(count)[0].number < 0 and isinstance(opposite, Expression)
        return self.decide(Condition(opposite if is_negative else count, is_zero=True))  # type: ignore[arg-type]


class Traced:
    """A size, or what was made of sizes: arithmetic gives another one, and every comparison is noted."""

    __slots__ = ("_trail", "count")

    def __init__(self, count: Expression, trail: _Trail) -> None:
        self.count = count
        self._trail = trail

    def _made(self, count: Count) -> Any:
        return count if isinstance(count, int) else Traced(count, self._trail)

    def _with(self, other: object) -> Count:
        """The other side of an operator."""
        found = plain(other)
        return found if isinstance(found, int | Expression) else self._needed()

    def __add__(self, other: Any) -> Any:
        return self._made(self.count + self._with(other))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._made(self.count - self._with(other))

    def __rsub__(self, other: Any) -> Any:
        return self._made(self._with(other) - self.count)

    def __mul__(self, other: Any) -> Any:
        return self._made(self.count * self._with(other))

    __rmul__ = __mul__

    def __neg__(self) -> Any:
        return self._made(-self.count)

    def __pow__(self, exponent: int) -> Any:
        return self._made(self.count**exponent) if isinstance(exponent, int) and exponent >= 0 else self._needed()

    def __floordiv__(self, other: Any) -> Any:
        return self._made(self.count // self._with(other))

    def __rfloordiv__(self, other: Any) -> Any:
        return self._made(self._with(other) // self.count)

    def __mod__(self, other: Any) -> Any:
        return self._made(self.count % self._with(other))

    def __rmod__(self, other: Any) -> Any:
        return self._made(self._with(other) % self.count)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, int | float | Expression | Traced):
            return False
        return self._trail.is_zero(self.count - self._with(other))

    def __lt__(self, other: Any) -> bool:
        return self._trail.is_positive(self._with(other) - self.count)

    def __gt__(self, other: Any) -> bool:
        return self._trail.is_positive(self.count - self._with(other))

    def __le__(self, other: Any) -> bool:
        return not self > other

    def __ge__(self, other: Any) -> bool:
        return not self < other

    def __bool__(self) -> bool:
        return not self._trail.is_zero(self.count)

    def __hash__(self) -> int:
        """Not to be had: of two that are equal, a set would not ask."""
        return self._needed()

    def _needed(self, *_: object) -> NoReturn:
        raise NeedsNumber(symbols_of(self.count))

    __int__ = __index__ = __float__ = __complex__ = __round__ = __trunc__ = __floor__ = __ceil__ = _needed
    __str__ = __repr__ = __format__ = __abs__ = __pos__ = __invert__ = _needed
    __truediv__ = __rtruediv__ = __divmod__ = __rdivmod__ = __rpow__ = __reduce_ex__ = _needed
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _needed
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = at = _needed
    """What no formula can follow."""
