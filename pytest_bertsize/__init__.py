"""A pytest plugin that guards the size of BERT-family models."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_bertsize.commands.named_model import closed_form
    from pytest_bertsize.model_in_hand import check_model
    from pytest_bertsize.review.review import Review

__all__ = ["Review", "check_model", "closed_form"]


_HOMES = {
    "Review": "pytest_bertsize.review.review",
    "check_model": "pytest_bertsize.model_in_hand",
    "closed_form": "pytest_bertsize.commands.named_model",
}


def __getattr__(name: str) -> Any:
    """Return ``name``, and import its module only now: that keeps each start of pytest short."""
    if name == "__version__":
        from importlib.metadata import version

        return version("pytest-bertsize")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
