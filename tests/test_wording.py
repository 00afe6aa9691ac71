"""What comes from a file, as a message shows it: on one line, of bounded length, steering nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_bertsize.wording import (
    LONGEST,
    did_you_mean,
    is_name,
    listed,
    nearest_to,
    number,
    plural,
    printable,
    shown,
)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("hidden_size", "hidden_size"),
        ("Größe 12 × 3", "Größe 12 × 3"),
        ("a\nb\r\tc", r"a\nb\r\tc"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("\u202eright to left", r"\u202eright to left"),
        ("\ud800", r"\ud800"),
        ("::error file=a.py::no", r":\x3aerror file=a.py:\x3ano"),
        ("a:::b", r"a:\x3a:b"),
        ("##[error]no", r"#\x23[error]no"),
        ("##vso[task.complete]", r"#\x23vso[task.complete]"),
        ("```\n<script>", r"``\x60\n<script>"),
    ],
)
def test_what_would_steer_a_log_is_escaped(text: str, told: str) -> None:
    assert printable(text) == told
    assert printable(told) == told


@pytest.mark.parametrize("text", ["x" * LONGEST, "x" * (LONGEST - 2) + "\n"])
def test_two_hundred_characters_are_shown_whole(text: str) -> None:
    assert printable(text) == text.replace("\n", r"\n")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x" * (LONGEST + 1), "x" * (LONGEST - 1) + "…"),
        ("x" * (LONGEST - 1) + "\n", "x" * (LONGEST - 1) + "…"),
        ("\U000e0001" * 200, r"\U000e0001" * 19 + "…"),
    ],
)
def test_a_longer_text_is_cut_and_no_escape_in_two(text: str, told: str) -> None:
    assert printable(text) == told


@given(st.text(max_size=300), st.integers(1, 250))
@example(":" * 400, 200)
def test_nothing_steers_and_nothing_is_longer_than_it_may_be(text: str, longest: int) -> None:
    told = printable(text, longest)
    assert told.isprintable()
    assert len(told) <= longest
    assert not [steering for steering in ("::", "##", "```") if steering in told]


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (None, "null"),
        (True, "true"),
        ("a\nb", r'"a\\nb"'.replace("\\\\", "\\")),
        ([1, "é"], '[1, "é"]'),
        (object(), "<object>"),
    ],
)
def test_a_value_is_shown_as_json_writes_it(value: object, told: str) -> None:
    assert shown(value) == told


def test_a_number_that_would_fill_lines_is_described() -> None:
    assert number(30_522) == "30,522"
    assert number(10**30 - 1) == "999,999,999,999,999,999,999,999,999,999"
    assert number(-(10**30)) == number(10**4_000) == "a number of more than 30 digits"


@pytest.mark.parametrize("name", ["bert", "deberta-v2", "BertModel", "_Own", "a" * 100])
def test_a_name_is_letters_digits_and_a_few_signs(name: str) -> None:
    assert is_name(name)


@pytest.mark.parametrize("name", ["", "2bert", "os.system", "a b", "a::b", "bert\n", "é", "a" * 101])
def test_anything_else_is_no_name(name: str) -> None:
    assert not is_name(name)


def test_the_nearest_name_is_found_in_whatever_case() -> None:
    known = ["hidden_size", "vocab_size", "BertModel"]
    assert nearest_to("hiden_size", known) == "hidden_size"
    assert nearest_to("HIDDEN_SIZE", known) == "hidden_size"
    assert nearest_to("bertmodel", known) == "BertModel"
    assert nearest_to("nothing like it", known) == ""
    assert nearest_to("x" * 1_000_000, known) == ""


@pytest.mark.parametrize(
    ("name", "written", "sentence"),
    [
        ("hiden_size", repr, "did you mean 'hidden_size'?"),
        ("hiden_size", shown, 'did you mean "hidden_size"?'),
        ("hiden_size", str, "did you mean hidden_size?"),
        ("nothing like it", repr, "write it"),
        (12, repr, "write it"),
    ],
)
def test_a_near_miss_is_asked_about_and_anything_else_is_told_what_to_write(
    name: object, written: Callable[[str], str], sentence: str
) -> None:
    assert did_you_mean(name, ["hidden_size", "vocab_size"], "write it", written) == sentence


def test_a_list_names_the_first_and_counts_the_rest() -> None:
    assert listed([], 2) == ""
    assert listed(["a", "b"], 2) == "a, b"
    assert listed(["a", "b", "c"], 2) == "a, b and 1 more"
    assert listed(["a"] * 1_002, 2, "; ", last="; and ") == "a; a; and 1,000 more"


def test_one_thing_is_not_said_as_several() -> None:
    assert [plural(n, "row") for n in (0, 1, 2_000)] == ["0 rows", "1 row", "2,000 rows"]
    assert plural(2, "component is", "components are") == "2 components are"
