"""Jina embeddings v3 (Sturua et al. 2024, arXiv 2409.10173): XLM-RoBERTa with rotary positions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import activation, block, layer_norm, linear, repeat
from pytest_bertsize.closed_forms.families import nomic_bert, roberta
from pytest_bertsize.closed_forms.family import Family
from pytest_bertsize.closed_forms.parts import rotary
from pytest_bertsize.closed_forms.parts.body import Body, pooled
from pytest_bertsize.config.keys import hidden_act

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.config.dims import Dims


def layers(dims: Dims) -> Block:
    """L·(4·D·N + 3·N + 2·D·I + I + 6·D), where N is the width of all heads."""
    D, I, N = dims.D, dims.I, rotary.query_width(dims)  # noqa: E741  (the field's symbol for intermediate_size)
    return repeat(
        "layers",
        dims.L,
        rotary.attention(dims, N, N, bias=True),
        layer_norm("post_attention_layernorm", D, component="encoder.norm"),
        block(
            "mlp",
            linear("fc1", D, I),
            activation("activation_fn", dims.hidden_act),
            linear("fc2", I, D),
            component="encoder.feed_forward",
        ),
        layer_norm("post_mlp_layernorm", D, component="encoder.norm"),
    )


def jina(dims: Dims, *, pooler: bool, name: str) -> Block:
    """V·D + T·D + 2·D of embeddings, and the layers: no table of positions."""
    return pooled(dims, nomic_bert.embeddings(dims), layers(dims), pooler=pooler, name=name)


SIZES = {
    "vocab_size": 250002,
    "hidden_size": 1024,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "intermediate_size": 4096,
    "type_vocab_size": 1,
}
KEYS = replace(
    nomic_bert.KEYS.but(**SIZES),
    choices=(hidden_act("gelu"),),
    rules=(rotary.SOME_WIDTH, rotary.EVEN_HEAD_DIM),
)

FAMILY = Family(
    name="jina_embeddings_v3",
    keys=KEYS,
    architectures=tuple(
        each
        for each in roberta.encoders("JinaEmbeddingsV3", Body("roberta", jina))
        if not each.name.endswith("ForMultipleChoice")
    ),
    since=(5, 4),
)
