"""Qwen2 (Yang et al. 2024, arXiv 2407.10671): Llama with biases on queries, keys and values alone."""

from pytest_bertsize.closed_forms.declare import extend, family
from pytest_bertsize.closed_forms.families import mistral
from pytest_bertsize.closed_forms.parts import decoder, rotary

KEYS = extend(
    mistral.KEYS,
    "V 151936, I 22016, Q 32",
    rules=(rotary.SOME_WIDTH, rotary.EVEN_HEAD_DIM),
    until=(decoder.NO_TOKEN_BIAS, decoder.head_dim_since(4, 48, family="qwen2")),
)

FAMILY = family(
    "qwen2",
    KEYS,
    decoder.classes("Qwen2", answers="transformer.body + span since 4.46"),
    decoder.trees(bias="True", last_bias="False"),
)
