"""Gemma (Gemma Team 2024, arXiv 2403.08295): Llama with heads of their own width, tied to its word embeddings."""

from dataclasses import replace

from pytest_bertsize.closed_forms.declare import family, keys
from pytest_bertsize.closed_forms.parts import decoder, rotary
from pytest_bertsize.config.keys import ConfigKeys, Index, Until, hidden_act
from pytest_bertsize.config.older_releases import file_in

TANH = "gelu_pytorch_tanh"
MEANT = hidden_act(TANH)._replace(taken_for={"gelu": TANH})
"""The first files say ``"gelu"`` and mean its approximation, which the config class puts there; neither learns."""


def _as_written(before: ConfigKeys) -> ConfigKeys:
    return replace(before, choices=(hidden_act(TANH),))


def _divisible(before: ConfigKeys) -> ConfigKeys:
    return replace(before, divisible=(("hidden_size", "num_attention_heads"),))


KEYS = keys(
    "V 256000, D 3072, L 28 layers from 0, A 16, Q 16, S 256, I 24576",
    switches="attention_bias false, tie_word_embeddings true, token_classification_bias true",
    choices=(MEANT,),
    indices=(Index("pad_token_id", 0),),
    rules=(rotary.PADS_WITHIN, rotary.EVEN_HEAD_DIM),
    ignored=decoder.IGNORED,
    until=(
        Until((5, 18), _as_written, file_in("5.18.0", "gemma", "configuration")),
        decoder.NO_TOKEN_BIAS,
        Until((4, 48), _divisible, file_in("4.48.0", "gemma")),
    ),
)

FAMILY = family("gemma", KEYS, decoder.CLASSES.replace("*", "Gemma"), decoder.trees(bias="attention_bias"))
