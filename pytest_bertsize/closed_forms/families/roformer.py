"""RoFormer (Su et al. 2021, arXiv 2104.09864): ELECTRA's layers with rotary positions, and the heads of BERT."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import block, embedding, frozen, layer_norm, linear
from pytest_bertsize.closed_forms.families import electra
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts import heads
from pytest_bertsize.closed_forms.parts import sequence_summary as summary
from pytest_bertsize.closed_forms.parts.body import Body
from pytest_bertsize.closed_forms.parts.layers import heads_in
from pytest_bertsize.closed_forms.parts.unused_keys import ADD_POOLING_LAYER, POSITION_EMBEDDING_TYPE, PRUNED_HEADS
from pytest_bertsize.config.keys import ConfigKeys, Size, Switch, hidden_act

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.config.dims import Dims


def embeddings(dims: Dims) -> Block:
    """V·E + T·E + 2·E; where E is not D, E·D + D that widen them."""
    D, E = dims.D, dims.either("E", dims.D)
    known = dims.known
    widens = known.either("E", known.D) != known.D
    return block(
        "",
        embedding("embeddings.word_embeddings", dims.V, E, component="embeddings.word"),
        embedding("embeddings.token_type_embeddings", dims.T, E, component="embeddings.token_type"),
        layer_norm("embeddings.LayerNorm", E, component="embeddings.norm"),
        linear("embeddings_project", E, D, component="embeddings.projection") if widens else None,
    )


def angles(dims: Dims) -> Block:
    """P·D/A of sines and cosines for one head, which all share: a parameter that is not trained."""
    table = embedding("encoder.embed_positions", dims.P, dims.D // dims.A, component="embeddings.position")
    return frozen(table)


def roformer(dims: Dims, *, pooler: bool = False, name: str = "") -> Block:  # noqa: ARG001  (it never pools)
    """Embeddings, angles and encoder."""
    return block(name, embeddings(dims), angles(dims), electra.encoder(dims))


KEYS = ConfigKeys(
    sizes=(
        Size("vocab_size", "V", default=50000),
        Size("embedding_size", "E", default=None),
        Size("hidden_size", "D", default=768),
        Size("num_hidden_layers", "L", default=12, repeats=True, minimum=0),
        Size("num_attention_heads", "A", default=12),
        Size("intermediate_size", "I", default=3072),
        Size("max_position_embeddings", "P", default=1536),
        Size("type_vocab_size", "T", default=2),
    ),
    switches=(
        Switch("is_decoder", default=False),
        Switch("add_cross_attention", default=False, needs="is_decoder"),
        Switch("tie_word_embeddings", default=True),
        Switch("summary_use_proj", default=False),
        Switch("summary_proj_to_labels", default=False),
    ),
    choices=(hidden_act("gelu"), *summary.choices("last")),
    rules=(heads_in("hidden_size"),),
    ignored={
        "position_embedding_type": POSITION_EMBEDDING_TYPE._replace(harmless=("absolute", "rotary")),
        "pruned_heads": PRUNED_HEADS,
        "add_pooling_layer": ADD_POOLING_LAYER,
    },
    inert=summary.INERT | {"pooler_activation", "rotary_value"},
)

BODY = Body("roformer", roformer)
MASKED_LM = heads.masked_lm("roformer.embeddings.word_embeddings.weight", width="E")

FAMILY = Family(
    name="roformer",
    keys=KEYS,
    architectures=(
        Architecture("RoFormerModel", roformer),
        Architecture("RoFormerForMaskedLM", BODY.under(MASKED_LM)),
        Architecture("RoFormerForCausalLM", BODY.under(MASKED_LM)),
        Architecture("RoFormerForSequenceClassification", BODY.under(heads.dense_classifier), labels=True),
        Architecture(
            "RoFormerForMultipleChoice",
            BODY.under(electra.sequence_summary, heads.choice),
            labels=True,
            rules=(summary.NO_ATTENTION,),
        ),
        Architecture("RoFormerForTokenClassification", BODY.under(heads.classifier), labels=True),
        Architecture("RoFormerForQuestionAnswering", BODY.under(heads.two_label_span)),
    ),
)
