"""Where a project stands in the repository that a CI has checked out."""

from __future__ import annotations

import os
from pathlib import Path


def prefix(root: Path, variable: str) -> str:
    """The project's folder inside the one that a CI's variable names; ``""`` where the two are one, or strangers."""
    outer = os.environ.get(variable)
    if not outer:
        return ""
    try:
        inner = root.resolve().relative_to(Path(outer).resolve())
    except (OSError, ValueError, RuntimeError):
        return ""
    return "" if inner == Path() else inner.as_posix()
