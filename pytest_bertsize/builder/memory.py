"""A cache of builds, used outside CI: a model that a class of the library built, until one of its inputs changes.

The key of a build is a hash of the request, the interpreter, the platform, the environment and our own files. Its entry
names a list of stamps, sizes and times of the files that the build loaded and of the folders that Python searches.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from time import time, time_ns
from typing import NamedTuple

import msgspec

from pytest_bertsize.builder.answers import check_built
from pytest_bertsize.builder.messages import Built, NotBuilt, Request
from pytest_bertsize.files import read_regular, replace_file

FOLDER = "d/bertsize"  # the folder of the cache, inside pytest's own cache folder
MOST_FILES = {".json": 1_000, ".stamps": 100}  # the most entries, and lists of stamps, by their suffix
LARGEST = 32 * 1024 * 1024  # the most bytes of a file; the entry of a model of 1,000 layers has 2 MB
# prefixes of the environment variables that Python and the libraries read
_READ = ("CUDA", "HF_", "HOME", "LD_", "PEFT", "PYTHON", "PYTORCH", "TORCH", "TRANSFORMERS", "USE_")
_OWN = Path(__file__).parents[1]
_NAME = re.compile("[0-9a-f]{64}")

Stamp = tuple[str, int, int]  # path, size, and time of the last change in nanoseconds; -1 if nothing is at the path


class Entry(NamedTuple):
    """A build of an earlier run."""

    built_at: float  # seconds since the epoch
    versions: Mapping[str, str]
    stamps: str  # the checksum of the build's list of stamps, which is the name of the list's file
    built: Built  # without its tensors if it equals the closed form


class Memory:
    """A folder of entries and of lists of stamps, as JSON."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # returns whether a build equals the closed form whose hash is in the request; the gate sets this function
        self.agrees: Callable[[Request, Built], bool] = lambda *_: False
        self._stamp = cache(_stamp)
        self._is_unchanged = cache(self._compare_stamps)  # most builds of a run have the same list

    def has_entries(self) -> bool:
        return bool(self._list_files(".json"))

    def clear(self) -> None:
        for each in (file for suffix in MOST_FILES for file in self._list_files(suffix)):
            with contextlib.suppress(OSError):
                each.unlink()

    def _list_files(self, suffix: str) -> list[Path]:
        """Return the files of the cache with this suffix; the folder may have files of others."""
        return [path for path in self.folder.glob(f"*{suffix}") if _NAME.fullmatch(path.stem)]

    def recall(self, request: Request, command: Sequence[str]) -> tuple[Built, Mapping[str, str]] | None:
        """Return a build of an earlier run and the versions that built it; ``None`` in any doubt."""
        if request.runs_own_code:
            return None
        try:
            key = _hash_key(request, command)
            checksum, _, content = read_regular(self.folder / f"{key}.json", LARGEST).partition(b"\n")
            entry = msgspec.json.decode(content, type=Entry)
            is_known = checksum == _sum(key, content) and self._is_unchanged(entry.stamps)
            built = check_built(entry.built)
        except (OSError, ValueError, RecursionError):
            return None
        seconds = round(time() - entry.built_at)
        if not is_known or seconds < 0 or isinstance(built, NotBuilt):
            return None
        return built._replace(seconds_ago=seconds), entry.versions

    def keep(self, request: Request, command: Sequence[str], built: Built, versions: Mapping[str, str]) -> Built:
        """Keep a build if all that it loaded is older than the run; return it with ``agreed`` set."""
        stamps = [self._stamp(path) for path in built.loaded]
        if request.runs_own_code or not stamps or any(time_of >= _STARTED for _, _, time_of in stamps):
            return built
        if request.closed_form and self.agrees(request, built):
            built = built._replace(agreed=True)
        rest = built._replace(loaded=(), tensors=() if built.agreed else built.tensors)
        with contextlib.suppress(OSError):  # a full disk, a folder that may not be written: the next run builds again
            self.folder.mkdir(parents=True, exist_ok=True)
            listed = msgspec.json.encode(stamps)
            checksum = sha256(listed).hexdigest()
            if not (self.folder / f"{checksum}.stamps").exists():
                self._write(f"{checksum}.stamps", listed)
            key, entry = _hash_key(request, command), msgspec.json.encode(Entry(time(), versions, checksum, rest))
            self._write(f"{key}.json", _sum(key, entry) + b"\n" + entry)
        return built

    def _compare_stamps(self, name: str) -> bool:
        """Return whether all files of a list of stamps are as they were; the list's name is its checksum."""
        content = read_regular(self.folder / f"{name}.stamps", LARGEST)
        stamps = msgspec.json.decode(content, type=list[Stamp])
        return sha256(content).hexdigest() == name and all(self._stamp(each[0]) == each for each in stamps)

    def _write(self, name: str, content: bytes) -> None:
        """Write a file; if there are too many of its kind, drop the oldest first."""
        suffix = Path(name).suffix
        if len(kept := self._list_files(suffix)) >= MOST_FILES[suffix]:
            for each in sorted(kept, key=lambda path: path.stat().st_mtime_ns)[: MOST_FILES[suffix] // 10]:
                each.unlink(missing_ok=True)
        replace_file(self.folder / name, content)


_STARTED = time_ns()


def _sum(key: str, entry: bytes) -> bytes:
    """Return the checksum of an entry, which is of one key."""
    return sha256(key.encode() + entry).hexdigest().encode()


def _hash_key(request: Request, command: Sequence[str]) -> str:
    variables = sorted((name, value) for name, value in os.environ.items() if name.startswith(_READ))
    program = _stamp(command[0])  # it may be a script that starts another interpreter
    of_run = [*command], program, os.getcwd(), variables, _hash_surroundings()  # noqa: PTH109  (as it is)
    return sha256(json.dumps((request._replace(name="", declared=None), *of_run)).encode()).hexdigest()


@cache
def _hash_surroundings() -> str:
    """Return a hash of Python, the machine and our own files, which affect every build."""
    own = sorted(_stamp(str(path)) for path in _OWN.rglob("*.py"))
    found = sys.version, platform.machine(), platform.release(), own
    return sha256(json.dumps(found).encode()).hexdigest()


def _stamp(path: str) -> Stamp:
    try:
        found = os.stat(path)  # noqa: PTH116  (hundreds of files)
    except (OSError, ValueError):
        return path, -1, -1
    return path, found.st_size, max(found.st_mtime_ns, found.st_ctime_ns)  # touch sets the first alone
