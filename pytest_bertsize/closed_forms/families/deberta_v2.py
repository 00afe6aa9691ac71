"""DeBERTa-v2 and -v3 (He et al. 2020 and 2021, arXiv 2006.03654 and 2111.09543): DeBERTa with buckets of distances.

Most of what tells its checkpoints apart stands under keys that the library's config class does not declare.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import block, layer_norm, linear, parameter
from pytest_bertsize.closed_forms.families import deberta
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts import heads
from pytest_bertsize.closed_forms.parts.body import Body
from pytest_bertsize.config.keys import Choice, Rule, Size, Switch

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from pytest_bertsize.closed_forms.blocks import Block, Count
    from pytest_bertsize.config.dims import Dims


def attention(dims: Dims) -> Block:
    """3·(D·N + N) of projections to N = A·S, or to D where S is left out.

    D·N + N more where content looks at positions, and again where they look at content, unless they share the keys.
    """
    D = dims.D
    N = D if dims.known.S is None else dims.A * dims.S
    relative = dims.pos_att_type if dims.relative_attention and not dims.share_att_key else ()
    return block(
        "self",
        linear("query_proj", D, N),
        linear("key_proj", D, N),
        linear("value_proj", D, N),
        linear("pos_key_proj", D, N, component="encoder.relative_position") if "c2p" in relative else None,
        linear("pos_query_proj", D, N, component="encoder.relative_position") if "p2c" in relative else None,
    )


def buckets(dims: Dims) -> Count:
    """B buckets of distances, or every distance where there are none (-1)."""
    return dims.B if dims.known.either("B", -1) > 0 else deberta.distances(dims)


def convolution(dims: Dims) -> Block | None:
    """D·D/G·K + 3·D: beside the first layer, a convolution over K tokens in G groups, and its norm."""
    if dims.known.either("K", 0) == 0:
        return None
    D = dims.D
    return block(
        "conv",
        block("conv", parameter("weight", D, D // dims.either("G", 1), dims.K), parameter("bias", D)),
        layer_norm("LayerNorm", D, component="encoder.norm"),
        component="encoder.convolution",
    )


def deberta_v2(dims: Dims, *, pooler: bool = False, name: str = "") -> Block:  # noqa: ARG001  (heads bring it)
    """DeBERTa with another attention; 2·D more for the norm of the table of relative positions."""
    normed = dims.norm_rel_ebd == "layer_norm"
    return block(
        name,
        deberta.embeddings(dims),
        block(
            "encoder",
            deberta.stack(dims, attention(dims)),
            deberta.relative_positions(dims, buckets(dims)),
            layer_norm("LayerNorm", dims.D, component="encoder.relative_position") if normed else None,
            convolution(dims),
        ),
    )


def _divides_the_width(values: Mapping[str, Any]) -> bool:
    return not values["conv_kernel_size"] or values["hidden_size"] % (values["conv_groups"] or 1) == 0


KEYS = replace(
    deberta.KEYS,
    sizes=(
        *deberta.KEYS.but(
            vocab_size=128100,
            hidden_size=1536,
            num_hidden_layers=24,
            num_attention_heads=24,
            intermediate_size=6144,
        ).sizes,
        Size("attention_head_size", "S", default=None),
        Size("position_buckets", "B", default=None, minimum=-1),
        Size("conv_kernel_size", "K", default=None, minimum=0),
        Size("conv_groups", "G", default=None),
    ),
    switches=(
        Switch("relative_attention", default=False),
        Switch("position_biased_input", default=True),
        Switch("share_att_key", default=False),
        Switch("legacy", default=True),
        Switch("tie_word_embeddings", default=True),
    ),
    choices=(*deberta.KEYS.choices, Choice("norm_rel_ebd", "none", ("none", "layer_norm"))),
    rules=(
        Rule(
            ("hidden_size", "conv_groups", "conv_kernel_size"),
            _divides_the_width,
            "hidden_size {hidden_size:,} is not a multiple of conv_groups {conv_groups:,}",
            "write a multiple of {conv_groups:,}",
        ),
    ),
    inert=deberta.KEYS.inert | {"conv_act"},
)

BODY = Body("deberta", deberta_v2)

FAMILY = Family(
    name="deberta-v2",
    keys=KEYS,
    architectures=(
        *deberta.architectures("DebertaV2", BODY),
        Architecture("DebertaV2ForMultipleChoice", BODY.under(deberta.pooler, heads.choice)),
    ),
)
