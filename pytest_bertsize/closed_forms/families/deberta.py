"""DeBERTa (He et al. 2020, arXiv 2006.03654): BERT whose attention also looks at relative positions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import (
    activation,
    block,
    embedding,
    layer_norm,
    linear,
    parameter,
    repeat,
    tied,
)
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts import heads, layers
from pytest_bertsize.closed_forms.parts.body import Body
from pytest_bertsize.closed_forms.parts.unused_keys import (
    ADD_CROSS_ATTENTION,
    ADD_POOLING_LAYER,
    POSITION_EMBEDDING_TYPE,
    PRUNED_HEADS,
)
from pytest_bertsize.config.keys import ConfigKeys, Ignored, Listing, Size, Switch, Until, hidden_act
from pytest_bertsize.config.older_releases import V4, without

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block, Count, Parameter
    from pytest_bertsize.config.dims import Dims


def embeddings(dims: Dims) -> Block:
    """V·E + P·E + T·E + 2·D, without positions where only attention knows them; E·D more where E is not D."""
    D, E = dims.D, dims.either("E", dims.D)
    known = dims.known
    return block(
        "embeddings",
        embedding("word_embeddings", dims.V, E, component="embeddings.word"),
        embedding("position_embeddings", dims.P, E, component="embeddings.position")
        if dims.position_biased_input
        else None,
        embedding("token_type_embeddings", dims.T, E, component="embeddings.token_type") if known.T > 0 else None,
        linear("embed_proj", E, D, bias=False, component="embeddings.projection")
        if known.either("E", known.D) != known.D
        else None,
        layer_norm("LayerNorm", D, component="embeddings.norm"),
    )


def attention(dims: Dims) -> Block:
    """3·D² + 2·D of projections in one matrix, of which the keys have no bias; talking heads add 2·A².

    Relative positions add D² where content looks at them and D² + D where they look at content.
    """
    D, A = dims.D, dims.A
    relative = dims.pos_att_type if dims.relative_attention else ()
    return block(
        "self",
        parameter("q_bias", D),
        parameter("v_bias", D),
        linear("in_proj", D, 3 * D, bias=False),
        linear("head_logits_proj", A, A, bias=False) if dims.talking_head else None,
        linear("head_weights_proj", A, A, bias=False) if dims.talking_head else None,
        linear("pos_proj", D, D, bias=False, component="encoder.relative_position") if "c2p" in relative else None,
        linear("pos_q_proj", D, D, component="encoder.relative_position") if "p2c" in relative else None,
    )


def stack(dims: Dims, self_attention: Block) -> Block:
    """L·(self-attention + D² + 2·D·I + 6·D + I): after it, a layer is BERT's."""
    attended = layers.attention("attention", self_attention, dims, "encoder.attention")
    return repeat("layer", dims.L, attended, layers.feed_forward(dims))


def distances(dims: Dims) -> Count:
    """How far relative positions reach: M, or P where M is left to it (-1)."""
    return dims.M if dims.known.M > 0 else dims.P


def relative_positions(dims: Dims, reach: Count) -> Block | None:
    """2·reach·D, one table for all layers: so many positions back and as many ahead."""
    if not dims.relative_attention:
        return None
    return embedding("rel_embeddings", 2 * reach, dims.D, component="encoder.relative_position")


def deberta(dims: Dims, *, pooler: bool = False, name: str = "") -> Block:  # noqa: ARG001  (heads bring it)
    """Embeddings, layers and the table of relative positions."""
    encoder = block("encoder", stack(dims, attention(dims)), relative_positions(dims, distances(dims)))
    return block(name, embeddings(dims), encoder)


def pooler(dims: Dims) -> Block:
    """``pooler``: H² + H, where H is D unless the config has a ``pooler_hidden_size``."""
    H = dims.either("H", dims.D)
    return linear("pooler.dense", H, H, component="pooler")


def masked_lm(dims: Dims) -> Block:
    """BERT's head in the width of the embeddings; else D² + 3·D + V, and the word embeddings without a name for it."""
    if dims.switches.get("legacy", True):
        return heads.masked_lm(WORDS, width="E")(dims)
    return block(
        "lm_predictions.lm_head",
        parameter("bias", dims.V, component="head.decoder"),
        _tied_by_mistake(dims) or linear("dense", dims.D, dims.D, component="head.transform"),
        _word_embeddings_again(dims),
        activation("transform_act_fn", dims.hidden_act, component="head.transform"),
        layer_norm("LayerNorm", dims.D, component="head.transform"),
    )


def _tied_by_mistake(dims: Dims) -> Block | None:
    """In place of D² + D, V of bias: transformers 4 ties this matrix to the words, which has no output to tie.

    https://github.com/huggingface/transformers/pull/22105 brought it; 5 has a map of ties, in which it is not.
    """
    if dims.release >= V4 or not dims.tie_word_embeddings:
        return None
    return tied(linear("dense", dims.either("E", dims.D), dims.V, component="head.transform"), weight=WORDS)


def _word_embeddings_again(dims: Dims) -> Parameter | None:
    """Nothing: from transformers 5.0 to 5.16 the word embeddings have a second name in the head, which reads them."""
    if not V4 <= dims.release < (5, 17) or not dims.tie_word_embeddings:
        return None
    weight = parameter("weight", dims.V, dims.either("E", dims.D), component="head.decoder")
    return weight._replace(tied_to=WORDS)


WORDS = "deberta.embeddings.word_embeddings.weight"

UNUSED_KEYS = {
    "position_embedding_type": POSITION_EMBEDDING_TYPE,
    "pruned_heads": PRUNED_HEADS,
    "add_cross_attention": ADD_CROSS_ATTENTION,
    "add_pooling_layer": ADD_POOLING_LAYER,
    "summary_use_proj": Ignored((False,), because="the pooler of this family always projects"),
}

KEYS = ConfigKeys(
    sizes=(
        Size("vocab_size", "V", default=50265),
        Size("hidden_size", "D", default=768),
        Size("num_hidden_layers", "L", default=12, repeats=True, minimum=0),
        Size("num_attention_heads", "A", default=12),
        Size("intermediate_size", "I", default=3072),
        Size("max_position_embeddings", "P", default=512),
        Size("type_vocab_size", "T", default=0, minimum=0),
        Size("max_relative_positions", "M", default=-1, minimum=-1),
        Size("embedding_size", "E", default=None),
        Size("pooler_hidden_size", "H", default=None),
    ),
    switches=(
        Switch("relative_attention", default=False),
        Switch("position_biased_input", default=True),
        Switch("talking_head", default=False),
        Switch("legacy", default=True),
        Switch("tie_word_embeddings", default=True),
    ),
    choices=(hidden_act("gelu"),),
    lists=(Listing("pos_att_type", (), str, words=("c2p", "p2c"), separator="|"),),
    divisible=(("hidden_size", "num_attention_heads"),),
    ignored=UNUSED_KEYS,
    inert=frozenset(
        {
            "cls_dropout",
            "is_decoder",
            "padding_idx",
            "pooler_dropout",
            "pooler_hidden_act",
            "summary_activation",
            "summary_last_dropout",
            "summary_type",
        }
    ),
    until=(Until((4, 47), without("legacy"), "https://github.com/huggingface/transformers/pull/22105"),),
)


def architectures(prefix: str, body: Body) -> tuple[Architecture, ...]:
    """The classes that both versions of DeBERTa have.

    :param prefix: of the classes' names: ``"DebertaV2"``.
    """
    return (
        Architecture(f"{prefix}Model", lambda dims: body.blocks(dims, pooler=False, name="")),
        Architecture(f"{prefix}ForMaskedLM", body.under(masked_lm)),
        Architecture(f"{prefix}ForSequenceClassification", body.under(pooler, heads.classifier), labels=True),
        Architecture(f"{prefix}ForTokenClassification", body.under(heads.classifier), labels=True),
        Architecture(f"{prefix}ForQuestionAnswering", body.under(heads.span), labels=True),
    )


FAMILY = Family("deberta", KEYS, architectures("Deberta", Body("deberta", deberta)))
