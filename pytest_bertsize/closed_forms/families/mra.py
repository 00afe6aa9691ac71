"""MRA (Zeng et al. 2022, arXiv 2207.10284): BERT that looks closely where attention is large, coarsely elsewhere.

Nyströmformer without a convolution.
"""

from pytest_bertsize.closed_forms.declare import extend, family
from pytest_bertsize.closed_forms.families import bert, nystromformer

KEYS = extend(bert.ENCODER_KEYS, "V 50265, T 1")

FAMILY = family("mra", KEYS, nystromformer.classes("Mra", "mra"), nystromformer.trees("mra", convolution=""))
