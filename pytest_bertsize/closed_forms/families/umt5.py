"""UMT5 (Chung et al. 2023, arXiv 2304.09151): mT5 whose layers each have a table of distances."""

from pytest_bertsize.closed_forms.declare import extend, family
from pytest_bertsize.closed_forms.families import mt5, t5

KEYS = extend(mt5.KEYS, until=t5.KEYS.until)

FAMILY = family(
    "umt5", KEYS, t5.CLASSES.replace("*", "UMT5"), t5.trees(in_each=True), derive=t5.derived("gated-gelu", layers=8)
)
