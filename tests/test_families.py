"""Every closed form against the class that transformers builds: tensor by tensor, over all fields that matter."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_bertsize.closed_forms import FAMILIES
from pytest_bertsize.closed_forms.blocks import terms
from pytest_bertsize.config_vocabulary import INERT, PASSED
from tests.family_configs import PAIRS, built_with, cases, config_class, mismatch, typical

if TYPE_CHECKING:
    from pytest_bertsize.config_keys import Choice, Listing, Size, Switch

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


# every field that matters is honoured


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_knows_every_field_of_its_config_class_and_its_default(name: str) -> None:
    keys = FAMILIES[name].keys
    fields = {field.name: field for field in dataclasses.fields(config_class(name))}
    assert fields.keys() - keys.meaningful - keys.ignored.keys() - keys.inert - INERT - PASSED == set()
    library = vars(config_class(name)())
    known: list[Size | Switch | Choice | Listing] = [*keys.sizes, *keys.switches, *keys.choices, *keys.lists]
    ours = {each.key: list(each.default) or None if isinstance(each.default, tuple) else each.default for each in known}
    theirs = {key: list(value) if isinstance(value, tuple) else value for key, value in library.items()}
    assert ours == {key: theirs.get(key, default) for key, default in ours.items()}


@pytest.mark.parametrize("name", FAMILIES)
def test_every_field_that_was_measured_to_change_a_count_has_a_meaning(name: str) -> None:
    """81,451 builds with one field changed at a time, transformers 5.23: what a family's config class reads, undeclared
    keys among them."""
    measured = json.loads((Path(__file__).parent / "field-effects.json").read_text("utf-8"))
    assert set(measured.get(name, ())) - FAMILIES[name].keys.meaningful == set()


@pytest.mark.parametrize("name", FAMILIES)
def test_a_field_that_is_said_to_change_no_count_changes_none(name: str) -> None:
    """One field at a time, in every class of the family, around a model with all of its parts switched on and off."""
    keys = FAMILIES[name].keys
    defaults = vars(config_class(name)())
    silent = [field for field in defaults if field in keys.ignored.keys() | keys.inert]
    changed = [
        f"{architecture.name}: {field} = {value!r}"
        for architecture in FAMILIES[name].architectures
        for plain in typical(name, architecture.name)
        for field in silent
        for value in _others(defaults[field])
        if built_with(plain, {field: value}) not in (built_with(plain, {}), None)
    ]
    assert changed == []


def _others(value: object) -> list[object]:
    """Other values of a field than its default."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, 2 * value + 3]
    return [3, True] if value is None else []
