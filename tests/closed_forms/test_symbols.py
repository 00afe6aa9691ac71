"""Arithmetic with symbols: what it comes to with numbers is what the numbers come to."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_bertsize.closed_forms.symbols import expanded, symbol, with_even_quotients

SIZES = {"D": 768, "A": 7, "L": 12}
D: Any
A: Any
L: Any
D, A, L = map(symbol, SIZES)

TREES = st.recursive(
    st.sampled_from([*SIZES]) | st.integers(-9, 9),
    lambda inner: st.tuples(st.sampled_from("+-*/%"), inner, inner),
    max_leaves=8,
)
OPERATORS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.floordiv,
    "%": operator.mod,
}


def counted(tree: Any, sizes: Mapping[str, Any]) -> Any:
    """A drawn sum of sums and products, with numbers or with symbols for its sizes."""
    if isinstance(tree, tuple):
        return OPERATORS[tree[0]](*(counted(each, sizes) for each in tree[1:]))
    return sizes.get(tree, tree)


def value(count: Any, sizes: Mapping[str, int]) -> Any:
    return count if isinstance(count, int) else count.at(sizes)


@given(TREES, st.fixed_dictionaries({name: st.integers(1, 20) for name in SIZES}))
def test_whatever_is_calculated_with_symbols_comes_to_what_python_makes_of_the_numbers(
    tree: Any, sizes: dict[str, int]
) -> None:
    try:
        found, wanted = counted(tree, dict(zip(SIZES, (D, A, L), strict=True))), counted(tree, sizes)
        written = [value(each, sizes) for each in (found, expanded(found), with_even_quotients(found, sizes))]
    except ZeroDivisionError:
        assume(condition=False)
    assert written == [wanted] * 3


NUMBERS = {
    "difference": (D - D, 0),
    "quotient": (D // D, 1),
    "rounded quotient": (3 * D // (2 * D), 1),
    "nothing": ((L - 1) * 0, 0),
    "sum": (sum([D, 1 - D]), 1),
    "remainder": (D % 1, 0),
}


@pytest.mark.parametrize(("calculated", "wanted"), NUMBERS.values(), ids=NUMBERS)
def test_what_comes_to_a_number_is_a_number(calculated: Any, wanted: int) -> None:
    assert calculated == wanted
    assert type(calculated) is int


def test_a_quotient_is_rounded_down_unless_it_comes_out_even() -> None:
    assert with_even_quotients(D // L * L, SIZES) == D
    assert with_even_quotients(D // A * A, SIZES) == D // A * A
    assert (D // A * A).at(SIZES) == 763  # 109 times 7


def test_symbols_are_not_compared_by_size_nor_divided_without_rounding() -> None:
    with pytest.raises(TypeError, match="'<' not supported"):
        _ = D < A
    with pytest.raises(TypeError, match="unsupported operand type"):
        _ = D / 2
