"""TAPAS (Herzig et al. 2020, arXiv 2004.02349): BERT that reads tables, with a token type for row, column, rank, …"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import block, embedding, layer_norm, linear, parameter
from pytest_bertsize.closed_forms.families import bert
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts import heads
from pytest_bertsize.closed_forms.parts.body import POOLER, Body, pooled
from pytest_bertsize.config.keys import Ignored, Listing, Size

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.config.dims import Dims


def embeddings(dims: Dims) -> Block:
    """V·D + P·D + 2·D, and T·D for each of the token types."""
    V, D, P = dims.V, dims.D, dims.P
    return block(
        "embeddings",
        embedding("word_embeddings", V, D, component="embeddings.word"),
        embedding("position_embeddings", P, D, component="embeddings.position"),
        *(
            embedding(f"token_type_embeddings_{index}", rows, D, component="embeddings.token_type")
            for index, rows in enumerate(dims.type_vocab_sizes)
        ),
        layer_norm("LayerNorm", D, component="embeddings.norm"),
    )


def tapas(dims: Dims, *, pooler: bool, name: str) -> Block:
    """Embeddings and the layers of BERT and, with a pooler, D² + D more."""
    return pooled(dims, embeddings(dims), bert.encoder(dims), pooler=pooler, name=name)


def cell_selection(dims: Dims) -> Block:
    """2·(D + 1): a score for each cell and one for each column; G·D + G more choose one of G aggregations, if any."""
    D, G = dims.D, dims.G
    return block(
        "",
        parameter("output_weights", D, component="head.cell_selection"),
        parameter("output_bias", component="head.cell_selection"),
        parameter("column_output_weights", D, component="head.column_selection"),
        parameter("column_output_bias", component="head.column_selection"),
        linear("aggregation_classifier", D, G, component="head.aggregation") if dims.known.G > 0 else None,
    )


TYPES = (3, 256, 256, 2, 256, 256, 10)
KEYS = replace(
    bert.KEYS,
    sizes=(
        *(size for size in bert.KEYS.but(max_position_embeddings=1024).sizes if size.key != "type_vocab_size"),
        Size("num_aggregation_labels", "G", default=0, minimum=0),
    ),
    lists=(Listing("type_vocab_sizes", TYPES, of=int),),
    ignored={
        **bert.KEYS.ignored,
        "position_embedding_type": Ignored(("absolute",), because="this family has absolute positions only"),
        "type_vocab_size": Ignored((list(TYPES),), because="this family reads type_vocab_sizes"),
    },
    inert=frozenset(
        "aggregation_labels aggregation_loss_weight aggregation_temperature allow_empty_column_selection "  # noqa: SIM905
        "answer_loss_cutoff answer_loss_importance average_approximation_function average_logits_per_cell "
        "cell_select_pref cell_selection_preference disable_per_token_loss huber_loss_delta "
        "init_cell_selection_weights_to_zero max_num_columns max_num_rows no_aggregation_label_index "
        "positive_label_weight reset_position_index_per_cell select_one_column softmax_temperature "
        "use_answer_as_supervision use_gumbel_for_agg use_gumbel_for_aggregation use_gumbel_for_cells "
        "use_normalized_answer_loss".split()
    ),
    until=(),
)

BODY = Body("tapas", tapas)

FAMILY = Family(
    name="tapas",
    keys=KEYS,
    architectures=(
        Architecture("TapasModel", BODY.alone, options=POOLER),
        Architecture("TapasForMaskedLM", BODY.under(heads.masked_lm("tapas.embeddings.word_embeddings.weight"))),
        Architecture("TapasForQuestionAnswering", BODY.under(cell_selection, pooler=True)),
        Architecture("TapasForSequenceClassification", BODY.under(heads.classifier, pooler=True), labels=True),
    ),
)
