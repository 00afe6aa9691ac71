"""OPT (Zhang et al. 2022, arXiv 2205.01068): a decoder with learned positions, whose words may be narrower."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import (
    activation,
    block,
    embedding,
    layer_norm,
    linear,
    of_each_token,
    repeat,
    tied,
)
from pytest_bertsize.closed_forms.families import bart
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts.unused_keys import ADD_CROSS_ATTENTION, PRUNED_HEADS
from pytest_bertsize.config.keys import ConfigKeys, Size, Switch, hidden_act

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_bertsize.closed_forms.blocks import Block, Count
    from pytest_bertsize.closed_forms.parts.body import Head
    from pytest_bertsize.config.dims import Dims


def word_width(dims: Dims) -> Count:
    """E, or D where the config leaves it out."""
    return dims.either("E", dims.D)


def norm(name: str, dims: Dims) -> Block:
    """2·D, or nothing without ``layer_norm_elementwise_affine``."""
    affine = dims.layer_norm_elementwise_affine
    return layer_norm(name, dims.D, elementwise_affine=affine, component="decoder.norm")


def layers(dims: Dims) -> Block:
    """L·(4·D² + 2·D·I + 9·D + I); without ``enable_bias``, 5·D + I fewer."""
    D, I, bias = dims.D, dims.I, dims.enable_bias  # noqa: E741  (the field's symbol for the inner width)
    return repeat(
        "layers",
        dims.L,
        bart.attention("self_attn", dims, "decoder.attention", bias=bias),
        norm("self_attn_layer_norm", dims),
        block(
            "",
            activation("activation_fn", dims.activation_function),
            linear("fc1", D, I, bias=bias),
            linear("fc2", I, D, bias=bias),
            component="decoder.feed_forward",
        ),
        norm("final_layer_norm", dims),
    )


def projections(dims: Dims) -> Block | None:
    """2·D·E where words are of another width than layers."""
    E = word_width(dims)
    if dims.known.E in (None, dims.known.D):
        return None
    return block(
        "",
        linear("project_in", E, dims.D, bias=False),
        linear("project_out", dims.D, E, bias=False),
        component="decoder.projection",
    )


def opt(dims: Dims, name: str = "") -> Block:
    """V·E + (P + 2)·D, the first two positions never used, and L layers; pre-norm, 2·D of a last norm."""
    last = dims.do_layer_norm_before and not dims.switches["_remove_final_layer_norm"]
    return block(
        f"{name}.decoder" if name else "decoder",
        embedding("embed_tokens", dims.V, word_width(dims), component="embeddings.word"),
        embedding("embed_positions", dims.P + 2, dims.D, component="embeddings.position"),
        projections(dims),
        layers(dims),
        norm("final_layer_norm", dims) if last else None,
    )


def lm_head(dims: Dims) -> Block:
    """Nothing where it is tied, else V·E."""
    module = linear("lm_head", word_width(dims), dims.V, bias=False, component="head.decoder")
    return tied(module, weight="model.decoder.embed_tokens.weight") if dims.tie_word_embeddings else module


def score(dims: Dims) -> Block:
    """C·E."""
    return of_each_token(linear("score", word_width(dims), dims.C, bias=False, component="head.classifier"))


def span(dims: Dims) -> Block:
    """2·E + 2."""
    return linear("qa_outputs", word_width(dims), 2, component="head.qa_outputs")


def topped(head: Head) -> Callable[[Dims], Block]:
    """The class that puts a head on the decoder."""
    return lambda dims: block("", opt(dims, "model"), head(dims))


KEYS = ConfigKeys(
    sizes=(
        Size("vocab_size", "V", default=50272),
        Size("hidden_size", "D", default=768),
        Size("num_hidden_layers", "L", default=12, repeats=True, minimum=0),
        Size("num_attention_heads", "A", default=12),
        Size("ffn_dim", "I", default=3072),
        Size("max_position_embeddings", "P", default=2048),
        Size("word_embed_proj_dim", "E", default=None),
    ),
    switches=(
        Switch("do_layer_norm_before", default=True),
        Switch("_remove_final_layer_norm", default=False),
        Switch("enable_bias", default=True),
        Switch("layer_norm_elementwise_affine", default=True),
        Switch("tie_word_embeddings", default=True),
    ),
    choices=(hidden_act("relu", key="activation_function"),),
    divisible=(("hidden_size", "num_attention_heads"),),
    ignored={"pruned_heads": PRUNED_HEADS, "add_cross_attention": ADD_CROSS_ATTENTION},
    inert=frozenset({"dropout", "attention_dropout", "activation_dropout", "layerdrop", "init_std", "is_decoder"}),
)

FAMILY = Family(
    name="opt",
    keys=KEYS,
    architectures=(
        Architecture("OPTModel", opt),
        Architecture("OPTForCausalLM", topped(lm_head)),
        Architecture("OPTForSequenceClassification", topped(score), labels=True),
        Architecture("OPTForQuestionAnswering", topped(span)),
    ),
)
