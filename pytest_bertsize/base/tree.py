"""The files of one commit: there, not there, or not to be read.

git hands out objects by their names, and the paths are followed here, tree by tree: asked for a path, git says
*missing* of a file that the commit does not have and of one that the clone lacks alike.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Self

from pytest_bertsize.base.git import around, command, environment, of_repository, renamed
from pytest_bertsize.wording import printable

LARGEST = 1024 * 1024
"""Bytes of a table or a config; of what has more, one more is read, by which readers know it."""
MOST_LINKS = 40
"""Symlinks on the way to one file, as Linux follows them."""
MOST_ENTRIES = 500_000
"""Of trees that are remembered, over all commits that one process reads."""
MOST_AHEAD = 250
"""Trees that are asked for at once: a pipe holds 64 KB, on macOS 16."""
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


class Looked(NamedTuple):
    """A path that was followed."""

    parts: tuple[bytes, ...]
    """From the repository's root."""
    to_the_end: bool


class Files:
    """The files of a commit below one folder of the work tree: one process reads them all, of other commits too."""

    def __init__(self, folder: Path, commit: str) -> None:
        """:param commit: its full name."""
        repository = around(folder)
        self._root = repository.root
        self.commit = commit
        self._paths = [
            [os.fsencode(part) for part in path.relative_to(root).parts]
            for path, root in _by_its_names(folder, repository.root)
        ]
        self.looked: dict[Looked, Entry | None] = {}
        """What stands at every path that was followed: two commits in which all of it is the same read alike."""
        self.places: set[bytes] = set()
        """Where that stands, and the symlinks on the way to it: what no commit touches reads as before it."""
        self._trees: dict[str, dict[bytes, Entry]] = {}
        self._entries = 0
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

    def follow(self, file: str) -> None:
        """Read from where the folder was, where git takes a file in it for one that was moved with it.

        :raises Unreadable: when nobody can tell.
        """
        if self._standing(file) is not None:
            return
        here = os.fsdecode(b"/".join((*self._paths[-1], os.fsencode(file))))
        before, _, name = renamed(self._root, self.commit, ()).get(here, "").rpartition("/")
        if name == file:
            self._paths = [[os.fsencode(part) for part in before.split("/") if part]]
            vars(self).pop("prefix", None)

    def move_to(self, commit: str) -> None:
        """Read another commit from here on.

        :param commit: its full name.
        """
        self.commit = commit
        vars(self).pop("prefix", None)

    def stands_at(self, looked: Looked) -> Entry | None:
        """What a path that was followed in another commit leads to in this one.

        :raises ValueError, OSError: when git does not hand out what tells it.
        """
        return self._followed([*looked.parts], to_the_end=looked.to_the_end)

    def is_the_clones_end(self, commit: str) -> bool:
        """Whether a commit has parents that a shallow clone lacks: asked for them, git says that there are none.

        :raises ValueError, OSError: when git does not hand it out.
        """
        return b"\nparent " in self._object(commit, b"commit").partition(b"\n\n")[0]

    @cached_property
    def prefix(self) -> list[bytes]:
        """Where the folder is: by the names that lead to it, if these lead anywhere, else by the real ones.

        A change that lays a symlink in the way has moved nothing of the base; one that no commit has leads nowhere.

        :raises ValueError, OSError: when git does not hand out what tells it.
        """
        there = (path for path in self._paths if self._walked(path, to_the_end=True, is_read=False))
        return next(there, self._paths[-1])

    def listed(self, folder: str) -> list[tuple[str, bool, bool]]:
        """What a folder holds: names, whether each is a folder, and whether it is one by a symlink.

        :param folder: relative to ours; of what is none there is nothing.
        :raises Unreadable: when nobody can tell.
        """
        try:
            path = [*self.prefix, *os.fsencode(folder).split(b"/")]
            found = self._followed(path)
            entries = self._tree(found.name) if found and found.mode == _TREE else {}
            return [(os.fsdecode(name), *self._is_folder(path, name, entry)) for name, entry in entries.items()]
        except (OSError, ValueError):
            raise Unreadable("its files cannot be listed", _mend(f"git ls-tree -r {self.commit[:10]}")) from None

    def _is_folder(self, path: list[bytes], name: bytes, entry: Entry) -> tuple[bool, bool]:
        if entry.mode != _LINK:
            return entry.mode == _TREE, False
        target = self._followed([*path, name])
        is_folder = target is not None and target.mode == _TREE
        return is_folder, is_folder

    def read(self, path: str, largest: int = LARGEST) -> bytes | None:
        """The content of a file, symlinks followed inside the repository; ``None`` where there is no file.

        :param path: relative to the folder, with ``/``; what leads above it leads nowhere.
        :param largest: bytes; of what has more, one more is read.
        :raises Unreadable: when there is one, or when nobody can tell.
        """
        inside = os.path.normpath(path)
        if inside.startswith(("..", "/")):
            return None
        try:
            found = self._followed([*self.prefix, *os.fsencode(inside).split(b"/")])
            is_file = found is not None and found.mode not in {_TREE, _SUBMODULE}
            return self._object(found.name, b"blob", largest + 1) if found and is_file else None
        except (OSError, ValueError):
            raise self._lacks(inside) from None

    def is_link(self, path: str) -> bool:
        """Whether a symlink stands in the folder itself.

        :raises Unreadable: when nobody can tell.
        """
        found = self._standing(path)
        return found is not None and found.mode == _LINK

    def _standing(self, name: str) -> Entry | None:
        """What stands in the folder itself by a name.

        :raises Unreadable: when nobody can tell.
        """
        try:
            return self._followed([*self.prefix, os.fsencode(name)], to_the_end=False)
        except (OSError, ValueError):
            raise self._lacks(name) from None

    def _lacks(self, path: str) -> Unreadable:
        message = f"{printable(path)} cannot be read, because this clone lacks it or is damaged"
        whole = "/".join([*map(os.fsdecode, self._paths[-1]), path])
        return Unreadable(message, _mend(f"git show {self.commit[:10]}:{printable(whole)}"))

    def _followed(self, parts: list[bytes], *, to_the_end: bool = True) -> Entry | None:
        """What stands at a path from the repository's root; ``None`` where nothing does, and outside of it.

        :param to_the_end: whether a symlink that the path itself ends in is followed.
        """
        found = self.looked[Looked((*parts,), to_the_end)] = self._walked(parts, to_the_end=to_the_end)
        return found

    def _walked(self, parts: list[bytes], *, to_the_end: bool, is_read: bool = True) -> Entry | None:
        """:param is_read: whether what stands there is asked for, and not only whether something does."""
        trail = [Entry(_TREE, f"{self.commit}^{{tree}}")]
        names: list[bytes] = []
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
                names.pop()
                continue
            entry = self._tree(trail[-1].name).get(part) if trail[-1].mode == _TREE else None
            is_followed = entry is not None and entry.mode == _LINK and (waiting or to_the_end)
            if entry is None or is_followed:
                self.places.add(b"/".join((*names, part)))
            if entry is None:
                return None
            if is_followed:
                target = self._object(entry.name, b"blob")
                links += 1
                if target.startswith(b"/") or links > MOST_LINKS:
                    return None
                waiting += target.split(b"/")[::-1]
            else:
                trail.append(entry)
                names.append(part)
        if is_read:
            self.places.add(b"/".join(names))
        return trail[-1]

    def _tree(self, name: str) -> dict[bytes, Entry]:
        if name not in self._trees:
            self._forget()
            self._trees[name] = _entries(self._object(name, b"tree"), len(self.commit) // 2)
            self._entries += len(self._trees[name])
        return self._trees[name]

    def read_ahead(self, commits: Sequence[str]) -> None:
        """Have the trees of some commits handed out together that lead to what was looked at before.

        One by one each would be waited for. What git does not hand out now it does not when it is asked for.

        :param commits: the full names of at most :data:`MOST_AHEAD`.
        """
        self._forget()
        roots = [f"{name}^{{tree}}" for name in commits]
        self._hand_out(roots)
        for place in self.places:
            names = roots
            for part in place.split(b"/")[:-1]:
                entries = (self._trees.get(name, {}).get(part) for name in names)
                names = [entry.name for entry in entries if entry and entry.mode == _TREE]
                self._hand_out(names)

    def _forget(self) -> None:
        """What is remembered, where that is too much."""
        if self._entries > MOST_ENTRIES:
            self._trees.clear()
            self._entries = 0

    def _hand_out(self, names: Iterable[str]) -> None:
        """Trees, all of which are asked for before the first is read: few enough for a pipe to hold the questions."""
        missing = [name for name in dict.fromkeys(names) if name not in self._trees]
        self._ask(*missing)
        for name in missing:
            with contextlib.suppress(ValueError):
                self._trees[name] = _entries(self._answer(b"tree"), len(self.commit) // 2)
                self._entries += len(self._trees[name])

    def _object(self, name: str, kind: bytes, most: int | None = None) -> bytes:
        """:raises ValueError, OSError: when git does not hand it out."""
        self._ask(name)
        return self._answer(kind, most)

    def _ask(self, *names: str) -> None:
        source = self._process.stdin
        assert source
        source.write("".join(f"{name}\n" for name in names).encode())
        source.flush()

    def _answer(self, kind: bytes, most: int | None = None) -> bytes:
        """:raises ValueError, OSError: when there is none, or another kind of object."""
        answers = self._process.stdout
        assert answers
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


def _by_its_names(folder: Path, root: Path) -> Iterator[tuple[Path, Path]]:
    """A folder and its repository's root, by its names where these lead through the root, and as they are."""
    named = folder.absolute()
    for above in reversed((named, *named.parents)):
        if above.resolve() == root:
            yield Path(os.path.normpath(named)), Path(os.path.normpath(above))
            break
    yield folder.resolve(), root


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
