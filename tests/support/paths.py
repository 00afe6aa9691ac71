"""Scripts of CI services and hooks, run as these run them, and what may stand where they look for ``python``."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

HOSTILE = ".$(touch pwned)`touch pwned`\"; touch pwned; \"'; touch pwned; '"
"""A value that a careless shell would run."""


def run_as_job(command: Sequence[str], folder: Path, path: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command in CI, where nothing of this machine's git is set; all that it says is in its ``stdout``."""
    own = {"PATH": path, "HOME": str(folder.parent), "CI": "true"}
    git = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    return subprocess.run(
        command,
        cwd=folder,
        env={**own, **git, **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def python_that(folder: Path, *flags: str) -> Path:
    """A ``python`` in a new folder: the one that runs the tests, called with flags before all others.

    With ``-S`` it is one where nothing is installed.
    """
    folder.mkdir()
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" {" ".join(flags)} "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    return python


def path_to(folder: Path) -> str:
    return os.pathsep.join([str(folder), os.environ["PATH"]])


def put_an_impostor_in(project: Path) -> None:
    """Give a project a ``pytest_bertsize`` of its own, which says that all is well."""
    package = project / "pytest_bertsize"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text("print('all is well')\n", encoding="utf-8")
