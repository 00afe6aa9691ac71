"""Mistral (Jiang et al. 2023, arXiv 2310.06825): Llama without a bias, whose heads share keys by default."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.families import llama
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts import decoder, rotary
from pytest_bertsize.config.keys import Switch

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.config.dims import Dims


def attention(dims: Dims) -> Block:
    """2·D·S·(A + Q)."""
    return decoder.attention(dims, bias=False, last_bias=False)


def feed_forward(dims: Dims) -> Block:
    """3·D·I."""
    return decoder.feed_forward(dims, dims.hidden_act)


MISTRAL = decoder.Decoder(attention, feed_forward)

KEYS = replace(
    llama.KEYS.but(intermediate_size=14336, num_key_value_heads=8),
    switches=(Switch("tie_word_embeddings", default=False), decoder.HAS_TOKEN_BIAS),
    divisible=(),
    rules=(rotary.SOME_WIDTH, rotary.EVEN_HEAD_DIM, rotary.EVEN_HEADS),
    until=(decoder.NO_TOKEN_BIAS, decoder.head_dim_since(4, 43, family="mistral")),
)

FAMILY = Family(
    name="mistral",
    keys=KEYS,
    architectures=(
        Architecture("MistralModel", MISTRAL),
        MISTRAL.causal("MistralForCausalLM"),
        MISTRAL.sequences("MistralForSequenceClassification"),
        MISTRAL.tokens("MistralForTokenClassification"),
        MISTRAL.answers("MistralForQuestionAnswering", held_as="model", since=(4, 46)),
    ),
)
