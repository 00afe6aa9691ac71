"""What comes from a file, as a message shows it: on one line, of bounded length, steering nothing."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_bertsize.wording import (
    is_name,
    listed,
    nearest_to,
    number,
    printable,
)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Größe 12 × 3", "Größe 12 × 3"),
        ("a\nb\r\tc", r"a\nb\r\tc"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("\u202eright to left", r"\u202eright to left"),
        ("\ud800", r"\ud800"),
        ("::error file=a.py::no", r":\x3aerror file=a.py:\x3ano"),
        ("##[error]no", r"#\x23[error]no"),
        ("```\n<script>", r"``\x60\n<script>"),
    ],
)
def test_what_would_steer_a_log_is_escaped(text: str, told: str) -> None:
    assert printable(text) == told
    assert printable(told) == told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("one two three", "one two…"),
        ("one two", "one two"),
        ("one two th", "one two th"),
        ("unbrokenword", "unbrokenw…"),
    ],
)
def test_a_long_text_is_cut_between_words(text: str, told: str) -> None:
    assert printable(text, 10) == told


@given(st.text(max_size=300), st.integers(1, 250))
@example(":" * 400, 200)
def test_nothing_steers_and_nothing_is_longer_than_it_may_be(text: str, longest: int) -> None:
    told = printable(text, longest)
    assert told.isprintable()
    assert len(told) <= longest
    assert not [steering for steering in ("::", "##", "```") if steering in told]


def test_a_number_that_would_fill_lines_is_described() -> None:
    assert number(30_522) == "30,522"
    assert number(10**30 - 1) == "999,999,999,999,999,999,999,999,999,999"
    assert number(-(10**30)) == number(10**4_000) == "a number of more than 30 digits"


def test_the_nearest_name_is_found_in_whatever_case() -> None:
    known = ["hidden_size", "vocab_size", "BertModel"]
    assert nearest_to("hiden_size", known) == "hidden_size"
    assert nearest_to("HIDDEN_SIZE", known) == "hidden_size"
    assert nearest_to("bertmodel", known) == "BertModel"
    assert nearest_to("nothing like it", known) == ""
    assert nearest_to("x" * 1_000_000, known) == ""


def test_a_list_names_the_first_and_counts_the_rest() -> None:
    assert listed([], 2) == ""
    assert listed(["a", "b"], 2) == "a, b"
    assert listed(["a", "b", "c"], 2) == "a, b and 1 more"
    assert listed(["a"] * 1_002, 2, "; ", last="; and ") == "a; a; and 1,000 more"


@pytest.mark.parametrize("name", ["", "2bert", "os.system", "a b", "a::b", "bert\n", "é", "a" * 101])
def test_a_name_is_letters_digits_and_a_few_signs(name: str) -> None:
    assert is_name("deberta-v2")
    assert not is_name(name)
