"""RoBERTa (Liu et al. 2019, arXiv 1907.11692): BERT without next-sentence prediction, with heads of its own."""

import re

from pytest_bertsize.closed_forms.declare import family
from pytest_bertsize.closed_forms.families.bert import BERT, ENCODER
from pytest_bertsize.closed_forms.parts import heads
from pytest_bertsize.config.keys import Choice, Index
from pytest_bertsize.config.older_releases import unmentioned

# The classes of families that never decode.
ENCODERS = """
*Model, *ForMaskedLM, *ForMultipleChoice, *ForTokenClassification, *ForQuestionAnswering
*ForSequenceClassification   {under}.body + dense_classifier
"""
CLASSES = ENCODERS.replace("*ForMaskedLM", "*ForCausalLM, *ForMaskedLM")

# From transformers 5.0 to 5.12 some classes for multiple choice lacked the pooler whose output they read.
# https://github.com/huggingface/transformers/pull/47147 gave it back.
WITHOUT_POOLER = f"""{CLASSES.replace("*ForMultipleChoice, ", "")}
*ForMultipleChoice           {{under}}.body(pooler=before(5) or not before(5, 13)) + choice
"""

PADDING = Index("pad_token_id", 1)
ROBERTA = family("roberta", BERT, sizes="V 50265", classes=CLASSES, lm_head=heads.lm_head(), padding=PADDING)

# XLM-RoBERTa (Conneau et al. 2019, arXiv 1911.02116): RoBERTa with the default sizes of BERT's config.
XLM_ROBERTA = family(
    "xlm-roberta", ROBERTA, sizes="V 30522", classes=WITHOUT_POOLER, stem="XLMRoberta", under="roberta"
)

# CamemBERT (Martin et al. 2019, arXiv 1911.03894): RoBERTa in French.
CAMEMBERT = family("camembert", XLM_ROBERTA, until=(*BERT.keys.until, *unmentioned("5.4.0", "camembert")))

# data2vec for text (Baevski et al. 2022, arXiv 2202.03555): RoBERTa with the default sizes of BERT's config.
DATA2VEC_TEXT = family("data2vec-text", ROBERTA, sizes="V 30522", stem="Data2VecText")

# Longformer (Beltagy et al. 2020, arXiv 2004.05150): RoBERTa with attention in a window, and global attention for a few
# tokens, which has projections of its own (section 3.1).
LONGFORMER = family(
    "longformer",
    ENCODER,
    classes=ENCODERS,
    padding=PADDING,
    more="""
    attention.self                             @encoder.attention
      query_global, key_global, value_global   linear D D
    """,
    lm_head=heads.lm_head(),
)

QUANTISED = {
    part: re.sub(r" (linear|embedding) ", r" quantised_\1 ", ENCODER.trees[part])
    for part in ("embeddings", "position_embeddings", "segment_embeddings", "projections", "attention", "feed_forward")
}

# I-BERT (Kim et al. 2021, arXiv 2101.01321): RoBERTa in integer arithmetic, with the default sizes of BERT's config.
# All layers of its body except the pooler are quantised; its only activation is GELU, in integers.
IBERT = family(
    "ibert",
    LONGFORMER,
    choices=(Choice("hidden_act", "gelu", ("gelu",)),),
    until=unmentioned("5.6.0", "ibert"),
    stem="IBert",
    more="",
    trees=QUANTISED,
)

# RoBERTa-PreLayerNorm (Wettig et al. 2022, arXiv 2202.08005): BERT with a norm of 2·D after the last layer. In other
# pre-norm families, this norm replaces that of the embeddings.
ROBERTA_PRELAYERNORM = family(
    "roberta-prelayernorm",
    ROBERTA,
    stem="RobertaPreLayerNorm",
    attention_norm="LayerNorm",
    feed_forward_norm="intermediate.LayerNorm",
    after_layers="LayerNorm   layer_norm D   @encoder.norm",
)

# XLM-RoBERTa-XL (Goyal et al. 2021, arXiv 2105.00572): XLM-RoBERTa with billions of parameters.
XLM_ROBERTA_XL = family(
    "xlm-roberta-xl",
    ROBERTA_PRELAYERNORM,
    sizes="V 250880, D 2560, L 36, A 32, I 10240, P 514, T 1",
    stem="XLMRobertaXL",
    under="roberta",
    embeddings_norm="",
    attention_norm="self_attn_layer_norm",
    feed_forward_norm="LayerNorm",
    after_layers="encoder.LayerNorm   layer_norm D   @encoder.norm",
)

# Megatron-BERT (Shoeybi et al. 2019, arXiv 1909.08053): a pre-norm model with BERT's classes.
MEGATRON_BERT = family(
    "megatron-bert",
    BERT,
    sizes="V 29056, D 1024, L 24, A 16, I 4096",
    stem="MegatronBert",
    under="bert",
    causal="ForCausalLM",
    embeddings_norm="",
    attention_norm="ln",
    cross_distances="<distances>",
    feed_forward_norm="ln",
    after_layers="encoder.ln   layer_norm D   @encoder.norm",
)
