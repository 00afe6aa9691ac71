"""Nyströmformer (Xiong et al. 2021, arXiv 2102.03902): BERT that approximates attention by a few landmarks.

The table of positions begins with two unused rows, which P does not count. No class has a pooler.
"""

from pytest_bertsize.closed_forms.declare import family
from pytest_bertsize.closed_forms.families.bert import ENCODER

# YOSO (Zeng et al. 2021, arXiv 2111.09714): BERT that samples attention by hashing, with Nyströmformer's convolution if
# ``conv_window`` is set.
YOSO = family(
    "yoso",
    ENCODER,
    sizes="V 50265, P 4096, T 1, K conv_window none",
    classes="""
    *Model, *ForMaskedLM, *ForTokenClassification
    *ForSequenceClassification   {under}.body + dense_classifier
    *ForMultipleChoice           {under}.body + pre_classifier + choice
    *ForQuestionAnswering        {under}.body + two_label_span
    """,
    position_embeddings="position_embeddings   embedding P+2 D   @embeddings.position",
    more="attention.self.conv.weight   parameter A 1 K 1   @encoder.convolution   when K",
    pooler="",
)

NYSTROMFORMER = family(
    "nystromformer",
    YOSO,
    sizes="V 30000, P 510, T 2, K conv_kernel_size 65",
    activations="hidden_act gelu_new",
    ignored="add_pooling_layer [false]: no class of this family has a pooler",
)

# MRA (Zeng et al. 2022, arXiv 2207.10284): BERT that approximates attention at several resolutions, built like
# Nyströmformer without its convolution.
MRA = family("mra", ENCODER, sizes="V 50265, T 1", classes=YOSO.classes, trees=YOSO.trees, more="")
