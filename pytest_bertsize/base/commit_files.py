"""The files of one commit: present, absent or unreadable.

This module resolves paths itself, tree by tree, and asks git only for objects by name. Asked for a path, git answers
*missing* both if the commit has no such file and if the clone lacks the file's object.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple, Self

from pytest_bertsize.base.git import find_renames, find_repository, make_command, make_environment
from pytest_bertsize.wording import printable

LARGEST = 1024 * 1024
"""The most bytes that a table or a config may have; one byte more is read, so that its reader notices a larger file."""
MOST_LINKS = 40
"""The most symlinks that are followed on the way to one file, as in Linux."""
MOST_TREES = 1_000
"""The most folders whose entries are remembered, over all commits together."""
_TREE, _LINK, _SUBMODULE = b"40000", b"120000", b"160000"
"""Git's modes for folders, symlinks and submodules in a tree; every other mode is a file's."""


class Unreadable(Exception):
    """The error for a file that is there, or may be there, and cannot be read."""

    def __init__(self, message: str, fix: str) -> None:
        """:param fix: the text to write or the command to run, as in a finding."""
        super().__init__(message)
        self.fix = fix


class Entry(NamedTuple):
    """An entry of a tree: its kind, and the name of its object."""

    mode: bytes
    name: str


class CommitFiles:
    """The files of a commit below one folder of the repository. One process of git reads one commit after another."""

    def __init__(self, folder: Path, commit: str) -> None:
        """:param commit: the full name of the commit."""
        repository = find_repository(folder)
        self._root = repository.root
        self.commit = commit
        self._folders = _find_folders(folder, repository.root)
        self.looked: dict[tuple[tuple[bytes, ...], bool], Entry | None] = {}
        """The entry at the end of each path that was followed; a commit with equal entries gives an equal result."""
        self.places: set[bytes] = set()
        """The paths that decide what is read, symlinks included: a commit that touches none need not be read."""
        self._tree = lru_cache(MOST_TREES)(self._read_tree)
        self._process = subprocess.Popen(  # noqa: S603
            make_command(*repository.arguments, "cat-file", "--batch"),
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

    def move_to(self, commit: str) -> None:
        """Read another commit from here on.

        :param commit: the full name of the commit.
        """
        self.commit = commit
        vars(self).pop("prefix", None)

    def follow_rename(self, file: str) -> None:
        """Read from the folder's former path, if git detects that ``file`` moved together with its folder.

        :raises Unreadable: if this clone lacks an object on the way to the file.
        """
        with self.explain_lack(file):
            if self._follow_path(file, to_the_end=False) is not None:
                return
        here = os.fsdecode(b"/".join((*self._folders[-1], os.fsencode(file))))
        before, _, name = find_renames(self._root, self.commit, ()).get(here, "").rpartition("/")
        if name == file:
            self._folders = [[os.fsencode(part) for part in before.split("/") if part]]
            vars(self).pop("prefix", None)

    @cached_property
    def prefix(self) -> list[bytes]:
        """The folder's path in the commit: the path as written if the commit has it, else the path without symlinks.

        Today's symlink may have been a folder in the commit, and a commit lacks a symlink that git does not track.

        :raises ValueError, OSError: if git does not hand out an object on the way.
        """
        there = (folder for folder in self._folders if self._walk_path(folder, is_read=False))
        return next(there, self._folders[-1])

    @contextmanager
    def explain_lack(self, path: str) -> Iterator[None]:
        """Turn an error of git on the way to a path into :class:`Unreadable`, which has a fix.

        :raises Unreadable: with the command that fetches the object.
        """
        try:
            yield
        except (OSError, ValueError):
            name = printable(path) or "the project's folder"
            message = f"{name} cannot be read, because this clone lacks it or is damaged"
            whole = "/".join(filter(None, [*map(os.fsdecode, self._folders[-1]), path]))
            show = f"first run git show {self.commit[:10]}:{printable(whole)}, which fetches it from the remote"
            fix = f"clone without --filter (GitHub: no filter under actions/checkout), or {show}"
            raise Unreadable(message, fix) from None

    def read(self, path: str, largest: int = LARGEST) -> bytes | None:
        """Return the content of a file, symlinks followed inside the repository; ``None`` if there is no file.

        :param path: relative to the folder, with ``/``; a path that leads above the folder has no file.
        :param largest: the most bytes that the file may have; one byte more is read, so that a larger file is noticed.
        :raises Unreadable: if there may be a file, and it cannot be read.
        """
        inside = os.path.normpath(path)
        if inside.startswith(("..", "/")):
            return None
        with self.explain_lack(inside):
            found = self._follow_path(inside)
            is_file = found is not None and found.mode not in {_TREE, _SUBMODULE}
            return self._read_object(found.name, b"blob", largest + 1) if found and is_file else None

    def may_have(self, path: str) -> bool:
        """Tell whether the commit has a file, or may have one that cannot be read."""
        try:
            return self.read(path) is not None
        except Unreadable:
            return True

    def is_link(self, path: str) -> bool:
        """Tell whether a path is a symlink.

        :raises Unreadable: if this clone lacks an object on the way to the path.
        """
        with self.explain_lack(path):
            found = self._follow_path(path, to_the_end=False)
        return found is not None and found.mode == _LINK

    def list_folder(self, folder: str) -> list[tuple[str, bool, bool]]:
        """List a folder: the name of each entry, whether it is a folder, and whether it is a symlink to a folder.

        :param folder: relative to the folder of these files; a path that is not a folder has no entries.
        :raises Unreadable: if this clone lacks an object on the way to the entries.
        """
        with self.explain_lack(folder.rstrip("/")):
            found = self._follow_path(folder)
            entries = self._tree(found.name) if found and found.mode == _TREE else {}
            listed = []
            for name, entry in entries.items():
                child = f"{folder}/{os.fsdecode(name)}"
                target = self._follow_path(child) if entry.mode == _LINK else entry
                is_folder = target is not None and target.mode == _TREE
                listed.append((os.fsdecode(name), is_folder, is_folder and entry.mode == _LINK))
            return listed

    def leads_as_before(self, looked: dict[tuple[tuple[bytes, ...], bool], Entry | None]) -> bool:
        """Tell whether the paths that were followed in another commit lead to the same objects in this one."""
        try:
            return all(self._walk_path([*parts], to_the_end=end) == entry for (parts, end), entry in looked.items())
        except (OSError, ValueError):  # the reader of that path reports it
            return False

    def _follow_path(self, path: str, *, to_the_end: bool = True) -> Entry | None:
        """:raises ValueError, OSError: if git does not hand out an object on the way."""
        parts = [*self.prefix, *os.fsencode(path).split(b"/")]
        found = self.looked[(*parts,), to_the_end] = self._walk_path(parts, to_the_end=to_the_end)
        return found

    def _walk_path(self, parts: list[bytes], *, to_the_end: bool = True, is_read: bool = True) -> Entry | None:
        """Return the entry at the end of a path from the repository's root; ``None`` if the repository has none there.

        :param to_the_end: whether a symlink at the end of the path is followed.
        :param is_read: whether the caller needs the entry's content, and not only its existence.
        """
        trail = [Entry(_TREE, f"{self.commit}^{{tree}}")]
        names: list[bytes] = []
        waiting = parts[::-1]
        links = 0
        while waiting:
            part = waiting.pop()
            if part == b"..":
                if not names:
                    return None
                trail.pop()
                names.pop()
            elif part not in {b"", b"."}:
                entry = self._tree(trail[-1].name).get(part) if trail[-1].mode == _TREE else None
                if entry is None:
                    self.places.add(b"/".join((*names, part)))
                    return None
                if entry.mode != _LINK or not (waiting or to_the_end):
                    trail.append(entry)
                    names.append(part)
                    continue
                self.places.add(b"/".join((*names, part)))
                target = self._read_object(entry.name, b"blob")
                links += 1
                if target.startswith(b"/") or links > MOST_LINKS:
                    return None
                waiting += target.split(b"/")[::-1]
        if is_read:
            self.places.add(b"/".join(names))
        return trail[-1]

    def _read_tree(self, name: str) -> dict[bytes, Entry]:
        """Return the entries of a tree. Git writes a mode, a name, and the bytes of an object's name for each."""
        content, length = self._read_object(name, b"tree"), len(self.commit) // 2
        found: dict[bytes, Entry] = {}
        at = 0
        while at < len(content):
            blank = content.index(b" ", at)
            zero = content.index(b"\0", blank)
            found[content[blank + 1 : zero]] = Entry(content[at:blank], content[zero + 1 : zero + 1 + length].hex())
            at = zero + 1 + length
        return found

    def _read_object(self, name: str, kind: bytes, most: int | None = None) -> bytes:
        """:raises ValueError, OSError: if git hands out nothing, or another kind of object."""
        questions, answers = self._process.stdin, self._process.stdout
        assert questions
        assert answers
        questions.write(f"{name}\n".encode())
        questions.flush()
        header = answers.readline().split()
        if len(header) != len(("name", "kind", "size")):
            raise ValueError
        size = int(header[2])
        content = answers.read(size if most is None else min(size, most))
        left = size + len("\n") - len(content)
        while left and (behind := answers.read(min(left, LARGEST))):
            left -= len(behind)
        if left or header[1] != kind:
            raise ValueError
        return content


def _find_folders(folder: Path, root: Path) -> list[list[bytes]]:
    """Return the paths from ``root`` to ``folder``: first as written, if that leads through ``root``, then resolved."""
    named, found = folder.absolute(), [folder.resolve().relative_to(root)]
    for above in reversed((named, *named.parents)):
        if above.resolve() == root:
            found.insert(0, Path(os.path.normpath(named)).relative_to(os.path.normpath(above)))
            break
    return [[os.fsencode(part) for part in path.parts] for path in found]
