"""MobileBERT (Sun et al. 2020, arXiv 2004.02984): a deep BERT, each layer of which works inside a bottleneck."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_bertsize.closed_forms.blocks import activation, block, embedding, layer_norm, linear, parameter, repeat
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts import heads
from pytest_bertsize.closed_forms.parts.body import POOLER, Body
from pytest_bertsize.closed_forms.parts.layers import feed_forward, whole_heads
from pytest_bertsize.closed_forms.parts.unused_keys import ADD_CROSS_ATTENTION, ADD_POOLING_LAYER
from pytest_bertsize.config.keys import Choice, ConfigKeys, Ignored, Rule, Size, Switch, Until, hidden_act
from pytest_bertsize.config.older_releases import without

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_bertsize.closed_forms.blocks import Block, Count
    from pytest_bertsize.config.dims import Dims


def inner_width(dims: Dims) -> Count:
    """The width inside of a layer: B, or D without a bottleneck, unless the config has a ``true_hidden_size``."""
    width = dims.sizes.get("H")
    return width if width is not None else dims.B if dims.use_bottleneck else dims.D


def embeddings(dims: Dims) -> Block:
    """V·E + (P + T)·D + 2·D, and 3·E·D + D that widen a token with its neighbours, or E·D + D without them."""
    D, E = dims.D, dims.E
    return block(
        "embeddings",
        embedding("word_embeddings", dims.V, E, component="embeddings.word"),
        embedding("position_embeddings", dims.P, D, component="embeddings.position"),
        embedding("token_type_embeddings", dims.T, D, component="embeddings.token_type"),
        linear("embedding_transformation", 3 * E if dims.trigram_input else E, D, component="embeddings.projection"),
        layer_norm("LayerNorm", D, component="embeddings.norm"),
    )


def attention(dims: Dims) -> Block:
    """2·(H·W + W) + (D·W + W) + H² + H of projections and 2·H of norm.

    H is the inner width, and W is H if the heads divide it; values have the outer width unless told otherwise.
    """
    H = inner_width(dims)
    W = whole_heads(H, dims.A)
    return block(
        "attention",
        linear("self.query", H, W),
        linear("self.key", H, W),
        linear("self.value", H if dims.use_bottleneck_attention else dims.D, W),
        linear("output.dense", H, H),
        layer_norm("output.LayerNorm", H, component="encoder.norm"),
        component="encoder.attention",
    )


def squeeze(name: str, inputs: Count, outputs: Count) -> Block:
    """inputs·outputs + outputs, and 2·outputs of norm."""
    return block(
        name,
        linear("dense", inputs, outputs, component="encoder.bottleneck"),
        layer_norm("LayerNorm", outputs, component="encoder.norm"),
    )


def bottleneck(dims: Dims) -> Block:
    """D·B + 3·B in, once more where queries and keys share one of their own, and H·D + 3·D out."""
    D, B = dims.D, dims.B
    return block(
        "",
        squeeze("bottleneck.input", D, B),
        squeeze("bottleneck.attention", D, B) if dims.key_query_shared_bottleneck else None,
        squeeze("output.bottleneck", inner_width(dims), D),
    )


def encoder(dims: Dims) -> Block:
    """L times attention, F feed-forward networks of 2·H·I + I + 3·H, and a bottleneck around them."""
    network = feed_forward(dims, inner_width(dims))
    return repeat(
        "encoder.layer",
        dims.L,
        attention(dims),
        network,
        repeat("ffn", dims.F - 1, network),
        bottleneck(dims) if dims.use_bottleneck else None,
    )


def mobilebert(dims: Dims, *, pooler: bool, name: str) -> Block:
    """Embeddings, encoder and, with a pooler that has an activation, D² + D more."""
    D = dims.D
    return block(
        name,
        embeddings(dims),
        encoder(dims),
        linear("pooler.dense", D, D, component="pooler") if pooler and dims.classifier_activation else None,
    )


def masked_lm(dims: Dims) -> Block:
    """``cls.predictions``: D² + 3·D of transform, and V + (D - E)·V of decoder; untied, it has V·E + V more.

    The decoder is the word embeddings, widened from E to D by a matrix of its own.
    """
    V, D, E = dims.V, dims.D, dims.E
    return block(
        "cls.predictions",
        parameter("bias", V, component="head.decoder"),
        block(
            "transform",
            linear("dense", D, D),
            activation("transform_act_fn", dims.hidden_act),
            layer_norm("LayerNorm", D),
            component="head.transform",
        ),
        linear("dense", V, D - E, bias=False, component="head.decoder"),
        heads.decoder(dims, E, "mobilebert.embeddings.word_embeddings.weight", bias="cls.predictions.bias"),
    )


def _some_width(values: Mapping[str, Any]) -> bool:
    width = values["intra_bottleneck_size"] if values["use_bottleneck"] else values["hidden_size"]
    return bool(values["num_attention_heads"] <= (values.get("true_hidden_size") or width))


SOME_WIDTH = Rule(
    ("num_attention_heads", "intra_bottleneck_size", "hidden_size", "true_hidden_size", "use_bottleneck"),
    _some_width,
    "num_attention_heads is {num_attention_heads:,}, more than a layer is wide inside: no width is left for a head",
    "write fewer",
)
WIDER_THAN_WORDS = Rule(
    ("embedding_size", "hidden_size"),
    lambda values: values["embedding_size"] <= values["hidden_size"],
    "embedding_size is {embedding_size:,}, more than hidden_size {hidden_size:,}: the class refuses that",
    "write {hidden_size:,} or less",
)

KEYS = ConfigKeys(
    sizes=(
        Size("vocab_size", "V", default=30522),
        Size("embedding_size", "E", default=128),
        Size("hidden_size", "D", default=512),
        Size("num_hidden_layers", "L", default=24, repeats=True, minimum=0),
        Size("num_attention_heads", "A", default=4),
        Size("intra_bottleneck_size", "B", default=128),
        Size("true_hidden_size", "H", default=None),
        Size("intermediate_size", "I", default=512),
        Size("num_feedforward_networks", "F", default=4, repeats=True),
        Size("max_position_embeddings", "P", default=512),
        Size("type_vocab_size", "T", default=2),
    ),
    switches=(
        Switch("trigram_input", default=True),
        Switch("use_bottleneck", default=True),
        Switch("use_bottleneck_attention", default=False),
        Switch("key_query_shared_bottleneck", default=True),
        Switch("classifier_activation", default=True),
        Switch("tie_word_embeddings", default=True),
    ),
    choices=(hidden_act("relu"), Choice("normalization_type", "no_norm", ("no_norm", "layer_norm"))),
    rules=(SOME_WIDTH,),
    ignored={
        "position_embedding_type": Ignored(("absolute",)),
        "pruned_heads": Ignored(({}, None)),
        "add_cross_attention": ADD_CROSS_ATTENTION,
        "add_pooling_layer": ADD_POOLING_LAYER,
    },
    inert=frozenset({"is_decoder"}),
    until=(
        Until(
            (5, 4),
            without("true_hidden_size"),
            "https://github.com/huggingface/transformers/blob/v5.4.0/src/transformers/models/mobilebert/configuration_mobilebert.py",
        ),
    ),
)

BODY = Body("mobilebert", mobilebert)

FAMILY = Family(
    name="mobilebert",
    keys=KEYS,
    architectures=(
        Architecture("MobileBertModel", BODY.alone, options=POOLER),
        Architecture(
            "MobileBertForPreTraining",
            BODY.under(masked_lm, heads.next_sentence, pooler=True),
            rules=(WIDER_THAN_WORDS,),
        ),
        Architecture("MobileBertForMaskedLM", BODY.under(masked_lm), rules=(WIDER_THAN_WORDS,)),
        Architecture("MobileBertForNextSentencePrediction", BODY.under(heads.next_sentence, pooler=True)),
        Architecture("MobileBertForSequenceClassification", BODY.under(heads.classifier, pooler=True), labels=True),
        Architecture("MobileBertForMultipleChoice", BODY.under(heads.choice, pooler=True)),
        Architecture("MobileBertForTokenClassification", BODY.under(heads.classifier), labels=True),
        Architecture("MobileBertForQuestionAnswering", BODY.under(heads.span), labels=True),
    ),
)
