"""LayoutLM (Xu et al. 2019, arXiv 1912.13318): BERT that also knows where on the page a word stands.

BERT, and 4·P2·D of layout: one table for left and right, one for top and bottom, one each for a word's height and
width. Every class pools.
"""

from pytest_bertsize.closed_forms.declare import extend, family
from pytest_bertsize.closed_forms.families import bert
from pytest_bertsize.closed_forms.parts import relative_positions

LAYOUTLM = family(
    "layoutlm",
    extend(bert.ENCODER_KEYS, "P2 max_2d_position_embeddings 1024", until=(relative_positions.read_until(4, 54),)),
    """
    LayoutLMModel                       body(pooler)
    LayoutLMForMaskedLM                 layoutlm.body(pooler) + masked_lm
    LayoutLMForSequenceClassification   layoutlm.body(pooler) + classifier
    LayoutLMForTokenClassification      layoutlm.body(pooler) + classifier
    LayoutLMForQuestionAnswering        layoutlm.body(pooler) + span
    """,
    bert.ENCODER,
    body="""
    <bert>
    embeddings.{axis}_position_embeddings   embedding P2 D   @embeddings.layout   for axis in ("x", "y", "h", "w")
    """,
)
