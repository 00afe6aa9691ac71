"""I-BERT (Kim et al. 2021, arXiv 2101.01321): RoBERTa in integer arithmetic, with the config defaults of BERT.

BERT's body of layers that quantise themselves, all but the pooler; the heads are torch's own.
"""

import re

from pytest_bertsize.closed_forms.declare import extend, family, fill
from pytest_bertsize.closed_forms.families import bert, roberta
from pytest_bertsize.config.keys import Choice
from pytest_bertsize.config.older_releases import file_in, unmentioned

PARTS = {"embeddings": bert.EMBEDDINGS, "attention": bert.ATTENTION, "feed_forward": bert.FEED_FORWARD}
QUANTISED = {name: re.sub(r" (linear|embedding) ", r" quantised_\1 ", text) for name, text in PARTS.items()}
BODY = fill(bert.BODY, crossattention="", pooler=bert.POOLER, **QUANTISED)

KEYS = extend(
    bert.ENCODER_KEYS,
    choices=(Choice("hidden_act", "gelu", ("gelu",)),),
    until=unmentioned((5, 6), file_in("5.6.0", "ibert", "configuration")),
)
"""The only activation that the class takes is the one that it has integers for."""

FAMILY = family("ibert", KEYS, roberta.encoders("IBert", "ibert"), roberta.trees("ibert", BODY))
