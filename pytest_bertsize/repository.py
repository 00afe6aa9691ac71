"""What git says of the project: which commit this is. Nothing of the repository is executed."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

SECONDS = 10.0
_SAFELY = ("-c", "core.fsmonitor=", "-c", f"core.hooksPath={os.devnull}")
"""Settings of a repository that would run a program of its choice."""


def commit(folder: Path) -> str | None:
    """The full name of the commit that is checked out, ``None`` where git does not know of one."""
    command = ["git", *_SAFELY, "rev-parse", "--verify", "--quiet", "--end-of-options", "HEAD^{commit}"]
    try:
        found = subprocess.run(  # noqa: S603  (arguments of our own)
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=False,
            env={**os.environ, "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return found.stdout.decode("ascii", "replace").strip() or None if found.returncode == 0 else None
