"""Quantities as people write them, exactly; and as tables show them, never better than they are."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_bertsize.quantity import BYTES, FLOPS, PARAMETERS, Quantity, compact_left, percent_used, restated

COUNTS = st.integers(0, 10**15)
STYLES = st.sampled_from(
    ["110M", "110.0M", "1.20B", "0.5K", "1_000K", "1.000T", "110_000_000", "86000000", 86_000_000, {"max": "1M"}]
)
each_quantity = pytest.mark.parametrize("quantity", [PARAMETERS, BYTES, FLOPS], ids=lambda each: each.of)


def refusal(quantity: Quantity, value: object) -> str:
    with pytest.raises(ValueError) as refused:  # noqa: PT011  (the whole message is compared)
        quantity.parse(value)
    return str(refused.value)


def as_number(text: str, quantity: Quantity = PARAMETERS) -> Fraction:
    """What a compact text says, read apart from the module under test: ``'-13.3M'`` → -13,300,000."""
    digits = text.rstrip("kKMGTPBi")
    return Fraction(digits.replace(",", "").replace("_", "")) * quantity.scales[text.removeprefix(digits)]


# read


def test_a_quantity_is_read_exactly() -> None:
    for quantity, written, count in (
        *((PARAMETERS, "86_000_000", 86_000_000), (PARAMETERS, "0.5K", 500), (PARAMETERS, "102.290312M", 102_290_312)),
        *(
            (BYTES, "512B", 512),
            (BYTES, "1KB", 1_000),
            (BYTES, "2kB", 2_000),
            (BYTES, "440MB", 440_000_000),
            (BYTES, "1.5GiB", 3 * 2**29),
        ),
        *((BYTES, "3GB", 3 * 10**9), (BYTES, "2TB", 2 * 10**12), (BYTES, "1TiB", 2**40), (BYTES, "3MiB", 3 * 2**20)),
        *((PARAMETERS, "2B", 2 * 10**9), (PARAMETERS, "1T", 10**12), (BYTES, "1KiB", 1_024), (FLOPS, "1T", 10**12)),
        *((FLOPS, "22.34843136G", 22_348_431_360), (FLOPS, "9P", 9 * 10**15), (FLOPS, "3K", 3_000)),
    ):
        assert quantity.parse(written) == count


def test_a_mistake_names_the_quantity_and_its_units() -> None:
    how = "write a whole number, or a string such as"
    units = "kB, MB, GB, TB are powers of 1,000; KiB, MiB, GiB, TiB powers of 1,024"
    assert refusal(BYTES, "x") == f"'x' is not a number of bytes: {how} '440MB' or '420MiB' ({units})"
    counts = "'110M' or '1.2B' (K, M, B, T are powers of 1,000)"
    assert refusal(PARAMETERS, "x") == f"'x' is not a count of parameters: {how} {counts}"


@each_quantity
@pytest.mark.parametrize(
    "value",
    [
        *(1.0, 110e6, float("inf"), None, True, [1], {"max": 1}),
        *("", "M", "-5M", "+5M", "1e6", "1.M", ".5M", "1__0", "_1", "1_", "1.2.3M", "110 million", "abc", "1E"),
        *("1,500M", "1,2,3M", "1,500,3M", "1,5", "1_5", "37,5M", "37_5M", "1,2345B"),
        "\N{ARABIC-INDIC DIGIT ONE}\N{ARABIC-INDIC DIGIT ZERO}M",
    ],
    ids=repr,
)
def test_anything_else_is_refused_with_what_to_write(quantity: Quantity, value: object) -> None:
    shown = "true" if value is True else repr(value)
    assert refusal(quantity, value) == f"{shown} is not a {quantity.noun} of {quantity.of}: {quantity.how_to_write}"


MORE = "is more than any model has: the largest"


@pytest.mark.parametrize(
    ("quantity", "value", "says"),
    [
        (PARAMETERS, "1.5", "'1.5' is not a whole number of parameters"),
        (PARAMETERS, f"1{'0' * 12}.{'0' * 15}1K", "is not a whole number of parameters"),
        (PARAMETERS, -1, "-1 is negative: a count of parameters is 0 or more"),
        (PARAMETERS, 10**15 + 1, f"{10**15 + 1} {MORE} count is {10**15:,}"),
        (BYTES, "9001TB", f"'9001TB' {MORE} number is {9 * 10**15:,}"),
        pytest.param(PARAMETERS, 16**4000, f"a value of type int {MORE} count is {10**15:,}", id="4,817 digits"),
    ],
)
def test_a_number_that_no_model_has_is_refused(quantity: Quantity, value: object, says: str) -> None:
    assert refusal(quantity, value).endswith(says)


# show


def test_room_has_the_digits_that_the_exact_number_begins_with() -> None:
    for left, quantity, text in (
        *((0, PARAMETERS, "0"), (-6_602_170, PARAMETERS, "-6.6M"), (-(10**24), PARAMETERS, "-1,000,000,000,000T")),
        *((-13_290_208, BYTES, "-13.2MB"), (999_999, BYTES, "+999kB"), (10**15, FLOPS, "+1P")),
        *(
            (-512, BYTES, "-512B"),
            (71 * 10**8, BYTES, "+7.1GB"),
            (2 * 10**12, BYTES, "+2TB"),
            (71 * 10**8, FLOPS, "+7.1G"),
        ),
    ):
        assert compact_left(left, quantity) == text


@given(st.integers(-(10**15), 10**15))
def test_room_left_is_short_and_its_digits_are_those_of_the_exact_number(left: int) -> None:
    shown = compact_left(left)
    assert len(shown) <= len("+1,000T")
    assert shown.startswith("+" if left > 0 else "-" if left < 0 else "0")
    assert str(abs(left)).startswith(re.sub(r"\D", "", shown))
    assert 0 <= abs(left) - abs(as_number(shown)) <= abs(left) / Fraction(10)


@given(COUNTS, COUNTS)
@example(10**15 + 1, 10**15)
@example(10**15 - 1, 10**15)
@example(9, 1)
def test_the_share_that_is_used_tells_over_from_within_and_never_flatters(actual: int, limit: int) -> None:
    shown = percent_used(actual, limit)
    assert len(shown) <= 4
    assert (shown == ">9x") == (actual > 9 * limit)
    assert (shown == ">9x" or int(shown.removesuffix("%")) > 100) == (actual > limit)
    assert (shown == "100%") == (actual == limit > 0)
    if limit < actual <= 9 * limit:
        assert Fraction(int(shown.removesuffix("%")), 100) >= Fraction(actual, limit)


# write


@pytest.mark.parametrize(
    ("quantity", "count", "like", "most", "least"),
    [
        (PARAMETERS, 110_000_000, "110M", '"110M"', '"110M"'),
        (PARAMETERS, 113_123_456, "110.0M", '"113.2M"', '"113.1M"'),
        (PARAMETERS, 113_123_456, "1.2B", '"0.2B"', '"0.1B"'),
        (PARAMETERS, 1_082_114, "623K", '"1.09M"', '"1.08M"'),
        *(
            (BYTES, 10_240_000, "9KiB", '"10_000KiB"', '"10_000KiB"'),
            (PARAMETERS, 5_555_000, "0002K", '"5.56M"', '"5.55M"'),
        ),
        *((PARAMETERS, 11_500_000_000, "2B", '"12B"', '"11B"'), (PARAMETERS, 123_456, "5K", '"124K"', '"123K"')),
        *((PARAMETERS, 10**15, "1K", '"1000T"', '"1000T"'), (PARAMETERS, 12_345_000, "1_000K", '"12.35M"', '"12.34M"')),
        *((PARAMETERS, 113_123_456, like, "113_123_456", "113_123_456") for like in (86_000_000, "86_000_000", None)),
        (BYTES, 600, "500B", '"600B"', '"600B"'),
        (BYTES, 600, "1.0KiB", '"1KiB"', '"0KiB"'),
        (BYTES, 219_028_596, "420MiB", '"209MiB"', '"208MiB"'),
        (BYTES, 1_288_490_189, "1.2GiB", '"2GiB"', '"1GiB"'),
        (BYTES, 219_028_596, "github-file", "219_028_596", "219_028_596"),
        (FLOPS, 22_348_431_360, "22.0G", '"22.4G"', '"22.3G"'),
        (FLOPS, 22_348_431_360, "1P", '"1P"', '"0P"'),
    ],
)
def test_a_bound_is_written_in_the_style_of_the_old(
    quantity: Quantity, count: int, like: object, most: str, least: str
) -> None:
    assert (restated(count, "max", like, quantity), restated(count, "min", like, quantity)) == (most, least)
    digits = restated(count, "exact", like, quantity)
    assert int(digits) == count


@given(COUNTS, STYLES)
def test_a_count_passes_the_bounds_that_are_written_for_it(count: int, like: object) -> None:
    written = (restated(count, bound, like, PARAMETERS) for bound in ("min", "max"))
    low, high = (PARAMETERS.parse(text.strip('"') if text.startswith('"') else int(text)) for text in written)
    assert low <= count <= high
    assert (low == high) == (low == count)
    for bound in ("min", "max"):
        assert restated(low, bound, like, PARAMETERS) == restated(count, "min", like, PARAMETERS)
    assert restated(high, "max", like, PARAMETERS) == restated(count, "max", like, PARAMETERS)
