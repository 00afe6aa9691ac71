"""YOSO (Zeng et al. 2021, arXiv 2111.09714): BERT that samples attention by hashing.

BERT, with Nyströmformer's convolution where ``conv_window`` says how wide.
"""

from dataclasses import replace

from pytest_bertsize.closed_forms.declare import family, read_sizes
from pytest_bertsize.closed_forms.families import bert, nystromformer

KEYS = replace(
    bert.ENCODER_KEYS,
    sizes=read_sizes("V 50265, D 768, L 12 layers from 0, A 12, I 3072, P 4096, T 1, K conv_window none"),
)

FAMILY = family("yoso", KEYS, nystromformer.classes("Yoso", "yoso"), nystromformer.trees("yoso"))
