"""Blocks of today's transformers, and what they cost: each against a module of torch's that is written out."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812  (as all the world calls it)

from pytest_bertsize.builder.child.flops import counted
from pytest_bertsize.closed_forms import (
    FAMILIES,
    Architecture,
    Block,
    block,
    embedding,
    fused_attention,
    gated_feed_forward,
    grouped_query_attention,
    linear,
    lstm,
    multihead_attention,
    of_each_token,
    of_the_text,
    repeat,
    rms_norm,
)
from pytest_bertsize.closed_forms.blocks import tensors, terms
from pytest_bertsize.closed_forms.flops import flops, total
from pytest_bertsize.config.dims import Dims
from pytest_bertsize.release import Release

V, D, A, Q, S, I, C = 11, 12, 4, 2, 6, 20, 3  # noqa: E741  (the field's symbols)
SIZES = Dims({"V": V, "D": D, "A": A, "Q": Q, "S": S, "I": I, "C": C}, {})


class Grouped(nn.Module):  # type: ignore[misc]
    """Four heads that share the keys of two, and a gated feed-forward part."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(V, D)
        self.attn = nn.Module()
        self.attn.q_proj, self.attn.o_proj = nn.Linear(D, A * S, bias=False), nn.Linear(A * S, D, bias=False)
        self.attn.k_proj, self.attn.v_proj = (nn.Linear(D, Q * S, bias=False) for _ in range(2))
        self.mlp = nn.Module()
        self.mlp.gate_proj, self.mlp.up_proj = (nn.Linear(D, I, bias=False) for _ in range(2))
        self.mlp.down_proj = nn.Linear(I, D, bias=False)
        self.score = nn.Linear(D, C)

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        x = self.embed(input_ids)
        own = self.attn
        queries = own.q_proj(x).unflatten(-1, (A, S)).transpose(1, 2)
        keys, values = (
            each(x).unflatten(-1, (Q, S)).transpose(1, 2).repeat_interleave(A // Q, dim=1)
            for each in (own.k_proj, own.v_proj)
        )
        mixed = (queries @ keys.mT).softmax(-1) @ values
        x = own.o_proj(mixed.transpose(1, 2).flatten(2))
        x = self.mlp.down_proj(F.silu(self.mlp.gate_proj(x)) * self.mlp.up_proj(x))
        return self.score(x[:, 0])


def grouped(dims: Dims) -> Block:
    return block(
        "",
        embedding("embed", dims.V, dims.D, component="embeddings"),
        grouped_query_attention("attn", dims.D, dims.A * dims.S, dims.Q * dims.S, component="layers"),
        gated_feed_forward("mlp", dims.D, dims.I, component="layers"),
        of_the_text(linear("score", dims.D, dims.C, component="head")),
    )


def built() -> nn.Module:
    with torch.device("meta"):
        return Grouped()


def cost(blocks: Any, *, says: bool = True) -> dict[str, int] | None:
    return flops(Architecture("Own", blocks, defined_in="own", flops=says), SIZES, seq_len=5)


def test_grouped_queries_and_a_gated_part_are_the_tensors_of_the_module() -> None:
    expected = {each.name: each.shape for each in tensors(grouped(SIZES))}
    assert expected == {name: tuple(each.shape) for name, each in built().named_parameters()}


def test_one_matrix_for_all_of_attention_has_as_many_numbers_as_three() -> None:
    fused = fused_attention("attn", D, A * S, Q * S, bias=True)
    apart = grouped_query_attention("attn", D, A * S, Q * S, bias=True)
    assert [each.name for each in tensors(fused)][0::2] == ["attn.qkv_proj.weight", "attn.o_proj.weight"]
    numbers = [sum(each.total for each in terms(module)) for module in (fused, apart)]
    assert numbers == [(A * S + 2 * Q * S) * (D + 1) + A * S * D + D] * 2


def test_some_of_the_layers_are_named_by_their_indices() -> None:
    experts = repeat("layers", [1, 3], repeat("mlp.experts", 2, rms_norm("norm", D)), component="experts")
    assert [each.name for each in tensors(experts)] == [
        f"layers.{layer}.mlp.experts.{expert}.norm.weight" for layer in (1, 3) for expert in (0, 1)
    ]
    assert sum(each.total for each in terms(experts)) == 2 * 2 * D
    assert list(tensors(repeat("layers", [], rms_norm("norm", D)))) == []


def test_a_contributed_class_has_the_flops_that_torch_counts() -> None:
    found = cost(grouped)
    assert found is not None
    assert total(found) == sum(count for _, count in counted(built(), seq_len=5))
    assert found["head"] == 2 * D * C  # of one vector


def test_it_says_itself_that_its_blocks_are_all_that_is_multiplied() -> None:
    assert cost(grouped, says=False) is None


def test_a_block_of_which_the_products_are_not_known_leaves_the_class_without() -> None:
    assert cost(lambda dims: block("", grouped(dims), lstm("lstm", dims.D, 2))) is None


def test_torchs_own_attention_multiplies_by_its_one_matrix() -> None:
    found = cost(lambda dims: multihead_attention("attn", dims.D, component="layers"))
    assert found == {"layers": 2 * 5 * 4 * D * D + 4 * 5 * 5 * D}


@pytest.mark.parametrize(("reads", "times"), [(of_each_token, 5), (of_the_text, 1)])
def test_what_a_layer_reads_is_said_or_follows_from_its_component(reads: Any, times: int) -> None:
    head = linear("dense", D, D, component="pooler")
    assert cost(lambda _: reads(head)) == {"pooler": times * 2 * D * D}
    assert cost(lambda _: head) == {"pooler": 2 * D * D}


def test_the_angles_of_an_older_release_are_products_that_no_block_has() -> None:
    model = next(each for each in FAMILIES["llama"].architectures if each.name == "LlamaModel")
    sizes = {"V": V, "D": D, "L": 1, "A": 2, "Q": 1, "S": S, "I": I}
    switches = {"attention_bias": False, "mlp_bias": False, "hidden_act": "silu", "tie_word_embeddings": False}
    assert flops(model, Dims(sizes, switches), seq_len=5)
    assert flops(model, Dims(sizes, switches, release=Release(5, 14)), seq_len=5) is None
