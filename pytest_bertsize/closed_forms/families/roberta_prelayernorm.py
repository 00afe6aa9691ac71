"""RoBERTa-PreLayerNorm (Wettig et al. 2022, arXiv 2202.08005): RoBERTa whose layers norm what comes in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.families import bert, roberta
from pytest_bertsize.closed_forms.family import Family
from pytest_bertsize.closed_forms.parts.body import Body

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.config.dims import Dims

NORMS = {
    "encoder.layer.attention.output.LayerNorm": "LayerNorm",
    "encoder.layer.crossattention.output.LayerNorm": "LayerNorm",
    "encoder.layer.output.LayerNorm": "intermediate.LayerNorm",
}


def roberta_prelayernorm(dims: Dims, *, pooler: bool, name: str) -> Block:
    """BERT, and 2·D of norm after the last layer."""
    return bert.norms_first(dims, NORMS, "LayerNorm", pooler=pooler, name=name)


FAMILY = Family(
    "roberta-prelayernorm",
    roberta.KEYS,
    roberta.architectures("RobertaPreLayerNorm", Body("roberta_prelayernorm", roberta_prelayernorm)),
)
