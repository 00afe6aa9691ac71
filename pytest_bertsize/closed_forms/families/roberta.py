"""RoBERTa (Liu et al. 2019, arXiv 1907.11692): BERT without its next sentence, and heads of its own."""

import re

from pytest_bertsize.closed_forms.declare import extend, family
from pytest_bertsize.closed_forms.families import bert
from pytest_bertsize.closed_forms.parts import heads
from pytest_bertsize.config.keys import Choice
from pytest_bertsize.config.older_releases import unmentioned

ENCODERS = """
*Model                       body(pooler=add_pooling_layer)   option add_pooling_layer=True
*ForMaskedLM                 {under}.body + lm_head
*ForSequenceClassification   {under}.body + dense_classifier
*ForMultipleChoice           {under}.body(pooler) + choice
*ForTokenClassification      {under}.body + classifier
*ForQuestionAnswering        {under}.body + span
"""
"""Of families that never decode."""
CLASSES = ENCODERS.replace("*ForMaskedLM", "*ForCausalLM  {under}.body + lm_head\n*ForMaskedLM")
WITHOUT_POOLER = CLASSES.replace("(pooler) + choice", "(pooler=before(5) or not before(5, 13)) + choice")
"""From transformers 5.0 to 5.12 some classes for multiple choice lacked the pooler whose output they read.
https://github.com/huggingface/transformers/pull/47147 gave it back."""
PARTS = {**bert.PARTS, "lm_head": heads.LM_HEAD}
ENCODER = {**PARTS, **bert.ENCODER}

KEYS = extend(bert.KEYS, "V 50265")
ROBERTA = family("roberta", KEYS, CLASSES, PARTS, stem="Roberta")

XLM_ROBERTA = family("xlm-roberta", bert.KEYS, WITHOUT_POOLER, PARTS, stem="XLMRoberta", under="roberta")
"""XLM-RoBERTa (Conneau et al. 2019, arXiv 1911.02116), with the config defaults of BERT, as all that follow."""

CAMEMBERT = family(
    "camembert",
    extend(bert.KEYS, until=(*bert.KEYS.until, *unmentioned("5.4.0", "camembert"))),
    WITHOUT_POOLER,
    PARTS,
    stem="Camembert",
    under="roberta",
)
"""CamemBERT (Martin et al. 2019, arXiv 1911.03894): RoBERTa in French."""

DATA2VEC_TEXT = family("data2vec-text", bert.KEYS, CLASSES, PARTS, stem="Data2VecText")
"""data2vec for text (Baevski et al. 2022, arXiv 2202.03555)."""

LONGFORMER = family(
    "longformer",
    bert.ENCODER_KEYS,
    ENCODERS,
    ENCODER,
    stem="Longformer",
    more="""
    attention.self                             @encoder.attention
      query_global, key_global, value_global   linear D D
    """,
)
"""Longformer (Beltagy et al. 2020, arXiv 2004.05150): RoBERTa whose tokens look at their neighbours, a few at all.
BERT, and L·3·(D² + D) of projections for the tokens that look at all, beside those for the window (section 3.1)."""

QUANTISED = {
    part: re.sub(r" (linear|embedding) ", r" quantised_\1 ", ENCODER[part])
    for part in ("embeddings", "attention", "feed_forward")
}
IBERT = family(
    "ibert",
    extend(bert.ENCODER_KEYS, choices=(Choice("hidden_act", "gelu", ("gelu",)),), until=unmentioned("5.6.0", "ibert")),
    ENCODERS,
    {**ENCODER, **QUANTISED},
    stem="IBert",
)
"""I-BERT (Kim et al. 2021, arXiv 2101.01321): RoBERTa in integer arithmetic, with the config defaults of BERT.

BERT's body of layers that quantise themselves, all but the pooler; the heads are torch's own. The only activation that
the class takes is the one that it has integers for.
"""
