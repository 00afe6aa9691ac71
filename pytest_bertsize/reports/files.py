"""A file that is replaced at once or not at all; where a project stands in the repository that a CI has checked out."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def replace(path: Path, text: str) -> None:
    """Replace the file at once, or leave it as it was.

    :raises OSError: when it cannot be written.
    """
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as stream:
            stream.write(text)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


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
