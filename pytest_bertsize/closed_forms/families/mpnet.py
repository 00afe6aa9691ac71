"""MPNet (Song et al. 2020, arXiv 2004.09297): BERT without token types, its layers sharing one bias of distances."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import block, embedding, layer_norm, linear, repeat
from pytest_bertsize.closed_forms.families import distilbert, roberta
from pytest_bertsize.closed_forms.family import Family
from pytest_bertsize.closed_forms.parts.body import Body, pooled
from pytest_bertsize.closed_forms.parts.layers import feed_forward
from pytest_bertsize.closed_forms.parts.unused_keys import (
    ADD_CROSS_ATTENTION,
    ADD_POOLING_LAYER,
    EMBEDDING_SIZE,
    PRUNED_HEADS,
)
from pytest_bertsize.config.keys import ConfigKeys, Ignored, Size, Switch, hidden_act

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.config.dims import Dims


def attention(dims: Dims) -> Block:
    """4·(D² + D) of projections and 2·D of norm."""
    D = dims.D
    return block(
        "attention",
        *(linear(f"attn.{name}", D, D) for name in ("q", "k", "v", "o")),
        layer_norm("LayerNorm", D, component="encoder.norm"),
        component="encoder.attention",
    )


def relative_positions(dims: Dims) -> Block:
    """R·A: for each of R distances a bias of each head, in all layers the same."""
    return embedding("encoder.relative_attention_bias", dims.R, dims.A, component="encoder.relative_position")


def mpnet(dims: Dims, *, pooler: bool, name: str) -> Block:
    """DistilBERT's embeddings, BERT's layers and pooler, and R·A of distances."""
    return pooled(
        dims,
        distilbert.embeddings(dims),
        repeat("encoder.layer", dims.L, attention(dims), feed_forward(dims)),
        relative_positions(dims),
        pooler=pooler,
        name=name,
    )


KEYS = ConfigKeys(
    sizes=(
        Size(
            "vocab_size", "V", default=30527, minimum=2
        ),  # the class holds row 1 for padding, whatever the config says
        Size("hidden_size", "D", default=768),
        Size("num_hidden_layers", "L", default=12, repeats=True, minimum=0),
        Size("num_attention_heads", "A", default=12),
        Size("intermediate_size", "I", default=3072),
        Size("max_position_embeddings", "P", default=512, minimum=2),
        Size("relative_attention_num_buckets", "R", default=32),
    ),
    switches=(Switch("tie_word_embeddings", default=True),),
    choices=(hidden_act("gelu"),),
    divisible=(("hidden_size", "num_attention_heads"),),
    ignored={
        "position_embedding_type": Ignored(("absolute",)),
        "pruned_heads": PRUNED_HEADS,
        "embedding_size": EMBEDDING_SIZE,
        "type_vocab_size": distilbert.TYPE_VOCAB_SIZE,
        "add_cross_attention": ADD_CROSS_ATTENTION,
        "add_pooling_layer": ADD_POOLING_LAYER,
    },
    inert=frozenset({"is_decoder"}),
)

FAMILY = Family("mpnet", KEYS, roberta.encoders("MPNet", Body("mpnet", mpnet)))
