"""Llama (Touvron et al. 2023, arXiv 2302.13971 and 2307.09288): the decoder that most of today's are built like."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts import decoder, rotary
from pytest_bertsize.config.keys import ConfigKeys, Size, Switch, Until, hidden_act
from pytest_bertsize.config.older_releases import file_in, without

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.config.dims import Dims


def attention(dims: Dims) -> Block:
    """2·D·S·(A + Q); ``attention_bias`` adds S·(A + 2·Q) + D."""
    return decoder.attention(dims, bias=dims.attention_bias, last_bias=dims.attention_bias)


def feed_forward(dims: Dims) -> Block:
    """3·D·I; ``mlp_bias`` adds 2·I + D."""
    return decoder.feed_forward(dims, dims.hidden_act, bias=dims.switches.get("mlp_bias", False))


LLAMA = decoder.Decoder(attention, feed_forward)

KEYS = ConfigKeys(
    sizes=(
        Size("vocab_size", "V", default=32000),
        Size("hidden_size", "D", default=4096),
        Size("num_hidden_layers", "L", default=32, repeats=True, minimum=0),
        Size("num_attention_heads", "A", default=32),
        Size("num_key_value_heads", "Q", default=None),
        Size("head_dim", "S", default=None),
        Size("intermediate_size", "I", default=11008),
    ),
    switches=(
        Switch("attention_bias", default=False),
        Switch("mlp_bias", default=False),
        Switch("tie_word_embeddings", default=False),
        decoder.HAS_TOKEN_BIAS,
    ),
    choices=(hidden_act("silu"),),
    divisible=(("hidden_size", "num_attention_heads"),),
    rules=(rotary.EVEN_HEAD_DIM, rotary.EVEN_HEADS),
    ignored=decoder.IGNORED,
    inert=decoder.INERT,
    until=(
        decoder.NO_TOKEN_BIAS,
        decoder.head_dim_since(4, 45, family="llama"),
        Until((4, 41), without("mlp_bias"), file_in("4.41.0", "llama")),
    ),
)

FAMILY = Family(
    name="llama",
    keys=KEYS,
    architectures=(
        Architecture("LlamaModel", LLAMA),
        LLAMA.causal("LlamaForCausalLM"),
        LLAMA.sequences("LlamaForSequenceClassification"),
        LLAMA.tokens("LlamaForTokenClassification"),
        LLAMA.answers("LlamaForQuestionAnswering"),
    ),
)
