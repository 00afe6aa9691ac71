"""Formulas as people write them: one order in text, LaTeX and MathML, and always the number that is counted."""

from __future__ import annotations

import pytest

from pytest_bertsize.closed_forms.blocks import Count, block, layer_norm, linear, parameter, repeat, terms
from pytest_bertsize.closed_forms.formula import Formula, Formulas
from pytest_bertsize.closed_forms.symbols import symbol
from pytest_bertsize.config.dims import Dims
from pytest_bertsize.inventory import TOTAL
from tests.support.family_configs import PAIRS, typical
from tests.support.formulas import value_of, value_of_latex

SIZES = {"V": 30522, "D": 768, "L": 12, "A": 7}
V, D, L, A = map(symbol, SIZES)


def written(*shapes: tuple[Count, ...], times: Count = 1) -> Formula:
    """The formula of some tensors."""
    root = repeat("layer", times, *(parameter(f"p{index}", *shape) for index, shape in enumerate(shapes)))
    return Formulas(Dims(SIZES, {})).sum_all_copies(terms(root))


@pytest.mark.parametrize("switches", ["on", pytest.param("off", marks=pytest.mark.long)])
@pytest.mark.parametrize("family", sorted({family for family, _ in PAIRS}))
def test_every_formula_of_a_family_gives_its_number_as_text_and_as_latex(family: str, switches: str) -> None:
    for architecture in (architecture for of, architecture in PAIRS if of == family):
        for case in typical(family, architecture)[switches == "on" :][:1]:
            form = case.closed_form()
            formulas, sizes = form.formulas(), form.dims.sizes
            assert formulas.keys() == {*form.components, TOTAL}
            for component, formula in formulas.items():
                assert value_of(formula.text, sizes) == form[component], formula
                assert value_of_latex(formula.latex, sizes) == form[component], formula.latex


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
    assert (nothing.text, nothing.latex) == ("0", "0")


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
    ("name", "latex"),
    [
        ("D", "D"),
        ("d_kv", r"d_{\mathrm{kv}}"),
        ("De", r"D_{\mathrm{e}}"),
        ("P2", "P_{2}"),
        ("beta", r"\mathrm{beta}"),
        ("hidden_size", r"\mathrm{hidden\_size}"),
        ("a}$b<i>", r"\mathrm{a\_\_b\_i\_}"),
    ],
)
def test_a_symbol_of_several_letters_is_no_product_and_no_markup(name: str, latex: str) -> None:
    assert written((symbol(name),)).latex == latex


def test_a_power_of_a_sum_has_brackets() -> None:
    assert written((D,), times=(L - 1) ** 2).text == "(L - 1)²·D"
