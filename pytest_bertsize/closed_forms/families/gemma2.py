"""Gemma 2 (Gemma Team 2024, arXiv 2408.00118): Gemma with a norm behind attention and feed-forward, too."""

from pytest_bertsize.closed_forms.declare import extend, family
from pytest_bertsize.closed_forms.families import gemma
from pytest_bertsize.closed_forms.parts import decoder

NORMS = f"""
{decoder.NORMS}
pre_feedforward_layernorm, post_feedforward_layernorm   rms_norm D   @decoder.norm
"""
PARTS = {"bias": "attention_bias", "norms": NORMS, "activation": "hidden_activation"}

KEYS = extend(
    gemma.KEYS,
    "D 2304, L 26, A 8, Q 4, I 9216",
    activations="hidden_activation gelu_pytorch_tanh",
    divisible=(("hidden_size", "num_attention_heads"),),
    until=(decoder.NO_TOKEN_BIAS,),
)

FAMILY = family("gemma2", KEYS, decoder.CLASSES.replace("*", "Gemma2"), decoder.trees(**PARTS), since=(4, 42))
