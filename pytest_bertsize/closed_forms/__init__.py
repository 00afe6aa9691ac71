"""The registry of closed forms: one file per family, found by ``model_type`` and loaded when it is asked for.

Nothing here imports transformers or torch: a closed form never looks at the class that it checks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import cast

from pytest_bertsize.closed_forms.family import Architecture, ClosedForm, Family

__all__ = ["FAMILIES", "Architecture", "ClosedForm", "Family", "family_of"]

_MODULES = {
    # encoders
    "bert": "bert",
    "roberta": "roberta",
    "xlm-roberta": "xlm_roberta",
    "camembert": "camembert",
}
"""The file of each family, in the order in which messages and the README name them."""


class _Families(Mapping[str, Family]):
    """Every family by its ``model_type``; a family's file is imported when it is looked up."""

    def __getitem__(self, name: str) -> Family:
        return _load(_MODULES[name])

    def __iter__(self) -> Iterator[str]:
        return iter(_MODULES)

    def __len__(self) -> int:
        return len(_MODULES)

    def __contains__(self, name: object) -> bool:
        return name in _MODULES


FAMILIES: Mapping[str, Family] = _Families()


@cache
def _load(module: str) -> Family:
    return cast("Family", import_module(f"{__name__}.{module}").FAMILY)


def family_of(architecture: str) -> Family | None:
    """The family that an architecture belongs to."""
    return next((family for family in FAMILIES.values() if family.architecture(architecture)), None)
