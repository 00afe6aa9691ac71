"""I-BERT (Kim et al. 2021, arXiv 2101.01321): RoBERTa in integer arithmetic, with the config defaults of BERT.

BERT's body of layers that quantise themselves, all but the pooler; the heads are torch's own. The only activation that
the class takes is the one that it has integers for.
"""

import re

from pytest_bertsize.closed_forms.declare import Choice, extend, family, unmentioned
from pytest_bertsize.closed_forms.families import bert, roberta

QUANTISED = {
    part: re.sub(r" (linear|embedding) ", r" quantised_\1 ", roberta.ENCODER[part])
    for part in ("embeddings", "attention", "feed_forward")
}
IBERT = family(
    "ibert",
    extend(bert.ENCODER_KEYS, choices=(Choice("hidden_act", "gelu", ("gelu",)),), until=unmentioned("5.6.0", "ibert")),
    roberta.ENCODERS,
    {**roberta.ENCODER, **QUANTISED},
    stem="IBert",
)
