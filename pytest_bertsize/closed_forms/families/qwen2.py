"""Qwen2 (Yang et al. 2024, arXiv 2407.10671): Llama with biases on queries, keys and values alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.families import mistral
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts import decoder, rotary

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.config.dims import Dims


def attention(dims: Dims) -> Block:
    """2·D·S·(A + Q) + S·(A + 2·Q)."""
    return decoder.attention(dims, bias=True, last_bias=False)


QWEN2 = decoder.Decoder(attention, mistral.feed_forward)

SIZES = {"vocab_size": 151936, "intermediate_size": 22016, "num_key_value_heads": 32}
KEYS = replace(
    mistral.KEYS.but(**SIZES),
    rules=(rotary.SOME_WIDTH, rotary.EVEN_HEAD_DIM),
    until=(decoder.NO_TOKEN_BIAS, decoder.head_dim_since(4, 48, family="qwen2")),
)

FAMILY = Family(
    name="qwen2",
    keys=KEYS,
    architectures=(
        Architecture("Qwen2Model", QWEN2),
        QWEN2.causal("Qwen2ForCausalLM"),
        QWEN2.sequences("Qwen2ForSequenceClassification"),
        QWEN2.tokens("Qwen2ForTokenClassification"),
        QWEN2.answers("Qwen2ForQuestionAnswering", since=(4, 46)),
    ),
)
