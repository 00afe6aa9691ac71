"""The hooks of pytest-bertsize (pluggy): what a ``conftest.py`` or an installed plugin can add."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_bertsize.closed_forms.family import Family


def pytest_bertsize_closed_forms() -> Iterable[Family]:  # type: ignore[empty-body]
    """Contribute closed forms: a :class:`~pytest_bertsize.closed_forms.Family` for each ``model_type``.

    Called once per run. ``Family.name`` is the ``model_type`` of the config, which may be that of a built-in family.
    Each :class:`~pytest_bertsize.closed_forms.Architecture` names a model class, the module that has it
    (``defined_in``) where that is not transformers, and its blocks (:mod:`pytest_bertsize.closed_forms.blocks`). Two
    closed forms for one architecture of a family are an error that names both contributors.
    """
