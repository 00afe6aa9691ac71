"""Every closed form against the class that transformers builds: tensor by tensor, over all fields that matter."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_bertsize.closed_forms import FAMILIES
from pytest_bertsize.closed_forms.symbols import symbolic
from pytest_bertsize.config.vocabulary import INERT, PASSED
from tests.support.family_configs import (
    PAIRS,
    Case,
    built_with,
    case,
    cases,
    config_class,
    drawn,
    mismatch,
    sample,
    told,
    typical,
)

if TYPE_CHECKING:
    from pytest_bertsize.config.keys import Choice, Listing, Size, Switch

EXAMPLES, MORE = 3, 6
"""Configs drawn for each architecture; ``benchmarks/closed_forms.py`` draws a thousand for each family."""


OF_TODAY = {
    *("llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "gemma3_text", "phi3", "modernbert-decoder", "opt"),
    *("gpt_neox", "jina_embeddings_v3", "clip_text_model", "siglip_text_model", "layoutlmv3", "lilt", "markuplm"),
    *("umt5", "m2m_100", "led", "whisper"),
}
"""Families of which a run at the desk draws one config for each class; a longer one draws as many as of the others."""


def longer_of_today(names: Iterable[str]) -> list[Any]:
    """The families, those of today in a longer run alone."""
    return [pytest.param(name, marks=pytest.mark.long if name in OF_TODAY else ()) for name in names]


@pytest.mark.parametrize(("family", "architecture"), PAIRS)
def test_every_tensor_is_the_built_models(family: str, architecture: str) -> None:
    @given(case=cases(family, architecture))
    @settings(max_examples=1 if family in OF_TODAY else EXAMPLES)
    def hold(case: Case) -> None:
        assert mismatch(case) == ""

    hold()


@pytest.mark.long
@pytest.mark.parametrize(("family", "architecture"), PAIRS)
@given(data=st.data())
@settings(max_examples=MORE)
def test_every_tensor_of_more_configs_is_the_built_models(family: str, architecture: str, data: st.DataObject) -> None:
    assert mismatch(data.draw(cases(family, architecture))) == ""


@pytest.mark.parametrize(("family", "architecture"), PAIRS)
@given(data=st.data())
@settings(max_examples=2)
def test_count_tensors_components_and_formula_tell_one_story(
    family: str, architecture: str, data: st.DataObject
) -> None:
    form = data.draw(cases(family, architecture)).closed_form()
    assert form.total == form.unique == form["total"]
    assert form.components == form.components
    assert form.stored == form.stored
    symbols = symbolic(form.dims)
    total = sum(term.total for term in form.architecture.terms(symbols))
    assert int(total) == form.total


@pytest.mark.parametrize("name", FAMILIES)
def test_every_class_that_transformers_has_for_a_family_has_a_closed_form(name: str) -> None:
    """Of those that are made from its config: a file of the library may have the classes of a picture model, too."""
    module = sys.modules[config_class(name).__module__.replace(".configuration_", ".modeling_")]
    public = {
        each
        for each, found in vars(module).items()
        if isinstance(found, type)
        and issubclass(found, transformers.PreTrainedModel)
        and found.__module__ == module.__name__
        and getattr(found, "config_class", None) is config_class(name)
        and hasattr(transformers, each)
        and not each.endswith("PreTrainedModel")
    }
    assert public - LEFT_OUT == {architecture.name for architecture in FAMILIES[name].architectures}


LEFT_OUT = {
    "EsmForProteinFolding",  # a folding trunk on top of ESM, with a config of its own inside
    "PretrainedBartModel",  # an old name of a class without parameters
    "BartPretrainedModel",
}


@pytest.mark.parametrize(("family", "architecture"), PAIRS)
def test_an_architecture_says_whether_labels_count(family: str, architecture: str) -> None:
    drawn = [found.closed_form() for found in sample(family, architecture)[:10]]
    three, four = (
        [form.with_dims(sizes={**form.dims.sizes, "C": labels}).total for form in drawn] for labels in (3, 4)
    )
    assert (three != four) == drawn[0].architecture.labels


@pytest.mark.parametrize(("family", "architecture"), PAIRS)
def test_depth_costs_nothing_until_tensors_are_listed(family: str, architecture: str) -> None:
    """As many terms for a thousand layers as for one: counting takes the same time at any depth."""
    found = typical(family, architecture)[0]
    keys = found.family.keys
    layers = [size.key for size in keys.sizes if size.repeats]
    rest = {
        key: value for key, value in found.config.items() if key not in keys.aliases or keys.aliases[key] not in layers
    }
    shallow, thousand = (
        replace(found, config={**rest, **dict.fromkeys(layers, depth)}).closed_form() for depth in (1, 1_000)
    )
    assert len(shallow.terms) == len(thousand.terms)


ONE_OF_EACH = dict(reversed(PAIRS)).items()
IN_THE_LIBRARY = frozenset(dir(transformers))


@pytest.mark.parametrize(
    ("family", "architecture"),
    [
        pytest.param(*pair, marks=() if pair in ONE_OF_EACH and pair[0] not in OF_TODAY else pytest.mark.long)
        for pair in PAIRS
    ],
)
def test_a_model_of_no_layers_is_the_built_one(family: str, architecture: str) -> None:
    found = drawn(family, architecture, Random(0))  # noqa: S311
    keys = found.family.keys
    layers = {size.key for size in keys.sizes if size.repeats and size.minimum == 0}
    rest = {key: value for key, value in found.config.items() if keys.aliases.get(key, key) not in layers}
    assert bool(layers) == (family not in NEED_LAYERS)
    assert mismatch(replace(found, config={**rest, **dict.fromkeys(layers, 0)})) == ""


NEED_LAYERS = {
    "albert",  # groups of layers that are shared, not layers
    "modernbert",  # has a norm less in its first layer, and its config class refuses to be without
    "modernbert-decoder",
    "t5",  # the first layer holds the table of all of them
    "mt5",
    "umt5",
    "encoder-decoder",  # has no size of its own; those of its sides are their families'
}


@pytest.mark.parametrize("name", [name for name in FAMILIES if name != "encoder-decoder"])
def test_the_drawn_configs_reach_every_field_in_every_way(name: str) -> None:
    """Each switch both ways, each choice and list with more than one value, what may be left out there and not there."""
    family = FAMILIES[name]
    drawn = [case.values() for each in family.architectures for case in sample(name, each.name)]
    seen = {key: {values.switches[key] for values in drawn} for key in drawn[0].switches}
    both = (switch.key for switch in family.keys.switches if (name, switch.key) not in ONE_VALUE)
    assert all(seen[key] == {True, False} for key in both)
    assert all(len(seen[choice.key]) > 1 for choice in family.keys.choices if len(choice.words) > 1)
    assert all(len(seen[listing.key]) > 1 for listing in family.keys.lists)
    for size in family.keys.sizes:
        values = {found.sizes[size.symbol] for found in drawn}
        assert len(values) > 1 or (name, size.key) in ONE_VALUE
        assert size.default is not None or None in values or (name, size.key) in ONE_VALUE


ONE_VALUE = {
    ("esm", "vocab_size"),  # the class cannot do without it
    ("xlm", "is_encoder"),  # the class refuses false
    ("flaubert", "is_encoder"),
    ("xlnet", "max_position_embeddings"),  # the class refuses any
}


# every field that matters is honoured


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_knows_every_field_of_its_config_class_and_its_default(name: str) -> None:
    keys = FAMILIES[name].keys
    fields = {field.name: field for field in dataclasses.fields(config_class(name))}
    assert fields.keys() - keys.meaningful - keys.all_ignored.keys() - keys.inert - INERT - PASSED == set()
    known: list[Size | Switch | Choice | Listing] = [*keys.sizes, *keys.switches, *keys.choices, *keys.lists]
    null = {switch.key for switch in keys.switches if switch.null}
    ours = {each.key: list(each.default) or None if isinstance(each.default, tuple) else each.default for each in known}
    theirs = {key: _default(field) for key, field in fields.items() if key in ours.keys() - null}
    assert {key: default for key, default in ours.items() if key in theirs} == theirs
    assert keys.labels == config_class(name)().num_labels


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # an older release's own, of a newer torch
@pytest.mark.parametrize(
    "name", longer_of_today(name for name in FAMILIES if FAMILIES[name].architectures[0].name in IN_THE_LIBRARY)
)
def test_a_config_of_what_has_to_be_there_is_read_as_the_installed_library_reads_it(name: str) -> None:
    """Every default, as the config object has it; where it has none, as the classes that are built from it do."""
    found = [case(name, each.name, REQUIRED.get(name, {})) for each in FAMILIES[name].architectures]
    lacks = found[0].values().assumed.keys() - found[0].config_said().said.keys()
    wrong = [mismatch(each) if lacks else "; ".join(each.read_otherwise()) for each in found]
    assert wrong == [""] * len(found)


REQUIRED: dict[str, dict[str, Any]] = {
    "esm": {"vocab_size": 33},  # ESM-2's
    "encoder-decoder": {"encoder": {"model_type": "bert"}, "decoder": {"model_type": "bert", "is_decoder": True}},
}
"""What the library has no default for."""


@pytest.mark.parametrize("name", FAMILIES)
def test_every_field_that_was_measured_to_change_a_count_has_a_meaning(name: str) -> None:
    """81,451 builds with one field changed at a time, transformers 5.23: what a family's config class reads, undeclared
    keys among them."""
    measured = json.loads((Path(__file__).parents[1] / "data" / "field-effects.json").read_text("utf-8"))
    assert set(measured.get(name, ())) - FAMILIES[name].keys.meaningful == set()


@pytest.mark.parametrize("crossed", [False, pytest.param(True, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", longer_of_today(FAMILIES))
def test_a_field_that_is_said_to_change_no_count_changes_none(name: str, crossed: bool) -> None:  # noqa: FBT001
    """In every class of the family, around a model with all of its parts switched on and one with them off.

    A field has up to two other values: one is tried around each model, and ``crossed`` the other.
    """
    keys = FAMILIES[name].keys
    defaults = vars(config_class(name)())
    silent = [field for field in defaults if field in keys.all_ignored.keys() | keys.inert]
    others = [[(field, value) for value in _others(defaults[field]) if _taken(name, field, value)] for field in silent]
    rounds = [[each[number % len(each)] for each in others if each] for number in range(2)]
    changed = [
        f"{architecture.name}: {field} = {value!r}"
        for architecture in FAMILIES[name].architectures
        for plain, fields in zip(typical(name, architecture.name), reversed(rounds) if crossed else rounds, strict=True)
        for field, value in _changing(plain, told(plain.closed_form().tensors), fields)
    ]
    assert changed == []


def _taken(name: str, field: str, value: object) -> bool:
    """Whether the config class takes a value: one of another type it may refuse."""
    try:
        config_class(name)(**{field: value})
    except Exception:  # noqa: BLE001  (whatever a class says to a value of the wrong kind)
        return False
    return True


def _changing(plain: Case, before: Mapping[str, object], fields: list[tuple[str, object]]) -> list[tuple[str, object]]:
    """Those with which something else is built: all at once, and halves of them where that is so or is refused."""
    built = built_with(plain, dict(fields))
    if (built is not None and told(built) == before) or (built is None and len(fields) == 1):
        return []
    if len(fields) == 1:
        return fields
    middle = len(fields) // 2
    return _changing(plain, before, fields[:middle]) + _changing(plain, before, fields[middle:])


def _default(field: dataclasses.Field[Any]) -> object:
    """What the config class declares as a field's default."""
    made = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
    return list(made) if isinstance(made, tuple) else made


def _others(value: object) -> list[object]:
    """Other values of a field than its default."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, 2 * value + 3]
    return [3, True] if value is None else []
