"""A function of sizes, followed along every way: what it comes to is what it returns, whatever the sizes are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import pytest

from pytest_bertsize.closed_forms import all_sizes
from pytest_bertsize.closed_forms.all_sizes import NeedsNumber, end_at, follow_every_way
from pytest_bertsize.closed_forms.symbols import Expression

Sizes = Mapping[str, Any]


def in_steps(sizes: Sizes) -> Any:
    D, E = sizes["D"], sizes["E"]
    if D > 2 * E:
        return D // E // 2 * E
    if not D % E:
        return 1
    return (D - 1) ** 2 if E in (None, 5, D - 1) else sum([D, E, 3 - D]) % 4


def compared(sizes: Sizes) -> Any:
    D, E = sizes["D"], sizes["E"]
    return [D < E, D <= E, D > E, D >= E, D == E, D != E, D < 7, D >= 7, bool(D - E)]


FUNCTIONS = (in_steps, compared)


def value(count: Any, sizes: Mapping[str, int]) -> Any:
    return count.at(sizes) if isinstance(count, Expression) else count


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: each.__name__)
def test_the_end_of_the_way_is_what_the_function_returns(function: Callable[[Sizes], Any]) -> None:
    ways = follow_every_way(function, "DE")
    for D, E in product(range(1, 16), range(1, 16)):
        sizes = {"D": D, "E": E}
        assert value(end_at(ways, sizes), sizes) == function(sizes)


@pytest.mark.parametrize(
    "function",
    [
        lambda sizes: list(range(sizes["D"])),
        lambda sizes: int(sizes["D"]),
        lambda sizes: f"{sizes['D']:,}",
        lambda sizes: sizes["D"] in {1, 2},
        lambda sizes: {sizes["D"]: 1},
        lambda sizes: sizes["D"] ** sizes["D"],
    ],
)
def test_what_no_formula_can_follow_is_said_with_the_size_that_it_is_asked_of(function: Callable[[Sizes], Any]) -> None:
    with pytest.raises(NeedsNumber) as needs:
        follow_every_way(function, ("D", "E"))
    assert needs.value.symbols == {"D"}


def test_a_loop_over_all_values_of_a_size_is_not_followed_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(all_sizes, "MOST_WAYS", 8)

    def counted(sizes: Sizes) -> int:
        return next(number for number in range(9) if sizes["D"] == number)

    with pytest.raises(NeedsNumber) as needs:
        follow_every_way(counted, "D")
    assert needs.value.symbols == {"D"}
