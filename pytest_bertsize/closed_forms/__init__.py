"""Closed forms: the tensors of a model, derived from its config alone, for each family and class."""

from __future__ import annotations

from pytest_bertsize.closed_forms.families import FAMILIES
from pytest_bertsize.closed_forms.family import Architecture, ClosedForm, Family

__all__ = ["FAMILIES", "Architecture", "ClosedForm", "Family"]
