"""What may stand where ``python`` is looked for, or ``pytest_bertsize``."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def python_that(folder: Path, *flags: str) -> Path:
    """A ``python`` in a new folder: the one that runs the tests, called with flags before all others.

    With ``-S`` it is one where nothing is installed.
    """
    folder.mkdir()
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" {" ".join(flags)} "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    return python


def path_to(python: Path) -> str:
    """A PATH on which a ``python`` comes first."""
    return os.pathsep.join([str(python.parent), os.environ["PATH"]])


def put_an_impostor_in(project: Path) -> None:
    """Give a project a ``pytest_bertsize`` of its own, which says that all is well."""
    package = project / "pytest_bertsize"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text("print('all is well')\n", encoding="utf-8")
