"""GTE (Zhang et al. 2024, arXiv 2407.19669): Nomic BERT with more biases, and perhaps without token types."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import block, layer_norm, linear
from pytest_bertsize.closed_forms.families import nomic_bert
from pytest_bertsize.closed_forms.family import Family
from pytest_bertsize.closed_forms.parts import heads, rotary
from pytest_bertsize.closed_forms.parts.body import Body
from pytest_bertsize.config.keys import hidden_act

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.config.dims import Dims


def gte(dims: Dims, *, pooler: bool, name: str) -> Block:
    """V·D + T·D + 2·D + L·(4·D·N + 3·N + 3·D·I + 6·D)."""
    return nomic_bert.model(dims, bias=True, pooler=pooler, name=name)


def masked_lm(dims: Dims) -> Block:
    """``lm_head``: D² + 3·D, always with a GELU, and V of output bias, never tied; untied, the weights add V·D."""
    D = dims.D
    return block(
        "lm_head",
        linear("dense", D, D, component="head.transform"),
        layer_norm("layer_norm", D, component="head.transform"),
        heads.projection("decoder", "gte.embeddings.word_embeddings.weight", bias=True)(dims),
    )


_SIZES = nomic_bert.KEYS.but(vocab_size=250048, type_vocab_size=1).sizes
KEYS = replace(
    nomic_bert.KEYS,
    sizes=tuple(size._replace(minimum=0) if size.symbol == "T" else size for size in _SIZES),
    choices=(hidden_act("gelu"),),
    rules=(rotary.SOME_WIDTH, rotary.EVEN_HEAD_DIM),
    inert=nomic_bert.KEYS.inert
    | {
        "layer_norm_type",
        "logn_attention_clip1",
        "logn_attention_scale",
        "pack_qkv",
        "unpad_inputs",
        "use_memory_efficient_attention",
    },
)

FAMILY = Family("gte", KEYS, nomic_bert.architectures("Gte", Body("gte", gte), masked_lm), since=(5, 18))
