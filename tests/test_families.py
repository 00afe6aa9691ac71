"""Every closed form against the class that transformers builds: tensor by tensor, over all fields that matter."""

from __future__ import annotations

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_bertsize.closed_forms.blocks import terms
from tests.family_configs import PAIRS, cases, mismatch

EXAMPLES = 12
"""Configs drawn for each architecture; ``benchmarks/closed_forms.py`` draws a thousand for each family."""


@pytest.mark.parametrize(("family", "architecture"), PAIRS)
@given(data=st.data())
@settings(max_examples=EXAMPLES)
def test_every_tensor_is_the_built_models(family: str, architecture: str, data: st.DataObject) -> None:
    assert mismatch(data.draw(cases(family, architecture))) == ""


@pytest.mark.parametrize(("family", "architecture"), PAIRS)
@given(data=st.data())
@settings(max_examples=3)
def test_count_tensors_components_and_formula_tell_one_story(
    family: str, architecture: str, data: st.DataObject
) -> None:
    form = data.draw(cases(family, architecture)).closed_form()
    assert form.total == form.inventory.unique == form.inventory["total"]
    assert form.components == form.inventory.components
    assert form.stored == form.inventory.stored
    symbolic = form.dims.symbolic()
    total = sum(term.total for term in terms(form.architecture.blocks(symbolic)))
    values = {symbol: form.dims.sizes[name] for name, symbol in symbolic.sizes.items() if symbol is not None}
    assert sympy.sympify(total).subs(values) == form.total
