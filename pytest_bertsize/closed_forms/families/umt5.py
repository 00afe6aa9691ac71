"""UMT5 (Chung et al. 2023, arXiv 2304.09151): mT5 whose layers each have a table of distances."""

from __future__ import annotations

from pytest_bertsize.closed_forms.families import mt5, t5
from pytest_bertsize.closed_forms.family import Deriving

FAMILY = Deriving("umt5", mt5.KEYS, t5.architectures("UMT5", in_each=True), t5.derived("gated-gelu", layers=8))
