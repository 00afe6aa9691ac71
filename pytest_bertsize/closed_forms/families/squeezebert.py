"""SqueezeBERT (Iandola et al. 2020, arXiv 2006.11316): BERT whose layers are made of grouped convolutions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import activation, block, layer_norm, linear, parameter, repeat
from pytest_bertsize.closed_forms.families import bert
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts import heads
from pytest_bertsize.closed_forms.parts.body import Body
from pytest_bertsize.closed_forms.parts.unused_keys import ADD_CROSS_ATTENTION
from pytest_bertsize.config.keys import ConfigKeys, Ignored, Size, Switch, hidden_act

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block, Count
    from pytest_bertsize.config.dims import Dims


def convolution(name: str, inputs: Count, outputs: Count, groups: Count) -> Block:
    """inputs·outputs/groups weights and ``outputs`` biases: a linear layer for each group of inputs (section 3)."""
    return block(name, parameter("weight", outputs, inputs // groups, 1), parameter("bias", outputs))


def attention(dims: Dims) -> Block:
    """D²/Gq + D²/Gk + D²/Gv + D²/Ga + 4·D."""
    D = dims.D
    return block(
        "",
        convolution("attention.query", D, D, dims.Gq),
        convolution("attention.key", D, D, dims.Gk),
        convolution("attention.value", D, D, dims.Gv),
        convolution("post_attention.conv1d", D, D, dims.Ga),
        component="encoder.attention",
    )


def feed_forward(dims: Dims) -> Block:
    """D·I/Gi + I + I·D/Go + D."""
    D, I = dims.D, dims.I  # noqa: E741  (the field's symbol for intermediate_size)
    return block(
        "",
        convolution("intermediate.conv1d", D, I, dims.Gi),
        activation("intermediate.act", dims.hidden_act),
        convolution("output.conv1d", I, D, dims.Go),
        component="encoder.feed_forward",
    )


def encoder(dims: Dims) -> Block:
    """L layers of attention and feed-forward, with 4·D of norms."""
    return repeat(
        "encoder.layers",
        dims.L,
        attention(dims),
        layer_norm("post_attention.layernorm", dims.D, component="encoder.norm"),
        feed_forward(dims),
        layer_norm("output.layernorm", dims.D, component="encoder.norm"),
    )


def squeezebert(dims: Dims, *, pooler: bool = True, name: str = "") -> Block:  # noqa: ARG001  (it always pools)
    """BERT's embeddings and pooler around these layers."""
    return block(
        name,
        bert.embeddings(dims),
        encoder(dims),
        linear("pooler.dense", dims.D, dims.D, component="pooler"),
    )


GROUPED = (
    ("hidden_size", "q_groups"),
    ("hidden_size", "k_groups"),
    ("hidden_size", "v_groups"),
    ("hidden_size", "post_attention_groups"),
    ("hidden_size", "intermediate_groups"),
    ("hidden_size", "output_groups"),
    ("intermediate_size", "intermediate_groups"),
    ("intermediate_size", "output_groups"),
)

KEYS = ConfigKeys(
    sizes=(
        Size("vocab_size", "V", default=30522),
        Size("embedding_size", "E", default=768),
        Size("hidden_size", "D", default=768),
        Size("num_hidden_layers", "L", default=12, repeats=True, minimum=0),
        Size("num_attention_heads", "A", default=12),
        Size("intermediate_size", "I", default=3072),
        Size("max_position_embeddings", "P", default=512),
        Size("type_vocab_size", "T", default=2),
        Size("q_groups", "Gq", default=4),
        Size("k_groups", "Gk", default=4),
        Size("v_groups", "Gv", default=4),
        Size("post_attention_groups", "Ga", default=1),
        Size("intermediate_groups", "Gi", default=4),
        Size("output_groups", "Go", default=4),
    ),
    switches=(Switch("tie_word_embeddings", default=True),),
    choices=(hidden_act("gelu"),),
    divisible=(("hidden_size", "num_attention_heads"), *GROUPED),
    equal=(("embedding_size", "hidden_size"),),
    ignored={
        "position_embedding_type": Ignored(("absolute",)),
        "pruned_heads": Ignored(({}, None)),
        "add_cross_attention": ADD_CROSS_ATTENTION,
    },
    inert=frozenset({"is_decoder"}),
)

BODY = Body("transformer", squeezebert)
MASKED_LM = heads.masked_lm("transformer.embeddings.word_embeddings.weight")

FAMILY = Family(
    name="squeezebert",
    keys=KEYS,
    architectures=(
        Architecture("SqueezeBertModel", squeezebert),
        Architecture("SqueezeBertForMaskedLM", BODY.under(MASKED_LM)),
        Architecture("SqueezeBertForSequenceClassification", BODY.under(heads.classifier), labels=True),
        Architecture("SqueezeBertForMultipleChoice", BODY.under(heads.choice)),
        Architecture("SqueezeBertForTokenClassification", BODY.under(heads.classifier), labels=True),
        Architecture("SqueezeBertForQuestionAnswering", BODY.under(heads.span), labels=True),
    ),
)
