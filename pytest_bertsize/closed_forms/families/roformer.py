"""RoFormer (Su et al. 2021, arXiv 2104.09864): ELECTRA's layers with rotary positions, and the heads of BERT.

All heads share the sines and cosines, a parameter that does not train.
"""

from pytest_bertsize.closed_forms.declare import family
from pytest_bertsize.closed_forms.parts import heads

ROFORMER = family(
    "roformer",
    "electra",
    sizes="V 50000, E none, D 768, A 12, I 3072, P 1536",
    switches="summary_use_proj false",
    choices=heads.summary_choices("last"),
    ignored="""only
    position_embedding_type ["absolute", "rotary"] costs L*(2*P-1)*(D//A) \
when value in ("relative_key", "relative_key_query")
    pruned_heads, add_pooling_layer
    """,
    classes="""
    RoFormerModel, *ForMaskedLM, *ForCausalLM, *ForTokenClassification
    *ForSequenceClassification   roformer.body + dense_classifier
    *ForMultipleChoice           roformer.body + summary + choice
    *ForQuestionAnswering        roformer.body + two_label_span
    """,
    until=(),
    position_embeddings="",
    embeddings_width="get(E,D)",
    after_embeddings="""
    embeddings_project        linear get(E,D) D   @embeddings.projection   when get(E,D) != D
    encoder.embed_positions   embedding P D//A    @embeddings.position     frozen
    """,
    lm_head=heads.MASKED_LM,
)
