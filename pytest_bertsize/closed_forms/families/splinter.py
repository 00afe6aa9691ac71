"""Splinter (Ram et al. 2021, arXiv 2101.00438): BERT that learns to select spans, and has a head for nothing else.

BERT without a pooler; 4·(D² + 3·D) of transforms, of question and text, of start and end, and 2·D² of scores.
"""

from pytest_bertsize.closed_forms.declare import extend, family
from pytest_bertsize.closed_forms.families import bert
from pytest_bertsize.closed_forms.parts import relative_positions

SPLINTER = family(
    "splinter",
    extend(bert.ENCODER_KEYS, switches=(), until=(relative_positions.read_until(4, 54),)),
    """
    SplinterModel                  body
    SplinterForPreTraining         splinter.body + span_selection
    SplinterForQuestionAnswering   splinter.body + span_selection
    """,
    bert.ENCODER,
    pooler="",
    span_selection="""
    splinter_qass
      query_{end}_transform                                  @head.transform    for end in ("start", "end")
        dense                    linear D D
        LayerNorm                layer_norm D
      {end}_transform                                        @head.transform    for end in ("start", "end")
        dense                    linear D D
        LayerNorm                layer_norm D
      {end}_classifier           linear D D bias=False       @head.classifier   for end in ("start", "end")
    """,
)
