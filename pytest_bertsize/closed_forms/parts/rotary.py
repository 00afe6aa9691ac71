"""What encoders with rotary positions (Su et al. 2021, arXiv 2104.09864) share: no table of positions, a gated MLP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.parts.unused_keys import ADD_CROSS_ATTENTION
from pytest_bertsize.closed_forms.transformer_blocks import gated_feed_forward, grouped_query_attention
from pytest_bertsize.config.keys import Ignored, Rule

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block, Count
    from pytest_bertsize.config.dims import Dims


def head_width(dims: Dims) -> Count:
    """S, or what is whole of D/A where the config leaves it out, or the release does not read it yet."""
    return dims.D // dims.A if dims.sizes.get("S") is None else dims.S


def query_width(dims: Dims) -> Count:
    """A·S: D, where S is left out and the heads divide D."""
    return dims.A * head_width(dims)


def key_width(dims: Dims) -> Count:
    """Q·S: keys and values have Q heads of their own, A unless the config says so (arXiv 2305.13245)."""
    return query_width(dims) if dims.known.Q is None else dims.Q * head_width(dims)


def attention(dims: Dims, queries: Count, keys: Count, *, bias: bool) -> Block:
    """2·D·queries + 2·D·keys, values as wide as keys; with biases, queries + 2·keys + D more."""
    return grouped_query_attention("self_attn", dims.D, queries, keys, bias=bias, component="encoder.attention")


def gated_mlp(dims: Dims, *, bias: bool, last_bias: bool) -> Block:
    """3·D·I; with biases, 2·I + D more.

    :param bias: of the two matrices that widen.
    :param last_bias: of the one that narrows.
    """
    return gated_feed_forward(
        "mlp", dims.D, dims.I, dims.hidden_act, bias=bias, last_bias=last_bias, component="encoder.feed_forward"
    )


PADS_WITHIN = Rule(
    ("pad_token_id", "vocab_size"),
    lambda values: (values["pad_token_id"] or 0) < values["vocab_size"],
    "pad_token_id {pad_token_id:,} is not in a vocabulary of {vocab_size:,}: the class refuses it",
    "write the index of the padding token",
)
"""Of those whose library default is an index in a large vocabulary."""

TINY_HEAD = 4
"""The widest head of which the library does not ask whether it can be turned: models for tests have odd ones."""


def _turns(width: int) -> bool:
    """Whether the library turns a head of this width, which it does in pairs."""
    return width % 2 == 0 or width <= TINY_HEAD


SOME_WIDTH = Rule(
    ("num_attention_heads", "hidden_size", "head_dim"),
    lambda values: values["head_dim"] is not None or values["num_attention_heads"] <= values["hidden_size"],
    "num_attention_heads is {num_attention_heads:,}, more than hidden_size {hidden_size:,}: no head has any width",
    "write {hidden_size:,} or fewer",
)
EVEN_HEAD_DIM = Rule(
    ("head_dim",),
    lambda values: values["head_dim"] is None or _turns(values["head_dim"]),
    "head_dim is {head_dim:,}, and the class refuses odd ones: rotary positions turn pairs",
    "write an even one",
)
EVEN_HEADS = Rule(
    ("hidden_size", "num_attention_heads", "head_dim"),
    lambda values: values["head_dim"] is not None or _turns(values["hidden_size"] // values["num_attention_heads"]),
    "hidden_size {hidden_size:,} has an odd width for each of {num_attention_heads:,} heads, which the class refuses: "
    "rotary positions turn pairs",
    "write {num_attention_heads:,} times an even number",
)
"""Of those whose config class works ``head_dim`` out where the file does not have it."""

UNUSED_KEYS = {
    "position_embedding_type": Ignored(
        (None, "absolute", "rope", "rotary", "sans_pos"), because="this family has rotary positions"
    ),
    "pruned_heads": Ignored(({}, None), because="this family keeps all of its heads"),
    "add_cross_attention": ADD_CROSS_ATTENTION,
}

INERT = frozenset(
    {
        "max_position_embeddings",
        "rope_parameters",
        "rope_scaling",
        "rope_theta",
        "rope_type",
        "default_theta",
        "partial_rotary_factor",
        "attention_dropout",
        "is_decoder",
        "mask_token_id",
        "cls_token_id",
        "classifier_pooling",
    }
)
"""How far positions reach and how they turn are no parameters."""
