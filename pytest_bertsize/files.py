"""Read a file that the project's table names: it must be a regular file in the project, and JSON is parsed strictly.

Write a file: replace it at once, or not at all.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, NoReturn

from msgspec import Struct
from msgspec.structs import replace

from pytest_bertsize.findings import Finding, Kind, Unusable
from pytest_bertsize.wording import printable, reason, shown

LFS_POINTER = b"version https://git-lfs.github.com/spec/"  # how a file begins that git-LFS has not fetched
# The most commas, colons and opening brackets of one JSON text, which limits its memory to some 400 MB; a tokenizer of
# 256,000 tokens with their ids and 580,000 merges has 2.3 million of these signs.
MOST_MARKS = 3_000_000


class Place(Struct, frozen=True, dict=True):
    """The place where a file should be, and the way to report a mistake in it."""

    root: Path
    reference: str  # the path in the table, relative to the root
    what: str  # a word for the file, such as ``"checkpoint"``; the word is the table's key if the path may be a folder
    kind: Kind
    kind_outside: Kind | None = None  # the kind of finding for a file outside the project, if it is not ``kind``
    table_key: str = ""  # the key of a model's table that names the file; the message about a missing file names it

    @property
    def file(self) -> str:
        """The file's name in messages."""
        path = self.root / self.reference
        return printable(str(path.relative_to(self.root) if path.is_relative_to(self.root) else path))

    @cached_property
    def path(self) -> Path:
        """The path with all symlinks resolved; :class:`Unusable` is raised if it lies outside the project."""
        try:
            real = (self.root / self.reference).resolve()
            # below the root as it is written: that path has no symlink, so neither has the root
            outside = not (real.is_relative_to(self.root) or real.is_relative_to(self.root.resolve()))
        except (OSError, RuntimeError, ValueError) as error:  # a symlink loop, a NUL byte, a name that is too long
            self._fail_to_follow(error)
        if outside:
            kind = self.kind_outside or self.kind
            self.fail(f"the {self.what} lies outside the project", "copy it into the project", kind)
        return real

    def has(self, name: str) -> bool:
        """Return whether this folder has an entry of that name, which may be a broken link."""
        return os.path.lexists(self.path / name)

    def one_of(self, names: tuple[str, str], otherwise: str = "name the file itself") -> Place:
        """Return the only file of this folder that has one of two names; this place itself if it is not a folder."""
        folder = self.path
        try:
            if not folder.is_dir():
                return self
            there = [str(Path(self.reference) / name) for name in names if (folder / name).is_file()]
        except OSError as error:  # a name that is too long, a folder that may not be looked into
            self._fail_to_follow(error)
        if not there:
            self.fail(f"the folder holds neither {' nor '.join(names)}", otherwise)
        found = replace(self, reference=there[0])
        if there[1:]:
            self.fail(f"the folder holds both {' and '.join(names)}", f"name one of them: {found.file}")
        return found

    def neighbour(self, name: str) -> Place:
        """Return the place of another file in the same folder."""
        return replace(self, reference=str(Path(self.reference).parent / name))

    def opened(self) -> BinaryIO:
        """Open the file; raise :class:`Unusable` if it is missing, empty, not a regular file, or a git-LFS pointer."""
        stream = self.opened_unread()
        start = stream.read(len(LFS_POINTER))
        stream.seek(0)
        if not start or start == LFS_POINTER:
            stream.close()
        if not start:
            self.fail("the file is empty", f"write the {self.what} again")
        if start == LFS_POINTER:
            message = f"this is a git-LFS pointer, not the {self.what}"
            self.fail(message, "run git lfs pull; in CI, give actions/checkout lfs: true")
        return stream

    def opened_unread(self) -> BinaryIO:
        """Open the file, whatever its content; raise :class:`Unusable` if it is missing, or not a regular file."""
        path = self.path
        try:
            return open_regular(path)
        except FileNotFoundError:
            fix, message = f"write the path of the {self.what}", "there is no such file"
            found = Finding(self.kind, message, f"{fix}, relative to pyproject.toml", file=self.file)
            if self.table_key:
                found = found._replace(message=f"{self.file}: {message}", file=None, table_key=(self.table_key,))
            raise Unusable(found._replace(elsewhere=(f"{fix}, from the current folder",))) from None
        except (NotRegular, IsADirectoryError) as error:
            folder = isinstance(error, IsADirectoryError)
            self.fail("this is a folder" if folder else "this is not a regular file", "name a file")
        except (OSError, ValueError) as error:
            self.fail(f"the file cannot be read: {reason(error)}", "make it readable")

    def content(self, largest: int) -> bytes:
        """Read the whole file; raise :class:`Unusable` if it is larger than ``largest``, and as :meth:`opened`."""
        with self.opened() as stream:
            size = os.fstat(stream.fileno()).st_size
            content = stream.read(size + 1) if size <= largest else b""
        if max(size, len(content)) > largest:
            self.fail(f"the file is larger than {largest:,} bytes", f"name the {self.what} of one model")
        return content

    def text(self, content: bytes) -> str:
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError as error:
            self.fail(f"byte {error.start:,} is not UTF-8", "save the file as UTF-8")

    def json(self, content: bytes, most_marks: int = MOST_MARKS) -> object:
        """Parse JSON strictly; raise :class:`Unusable` for a repeated key, ``NaN``, and what takes much memory."""
        if sum(content.count(mark) for mark in (b"{", b"[", b",", b":")) > most_marks:
            message = f"more than {most_marks:,} commas, colons and brackets"
            self.fail(message, f"name the {self.what} of one model")
        text = self.text(content)
        try:
            return json.loads(text, object_pairs_hook=refuse_repeated_keys, parse_constant=_no_constant)
        except RepeatedKey as error:
            self.fail(str(error), "keep one of them")
        except RecursionError:
            self.fail("not JSON: nested too deeply", "correct the file")
        except ValueError as error:
            self.fail(f"not JSON: {reason(error)}", "correct the file")

    def _fail_to_follow(self, error: Exception) -> NoReturn:
        self.fail(f"the path cannot be followed: {reason(error)}", "write the path of a file")

    def fail(self, message: str, fix: str, kind: Kind | None = None) -> NoReturn:
        raise Unusable(Finding(kind or self.kind, message, fix, file=self.file))


class RepeatedKey(ValueError):
    """The error for an object that has a key twice; ``json`` would silently keep the last value."""


def refuse_repeated_keys(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    """:raises RepeatedKey: with the first key that occurs twice."""
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            raise RepeatedKey(f"one object has the key {shown(key)} twice")
        found[key] = value
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


class NotRegular(OSError):
    """The error for a pipe or a device in place of a file."""


def open_regular(path: Path | str) -> BinaryIO:
    """Open a regular file; raise OSError for anything else: a folder, a symlink, a pipe or a device."""
    stream = open(path, "rb", opener=open_as_it_is)  # noqa: SIM115  (an opener; closed by the caller)
    if stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        return stream
    stream.close()
    raise NotRegular


def read_regular(path: Path | str, most: int) -> bytes:
    """Read at most ``most`` bytes of a regular file; raise OSError as :func:`open_regular` does."""
    with open_regular(path) as stream:
        return stream.read(most)


def open_as_it_is(path: str, flags: int) -> int:
    """Open a path without waiting for a named pipe, and without following a symlink."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))


def replace_file(path: Path, content: bytes) -> None:
    """Replace a file at once, or leave it as it was: the new content is on the disk before it gets the file's name.

    The file keeps its permissions and, if this process may set them, its user and group.

    :raises OSError: if it cannot be written.
    """
    import tempfile

    former = path.stat() if path.exists() else None
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        if former:
            with contextlib.suppress(OSError, AttributeError):  # root in a container writes a file of another user
                os.chown(temporary, former.st_uid, former.st_gid)
        temporary.chmod(stat.S_IMODE(former.st_mode) if former else 0o644)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
