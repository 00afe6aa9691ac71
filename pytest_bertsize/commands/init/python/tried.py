"""Functions that are proposed, tried as the gate will run them: in the helper process, before anything is written."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_bertsize.commands.init.python.plan import MODULE
from pytest_bertsize.review.check import conclude, examine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_bertsize.builder.helper import Helper
    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.review.review import Review
    from pytest_bertsize.table.settings import Settings


@contextmanager
def _beside(root: Path, text: str) -> Iterator[Path]:
    """A folder in which the project's files are seen, and one more: nothing is written into the project."""
    with tempfile.TemporaryDirectory(prefix="bertsize-") as folder:
        for entry in os.scandir(root):
            if entry.name not in {f"{MODULE}.py", ".git"}:
                Path(folder, entry.name).symlink_to(entry.path)
        Path(folder, f"{MODULE}.py").write_text(text, encoding="utf-8")
        yield Path(folder)


def tried(text: str, settings: Settings, registry: Registry, helper: Helper) -> dict[str, Review]:
    """What becomes of each model, by its name.

    :param text: of the file with the functions.
    :param settings: the tables, without limits.
    """
    subjects = {name: examine(model, settings, registry) for name, model in settings.models.items()}
    with _beside(settings.root.resolve(), text) as folder:
        if settings.interpreter:
            helper.build_with(settings.interpreter.path, settings.interpreter.written)
        helper.ask([replace(each.request, root=str(folder)) for each in subjects.values() if each.request])
        try:
            return {
                name: conclude(each, helper.result(name) if each.request else None, settings)
                for name, each in subjects.items()
            }
        finally:
            helper.stop()
