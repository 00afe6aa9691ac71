"""The interpreter that builds models, if it is not the gate's own."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from pytest_bertsize.files import open_regular
from pytest_bertsize.wording import shown

LARGEST = 1024 * 1024
"""Bytes of a pyproject.toml; those of large projects have a tenth."""
_NAMES_PYTHON = re.compile(rb"""\bpython["']?\s*=""")


class NoInterpreter(Exception):
    """The path of an interpreter that cannot be run; the message has the fix."""


class Interpreter(NamedTuple):
    """An interpreter that is not the gate's own."""

    path: Path
    """Absolute, as it is named: Python knows a virtual environment by the symlink that leads out of it."""
    written: str
    """The path in the table or the option."""

    def check(self) -> None:
        """:raises NoInterpreter: for what cannot be run."""
        written = shown(self.written)
        make_one = "make that environment, or name the interpreter of another one"
        if "\0" in self.written:
            raise NoInterpreter(f"{written} is no path; write the path of an interpreter")
        if self.path.is_dir():
            example = shown(f"{self.written.rstrip('/')}/bin/python")
            raise NoInterpreter(f"{written} is a folder; name the interpreter in it, as in {example}")
        if not self.path.is_file():
            raise NoInterpreter(f"there is no file {written}; {make_one}")
        if not os.access(self.path, os.X_OK):
            raise NoInterpreter(f"{written} may not be executed; {make_one}")


def in_folder(folder: Path, written: str) -> Interpreter:
    """The interpreter that a path means, relative to the folder of the table; of an option, to the current one."""
    return Interpreter(folder.absolute() / written, written)


def may_be_named(table: Path) -> bool:
    """Return whether a table may name an interpreter: asked before the table is read.

    A wrong answer costs time alone: a helper process that has to be ended, or that starts later.
    """
    try:
        with open_regular(os.path.realpath(table)) as stream:
            return _NAMES_PYTHON.search(stream.read(LARGEST)) is not None
    except OSError:
        return False
