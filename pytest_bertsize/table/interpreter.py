"""Which interpreter builds: the gate's own, one that the table names, or one that an option names in its place."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from pytest_bertsize.files import regular
from pytest_bertsize.wording import shown

LARGEST = 1024 * 1024
"""Bytes of a pyproject.toml; those of large projects have a tenth."""
_NAMED = re.compile(rb"""\bpython["']?\s*=""")
MAKE_ONE = "make that environment, or name the interpreter of another one"


class NoInterpreter(Exception):
    """What is named is none; the message has what is wrong and what to write."""


class Interpreter(NamedTuple):
    """An interpreter that is not the gate's own."""

    path: Path
    """Absolute, as it is named: Python knows a virtual environment by the symlink that leads out of it."""
    written: str
    """As the table or the option has it."""

    def check(self) -> None:
        """:raises NoInterpreter: for what cannot be run."""
        said = shown(self.written)
        if "\0" in self.written:
            raise NoInterpreter(f"{said} is no path; write the path of an interpreter")
        if self.path.is_dir():
            example = shown(f"{self.written.rstrip('/')}/bin/python")
            raise NoInterpreter(f"{said} is a folder; name the interpreter in it, as in {example}")
        if not self.path.is_file():
            raise NoInterpreter(f"there is no file {said}; {MAKE_ONE}")
        if not os.access(self.path, os.X_OK):
            raise NoInterpreter(f"{said} may not be executed; {MAKE_ONE}")


def in_folder(folder: Path, written: str) -> Interpreter:
    """The one that a relative path means.

    :param folder: that of the table's file; of an option, the current one.
    """
    return Interpreter(folder.absolute() / written, written)


def may_be_named(table: Path) -> bool:
    """Whether a table may name one: looked at before anything that could read the table is imported.

    A wrong answer costs time alone: a helper process that has to be ended, or that starts later.
    """
    try:
        with regular(os.path.realpath(table)) as stream:
            return _NAMED.search(stream.read(LARGEST)) is not None
    except OSError:
        return False
