"""Gemma (Gemma Team 2024, arXiv 2403.08295): Llama with heads of their own width, tied to its word embeddings."""

from pytest_bertsize.closed_forms.declare import (
    Index,
    before,
    family,
    hidden_act,
    keys,
    replaced,
)
from pytest_bertsize.closed_forms.families import llama
from pytest_bertsize.closed_forms.parts import rotary

TANH = "gelu_pytorch_tanh"
EVEN = (("hidden_size", "num_attention_heads"),)
KEYS = keys(
    "V 256000, D 3072, L 28 layers from 0, A 16, Q 16, S 256, I 24576",
    switches="attention_bias false, tie_word_embeddings true, token_classification_bias true",
    choices=(hidden_act(TANH)._replace(taken_for={"gelu": TANH}),),
    indices=(Index("pad_token_id", 0),),
    rules=rotary.PADS_WITHIN + rotary.EVEN_HEAD_DIM,
    ignored=llama.IGNORED,
    until=(
        before("5.18.0", replaced(choices=(hidden_act(TANH),)), "gemma", "configuration"),
        llama.NO_TOKEN_BIAS,
        before("4.48.0", replaced(divisible=EVEN), "gemma"),
    ),
)
"""The first files say ``"gelu"`` and mean its approximation, which the config class puts there; neither learns."""
BIASES = {"bias": "attention_bias", "last_bias": "attention_bias"}
GEMMA = family("gemma", KEYS, llama.CLASSES, {**llama.PARTS, **BIASES}, stem="Gemma")
