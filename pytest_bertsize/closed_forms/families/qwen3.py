"""Qwen3 (Yang et al. 2025, arXiv 2505.09388): Llama with norms on queries and keys, of heads of their own width."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.families import mistral, qwen2
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts import decoder, rotary
from pytest_bertsize.config.keys import Switch

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.config.dims import Dims


def attention(dims: Dims) -> Block:
    """2·D·S·(A + Q) + 2·S; ``attention_bias`` adds S·(A + 2·Q) + D."""
    return decoder.attention(dims, bias=dims.attention_bias, last_bias=dims.attention_bias, normed=True)


QWEN3 = decoder.Decoder(attention, mistral.feed_forward)

KEYS = replace(
    qwen2.KEYS.but(head_dim=128),
    switches=(Switch("attention_bias", default=False), *mistral.KEYS.switches),
    rules=(rotary.EVEN_HEAD_DIM,),
    until=(decoder.NO_TOKEN_BIAS,),
)

FAMILY = Family(
    name="qwen3",
    keys=KEYS,
    architectures=(
        Architecture("Qwen3Model", QWEN3),
        QWEN3.causal("Qwen3ForCausalLM"),
        QWEN3.sequences("Qwen3ForSequenceClassification"),
        QWEN3.tokens("Qwen3ForTokenClassification"),
        QWEN3.answers("Qwen3ForQuestionAnswering"),
    ),
    since=(4, 51),
)
