"""Formulas as people write them: one order in text, LaTeX and and always the number that is counted."""

from __future__ import annotations

import pytest

from pytest_bertsize.closed_forms.blocks import Copies, Count, Term
from pytest_bertsize.closed_forms.formula import Formula, Formulas
from pytest_bertsize.closed_forms.symbols import Numbers, symbol
from pytest_bertsize.config.dims import Dims
from pytest_bertsize.inventory import TOTAL
from tests.support.family_configs import PAIRS, typical
from tests.support.formulas import assert_formulas_count

SIZES = {"V": 30522, "D": 768, "L": 12, "A": 7}
V, D, L, A = (symbol(name, Numbers(SIZES)) for name in SIZES)


def written(*shapes: tuple[Count, ...], times: Count = 1) -> Formula:
    """The formula of some tensors."""
    terms = [Term(f"layer.*.p{index}", shape, "", copies=(Copies(times),)) for index, shape in enumerate(shapes)]
    return Formulas(Dims(SIZES, {})).sum_all_copies(terms)


@pytest.mark.parametrize("switches", ["on", pytest.param("off", marks=pytest.mark.long)])
@pytest.mark.parametrize("family", sorted({family for family, _ in PAIRS}))
def test_every_formula_of_a_family_gives_its_number_as_text_and_as_latex(family: str, switches: str) -> None:
    for architecture in (architecture for of, architecture in PAIRS if of == family):
        for case in typical(family, architecture)[switches == "on" :][:1]:
            form = case.closed_form()
            assert form.formulas().keys() == {*form.components, TOTAL}
            assert_formulas_count(form)


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (written((V, D)), "V·D"),
        (written((D,), (V, D), (D, D), (D,), times=L), "L·(V·D + D² + 2·D)"),
        (written((D,), (D,), times=L), "2·L·D"),
        (written((D,), (D,), times=L - 1), "2·(L - 1)·D"),
        (written((2,), times=L - 1), "2·L - 2"),
        (written((A, D // A)), "A·floor(D/A)"),
        (written((L, D // L)), "D"),
        (written((D,), times=(L - 1) ** 2), "(L² - 2·L + 1)·D"),
    ],
)
def test_rows_come_before_columns_squares_first_and_a_repeat_before_what_it_repeats(
    formula: Formula, text: str
) -> None:
    assert formula.text == text


def test_latex_and_numbers_are_in_the_order_of_the_text() -> None:
    assert written((V, D), (D, D), times=L).latex == r"L \cdot (V \cdot D + D^{2})"
    assert written((A, D // A)).latex == r"A \cdot \left\lfloor{D/A}\right\rfloor"
    assert written((V, D), (D, D), times=L).in_numbers(SIZES) == "12·(30522·768 + 768²)"


@pytest.mark.parametrize(
    ("name", "latex"),
    [
        ("d_kv", r"d_{\mathrm{kv}}"),
        ("P2", "P_{2}"),
        ("hidden_size", r"\mathrm{hidden\_size}"),
        ("c.De", r"\mathrm{c\_De}"),
    ],
)
def test_a_symbol_of_several_letters_is_no_product_and_no_markup(name: str, latex: str) -> None:
    assert written((symbol(name, Numbers(SIZES)),)).latex == latex
