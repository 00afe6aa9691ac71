"""A declared checkpoint beside what was built: read, and held against it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_bertsize.checkpoint import headers
from pytest_bertsize.findings import Finding, Unusable

if TYPE_CHECKING:
    from pytest_bertsize.builder.messages import Built
    from pytest_bertsize.checkpoint.headers import Stored
    from pytest_bertsize.inventory import Inventory
    from pytest_bertsize.review.review import Review
    from pytest_bertsize.table.model import Model
    from pytest_bertsize.table.settings import Settings


def with_checkpoint(concluded: Review, model: Model, built: Built, actual: Inventory) -> Review:
    """Hold the checkpoint, if one is declared, against what was built."""
    try:
        filed = concluded.stored or _stored_by_helper(model, built)
    except Unusable as unusable:
        return replace(concluded, findings=(*concluded.findings, *unusable.findings))
    if filed is None:
        return concluded
    from pytest_bertsize.checkpoint import differences

    buffers = [each.name for each in built.buffers]
    found = differences.compared(filed, actual, buffers, of="the built model", loading=built.loading)
    if problem := built.problems.get("loading"):
        message = (
            f"how transformers loads the checkpoint is not known, and its names are compared as they are: {problem}"
        )
        found.append(Finding("checkpoint-differs", message, "", "warning", file=filed.file))
    return replace(concluded, stored=filed, findings=(*concluded.findings, *found))


def stored(model: Model, settings: Settings) -> Stored | None:
    """What the declared checkpoint holds; ``None`` where there is none, or where only the helper process reads it.

    :raises Unusable: when it cannot be read.
    """
    if model.checkpoint is None or headers.is_pickled(model.checkpoint):
        return None
    return headers.read(settings.root, model.checkpoint)


def _stored_by_helper(model: Model, built: Built) -> Stored | None:
    """What the helper process read of a pickled checkpoint.

    :raises Unusable: when it could not.
    """
    if model.checkpoint is None or not headers.is_pickled(model.checkpoint):
        return None
    if built.stored is None:
        raise headers.refusal(model.checkpoint, built.problems.get("stored", "the helper process said nothing of it"))
    rows = ((name, list(shape), dtype, tied_to) for name, shape, dtype, tied_to in built.stored)
    return headers.from_rows(model.checkpoint, rows)
