"""Phi-3 (Abdin et al. 2024, arXiv 2404.14219): Llama with one matrix for all of attention, and one for both gates."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import activation, block, linear
from pytest_bertsize.closed_forms.families import mistral, qwen2
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts import decoder, heads, rotary
from pytest_bertsize.closed_forms.parts.body import Body
from pytest_bertsize.closed_forms.transformer_blocks import fused_attention
from pytest_bertsize.config.keys import Index

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.config.dims import Dims


def attention(dims: Dims) -> Block:
    """2·D·S·(A + Q)."""
    queries, keys = rotary.query_width(dims), rotary.key_width(dims)
    return fused_attention("self_attn", dims.D, queries, keys, component="decoder.attention")


def feed_forward(dims: Dims) -> Block:
    """3·D·I."""
    D, I = dims.D, dims.I  # noqa: E741  (the field's symbol for intermediate_size)
    return block(
        "mlp",
        linear("gate_up_proj", D, 2 * I, bias=False),
        linear("down_proj", I, D, bias=False),
        activation("activation_fn", dims.hidden_act),
        component="decoder.feed_forward",
    )


PHI3 = decoder.Decoder(attention, feed_forward)


def tokens(dims: Dims) -> Block:
    """C·D + C, by another name before transformers 4.48."""
    head = heads.classifier if dims.release < (4, 48) else decoder.token_score
    return Body("model", PHI3).under(head)(dims)


KEYS = replace(
    mistral.KEYS.but(vocab_size=32064, hidden_size=3072, intermediate_size=8192, num_key_value_heads=None),
    indices=(Index("pad_token_id", 32000),),
    rules=(rotary.PADS_WITHIN, *qwen2.KEYS.rules),
    until=(decoder.NO_TOKEN_BIAS, decoder.head_dim_since(4, 48, family="phi3")),
    inert=decoder.INERT | {"original_max_position_embeddings", "resid_pdrop", "embd_pdrop"},
)

FAMILY = Family(
    name="phi3",
    keys=KEYS,
    architectures=(
        Architecture("Phi3Model", PHI3),
        PHI3.causal("Phi3ForCausalLM"),
        PHI3.sequences("Phi3ForSequenceClassification"),
        Architecture("Phi3ForTokenClassification", tokens, labels=True),
    ),
    since=(4, 41),
)
