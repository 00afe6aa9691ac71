"""BERT (Devlin et al. 2018, arXiv 1810.04805): the closed form of every class that transformers has for it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_bertsize.closed_forms.blocks import activation, block, embedding, layer_norm, linear, repeat
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts import heads, relative_positions
from pytest_bertsize.closed_forms.parts.body import POOLER, Body, pooled
from pytest_bertsize.closed_forms.parts.unused_keys import ADD_CROSS_ATTENTION, UNUSED_KEYS
from pytest_bertsize.closed_forms.parts.variations import changed, extended
from pytest_bertsize.config.keys import ConfigKeys, Size, Switch, hidden_act

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.config.dims import Dims


def embeddings(dims: Dims) -> Block:
    """V·D + P·D + T·D + 2·D."""
    V, D, P, T = dims.V, dims.D, dims.P, dims.T
    return block(
        "embeddings",
        embedding("word_embeddings", V, D, component="embeddings.word"),
        embedding("position_embeddings", P, D, component="embeddings.position"),
        embedding("token_type_embeddings", T, D, component="embeddings.token_type"),
        layer_norm("LayerNorm", D, component="embeddings.norm"),
    )


def attention(name: str, dims: Dims, component: str) -> Block:
    """4·(D² + D) of projections, whatever the number of heads, and 2·D of norm."""
    D = dims.D
    return block(
        name,
        block(
            "self",
            linear("query", D, D),
            linear("key", D, D),
            linear("value", D, D),
            relative_positions.distances(dims) if name == "attention" else None,
        ),
        linear("output.dense", D, D),
        layer_norm("output.LayerNorm", D, component="encoder.norm"),
        component=component,
    )


def encoder(dims: Dims) -> Block:
    """L·(4·D² + 2·D·I + 9·D + I); cross-attention adds L·(4·D² + 6·D)."""
    D, I, L = dims.D, dims.I, dims.L  # noqa: E741  (the field's symbol for intermediate_size)
    return repeat(
        "encoder.layer",
        L,
        attention("attention", dims, "encoder.attention"),
        attention("crossattention", dims, "encoder.cross_attention") if dims.add_cross_attention else None,
        block(
            "intermediate",
            linear("dense", D, I),
            activation("intermediate_act_fn", dims.hidden_act),
            component="encoder.feed_forward",
        ),
        linear("output.dense", I, D, component="encoder.feed_forward"),
        layer_norm("output.LayerNorm", D, component="encoder.norm"),
    )


def bert(dims: Dims, *, pooler: bool, name: str) -> Block:
    """Embeddings, encoder and, with a pooler, D² + D more."""
    return pooled(dims, embeddings(dims), encoder(dims), pooler=pooler, name=name)


def norms_first(dims: Dims, norms: Mapping[str, str | None], last: str, *, pooler: bool, name: str) -> Block:
    """BERT whose layers norm what comes in: its norms by other names, and 2·D of one after the last layer.

    :param norms: as in :func:`~pytest_bertsize.closed_forms.parts.variations.changed`.
    :param last: what the norm after the last layer is called.
    """
    renamed = changed(bert(dims, pooler=pooler, name=name), norms)
    return extended(renamed, layer_norm(last, dims.D, component="encoder.norm"))


def without_cross_attention(dims: Dims) -> Dims:
    """For the blocks of BERT in a family whose layers cannot have it."""
    return replace(dims, switches={**dims.switches, "add_cross_attention": False})


def encoder_only(dims: Dims, *in_each_layer: Block | None, pooler: bool, name: str) -> Block:
    """BERT that never decodes, and L times what a family has more in each layer."""
    body = bert(without_cross_attention(dims), pooler=pooler, name=name)
    return extended(body, repeat("encoder.layer", dims.L, *in_each_layer))


def architectures(prefix: str, body: Body, *, causal: str = "ForCausalLM") -> tuple[Architecture, ...]:
    """The classes of BERT and of families that have them all.

    :param prefix: of the classes' names: ``"MegatronBert"``.
    :param causal: the name of the one that decodes.
    """
    masked_lm = heads.masked_lm(f"{body.name}.embeddings.word_embeddings.weight")
    return (
        Architecture(f"{prefix}Model", body.alone, options=POOLER),
        Architecture(f"{prefix}ForPreTraining", body.under(masked_lm, heads.next_sentence, pooler=True)),
        Architecture(f"{prefix}ForMaskedLM", body.under(masked_lm)),
        Architecture(f"{prefix}{causal}", body.under(masked_lm)),
        Architecture(f"{prefix}ForNextSentencePrediction", body.under(heads.next_sentence, pooler=True)),
        Architecture(f"{prefix}ForSequenceClassification", body.under(heads.classifier, pooler=True), labels=True),
        Architecture(f"{prefix}ForMultipleChoice", body.under(heads.choice, pooler=True)),
        Architecture(f"{prefix}ForTokenClassification", body.under(heads.classifier), labels=True),
        Architecture(f"{prefix}ForQuestionAnswering", body.under(heads.span), labels=True),
    )


KEYS = ConfigKeys(
    sizes=(
        Size("vocab_size", "V", default=30522),
        Size("hidden_size", "D", default=768),
        Size("num_hidden_layers", "L", default=12, repeats=True, minimum=0),
        Size("num_attention_heads", "A", default=12),
        Size("intermediate_size", "I", default=3072),
        Size("max_position_embeddings", "P", default=512),
        Size("type_vocab_size", "T", default=2),
    ),
    switches=(
        Switch("is_decoder", default=False),
        Switch("add_cross_attention", default=False, needs="is_decoder"),
        Switch("tie_word_embeddings", default=True),
    ),
    choices=(hidden_act("gelu"),),
    divisible=(("hidden_size", "num_attention_heads"),),
    ignored=UNUSED_KEYS,
    until=(relative_positions.READ,),
)


def _cross_attention(value: Any, dims: Dims) -> int | None:
    """L·(4·D² + 6·D): projections and a norm in every layer of BERT."""
    return int(dims.L * (4 * dims.D * dims.D + 6 * dims.D)) if value is True else None


ENCODER_KEYS = replace(
    KEYS,
    switches=(Switch("tie_word_embeddings", default=True),),
    ignored={**KEYS.ignored, "add_cross_attention": ADD_CROSS_ATTENTION._replace(cost=_cross_attention)},
    inert=frozenset({"is_decoder"}),
    until=(),
)
"""Of families that are BERT, perhaps with more in its layers, and never decode."""

BODY = Body("bert", bert)

FAMILY = Family("bert", KEYS, architectures("Bert", BODY, causal="LMHeadModel"))
