"""A declared checkpoint beside what was built."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_bertsize.findings import Finding

if TYPE_CHECKING:
    from pytest_bertsize.builder.messages import Built
    from pytest_bertsize.inventory import Inventory
    from pytest_bertsize.review.review import Review


def with_checkpoint(concluded: Review, built: Built, actual: Inventory) -> Review:
    """Compare the checkpoint, if one is declared, with what was built."""
    if concluded.stored is None:
        return concluded
    from pytest_bertsize.checkpoint import differences

    buffers = [each.name for each in built.buffers]
    found = differences.compared(concluded.stored, actual, buffers, of="the built model", loading=built.loading)
    if problem := built.problems.get("loading"):
        message = (
            f"how transformers loads the checkpoint is not known, and its names are compared as they are: {problem}"
        )
        found.append(Finding("checkpoint-differs", message, "", "warning", file=concluded.stored.file))
    return replace(concluded, findings=(*concluded.findings, *found))
