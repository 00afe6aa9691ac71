"""ModernBERT (Warner et al. 2024, arXiv 2412.13663): a pre-norm encoder with rotary positions, short of biases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import activation, block, embedding, layer_norm, linear, parameter, repeat
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts import heads, rotary
from pytest_bertsize.closed_forms.parts.body import Body
from pytest_bertsize.closed_forms.parts.unused_keys import ADD_POOLING_LAYER, EMBEDDING_SIZE
from pytest_bertsize.config.keys import ConfigKeys, Index, Size, Switch, hidden_act

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.config.dims import Dims


def norm(name: str, dims: Dims, component: str) -> Block:
    """D; with ``norm_bias``, 2·D."""
    if dims.norm_bias:
        return layer_norm(name, dims.D, component=component)
    return block(name, parameter("weight", dims.D), component=component)


def attention(dims: Dims) -> Block:
    """3·D² and D² of projections, whatever the number of heads; with ``attention_bias``, 4·D more."""
    D, bias = dims.D, dims.attention_bias
    return block(
        "attn",
        linear("Wqkv", D, 3 * D, bias=bias),
        linear("Wo", D, D, bias=bias),
        component="encoder.attention",
    )


def mlp(dims: Dims) -> Block:
    """3·D·I, of which two thirds are input and gate in one matrix; with ``mlp_bias``, 2·I + D more."""
    D, I, bias = dims.D, dims.I, dims.mlp_bias  # noqa: E741  (the field's symbol for intermediate_size)
    return block(
        "mlp",
        linear("Wi", D, 2 * I, bias=bias),
        activation("act", dims.hidden_activation),
        linear("Wo", I, D, bias=bias),
        component="encoder.feed_forward",
    )


def around(attention: Block, dims: Dims, name: str) -> Block:
    """V·D + D + L·(attention + 3·D·I + 2·D): the first layer has one norm less, and there is one after the last."""
    L = dims.L
    return block(
        name,
        embedding("embeddings.tok_embeddings", dims.V, dims.D, component="embeddings.word"),
        norm("embeddings.norm", dims, "embeddings.norm"),
        repeat("layers", L - 1, norm("attn_norm", dims, "encoder.norm"), start=1),
        repeat("layers", L, attention, norm("mlp_norm", dims, "encoder.norm"), mlp(dims)),
        norm("final_norm", dims, "encoder.norm"),
    )


def modernbert(dims: Dims, *, pooler: bool = False, name: str = "") -> Block:  # noqa: ARG001  (it never pools)
    """V·D + D + L·(4·D² + 3·D·I + 2·D)."""
    return around(attention(dims), dims, name)


def transform(dims: Dims) -> Block:
    """``head``: D² + D, which every class has between the body and its own output; ``classifier_bias`` adds D."""
    return block(
        "head",
        linear("dense", dims.D, dims.D, bias=dims.classifier_bias),
        activation("act", dims.classifier_activation),
        norm("norm", dims, "head.transform"),
        component="head.transform",
    )


def masked_lm(dims: Dims) -> Block:
    """``decoder``: V of bias, never tied, where ``decoder_bias`` asks for it; untied, the weights add V·D."""
    return heads.projection("decoder", "model.embeddings.tok_embeddings.weight", bias=dims.decoder_bias)(dims)


KEYS = ConfigKeys(
    sizes=(
        Size("vocab_size", "V", default=50368),
        Size("hidden_size", "D", default=768),
        Size("num_hidden_layers", "L", default=22, repeats=True),
        Size("num_attention_heads", "A", default=12),
        Size("intermediate_size", "I", default=1152),
    ),
    switches=(
        Switch("norm_bias", default=False),
        Switch("attention_bias", default=False),
        Switch("mlp_bias", default=False),
        Switch("decoder_bias", default=True),
        Switch("classifier_bias", default=False),
        Switch("tie_word_embeddings", default=True),
    ),
    choices=(hidden_act("gelu", "hidden_activation"), hidden_act("gelu", "classifier_activation")),
    divisible=(("hidden_size", "num_attention_heads"),),
    indices=(Index("pad_token_id", 50283),),
    rules=(rotary.PADS_WITHIN,),
    ignored={**rotary.UNUSED_KEYS, "embedding_size": EMBEDDING_SIZE, "add_pooling_layer": ADD_POOLING_LAYER},
    inert=rotary.INERT
    | {
        "initializer_cutoff_factor",
        "norm_eps",
        "layer_types",
        "local_attention",
        "global_attn_every_n_layers",
        "global_rope_theta",
        "local_rope_theta",
        "head_dim",
        "embedding_dropout",
        "mlp_dropout",
        "deterministic_flash_attn",
        "sparse_prediction",
        "sparse_pred_ignore_index",
        "reference_compile",
        "repad_logits_with_grad",
    },
)

BODY = Body("model", modernbert)

FAMILY = Family(
    name="modernbert",
    keys=KEYS,
    architectures=(
        Architecture("ModernBertModel", modernbert),
        Architecture("ModernBertForMaskedLM", BODY.under(transform, masked_lm)),
        Architecture("ModernBertForSequenceClassification", BODY.under(transform, heads.classifier), labels=True),
        Architecture("ModernBertForTokenClassification", BODY.under(transform, heads.classifier), labels=True),
        Architecture(
            "ModernBertForQuestionAnswering", BODY.under(transform, heads.classifier), labels=True, since=(4, 51)
        ),
        Architecture("ModernBertForMultipleChoice", BODY.under(transform, heads.choice), since=(4, 55)),
    ),
    since=(4, 48),
)
