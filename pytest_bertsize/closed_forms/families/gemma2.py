"""Gemma 2 (Gemma Team 2024, arXiv 2408.00118): Gemma with a norm behind attention and feed-forward, too."""

from dataclasses import replace

from pytest_bertsize.closed_forms.declare import family, read_activations
from pytest_bertsize.closed_forms.families import gemma
from pytest_bertsize.closed_forms.parts import decoder

NORMS = f"""
{decoder.NORMS}
pre_feedforward_layernorm, post_feedforward_layernorm   rms_norm D   @decoder.norm
"""
PARTS = {"bias": "attention_bias", "norms": NORMS, "activation": "hidden_activation"}

KEYS = replace(
    gemma.KEYS.but(
        hidden_size=2304, num_hidden_layers=26, num_attention_heads=8, num_key_value_heads=4, intermediate_size=9216
    ),
    choices=read_activations("hidden_activation gelu_pytorch_tanh"),
    divisible=(("hidden_size", "num_attention_heads"),),
    until=(decoder.NO_TOKEN_BIAS,),
)

FAMILY = family("gemma2", KEYS, decoder.CLASSES.replace("*", "Gemma2"), decoder.trees(**PARTS), since=(4, 42))
