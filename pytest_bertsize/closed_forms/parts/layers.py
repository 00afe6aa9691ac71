"""What BERT's kin build their layers of, where a family changes one part of BERT's layer and keeps the others."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import activation, block, layer_norm, linear, repeat
from pytest_bertsize.closed_forms.parts import relative_positions
from pytest_bertsize.closed_forms.parts.variations import extended
from pytest_bertsize.config.keys import Rule

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block, Count
    from pytest_bertsize.config.dims import Dims


def narrow(dims: Dims, symbol: str = "E") -> Dims:
    """The same sizes with another one for the width: ``bert.embeddings(narrow(dims))`` are of width E, not D."""
    numbers = None if dims.numbers is None else {**dims.numbers, "D": dims.numbers[symbol]}
    return replace(dims, sizes={**dims.sizes, "D": dims.sizes[symbol]}, numbers=numbers)


def whole_heads(width: Count, heads: Count) -> Count:
    """The width of all heads together: where they do not divide ``width``, the rest of it is left out."""
    return width // heads * heads


def heads_in(width: str, heads: str = "num_attention_heads") -> Rule:
    """Some width for each head: the class divides by the root of it."""
    return Rule(
        (heads, width),
        lambda values: values[heads] <= values[width],
        f"{heads} is {{{heads}:,}}, more than {width} {{{width}:,}}: no width is left for a head",
        f"write {{{width}:,}} or fewer",
    )


def attention(name: str, inside: Block, dims: Dims, component: str) -> Block:
    """What a family has for ``self``, then BERT's D² + D of output and 2·D of norm."""
    return block(
        name,
        inside,
        linear("output.dense", dims.D, dims.D),
        layer_norm("output.LayerNorm", dims.D, component="encoder.norm"),
        component=component,
    )


def encoder(dims: Dims, inside: Block, network: Block) -> Block:
    """L layers of attention, cross-attention where the config asks for it, and a feed-forward network.

    :param inside: what either attention has for ``self``.
    """
    return repeat(
        "encoder.layer",
        dims.L,
        attention("attention", extended(inside, relative_positions.distances(dims)), dims, "encoder.attention"),
        attention("crossattention", inside, dims, "encoder.cross_attention") if dims.add_cross_attention else None,
        network,
    )


def feed_forward(dims: Dims, width: Count = None) -> Block:
    """2·D·I + I + D, and 2·D of norm, D being the ``width`` where one is given."""
    D, I = dims.D if width is None else width, dims.I  # noqa: E741  (the field's symbol for intermediate_size)
    return block(
        "",
        linear("intermediate.dense", D, I),
        activation("intermediate.intermediate_act_fn", dims.hidden_act),
        linear("output.dense", I, D),
        layer_norm("output.LayerNorm", D, component="encoder.norm"),
        component="encoder.feed_forward",
    )
