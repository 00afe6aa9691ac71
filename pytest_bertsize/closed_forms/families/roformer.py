"""RoFormer (Su et al. 2021, arXiv 2104.09864): ELECTRA's layers with rotary positions, and the heads of BERT.

All heads share the sines and cosines, a parameter that does not train.
"""

from pytest_bertsize.closed_forms.declare import family
from pytest_bertsize.closed_forms.parts import heads

ROFORMER = family(
    "roformer",
    sizes="V 50000, E none, D 768, L 12 layers from 0, A 12, I 3072, P 1536, T 2",
    switches="is_decoder false, add_cross_attention false needs is_decoder, tie_word_embeddings true,"
    "summary_use_proj false, summary_proj_to_labels false",
    activations="hidden_act gelu",
    choices=heads.summary_choices("last"),
    rules="HEADS_HAVE_WIDTH",
    ignored="""
    position_embedding_type ["absolute", "rotary"] costs L*(2*P-1)*(D//A) \
when value in ("relative_key", "relative_key_query")
    pruned_heads, add_pooling_layer
    """,
    classes="""
    RoFormerModel, *ForMaskedLM, *ForCausalLM
    *ForSequenceClassification   roformer.body + dense_classifier
    *ForMultipleChoice           roformer.body + summary + choice
    *ForTokenClassification
    *ForQuestionAnswering        roformer.body + two_label_span
    """,
    trees="electra",
    position_embeddings="",
    embeddings_width="get(E,D)",
    body="""
    <embeddings>
    embeddings_project           linear get(E,D) D       @embeddings.projection   when get(E,D) != D
    encoder.embed_positions      embedding P D//A        @embeddings.position     frozen
    encoder.layer × L
      <layer>
    """,
    lm_head=heads.MASKED_LM,
)
