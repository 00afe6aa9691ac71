"""MarkupLM (Li et al. 2021, arXiv 2110.08518): BERT that also reads where in a page's tree a word stands."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import block, embedding, linear, repeat
from pytest_bertsize.closed_forms.families import bert
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts import heads
from pytest_bertsize.closed_forms.parts.body import POOLER, Body
from pytest_bertsize.closed_forms.parts.variations import extended
from pytest_bertsize.config.keys import Size

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.config.dims import Dims


def paths(dims: Dims) -> Block:
    """M·U·(X + Y) of tables for M steps of a path, 5·M·U·D + 4·D² + 6·D of matrices, of which the first is not used."""
    D, wide = dims.D, dims.M * dims.U
    return block(
        "embeddings.xpath_embeddings",
        linear("xpath_unitseq2_embeddings", wide, D),
        linear("xpath_unitseq2_inner", wide, 4 * D),
        linear("inner2emb", 4 * D, D),
        *(
            repeat(f"xpath_{what}_sub_embeddings", dims.M, embedding("", rows, dims.U))
            for what, rows in (("tag", dims.X), ("subs", dims.Y))
        ),
        component="embeddings.path",
    )


def markuplm(dims: Dims, *, pooler: bool, name: str) -> Block:
    """BERT with paths in its embeddings."""
    return extended(bert.encoder_only(dims, pooler=pooler, name=name), paths(dims))


KEYS = replace(
    bert.ENCODER_KEYS,
    sizes=(
        *bert.ENCODER_KEYS.sizes,
        Size("max_xpath_tag_unit_embeddings", "X", default=256),
        Size("max_xpath_subs_unit_embeddings", "Y", default=1024),
        Size("xpath_unit_hidden_size", "U", default=32),
        Size("max_depth", "M", default=50, repeats=True),
    ),
    switches=(),
    inert=bert.ENCODER_KEYS.inert | {"tag_pad_id", "subs_pad_id", "tie_word_embeddings"},
)

BODY = Body("markuplm", markuplm)

FAMILY = Family(
    name="markuplm",
    keys=KEYS,
    architectures=(
        Architecture("MarkupLMModel", BODY.alone, options=POOLER),
        Architecture("MarkupLMForSequenceClassification", BODY.under(heads.classifier, pooler=True), labels=True),
        Architecture("MarkupLMForTokenClassification", BODY.under(heads.classifier), labels=True),
        Architecture("MarkupLMForQuestionAnswering", BODY.under(heads.span), labels=True),
    ),
)
