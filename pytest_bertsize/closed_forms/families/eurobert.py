"""EuroBERT (Boizard et al. 2025, arXiv 2503.05500): an encoder of the layers that Llama has, keys shared by heads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import block, embedding, linear, repeat, rms_norm
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts import heads, rotary
from pytest_bertsize.closed_forms.parts.body import Body
from pytest_bertsize.closed_forms.parts.unused_keys import ADD_POOLING_LAYER, EMBEDDING_SIZE
from pytest_bertsize.config.keys import ConfigKeys, Index, Size, Switch, hidden_act

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.config.dims import Dims


def norm(name: str, dims: Dims) -> Block:
    """D: a scale without a shift (Zhang and Sennrich 2019, arXiv 1910.07467)."""
    return rms_norm(name, dims.D, component="encoder.norm")


def attention(dims: Dims) -> Block:
    """2·D·S·(A + Q)."""
    return rotary.attention(dims, rotary.query_width(dims), rotary.key_width(dims), bias=dims.attention_bias)


def eurobert(dims: Dims, *, pooler: bool = False, name: str = "") -> Block:  # noqa: ARG001  (it never pools)
    """V·D + L·(2·D·S·(A + Q) + 3·D·I + 2·D) + D; embeddings have no norm, but there is one after the last layer."""
    return block(
        name,
        embedding("embed_tokens", dims.V, dims.D, component="embeddings.word"),
        repeat(
            "layers",
            dims.L,
            norm("input_layernorm", dims),
            attention(dims),
            norm("post_attention_layernorm", dims),
            rotary.gated_mlp(dims, bias=dims.mlp_bias, last_bias=dims.mlp_bias),
        ),
        norm("norm", dims),
    )


def masked_lm(dims: Dims) -> Block:
    """``lm_head``: V·D unless it is tied, which it is not by default; ``mlp_bias`` gives it V of bias, too."""
    return heads.projection("lm_head", "model.embed_tokens.weight", bias=dims.mlp_bias)(dims)


def transform(dims: Dims) -> Block:
    """``dense``: D² + D ahead of the classifier of sequences."""
    return linear("dense", dims.D, dims.D, component="head.transform")


KEYS = ConfigKeys(
    sizes=(
        Size("vocab_size", "V", default=128256),
        Size("hidden_size", "D", default=768),
        Size("num_hidden_layers", "L", default=12, repeats=True, minimum=0),
        Size("num_attention_heads", "A", default=12),
        Size("num_key_value_heads", "Q", default=None),
        Size("head_dim", "S", default=None),
        Size("intermediate_size", "I", default=3072),
    ),
    switches=(
        Switch("attention_bias", default=False),
        Switch("mlp_bias", default=False),
        Switch("tie_word_embeddings", default=False),
    ),
    choices=(hidden_act("silu"),),
    divisible=(("hidden_size", "num_attention_heads"),),
    indices=(Index("pad_token_id", 128001),),
    rules=(rotary.PADS_WITHIN, rotary.EVEN_HEAD_DIM, rotary.EVEN_HEADS),
    ignored={**rotary.UNUSED_KEYS, "embedding_size": EMBEDDING_SIZE, "add_pooling_layer": ADD_POOLING_LAYER},
    inert=rotary.INERT
    | {
        "bos_token",
        "clf_pooling",
        "eos_token",
        "hidden_dropout",
        "is_causal",
        "mask_token",
        "pad_token",
        "pretraining_tp",
        "rms_norm_eps",
    },
)

BODY = Body("model", eurobert)

FAMILY = Family(
    name="eurobert",
    keys=KEYS,
    architectures=(
        Architecture("EuroBertModel", eurobert),
        Architecture("EuroBertForMaskedLM", BODY.under(masked_lm)),
        Architecture("EuroBertForSequenceClassification", BODY.under(transform, heads.classifier), labels=True),
        Architecture("EuroBertForTokenClassification", BODY.under(heads.classifier), labels=True),
    ),
    since=(5, 3),
)
