"""Nyströmformer (Xiong et al. 2021, arXiv 2102.03902): BERT that approximates attention by a few landmarks.

BERT with L·A·K of convolution: one filter for each head, by which a token's value is mixed with its neighbours'. The
table of positions begins with two rows that no token uses, and P does not count them. No class has a pooler.
"""

from pytest_bertsize.closed_forms.declare import extend, family, fill
from pytest_bertsize.closed_forms.families import bert
from pytest_bertsize.closed_forms.families.distilbert import PRE_CLASSIFIER
from pytest_bertsize.config.keys import Ignored

BODY = """
embeddings
  word_embeddings            embedding V D      @embeddings.word
  position_embeddings        embedding P+2 D    @embeddings.position
  token_type_embeddings      embedding T D      @embeddings.token_type
  LayerNorm                  layer_norm D       @embeddings.norm
encoder.layer × L
  <attention>
  <feed_forward>
  <convolution>
"""
CONVOLUTION = """
attention.self.conv                             @encoder.convolution   when K
  weight                     parameter A 1 K 1
"""
CLASSES = """
*Model                       body
*ForMaskedLM                 {name}.body + masked_lm
*ForSequenceClassification   {name}.body + dense_classifier
*ForMultipleChoice           {name}.body + pre_classifier + choice
*ForTokenClassification      {name}.body + classifier
*ForQuestionAnswering        {name}.body + two_label_span
"""


def classes(prefix: str, name: str) -> str:
    """Return the classes of a family that is built like Nyströmformer."""
    return fill(CLASSES, name=name).replace("*", prefix)


def trees(name: str, convolution: str = CONVOLUTION) -> dict[str, str]:
    """Return the body of a family that has Nyströmformer's classes, and their heads."""
    body = fill(BODY, attention=bert.ATTENTION, convolution=convolution, feed_forward=bert.FEED_FORWARD)
    return {**bert.trees(name, body), "pre_classifier": PRE_CLASSIFIER}


KEYS = extend(
    bert.ENCODER_KEYS,
    "V 30000, P 510, K conv_kernel_size 65",
    activations="hidden_act gelu_new",
    more_ignored={"add_pooling_layer": Ignored((False,), because="no class of this family has a pooler")},
)

FAMILY = family("nystromformer", KEYS, classes("Nystromformer", "nystromformer"), trees("nystromformer"))
