"""The files of one commit: present, absent or unreadable.

Git follows paths and symlinks. It answers *missing* both if the commit has no such file and if the clone lacks an
object on the way, so a missing path is looked for among the entries of its folder.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, Self

from pytest_bertsize.base.git import find_renames, find_repository, make_command, make_environment
from pytest_bertsize.builder.published import LARGEST
from pytest_bertsize.wording import printable

_LEADS_NOWHERE = {b"symlink", b"dangling", b"loop", b"notdir"}  # first words of git on a path that leads to no file
_FOLDER, _LINK, _SUBMODULE = b"40000", b"120000", b"160000"  # git's modes in a tree; every other mode is a file's


class Unreadable(Exception):
    """The error for a file that is there, or may be there, and cannot be read; its fix is as in a finding."""

    def __init__(self, message: str, fix: str) -> None:
        super().__init__(message)
        self.fix = fix


class Found(NamedTuple):
    """An object that a commit has at a path."""

    kind: bytes = b""  # b"blob", b"tree", or b"" for nothing
    name: bytes = b""  # the name of the object
    content: bytes = b""
    modes: Mapping[str, bytes] = MappingProxyType({})  # git's mode of each entry, if this is a folder


class CommitFiles:
    """The files of a commit below one folder of the repository. One process of git reads one commit after another."""

    def __init__(self, folder: Path, commit: str) -> None:
        """:param commit: the full name of the commit."""
        repository = find_repository(folder)
        self._root = repository.root
        self._folder = os.fspath(folder.resolve().relative_to(repository.root))
        self.commit = commit
        self.looked: dict[str, bytes] = {}  # the name of the object at each path that was read
        self._process = subprocess.Popen(  # noqa: S603
            make_command(*repository.arguments, "cat-file", "--batch", "--follow-symlinks"),
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=make_environment(),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()  # it only reads
        self._process.communicate()

    def follow_rename(self, file: str) -> None:
        """Read from the folder's former path, if git detects that ``file`` moved together with its folder."""
        if self._find(file).kind:
            return
        before, _, name = find_renames(self._root, self.commit, ()).get(self._locate(file), "").rpartition("/")
        if name == file:
            self._folder = before

    def read(self, path: str, largest: int = LARGEST) -> bytes | None:
        """Return the content of a file, symlinks followed inside the repository; ``None`` if there is no file.

        :param path: relative to the folder, with ``/``; a path that leads above the folder has no file.
        :param largest: the most bytes that the file may have; one more is read, so that its reader notices more.
        :raises Unreadable: if there may be a file, and it cannot be read.
        """
        found = self._find(path, largest + 1)
        return found.content if found.kind == b"blob" else None

    def may_have(self, path: str) -> bool:
        """Tell whether the commit has a file, or may have one that cannot be read."""
        try:
            return self.read(path) is not None
        except Unreadable:
            return True

    def list_folder(self, folder: str) -> list[tuple[str, bool, bool]]:
        """List a folder: the name of each entry, whether it is a folder, and whether it is a symlink to a folder."""
        listed = []
        for name, mode in self._find(folder).modes.items():
            is_link = mode == _LINK and self._find(os.path.join(folder, name), 0).kind == b"tree"  # noqa: PTH118
            listed.append((name, is_link or mode == _FOLDER, is_link))
        return listed

    def has_same(self, looked: Mapping[str, bytes]) -> bool:
        """Tell whether the paths that were read in another commit lead to the same objects in this one."""
        try:
            return all(self._ask(self._locate(path), 0).name == name for path, name in looked.items())
        except (OSError, ValueError, IndexError):  # the reader of that path reports it
            return False

    def _locate(self, path: str) -> str:
        """Return a path from the root of the repository; ``""`` for the root."""
        found = os.path.normpath(os.path.join(self._folder, path))  # noqa: PTH118  (a path of git's)
        return "" if found == "." else found

    def _find(self, path: str, most: int | None = None) -> Found:
        """Return what the commit has at a path below the folder, with the first ``most`` bytes of its content."""
        inside = os.path.normpath(path)
        if inside.startswith(("..", "/")) or "\n" in inside:  # a question to git is one line
            return Found()
        try:
            found = self._ask(self._locate(inside), most)
        except (OSError, ValueError, IndexError):
            name = "the project's folder" if inside == "." else printable(inside)
            message = f"{name} cannot be read, because this clone lacks it or is damaged"
            show = f"git show {self.commit[:10]}:{printable(self._locate(inside))}"
            fix = f"clone without --filter (GitHub: no filter under actions/checkout), or first run {show}"
            raise Unreadable(message, f"{fix}, which fetches it from the remote") from None
        self.looked[inside] = found.name
        return found

    def _ask(self, path: str, most: int | None = None) -> Found:
        """:raises ValueError, OSError: if git does not hand out an object on the way."""
        questions = self._process.stdin
        assert questions
        questions.write(os.fsencode(f"{self.commit}:{path}\n"))
        questions.flush()
        if found := self._read_answer(most):
            return found
        folder, _, name = path.rpartition("/")
        if path and self._ask(folder).modes.get(name, _SUBMODULE) == _SUBMODULE:
            return Found()
        raise ValueError

    def _read_answer(self, most: int | None) -> Found | None:
        """Return git's answer to the next question; ``None`` if git calls the path missing, or a submodule."""
        answers = self._process.stdout
        assert answers
        line = answers.readline()
        if line.endswith((b" missing\n", b" submodule\n")):
            return None
        first, *rest = line.split()
        is_nowhere = first in _LEADS_NOWHERE
        size = int(rest[not is_nowhere])
        content = answers.read(size if most is None else min(size, most))
        left = size + len("\n") - len(content)
        while left and (behind := answers.read(min(left, LARGEST))):
            left -= len(behind)
        if left:
            raise ValueError
        if is_nowhere:
            return Found()
        is_listed = rest[0] == b"tree" and most is None
        return Found(rest[0], first, content, _read_modes(content, len(first) // 2) if is_listed else {})


def _read_modes(tree: bytes, length: int) -> dict[str, bytes]:
    """Return the mode of each entry of a tree, by its name; the name of an object follows in ``length`` bytes."""
    entries = re.findall(rb"([0-9]+) ([^\0]+)\0(?s:.{%d})" % length, tree)
    return {os.fsdecode(name): mode for mode, name in entries}
