"""The interpreter that builds models, if it is not the one that runs pytest."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from pytest_bertsize.files import open_regular
from pytest_bertsize.wording import shown

LARGEST = 1024 * 1024  # the most bytes of a pyproject.toml; those of large projects have a tenth of that
_NAMES_PYTHON = re.compile(rb"""\bpython["']?\s*=""")


class NoInterpreter(Exception):
    """The interpreter cannot be run; the message has the fix."""


class Interpreter(NamedTuple):
    """An interpreter other than the one that runs pytest."""

    #: The absolute path; symlinks stay, because Python finds its virtual environment by the path that starts it.
    path: Path
    written: str  # the path as the table or the option has it

    def check(self) -> None:
        """Check that the interpreter can be run; raise :class:`NoInterpreter` if it cannot."""
        is_path = "\0" not in self.written
        if not (is_path and self.path.is_file() and os.access(self.path, os.X_OK)):
            fix = "create its environment, or name the interpreter in it"
            raise NoInterpreter(f"{shown(self.written)} is not a program that can be run; {fix}")


def in_folder(folder: Path, written: str) -> Interpreter:
    """Return the interpreter at a path relative to a folder: the table's folder, or for an option the current one."""
    return Interpreter(folder.absolute() / written, written)


def may_be_named(table: Path) -> bool:
    """Guess whether a table names an interpreter, before the table is read; a wrong guess only costs time."""
    try:
        with open_regular(os.path.realpath(table)) as stream:
            return _NAMES_PYTHON.search(stream.read(LARGEST)) is not None
    except OSError:
        return False
