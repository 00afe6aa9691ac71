"""Keys and rules of models with rotary positions, which have no table of them (Su et al. 2021, arXiv 2104.09864)."""

from __future__ import annotations

from pytest_bertsize.closed_forms.parts.unused_keys import ADD_CROSS_ATTENTION
from pytest_bertsize.config.keys import Ignored, Rule

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
