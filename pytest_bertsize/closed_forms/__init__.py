"""The registry of closed forms: one file per family, found by ``model_type``.

Nothing here imports transformers or torch: a closed form never looks at the class that it checks.
"""

from __future__ import annotations

from pytest_bertsize.closed_forms import bert
from pytest_bertsize.closed_forms.family import Architecture, ClosedForm, Family

__all__ = ["FAMILIES", "Architecture", "ClosedForm", "Family", "family_of"]

FAMILIES: dict[str, Family] = {family.name: family for family in (bert.FAMILY,)}
"""Every family by its ``model_type``."""


def family_of(architecture: str) -> Family | None:
    """The family that an architecture belongs to."""
    return next((family for family in FAMILIES.values() if family.architecture(architecture)), None)
