"""TAPAS (Herzig et al. 2020, arXiv 2004.02349): BERT that reads tables, with a token type for row, column, rank, …"""

from pytest_bertsize.closed_forms.declare import family
from pytest_bertsize.closed_forms.families.bert import BERT
from pytest_bertsize.config.keys import Listing

TAPAS = family(
    "tapas",
    BERT,
    sizes="only V 30522, D 768, L 12 layers from 0, A 12, I 3072, P 1024, G num_aggregation_labels 0 from 0",
    lists=(Listing("type_vocab_sizes", (3, 256, 256, 2, 256, 256, 10), of=int),),
    ignored="""
    position_embedding_type ["absolute"]: this family has absolute positions only
    type_vocab_size [[3, 256, 256, 2, 256, 256, 10]]: this family reads type_vocab_sizes
    """,
    until=(),
    classes="""
    *Model, *ForMaskedLM, *ForSequenceClassification
    *ForQuestionAnswering   tapas.body(pooler) + cell_selection
    """,
    segment_embeddings="token_type_embeddings_{i}   embedding rows D   @embeddings.token_type   "
    "for i, rows in enumerate(type_vocab_sizes)",
    cell_selection="""
    output_weights           parameter D   @head.cell_selection
    output_bias              parameter     @head.cell_selection
    column_output_weights    parameter D   @head.column_selection
    column_output_bias       parameter     @head.column_selection
    aggregation_classifier   linear D G    @head.aggregation   when G > 0
    """,
)
