"""Every closed form against the class that transformers builds: tensor by tensor, over all fields that matter."""

from __future__ import annotations

import dataclasses
import json
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
import transformers
from hypothesis import given, settings

from pytest_bertsize.closed_forms import FAMILIES
from pytest_bertsize.config.keys import INERT, PASSED
from pytest_bertsize.config.older_releases import V4
from tests.support.family_configs import (
    PAIRS,
    RELEASE,
    Case,
    case,
    cases,
    config_class,
    drawn,
    mismatch,
    sample,
    typical,
)

if TYPE_CHECKING:
    from pytest_bertsize.config.keys import Choice, Listing, Size, Switch

IN_THE_LIBRARY = frozenset(dir(transformers))


# every class


@pytest.mark.parametrize(("family", "architecture"), PAIRS)
def test_every_tensor_is_the_built_models(family: str, architecture: str) -> None:
    """In a pair of configs that differ in nearly all switches, and with other values in fields that are to change no count.

    The class is built from the file and from what our reader hands over, which leaves such fields out.
    """
    pair = typical(family, architecture)
    for found, fields in zip(pair, silent_fields(family), strict=True):
        assert mismatch(changed(found, fields)) == "", fields
    forms = (found.closed_form() for found in sample(family, architecture)[:20])
    depends = any(form.total != form.with_dims(sizes={**form.dims.sizes, "C": 7}).total for form in forms)
    assert depends == pair[0].architecture.labels, "an architecture says whether labels count"
    shallow, thousand = (of_depth(pair[0], depth).closed_form() for depth in (1, 1_000))
    assert len(shallow.terms) == len(thousand.terms), "depth costs nothing until tensors are listed"


@pytest.mark.long
@pytest.mark.parametrize(("family", "architecture"), PAIRS)
def test_every_tensor_of_drawn_configs_is_the_built_models(family: str, architecture: str) -> None:
    """``benchmarks/closed_forms.py`` draws a thousand for each family."""

    @given(found=cases(family, architecture))
    @settings(max_examples=1)
    def hold(found: Case) -> None:
        assert mismatch(found) == ""

    hold()


def changed(found: Case, fields: dict[str, Any]) -> Case:
    return replace(found, config={**found.config, **fields})


def of_depth(found: Case, layers: int, least: int = 1) -> Case:
    """With this many layers in each stack that may have as few as ``least``."""
    keys = found.family.keys
    stacks = {size.key for size in keys.sizes if size.repeats and size.minimum <= least}
    rest = {key: value for key, value in found.config.items() if keys.aliases.get(key, key) not in stacks}
    return replace(found, config={**rest, **dict.fromkeys(stacks, layers)})


@cache
def silent_fields(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Two other values for each field of a config class that is to change no count; transformers 4 has other fields."""
    keys, library = FAMILIES[name].keys, config_class(name)
    silent = [
        (field, value) for field, value in vars(library()).items() if field in keys.all_ignored.keys() | keys.inert
    ]
    others = [
        [(field, other) for other in _others(value) if _is_taken(library, field, other)] for field, value in silent
    ]
    found = [dict(each[number % len(each)] for each in others if each) for number in range(2)]
    return ({}, {}) if RELEASE < V4 else (found[0], found[1])


def _others(value: object) -> list[object]:
    """Other values of a field than its default."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):  # a window of attention has to be even
        return [value + 2, 2 * value + 4]
    return [3, True] if value is None else []


def _is_taken(library: Any, field: str, value: object) -> bool:
    """Whether the config class takes a value; two fields have a class that fails for any other value."""
    try:
        library(**{field: value})
    except Exception:  # noqa: BLE001  (whatever a class says to a value of the wrong kind)
        return False
    return field not in {"inv_coeff_init_option", "use_tpu_fourier_optimizations"}


NEED_LAYERS = {
    "albert",  # groups of layers that are shared, not layers
    "modernbert",  # has a norm less in its first layer, and its config class refuses to be without
    "modernbert-decoder",
    *("t5", "mt5", "umt5"),  # the first layer holds the table of all of them
    "encoder-decoder",  # has no size of its own; those of its sides are their families'
}


@pytest.mark.parametrize("name", FAMILIES)
def test_a_model_of_no_layers_is_the_built_one(name: str) -> None:
    found = drawn(name, FAMILIES[name].architectures[0].name, Random(0))  # noqa: S311
    shallow = of_depth(found, 0, least=0)
    assert (shallow != found) == (name not in NEED_LAYERS)
    assert mismatch(shallow) == ""


# every family


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_has_the_classes_the_fields_and_the_defaults_of_the_library(name: str) -> None:
    library, keys = config_class(name), FAMILIES[name].keys
    module = sys.modules[library.__module__.replace(".configuration_", ".modeling_")]
    public = {
        each
        for each, found in vars(module).items()
        if isinstance(found, type)
        and issubclass(found, transformers.PreTrainedModel)
        and found.__module__ == module.__name__
        and getattr(found, "config_class", None) is library  # a file may have the classes of a picture model, too
        and hasattr(transformers, each)
        and not each.endswith("PreTrainedModel")
    }
    assert public - LEFT_OUT == {architecture.name for architecture in FAMILIES[name].architectures}
    fields = {field.name: field for field in dataclasses.fields(library)}
    known = keys.meaningful | keys.all_ignored.keys() | keys.inert
    assert fields.keys() - known - INERT - PASSED == set()
    named: list[Size | Switch | Choice | Listing] = [*keys.sizes, *keys.switches, *keys.choices, *keys.lists]
    null = {switch.key for switch in keys.switches if switch.null}
    ours = {each.key: list(each.default) or None if isinstance(each.default, tuple) else each.default for each in named}
    theirs = {key: _default(field) for key, field in fields.items() if key in ours.keys() - null}
    assert {key: default for key, default in ours.items() if key in theirs} == theirs
    assert keys.labels == library().num_labels
    refused = {"asm_cutoffs", "asm_div_value"}  # of an adaptive softmax
    assert set(MEASURED.get(name, ())) - keys.meaningful <= refused, (
        "a field that was measured to change a count is read"
    )


LEFT_OUT = {
    "EsmForProteinFolding",  # a folding trunk on top of ESM, with a config of its own inside
    *("PretrainedBartModel", "BartPretrainedModel"),  # old names of a class without parameters
}
MEASURED = json.loads((Path(__file__).parents[1] / "data" / "field-effects.json").read_text("utf-8"))
"""81,451 builds with one field changed at a time, transformers 5.23: what a family's config class reads, undeclared keys
among them."""


def _default(field: dataclasses.Field[Any]) -> object:
    """What the config class declares as a field's default."""
    made = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
    return list(made) if isinstance(made, tuple) else made


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # an older release's own, of a newer torch
@pytest.mark.parametrize("name", [name for name in FAMILIES if FAMILIES[name].architectures[0].name in IN_THE_LIBRARY])
def test_a_config_of_what_has_to_be_there_is_read_as_the_installed_library_reads_it(name: str) -> None:
    """Every default, as the config object has it; where it has none, as the classes that are built from it do."""
    first, *others = [case(name, each.name, REQUIRED.get(name, {})) for each in FAMILIES[name].architectures]
    assert first.read_otherwise() == []
    if first.values().assumed.keys() - first.config_said().said.keys():
        assert [mismatch(each) for each in (first, *others)] == [""] * len((first, *others))


REQUIRED: dict[str, dict[str, Any]] = {
    "esm": {"vocab_size": 33},  # ESM-2's
    "encoder-decoder": {"encoder": {"model_type": "bert"}, "decoder": {"model_type": "bert", "is_decoder": True}},
}
"""What the library has no default for."""


@pytest.mark.parametrize("name", [name for name in FAMILIES if name != "encoder-decoder"])
def test_the_drawn_configs_reach_every_field_in_every_way(name: str) -> None:
    """Each switch both ways, each choice and list with more than one value, what may be left out there and not there."""
    keys = FAMILIES[name].keys
    drawn = [found.values() for found in sample(name, FAMILIES[name].architectures[-1].name)]
    for switch in (each.key for each in keys.switches if (name, each.key) not in ONE_VALUE):
        assert {values.switches[switch] for values in drawn} == {True, False}, switch
    lists: list[Choice | Listing] = [*(choice for choice in keys.choices if len(choice.words) > 1), *keys.lists]
    for several in lists:
        assert len({values.switches[several.key] for values in drawn}) > 1, several.key
    for size in (each for each in keys.sizes if (name, each.key) not in ONE_VALUE):
        sizes = {found.sizes[size.symbol] for found in drawn}
        assert len(sizes) > 1, size.key
        assert size.default is not None or None in sizes, size.key


ONE_VALUE = {
    ("esm", "vocab_size"),  # the class cannot do without it
    *(("xlm", "is_encoder"), ("flaubert", "is_encoder")),  # the class refuses false
    *(("xlm", "asm"), ("flaubert", "asm")),  # an adaptive softmax has no closed form
    ("xlnet", "max_position_embeddings"),  # the class refuses any
}
