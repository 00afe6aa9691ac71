"""Qwen3 (Yang et al. 2025, arXiv 2505.09388): Llama with norms on queries and keys, of heads of their own width."""

from pytest_bertsize.closed_forms.declare import extend, family, read_switches
from pytest_bertsize.closed_forms.families import mistral, qwen2
from pytest_bertsize.closed_forms.parts import decoder, rotary

KEYS = extend(
    qwen2.KEYS,
    "S 128",
    switches=(*read_switches("attention_bias false"), *mistral.KEYS.switches),
    rules=(rotary.EVEN_HEAD_DIM,),
    until=(decoder.NO_TOKEN_BIAS,),
)

FAMILY = family(
    "qwen3",
    KEYS,
    decoder.classes("Qwen3"),
    decoder.trees(bias="attention_bias", head_norms=decoder.HEAD_NORMS),
    since=(4, 51),
)
