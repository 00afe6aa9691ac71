"""Sums of sizes, and what they depend on, as JavaScript: whole numbers of any length, rounded down as in Python.

Sizes are named by their place, ``x0``, ``x1``, …, and never by a word from a config. ``floor`` is the page's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pytest_bertsize.closed_forms.symbols import Base, Count, Floor, Monomial, over_one_line, terms_of
from pytest_bertsize.closed_forms.tracing import Branch, Ways

T = TypeVar("T")


def function(ways: Ways[T], symbols: Mapping[str, Any], end: Callable[[T, Mapping[str, str]], str]) -> str:
    """A function of an array of sizes, in the order of their symbols.

    :param end: writes what one way comes to, with the names of the sizes.
    """
    names = {symbol: f"x{place}" for place, symbol in enumerate(symbols)}

    def written(ways: Ways[T]) -> str:
        if not isinstance(ways, Branch):
            return end(ways.value, names)
        asked = f"{expression(ways.condition.count, names)} {'===' if ways.condition.is_zero else '>'} 0n"
        return f"({asked} ? {written(ways.then)} : {written(ways.otherwise)})"

    return f"([{', '.join(names.values())}]) => ({written(ways)})"


def expression(count: Count, names: Mapping[str, str]) -> str:
    """A whole number, as a sum of products.

    :param names: of the sizes, by their symbols.
    :raises ValueError: for what is divided and not rounded, which no count is.
    """
    above, below = _fraction(terms_of(count), names)
    if below != "1n":
        raise ValueError("a count is a whole number, and this one is divided")
    return above


def _fraction(terms: tuple[Monomial, ...], names: Mapping[str, str]) -> tuple[str, str]:
    """What stands above the line, and below it, once all is brought over one."""
    above, below = over_one_line(terms)
    return " + ".join(_product(*each, names) for each in above) or "0n", _product(*below, names)


def _product(number: int, powers: Mapping[Base, int], names: Mapping[str, str]) -> str:
    factors = [_factor(base, names) for base, exponent in powers.items() for _ in range(exponent)]
    return "*".join(factors if factors and number == 1 else [f"{number}n", *factors])


def _factor(base: Base, names: Mapping[str, str]) -> str:
    if isinstance(base, str):
        return names[base]
    if isinstance(base, Floor):
        above, below = _fraction(base.quotient.terms, names)
        return f"floor({above}, {below})"
    return f"({expression(base, names)})"
