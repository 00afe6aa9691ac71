"""PEGASUS (Zhang et al. 2019, arXiv 1912.08777): BART with sinusoidal positions, and norms where mBART has its last."""

from __future__ import annotations

from dataclasses import replace

from pytest_bertsize.closed_forms.families import bart, marian
from pytest_bertsize.closed_forms.family import Family

IGNORED = bart.old_keys(final_norm=True, embedding_norm=False, sinusoids=True)
KEYS = replace(bart.KEYS, ignored=IGNORED)
STACKS = bart.Stacks(positions=marian.sinusoidal_positions, norms=("layer_norm",))

FAMILY = Family("pegasus", KEYS, bart.generators("Pegasus", STACKS))
