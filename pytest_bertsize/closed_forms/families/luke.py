"""LUKE (Yamada et al. 2020, arXiv 2010.01057): RoBERTa that reads entities beside words.

Queries from word to entity, from entity to word and among entities have matrices of their own (section 3.2).
"""

from pytest_bertsize.closed_forms.declare import family
from pytest_bertsize.closed_forms.families.bert import ENCODER

# ``lm_head`` is RoBERTa's. From transformers 5 on, only its bias is tied, since
# https://github.com/huggingface/transformers/pull/42191 left its decoder out of the map of ties.
LUKE = family(
    "luke",
    ENCODER,
    sizes="V 50267, Ve entity_vocab_size 500000, De entity_emb_size 256",
    switches="use_entity_aware_attention true",
    ignored="classifier_bias [false]: only the head for pairs of entities has none",
    classes="""
    *Model, *ForSequenceClassification, *ForTokenClassification, *ForQuestionAnswering, *ForMultipleChoice
    *ForMaskedLM                   luke.body(pooler) + lm_head + entity_predictions
    *ForEntityClassification       luke.body(pooler) + classifier
    *ForEntityPairClassification   luke.body(pooler) + pair
    *ForEntitySpanClassification   luke.body(pooler) + entity_span
    """,
    after_layers="""
    entity_embeddings
      entity_embeddings                 embedding Ve De          @embeddings.entity.table
      entity_embedding_dense            linear De D bias=False   @embeddings.entity.projection   when De != D
      position_embeddings               embedding P D            @embeddings.entity.position
      token_type_embeddings             embedding T D            @embeddings.entity.token_type
      LayerNorm                         layer_norm D             @embeddings.entity.norm
    """,
    more="""
    attention.self                                               @encoder.attention   when use_entity_aware_attention
      w2e_query, e2w_query, e2e_query   linear D D
    """,
    lm_head="""
    words_tied := tie_word_embeddings and before(5)
    biased := tie_word_embeddings and not before(5)
    lm_head
      bias         parameter V    @head.decoder   tied bias=lm_head.decoder.bias if biased
      dense        linear D D     @head.transform
      layer_norm   layer_norm D   @head.transform
      decoder      linear D V     @head.decoder   tied weight={words} if words_tied, bias=lm_head.bias if before(5)
    """,
    words="luke.embeddings.word_embeddings.weight",
    entity_predictions="""
    entity_predictions
      bias                              parameter Ve             @head.entity.decoder
      transform                                                  @head.entity.transform
        dense                           linear D De
        transform_act_fn                activation hidden_act
        LayerNorm                       layer_norm De
      decoder   linear De Ve bias=False   @head.entity.decoder   tied {entities} if tie_word_embeddings or before(5)
    """,
    entities="weight=luke.entity_embeddings.entity_embeddings.weight",
    pair="classifier          linear 2*D C bias=False   @head.classifier",
    entity_span="classifier   linear 3*D C              @head.classifier",
)
