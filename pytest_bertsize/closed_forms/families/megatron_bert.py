"""Megatron-BERT (Shoeybi et al. 2019, arXiv 1909.08053): BERT whose layers norm what comes in, not what goes out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.families import bert
from pytest_bertsize.closed_forms.family import Family
from pytest_bertsize.closed_forms.parts import relative_positions
from pytest_bertsize.closed_forms.parts.body import Body
from pytest_bertsize.closed_forms.parts.variations import extended

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.config.dims import Dims

NORMS = {
    "embeddings.LayerNorm": None,
    "encoder.layer.attention.output.LayerNorm": "ln",
    "encoder.layer.crossattention.output.LayerNorm": "ln",
    "encoder.layer.output.LayerNorm": "ln",
}


def megatron_bert(dims: Dims, *, pooler: bool, name: str) -> Block:
    """As many parameters as BERT: 2·D of norm are after the last layer instead of after the embeddings."""
    body = bert.norms_first(dims, NORMS, "encoder.ln", pooler=pooler, name=name)
    return extended(body, relative_positions.across(dims))


DEFAULTS = bert.KEYS.but(
    vocab_size=29056, hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096
)
KEYS = replace(DEFAULTS, inert=DEFAULTS.inert | {"tokenizer_type"})

FAMILY = Family("megatron-bert", KEYS, bert.architectures("MegatronBert", Body("bert", megatron_bert)))
