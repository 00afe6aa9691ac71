"""ELECTRA (Clark et al. 2020, arXiv 2003.10555): BERT with narrow embeddings, as generator and as discriminator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import activation, block, layer_norm, linear
from pytest_bertsize.closed_forms.families import bert
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts import heads, layers, relative_positions
from pytest_bertsize.closed_forms.parts import sequence_summary as summary
from pytest_bertsize.closed_forms.parts.body import Body
from pytest_bertsize.closed_forms.parts.layers import heads_in, narrow, whole_heads
from pytest_bertsize.closed_forms.parts.unused_keys import POSITION_EMBEDDING_TYPE, PRUNED_HEADS
from pytest_bertsize.config.keys import ConfigKeys, Size, Switch, hidden_act

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.closed_forms.parts.body import Head
    from pytest_bertsize.config.dims import Dims


def embeddings(dims: Dims) -> Block:
    """V·E + P·E + T·E + 2·E; where E is not D, E·D + D that widen them."""
    D, E = dims.D, dims.E
    return block(
        "",
        bert.embeddings(narrow(dims)),
        linear("embeddings_project", E, D, component="embeddings.projection") if dims.known.E != dims.known.D else None,
    )


def self_attention(dims: Dims) -> Block:
    """3·(D·W + W), where W is D if the heads divide it."""
    D, W = dims.D, whole_heads(dims.D, dims.A)
    return block("self", linear("query", D, W), linear("key", D, W), linear("value", D, W))


def encoder(dims: Dims) -> Block:
    """L·(4·D² + 2·D·I + 9·D + I), cross-attention adds L·(4·D² + 6·D): BERT's where the heads divide D."""
    return layers.encoder(dims, self_attention(dims), layers.feed_forward(dims))


def electra(dims: Dims, *, pooler: bool = False, name: str = "") -> Block:  # noqa: ARG001  (it never pools)
    """Embeddings and encoder."""
    return block(name, embeddings(dims), encoder(dims))


def discriminator(dims: Dims) -> Block:
    """``discriminator_predictions``: D² + D of transform and D + 1 of classifier, is original or is replaced."""
    return block(
        "discriminator_predictions",
        linear("dense", dims.D, dims.D, component="head.transform"),
        activation("activation", dims.hidden_act, component="head.transform"),
        linear("dense_prediction", dims.D, 1, component="head.classifier"),
    )


def generator(word_embeddings: str) -> Head:
    """D·E + 3·E of transform and V of output bias, which is never tied; untied, the weights add V·E.

    :param word_embeddings: full name of the embedding matrix that the output shares.
    """
    lm_head = heads.projection("generator_lm_head", word_embeddings, bias=True)

    def head(dims: Dims) -> Block:
        transform = block(
            "generator_predictions",
            linear("dense", dims.D, dims.E),
            layer_norm("LayerNorm", dims.E),
            component="head.transform",
        )
        return block("", transform, lm_head(narrow(dims)))

    return head


def sequence_summary(dims: Dims) -> Block:
    """``sequence_summary``: D² + D, or C·D + C with ``summary_proj_to_labels``; none where it does not project."""
    return summary.sequence_summary(dims, "sequence_summary", dims.C)


KEYS = ConfigKeys(
    sizes=(
        Size("vocab_size", "V", default=30522),
        Size("embedding_size", "E", default=128),
        Size("hidden_size", "D", default=256),
        Size("num_hidden_layers", "L", default=12, repeats=True, minimum=0),
        Size("num_attention_heads", "A", default=4),
        Size("intermediate_size", "I", default=1024),
        Size("max_position_embeddings", "P", default=512),
        Size("type_vocab_size", "T", default=2),
    ),
    switches=(
        Switch("is_decoder", default=False),
        Switch("add_cross_attention", default=False, needs="is_decoder"),
        Switch("tie_word_embeddings", default=True),
        Switch("summary_use_proj", default=True),
        Switch("summary_proj_to_labels", default=False),
    ),
    choices=(hidden_act("gelu"), *summary.choices("first", "gelu")),
    rules=(heads_in("hidden_size"),),
    ignored={"position_embedding_type": POSITION_EMBEDDING_TYPE, "pruned_heads": PRUNED_HEADS},
    inert=summary.INERT,
    until=(relative_positions.READ,),
)

BODY = Body("electra", electra)
GENERATOR = generator("electra.embeddings.word_embeddings.weight")

FAMILY = Family(
    name="electra",
    keys=KEYS,
    architectures=(
        Architecture("ElectraModel", electra),
        Architecture("ElectraForPreTraining", BODY.under(discriminator)),
        Architecture("ElectraForMaskedLM", BODY.under(GENERATOR)),
        Architecture("ElectraForCausalLM", BODY.under(GENERATOR)),
        Architecture("ElectraForSequenceClassification", BODY.under(heads.dense_classifier), labels=True),
        Architecture("ElectraForTokenClassification", BODY.under(heads.classifier), labels=True),
        Architecture("ElectraForQuestionAnswering", BODY.under(heads.span), labels=True),
        Architecture(
            "ElectraForMultipleChoice",
            BODY.under(sequence_summary, heads.choice),
            labels=True,
            rules=(summary.NO_ATTENTION,),
        ),
    ),
)
