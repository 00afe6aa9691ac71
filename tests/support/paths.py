"""Run commands as CI services, hooks and readers do, and make what may stand where these look for ``python``."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from subprocess import PIPE, STDOUT, CompletedProcess, run


def run_apart(command: Sequence[str], folder: Path, path: str, **variables: str) -> CompletedProcess[str]:
    """Run a command without this machine's variables and git settings; all that it prints is in ``stdout``."""
    own = {"PATH": path, "HOME": str(folder.parent), "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    environment = {**own, **variables}
    return run(
        command, cwd=folder, env=environment, input="", stdout=PIPE, stderr=STDOUT, encoding="utf-8", check=False
    )


def python_that(folder: Path, *flags: str) -> Path:
    """Return a ``python`` in a new folder, the one that runs the tests with other flags; ``-S`` has nothing installed."""
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
