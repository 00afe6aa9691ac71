"""ALBERT (Lan et al. 2019, arXiv 1909.11942): BERT with narrow embeddings and layers that share their weights."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_bertsize.closed_forms.blocks import activation, block, layer_norm, linear, parameter, repeat
from pytest_bertsize.closed_forms.families import bert
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts import heads, relative_positions
from pytest_bertsize.closed_forms.parts.body import POOLER, Body
from pytest_bertsize.closed_forms.parts.layers import heads_in, narrow, whole_heads
from pytest_bertsize.closed_forms.parts.unused_keys import (
    ADD_CROSS_ATTENTION,
    ADD_POOLING_LAYER,
    POSITION_EMBEDDING_TYPE,
    PRUNED_HEADS,
)
from pytest_bertsize.config.keys import ConfigKeys, Size, Switch, hidden_act

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.config.dims import Dims


def attention(dims: Dims) -> Block:
    """3·(D·W + W) + D² + D of projections, where W is D if the heads divide it, and 2·D of norm."""
    D, W = dims.D, whole_heads(dims.D, dims.A)
    return block(
        "attention",
        *(linear(name, D, W) for name in ("query", "key", "value")),
        linear("dense", D, D),
        layer_norm("LayerNorm", D, component="encoder.norm"),
        relative_positions.distances(dims),
        component="encoder.attention",
    )


def layer(dims: Dims) -> Block:
    """4·D² + 2·D·I + 9·D + I where the heads divide D."""
    D, I = dims.D, dims.I  # noqa: E741  (the field's symbol for intermediate_size)
    return block(
        "",
        attention(dims),
        linear("ffn", D, I, component="encoder.feed_forward"),
        activation("activation", dims.hidden_act, component="encoder.feed_forward"),
        linear("ffn_output", I, D, component="encoder.feed_forward"),
        layer_norm("full_layer_layer_norm", D, component="encoder.norm"),
    )


def encoder(dims: Dims) -> Block:
    """G·N layers, N in each of G groups, which a forward pass goes through L·N times."""
    group = repeat("albert_layers", dims.N, layer(dims))
    return repeat("encoder.albert_layer_groups", dims.G, group, passes=dims.L)


def albert(dims: Dims, *, pooler: bool, name: str) -> Block:
    """Embeddings of width E, E·D + D that widen them, the layers and, with a pooler, D² + D more."""
    D = dims.D
    return block(
        name,
        bert.embeddings(narrow(dims)),
        linear("encoder.embedding_hidden_mapping_in", dims.E, D, component="embeddings.projection"),
        encoder(dims),
        linear("pooler", D, D, component="pooler") if pooler else None,
    )


def masked_lm(dims: Dims) -> Block:
    """``predictions``: D·E + 3·E of transform and V of output bias; untied, the decoder adds V·E + V more."""
    E = dims.E
    return block(
        "predictions",
        parameter("bias", dims.V, component="head.decoder"),
        linear("dense", dims.D, E, component="head.transform"),
        activation("activation", dims.hidden_act, component="head.transform"),
        layer_norm("LayerNorm", E, component="head.transform"),
        heads.decoder(dims, E, "albert.embeddings.word_embeddings.weight", bias="predictions.bias"),
    )


def sentence_order(dims: Dims) -> Block:
    """``sop_classifier``: C·D + C, in order or swapped for C = 2 (section 3.1)."""
    return linear("sop_classifier.classifier", dims.D, dims.C, component="head.sentence_order")


def _distance_embedding(value: Any, dims: Dims) -> int | None:
    """G·N tables where another family has L."""
    assert POSITION_EMBEDDING_TYPE.cost is not None
    return POSITION_EMBEDDING_TYPE.cost(value, replace(dims, sizes={**dims.sizes, "L": dims.G * dims.N}))


KEYS = ConfigKeys(
    sizes=(
        Size("vocab_size", "V", default=30000),
        Size("embedding_size", "E", default=128),
        Size("hidden_size", "D", default=4096),
        Size("num_hidden_layers", "L", default=12),
        Size("num_hidden_groups", "G", default=1, repeats=True),
        Size("inner_group_num", "N", default=1, repeats=True),
        Size("num_attention_heads", "A", default=64),
        Size("intermediate_size", "I", default=16384),
        Size("max_position_embeddings", "P", default=512),
        Size("type_vocab_size", "T", default=2),
    ),
    switches=(Switch("tie_word_embeddings", default=True),),
    choices=(hidden_act("gelu_new"),),
    rules=(heads_in("hidden_size"),),
    ignored={
        "position_embedding_type": POSITION_EMBEDDING_TYPE._replace(cost=_distance_embedding),
        "pruned_heads": PRUNED_HEADS,
        "add_cross_attention": ADD_CROSS_ATTENTION,
        "add_pooling_layer": ADD_POOLING_LAYER,
    },
    inert=frozenset(
        {
            "classifier_dropout_prob",
            "down_scale_factor",
            "gap_size",
            "is_decoder",
            "layers_to_keep",
            "net_structure_type",
            "num_memory_blocks",
        }
    ),
    until=(relative_positions.READ,),
)

BODY = Body("albert", albert)

FAMILY = Family(
    name="albert",
    keys=KEYS,
    architectures=(
        Architecture("AlbertModel", BODY.alone, options=POOLER),
        Architecture("AlbertForPreTraining", BODY.under(masked_lm, sentence_order, pooler=True), labels=True),
        Architecture("AlbertForMaskedLM", BODY.under(masked_lm)),
        Architecture("AlbertForSequenceClassification", BODY.under(heads.classifier, pooler=True), labels=True),
        Architecture("AlbertForTokenClassification", BODY.under(heads.classifier), labels=True),
        Architecture("AlbertForQuestionAnswering", BODY.under(heads.span), labels=True),
        Architecture("AlbertForMultipleChoice", BODY.under(heads.choice, pooler=True)),
    ),
)
