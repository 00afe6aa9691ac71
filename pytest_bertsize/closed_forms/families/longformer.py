"""Longformer (Beltagy et al. 2020, arXiv 2004.05150): RoBERTa whose tokens look at their neighbours, a few at all."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import block, linear
from pytest_bertsize.closed_forms.families import bert, roberta
from pytest_bertsize.closed_forms.family import Family
from pytest_bertsize.closed_forms.parts.body import Body

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.config.dims import Dims


def global_attention(dims: Dims) -> Block:
    """3·(D² + D): projections for the tokens that look at all, beside those for the window (section 3.1)."""
    projections = (linear(f"{name}_global", dims.D, dims.D) for name in ("query", "key", "value"))
    return block("attention.self", *projections, component="encoder.attention")


def longformer(dims: Dims, *, pooler: bool, name: str) -> Block:
    """BERT with global attention in every layer."""
    return bert.encoder_only(dims, global_attention(dims), pooler=pooler, name=name)


KEYS = replace(
    bert.ENCODER_KEYS,
    inert=bert.ENCODER_KEYS.inert | {"attention_mode", "attention_window", "ignore_attention_mask", "onnx_export"},
)

FAMILY = Family("longformer", KEYS, roberta.encoders("Longformer", Body("longformer", longformer)))
