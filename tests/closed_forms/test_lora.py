"""LoRA's closed form against what PEFT makes of the model that transformers builds: tensor by tensor."""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, Any

import pytest
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from pytest_bertsize.builder.child.listing import take_inventory
from pytest_bertsize.builder.child.making import adapt
from pytest_bertsize.builder.structure import inventory_of
from pytest_bertsize.closed_forms import FAMILIES
from pytest_bertsize.closed_forms.blocks import list_tensors
from pytest_bertsize.closed_forms.formula import Formula, Formulas
from pytest_bertsize.closed_forms.lora import add_adapter, list_notes
from pytest_bertsize.closed_forms.symbols import symbolic
from pytest_bertsize.config.adapter import Adapter, parse
from pytest_bertsize.inventory import Inventory
from tests.support.family_configs import PAIRS, Case, case, cases, sample, told, typical

if TYPE_CHECKING:
    from torch import nn

    from pytest_bertsize.builder.messages import Built

TARGETS_OF = {
    "bert": ["query", "value"],
    "roberta": ["query", "output.dense"],
    "distilbert": ["q_lin", "lin2"],
    "albert": ["query", "ffn"],
    "electra": ["query", "key", "value"],
    "deberta-v2": ["query_proj", "value_proj"],
    "modernbert": ["Wqkv", "Wo"],
    "gpt2": ["c_attn", "mlp.c_proj"],
    "t5": ["q", "v"],
}


def built_module(drawn: Case) -> nn.Module:
    """What transformers builds from a drawn config."""
    import torch

    model_class = getattr(transformers, drawn.architecture.name)
    config = model_class.config_class(**drawn.config, attn_implementation="eager")
    with torch.device("meta"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        built: nn.Module = model_class(config, **drawn.options)
    return built


def adapter(**data: Any) -> Adapter:
    return parse({"r": 3, **data})


def expected_of(drawn: Case, given_adapter: Adapter) -> Inventory:
    return Inventory(tuple(list_tensors(add_adapter(drawn.closed_form().terms, given_adapter, given_adapter.r))))


def built_of(drawn: Case, given_adapter: Adapter) -> Built:
    return take_inventory(adapt(built_module(drawn), given_adapter.for_build))


def mismatch(drawn: Case, given_adapter: Adapter) -> str:
    """How the model that PEFT makes differs from the closed form, ``""`` where every tensor agrees in everything."""
    built = built_of(drawn, given_adapter)
    expected, actual = told(expected_of(drawn, given_adapter).tensors), told(built.tensors)
    wrong = {name for name in expected | actual if expected.get(name) != actual.get(name)}
    lines = [f"{name}: closed form {expected.get(name)}, built {actual.get(name)}" for name in sorted(wrong)]
    return "\n".join([*lines, *(f"{name}: not tied as its class declares" for name in built.lost_ties())])


EVERY_LINEAR: dict[str, Any] = {"r": 8, "target_modules": "all-linear"}
CLASSIFIER = "BertForSequenceClassification"
TOKENS: dict[str, Any] = {"target_modules": ["query"], "task_type": "TOKEN_CLS"}
QUERY_VALUE: dict[str, Any] = {"r": 8, "target_modules": ["query", "value"]}


def base(architecture: str) -> Case:
    return case("bert", architecture, {})  # the library's defaults are BERT-base


# against the library


@pytest.mark.parametrize("family", TARGETS_OF)
def test_every_tensor_is_peft_s_and_all_linear_is_every_layer_but_the_output_s(family: str) -> None:
    """Of each class, with one of three adapters in turn; for labels, all linear layers leave the classifier out."""
    targets = TARGETS_OF[family]
    for number, architecture in enumerate(each.name for each in FAMILIES[family].architectures):
        plain, full = typical(family, architecture)
        if number % 3 == 0:
            assert mismatch(plain, adapter(target_modules=targets)) == "", architecture
        elif number % 3 == 1:
            assert mismatch(full, adapter(target_modules=targets, bias="all")) == "", architecture
        else:
            assert mismatch(full, adapter(target_modules="all-linear")) == "", architecture
        if architecture.endswith("ForSequenceClassification"):
            also = ["pre_classifier"]  # of DistilBERT: PEFT saves what ends with "classifier"
            said = {"target_modules": "All-Linear", "task_type": "SEQ_CLS", "use_dora": True, "exclude_modules": also}
            assert mismatch(full, adapter(**said)) == "", architecture


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_every_family_can_have_one(family: str) -> None:
    drawn = typical(family, FAMILIES[family].architectures[-1].name)[0]
    assert mismatch(drawn, adapter(target_modules="all-linear", bias="lora_only")) == ""


@pytest.mark.parametrize(
    ("family", "architecture", "data"),
    [
        ("bert", "BertModel", {"target_modules": ["dense"], "modules_to_save": ["attention.output", "pooler.dense"]}),
        (
            "bert",
            "BertForTokenClassification",
            {**TOKENS, "target_modules": "all-linear", "exclude_modules": ["classifier"]},
        ),
        ("bert", "BertForMaskedLM", {"target_modules": ["word_embeddings", "query"]}),
        ("bert", "BertForMaskedLM", {"target_modules": ["word_embeddings", "query"], "use_dora": True, "bias": "all"}),
        ("bert", "BertForMaskedLM", {"target_modules": ["decoder"], "bias": "lora_only"}),
        ("bert", "BertForMaskedLM", {"target_modules": ["query"], "modules_to_save": ["word_embeddings"]}),
        ("bert", "BertForMaskedLM", {"target_modules": ["query"], "modules_to_save": ["cls"], "bias": "all"}),
        ("bert", "BertModel", {"target_modules": ["query"], "modules_to_save": ["LayerNorm"]}),
        ("bert", "BertModel", {"target_modules": ["dense"], "modules_to_save": ["ooler"]}),  # adapters that are copied
        ("bert", "BertModel", {"target_modules": ["dense"], "modules_to_save": ["intermediate"], "lora_bias": True}),
        ("bert", "BertModel", {"target_modules": r".*\.attention\.self\.(query|key)"}),
        ("bert", "BertModel", {"target_modules": ["dense"], "exclude_modules": r".*intermediate\.dense"}),
        ("bert", "BertModel", {"target_modules": ["dense", "query"], "rank_pattern": {"output.dense": 5, "dense": 2}}),
        ("bert", "BertForTokenClassification", {**TOKENS, "bias": "all"}),
        ("bert", "BertForQuestionAnswering", TOKENS),
        ("roberta", "RobertaForSequenceClassification", {"target_modules": ["dense"], "task_type": "SEQ_CLS"}),
        ("roberta", "RobertaForMaskedLM", {"target_modules": ["query"], "modules_to_save": ["lm_head"], "bias": "all"}),
        ("distilbert", "DistilBertForSequenceClassification", {"target_modules": ["q_lin"], "task_type": "SEQ_CLS"}),
        ("distilbert", "DistilBertForSequenceClassification", {"target_modules": ["classifier"]}),  # no pre_classifier
        ("t5", "T5ForConditionalGeneration", {"target_modules": ["q"], "modules_to_save": ["shared"]}),
        ("t5", "T5ForConditionalGeneration", {"target_modules": ["shared"], "task_type": "SEQ_2_SEQ_LM"}),
        ("gpt2", "GPT2LMHeadModel", {"target_modules": ["c_attn"], "use_dora": True, "task_type": "CAUSAL_LM"}),
        ("mobilebert", "MobileBertForMaskedLM", {"target_modules": "all-linear"}),  # two matrices before the words
        # what takes a weight apart has no rank above the smaller of its sides
        ("bert", "BertModel", {**EVERY_LINEAR, "init_lora_weights": "OLoRA", "r": 1}),
        ("bert", "BertForMaskedLM", {"target_modules": ["word_embeddings"], "init_lora_weights": "pissa", "r": 999}),
        ("bert", "BertModel", {**EVERY_LINEAR, "init_lora_weights": "orthogonal", "use_dora": True}),
    ],
)
def test_every_setting_is_peft_s(family: str, architecture: str, data: dict[str, Any]) -> None:
    assert mismatch(typical(family, architecture)[1], adapter(**data)) == ""


@settings(max_examples=20)
@given(data=st.data())
def test_any_adapter_is_peft_s(data: st.DataObject) -> None:
    family = data.draw(st.sampled_from(sorted(TARGETS_OF)))
    drawn = data.draw(cases(*data.draw(st.sampled_from([pair for pair in PAIRS if pair[0] == family]))))
    use_dora = data.draw(st.booleans())
    said = {
        "r": data.draw(st.integers(1, 40)),
        "target_modules": data.draw(st.lists(st.sampled_from(TARGETS_OF[family]), min_size=1, unique=True)),
        "bias": data.draw(st.sampled_from(["none", "all", "lora_only"])),
        "use_dora": use_dora,
        "lora_bias": not use_dora and data.draw(st.booleans()),
        "rank_pattern": data.draw(st.dictionaries(st.sampled_from(TARGETS_OF[family]), st.integers(1, 9))),
        "task_type": data.draw(st.sampled_from([None, "SEQ_CLS", "TOKEN_CLS", "QUESTION_ANS", "FEATURE_EXTRACTION"])),
    }
    if drawn.architecture.name == "AlbertForPreTraining" and said["task_type"] in ("SEQ_CLS", "TOKEN_CLS"):
        said["task_type"] = None
    assert mismatch(drawn, adapter(**said)) == ""


# known numbers (correctness.md, section 9)


@pytest.mark.parametrize(
    ("architecture", "data", "expected"),
    [
        ("BertForSequenceClassification", {}, (109_778_690, 294_912)),
        ("BertForSequenceClassification", {"task_type": "SEQ_CLS"}, (109_780_228, 296_450)),
        ("BertForSequenceClassification", {"bias": "all"}, (109_778_690, 397_826)),
        ("BertForSequenceClassification", {"bias": "lora_only"}, (109_778_690, 313_344)),
        ("BertForMaskedLM", {"modules_to_save": ["word_embeddings"]}, (133_250_106, 294_912 + 30522 * 768)),
    ],
)
def test_r_8_on_query_and_value_of_bert_base(
    architecture: str, data: dict[str, Any], expected: tuple[int, int]
) -> None:
    inventory = expected_of(base(architecture), adapter(**QUERY_VALUE, **data))
    assert (inventory.unique, inventory.trainable) == expected


def test_its_components_are_apart_from_the_model_s() -> None:
    drawn = base("BertForSequenceClassification")
    components = expected_of(drawn, adapter(**QUERY_VALUE, task_type="SEQ_CLS")).components
    own = drawn.closed_form().components
    assert {name: components[name] for name in own} == own
    assert {name: count for name, count in components.items() if name not in own} == {
        "adapters": 296_450,
        "adapters.lora": 294_912,
        "adapters.modules_to_save": 1_538,
    }


def lora_formulas(architecture: str, said: Adapter) -> dict[str, Formula]:
    """The formulas of a model with an adapter of rank r, which is 8."""
    form = base(architecture).closed_form()
    dims = symbolic(replace(form.dims, sizes={**form.dims.sizes, "r": 8}))
    return Formulas(replace(form.dims, sizes={**form.dims.sizes, "r": 8})).by_component(
        add_adapter(form.architecture.terms(dims), said, dims.r)
    )


def test_a_formula_for_any_rank() -> None:
    formulas = lora_formulas("BertModel", adapter(**QUERY_VALUE))
    assert formulas["adapters.lora"].text == "4·L·r·D"
    assert formulas["encoder.attention"].text == "L·(4·D² + 4·D)"


LAYERS = {"target_modules": ["query"], "layers_to_transform": [0, 2]}


@pytest.mark.parametrize(
    ("family", "architecture", "data"),
    [
        ("bert", "BertForMaskedLM", {"target_modules": ["layer.0.attention.self.query", "value"]}),
        ("bert", "BertForMaskedLM", {"target_modules": r".*layer\.[02]\..*dense"}),
        ("bert", "BertModel", {"target_modules": "all-linear", "exclude_modules": ["layer.1.output.dense"]}),
        ("bert", "BertModel", {**QUERY_VALUE, "rank_pattern": {r"layer\.1\..*query": 5, "value": 2}}),
        ("bert", "BertModel", {**QUERY_VALUE, "modules_to_save": ["layer.1.output"]}),
        ("bert", "BertForSequenceClassification", {**LAYERS, "task_type": "SEQ_CLS", "bias": "lora_only"}),
        ("bert", "BertModel", {"target_modules": ["query", "encoder.layer.1.attention.self.key"]}),
        ("gpt2", "GPT2LMHeadModel", {"target_modules": ["c_attn"], "layers_to_transform": 1}),
        ("t5", "T5ForConditionalGeneration", {"target_modules": ["q"], "rank_pattern": {r"decoder\.block\.1\..*": 7}}),
    ],
)
def test_layers_that_are_not_alike_are_peft_s(family: str, architecture: str, data: dict[str, Any]) -> None:
    drawn = next(each for each in sample(family, architecture) if each.values().sizes["L"] == 3)
    assert mismatch(drawn, adapter(**data)) == ""


def test_layers_that_are_not_alike_are_counted_apart() -> None:
    """BERT-base, r = 8 in the first six layers and 4 in the others: 6·2·8·768 + 6·2·4·768 = 110,592."""
    six = adapter(r=8, target_modules=["query"], rank_pattern={r"layer\.([6-9]|1[01])\..*": 4})
    assert expected_of(base("BertModel"), six)["adapters"] == 110_592
    formulas = lora_formulas("BertModel", six)
    assert formulas["adapters.lora"].text == "6·(2·r·D + 8·D)"
    assert formulas["embeddings.word"].text == "V·D"


# what does not fit


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"target_modules": ["qurey"]}, "leave; the names that can have an adapter are classifier, dense, key"),
        ({"target_modules": "query"}, 'target_modules = "query" matches no module'),
        ({"modules_to_save": ["encoder"]}, "that exclude_modules, modules_to_save and task_type leave"),
        ({"target_modules": ["attention"]}, "layer.0.attention, which is neither a linear layer nor an embedding"),
        ({"target_modules": ["LayerNorm"]}, "LayerNorm, which is neither a linear layer nor an embedding"),
        ({"modules_to_save": ["layer"], "target_modules": ["word_embeddings"]}, "cannot save bert.encoder.layer: it"),
        ({"modules_to_save": ["pooler", "dense"]}, "bert.pooler.dense: it is a list, has an adapter, or is inside"),
        ({"modules_to_save": ["embeddings"]}, "PEFT cannot save bert.embeddings.word_embeddings: it is a list"),
        ({**TOKENS, "target_modules": "all-linear"}, "PEFT cannot save classifier: it is a list, has an adapter"),
        ({"target_modules": ["classifier"], "modules_to_save": ["fier"]}, "PEFT cannot save classifier: it is"),
        ({"target_modules": ["word_embeddings"], "lora_bias": True}, "an embedding: PEFT has no bias there"),
        (
            {"target_modules": ["classifier"], "r": 3, "init_lora_weights": "loftq"},
            "takes the weight of classifier apart: it must be a torch.nn.Linear, and no side of it smaller than the rank",
        ),
    ],
)
def test_what_does_not_fit_is_said(data: dict[str, Any], said: str) -> None:
    drawn = base("BertForSequenceClassification")
    with pytest.raises(ValueError, match=re.escape(said)):
        add_adapter(drawn.closed_form().terms, adapter(**{"target_modules": ["query"], **data}), data.get("r", 8))


# what there is to say


@pytest.mark.parametrize(
    ("architecture", "data", "said", "fix", "actual"),
    [
        ("BertForMaskedLM", {"modules_to_save": ["word_embeddings"]},
         "the copy is not tied to cls.predictions.decoder.weight, as the original is",
         'put "word_embeddings" in target_modules instead', 23_440_896),
        (CLASSIFIER, {}, "classifier does not train: its 1,538 parameters keep their initial values",
         'write modules_to_save = ["classifier"], or the task_type of this head', 1_538),
        ("BertModel", {"target_modules": ["query", "vlaue"]},
         'target_modules has "vlaue", but no module\'s name ends with it: PEFT ignores it', 'did you mean "value"?', None),
        ("BertModel", {"modules_to_save": ["puler"]}, 'has "puler", but no', 'did you mean "pooler"?', None),
    ],
)  # fmt: skip
def test_what_peft_does_and_nobody_may_have_meant_is_pointed_out(
    architecture: str, data: dict[str, Any], said: str, fix: str, actual: int | None
) -> None:
    (found,) = list_notes(adapter(**{**QUERY_VALUE, **data}), base(architecture).closed_form().terms)
    assert (found.severity, found.fix, found.actual) == ("warning", fix, actual)
    assert found.component == ("adapters.modules_to_save" if "copy" in said else "adapters")
    assert said in found.message


def test_targets_that_are_peft_s_own_are_said_and_a_trained_body_has_nothing_to_say() -> None:
    terms = base("BertModel").closed_form().terms
    for said in (adapter(**QUERY_VALUE), adapter(**QUERY_VALUE, modules_to_save=["pooler"])):
        assert [*list_notes(said, terms)] == []
    (finding,) = list_notes(parse({"r": 8}, family="bert"), terms)
    assert finding.kind == "defaulted-key"


# the helper's side


@pytest.mark.parametrize(
    ("data", "trainable"),
    [
        ({"peft_type": "IA3", "target_modules": ["query"], "feedforward_modules": []}, 2 * 8),
        ({"peft_type": "ADALORA", "target_modules": ["query"], "total_step": 9}, 2 * (12 * (8 + 8) + 12)),
        ({"peft_type": "LOHA", "target_modules": ["query"], "r": 2}, 2 * 2 * 2 * (8 + 8)),
        ({"peft_type": "HRA", "target_modules": ["query"], "r": 2}, 2 * 2 * 8),
        ({"peft_type": "LN_TUNING", "target_modules": ["LayerNorm"]}, 5 * 2 * 8),
        ({"peft_type": "TRAINABLE_TOKENS", "target_modules": ["word_embeddings"], "token_indices": [1, 2]}, 2 * 8),
        ({"peft_type": "PROMPT_TUNING", "num_virtual_tokens": 4, "task_type": "SEQ_CLS"}, 4 * 8 + 18),
        ({"peft_type": "PREFIX_TUNING", "num_virtual_tokens": 4, "task_type": "SEQ_CLS"}, 4 * 2 * 2 * 8 + 18),
        (
            {"peft_type": "P_TUNING", "num_virtual_tokens": 4, "task_type": "SEQ_CLS", "encoder_hidden_size": 6},
            (4 * 8 + 8 * 6 + 6 + 6 * 6 + 6 + 6 * 8 + 8) + 18,
        ),
        ({"r": 2, "target_modules": ["query"], "layer_replication": [[0, 2], [1, 2]]}, 3 * 2 * (8 + 8)),
        (
            {"r": 2, "target_modules": ["query"], "modules_to_save": ["embeddings"]},
            2 * 2 * (8 + 8) + 40 * 8 + 12 * 8 + 2 * 8 + 16,
        ),
        ({"r": 2, "target_modules": ["query"], "trainable_token_indices": [1, 2]}, 2 * 2 * (8 + 8) + 2 * 8),
    ],
)
def test_without_a_closed_form_peft_builds_whatever_it_has(data: dict[str, Any], trainable: int) -> None:
    """Sizes by hand, of two layers of width 8; a head of 2 labels has 18 parameters."""
    sizes = {"vocab_size": 40, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2}
    drawn = case(
        "bert", "BertForSequenceClassification", sizes | {"intermediate_size": 12, "max_position_embeddings": 12}
    )
    built = built_of(drawn, parse(data, closed_form=False))
    assert inventory_of(built).trainable == trainable
    assert built.lost_ties() == []
