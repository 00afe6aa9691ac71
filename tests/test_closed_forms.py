"""The closed forms of BERT: against the classes that transformers builds, and against what was published."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

import pytest_bertsize.closed_forms
from pytest_bertsize.build import Built, _understood
from pytest_bertsize.build.child import instantiate, take_inventory
from pytest_bertsize.closed_forms import FAMILIES, Architecture, ClosedForm, family_of
from pytest_bertsize.closed_forms.blocks import block, linear, repeat, tensors, terms, tied
from pytest_bertsize.closed_forms.dims import Dims
from pytest_bertsize.inventory import Tensor

BERT = FAMILIES["bert"]
ARCHITECTURES = {each.name: each for each in BERT.architectures}
BASE = {"V": 30522, "D": 768, "L": 12, "A": 12, "I": 3072, "P": 512, "T": 2, "C": 2}
LARGE = BASE | {"D": 1024, "L": 24, "A": 16, "I": 4096}
SWITCHES = {"is_decoder": False, "add_cross_attention": False, "tie_word_embeddings": True, "hidden_act": "gelu"}


def closed_form(architecture: str, sizes: dict[str, int], **switches: Any) -> ClosedForm:
    known = ARCHITECTURES[architecture]
    return ClosedForm(known, Dims(sizes, {**SWITCHES, **known.options, **switches}))


def build(form: ClosedForm) -> Built:
    """What transformers builds from the same sizes, in this process."""
    keys = {size.symbol: size.key for size in BERT.keys.sizes} | {"C": "num_labels"}
    options = {name: form.dims.switches[name] for name in form.architecture.options}
    config = {key: form.dims.sizes[symbol] for symbol, key in keys.items()}
    config |= {name: form.dims.switches[name] for name in SWITCHES}
    request = {"architecture": form.architecture.name, "family": "bert", "config": config, "options": options}
    built = _understood({"name": "", **take_inventory(instantiate(request))}, "")
    assert isinstance(built, Built)
    return built


def by_name(found: tuple[Tensor, ...]) -> dict[str, tuple[tuple[int, ...], str | None, bool]]:
    return {tensor.name: (tensor.shape, tensor.tied_to, tensor.trainable) for tensor in found}


@st.composite
def configs(draw: st.DrawFn) -> tuple[dict[str, int], dict[str, Any]]:
    """Sizes of unusual proportions, and every switch both ways."""
    heads = draw(st.integers(1, 6))
    sizes = {"A": heads, "D": heads * draw(st.integers(1, 12)), "L": draw(st.integers(1, 3))}
    sizes |= {symbol: draw(st.integers(1, 90)) for symbol in ("V", "I", "P", "T")}
    sizes["C"] = draw(st.integers(1, 9))
    is_decoder = draw(st.booleans())
    switches = {
        "is_decoder": is_decoder,
        "add_cross_attention": is_decoder and draw(st.booleans()),
        "tie_word_embeddings": draw(st.booleans()),
        "hidden_act": draw(st.sampled_from(["gelu", "relu", "gelu_new", "prelu", "xielu"])),
        "add_pooling_layer": draw(st.booleans()),
    }
    return sizes, switches


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@given(config=configs())
@settings(max_examples=40, deadline=None)
def test_every_tensor_is_the_built_models(architecture: str, config: tuple[dict[str, int], dict[str, Any]]) -> None:
    sizes, switches = config
    form = closed_form(architecture, sizes, **switches)
    built = build(form)
    assert by_name(built.tensors) == by_name(form.inventory.tensors)
    assert built.lost_ties() == []


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@given(config=configs())
@settings(max_examples=40, deadline=None)
def test_count_tensors_components_and_formula_tell_one_story(
    architecture: str, config: tuple[dict[str, int], dict[str, Any]]
) -> None:
    form = closed_form(architecture, config[0], **config[1])
    assert form.total == form.inventory.unique == form.inventory["total"]
    assert form.components == form.inventory.components
    symbols = {symbol: sympy.Symbol(symbol, positive=True, integer=True) for symbol in form.dims.sizes}
    total = sum(term.total for term in terms(form.architecture.blocks(form.dims.symbolic())))
    assert total.subs({symbols[name]: size for name, size in form.dims.sizes.items()}) == form.total


PUBLISHED = [
    # correctness.md §10, built by transformers 5.23 and 4.57.6 alike; 109,482,240 is also SOURCES C
    ("BertModel", BASE, 109_482_240),
    ("BertForMaskedLM", BASE, 109_514_298),
    ("BertForPreTraining", BASE, 110_106_428),
    ("BertForSequenceClassification", BASE, 109_483_778),
    ("BertForTokenClassification", BASE, 108_893_186),
    ("BertForQuestionAnswering", BASE, 108_893_186),
    ("BertModel", LARGE, 335_141_888),
    ("BertForMaskedLM", LARGE, 335_174_458),
    # bert-base-cased and bert-base-multilingual-cased: keras-hub's bert_presets.py
    ("BertModel", BASE | {"V": 28996}, 108_310_272),
    ("BertModel", BASE | {"V": 119547}, 177_853_440),
    # google/bert_uncased_L-2_H-128_A-2: keras-hub's bert_presets.py
    ("BertModel", BASE | {"D": 128, "L": 2, "A": 2, "I": 512}, 4_385_920),
    # bert-base-chinese: SOURCES D
    ("BertForMaskedLM", BASE | {"V": 21128}, 102_290_312),
]


@pytest.mark.parametrize(("architecture", "sizes", "count"), PUBLISHED)
def test_published_models_have_their_published_size(architecture: str, sizes: dict[str, int], count: int) -> None:
    form = closed_form(architecture, sizes)
    assert form.total == count
    assert sum(tensor.owned for tensor in build(form).tensors) == count


def test_the_field_knows_these_formulas() -> None:
    assert closed_form("BertForMaskedLM", BASE).formulas() == {
        "embeddings": "D·P + D·T + D·V + 2·D",
        "embeddings.word": "D·V",
        "embeddings.position": "D·P",
        "embeddings.token_type": "D·T",
        "embeddings.norm": "2·D",
        "encoder": "L·(4·D² + 2·D·I + 9·D + I)",
        "encoder.attention": "L·(4·D² + 4·D)",
        "encoder.feed_forward": "L·(2·D·I + D + I)",
        "encoder.norm": "4·D·L",
        "head": "D² + 3·D + V",
        "head.decoder": "V",
        "head.transform": "D² + 3·D",
        "total": "D² + D·P + D·T + D·V + 5·D + L·(4·D² + 2·D·I + 9·D + I) + V",
    }


def test_the_number_of_heads_changes_no_count() -> None:
    assert closed_form("BertModel", BASE | {"A": 1}).total == closed_form("BertModel", BASE | {"A": 768}).total


def test_the_pooler_is_one_dense_layer() -> None:
    without = closed_form("BertModel", BASE, add_pooling_layer=False)
    assert closed_form("BertModel", BASE).total - without.total == 768 * 768 + 768


def test_an_untied_decoder_costs_its_matrix_and_a_second_bias() -> None:
    tied_total = closed_form("BertForMaskedLM", BASE).total
    assert closed_form("BertForMaskedLM", BASE, tie_word_embeddings=False).total - tied_total == 30522 * 768 + 30522


def test_a_tied_decoder_is_stored_twice_and_counted_once() -> None:
    inventory = closed_form("BertForMaskedLM", BASE | {"V": 21128}).inventory
    # 118,537,744 is what counters report that write ties out (correctness.md §4)
    assert (inventory.unique, inventory.stored) == (102_290_312, 118_537_744)


def test_a_decoder_with_cross_attention_has_a_second_attention_in_each_layer() -> None:
    plain = closed_form("BertLMHeadModel", BASE, is_decoder=True)
    crossed = closed_form("BertLMHeadModel", BASE, is_decoder=True, add_cross_attention=True)
    assert crossed.components["encoder.cross_attention"] == plain.components["encoder.attention"]
    assert crossed.total - plain.total == 12 * (4 * (768 * 768 + 768) + 2 * 768)


def test_two_models_of_one_total_differ_in_their_components() -> None:
    thirteen = closed_form("BertModel", BASE | {"L": 13, "V": 30522 - 7_087_872 // 768})
    twelve = closed_form("BertModel", BASE)
    assert thirteen.total == twelve.total
    assert thirteen.components["encoder"] - twelve.components["encoder"] == 7_087_872


def test_a_layer_is_not_unrolled_to_be_counted() -> None:
    assert closed_form("BertModel", BASE | {"L": 10**12}).components["encoder"] == 10**12 * 7_087_872


def test_every_component_of_every_class_can_be_named_in_a_budget() -> None:
    dims = Dims({k: v for k, v in BASE.items() if k != "C"}, SWITCHES)
    assert set(BERT.component_names(dims)) == {
        *("embeddings", "embeddings.word", "embeddings.position", "embeddings.token_type", "embeddings.norm"),
        *("encoder", "encoder.attention", "encoder.cross_attention", "encoder.feed_forward", "encoder.norm", "pooler"),
        *("head", "head.transform", "head.decoder", "head.seq_relationship", "head.classifier", "head.qa_outputs"),
    }


def test_an_architecture_is_found_in_its_family() -> None:
    assert family_of("BertForMaskedLM") is BERT
    assert family_of("ReformerForMaskedLM") is None


def test_the_registry_has_every_class_that_transformers_has_for_bert() -> None:
    import transformers.models.bert.modeling_bert as library

    public = set(library.__all__) - {"BertPreTrainedModel", "BertLayer"}
    assert public == set(ARCHITECTURES)


def test_no_closed_form_looks_at_the_library() -> None:
    folder = Path(pytest_bertsize.closed_forms.__file__).parent
    files = [
        *folder.glob("*.py"),
        folder.parent / "config_keys.py",
        folder.parent / "config_values.py",
        folder.parent / "model_config.py",
    ]
    imported = {
        alias.name.split(".")[0]
        for file in files
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in ([ast.alias(node.module or "")] if isinstance(node, ast.ImportFrom) else node.names)
    }
    assert len(files) > 5
    assert imported.isdisjoint({"torch", "transformers"})


def test_a_repeat_lists_each_of_its_copies() -> None:
    root = block("", repeat("layer", 2, linear("dense", 3, 5, bias=False)), component="encoder")
    assert list(tensors(root)) == [
        Tensor("layer.0.dense.weight", (5, 3), "encoder"),
        Tensor("layer.1.dense.weight", (5, 3), "encoder"),
    ]


def test_only_a_parameter_that_is_there_can_be_tied() -> None:
    with pytest.raises(ValueError, match="decoder has no parameter bias to tie"):
        tied(linear("decoder", 3, 5, bias=False), bias="embeddings.bias")


def test_an_unknown_symbol_names_those_there_are() -> None:
    with pytest.raises(AttributeError, match="no size or switch 'X'; there are V, is_decoder"):
        _ = Dims({"V": 1}, {"is_decoder": False}).X


def test_architectures_say_whether_labels_count() -> None:
    counted = {name for name, each in ARCHITECTURES.items() if _depends_on_labels(each)}
    assert counted == {name for name, each in ARCHITECTURES.items() if each.labels}


def _depends_on_labels(architecture: Architecture) -> bool:
    form = closed_form(architecture.name, BASE)
    return form.total != closed_form(architecture.name, BASE | {"C": 3}).total
