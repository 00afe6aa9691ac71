"""RoBERTa (Liu et al. 2019, arXiv 1907.11692): BERT without next-sentence prediction, with heads of its own."""

import re

from pytest_bertsize.closed_forms.declare import family
from pytest_bertsize.closed_forms.families.bert import BERT, ENCODER
from pytest_bertsize.closed_forms.parts import heads
from pytest_bertsize.config.keys import Choice, Index
from pytest_bertsize.config.older_releases import unmentioned

ENCODERS = """
*Model, *ForMaskedLM
*ForSequenceClassification   {under}.body + dense_classifier
*ForMultipleChoice, *ForTokenClassification, *ForQuestionAnswering
"""
"""The classes of families that never decode."""
CLASSES = ENCODERS.replace("*ForMaskedLM", "*ForCausalLM, *ForMaskedLM")
WITHOUT_POOLER = CLASSES.replace(
    "*ForMultipleChoice,",
    "*ForMultipleChoice  {under}.body(pooler=before(5) or not before(5, 13)) + choice\n",
)
"""From transformers 5.0 to 5.12 some classes for multiple choice lacked the pooler whose output they read.
https://github.com/huggingface/transformers/pull/47147 gave it back."""

PADDING = Index("pad_token_id", 1)
ROBERTA = family(
    "roberta", BERT, sizes="V 50265", classes=CLASSES, stem="Roberta", lm_head=heads.LM_HEAD, padding=PADDING
)

XLM_ROBERTA = family(
    "xlm-roberta", ROBERTA, sizes="V 30522", classes=WITHOUT_POOLER, stem="XLMRoberta", under="roberta"
)
"""XLM-RoBERTa (Conneau et al. 2019, arXiv 1911.02116), with BERT's config defaults, as in all families below."""

CAMEMBERT = family(
    "camembert",
    XLM_ROBERTA,
    until=(*BERT.keys.until, *unmentioned("5.4.0", "camembert")),
    stem="Camembert",
    under="roberta",
)
"""CamemBERT (Martin et al. 2019, arXiv 1911.03894): RoBERTa in French."""

DATA2VEC_TEXT = family("data2vec-text", ROBERTA, sizes="V 30522", stem="Data2VecText")
"""data2vec for text (Baevski et al. 2022, arXiv 2202.03555)."""

LONGFORMER = family(
    "longformer",
    ENCODER,
    classes=ENCODERS,
    stem="Longformer",
    padding=PADDING,
    more="""
    attention.self                             @encoder.attention
      query_global, key_global, value_global   linear D D
    """,
    lm_head=heads.LM_HEAD,
)
"""Longformer (Beltagy et al. 2020, arXiv 2004.05150): RoBERTa with attention in a window, global for a few tokens.
BERT, and L·3·(D² + D) of projections for global attention (section 3.1)."""

QUANTISED = {
    part: re.sub(r" (linear|embedding) ", r" quantised_\1 ", ENCODER.trees[part])
    for part in ("embeddings", "attention", "feed_forward")
}
IBERT = family(
    "ibert",
    LONGFORMER,
    choices=(Choice("hidden_act", "gelu", ("gelu",)),),
    until=unmentioned("5.6.0", "ibert"),
    stem="IBert",
    more="",
    trees=QUANTISED,
)
"""I-BERT (Kim et al. 2021, arXiv 2101.01321): RoBERTa in integer arithmetic, with BERT's config defaults. All layers of
its body except the pooler quantise themselves; it has one activation in integers."""
