"""FLOPs: torch's counter on the meta device, module by module, and the closed form, component by component."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
import torch
import transformers
from torch import nn

from pytest_bertsize.builder.child.flops import count_flops
from pytest_bertsize.builder.confined import Refused
from pytest_bertsize.closed_forms import FAMILIES
from pytest_bertsize.closed_forms.blocks import module
from pytest_bertsize.closed_forms.family import Architecture
from pytest_bertsize.closed_forms.flops import PROVEN, TURNED, by_component, count_unused_positions, flops, total
from pytest_bertsize.closed_forms.parts.shared_keys import RELATIVE
from pytest_bertsize.config.dims import Dims
from pytest_bertsize.config.older_releases import V4
from pytest_bertsize.inventory import Inventory, Tensor
from pytest_bertsize.release import Release
from pytest_bertsize.wording import BadValue
from tests.support.family_configs import RELEASE, drawn, typical

if TYPE_CHECKING:
    from tests.support.family_configs import Case

BERT_BASE = {"V": 30522, "D": 768, "L": 12, "A": 12, "I": 3072, "P": 512, "T": 2, "C": 2}
SWITCHES = {"is_decoder": False, "add_cross_attention": False, "tie_word_embeddings": True, "hidden_act": "gelu"}
SWITCHES |= {"add_pooling_layer": True}
TINY = {"vocab_size": 11, "hidden_size": 6, "num_hidden_layers": 2, "num_attention_heads": 2}
TINY |= {"intermediate_size": 10, "max_position_embeddings": 16}
BART = {"vocab_size": 11, "d_model": 6, "encoder_layers": 3, "decoder_layers": 1, "encoder_attention_heads": 2}
BART |= {"decoder_attention_heads": 2, "encoder_ffn_dim": 10, "decoder_ffn_dim": 10, "max_position_embeddings": 16}


def built(architecture: str, config: dict[str, Any], **options: bool) -> Any:
    model_class = getattr(transformers, architecture)
    with torch.device("meta"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model_class(model_class.config_class(**config, attn_implementation="eager"), **options)


def ours(family: str, name: str) -> Architecture:
    return next(each for each in FAMILIES[family].architectures if each.name == name)


def bert(architecture: str, seq_len: int) -> dict[str, int]:
    found = flops(ours("bert", architecture), Dims(BERT_BASE, SWITCHES), seq_len=seq_len)
    assert found is not None
    return found


def counted(model: nn.Module, seq_len: int = 3) -> int:
    return sum(count for _, count in count_flops(model, seq_len=seq_len))


def inventory(components: dict[str, str]) -> Inventory:
    """Matrices by name and component."""
    return Inventory(tuple(Tensor(f"{name}.weight", (2, 2), component) for name, component in components.items()))


def said_about(model: nn.Module, seq_len: int = 3) -> str:
    with pytest.raises(Refused) as refused:
        count_flops(model, seq_len=seq_len)
    return str(refused.value)


# the closed form


def test_bert_base_has_the_flops_that_were_measured() -> None:
    measured = {"BertModel": (22_348_431_360, 96_637_943_808), "BertForMaskedLM": (28_499_116_032, 121_244_221_440)}
    assert {name: tuple(total(bert(name, tokens)) for tokens in (128, 512)) for name in measured} == measured


def test_the_components_of_bert_base_follow_the_formula_of_the_field() -> None:
    D, I, L, V, S = 768, 3072, 12, 30522, 128  # noqa: E741  (the field's symbols)
    assert bert("BertForPreTraining", S) == {
        "encoder": L * (2 * S * (4 * D * D + 2 * D * I) + 4 * S * S * D),
        "encoder.attention": L * (8 * S * D * D + 4 * S * S * D),
        "encoder.feed_forward": L * 4 * S * D * I,
        "pooler": 2 * D * D,
        "head": 2 * S * (D * D + D * V) + 4 * D,
        "head.transform": 2 * S * D * D,
        "head.decoder": 2 * S * D * V,
        "head.seq_relationship": 4 * D,
    }


@pytest.mark.parametrize(("kind", "sides"), [("absolute", 0), ("relative_key", 1), ("relative_key_query", 2)], ids=str)
def test_transformers_4_multiplies_queries_and_keys_by_their_distance_too(kind: str, sides: int) -> None:
    """12·2·128²·768 for each side; torch counts as much of BERT-base in 4.40.2 and 4.57.6, where 5 has no such tables."""
    base, more = 22_348_431_360, 301_989_888 * sides
    for release, expected in ((Release(4, 40), base + more), (Release(4, 57, 6), base + more), (Release(5, 1), base)):
        dims = Dims(BERT_BASE, {**SWITCHES, "position_embedding_type": kind}, release=release)
        found = flops(ours("bert", "BertModel"), dims, seq_len=128)
        assert found
        assert total(found) == expected
        assert total(found) - found["encoder.attention"] == base - 12 * (8 * 128 * 768**2 + 4 * 128**2 * 768)


def test_shared_layers_cost_each_pass_and_own_their_parameters_once() -> None:
    sizes = {**BERT_BASE, "E": 128, "D": 4096, "L": 12, "A": 64, "I": 16384, "G": 1, "N": 1, "V": 30000}
    found = flops(ours("albert", "AlbertModel"), Dims(sizes, SWITCHES), seq_len=128)
    assert found
    assert total(found) == 621_864_288_256  # albert-xxlarge


def test_an_architecture_that_is_not_proven_or_not_ours_has_no_closed_form() -> None:
    contributed = Architecture("BertModel", lambda dims: module("linear", "only", dims.D, dims.D))
    for each in (ours("gpt2", "GPT2Model"), contributed):
        assert flops(each, Dims(BERT_BASE, SWITCHES), seq_len=8) is None


def runnable(case: Case) -> Case:
    """The same with what a forward pass asks for: heads that divide the width, two labels to span an answer."""
    config = dict(case.config)
    if case.family.name in TURNED:  # heads that can be turned, and that can share their keys
        config |= {"hidden_size": 16, "num_attention_heads": 2}
        config |= {"head_dim": 6} if config.get("head_dim") else {}
        config |= {"num_key_value_heads": 1} if "num_key_value_heads" in config else {}
    elif config.get("hidden_size", 0) % config.get("num_attention_heads", 1):
        config["num_attention_heads"] = 1
    if config.get("position_embedding_type") in RELATIVE:  # what torch.einsum has of heads one wide is no product
        config |= {"num_attention_heads": 1, "hidden_size": max(2, config["hidden_size"])}
        config |= dict.fromkeys({"is_decoder", "add_cross_attention"} & config.keys(), False)
    if "inner_group_num" in config and RELEASE < V4:  # which has no mask for more groups than it has layers
        config |= {"inner_group_num": 1, "num_hidden_groups": 1}
    if case.architecture.name.endswith("QuestionAnswering"):
        config["num_labels"] = 2
    if "summary_proj_to_labels" in config:  # its classifier wants the width and gets the labels
        config["summary_proj_to_labels"] = False
    return replace(case, config=config)


AT_THE_DESK = ("bert", "roberta", "distilbert", "albert", "electra")
"""Families of which a shorter run counts every class, and of the others the first."""


@pytest.mark.parametrize(
    ("family", "architecture"),
    [
        pytest.param(name, each.name, marks=pytest.mark.long if number and name not in AT_THE_DESK else ())
        for name in PROVEN
        for number, each in enumerate(FAMILIES[name].architectures)
    ],
)
def test_the_closed_form_is_what_torch_counts_component_by_component(family: str, architecture: str) -> None:
    rng = Random(f"{architecture} 0")  # noqa: S311
    case = runnable(drawn(family, architecture, rng))
    form, seq_len = case.closed_form(), rng.randint(1, 7)
    rows = count_flops(built(architecture, dict(case.config), **case.options), seq_len=seq_len)
    assert by_component(rows, form) == flops(form.architecture, form.dims, seq_len=seq_len), case.config


# torch's counter


def test_each_module_counts_what_it_multiplies_itself() -> None:
    rows = dict(count_flops(built("BertModel", {**TINY, "num_hidden_layers": 1}), seq_len=5))
    attention = [f"attention.{each}" for each in ("self.query", "self.key", "self.value", "output.dense")]
    inside = {**dict.fromkeys(attention, 2 * 5 * 36), "attention.self": 4 * 25 * 6}
    inside |= dict.fromkeys(("intermediate.dense", "output.dense"), 2 * 5 * 60)
    assert rows == {"pooler.dense": 2 * 36, **{f"encoder.layer.0.{name}": count for name, count in inside.items()}}


@pytest.mark.parametrize(
    "architecture", ["BertForMaskedLM", "BartForConditionalGeneration", "T5ForConditionalGeneration"]
)
def test_the_rows_sum_to_torchs_own_total(architecture: str) -> None:
    from torch.utils.flop_counter import FlopCounterMode

    model = built(architecture, BART if architecture.startswith("Bart") else TINY).eval()
    ids = torch.zeros(1, 4, dtype=torch.int64, device="meta")
    decoder = {"decoder_input_ids": ids} if model.config.is_encoder_decoder else {}
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        model(input_ids=ids, **decoder)
    assert counted(model, 4) == counter.get_total_flops() > 0


def test_a_multiple_choice_is_counted_for_one_choice() -> None:
    choice, classifier = (
        dict(count_flops(built(f"BertFor{task}", {**TINY, "num_labels": 1}), seq_len=5))
        for task in ("MultipleChoice", "SequenceClassification")
    )
    assert choice == classifier


def test_fused_attention_costs_as_much_as_eager_attention() -> None:
    with torch.device("meta"):
        model = transformers.BertModel(transformers.BertConfig(**TINY, attn_implementation="sdpa"))
    assert counted(model, 5) == counted(built("BertModel", TINY), 5)


def test_dropout_of_whole_layers_is_off() -> None:
    model = built("BartModel", {**BART, "encoder_layerdrop": 0.99}).train()
    assert {f"encoder.layers.{index}.fc1" for index in range(3)} <= dict(count_flops(model, seq_len=5)).keys()


class Heads(nn.Module):  # type: ignore[misc]
    """What multiplies a text of vectors as a function does."""

    def __init__(self, multiply: Callable[[nn.Module, torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.embed = nn.Embedding(5, 6)
        self.query = nn.Parameter(torch.empty(6))
        self.matrix = nn.Parameter(torch.empty(1, 6, 6))
        self.inner = nn.Sequential(nn.Linear(6, 8))
        self.layer = nn.TransformerEncoderLayer(6, 2, 10, batch_first=True)
        self.multiply = multiply

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        return self.multiply(self, self.embed(input_ids))


def heads(multiply: Callable[[Any, torch.Tensor], torch.Tensor]) -> Heads:
    with torch.device("meta"):
        return Heads(multiply)


def test_what_a_module_multiplies_outside_of_its_parts_is_its_own() -> None:
    model = heads(lambda own, x: own.inner[0](x @ x.transpose(1, 2) @ x))  # one layer by way of another
    assert dict(count_flops(model, seq_len=3)) == {"": 4 * 9 * 6, "inner.0": 2 * 3 * 6 * 8}


@pytest.mark.parametrize(
    ("multiply", "expected"),
    [
        (lambda own, x: x @ own.query, 2 * 3 * 6),  # a score for each of 3 tokens
        (lambda own, x: x[0].mv(own.query), 2 * 3 * 6),
        (lambda own, x: torch.addmv(x[0, :, 0], x[0], own.query), 2 * 3 * 6),
        (lambda own, x: x[0, 0].dot(own.query), 2 * 6),
        (lambda own, x: own.layer(x), 2 * 3 * (4 * 36 + 2 * 60) + 4 * 9 * 6),  # torch's own, with its attention
        (lambda own, x: torch.einsum("bsi,ij,bsj->bs", x, own.matrix[0], x), 2 * 3 * 6 * 6 + 2 * 3 * 6),
    ],
    ids=["scores", "mv", "addmv", "dot", "layer", "einsum"],
)
def test_products_that_torchs_counter_passes_over_are_counted(multiply: Any, expected: int) -> None:
    assert counted(heads(multiply)) == expected


# what cannot be counted


@pytest.mark.parametrize("family", PROVEN)
def test_the_closed_form_knows_the_positions_that_are_never_used(family: str) -> None:
    """As many as the padding's row, in the class itself, of a table that knows which row that is."""
    architecture = FAMILIES[family].architectures[0]
    found = typical(family, architecture.name)[0].config
    sizes = {key: 9 if key.endswith("vocab_size") else value for key, value in found.items()}
    if FAMILIES[family].keys.padding:
        sizes.pop("pad_token_id", None)
    for padding in ({}, {"pad_token_id": 4}):
        config = sizes | padding
        tables = [getattr(each, "position_embeddings", None) for each in built(architecture.name, config).modules()]
        rows = {getattr(table, "padding_idx", None) for table in tables} - {None}
        assert count_unused_positions(architecture, padding) == max((row + 1 for row in rows if row), default=0)


@pytest.mark.parametrize("row", [None, -1, True, "1"])
def test_positions_that_are_numbered_from_no_row_are_refused(row: object) -> None:
    with pytest.raises(BadValue, match=r"pad_token_id is .*, but positions are numbered from it"):
        count_unused_positions(ours("roberta", "RobertaModel"), {"pad_token_id": row})


def test_a_forward_pass_with_other_arguments_is_refused() -> None:
    class Other(nn.Module):  # type: ignore[misc]
        def forward(self, tokens: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            return tokens * mask

    assert said_about(Other()) == "its forward takes (tokens, mask), and is given only input_ids"


def fail(_: Heads, __: torch.Tensor) -> torch.Tensor:
    raise KeyError("no\nsuch\x1b[31m key")


@pytest.mark.parametrize(
    ("multiply", "said"),
    [
        (fail, r"its forward pass fails: KeyError: 'no\nsuch\x1b[31m key'"),
        (lambda _, x: x, "its forward pass multiplies nothing that torch's counter knows"),
        (
            lambda _, x: x[: int(x.max())],
            "its forward pass reads values, which meta tensors do not have: Tensor.item() cannot be called on meta tensors",
        ),
    ],
)
def test_a_forward_pass_that_gives_no_count_is_refused_with_the_reason(multiply: Any, said: str) -> None:
    assert said_about(heads(multiply)) == said


@pytest.mark.parametrize(
    ("multiply", "operation"),
    [
        (lambda own, x: torch.addbmm(own.matrix[0, :3], x, own.matrix), "aten.addbmm"),
        (lambda own, x: nn.functional.bilinear(x, x, own.matrix), "aten._trilinear"),
        (lambda _, x: torch.cdist(x, x), "aten._cdist_forward"),
        (lambda _, x: torch.cdist(x[:, :1].expand(1, 30, 6), x), "aten._euclidean_dist"),
        (lambda own, x: torch.conv_tbc(x, own.matrix, own.query), "aten.conv_tbc"),
        (lambda own, _: torch.matrix_exp(own.matrix), "aten.linalg_matrix_exp"),
        (lambda own, x: torch.linalg.solve(own.matrix, x.mT), "aten._linalg_solve_ex"),
        (lambda own, x: x[0].clone().addmm_(x[0], own.matrix[0]), "aten.addmm_"),
    ],
)
def test_a_product_without_a_formula_is_refused_by_its_name(multiply: Any, operation: str) -> None:
    def beside_one_that_is_counted(own: Heads, x: torch.Tensor) -> torch.Tensor:
        return own.inner(x).sum() + multiply(own, x).sum()

    said = f"its forward pass calls {operation}, a product that torch's counter does not count"
    assert said_about(heads(beside_one_that_is_counted), 3) == said


def test_an_operation_that_is_none_of_torchs_is_refused_by_its_name() -> None:
    torch.library.define("own::fused", "(Tensor a) -> Tensor")
    torch.library.impl("own::fused", "Meta", torch.clone)
    what = "its forward pass calls own.fused, an operation that is not torch's, whose products are unknown"
    assert said_about(heads(lambda own, x: torch.ops.own.fused(own.inner(x))), 3) == what


def test_a_recurrent_layer_is_refused_because_torchs_counter_misses_part_of_it() -> None:
    model = heads(lambda own, x: own.lstm(x)[0])
    model.add_module("lstm", nn.LSTM(6, 6, batch_first=True, device="meta"))
    assert said_about(model) == "torch's counter does not count every product of lstm (LSTM)"


def test_norms_and_distances_by_element_are_no_products() -> None:
    def similar(own: Heads, x: torch.Tensor) -> torch.Tensor:
        return torch.cosine_similarity(own.inner(x), torch.linalg.vector_norm(x, dim=-1, keepdim=True))

    assert counted(heads(similar)) == 2 * 3 * 6 * 8


# by component


@pytest.mark.parametrize(
    ("rows", "components", "expected"),
    [
        ({"0.self": 8, "0.self.key": 2}, {"0.self.query": "encoder.a", "0.self.key": "encoder.a"}, {"encoder.a": 10}),
        ({"self": 8, "self.q.lora": 1}, {"self.q.base": "encoder.a", "self.q.lora": "adapters"}, {"encoder.a": 8, "adapters": 1}),
        ({"layer": 3}, {"layer.attention": "encoder.a", "layer.ffn": "encoder.f", "cls": "head"}, {"encoder": 3}),
        ({"layer.scores": 3}, {"layer.query": "encoder.a", "cls": "head"}, {"encoder.a": 3}),
        ({"crf": 3, "": 2, "body": 1}, {"body": "encoder", "cls": "head"}, {"encoder": 1, "unexpected": 5}),
        ({"crf": 3}, {}, {"unexpected": 3}),
    ],
)  # fmt: skip
def test_a_module_counts_for_the_component_of_its_matrices_or_around_it(
    rows: dict[str, int], components: dict[str, str], expected: dict[str, int]
) -> None:
    expected = {**({"encoder": expected["encoder.a"]} if "encoder.a" in expected else {}), **expected}
    assert by_component([*rows.items()], inventory(components)) == expected
