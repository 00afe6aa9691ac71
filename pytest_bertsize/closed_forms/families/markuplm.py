"""MarkupLM (Li et al. 2021, arXiv 2110.08518): BERT that also reads where in a page's tree a word stands.

BERT; M·U·(X + Y) of tables for M steps of a path, 5·M·U·D + 4·D² + 6·D of matrices, of which the first is not used.
"""

from pytest_bertsize.closed_forms.declare import extend, family
from pytest_bertsize.closed_forms.families import bert

MARKUPLM = family(
    "markuplm",
    extend(
        bert.ENCODER_KEYS,
        "X max_xpath_tag_unit_embeddings 256, Y max_xpath_subs_unit_embeddings 1024, U xpath_unit_hidden_size 32,"
        "M max_depth 50 layers",
        switches=(),
    ),
    """
    MarkupLMModel                       body(pooler=add_pooling_layer)   option add_pooling_layer=True
    MarkupLMForSequenceClassification   markuplm.body(pooler) + classifier
    MarkupLMForTokenClassification      markuplm.body + classifier
    MarkupLMForQuestionAnswering        markuplm.body + span
    """,
    bert.ENCODER,
    body="""
    <bert>
    embeddings.xpath_embeddings                       @embeddings.path
      xpath_unitseq2_embeddings      linear M*U D
      xpath_unitseq2_inner           linear M*U 4*D
      inner2emb                      linear 4*D D
      xpath_tag_sub_embeddings × M   embedding X U
      xpath_subs_sub_embeddings × M  embedding Y U
    """,
)
