"""Which sum or product of the config's integers an axis of a tensor follows: told by builds, and held by all."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

Point: TypeAlias = "Mapping[str, int]"
"""The integers of a config that was built, by their keys."""
Seen: TypeAlias = "Sequence[tuple[Point, int]]"
"""What an axis was at each point, the config as it is first."""

MOST_FACTORS = 3
FEWEST_VALUES = 3
"""Of a key: two are on a line, whatever the class makes of it."""


@dataclass(frozen=True, slots=True)
class Size:
    """``factors·(constant + Σ number·key) // over``."""

    constant: int
    terms: tuple[tuple[int, str], ...] = ()
    factors: tuple[str, ...] = ()
    over: int | str = 1

    def at(self, point: Point) -> int:
        whole = prod(point[key] for key in self.factors) * (
            self.constant + sum(n * point[key] for n, key in self.terms)
        )
        return whole // (point[self.over] if isinstance(self.over, str) else self.over)

    @property
    def keys(self) -> frozenset[str]:
        """What it follows."""
        over = {self.over} if isinstance(self.over, str) else set()
        return frozenset((*(key for _, key in self.terms), *self.factors, *over))

    def written(self, called: Callable[[str], str]) -> str:
        """As Python.

        :param called: what stands for a key, ``dims.D``.
        """
        terms = [called(key) if number == 1 else f"{number} * {called(key)}" for number, key in self.terms]
        terms += [str(self.constant)] if self.constant or not terms else []
        inner = " + ".join(terms).replace("+ -", "- ")
        if self.factors:
            number = [] if inner == "1" else [f"({inner})" if len(terms) > 1 else inner]
            inner = " * ".join([*number, *map(called, self.factors)])
        if self.over == 1:
            return inner
        over = called(self.over) if isinstance(self.over, str) else str(self.over)
        return f"({inner}) // {over}" if " " in inner else f"{inner} // {over}"


def moved_by(seen: Seen) -> tuple[str, ...]:
    """The keys that change the number, each by itself."""
    base = seen[0][1]
    return tuple(dict.fromkeys(key for key, _, number in _alone(seen) if number != base))


def fitted(seen: Seen) -> Size | None:
    """The size that gives every number that was seen; ``None`` where none does, or too little was seen to tell."""
    moved = moved_by(seen)
    if any(len({point[key] for point, _ in seen}) < FEWEST_VALUES for key in moved):
        return None
    if len(moved) > 1 and not any(_how_many_changed(point, seen[0][0], moved) > 1 for point, _ in seen):
        return None
    found = (size for size in _candidates(seen, moved) if all(size.at(point) == number for point, number in seen))
    return next(found, None)


def _alone(seen: Seen) -> Iterator[tuple[str, int, int]]:
    """A key, its value and the number, of each point at which nothing else has changed."""
    base = seen[0][0]
    for point, number in seen:
        changed = [key for key in base if point[key] != base[key]]
        if len(changed) == 1:
            yield changed[0], point[changed[0]], number


def _how_many_changed(point: Point, base: Point, keys: Iterable[str]) -> int:
    return sum(point[key] != base[key] for key in keys)


def _candidates(seen: Seen, moved: tuple[str, ...]) -> Iterator[Size]:
    """The simplest first."""
    for many in range(min(len(moved), MOST_FACTORS) + 1):
        for factors in combinations(moved, many):
            yield from _linear(seen, moved, factors)
    point, number = seen[0]
    for over in moved:
        for key in (key for key in moved if key != over and len(moved) == 2):  # noqa: PLR2004  (a quotient has two)
            yield Size(Fraction(number * point[over], point[key] or 1).__floor__(), (), (key,), over)
    if len(moved) == 1:
        yield from _parts(seen, moved[0])


def _linear(seen: Seen, moved: tuple[str, ...], factors: tuple[str, ...]) -> Iterator[Size]:
    """A sum, once it is divided by its factors."""
    divided = []
    for point, number in seen:
        by = prod(point[key] for key in factors)
        if not by or number % by:
            return
        divided.append((point, number // by))
    base, number = divided[0]
    slopes: dict[str, Fraction] = {}
    for key, value, there in _alone(divided):
        if key in moved and key not in factors:
            slopes.setdefault(key, Fraction(there - number, value - base[key]))
    if all(slope.denominator == 1 for slope in slopes.values()):
        terms = tuple((int(slope), key) for key, slope in slopes.items() if slope)
        terms = tuple(sorted(terms, key=lambda term: term[0] < 0))
        yield Size(number - sum(times * base[key] for times, key in terms), terms, factors)


def _parts(seen: Seen, key: str) -> Iterator[Size]:
    """A part of one key, rounded down: half of it, or two thirds."""
    base, number = seen[0][0][key], seen[0][1]
    for _, value, there in _alone(seen):
        if value != base:
            slope = Fraction(there - number, value - base)
            yield Size(slope.numerator, (), (key,), slope.denominator)
