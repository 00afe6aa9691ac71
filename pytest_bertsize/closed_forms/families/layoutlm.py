"""LayoutLM (Xu et al. 2019, arXiv 1912.13318): BERT with the positions of words on the page.

Left and right share a table, and so do top and bottom. Every class has a pooler.
"""

from pytest_bertsize.closed_forms.declare import family
from pytest_bertsize.closed_forms.families.bert import ENCODER
from pytest_bertsize.closed_forms.parts import shared_keys

LAYOUTLM = family(
    "layoutlm",
    ENCODER,
    sizes="P2 max_2d_position_embeddings 1024",
    until=(shared_keys.read_until(4, 54),),
    classes="""
    LayoutLMModel   body
    *ForMaskedLM, *ForSequenceClassification, *ForTokenClassification, *ForQuestionAnswering
    """,
    pooler="pooler.dense   linear D D   @pooler",
    after_embeddings="""
    embeddings.{axis}_position_embeddings   embedding P2 D   @embeddings.layout   for axis in ("x", "y", "h", "w")
    """,
)
