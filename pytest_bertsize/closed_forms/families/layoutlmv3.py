"""LayoutLMv3 (Huang et al. 2022, arXiv 2204.08387): BERT that reads where a word stands, and patches of the page."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import block, conv2d, embedding, layer_norm, linear, parameter
from pytest_bertsize.closed_forms.families import bert
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts import heads
from pytest_bertsize.closed_forms.parts.body import Body
from pytest_bertsize.config.keys import Size, Switch

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.config.dims import Dims

FEW_LABELS = 10
"""With fewer, a token's classifier is one matrix."""


def layout(dims: Dims) -> Block:
    """2·P2·J + 2·P2·H: where a word begins, how high and how wide it is."""
    tables = (embedding(f"{axis}_position_embeddings", dims.P2, dims.J if axis in "xy" else dims.H) for axis in "xyhw")
    return block("embeddings", *tables, component="embeddings.layout")


def patches(dims: Dims) -> Block:
    """N·D·K² + D of patches, D of what stands before them, (W² + 1)·D of positions and 4·D, W patches to a side."""
    D, side = dims.D, dims.W // dims.K
    return block(
        "",
        conv2d("patch_embed.proj", dims.N, D, dims.K),
        parameter("cls_token", 1, 1, D),
        parameter("pos_embed", 1, side * side + 1, D),
        layer_norm("LayerNorm", D),
        layer_norm("norm", D),
        component="embeddings.patch",
    )


def distances(dims: Dims) -> Block:
    """B·A for how far words are apart, and 2·B2·A for how far on the page."""
    A = dims.A
    page = (linear(f"rel_pos_{axis}_bias", dims.B2, A, bias=False) for axis in "xy" if dims.has_spatial_attention_bias)
    return block(
        "encoder",
        linear("rel_pos_bias", dims.B, A, bias=False) if dims.has_relative_attention_bias else None,
        *page,
        component="encoder.relative_position",
    )


def layoutlmv3(dims: Dims, *, pooler: bool = False, name: str = "") -> Block:  # noqa: ARG001  (it never pools)
    """BERT, a layout, patches and distances: what each of them is, the config says."""
    return block(
        name,
        *((bert.embeddings(dims), layout(dims)) if dims.text_embed else ()),
        patches(dims) if dims.visual_embed else None,
        bert.encoder(bert.without_cross_attention(dims)),
        distances(dims),
    )


def token_classifier(dims: Dims) -> Block:
    """C·D + C; of ten labels and more, D² + D ahead of it."""
    return heads.classifier(dims) if dims.known.C < FEW_LABELS else heads.dense_classifier(dims)


def span(dims: Dims) -> Block:
    """``qa_outputs``: D² + D + C·D + C."""
    D = dims.D
    return block("qa_outputs", linear("dense", D, D), linear("out_proj", D, dims.C), component="head.qa_outputs")


KEYS = replace(
    bert.ENCODER_KEYS.but(vocab_size=50265),
    sizes=(
        *bert.ENCODER_KEYS.but(vocab_size=50265).sizes,
        Size("max_2d_position_embeddings", "P2", default=1024),
        Size("coordinate_size", "J", default=128),
        Size("shape_size", "H", default=128),
        Size("rel_pos_bins", "B", default=32),
        Size("rel_2d_pos_bins", "B2", default=64),
        Size("input_size", "W", default=224),
        Size("patch_size", "K", default=16),
        Size("num_channels", "N", default=3),
    ),
    switches=tuple(
        Switch(key, default=True)
        for key in ("has_relative_attention_bias", "has_spatial_attention_bias", "text_embed", "visual_embed")
    ),
    inert=bert.ENCODER_KEYS.inert | {"max_rel_pos", "max_rel_2d_pos", "tie_word_embeddings"},
)

BODY = Body("layoutlmv3", layoutlmv3)

FAMILY = Family(
    name="layoutlmv3",
    keys=KEYS,
    architectures=(
        Architecture("LayoutLMv3Model", layoutlmv3),
        Architecture("LayoutLMv3ForTokenClassification", BODY.under(token_classifier), labels=True),
        Architecture("LayoutLMv3ForQuestionAnswering", BODY.under(span), labels=True),
        Architecture("LayoutLMv3ForSequenceClassification", BODY.under(heads.dense_classifier), labels=True),
    ),
)
