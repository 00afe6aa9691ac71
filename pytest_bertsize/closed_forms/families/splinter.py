"""Splinter (Ram et al. 2021, arXiv 2101.00438): BERT that learns to select spans, and has a head for nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import block, layer_norm, linear
from pytest_bertsize.closed_forms.families import bert
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts import relative_positions
from pytest_bertsize.closed_forms.parts.body import Body

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.config.dims import Dims


def splinter(dims: Dims, *, pooler: bool = False, name: str = "") -> Block:
    """BERT; no class pools."""
    return bert.encoder_only(dims, pooler=pooler, name=name)


def transform(name: str, dims: Dims) -> Block:
    """D² + 3·D, and always a GELU."""
    return block(name, linear("dense", dims.D, dims.D), layer_norm("LayerNorm", dims.D), component="head.transform")


def span_selection(dims: Dims) -> Block:
    """``splinter_qass``: 4·(D² + 3·D) of transforms, of question and text, of start and end, and 2·D² of scores."""
    D = dims.D
    return block(
        "splinter_qass",
        transform("query_start_transform", dims),
        transform("query_end_transform", dims),
        transform("start_transform", dims),
        transform("end_transform", dims),
        linear("start_classifier", D, D, bias=False, component="head.classifier"),
        linear("end_classifier", D, D, bias=False, component="head.classifier"),
    )


KEYS = replace(
    bert.ENCODER_KEYS,
    switches=(),
    inert=bert.ENCODER_KEYS.inert | {"initialize_new_qass", "question_token_id", "tie_word_embeddings"},
    until=(relative_positions.read_until(4, 54),),
)

BODY = Body("splinter", splinter)

FAMILY = Family(
    name="splinter",
    keys=KEYS,
    architectures=(
        Architecture("SplinterModel", splinter),
        Architecture("SplinterForPreTraining", BODY.under(span_selection)),
        Architecture("SplinterForQuestionAnswering", BODY.under(span_selection)),
    ),
)
