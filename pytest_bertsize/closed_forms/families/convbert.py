"""ConvBERT (Jiang et al. 2020, arXiv 2008.02496): ELECTRA with convolution for half of the attention."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_bertsize.closed_forms.blocks import activation, block, layer_norm, linear, parameter
from pytest_bertsize.closed_forms.families import electra
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts import heads, layers
from pytest_bertsize.closed_forms.parts import sequence_summary as summary
from pytest_bertsize.closed_forms.parts.body import Body
from pytest_bertsize.config.keys import ConfigKeys, Ignored, Rule, Size, Switch, hidden_act

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_bertsize.closed_forms.blocks import Block, Count
    from pytest_bertsize.config.dims import Dims


def heads_left(dims: Dims) -> Count:
    """A/R rounded down, and one at least: attention has so many heads, convolution has the others."""
    return dims.A // dims.R if dims.known.A >= dims.known.R else 1


def mixed_attention(dims: Dims) -> Block:
    """3·(D·W + W) of projections, and K·D + 2·D·W + 2·W + (W + 1)·K·H of convolution.

    H is the number of heads and W their width together, about D/2.
    """
    D, K, H = dims.D, dims.K, heads_left(dims)
    W = D // H // 2 * H
    return block(
        "self",
        linear("query", D, W),
        linear("key", D, W),
        linear("value", D, W),
        block(
            "",
            parameter("key_conv_attn_layer.depthwise.weight", D, 1, K),
            parameter("key_conv_attn_layer.pointwise.weight", W, D, 1),
            parameter("key_conv_attn_layer.bias", W, 1),
            linear("conv_kernel_layer", W, K * H),
            linear("conv_out_layer", D, W),
            component="encoder.convolution",
        ),
    )


def grouped_linear(name: str, inputs: Count, outputs: Count, dims: Dims) -> Block:
    """inputs·outputs/G weights, groups and inputs first, and ``outputs`` biases; for one group the plain layer."""
    G = dims.G
    if dims.known.G == 1:
        return linear(name, inputs, outputs)
    return block(name, parameter("weight", G, inputs // G, outputs // G), parameter("bias", outputs))


def feed_forward(dims: Dims) -> Block:
    """2·D·I/G + I + D, and 2·D of norm."""
    D, I = dims.D, dims.I  # noqa: E741  (the field's symbol for intermediate_size)
    return block(
        "",
        grouped_linear("intermediate.dense", D, I, dims),
        activation("intermediate.intermediate_act_fn", dims.hidden_act),
        grouped_linear("output.dense", I, D, dims),
        layer_norm("output.LayerNorm", D, component="encoder.norm"),
        component="encoder.feed_forward",
    )


def encoder(dims: Dims) -> Block:
    """L times attention and feed-forward; cross-attention is the same once more, convolution and all."""
    return layers.encoder(dims, mixed_attention(dims), feed_forward(dims))


def convbert(dims: Dims, *, pooler: bool = False, name: str = "") -> Block:  # noqa: ARG001  (it never pools)
    """ELECTRA's embeddings and these layers."""
    return block(name, electra.embeddings(dims), encoder(dims))


def _left(values: Mapping[str, Any]) -> int:
    left: int = max(values["num_attention_heads"] // values["head_ratio"], 1)
    return left


WHOLE_HEADS = Rule(
    ("hidden_size", "num_attention_heads", "head_ratio"),
    lambda values: values["hidden_size"] % _left(values) == 0,
    "hidden_size {hidden_size:,} is not a multiple of the heads that head_ratio {head_ratio:,} leaves of "
    "num_attention_heads {num_attention_heads:,}",
    "write a multiple of {num_attention_heads:,}",
)
SOME_WIDTH = Rule(
    ("hidden_size", "num_attention_heads", "head_ratio"),
    lambda values: values["hidden_size"] >= 2 * _left(values),
    "hidden_size {hidden_size:,} leaves no width for a head: attention has half of it",
    "write a multiple of twice {num_attention_heads:,}",
)

KEYS = ConfigKeys(
    sizes=(
        Size("vocab_size", "V", default=30522),
        Size("embedding_size", "E", default=768),
        Size("hidden_size", "D", default=768),
        Size("num_hidden_layers", "L", default=12, repeats=True, minimum=0),
        Size("num_attention_heads", "A", default=12),
        Size("head_ratio", "R", default=2),
        Size("conv_kernel_size", "K", default=9),
        Size("intermediate_size", "I", default=3072),
        Size("num_groups", "G", default=1),
        Size("max_position_embeddings", "P", default=512),
        Size("type_vocab_size", "T", default=2),
    ),
    switches=(
        Switch("is_decoder", default=False),
        Switch("add_cross_attention", default=False, needs="is_decoder"),
        Switch("tie_word_embeddings", default=True),
        Switch("summary_use_proj", default=False),
        Switch("summary_proj_to_labels", default=False),
    ),
    choices=(
        hidden_act("gelu"),
        *summary.choices("last"),
    ),
    rules=(WHOLE_HEADS, SOME_WIDTH),
    ignored={"position_embedding_type": Ignored(("absolute",)), "pruned_heads": Ignored(({}, None))},
    inert=summary.INERT,
)

BODY = Body("convbert", convbert)

FAMILY = Family(
    name="convbert",
    keys=KEYS,
    architectures=(
        Architecture("ConvBertModel", convbert),
        Architecture(
            "ConvBertForMaskedLM", BODY.under(electra.generator("convbert.embeddings.word_embeddings.weight"))
        ),
        Architecture("ConvBertForSequenceClassification", BODY.under(heads.dense_classifier), labels=True),
        Architecture("ConvBertForTokenClassification", BODY.under(heads.classifier), labels=True),
        Architecture("ConvBertForQuestionAnswering", BODY.under(heads.span), labels=True),
        Architecture(
            "ConvBertForMultipleChoice",
            BODY.under(electra.sequence_summary, heads.choice),
            labels=True,
            rules=(summary.NO_ATTENTION,),
        ),
    ),
)
