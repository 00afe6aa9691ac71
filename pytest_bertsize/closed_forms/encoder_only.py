"""What families have in common that are BERT, perhaps with more in its layers, and never a decoder."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_bertsize.closed_forms.blocks import block, linear, repeat
from pytest_bertsize.closed_forms.families import bert, roberta
from pytest_bertsize.closed_forms.unused_keys import ADD_CROSS_ATTENTION
from pytest_bertsize.closed_forms.variations import extended
from pytest_bertsize.config_keys import Switch

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.closed_forms.body import Body
    from pytest_bertsize.closed_forms.dims import Dims
    from pytest_bertsize.closed_forms.family import Architecture


def without_cross_attention(dims: Dims) -> Dims:
    """For the blocks of BERT in a family whose layers cannot have it."""
    return replace(dims, switches={**dims.switches, "add_cross_attention": False})


def model(dims: Dims, *in_each_layer: Block | None, pooler: bool, name: str) -> Block:
    """BERT, and L times what a family has more in each layer."""
    body = bert.bert(without_cross_attention(dims), pooler=pooler, name=name)
    return extended(body, repeat("encoder.layer", dims.L, *in_each_layer))


def pooled(dims: Dims, *parts: Block, pooler: bool, name: str) -> Block:
    """A model's parts and, with a pooler, D² + D more."""
    return block(name, *parts, linear("pooler.dense", dims.D, dims.D, component="pooler") if pooler else None)


def architectures(prefix: str, body: Body) -> tuple[Architecture, ...]:
    """The classes of RoBERTa without the one that is a decoder."""
    return tuple(each for each in roberta.architectures(prefix, body) if not each.name.endswith("ForCausalLM"))


def _cross_attention(value: Any, dims: Dims) -> int | None:
    """L·(4·D² + 6·D): projections and a norm in every layer of BERT."""
    return int(dims.L * (4 * dims.D * dims.D + 6 * dims.D)) if value is True else None


KEYS = replace(
    bert.KEYS,
    switches=(Switch("tie_word_embeddings", default=True),),
    ignored={
        **bert.KEYS.ignored,
        "add_cross_attention": replace(ADD_CROSS_ATTENTION, cost=_cross_attention),
    },
    inert=frozenset({"is_decoder"}),
)
