"""Quantities as people write them, exactly; and as tables show them, never better than they are."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_bertsize.quantity import BYTES, FLOPS, PARAMETERS, Quantity, compact_left, percent_used, restated

HOW = {
    "parameters": "write a whole number, or a string such as '110M' or '1.2B' (K, M, B, T are powers of 1,000)",
    "bytes": "write a whole number, or a string such as '440MB' or '420MiB' "
    "(kB, MB, GB, TB are powers of 1,000; KiB, MiB, GiB, TiB powers of 1,024)",
    "FLOPs": "write a whole number, or a string such as '22G' or '1.5T' "
    "(K, M, G, T, P are powers of 1,000, and a multiply-add is 2 FLOPs)",
}
QUANTITIES = st.sampled_from([PARAMETERS, BYTES, FLOPS])
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


@pytest.mark.parametrize(
    ("quantity", "written", "count"),
    [
        (PARAMETERS, 0, 0),
        (PARAMETERS, "86_000_000", 86_000_000),
        (PARAMETERS, "110M", 110_000_000),
        (PARAMETERS, "0.5K", 500),
        (PARAMETERS, "102.290312M", 102_290_312),  # bert-base-chinese: SOURCES D
        (PARAMETERS, "1_000T", 10**15),
        (PARAMETERS, f"{'0_' * 29}10", 10),  # the longest text
        (BYTES, "512B", 512),
        (BYTES, "1kB", 1_000),
        (BYTES, "1KB", 1_000),
        (BYTES, "1KiB", 1_024),
        (BYTES, "440MB", 440_000_000),
        (BYTES, "440MiB", 461_373_440),
        (BYTES, "1.5GiB", 1_610_612_736),
        (BYTES, "1TiB", 1_099_511_627_776),
        (BYTES, "9_000TB", 9 * 10**15),
        (FLOPS, "22.34843136G", 22_348_431_360),
        (FLOPS, "500K", 500_000),
        (FLOPS, "9P", 9 * 10**15),
    ],
)
def test_a_quantity_is_read_exactly(quantity: Quantity, written: object, count: int) -> None:
    assert quantity.parse(written) == count


@given(COUNTS, QUANTITIES, st.data())
def test_any_count_survives_being_written_in_any_unit(count: int, quantity: Quantity, data: st.DataObject) -> None:
    scales = {unit: scale for unit, scale in quantity.scales.items() if "i" not in unit}
    unit, scale = data.draw(st.sampled_from(list(scales.items())))
    whole, rest = divmod(count, scale)
    decimals = f".{rest:0{len(str(scale)) - 1}d}" if scale > 1 else ""
    assert quantity.parse(f"{whole}{decimals}{unit}") == count
    assert quantity.parse(count) == quantity.parse(f"{count:_}") == count


@each_quantity
@pytest.mark.parametrize(
    "value",
    [
        *(1.0, 110e6, float("inf"), None, True, [1], {"max": 1}),
        *("", "M", "-5M", "+5M", "1e6", "1.M", ".5M", "1__0", "_1", "1_", "1.2.3M", "110 million", "abc", "1E"),
        "\N{ARABIC-INDIC DIGIT ONE}\N{ARABIC-INDIC DIGIT ZERO}M",
    ],
    ids=repr,
)
def test_anything_else_is_refused_with_what_to_write(quantity: Quantity, value: object) -> None:
    assert refusal(quantity, value) == f"{value!r} is not a {quantity.noun} of {quantity.of}: {HOW[quantity.of]}"


@pytest.mark.parametrize(
    ("quantity", "text", "meant"),
    [
        *((PARAMETERS, text, "'110M'") for text in ("110m", "110 M", "110M ", "110MB", "110mb", "110M params")),
        (PARAMETERS, "12 Parameters", "'12'"),
        (PARAMETERS, "1,000,000", "'1000000'"),
        *((PARAMETERS, text, "'1.2B'") for text in ("1.2b", "1.2BB", "1.2 B", "1.2B PARAMS")),
        *((BYTES, text, "'440MB' or '440MiB'") for text in ("440M", "440m")),
        (BYTES, "64K", "'64kB' or '64KiB'"),
        (BYTES, "1T", "'1TB' or '1TiB'"),
        *((BYTES, text, "'440MB'") for text in ("440mb", "440 MB", "440 MBytes")),
        *((BYTES, text, "'440MiB'") for text in ("440mib", "440Mi")),
        (BYTES, "12 bytes", "'12B'"),
        *((FLOPS, text, "'22G'") for text in ("22B", "22g", "22 GFLOPs", "22gflop", "22BFLOPS")),
        (FLOPS, "5 flops", "'5'"),
    ],
)
def test_the_spelling_that_was_probably_meant_is_named(quantity: Quantity, text: str, meant: str) -> None:
    assert refusal(quantity, text).endswith(f": {HOW[quantity.of]}; did you mean {meant}?")


@pytest.mark.parametrize(("quantity", "text"), [(FLOPS, "11GMACs"), (FLOPS, "22GB"), (BYTES, "440MBit/s")])
def test_what_is_counted_otherwise_is_not_guessed_at(quantity: Quantity, text: str) -> None:
    assert refusal(quantity, text).endswith(HOW[quantity.of])


@pytest.mark.parametrize(
    ("quantity", "value", "says"),
    [
        (PARAMETERS, "1.5", "'1.5' is not a whole number of parameters: 1.5"),
        # more digits than decimal's default context of 28 carries: a rounded product would pass for a whole number
        (
            PARAMETERS,
            "1000000000000.0000000000000001K",
            "'1000000000000.0000000000000001K' is not a whole number of parameters: 1000000000000000.0000000000001",
        ),
        (BYTES, "0.1MiB", "'0.1MiB' is not a whole number of bytes: 104857.6"),
        (FLOPS, "0.0001K", "'0.0001K' is not a whole number of FLOPs: 0.1"),
        (PARAMETERS, -1, "-1 is negative: a count of parameters never is"),
        (BYTES, -1, "-1 is negative: a number of bytes never is"),
        (PARAMETERS, 10**15 + 1, f"{10**15 + 1} is more than any model has: the largest count is {10**15:,}"),
        (PARAMETERS, "1000.000001T", f"'1000.000001T' is more than any model has: the largest count is {10**15:,}"),
        (BYTES, "9001TB", f"'9001TB' is more than any model has: the largest number is {9 * 10**15:,}"),
        # a TOML file can say 0x1000…; 4,817 digits, Python writes 4,300
        pytest.param(
            PARAMETERS,
            16**4000,
            f"a value of type int is more than any model has: the largest count is {10**15:,}",
            id="4,817 digits",
        ),
        (PARAMETERS, "x" * 59, f"'{'x' * 58}… is not a count of parameters: {HOW['parameters']}"),
        (PARAMETERS, f"{'0_' * 30}1", f"'{'0_' * 29}… is not a count of parameters: {HOW['parameters']}"),
    ],
)
def test_a_number_that_no_model_has_is_refused(quantity: Quantity, value: object, says: str) -> None:
    assert refusal(quantity, value) == says


# show


@pytest.mark.parametrize(
    ("left", "quantity", "text"),
    [
        (0, PARAMETERS, "0"),
        (999, PARAMETERS, "+999"),
        (1_001, PARAMETERS, "+1K"),
        (-1_001, PARAMETERS, "-1.1K"),
        (99_999, PARAMETERS, "+99.9K"),
        (-99_901, PARAMETERS, "-100K"),
        (-999_001, PARAMETERS, "-1M"),
        (-13_230_208, PARAMETERS, "-13.3M"),
        (10**15 + 999, PARAMETERS, "+1,000T"),
        (-999_999_999_999_999, PARAMETERS, "-1,000T"),
        (500, BYTES, "+500B"),
        (-13_230_208, BYTES, "-13.3MB"),
        (999_999, BYTES, "+999kB"),
        (-348_431_360, FLOPS, "-349M"),
        (10**15, FLOPS, "+1P"),
    ],
)
def test_room_is_rounded_down_and_overshoot_up(left: int, quantity: Quantity, text: str) -> None:
    assert compact_left(left, quantity) == text


@given(st.integers(-(10**15), 10**15))
def test_room_left_is_never_flattered_short_and_near_the_truth(left: int) -> None:
    shown = compact_left(left)
    assert len(shown) <= len("+1,000T")
    assert shown.startswith("+" if left > 0 else "-" if left < 0 else "0")
    assert 0 <= left - as_number(shown) <= abs(left) / Fraction(10)


@pytest.mark.parametrize(
    ("actual", "limit", "text"),
    [
        *((0, 0, "0%"), (1, 0, ">9x"), (1, 10**9, "0%"), (999, 1_000, "99%"), (1_000, 1_000, "100%")),
        *((1_001, 1_000, "101%"), (100, 99, "102%"), (90, 10, "900%"), (91, 10, ">9x")),
    ],
)
def test_how_much_of_a_limit_is_used(actual: int, limit: int, text: str) -> None:
    assert percent_used(actual, limit) == text


@given(COUNTS, COUNTS)
@example(10**15 + 1, 10**15)
@example(10**15 - 1, 10**15)
def test_the_share_that_is_used_tells_over_from_within(actual: int, limit: int) -> None:
    shown = percent_used(actual, limit)
    assert len(shown) <= 4
    assert (shown == ">9x" or int(shown.removesuffix("%")) > 100) == (actual > limit)
    assert (shown == "100%") == (actual == limit > 0)


# write


@pytest.mark.parametrize(
    ("quantity", "count", "like", "most", "least"),
    [
        (PARAMETERS, 110_000_000, "110M", '"110M"', '"110M"'),
        (PARAMETERS, 113_123_456, "110M", '"114M"', '"113M"'),
        (PARAMETERS, 113_123_456, "110.0M", '"113.2M"', '"113.1M"'),
        (PARAMETERS, 113_123_456, "1.2B", '"0.2B"', '"0.1B"'),
        (PARAMETERS, 1_234_567_890, "110M", '"1.24B"', '"1.23B"'),
        (PARAMETERS, 1_082_114, "623K", '"1.09M"', '"1.08M"'),
        (PARAMETERS, 1_095_000, "623K", '"1.10M"', '"1.09M"'),
        (PARAMETERS, 11_500_000_000, "2B", '"12B"', '"11B"'),  # as many digits as anybody writes are kept
        (PARAMETERS, 1_082_114, "1000K", '"1083K"', '"1082K"'),  # and the unit of somebody who writes thousands of it
        (PARAMETERS, 1_082_114, "1_000K", '"1_083K"', '"1_082K"'),
        (PARAMETERS, 10**15, "1K", '"1000T"', '"1000T"'),
        *((PARAMETERS, 113_123_456, like, "113_123_456", "113_123_456") for like in (86_000_000, "86_000_000", None)),
        (PARAMETERS, 10**13 + 1, "1.000000000000000000K", *['"10.00000000000100000T"'] * 2),
        (BYTES, 600, "500B", '"600B"', '"600B"'),
        (BYTES, 600, "1.0KiB", '"1.0KiB"', '"0.5KiB"'),
        (BYTES, 219_028_596, "440.0MB", '"219.1MB"', '"219.0MB"'),
        (BYTES, 219_028_596, "420MiB", '"209MiB"', '"208MiB"'),
        (BYTES, 1_288_490_189, "1.2GiB", '"1.5GiB"', '"1.0GiB"'),  # a tenth of a GiB is no whole number of bytes
        (BYTES, 1_288_490_189, "1.25GiB", '"1.25GiB"', '"1.00GiB"'),
        (BYTES, 1_288_490_189, "420MiB", '"1229MiB"', '"1228MiB"'),
        (BYTES, 1_288_490_189, "999KB", '"1.29GB"', '"1.28GB"'),
        (BYTES, 219_028_596, "github-file", "219_028_596", "219_028_596"),
        (FLOPS, 22_348_431_360, "22.0G", '"22.4G"', '"22.3G"'),
        (FLOPS, 1_022_348_431_360, "22.0G", '"1.03T"', '"1.02T"'),
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
    low, high = (
        PARAMETERS.parse(text.strip('"') if text.startswith('"') else int(text))
        for text in (restated(count, "min", like, PARAMETERS), restated(count, "max", like, PARAMETERS))
    )
    assert low <= count <= high
    assert (low == high) == (low == count)
    for bound in ("min", "max"):
        assert restated(low, bound, like, PARAMETERS) == restated(count, "min", like, PARAMETERS)
    assert restated(high, "max", like, PARAMETERS) == restated(count, "max", like, PARAMETERS)


@given(COUNTS, QUANTITIES, st.integers(0, 12), st.sampled_from(["min", "max"]), st.data())
def test_a_rounded_bound_is_less_than_one_step_away_or_one_percent(
    count: int, quantity: Quantity, places: int, bound: str, data: st.DataObject
) -> None:
    unit = data.draw(st.sampled_from([unit for unit, scale in quantity.scales.items() if scale > 1]))
    like = f"1{'.' if places else ''}{'0' * places}{unit}"
    written = as_number(restated(count, bound, like, quantity).strip('"'), quantity)
    step = Fraction(quantity.scales[unit], (2 if "i" in unit else 10) ** places)
    difference = written - count if bound == "max" else count - written
    assert 0 <= difference < max(step, Fraction(1), Fraction(count, 100))
