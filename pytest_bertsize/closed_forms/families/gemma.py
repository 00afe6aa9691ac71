"""Gemma (Gemma Team 2024, arXiv 2403.08295): Llama with heads of their own width, tied to its word embeddings."""

from __future__ import annotations

from dataclasses import replace

from pytest_bertsize.closed_forms.families import llama, mistral
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts import decoder, rotary
from pytest_bertsize.config.keys import ConfigKeys, Index, Switch, Until, hidden_act
from pytest_bertsize.config.older_releases import file_in

SIZES = {
    "vocab_size": 256000,
    "hidden_size": 3072,
    "num_hidden_layers": 28,
    "num_attention_heads": 16,
    "num_key_value_heads": 16,
    "head_dim": 256,
    "intermediate_size": 24576,
}

GEMMA = decoder.Decoder(llama.attention, mistral.feed_forward)

TANH = "gelu_pytorch_tanh"
MEANT = hidden_act(TANH)._replace(taken_for={"gelu": TANH})
"""The first files say ``"gelu"`` and mean its approximation, which the config class puts there; neither learns."""


def _as_written(keys: ConfigKeys) -> ConfigKeys:
    return replace(keys, choices=(hidden_act(TANH),))


def _divisible(keys: ConfigKeys) -> ConfigKeys:
    return replace(keys, divisible=(("hidden_size", "num_attention_heads"),))


KEYS = replace(
    llama.KEYS.but(**SIZES),
    switches=(
        Switch("attention_bias", default=False),
        Switch("tie_word_embeddings", default=True),
        decoder.HAS_TOKEN_BIAS,
    ),
    choices=(MEANT,),
    divisible=(),
    indices=(Index("pad_token_id", 0),),
    rules=(rotary.PADS_WITHIN, rotary.EVEN_HEAD_DIM),
    inert=decoder.INERT | {"use_bidirectional_attention", "hidden_activation"},
    until=(
        Until((5, 18), _as_written, file_in("5.18.0", "gemma", "configuration")),
        decoder.NO_TOKEN_BIAS,
        Until((4, 48), _divisible, file_in("4.48.0", "gemma")),
    ),
)

FAMILY = Family(
    "gemma",
    KEYS,
    (
        Architecture("GemmaModel", GEMMA),
        GEMMA.causal("GemmaForCausalLM"),
        GEMMA.sequences("GemmaForSequenceClassification"),
        GEMMA.tokens("GemmaForTokenClassification"),
    ),
)
