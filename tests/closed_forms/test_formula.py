"""Formulas as people write them: one order in text, LaTeX and MathML, and always the number that is counted."""

from __future__ import annotations

import pytest

from pytest_bertsize.closed_forms.blocks import Count, block, layer_norm, linear, parameter, repeat, terms
from pytest_bertsize.closed_forms.formula import Formula, Formulas, of_symbol
from pytest_bertsize.config.dims import Dims
from pytest_bertsize.config.symbols import symbol
from pytest_bertsize.inventory import TOTAL
from tests.support.family_configs import PAIRS, typical
from tests.support.formulas import read_mathml, value_of, value_of_latex, value_of_mathml

SIZES = {"V": 30522, "D": 768, "L": 12, "A": 7}
V, D, L, A = map(symbol, SIZES)
MINUS = "\N{MINUS SIGN}"


def written(*shapes: tuple[Count, ...], times: Count = 1) -> Formula:
    """The formula of some tensors."""
    root = repeat("layer", times, *(parameter(f"p{index}", *shape) for index, shape in enumerate(shapes)))
    return Formulas(Dims(SIZES, {})).all(terms(root))


@pytest.mark.parametrize("switches", ["on", pytest.param("off", marks=pytest.mark.long)])
@pytest.mark.parametrize("family", sorted({family for family, _ in PAIRS}))
def test_every_formula_of_a_family_gives_its_number_as_text_as_latex_and_in_mathml(family: str, switches: str) -> None:
    for architecture in (architecture for of, architecture in PAIRS if of == family):
        for case in typical(family, architecture)[switches == "on" :][:1]:
            form = case.closed_form()
            formulas, sizes = form.formulas(), form.dims.sizes
            assert formulas.keys() == {*form.components, TOTAL}
            for component, formula in formulas.items():
                assert value_of(formula.text, sizes) == form[component], formula
                assert value_of_latex(formula.latex, sizes) == form[component], formula.latex
                assert value_of_mathml(formula.mathml, sizes) == form[component], formula.mathml


def test_rows_come_before_columns_squares_first_and_a_repeat_before_what_it_repeats() -> None:
    assert written((V, D)).text == "V·D"
    assert written((D,), (V, D), (D, D), (D,), times=L).text == "L·(V·D + D² + 2·D)"


def test_a_repeat_of_a_single_product_needs_no_brackets() -> None:
    assert written((D,), (D,), times=L).text == "2·L·D"
    assert written((D,), (D,), times=L - 1).text == "2·(L - 1)·D"
    assert written((2,), times=L - 1).text == "2·L - 2"


def test_the_total_has_its_components_in_the_order_of_a_forward_pass() -> None:
    head = linear("head", D, V, component="head")
    root = block("", head, repeat("layer", L, layer_norm("norm", D), component="encoder.norm"))
    assert Formulas(Dims(SIZES, {})).by_component(terms(root))[TOTAL].text == "2·L·D + V·D + V"


def test_what_owns_nothing_is_zero() -> None:
    nothing = Formula(())
    assert (nothing.text, nothing.latex, nothing.mathml) == ("0", "0", "<math><mn>0</mn></math>")


def test_a_quotient_that_comes_out_even_has_no_floor() -> None:
    assert written((A, D // A)).text == "A·floor(D/A)"
    assert written((L, D // L)).text == "D"


def test_sizes_stand_in_place_of_their_symbols() -> None:
    assert written((V, D), (D, D), times=L).in_numbers(SIZES) == "12·(30522·768 + 768²)"


def test_a_formula_knows_its_symbols() -> None:
    assert written((V, D), (D,), times=L).symbols == {"V", "D", "L"}


def test_latex_is_in_the_order_of_the_text() -> None:
    assert written((V, D), (D, D), times=L).latex == r"L \cdot (V \cdot D + D^{2})"
    assert written((A, D // A)).latex == r"A \cdot \left\lfloor{\frac{D}{A}}\right\rfloor"


@pytest.mark.parametrize(
    ("name", "latex", "mathml"),
    [
        ("D", "D", "<mi>D</mi>"),
        ("d_kv", r"d_{\mathrm{kv}}", "<msub><mi>d</mi><mi>kv</mi></msub>"),
        ("De", r"D_{\mathrm{e}}", "<msub><mi>D</mi><mi>e</mi></msub>"),
        ("P2", "P_{2}", "<msub><mi>P</mi><mn>2</mn></msub>"),
        ("beta", r"\mathrm{beta}", "<mi>beta</mi>"),
        ("hidden_size", r"\mathrm{hidden\_size}", "<mi>hidden_size</mi>"),
        ("a}$b<i>", r"\mathrm{a\_\_b\_i\_}", "<mi>a}$b&lt;i&gt;</mi>"),
    ],
)
def test_a_symbol_of_several_letters_is_no_product_and_no_markup(name: str, latex: str, mathml: str) -> None:
    assert (of_symbol(name).latex, of_symbol(name).mathml) == (latex, f"<math>{mathml}</math>")


def test_a_product_in_mathml_has_an_invisible_times_and_a_power_is_raised() -> None:
    assert written((4, D, D)).mathml == "<math><mn>4</mn><mo>\u2062</mo><msup><mi>D</mi><mn>2</mn></msup></math>"


def test_a_long_sum_in_mathml_can_wrap_between_its_summands() -> None:
    markup = written((D, D), (D - 2,), times=L).mathml
    assert markup.count("<math>") == 3
    assert f'</math><wbr><math><mo form="infix">{MINUS}</mo><mn>2</mn>' in markup


def test_brackets_that_stand_in_two_elements_are_of_one_height() -> None:
    formula = written((D, D), (D,), times=L).mathml
    opening, closing = (piece for piece in formula.split("<wbr>") if "(" in piece or ")" in piece)
    assert '<mo stretchy="false">(</mo>' in opening
    assert '<mo stretchy="false">)</mo>' in closing


def test_a_floor_in_mathml_has_its_brackets_and_stays_in_one_piece() -> None:
    markup = written(((D + 1) // A,)).mathml
    assert markup.count("<math>") == 1
    assert read_mathml(markup) == "floor(((D)/(A))+((1)/(A)))"


def test_a_power_of_a_sum_in_mathml_has_brackets_that_browsers_know() -> None:
    formula = written((D,), times=(L - 1) ** 2)
    assert formula.text == "(L - 1)²·D"
    assert read_mathml(formula.mathml) == "(L-1)**2*D"
