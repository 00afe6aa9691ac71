"""Longformer (Beltagy et al. 2020, arXiv 2004.05150): RoBERTa whose tokens look at their neighbours, a few at all.

BERT, and L·3·(D² + D) of projections for the tokens that look at all, beside those for the window (section 3.1).
"""

from pytest_bertsize.closed_forms.declare import family, fill
from pytest_bertsize.closed_forms.families import bert, roberta

GLOBAL = """
attention.self                             @encoder.attention
  query_global, key_global, value_global   linear D D
"""

FAMILY = family(
    "longformer",
    bert.ENCODER_KEYS,
    roberta.encoders("Longformer", "longformer"),
    roberta.trees("longformer", fill(bert.ENCODER, more=GLOBAL)),
)
