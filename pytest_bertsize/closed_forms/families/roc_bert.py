"""RoCBert (Su et al. 2022, ACL, Robust Chinese BERT): BERT that also embeds a character's sound and shape.

A config that does not use sounds or shapes keeps their tables, and only the projection is narrower.
"""

from pytest_bertsize.closed_forms.declare import family
from pytest_bertsize.closed_forms.families.bert import BERT

ROC_BERT = family(
    "roc_bert",
    BERT,
    sizes="Vp pronunciation_vocab_size 910, Ep pronunciation_embed_dim 768, Vs shape_vocab_size 24858,"
    "Es shape_embed_dim 512",
    switches="concat_input true, enable_pronunciation true, enable_shape true",
    classes="""
    RoCBertModel, *ForMaskedLM, *ForCausalLM, *ForSequenceClassification, *ForMultipleChoice, *ForTokenClassification
    *ForQuestionAnswering
    *ForPreTraining   roc_bert.body(pooler) + masked_lm
    """,
    after_embeddings="""
    Folded := D + (Ep if enable_pronunciation else 0) + (Es if enable_shape else 0)
    embeddings
      pronunciation_embed        embedding Vp Ep   @embeddings.pronunciation
      shape_embed                embedding Vs Es   @embeddings.shape
      map_inputs_layer           linear Folded D   @embeddings.projection   when concat_input
    """,
)
