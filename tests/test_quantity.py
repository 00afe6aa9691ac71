"""Quantities as people write them, exactly; and as tables show them, never better than they are."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_bertsize.quantity import (
    BYTE_SCALES,
    BYTES,
    FLOP_SCALES,
    FLOPS,
    LARGEST,
    LARGEST_OF_OTHERS,
    PARAMETERS,
    SCALES,
    compact_left,
    parse_bytes,
    parse_count,
    parse_flops,
    percent_used,
    restated,
)
from pytest_bertsize.wording import exact, signed

if TYPE_CHECKING:
    from pytest_bertsize.quantity import Quantity

HOW = (
    " is not a count of parameters: write a whole number, or a string such as '110M' or '1.2B' "
    "(K, M, B, T are powers of 1,000)"
)
BEYOND = " is more than any model has: the largest count is 1,000,000,000,000,000"
BYTES_HOW = (
    " is not a number of bytes: write a whole number, or a string such as '440MB' or '420MiB' "
    "(kB, MB, GB, TB are powers of 1,000; KiB, MiB, GiB, TiB powers of 1,024)"
)
FLOPS_HOW = (
    " is not a number of FLOPs: write a whole number, or a string such as '22G' or '1.5T' "
    "(K, M, G, T, P are powers of 1,000, and a multiply-add is 2 FLOPs)"
)
DECIMALS = {"": 0, "K": 3, "M": 6, "B": 9, "T": 12}
"""Digits behind the point that a unit needs to write any count in full."""

OTHERS = st.integers(0, LARGEST_OF_OTHERS)
COUNTS = st.integers(0, LARGEST)
DIFFERENCES = st.integers(-LARGEST, LARGEST)
STYLES = st.sampled_from(
    ["110M", "110.0M", "1.20B", "0.5K", "1_000K", "1.000T", "110_000_000", "86000000", 86_000_000, {"max": "1M"}]
)


def said_about(value: object) -> str:
    with pytest.raises(ValueError) as refused:  # noqa: PT011  (the whole message is compared)
        parse_count(value)
    return str(refused.value)


def refused(parse: Callable[[object], int], value: object) -> str:
    with pytest.raises(ValueError) as error:  # noqa: PT011  (the whole message is compared)
        parse(value)
    return str(error.value)


def in_full(count: int, unit: str) -> str:
    """``(110_500_000, "M")`` → ``'110.500000M'``."""
    whole, rest = divmod(count, SCALES[unit])
    return f"{whole}.{rest:0{DECIMALS[unit]}d}{unit}" if unit else f"{whole}"


def as_number(shown: str) -> Fraction:
    """What a compact text says, read apart from the module under test: ``'-13.3M'`` → -13,300,000."""
    unit = shown[-1] if shown[-1] in "KMBT" else ""
    return Fraction(shown.removesuffix(unit).replace(",", "")) * SCALES[unit]


# read


@pytest.mark.parametrize(
    ("written", "count"),
    [
        (0, 0),
        (1, 1),
        (86_000_000, 86_000_000),
        (LARGEST, 10**15),
        ("0", 0),
        ("86000000", 86_000_000),
        ("86_000_000", 86_000_000),
        ("110M", 110_000_000),
        ("1.2B", 1_200_000_000),
        ("0.5K", 500),
        ("1.001K", 1_001),
        ("102.290312M", 102_290_312),  # bert-base-chinese: SOURCES D
        ("1T", 1_000_000_000_000),
        ("1_024K", 1_024_000),
        ("1_000T", 10**15),
    ],
    ids=repr,
)
def test_a_count_is_read_exactly(written: object, count: int) -> None:
    assert parse_count(written) == count


@given(COUNTS, st.sampled_from(list(SCALES)))
def test_any_count_survives_being_written_in_any_unit(count: int, unit: str) -> None:
    assert parse_count(in_full(count, unit)) == count


@given(COUNTS)
def test_any_count_survives_being_written_in_digits(count: int) -> None:
    assert parse_count(count) == parse_count(str(count)) == parse_count(f"{count:_}") == count


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1.0, "1.0"),
        (110e6, "110000000.0"),
        (float("inf"), "inf"),
        (None, "None"),
        (True, "True"),
        (False, "False"),
        ([1], "[1]"),
        ({"max": 1}, "{'max': 1}"),
    ],
    ids=repr,
)
def test_anything_but_whole_numbers_and_texts_is_refused(value: object, shown: str) -> None:
    assert said_about(value) == f"{shown}{HOW}"


def test_a_float_is_refused_even_when_it_is_whole() -> None:
    assert said_about(103_000_000.0) == f"103000000.0{HOW}"


@pytest.mark.parametrize(
    "text",
    ["", "M", "-5M", "+5M", "1e6", "1.M", ".5M", "1__0", "_1", "1_", "1.2.3M", "1.2G", "110 million", "110Mio", "abc"],
)
def test_a_text_that_is_no_count_is_refused(text: str) -> None:
    assert said_about(text) == f"'{text}'{HOW}"


def test_digits_of_other_scripts_are_refused() -> None:
    arabic_110 = "\N{ARABIC-INDIC DIGIT ONE}\N{ARABIC-INDIC DIGIT ONE}\N{ARABIC-INDIC DIGIT ZERO}M"
    assert said_about(arabic_110) == f"'{arabic_110}'{HOW}"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("110m", "110M"),
        ("110 M", "110M"),
        ("110M ", "110M"),
        ("110MB", "110M"),
        ("110mb", "110M"),
        ("110KB", "110K"),
        ("110M params", "110M"),
        ("110M parameters", "110M"),
        ("12 params", "12"),
        ("1,000,000", "1000000"),
        ("1.2b", "1.2B"),
        ("1.2BB", "1.2B"),
        ("1.2 B", "1.2B"),
        ("1.2 b", "1.2B"),
        ("110B parameters", "110B"),
        ("1.2B params", "1.2B"),
        ("1.2B PARAMS", "1.2B"),
        ("12 Parameters", "12"),
    ],
)
def test_the_spelling_that_was_probably_meant_is_named(text: str, meant: str) -> None:
    assert said_about(text) == f"'{text}'{HOW}; did you mean '{meant}'?"


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("1.5", "1.5"),
        ("1.2345678M", "1234567.8"),
        ("0.0001K", "0.1"),
        # more digits than decimal's default context of 28 carries: a rounded product would pass for a whole number
        ("1000000000000.0000000000000001K", "1000000000000000.0000000000001"),
    ],
)
def test_a_fraction_of_a_parameter_is_refused(text: str, amount: str) -> None:
    assert said_about(text) == f"'{text}' is not a whole number of parameters: {amount}"


@pytest.mark.parametrize("count", [-1, -110_000_000])
def test_a_negative_count_is_refused(count: int) -> None:
    assert said_about(count) == f"{count} is negative: a count of parameters never is"


def test_the_largest_count_is_the_last_that_is_read() -> None:
    assert parse_count(LARGEST - 1) == 999_999_999_999_999
    assert parse_count(LARGEST) == 1_000_000_000_000_000
    assert said_about(LARGEST + 1) == f"1000000000000001{BEYOND}"
    assert said_about("1000.000001T") == f"'1000.000001T'{BEYOND}"


def test_a_message_shows_at_most_sixty_characters_of_a_value() -> None:
    assert said_about("x" * 58) == f"'{'x' * 58}'{HOW}"
    assert said_about("x" * 59) == f"'{'x' * 58}…{HOW}"
    assert said_about(10**59) == f"1{'0' * 59}{BEYOND}"
    assert said_about(10**60) == f"1{'0' * 58}…{BEYOND}"


def test_a_text_of_sixty_characters_is_the_longest_that_is_read() -> None:
    assert parse_count(f"{'0_' * 29}10") == 10
    assert said_about(f"{'0_' * 29}1m") == f"'{'0_' * 29}…{HOW}; did you mean '{'0_' * 29}1M'?"


def test_a_longer_text_is_no_count_and_nothing_is_proposed_in_its_place() -> None:
    assert said_about(f"{'0_' * 30}1") == f"'{'0_' * 29}…{HOW}"


def test_a_count_of_more_digits_than_python_writes_is_still_named() -> None:
    # a TOML file can say 0x1000…; 4,817 digits, Python writes 4,300
    assert said_about(16**4000) == f"a value of type int{BEYOND}"


# write


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0"), (999, "999"), (1_000, "1,000"), (109_482_240, "109,482,240")], ids=repr
)
def test_an_exact_count_has_its_thousands_set_apart(number: int, text: str) -> None:
    assert exact(number) == text


@pytest.mark.parametrize(("delta", "text"), [(-1_000, "-1,000"), (-1, "-1"), (0, "0"), (1, "+1"), (30_522, "+30,522")])
def test_a_difference_has_its_sign_and_zero_has_none(delta: int, text: str) -> None:
    assert signed(delta) == text


@pytest.mark.parametrize(
    ("left", "text"),
    [
        (0, "0"),
        (1, "+1"),
        (-1, "-1"),
        (999, "+999"),
        (1_000, "+1K"),
        (1_001, "+1K"),
        (-999, "-999"),
        (-1_000, "-1K"),
        (-1_001, "-1.1K"),
        (99_999, "+99.9K"),
        (100_500, "+100K"),
        (-100_500, "-101K"),
        (-99_900, "-99.9K"),
        (-99_901, "-100K"),
        (769_000, "+769K"),
        (999_999, "+999K"),
        (-999_000, "-999K"),
        (-999_001, "-1M"),
        (-13_230_208, "-13.3M"),
        (999_999_999_999_999, "+999T"),
        (1_000_000_000_000_000, "+1,000T"),
        (1_000_999_999_999_999, "+1,000T"),
        (-999_999_999_999_999, "-1,000T"),
    ],
)
def test_room_is_rounded_down_and_overshoot_up(left: int, text: str) -> None:
    assert compact_left(left) == text


@given(DIFFERENCES)
def test_room_left_is_never_flattered(left: int) -> None:
    shown = compact_left(left)
    assert as_number(shown) <= left
    assert shown.startswith("+" if left > 0 else "-" if left < 0 else "0")


@given(st.integers(-999 * 10**12, 999 * 10**12))
def test_room_left_is_short_and_near_the_truth(left: int) -> None:
    shown = compact_left(left)
    assert len(shown) <= 6
    assert abs(as_number(shown) - left) <= abs(left) / Fraction(10)


@pytest.mark.parametrize(
    ("actual", "limit", "text"),
    [
        (0, 0, "0%"),
        (1, 0, ">9x"),
        (0, 10, "0%"),
        (1, 10**9, "0%"),
        (96, 100, "96%"),
        (999, 1_000, "99%"),
        (1_000, 1_000, "100%"),
        (1_001, 1_000, "101%"),
        (100, 99, "102%"),  # 101.01
        (89, 10, "890%"),
        (90, 10, "900%"),
        (91, 10, ">9x"),
    ],
)
def test_how_much_of_a_limit_is_used(actual: int, limit: int, text: str) -> None:
    assert percent_used(actual, limit) == text


@given(st.integers(1, LARGEST), st.integers(-2, 2))
@example(10**15, 1)
def test_a_hundred_percent_is_all_of_it_and_neither_more_nor_less(limit: int, beside: int) -> None:
    assert (percent_used(limit + beside, limit) == "100%") == (beside == 0)


@given(COUNTS, COUNTS)
def test_the_share_that_is_used_fits_four_characters_and_tells_over_from_within(actual: int, limit: int) -> None:
    shown = percent_used(actual, limit)
    assert len(shown) <= 4
    over = shown == ">9x" or int(shown.removesuffix("%")) > 100
    assert over == (actual > limit)


@pytest.mark.parametrize(
    ("count", "like", "text"),
    [
        (110_000_000, "110M", '"110M"'),
        (110_000_001, "110M", '"111M"'),
        (113_123_456, "110M", '"114M"'),
        (113_123_456, "110.0M", '"113.2M"'),
        (113_123_456, "1.2B", '"0.2B"'),
        (1_234_567_890, "110M", '"1.24B"'),
        (1_082_114, "623K", '"1.09M"'),
        (1_095_000, "623K", '"1.10M"'),
        (125_985_792, "85.1M", '"126M"'),
        (999_600_000, "99M", '"1.00B"'),
        (11_500_000_000, "2B", '"12B"'),  # as many digits as anybody writes are kept
        (1_082_114, "1000K", '"1083K"'),  # and the unit of somebody who writes thousands of it
        (1_082_114, "1_000K", '"1_083K"'),
        (12_345_678, "1000K", '"12.35M"'),
        (10**15, "1K", '"1000T"'),
        (113_123_456, 86_000_000, "113_123_456"),
        (113_123_456, "86_000_000", "113_123_456"),
        (113_123_456, None, "113_123_456"),
        (0, "110M", '"0M"'),
    ],
)
def test_a_new_budget_is_written_in_the_style_of_the_old(count: int, like: object, text: str) -> None:
    assert restated(count, "max", like, PARAMETERS) == text


@given(COUNTS, STYLES)
def test_a_rounded_budget_lets_its_count_pass_and_keeps_its_style(count: int, like: object) -> None:
    written = restated(count, "max", like, PARAMETERS)
    budget = parse_count(written.strip('"') if written.startswith('"') else int(written))
    assert count <= budget
    assert restated(budget, "max", like, PARAMETERS) == written


@given(COUNTS, st.sampled_from(["K", "M", "B", "T"]), st.integers(0, 12))
def test_a_rounded_budget_is_less_than_one_step_above_or_one_percent(count: int, unit: str, places: int) -> None:
    written = restated(count, "max", f"1{'.' if places else ''}{'0' * places}{unit}", PARAMETERS).strip('"')
    step = Fraction(SCALES[unit], 10**places)
    assert 0 <= as_number(written.replace("_", "")) - count < max(step, Fraction(count, 100))


def test_a_style_of_many_decimals_can_be_kept() -> None:
    assert restated(10**13 + 1, "max", "1.000000000000000000K", PARAMETERS) == '"10.00000000000100000T"'


@pytest.mark.parametrize(
    ("count", "like", "text"),
    [
        (110_000_000, "110M", '"110M"'),
        (109_999_999, "110M", '"109M"'),
        (109_482_240, "110.0M", '"109.4M"'),
        (109_482_240, "1.2B", '"0.1B"'),
        (999_999, "1M", '"0M"'),
        (1_234_567_890, "110M", '"1.23B"'),
        (1_082_114, "623K", '"1.08M"'),
        (125_985_792, "85.1M", '"125M"'),
        (109_482_240, 120_000_000, "109_482_240"),
        (109_482_240, "120_000_000", "109_482_240"),
        (109_482_240, None, "109_482_240"),
        (0, "110M", '"0M"'),
    ],
)
def test_a_new_minimum_is_written_in_the_style_of_the_old(count: int, like: object, text: str) -> None:
    assert restated(count, "min", like, PARAMETERS) == text


@given(COUNTS, STYLES)
def test_a_count_passes_its_rounded_minimum_and_no_larger_one_in_that_style(count: int, like: object) -> None:
    low, high = (
        parse_count(text.strip('"') if text.startswith('"') else int(text))
        for text in (restated(count, "min", like, PARAMETERS), restated(count, "max", like, PARAMETERS))
    )
    assert low <= count <= high
    assert (
        restated(low, "min", like, PARAMETERS)
        == restated(low, "max", like, PARAMETERS)
        == restated(count, "min", like, PARAMETERS)
    )
    assert (low == high) == (low == count)


@pytest.mark.parametrize(
    ("bound", "like", "text"),
    [
        ("max", "110M", '"114M"'),
        ("min", "120M", '"113M"'),
        ("exact", "110M", "113_123_456"),
        ("max", 110_000_000, "113_123_456"),
        ("min", 120_000_000, "113_123_456"),
        ("exact", 110_000_000, "113_123_456"),
    ],
)
def test_each_bound_is_restated_so_that_the_count_just_passes(bound: str, like: object, text: str) -> None:
    assert restated(113_123_456, bound, like, PARAMETERS) == text


@pytest.mark.parametrize(
    ("bound", "like", "quantity", "text"),
    [
        ("max", "500B", BYTES, '"600B"'),
        ("min", "700B", BYTES, '"600B"'),
        ("min", "1.0KiB", BYTES, '"0.5KiB"'),
        ("max", "500B", PARAMETERS, '"1B"'),
        ("min", "500B", PARAMETERS, '"0B"'),
        ("max", "500MB", FLOPS, "600"),
        ("min", "1.0G", FLOPS, '"0.0G"'),
        ("exact", "500B", BYTES, "600"),
    ],
)
def test_a_bound_is_restated_in_the_unit_of_what_is_counted(
    bound: str, like: object, quantity: Quantity, text: str
) -> None:
    assert restated(600, bound, like, quantity) == text


# bytes


@pytest.mark.parametrize(
    ("written", "count"),
    [
        (0, 0),
        (440_000_000, 440_000_000),
        ("440_000_000", 440_000_000),
        ("512B", 512),
        ("1kB", 1_000),
        ("1KB", 1_000),
        ("1KiB", 1_024),
        ("440MB", 440_000_000),
        ("440MiB", 461_373_440),
        ("0.5MiB", 524_288),
        ("1.5GB", 1_500_000_000),
        ("1.5GiB", 1_610_612_736),
        ("1TB", 1_000_000_000_000),
        ("1TiB", 1_099_511_627_776),
        ("9_000TB", 9_000_000_000_000_000),
    ],
    ids=repr,
)
def test_bytes_are_read_exactly_and_powers_of_1000_told_from_those_of_1024(written: object, count: int) -> None:
    assert parse_bytes(written) == count


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("440M", "'440MB' or '440MiB'"),
        ("440m", "'440MB' or '440MiB'"),
        ("1.5G", "'1.5GB' or '1.5GiB'"),
        ("64K", "'64kB' or '64KiB'"),
        ("1T", "'1TB' or '1TiB'"),
        ("440mb", "'440MB'"),
        ("440Mb", "'440MB'"),
        ("440 MB", "'440MB'"),
        ("440mib", "'440MiB'"),
        ("440Mi", "'440MiB'"),
        ("440 MBytes", "'440MB'"),
        ("1,000 kb", "'1000kB'"),
        ("12 bytes", "'12B'"),
    ],
)
def test_a_unit_that_could_be_two_is_refused_and_both_are_named(text: str, meant: str) -> None:
    assert refused(parse_bytes, text) == f"'{text}'{BYTES_HOW}; did you mean {meant}?"


@pytest.mark.parametrize("value", [1.0, True, None, "", "MB", "-1MB", "1e6", "440PB", "440MBit/s"], ids=repr)
def test_what_is_no_number_of_bytes_is_refused(value: object) -> None:
    assert refused(parse_bytes, value) == f"{value!r}{BYTES_HOW}"


def test_a_fraction_of_a_byte_is_refused() -> None:
    assert refused(parse_bytes, "0.1MiB") == "'0.1MiB' is not a whole number of bytes: 104857.6"
    assert refused(parse_bytes, "1.5") == "'1.5' is not a whole number of bytes: 1.5"


def test_bytes_are_neither_negative_nor_more_than_json_has_exactly() -> None:
    assert refused(parse_bytes, -1) == "-1 is negative: a number of bytes never is"
    assert parse_bytes(LARGEST_OF_OTHERS) == LARGEST_OF_OTHERS < 2**53
    assert refused(parse_bytes, "9001TB") == (
        "'9001TB' is more than any model has: the largest number is 9,000,000,000,000,000"
    )


@given(st.integers(0, 2**12), st.sampled_from(["KiB", "MiB", "GiB", "TiB"]), st.integers(0, 10))
def test_any_half_of_a_half_is_read_exactly_in_powers_of_1024(halves: int, unit: str, times: int) -> None:
    written = f"{halves * 5**times:0{times + 1}d}"
    text = f"{written[: len(written) - times]}.{written[len(written) - times :]}" if times else written
    assert parse_bytes(f"{text}{unit}") == halves * BYTE_SCALES[unit] // 2**times


# FLOPs


@pytest.mark.parametrize(
    ("written", "count"),
    [
        (22_348_431_360, 22_348_431_360),
        ("22_348_431_360", 22_348_431_360),
        ("22G", 22_000_000_000),
        ("22.34843136G", 22_348_431_360),
        ("500K", 500_000),
        ("1M", 1_000_000),
        ("1.5T", 1_500_000_000_000),
        ("9P", 9_000_000_000_000_000),
    ],
    ids=repr,
)
def test_flops_are_read_exactly(written: object, count: int) -> None:
    assert parse_flops(written) == count


@pytest.mark.parametrize(
    ("text", "meant"),
    [("22B", "22G"), ("22g", "22G"), ("22 GFLOPs", "22G"), ("22gflop", "22G"), ("22BFLOPS", "22G"), ("5 flops", "5")],
)
def test_the_flops_that_were_probably_meant_are_named(text: str, meant: str) -> None:
    assert refused(parse_flops, text) == f"'{text}'{FLOPS_HOW}; did you mean '{meant}'?"


@pytest.mark.parametrize("value", [2.2e10, True, "11GMACs", "22GB", "22GiB", "22E"], ids=repr)
def test_what_is_no_number_of_flops_is_refused_and_multiply_adds_are_not_guessed_at(value: object) -> None:
    assert refused(parse_flops, value) == f"{value!r}{FLOPS_HOW}"


def test_flops_have_the_bounds_of_bytes() -> None:
    assert refused(parse_flops, -1) == "-1 is negative: a number of FLOPs never is"
    assert (
        refused(parse_flops, "10P") == "'10P' is more than any model has: the largest number is 9,000,000,000,000,000"
    )
    assert refused(parse_flops, "0.0001K") == "'0.0001K' is not a whole number of FLOPs: 0.1"


# written back


@pytest.mark.parametrize(
    ("count", "like", "quantity", "text"),
    [
        (219_028_596, "440MB", BYTES, '"220MB"'),
        (219_028_596, "440.0MB", BYTES, '"219.1MB"'),
        (219_028_596, "420MiB", BYTES, '"209MiB"'),
        (219_028_596, "1GiB", BYTES, '"1GiB"'),
        (1_288_490_189, "1.2GiB", BYTES, '"1.5GiB"'),  # a tenth of a GiB is no whole number of bytes
        (1_288_490_189, "1.25GiB", BYTES, '"1.25GiB"'),
        (1_288_490_189, "420MiB", BYTES, '"1229MiB"'),  # nor is a hundredth, and a quarter is too much
        (1_288_490_189, "440MB", BYTES, '"1.29GB"'),
        (1_288_490_189, "999KB", BYTES, '"1.29GB"'),
        (1_000, "1KB", BYTES, '"1KB"'),
        (22_348_431_360, "22G", FLOPS, '"23G"'),
        (22_348_431_360, "22.0G", FLOPS, '"22.4G"'),
        (1_022_348_431_360, "22.0G", FLOPS, '"1.03T"'),
        (22_348_431_360, "1P", FLOPS, '"1P"'),
        (219_028_596, "github-file", BYTES, "219_028_596"),
    ],
)
def test_bytes_and_flops_are_written_in_the_style_of_the_old(
    count: int, like: object, quantity: Quantity, text: str
) -> None:
    assert restated(count, "max", like, quantity) == text


@pytest.mark.parametrize(
    ("count", "like", "quantity", "text"),
    [
        (219_028_596, "440MB", BYTES, '"219MB"'),
        (219_028_596, "440.0MB", BYTES, '"219.0MB"'),
        (219_028_596, "420MiB", BYTES, '"208MiB"'),
        (219_028_596, "1GiB", BYTES, '"0GiB"'),
        (1_288_490_189, "1.2GiB", BYTES, '"1.0GiB"'),  # a tenth of a GiB is no whole number of bytes
        (1_288_490_189, "1.25GiB", BYTES, '"1.00GiB"'),
        (22_348_431_360, "22.0G", FLOPS, '"22.3G"'),
        (219_028_596, "github-file", BYTES, "219_028_596"),
    ],
)
def test_a_minimum_of_bytes_and_flops_is_written_in_the_style_of_the_old(
    count: int, like: object, quantity: Quantity, text: str
) -> None:
    assert restated(count, "min", like, quantity) == text


@given(OTHERS, st.sampled_from([unit for unit in BYTE_SCALES if unit]), st.integers(0, 12))
def test_bytes_pass_their_rounded_minimum(count: int, unit: str, places: int) -> None:
    like = f"1{'.' if places else ''}{'0' * places}{unit}"
    low = parse_bytes(restated(count, "min", like, BYTES).strip('"'))
    assert 0 <= count - low < max(Fraction(BYTE_SCALES[unit]), Fraction(count, 100))


@given(OTHERS, st.sampled_from([unit for unit in BYTE_SCALES if unit]), st.integers(0, 12))
def test_rounded_bytes_let_their_number_pass_and_keep_their_style(count: int, unit: str, places: int) -> None:
    like = f"1{'.' if places else ''}{'0' * places}{unit}"
    written = restated(count, "max", like, BYTES)
    fits = parse_bytes(written.strip('"')) if count <= LARGEST_OF_OTHERS - BYTE_SCALES[unit] else LARGEST_OF_OTHERS
    assert count <= fits
    assert fits - count < max(BYTE_SCALES[unit], count / 100) or fits == LARGEST_OF_OTHERS
    assert written.endswith(f'{unit}"') or (fits >= 1000 * BYTE_SCALES[unit] and "i" not in unit)


@given(OTHERS, st.sampled_from([unit for unit in FLOP_SCALES if unit]), st.integers(0, 12))
def test_rounded_flops_are_less_than_one_step_above_or_one_percent(count: int, unit: str, places: int) -> None:
    written = restated(count, "max", f"1{'.' if places else ''}{'0' * places}{unit}", FLOPS).strip('"').replace("_", "")
    now = written[-1]
    value = Fraction(written.removesuffix(now)) * FLOP_SCALES[now]
    assert 0 <= value - count < max(Fraction(FLOP_SCALES[unit], 10**places), Fraction(count, 100))


@pytest.mark.parametrize(
    ("left", "quantity", "text"),
    [
        (500, BYTES, "+500B"),
        (-13_230_208, BYTES, "-13.3MB"),
        (999_999, BYTES, "+999kB"),
        (-(10**15), BYTES, "-1,000TB"),
        (351_568_640, FLOPS, "+351M"),
        (-348_431_360, FLOPS, "-349M"),
        (-22_348_431_360, FLOPS, "-22.4G"),
        (10**15, FLOPS, "+1P"),
        (0, BYTES, "0"),
    ],
)
def test_room_is_shown_in_the_units_of_what_is_counted(left: int, quantity: Quantity, text: str) -> None:
    assert compact_left(left, quantity) == text
