"""LUKE (Yamada et al. 2020, arXiv 2010.01057): RoBERTa that reads entities beside words."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import activation, block, embedding, layer_norm, linear, parameter, tied
from pytest_bertsize.closed_forms.families import bert
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts import heads
from pytest_bertsize.closed_forms.parts.body import POOLER, Body
from pytest_bertsize.closed_forms.parts.variations import extended
from pytest_bertsize.config.keys import Ignored, Size, Switch
from pytest_bertsize.config.older_releases import V4

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.config.dims import Dims


def entity_embeddings(dims: Dims) -> Block:
    """Ve·De + P·D + T·D + 2·D, and De·D of a projection where entities are not as wide as words."""
    De, D = dims.De, dims.D
    is_projected = dims.known.De != dims.known.D
    return block(
        "entity_embeddings",
        embedding("entity_embeddings", dims.Ve, De, component="embeddings.entity.table"),
        linear("entity_embedding_dense", De, D, bias=False, component="embeddings.entity.projection")
        if is_projected
        else None,
        embedding("position_embeddings", dims.P, D, component="embeddings.entity.position"),
        embedding("token_type_embeddings", dims.T, D, component="embeddings.entity.token_type"),
        layer_norm("LayerNorm", D, component="embeddings.entity.norm"),
    )


def entity_aware_queries(dims: Dims) -> Block | None:
    """3·(D² + D): queries from word to entity, from entity to word and among entities (section 3.2)."""
    if not dims.use_entity_aware_attention:
        return None
    queries = (linear(f"{which}_query", dims.D, dims.D) for which in ("w2e", "e2w", "e2e"))
    return block("attention.self", *queries, component="encoder.attention")


def luke(dims: Dims, *, pooler: bool, name: str) -> Block:
    """BERT with entities."""
    model = bert.encoder_only(dims, entity_aware_queries(dims), pooler=pooler, name=name)
    return extended(model, entity_embeddings(dims))


def lm_head(dims: Dims) -> Block:
    """RoBERTa's, never tied to words from transformers 5 on: D² + 3·D + V·D + V, and V more where its biases are two.

    https://github.com/huggingface/transformers/pull/42191 left its matrix out of the map of ties.
    """
    if dims.release < V4:
        return heads.lm_head("luke.embeddings.word_embeddings.weight")(dims)
    untied = replace(dims, switches={**dims.switches, "tie_word_embeddings": False})
    module = heads.lm_head("")(untied)
    return tied(module, bias="lm_head.decoder.bias") if dims.tie_word_embeddings else module


def entity_predictions(dims: Dims) -> Block:
    """D·De + 3·De of transform and Ve of bias; untied, the decoder adds Ve·De more."""
    De, Ve = dims.De, dims.Ve
    decoder = linear("decoder", De, Ve, bias=False, component="head.entity.decoder")
    return block(
        "entity_predictions",
        parameter("bias", Ve, component="head.entity.decoder"),
        block(
            "transform",
            linear("dense", dims.D, De),
            activation("transform_act_fn", dims.hidden_act),
            layer_norm("LayerNorm", De),
            component="head.entity.transform",
        ),
        tied(decoder, weight="luke.entity_embeddings.entity_embeddings.weight")
        if dims.tie_word_embeddings or dims.release < V4  # https://github.com/huggingface/transformers/pull/42191
        else decoder,
    )


def entity_pair(dims: Dims) -> Block:
    """``classifier`` of two entities: 2·D·C."""
    return linear("classifier", 2 * dims.D, dims.C, bias=False, component="head.classifier")


def entity_span(dims: Dims) -> Block:
    """``classifier`` of an entity between its first and last word: 3·D·C + C."""
    return linear("classifier", 3 * dims.D, dims.C, component="head.classifier")


DEFAULTS = bert.ENCODER_KEYS.but(vocab_size=50267)
KEYS = replace(
    DEFAULTS,
    sizes=(
        *DEFAULTS.sizes,
        Size("entity_vocab_size", "Ve", default=500000),
        Size("entity_emb_size", "De", default=256),
    ),
    switches=(Switch("use_entity_aware_attention", default=True), *DEFAULTS.switches),
    ignored={
        **DEFAULTS.ignored,
        "classifier_bias": Ignored((False,), because="only the head for pairs of entities has none"),
    },
    inert=DEFAULTS.inert | {"bert_model_name", "cls_entity_prediction"},
)

BODY = Body("luke", luke)

FAMILY = Family(
    name="luke",
    keys=KEYS,
    architectures=(
        Architecture("LukeModel", BODY.alone, options=POOLER),
        Architecture("LukeForMaskedLM", BODY.under(lm_head, entity_predictions, pooler=True)),
        Architecture("LukeForEntityClassification", BODY.under(heads.classifier, pooler=True), labels=True),
        Architecture("LukeForEntityPairClassification", BODY.under(entity_pair, pooler=True), labels=True),
        Architecture("LukeForEntitySpanClassification", BODY.under(entity_span, pooler=True), labels=True),
        Architecture("LukeForSequenceClassification", BODY.under(heads.classifier, pooler=True), labels=True),
        Architecture("LukeForTokenClassification", BODY.under(heads.classifier), labels=True),
        Architecture("LukeForQuestionAnswering", BODY.under(heads.span), labels=True),
        Architecture("LukeForMultipleChoice", BODY.under(heads.choice, pooler=True)),
    ),
)
