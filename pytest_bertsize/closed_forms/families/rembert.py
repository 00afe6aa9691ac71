"""RemBERT (Chung et al. 2020, arXiv 2010.12821): BERT with narrow embeddings going in and wide ones out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import activation, block, layer_norm, linear
from pytest_bertsize.closed_forms.families import bert
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts import heads
from pytest_bertsize.closed_forms.parts.body import POOLER, Body, pooled
from pytest_bertsize.closed_forms.parts.layers import narrow
from pytest_bertsize.closed_forms.parts.unused_keys import ADD_POOLING_LAYER, PRUNED_HEADS
from pytest_bertsize.config.keys import Ignored, Size

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.config.dims import Dims


def rembert(dims: Dims, *, pooler: bool, name: str) -> Block:
    """Embeddings of width E, E·D + D that widen them, BERT's layers and, with a pooler, D² + D more."""
    return pooled(
        dims,
        bert.embeddings(narrow(dims)),
        linear("encoder.embedding_hidden_mapping_in", dims.E, dims.D, component="embeddings.projection"),
        bert.encoder(dims),
        pooler=pooler,
        name=name,
    )


def lm_head(dims: Dims) -> Block:
    """``cls.predictions``: D·O + 3·O of transform and V·O + V of decoder, never tied: no width of it is the input's."""
    O = dims.O  # noqa: E741  (output_embedding_size)
    return block(
        "cls.predictions",
        linear("dense", dims.D, O, component="head.transform"),
        activation("activation", dims.hidden_act, component="head.transform"),
        layer_norm("LayerNorm", O, component="head.transform"),
        linear("decoder", O, dims.V, component="head.decoder"),
    )


DEFAULTS = bert.KEYS.but(
    vocab_size=250300, hidden_size=1152, num_hidden_layers=32, num_attention_heads=18, intermediate_size=4608
)
KEYS = replace(
    DEFAULTS,
    sizes=(
        *DEFAULTS.sizes,
        Size("input_embedding_size", "E", default=256),
        Size("output_embedding_size", "O", default=1664),
    ),
    switches=tuple(switch for switch in DEFAULTS.switches if switch.key != "tie_word_embeddings"),
    ignored={
        "tie_word_embeddings": Ignored((False,), because="the two word tables of this family are never one"),
        "embedding_size": Ignored((None,), because="this family has input_embedding_size and output_embedding_size"),
        "position_embedding_type": Ignored(("absolute",)),
        "pruned_heads": PRUNED_HEADS,
        "add_pooling_layer": ADD_POOLING_LAYER,
    },
    inert=frozenset({"classifier_dropout_prob"}),
    until=(),
)

BODY = Body("rembert", rembert)

FAMILY = Family(
    name="rembert",
    keys=KEYS,
    architectures=(
        Architecture("RemBertModel", BODY.alone, options=POOLER),
        Architecture("RemBertForMaskedLM", BODY.under(lm_head)),
        Architecture("RemBertForCausalLM", BODY.under(lm_head)),
        Architecture("RemBertForSequenceClassification", BODY.under(heads.classifier, pooler=True), labels=True),
        Architecture("RemBertForMultipleChoice", BODY.under(heads.choice, pooler=True)),
        Architecture("RemBertForTokenClassification", BODY.under(heads.classifier), labels=True),
        Architecture("RemBertForQuestionAnswering", BODY.under(heads.span), labels=True),
    ),
)
