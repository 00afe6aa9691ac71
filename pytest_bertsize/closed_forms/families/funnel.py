"""Funnel Transformer (Dai et al. 2020, arXiv 2006.03236): an encoder that halves its sequence from block to block."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import activation, block, embedding, layer_norm, linear, parameter, repeat
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts import heads
from pytest_bertsize.closed_forms.parts.unused_keys import ADD_CROSS_ATTENTION, EMBEDDING_SIZE
from pytest_bertsize.config.keys import Choice, ConfigKeys, Ignored, Listing, Rule, Size, Switch, hidden_act

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.closed_forms.parts.body import Head
    from pytest_bertsize.config.dims import Dims


def embeddings(dims: Dims) -> Block:
    """V·D + 2·D: what comes where, and in which segment, is for attention to know."""
    return block(
        "embeddings",
        embedding("word_embeddings", dims.V, dims.D, component="embeddings.word"),
        layer_norm("layer_norm", dims.D, component="embeddings.norm"),
    )


def attention(dims: Dims, part: str) -> Block:
    """4·D·A·H + 2·A·H + D of projections, of which the queries have no bias, and 2·D of norm.

    Relative positions add D·A·H + 2·A·H; segments, the same or another, 3·A·H.
    """
    D, A, H = dims.D, dims.A, dims.H
    return block(
        "attention",
        linear("q_head", D, A * H, bias=False),
        linear("k_head", D, A * H),
        linear("v_head", D, A * H),
        linear("post_proj", A * H, D),
        *(parameter(name, A, H, component=f"{part}.relative_position") for name in ("r_w_bias", "r_r_bias")),
        parameter("r_kernel", D, A, H, component=f"{part}.relative_position"),
        parameter("r_s_bias", A, H, component=f"{part}.relative_segment"),
        parameter("seg_embed", 2, A, H, component=f"{part}.relative_segment"),
        layer_norm("layer_norm", D, component=f"{part}.norm"),
        component=f"{part}.attention",
    )


def feed_forward(dims: Dims, part: str) -> Block:
    """2·D·I + I + D, and 2·D of norm."""
    D, I = dims.D, dims.I  # noqa: E741  (the field's symbol for the inner width)
    return block(
        "ffn",
        linear("linear_1", D, I),
        activation("activation_function", dims.hidden_act),
        linear("linear_2", I, D),
        layer_norm("layer_norm", D, component=f"{part}.norm"),
        component=f"{part}.feed_forward",
    )


def encoder(dims: Dims) -> Block:
    """The layers of each block, each gone through as often as ``block_repeats`` says."""
    layer = (attention(dims, "encoder"), feed_forward(dims, "encoder"))
    sizes = zip(dims.block_sizes, dims.block_repeats, strict=True)
    return block(
        "encoder.blocks",
        *(repeat(str(index), size, *layer, passes=size * again) for index, (size, again) in enumerate(sizes)),
    )


def decoder(dims: Dims) -> Block:
    """Ld layers more, at the full length of the sequence."""
    return repeat("decoder.layers", dims.Ld, attention(dims, "decoder"), feed_forward(dims, "decoder"))


def base(dims: Dims, *, name: str = "") -> Block:
    """Embeddings and encoder."""
    return block(name, embeddings(dims), encoder(dims))


def funnel(dims: Dims, *, name: str = "") -> Block:
    """Embeddings, encoder and decoder."""
    return block(name, embeddings(dims), encoder(dims), decoder(dims))


def under(body: Callable[..., Block], head: Head) -> Callable[[Dims], Block]:
    """The class that puts ``head`` on one of the two bodies."""
    return lambda dims: block("", body(dims, name="funnel"), head(dims))


def two_layers(name: str, first: str, second: str, *, labels: bool = False) -> Head:
    """D² + D of a dense layer, and D + 1 of a score; with labels, C·D + C for one each."""

    def head(dims: Dims) -> Block:
        score = linear(second, dims.D, dims.C if labels else 1)
        return block(name, linear(first, dims.D, dims.D), score, component="head.classifier")

    return head


KEYS = ConfigKeys(
    sizes=(
        Size("vocab_size", "V", default=30522),
        Size("d_model", "D", default=768, aliases=("hidden_size",)),
        Size("n_head", "A", default=12, aliases=("num_attention_heads",)),
        Size("d_head", "H", default=64),
        Size("d_inner", "I", default=3072),
        Size("num_decoder_layers", "Ld", default=2, repeats=True, minimum=0),
    ),
    switches=(Switch("tie_word_embeddings", default=True),),
    choices=(
        hidden_act("gelu_new"),
        Choice("pooling_type", "mean", ("max", "mean")),
        Choice("attention_type", "relative_shift", ("factorized", "relative_shift")),
    ),
    lists=(
        Listing("block_sizes", (4, 4, 4), int, may_be_empty=False),
        Listing("block_repeats", (), int, as_long_as="block_sizes", may_be_empty=False),
    ),
    rules=(
        Rule(
            ("block_repeats", "block_sizes"),
            lambda values: len(values["block_repeats"]) == len(values["block_sizes"]),
            "block_repeats {block_repeats} and block_sizes {block_sizes} are not of one length",
            "write a number of repeats for each block: 1 for one whose layers are gone through once",
        ),
    ),
    ignored={
        "embedding_size": EMBEDDING_SIZE,
        "add_cross_attention": ADD_CROSS_ATTENTION,
        "num_hidden_layers": Ignored(because="block_sizes says how many layers there are", fix="write block_sizes"),
        "num_blocks": Ignored(because="block_sizes says how many blocks there are", fix="write block_sizes"),
        "max_position_embeddings": Ignored((512,), because="positions are relative: there is no table of them"),
        "type_vocab_size": Ignored((3,), because="two segments are the same or not: there is no table of them"),
    },
    inert=frozenset(
        (
            *("activation_dropout", "attention_dropout", "hidden_dropout", "initializer_std", "is_decoder"),
            *("pool_q_only", "rel_attn_type", "separate_cls", "truncate_seq"),
        )
    ),
)

CLASSIFIER = two_layers("classifier", "linear_hidden", "linear_out", labels=True)
CHOICE = two_layers("classifier", "linear_hidden", "linear_out")
DISCRIMINATOR = two_layers("discriminator_predictions", "dense", "dense_prediction")
LM_HEAD = heads.projection("lm_head", "funnel.embeddings.word_embeddings.weight", bias=True)

FAMILY = Family(
    name="funnel",
    keys=KEYS,
    architectures=(
        Architecture("FunnelModel", funnel),
        Architecture("FunnelBaseModel", base),
        Architecture("FunnelForPreTraining", under(funnel, DISCRIMINATOR)),
        Architecture("FunnelForMaskedLM", under(funnel, LM_HEAD)),
        Architecture("FunnelForSequenceClassification", under(base, CLASSIFIER), labels=True),
        Architecture("FunnelForMultipleChoice", under(base, CHOICE)),
        Architecture("FunnelForTokenClassification", under(funnel, heads.classifier), labels=True),
        Architecture("FunnelForQuestionAnswering", under(funnel, heads.span), labels=True),
    ),
)
