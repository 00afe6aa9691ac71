"""``budget.growth`` in the table: a share or a count, exactly."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_bertsize.table.growth import allowed, growth_that_passes, parse_growth, share_of

PARTS = 10**6
SHARES = st.integers(0, 300 * PARTS).map(lambda millionths: f"{millionths // PARTS}.{millionths % PARTS:06d}%")


@given(SHARES, st.integers(0, 10**15))
def test_a_share_is_exact_at_any_size(written: str, before: int) -> None:
    digits, _, decimals = written.removesuffix("%").partition(".")
    millionths = int(digits) * PARTS + int(decimals)
    assert allowed(written, before) == millionths * before // (100 * PARTS)


def test_a_share_is_none_of_floating_point() -> None:
    assert allowed("29%", 100) == 29
    assert int(100 * 0.29) == 28


@given(SHARES, st.integers(1, 10**12), st.integers(0, 10**12))
def test_what_would_pass_does_and_a_step_less_does_not(like: str, before: int, added: int) -> None:
    written = growth_that_passes(added, before, like).strip('"')
    assert allowed(written, before) >= added
    share = share_of(written)
    if share is None:  # more per cent than anybody writes
        assert (int(written.replace("_", "")), added > 10**6 * before) == (added, True)
    else:
        assert (share - Fraction(1, 100 * PARTS)) * before // 1 < added or added == 0


@pytest.mark.parametrize("value", ["1%", "0.25%", "0%", "250%", "500K", "1.2M", 0, 7, "12_000"])
def test_what_is_growth_stays_as_it_is_written(value: object) -> None:
    assert parse_growth(value) == value
