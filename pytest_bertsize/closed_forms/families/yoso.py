"""YOSO (Zeng et al. 2021, arXiv 2111.09714): BERT that samples attention by hashing.

BERT, with Nyströmformer's convolution where ``conv_window`` says how wide.
"""

from pytest_bertsize.closed_forms.declare import extend, family
from pytest_bertsize.closed_forms.families import bert, nystromformer

KEYS = extend(bert.ENCODER_KEYS, "V 50265, P 4096, T 1, K conv_window none")

FAMILY = family("yoso", KEYS, nystromformer.classes("Yoso", "yoso"), nystromformer.trees("yoso"))
