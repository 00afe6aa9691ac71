"""``budget.growth`` in the table: a share or a count, exactly."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_bertsize.table.growth import (
    HOW_TO_WRITE,
    allowed,
    growth_from_shorthand,
    growth_that_passes,
    parse_growth,
    share_of,
)

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


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (0.01, "0.01 is no growth: {how}; did you mean '1%'?"),
        (0.0025, "0.0025 is no growth: {how}; did you mean '0.25%'?"),
        (1.0, "1.0 is no growth: {how}"),
        (0.0, "0.0 is no growth: {how}"),
        ("+1 %", "\"+1 %\" is no growth: {how}; did you mean '1%'?"),
        (" 2.5 Per Cent ", "\" 2.5 Per Cent \" is no growth: {how}; did you mean '2.5%'?"),
        ("1234567890%", '"1234567890%" is no growth: {how}'),
        ("-1%", '"-1%" is no growth: {how}'),
        (-1, "-1 is no growth: {how}"),
        (True, "true is no growth: {how}"),
        (None, "null is no growth: {how}"),
        (["1%"], '["1%"] is no growth: {how}'),
    ],
)
def test_what_is_no_growth_says_what_to_write_and_what_was_meant(value: object, says: str) -> None:
    with pytest.raises(ValueError, match="is no growth") as caught:
        parse_growth(value)
    assert str(caught.value) == says.format(how=HOW_TO_WRITE)
    assert HOW_TO_WRITE == 'write a share such as "1%", a count of parameters such as "500K", or 0'


def test_growth_without_a_component_is_that_of_the_total() -> None:
    assert growth_from_shorthand("1%") == {"total": "1%"}
    assert growth_from_shorthand({"head": 0, "trainable": "1%", "total": 7}) == {
        "head": 0,
        "trainable": "1%",
        "total": 7,
    }


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({}, f"an empty table limits nothing: {HOW_TO_WRITE}"),
        (
            {"total": 0, "bytes": "1%"},
            'growth is one of parameters, and "bytes" has none: name a component, or total',
        ),
    ],
)
def test_a_table_of_growth_limits_parameters_and_something(table: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=r"growth|limits") as caught:
        growth_from_shorthand(table)
    assert str(caught.value) == says


def test_growth_that_would_pass_is_written_as_finely_as_its_author_wrote_it() -> None:
    assert growth_that_passes(1, 300, "1%") == '"1%"'  # 0.33 %
    assert growth_that_passes(1, 300, "1.00%") == '"0.34%"'
    assert growth_that_passes(3, 300, "5%") == '"1%"'
    assert growth_that_passes(16_632, 59_549, "500K") == '"17K"'
    assert growth_that_passes(16_632, 59_549, 500) == "16_632"
    assert growth_that_passes(16_632, 0, "1%") == "16_632"  # no share of nothing is anything
    assert growth_that_passes(10**10, 1, "1%") == "10_000_000_000"  # more digits than a share has
