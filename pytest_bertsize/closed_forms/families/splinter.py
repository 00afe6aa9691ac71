"""Splinter (Ram et al. 2021, arXiv 2101.00438): BERT that learns to select spans, and has a head for nothing else.

BERT without a pooler; 4·(D² + 3·D) of transforms, of question and text, of start and end, and 2·D² of scores.
"""

from pytest_bertsize.closed_forms.declare import extend, family, fill
from pytest_bertsize.closed_forms.families import bert
from pytest_bertsize.closed_forms.parts import relative_positions

BODY = fill(
    bert.BODY,
    embeddings=bert.EMBEDDINGS,
    attention=bert.ATTENTION,
    crossattention="",
    feed_forward=bert.FEED_FORWARD,
    pooler="",
)
SPAN_SELECTION = """
splinter_qass
  query_{end}_transform                                  @head.transform    for end in ("start", "end")
    dense                    linear D D
    LayerNorm                layer_norm D
  {end}_transform                                        @head.transform    for end in ("start", "end")
    dense                    linear D D
    LayerNorm                layer_norm D
  {end}_classifier           linear D D bias=False       @head.classifier   for end in ("start", "end")
"""
KEYS = extend(bert.ENCODER_KEYS, switches=(), until=(relative_positions.read_until(4, 54),))

CLASSES = """
SplinterModel                  body
SplinterForPreTraining         splinter.body + span_selection
SplinterForQuestionAnswering   splinter.body + span_selection
"""

FAMILY = family("splinter", KEYS, CLASSES, body=BODY, span_selection=SPAN_SELECTION)
