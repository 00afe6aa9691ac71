"""Keys that families share: those of positions, rules on sizes, and ignored keys.

Relative positions are a table of distances in every self-attention of BERT and similar families in transformers 4 (Shaw
et al. 2018, arXiv 1803.02155, and Huang et al. 2020, arXiv 2009.13658). transformers 5 has no such tables and ignores
``position_embedding_type``: https://github.com/huggingface/transformers/pull/41170. Rotary positions turn pairs of
numbers (Su et al. 2021, arXiv 2104.09864) and have no parameters. A head of at most four numbers may have an odd width:
the library does not check models that are as small as those in its tests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from pytest_bertsize.config.keys import Choice, ConfigKeys, Refused, Until
from pytest_bertsize.config.older_releases import V4

if TYPE_CHECKING:
    from pytest_bertsize.config.dims import Dims

KEY = "position_embedding_type"
RELATIVE = {"relative_key": 1, "relative_key_query": 2}  # how many vectors distances multiply: query, or query and key
TABLE = "distance_embedding"
_ASKED_FOR = 'before(5) and get(position_embedding_type, "") in ("relative_key", "relative_key_query")'
DISTANCES = f"self.{TABLE}   embedding 2*P-1 D//A   @encoder.relative_position   when {_ASKED_FOR}"
SOURCE = "https://github.com/huggingface/transformers/pull/41170"


def products(dims: Dims) -> int:
    """Return how many products with rows of distances a self-attention has: 0, 1 (of queries) or 2 (also of keys)."""
    return RELATIVE.get(dims.switches.get(KEY, ""), 0) if dims.release < V4 else 0


def _read(keys: ConfigKeys) -> ConfigKeys:
    choice = Choice(KEY, "absolute", ("absolute", *RELATIVE), null=True)
    return replace(_unnoticed(keys), choices=(*keys.choices, choice))


def _refuse(keys: ConfigKeys) -> ConfigKeys:
    because = "transformers 4 adds tables of distances, which this closed form does not have"
    refused = Refused(("absolute", None), because, 'write "absolute"')
    return replace(_unnoticed(keys), refused={**keys.refused, KEY: refused})


def _unnoticed(keys: ConfigKeys) -> ConfigKeys:
    return replace(keys, ignored={key: each for key, each in keys.ignored.items() if key != KEY})


def read_until(*release: int) -> Until:
    """Return the change for releases before ``release``, in which the layers of a family have tables of distances."""
    return Until(release, _read, SOURCE)


READ = read_until(5)
REFUSED = Until(V4, _refuse, SOURCE)  # if a closed form lacks the distances of transformers 4

# rules

_NO_WIDTH = """
      num_attention_heads is {num_attention_heads:,}, more than hidden_size {hidden_size:,}: each head has width 0
      write {hidden_size:,} or fewer
"""
# Rules by name: ``PADS_WITHIN`` where the library's default of ``pad_token_id`` is an index of a large vocabulary,
# ``HEADS_HAVE_WIDTH`` where a class divides by the square root of a head's width, and three for rotary positions, with
# ``EVEN_HEADS`` where the config class derives a missing ``head_dim``.
RULES = {
    "PADS_WITHIN": """
    get(pad_token_id, 0) < vocab_size
      pad_token_id {pad_token_id:,} is outside the vocabulary of {vocab_size:,}: the class refuses it
      write the index of the padding token
    """,
    "SOME_WIDTH": f"num_attention_heads: head_dim != None or num_attention_heads <= hidden_size{_NO_WIDTH}",
    "HEADS_HAVE_WIDTH": f"num_attention_heads <= hidden_size{_NO_WIDTH}",
    "TWO_LABELS": """
    num_labels == 2
      num_labels is {num_labels:,}, but the class requires 2: start and end of the answer
      write 2
    """,
    "EVEN_HEAD_DIM": """
    head_dim == None or head_dim % 2 == 0 or head_dim <= 4
      head_dim is {head_dim:,}, an odd number, which the class refuses: rotary positions turn pairs
      write an even number
    """,
    "EVEN_HEADS": """
    hidden_size: head_dim != None or hidden_size // num_attention_heads % 2 == 0 \
or hidden_size // num_attention_heads <= 4
      hidden_size {hidden_size:,} has an odd width for each of {num_attention_heads:,} heads, which the class refuses: \
rotary positions turn pairs
      write {num_attention_heads:,} times an even number
    """,
}

# ignored keys


def count_heads(value: Any) -> int:
    """Return the number of heads in a value of ``pruned_heads``, 0 for a value that is no object of lists."""
    lists = value.values() if isinstance(value, dict) else ()
    return sum(len({head for head in heads if type(head) is int}) for heads in lists if isinstance(heads, list))


# The ignored keys that a family can name without describing them. The costs are a table of distances in every
# self-attention (transformers 4, Shaw et al. 2018); less the rows of query, key and value and the columns of the output
# for each pruned head; and a word table of another width with a projection (Lan et al. 2019, section 3.1).
USUAL = """
position_embedding_type ["absolute"] costs L*(2*P-1)*(D//A) when value in ("relative_key", "relative_key_query")
pruned_heads [{}, null] costs -heads*(4*D+3)*(D//A) when heads > 0
embedding_size [null] costs V*value + value*D + D - V*D when is_size: this family has one width throughout
add_pooling_layer: it is an argument of the class, not a key of its config \
-> write options = { add_pooling_layer = … } in the table
add_cross_attention [false]: the layers of this family have no cross-attention
"""
# Ignored keys of BERT and of families that are built like it, the same without their costs in transformers 4, for
# families in which the costs were not measured; those of models without token types, and with rotary positions.
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
