"""DistilBERT (Sanh et al. 2019, arXiv 1910.01108): half of BERT's layers, without token types or a pooler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_bertsize.closed_forms.blocks import activation, block, embedding, layer_norm, linear, repeat
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts import heads
from pytest_bertsize.closed_forms.parts.body import Body
from pytest_bertsize.closed_forms.parts.unused_keys import ADD_CROSS_ATTENTION, EMBEDDING_SIZE, PRUNED_HEADS
from pytest_bertsize.config.keys import ConfigKeys, Ignored, Rule, Size, Switch, hidden_act

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.config.dims import Dims


def embeddings(dims: Dims) -> Block:
    """V·D + P·D + 2·D."""
    return block(
        "embeddings",
        embedding("word_embeddings", dims.V, dims.D, component="embeddings.word"),
        embedding("position_embeddings", dims.P, dims.D, component="embeddings.position"),
        layer_norm("LayerNorm", dims.D, component="embeddings.norm"),
    )


def encoder(dims: Dims) -> Block:
    """L·(4·D² + 2·D·I + 9·D + I), BERT's layers by other names."""
    D, I = dims.D, dims.I  # noqa: E741  (the field's symbol for the inner width)
    projections = (linear(f"attention.{name}", D, D) for name in ("q_lin", "k_lin", "v_lin", "out_lin"))
    return repeat(
        "transformer.layer",
        dims.L,
        block("", *projections, component="encoder.attention"),
        layer_norm("sa_layer_norm", D, component="encoder.norm"),
        block(
            "ffn",
            linear("lin1", D, I),
            activation("activation", dims.activation),
            linear("lin2", I, D),
            component="encoder.feed_forward",
        ),
        layer_norm("output_layer_norm", D, component="encoder.norm"),
    )


def distilbert(dims: Dims, *, pooler: bool = False, name: str = "") -> Block:  # noqa: ARG001  (it never pools)
    """Embeddings and encoder."""
    return block(name, embeddings(dims), encoder(dims))


def transform(dims: Dims) -> Block:
    """D² + 3·D."""
    return block(
        "",
        activation("activation", dims.activation),
        linear("vocab_transform", dims.D, dims.D),
        layer_norm("vocab_layer_norm", dims.D),
        component="head.transform",
    )


def pre_classifier(dims: Dims) -> Block:
    """D² + D of a dense layer before the classifier, in place of a pooler."""
    return linear("pre_classifier", dims.D, dims.D, component="head.classifier")


def _token_types(value: Any, dims: Dims) -> int | None:
    """T·D."""
    return int(value * dims.D) if type(value) is int and value > 0 else None


TYPE_VOCAB_SIZE = Ignored((0, None), because="this family has no token types", cost=_token_types)

KEYS = ConfigKeys(
    sizes=(
        Size("vocab_size", "V", default=30522),
        Size("dim", "D", default=768, aliases=("hidden_size",)),
        Size("n_layers", "L", default=6, repeats=True, minimum=0, aliases=("num_hidden_layers",)),
        Size("n_heads", "A", default=12, aliases=("num_attention_heads",)),
        Size("hidden_dim", "I", default=3072),
        Size("max_position_embeddings", "P", default=512),
    ),
    switches=(Switch("tie_word_embeddings", default=True),),
    choices=(hidden_act("gelu", "activation"),),
    divisible=(("dim", "n_heads"),),
    ignored={
        "position_embedding_type": Ignored(("absolute",)),
        "pruned_heads": PRUNED_HEADS,
        "add_cross_attention": ADD_CROSS_ATTENTION,
        "embedding_size": EMBEDDING_SIZE,
        "type_vocab_size": TYPE_VOCAB_SIZE,
    },
    inert=frozenset(
        {
            "attention_dropout",
            "dropout",
            "is_decoder",
            "qa_dropout",
            "seq_classif_dropout",
            "sinusoidal_pos_embds",
            "summary_activation",
            "summary_last_dropout",
            "summary_type",
            "tie_weights_",
        }
    ),
)

TWO_LABELS = Rule(
    ("num_labels",),
    lambda values: values["num_labels"] == 2,  # noqa: PLR2004  (start and end)
    "num_labels is {num_labels:,}, and the class refuses any but 2: start and end of the answer",
    "write 2",
)

BODY = Body("distilbert", distilbert)
LM_HEAD = heads.projection("vocab_projector", "distilbert.embeddings.word_embeddings.weight", bias=True)

FAMILY = Family(
    name="distilbert",
    keys=KEYS,
    architectures=(
        Architecture("DistilBertModel", distilbert),
        Architecture("DistilBertForMaskedLM", BODY.under(transform, LM_HEAD)),
        Architecture("DistilBertForSequenceClassification", BODY.under(pre_classifier, heads.classifier), labels=True),
        Architecture("DistilBertForMultipleChoice", BODY.under(pre_classifier, heads.choice)),
        Architecture("DistilBertForTokenClassification", BODY.under(heads.classifier), labels=True),
        Architecture("DistilBertForQuestionAnswering", BODY.under(heads.span), labels=True, rules=(TWO_LABELS,)),
    ),
)
