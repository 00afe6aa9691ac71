"""MRA (Zeng et al. 2022, arXiv 2207.10284): BERT that looks closely where attention is large, coarsely elsewhere.

Nyströmformer without a convolution.
"""

from pytest_bertsize.closed_forms.declare import family
from pytest_bertsize.closed_forms.families import bert, nystromformer

KEYS = bert.ENCODER_KEYS.but(vocab_size=50265, type_vocab_size=1)

FAMILY = family("mra", KEYS, nystromformer.classes("Mra", "mra"), nystromformer.trees("mra", convolution=""))
