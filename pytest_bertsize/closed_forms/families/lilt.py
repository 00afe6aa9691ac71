"""LiLT (Wang et al. 2022, arXiv 2202.13669): RoBERTa beside a narrow transformer of where its words stand."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import activation, block, embedding, layer_norm, linear
from pytest_bertsize.closed_forms.families import bert, roberta
from pytest_bertsize.closed_forms.family import Family
from pytest_bertsize.closed_forms.parts.body import Body
from pytest_bertsize.closed_forms.parts.variations import extended
from pytest_bertsize.config.keys import Rule, Size

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.config.dims import Dims


def layout_embeddings(dims: Dims) -> Block:
    """4·P2·(D/6) + P·N + D·N + 3·N, N = D/R being the width of the layout: six sixths make one vector."""
    D, N = dims.D, dims.D // dims.R
    return block(
        "layout_embeddings",
        *(embedding(f"{axis}_position_embeddings", dims.P2, D // 6) for axis in "xyhw"),
        embedding("box_position_embeddings", dims.P, N),
        linear("box_linear_embeddings", D, N),
        layer_norm("LayerNorm", N),
        component="embeddings.layout",
    )


def layout_layer(dims: Dims) -> Block:
    """4·N² + 2·N·M + 9·N + M, M = I/R being the inner width of the layout."""
    N, M = dims.D // dims.R, dims.I // dims.R
    return block(
        "",
        block("attention.self", *(linear(f"layout_{each}", N, N) for each in ("query", "key", "value"))),
        linear("attention.layout_output.dense", N, N),
        layer_norm("attention.layout_output.LayerNorm", N),
        linear("layout_intermediate.dense", N, M),
        activation("layout_intermediate.intermediate_act_fn", dims.hidden_act),
        linear("layout_output.dense", M, N),
        layer_norm("layout_output.LayerNorm", N),
        component="encoder.layout",
    )


def lilt(dims: Dims, *, pooler: bool, name: str) -> Block:
    """BERT, and a layout beside each of its parts."""
    body = bert.encoder_only(dims, layout_layer(dims), pooler=pooler, name=name)
    return extended(body, layout_embeddings(dims))


SOME_LAYOUT = Rule(
    ("channel_shrink_ratio", "hidden_size"),
    lambda values: values["channel_shrink_ratio"] <= values["hidden_size"],
    "channel_shrink_ratio is {channel_shrink_ratio:,}, more than hidden_size {hidden_size:,}: the layout has no width",
    "write {hidden_size:,} or fewer",
)

KEYS = replace(
    bert.ENCODER_KEYS,
    sizes=(
        *bert.ENCODER_KEYS.sizes,
        Size("max_2d_position_embeddings", "P2", default=1024),
        Size("channel_shrink_ratio", "R", default=4),
    ),
    switches=(),
    rules=(SOME_LAYOUT,),
    inert=bert.ENCODER_KEYS.inert | {"tie_word_embeddings"},
)

CLASSES = ("Model", "ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering")
FAMILY = Family(
    "lilt",
    KEYS,
    tuple(each for each in roberta.encoders("Lilt", Body("lilt", lilt)) if each.name.removeprefix("Lilt") in CLASSES),
)
