"""Blocks of today's transformers, which torch has no module for: grouped queries, fused projections, gated layers.

Whose they are is said by who puts them together: none of them is an encoder's or a decoder's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import activation, attending, block, linear

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block, Count, Node


def grouped_query_attention(
    name: str,
    width: Count,
    queries: Count,
    keys: Count,
    *more: Node | None,
    bias: bool = False,
    last_bias: bool | None = None,
    component: str | None = None,
) -> Block:
    """2·width·queries + 2·width·keys; with biases, queries + 2·keys + width more (Ainslie et al. 2023, 2305.13245).

    :param queries: the width of all heads together.
    :param keys: the width of all heads that have keys and values of their own; ``queries`` if all do.
    :param more: what else the module has: norms of the heads, for example.
    :param bias: of queries, keys and values.
    :param last_bias: of the output; ``bias`` unless given.
    """
    last = bias if last_bias is None else last_bias
    module = block(
        name,
        linear("q_proj", width, queries, bias=bias),
        linear("k_proj", width, keys, bias=bias),
        linear("v_proj", width, keys, bias=bias),
        linear("o_proj", queries, width, bias=last),
        *more,
        component=component,
    )
    return attending(module, 2 * queries)


def fused_attention(
    name: str,
    width: Count,
    queries: Count,
    keys: Count,
    *,
    called: tuple[str, str] = ("qkv_proj", "o_proj"),
    bias: bool = False,
    component: str | None = None,
) -> Block:
    """The same numbers as :func:`grouped_query_attention` has, queries, keys and values in one matrix.

    :param called: what the module calls that matrix, and the one of its output.
    """
    fused, last = called
    module = block(
        name,
        linear(fused, width, queries + 2 * keys, bias=bias),
        linear(last, queries, width, bias=bias),
        component=component,
    )
    return attending(module, 2 * queries)


def gated_feed_forward(
    name: str,
    width: Count,
    inner: Count,
    function: str = "",
    *,
    bias: bool = False,
    last_bias: bool | None = None,
    component: str | None = None,
) -> Block:
    """3·width·inner; with biases, 2·inner + width more (Shazeer 2020, arXiv 2002.05202).

    :param function: the activation's name, where it may be one that learns.
    :param bias: of the two matrices that widen.
    :param last_bias: of the one that narrows; ``bias`` unless given.
    """
    return block(
        name,
        linear("gate_proj", width, inner, bias=bias),
        linear("up_proj", width, inner, bias=bias),
        linear("down_proj", inner, width, bias=bias if last_bias is None else last_bias),
        activation("act_fn", function),
        component=component,
    )
