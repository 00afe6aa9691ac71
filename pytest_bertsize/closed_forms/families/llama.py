"""Llama (Touvron et al. 2023, arXiv 2302.13971 and 2307.09288): the decoder that most of today's are built like."""

from pytest_bertsize.closed_forms.declare import family, keys
from pytest_bertsize.closed_forms.parts import decoder, rotary
from pytest_bertsize.config.keys import Until
from pytest_bertsize.config.older_releases import file_in, without

KEYS = keys(
    "V 32000, D 4096, L 32 layers from 0, A 32, Q none, S none, I 11008",
    switches="attention_bias false, mlp_bias false, tie_word_embeddings false, token_classification_bias true",
    activations="hidden_act silu",
    divisible=(("hidden_size", "num_attention_heads"),),
    rules=(rotary.EVEN_HEAD_DIM, rotary.EVEN_HEADS),
    ignored=decoder.IGNORED,
    until=(
        decoder.NO_TOKEN_BIAS,
        decoder.head_dim_since(4, 45, family="llama"),
        Until((4, 41), without("mlp_bias"), file_in("4.41.0", "llama")),
    ),
)

FAMILY = family(
    "llama", KEYS, decoder.classes("Llama"), decoder.trees(bias="attention_bias", mlp_bias="get(mlp_bias,False)")
)
