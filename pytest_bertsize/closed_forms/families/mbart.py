"""mBART (Liu et al. 2020, arXiv 2001.08210): BART with a last norm on each of its stacks."""

from __future__ import annotations

from dataclasses import replace

from pytest_bertsize.closed_forms.families import bart
from pytest_bertsize.closed_forms.family import Family

KEYS = replace(bart.KEYS, ignored=bart.old_keys(final_norm=True))
STACKS = bart.Stacks(norms=("layernorm_embedding", "layer_norm"))

FAMILY = Family("mbart", KEYS, bart.architectures("MBart", STACKS))
