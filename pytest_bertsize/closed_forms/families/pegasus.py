"""PEGASUS (Zhang et al. 2019, arXiv 1912.08777): BART with sinusoidal positions, and norms where mBART has its last."""

from pytest_bertsize.closed_forms.declare import extend
from pytest_bertsize.closed_forms.families import bart

KEYS = extend(bart.KEYS, ignored=bart.old_keys(final_norm=True, embedding_norm=False, sinusoids=True))

FAMILY = bart.kin(
    "pegasus",
    KEYS,
    bart.GENERATORS.replace("*", "Pegasus"),
    **bart.trees(positions=bart.SINUSOIDS, norms=bart.LAST_NORM),
)
