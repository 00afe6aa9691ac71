"""LayoutLM (Xu et al. 2019, arXiv 1912.13318): BERT that also knows where on the page a word stands."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import block, embedding
from pytest_bertsize.closed_forms.families import bert
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts import heads, relative_positions
from pytest_bertsize.closed_forms.parts.body import Body
from pytest_bertsize.closed_forms.parts.variations import extended
from pytest_bertsize.config.keys import Size

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.config.dims import Dims


def layout(dims: Dims) -> Block:
    """4·P2·D: one table for left and right, one for top and bottom, one each for a word's height and width."""
    tables = (embedding(f"{axis}_position_embeddings", dims.P2, dims.D) for axis in "xyhw")
    return block("embeddings", *tables, component="embeddings.layout")


def layoutlm(dims: Dims, *, pooler: bool = True, name: str = "") -> Block:
    """BERT, and 4·P2·D of layout; every class pools."""
    return extended(bert.encoder_only(dims, pooler=pooler, name=name), layout(dims))


KEYS = replace(
    bert.ENCODER_KEYS,
    sizes=(*bert.ENCODER_KEYS.sizes, Size("max_2d_position_embeddings", "P2", default=1024)),
    until=(relative_positions.read_until(4, 54),),
)

BODY = Body("layoutlm", layoutlm)
MASKED_LM = heads.masked_lm("layoutlm.embeddings.word_embeddings.weight")

FAMILY = Family(
    name="layoutlm",
    keys=KEYS,
    architectures=(
        Architecture("LayoutLMModel", layoutlm),
        Architecture("LayoutLMForMaskedLM", BODY.under(MASKED_LM, pooler=True)),
        Architecture("LayoutLMForSequenceClassification", BODY.under(heads.classifier, pooler=True), labels=True),
        Architecture("LayoutLMForTokenClassification", BODY.under(heads.classifier, pooler=True), labels=True),
        Architecture("LayoutLMForQuestionAnswering", BODY.under(heads.span, pooler=True), labels=True),
    ),
)
