"""RemBERT (Chung et al. 2020, arXiv 2010.12821): BERT with input and output embeddings of two widths, never tied."""

from pytest_bertsize.closed_forms.declare import family
from pytest_bertsize.closed_forms.families.bert import BERT

REMBERT = family(
    "rembert",
    BERT,
    sizes="V 250300, D 1152, L 32, A 18, I 4608, E input_embedding_size 256, O output_embedding_size 1664",
    switches="only is_decoder false, add_cross_attention false needs is_decoder",
    ignored="""
    tie_word_embeddings [false]: the two word tables of this family are never one
    embedding_size [null]: this family has input_embedding_size and output_embedding_size
    position_embedding_type ["absolute"]
    """,
    until=(),
    classes="""
    RemBertModel, *ForMaskedLM, *ForCausalLM, *ForSequenceClassification, *ForMultipleChoice
    *ForTokenClassification, *ForQuestionAnswering
    """,
    embeddings_width="E",
    after_embeddings="encoder.embedding_hidden_mapping_in   linear E D   @embeddings.projection",
    lm_head="""
    cls.predictions
      dense                          linear D O              @head.transform
      activation                     activation hidden_act   @head.transform
      LayerNorm                      layer_norm O            @head.transform
      decoder                        linear O V              @head.decoder
    """,
)
