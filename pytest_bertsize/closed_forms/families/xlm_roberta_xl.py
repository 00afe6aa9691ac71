"""XLM-RoBERTa-XL (Goyal et al. 2021, arXiv 2105.00572): XLM-RoBERTa in billions, whose layers norm what comes in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.families import bert, roberta
from pytest_bertsize.closed_forms.family import Family
from pytest_bertsize.closed_forms.parts.body import Body

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.config.dims import Dims

NORMS = {
    "embeddings.LayerNorm": None,
    "encoder.layer.attention.output.LayerNorm": "self_attn_layer_norm",
    "encoder.layer.crossattention.output.LayerNorm": "self_attn_layer_norm",
    "encoder.layer.output.LayerNorm": "LayerNorm",
}


def xlm_roberta_xl(dims: Dims, *, pooler: bool, name: str) -> Block:
    """As many parameters as BERT: 2·D of norm are after the last layer instead of after the embeddings."""
    return bert.norms_first(dims, NORMS, "encoder.LayerNorm", pooler=pooler, name=name)


KEYS = bert.KEYS.but(
    vocab_size=250880,
    hidden_size=2560,
    num_hidden_layers=36,
    num_attention_heads=32,
    intermediate_size=10240,
    max_position_embeddings=514,
    type_vocab_size=1,
)

FAMILY = Family("xlm-roberta-xl", KEYS, roberta.architectures("XLMRobertaXL", Body("roberta", xlm_roberta_xl)))
