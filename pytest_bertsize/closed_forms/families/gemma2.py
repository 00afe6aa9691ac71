"""Gemma 2 (Gemma Team 2024, arXiv 2408.00118): Gemma with a norm behind attention and feed-forward, too."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.families import gemma, llama
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts import decoder
from pytest_bertsize.config.keys import hidden_act

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.config.dims import Dims

AROUND_EACH = (*decoder.BEFORE_EACH, "pre_feedforward_layernorm", "post_feedforward_layernorm")


def feed_forward(dims: Dims) -> Block:
    """3·D·I."""
    return decoder.feed_forward(dims, dims.hidden_activation)


GEMMA2 = decoder.Decoder(llama.attention, feed_forward, AROUND_EACH)

SIZES = {
    "hidden_size": 2304,
    "num_hidden_layers": 26,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "intermediate_size": 9216,
}
KEYS = replace(
    gemma.KEYS.but(**SIZES),
    choices=(hidden_act("gelu_pytorch_tanh", "hidden_activation"),),
    divisible=(("hidden_size", "num_attention_heads"),),
    inert=gemma.KEYS.inert | {"query_pre_attn_scalar", "final_logit_softcapping", "attn_logit_softcapping"},
    until=(decoder.NO_TOKEN_BIAS,),
)

FAMILY = Family(
    name="gemma2",
    keys=KEYS,
    architectures=(
        Architecture("Gemma2Model", GEMMA2),
        GEMMA2.causal("Gemma2ForCausalLM"),
        GEMMA2.sequences("Gemma2ForSequenceClassification"),
        GEMMA2.tokens("Gemma2ForTokenClassification"),
    ),
    since=(4, 42),
)
