"""Formulas in MathML: nothing of what the text says is lost, whatever a closed form yields."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_bertsize.reports.html.mathml import typeset
from tests.support.family_configs import PAIRS, typical

MINUS = "\N{MINUS SIGN}"
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_READ = {"\u2062": "·", "⌊": "floor(", "⌋": ")", "⌈": "ceiling(", "⌉": ")", MINUS: "-"}
_READ |= {"+": " + ", ",": ", "}


def read_back(markup: str) -> str:
    """The text that MathML stands for, as our formulas write it."""
    pieces = ET.fromstring(f"<formula>{markup.replace('<wbr>', '')}</formula>")  # noqa: S314  (our own page)
    return "".join(map(_read, pieces))


def _read(element: ET.Element) -> str:
    text = (element.text or "").strip()
    if element.tag == "msup":
        base, power = element
        return _read(base) + _read(power).translate(_RAISED)
    if element.tag in {"math", "mrow", "msub"}:
        return "".join(map(_read, element))
    if text == MINUS and element.get("form") == "infix":
        return " - "
    return _READ.get(text, text) if element.tag == "mo" else text


@pytest.mark.parametrize("family", sorted({family for family, _ in PAIRS}))
def test_every_formula_of_a_family_is_typeset_and_reads_back_as_it_was(family: str) -> None:
    architectures = [architecture for of, architecture in PAIRS if of == family]
    forms = [case.closed_form() for architecture in architectures for case in typical(family, architecture)]
    formulas = {formula for form in forms for formula in form.formulas().values()}
    assert formulas
    for formula in formulas:
        markup = typeset(formula)
        assert markup.startswith("<math>")
        assert read_back(markup) == formula


def test_a_product_has_an_invisible_times_and_a_power_is_raised() -> None:
    assert typeset("4·D²") == "<math><mn>4</mn><mo>\u2062</mo><msup><mi>D</mi><mn>2</mn></msup></math>"


def test_a_long_sum_can_wrap_between_its_summands() -> None:
    markup = typeset("L·(D² - 2·D)")
    assert markup.count("<math>") == 2
    assert f'</math><wbr><math><mo form="infix">{MINUS}</mo><mn>2</mn>' in markup


def test_a_floor_has_its_brackets_and_stays_in_one_piece() -> None:
    markup = typeset("floor((D + 1)/A)")
    assert markup.count("<math>") == 1
    assert markup.startswith("<math><mo>⌊</mo><mo>(</mo><mi>D</mi>")
    assert markup.endswith("<mi>A</mi><mo>⌋</mo></math>")


@pytest.mark.parametrize(
    ("symbol", "below"),
    [("d_kv", "<mi>kv</mi>"), ("De", "<mi>e</mi>"), ("P2", "<mn>2</mn>")],
)
def test_a_symbol_of_several_letters_has_a_subscript_so_that_it_is_no_product(symbol: str, below: str) -> None:
    assert typeset(symbol) == f"<math><msub><mi>{symbol[0]}</mi>{below}</msub></math>"


def test_two_numbers_never_stand_side_by_side() -> None:
    assert typeset("D·2") == "<math><mi>D</mi><mo>·</mo><mn>2</mn></math>"


@pytest.mark.parametrize(
    "text", ["", "<b>", "D**2", "D +", ")(", "(D", "²", "D + ²", "D & T", "D·²", "{{ D }}", "a 'b'"]
)
def test_what_is_no_formula_is_shown_as_it_is_escaped(text: str) -> None:
    markup = typeset(text)
    assert "<b>" not in markup
    if text == "D +":
        assert read_back(markup) == "D + "
    else:
        assert "<math>" not in markup
        assert markup.unescape() == text


@given(st.text(alphabet="DL2²()·+-/,_ floor<>&'\"{}", max_size=20))
def test_whatever_the_text_it_becomes_well_formed_markup(text: str) -> None:
    markup = typeset(text)
    read_back(markup)  # raises where it is not well-formed
    assert "<math>" in markup or markup.unescape() == text
