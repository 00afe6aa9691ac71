"""The interpreter that builds models, if it is not the one that runs pytest."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from pytest_bertsize.files import read_regular

LARGEST = 1024 * 1024  # the most bytes of a pyproject.toml; those of large projects have a tenth of that
_NAMES_PYTHON = re.compile(rb"""\bpython["']?\s*=""")


class Interpreter(NamedTuple):
    """An interpreter other than the one that runs pytest."""

    #: The absolute path; symlinks stay, because Python finds its virtual environment by the path that starts it.
    path: Path
    written: str  # the path as the table or the option has it

    @property
    def can_be_run(self) -> bool:
        return "\0" not in self.written and self.path.is_file() and os.access(self.path, os.X_OK)


def may_be_named(table: Path) -> bool:
    """Guess whether a table names an interpreter, before the table is read; a wrong guess only costs time."""
    try:
        return _NAMES_PYTHON.search(read_regular(os.path.realpath(table), LARGEST)) is not None
    except OSError:
        return False
