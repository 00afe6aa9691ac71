"""Arithmetic with symbols: what it comes to with numbers is what the numbers come to."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_bertsize.closed_forms.symbols import Numbers, evaluate, symbol, terms_of, with_even_quotients

SIZES = {"D": 768, "A": 7, "L": 12}
D: Any
A: Any
L: Any
D, A, L = (symbol(name, Numbers(SIZES)) for name in SIZES)

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


@given(TREES, st.fixed_dictionaries({name: st.integers(1, 20) for name in SIZES}))
def test_whatever_is_calculated_with_symbols_comes_to_what_python_makes_of_the_numbers(
    tree: Any, sizes: dict[str, int]
) -> None:
    try:
        found, wanted = counted(tree, dict(zip(SIZES, (D, A, L), strict=True))), counted(tree, sizes)
        terms = terms_of(found)
        written = [evaluate(each, sizes) for each in (terms, with_even_quotients(terms, sizes))]
    except ZeroDivisionError:
        assume(condition=False)
    assert written == [wanted] * 2


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
    even, rounded = (terms_of(D // each * each) for each in (L, A))
    assert with_even_quotients(even, SIZES) == terms_of(D)
    assert with_even_quotients(rounded, SIZES) == rounded
    assert evaluate(rounded, SIZES) == 763  # 109 times 7


def test_what_is_asked_of_symbols_is_answered_by_their_numbers() -> None:
    assert [D > A, D < A, L >= 12, D == 64 * L, D != 64 * L, bool(D - 64 * L), D in (None, 768)] == [
        *(True, False, True, True, False, False, True)
    ]
    assert (int(D // A), f"{D * L:,}", [*range(A - 5)]) == (109, "9,216", [0, 1])
    with pytest.raises(TypeError, match="unsupported operand type"):
        _ = D / 2
