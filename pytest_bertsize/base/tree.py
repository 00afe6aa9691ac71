"""The files of one commit: there, not there, or not to be read.

git hands out objects by their names, and the paths are followed here, tree by tree: asked for a path, git says
*missing* of a file that the commit does not have and of one that the clone lacks alike.
"""

from __future__ import annotations

import os
import subprocess
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Self

from pytest_bertsize.base.git import around, command, environment, git, of_repository
from pytest_bertsize.wording import printable

if TYPE_CHECKING:
    from pathlib import Path

LARGEST = 1024 * 1024
"""Bytes of a table or a config; of what has more, one more is read, by which readers know it."""
MOST_LINKS = 40
"""Symlinks on the way to one file, as Linux follows them."""
_TREE, _LINK, _SUBMODULE = b"40000", b"120000", b"160000"
"""How git writes what an entry of a tree is; all else is a file."""


class Unreadable(Exception):
    """What is there, or may be there, and could not be read."""

    def __init__(self, message: str, fix: str) -> None:
        super().__init__(message)
        self.fix = fix
        """What to do, or to write instead."""


class Entry(NamedTuple):
    """Of a tree: what it is, and the name of its object."""

    mode: bytes
    name: str


class Files:
    """The files of a commit below one folder of the work tree: one process reads them all."""

    def __init__(self, folder: Path, commit: str) -> None:
        """:param commit: its full name."""
        repository = around(folder)
        self._folder = folder
        self.commit = commit
        self._prefix = [os.fsencode(part) for part in folder.resolve().relative_to(repository.root).parts]
        self._trees: dict[str, dict[bytes, Entry]] = {}
        self._process = subprocess.Popen(  # noqa: S603
            command(*of_repository(repository), "cat-file", "--batch"),
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment(),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()  # it only reads
        self._process.communicate()

    @cached_property
    def names(self) -> list[str]:
        """The paths of all files, relative to the folder.

        :raises Unreadable: when they cannot be listed.
        """
        answer = git(self._folder, "ls-tree", "-r", "--name-only", "-z", "--end-of-options", self.commit)
        if answer is None or answer.returncode != 0:
            raise Unreadable("its files cannot be listed", _mend(f"git ls-tree -r {self.commit[:10]}"))
        return [os.fsdecode(name) for name in answer.stdout.split(b"\0") if name]

    def read(self, path: str) -> bytes | None:
        """The content of a file, symlinks followed inside the repository; ``None`` where there is no file.

        :param path: relative to the folder, with ``/``; what leads above it leads nowhere.
        :raises Unreadable: when there is one, or when nobody can tell.
        """
        inside = os.path.normpath(path)
        if inside.startswith(("..", "/")):
            return None
        try:
            found = self._followed([*self._prefix, *os.fsencode(inside).split(b"/")])
            is_file = found is not None and found.mode not in {_TREE, _SUBMODULE}
            return self._object(found.name, b"blob", LARGEST + 1) if found and is_file else None
        except (OSError, ValueError):
            raise self._lacks(inside) from None

    def is_link(self, path: str) -> bool:
        """Whether a symlink stands in the folder itself.

        :raises Unreadable: when nobody can tell.
        """
        try:
            found = self._followed([*self._prefix, os.fsencode(path)], most_links=0)
        except (OSError, ValueError):
            raise self._lacks(path) from None
        return found is not None and found.mode == _LINK

    def _lacks(self, path: str) -> Unreadable:
        message = f"{printable(path)} cannot be read, because this clone lacks it or is damaged"
        return Unreadable(message, _mend(f"git show {self.commit[:10]}:./{printable(path)}"))

    def _followed(self, parts: list[bytes], most_links: int = MOST_LINKS) -> Entry | None:
        """What stands at a path from the repository's root; ``None`` where nothing does, and outside of it."""
        trail = [Entry(_TREE, f"{self.commit}^{{tree}}")]
        waiting = parts[::-1]
        links = 0
        while waiting:
            part = waiting.pop()
            if part in {b"", b"."}:
                continue
            if part == b"..":
                trail.pop()
                if not trail:
                    return None
                continue
            entry = self._tree(trail[-1].name).get(part) if trail[-1].mode == _TREE else None
            if entry is None:
                return None
            if entry.mode == _LINK and (waiting or most_links):
                target = self._object(entry.name, b"blob")
                links += 1
                if target.startswith(b"/") or links > most_links:
                    return None
                waiting += target.split(b"/")[::-1]
            else:
                trail.append(entry)
        return trail[-1]

    def _tree(self, name: str) -> dict[bytes, Entry]:
        if name not in self._trees:
            self._trees[name] = _entries(self._object(name, b"tree"), len(self.commit) // 2)
        return self._trees[name]

    def _object(self, name: str, kind: bytes, most: int | None = None) -> bytes:
        """:raises ValueError, OSError: when git does not hand it out."""
        source, answers = self._process.stdin, self._process.stdout
        assert source
        assert answers
        source.write(f"{name}\n".encode())
        source.flush()
        header = answers.readline().split()
        if len(header) != len(("name", "kind", "size")) or header[1] != kind:
            raise ValueError
        size = int(header[2])
        content = answers.read(size if most is None else min(size, most))
        left = size + len("\n") - len(content)
        while left and (behind := answers.read(min(left, LARGEST))):
            left -= len(behind)
        if left:
            raise ValueError
        return content


def _entries(content: bytes, length: int) -> dict[bytes, Entry]:
    """What a tree says: for each of its names, a mode, and as many bytes as the name of an object has."""
    found: dict[bytes, Entry] = {}
    at = 0
    while at < len(content):
        blank = content.index(b" ", at)
        zero = content.index(b"\0", blank)
        found[content[blank + 1 : zero]] = Entry(content[at:blank], content[zero + 1 : zero + 1 + length].hex())
        at = zero + 1 + length
    return found


def _mend(command: str) -> str:
    """What brings an object that a clone lacks."""
    full = "clone without --filter (GitHub: no filter under actions/checkout)"
    return f"{full}, or run {command} before, which asks the remote for it"
