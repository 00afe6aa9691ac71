"""Mistral (Jiang et al. 2023, arXiv 2310.06825): Llama without a bias, whose heads share keys by default."""

from pytest_bertsize.closed_forms.declare import extend, family, read_switches
from pytest_bertsize.closed_forms.families import llama
from pytest_bertsize.closed_forms.parts import decoder, rotary

KEYS = extend(
    llama.KEYS,
    "I 14336, Q 8",
    switches=read_switches("tie_word_embeddings false, token_classification_bias true"),
    divisible=(),
    rules=(rotary.SOME_WIDTH, rotary.EVEN_HEAD_DIM, rotary.EVEN_HEADS),
    until=(decoder.NO_TOKEN_BIAS, decoder.head_dim_since(4, 43, family="mistral")),
)

FAMILY = family("mistral", KEYS, decoder.classes("Mistral", answers="model.body + span since 4.46"), decoder.trees())
