"""mBART (Liu et al. 2020, arXiv 2001.08210): BART with a last norm on each of its stacks."""

from pytest_bertsize.closed_forms.declare import extend
from pytest_bertsize.closed_forms.families import bart

KEYS = extend(bart.KEYS, ignored=bart.old_keys(final_norm=True))

FAMILY = bart.kin(
    "mbart", KEYS, bart.CLASSES.replace("*", "MBart"), **bart.trees(norms=f"{bart.EMBEDDING_NORM}\n{bart.LAST_NORM}")
)
