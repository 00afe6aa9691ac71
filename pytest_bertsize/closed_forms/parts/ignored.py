"""Keys that seem to change a count but do not, and the parameters that they would have added."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_bertsize.config.keys import Ignored

if TYPE_CHECKING:
    from pytest_bertsize.config.values import Dims


def _distance_embedding(value: Any, dims: Dims) -> int | None:
    """Return L·(2·P - 1)·D/A, a table of distances in every self-attention (transformers 4, Shaw et al. 2018)."""
    if value not in ("relative_key", "relative_key_query"):
        return None
    return int(dims.L * (2 * dims.P - 1) * (dims.D // dims.A))


def _pruned(value: Any, dims: Dims) -> int | None:
    """Return -(4·D + 3)·D/A for every pruned head: its rows of query, key and value, and its columns of the output."""
    if not isinstance(value, dict) or not all(isinstance(heads, list) for heads in value.values()):
        return None
    heads = sum(len({head for head in heads if type(head) is int}) for heads in value.values())
    return -int(heads * (4 * dims.D + 3) * (dims.D // dims.A))


def _factorised(value: Any, dims: Dims) -> int | None:
    """Return V·E + E·D + D - V·D: a word table of another width and a projection (Lan et al. 2019, section 3.1)."""
    if type(value) is not int or value < 1:
        return None
    return int(dims.V * value + value * dims.D + dims.D - dims.V * dims.D)


USUAL = {
    "position_embedding_type": Ignored(("absolute",), cost=_distance_embedding),
    "pruned_heads": Ignored(({}, None), cost=_pruned),
    "embedding_size": Ignored((None,), because="this family has one width throughout", cost=_factorised),
    "add_pooling_layer": Ignored(
        because="it is an argument of the class, not a key of its config",
        fix="write options = { add_pooling_layer = … } in the table",
    ),
    "add_cross_attention": Ignored((False,), because="the layers of this family have no cross-attention"),
}
"""The ignored keys that a family can name without describing them."""
GROUPS = {
    "OF_BERT": "position_embedding_type, pruned_heads, embedding_size, add_pooling_layer",
    "PLAIN": """
    position_embedding_type ["absolute"]
    pruned_heads [{}, null]
    """,
    "NO_SEGMENTS": """
    position_embedding_type ["absolute"]
    pruned_heads, add_cross_attention, embedding_size
    type_vocab_size [0, null] costs value*D when is_size: this family has no token types
    """,
    "ROTARY": """
    position_embedding_type [null, "absolute", "rope", "rotary", "sans_pos"]: this family has rotary positions
    pruned_heads [{}, null]: this family keeps all of its heads
    add_cross_attention
    """,
}
"""Ignored keys of BERT and of families that are built like it, the same without their costs in transformers 4, for
families in which the costs were not measured; those of models without token types, and with rotary positions."""
