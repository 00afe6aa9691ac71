"""The memory of builds at the desk: what a class of the library builds from a config, until something changes.

A build is remembered only if it runs no code of the project. Its key hashes the request, the interpreter, the platform,
the environment and our own files; its entry lists the size and time of every file of transformers and PEFT that the
build loaded, of the folders that Python searches, and of the records of torch, transformers and PEFT. If any of them
differs, the model is built.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from time import time, time_ns
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_bertsize.files import open_regular, replace_file

if TYPE_CHECKING:
    from pytest_bertsize.builder.messages import Built, Request

FOLDER = "d/bertsize"
"""Below pytest's own cache folder."""
MOST_ENTRIES = 1_000
LARGEST = 32 * 1024 * 1024
"""Bytes of an entry; a model of 1,000 layers has 2 MB."""
_READ = ("CUDA", "HF_", "LD_", "PEFT", "PYTHON", "PYTORCH", "TORCH", "TRANSFORMERS", "USE_")
"""Prefixes of the environment variables that Python and the libraries read."""
_OWN = Path(__file__).parents[1]

Stamp = tuple[str, int, int]
"""Path, size and time in nanoseconds; both are -1 for a path that leads to nothing."""


class Entry(NamedTuple):
    """A build of an earlier run."""

    built_at: float
    """Seconds since the epoch."""
    versions: Mapping[str, str]
    stamps: Sequence[Stamp]
    answer: Any
    """JSON, as the helper process sent it."""


class Memory:
    """A folder of entries; each is JSON behind its checksum, in a file that is named by the hash of its key."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._stamp = cache(_stamp)

    def has_entries(self) -> bool:
        with contextlib.suppress(OSError):
            return any(each.suffix == ".json" for each in self.folder.iterdir())
        return False

    def recall(self, request: Request, command: Sequence[str]) -> tuple[Built, Mapping[str, str]] | None:
        """Return a build of an earlier run and the versions that built it; ``None`` in any doubt."""
        if request.runs_own_code:
            return None
        import msgspec

        from pytest_bertsize.builder.failures import read_answer
        from pytest_bertsize.builder.messages import Built

        try:
            with open_regular(self._find_path(request, command)) as stream:
                checksum, _, content = stream.read(LARGEST).partition(b"\n")
            if checksum.decode() != sha256(content).hexdigest():
                return None
            entry = msgspec.json.decode(content, type=Entry)
            if not entry.stamps or any(self._stamp(each[0]) != each for each in entry.stamps):
                return None
            built = read_answer(msgspec.json.encode(entry.answer))
        except (OSError, ValueError, RecursionError):
            return None
        seconds = round(time() - entry.built_at)
        if not isinstance(built, Built) or seconds < 0:
            return None
        return built._replace(loaded=(), seconds_ago=seconds), entry.versions

    def keep(
        self, request: Request, command: Sequence[str], built: Built, answer: bytes, versions: Mapping[str, str]
    ) -> None:
        """Remember a build of this run, if every file that it loaded is older than the run.

        :param answer: JSON of an Answer, as the helper process sent it.
        """
        stamps = [self._stamp(path) for path in built.loaded]
        if request.runs_own_code or not stamps or any(time_of >= _STARTED for _, _, time_of in stamps):
            return
        import msgspec

        content = msgspec.json.encode(Entry(time(), versions, stamps, msgspec.Raw(answer)))
        with contextlib.suppress(OSError):  # a full disk, a folder that may not be written: the next run builds again
            self.folder.mkdir(parents=True, exist_ok=True)
            self._drop_oldest()
            path = self._find_path(request, command)
            replace_file(path, sha256(content).hexdigest().encode() + b"\n" + content)

    def _drop_oldest(self) -> None:
        entries = [*self.folder.glob("*.json")]
        if len(entries) >= MOST_ENTRIES:
            for each in sorted(entries, key=lambda path: path.stat().st_mtime_ns)[: MOST_ENTRIES // 10]:
                each.unlink(missing_ok=True)

    def _find_path(self, request: Request, command: Sequence[str]) -> Path:
        key = json.dumps((request._replace(name="", declared=None), [*command], _describe_surroundings()))
        return self.folder / f"{sha256(key.encode()).hexdigest()}.json"


_STARTED = time_ns()


@cache
def _describe_surroundings() -> tuple[object, ...]:
    """Return everything beside a request that its build may depend on, and that is known without a build."""
    variables = sorted((name, value) for name, value in os.environ.items() if name.startswith(_READ))
    own = sorted(_stamp(str(path)) for path in _OWN.rglob("*.py"))
    return sys.version, platform.machine(), platform.release(), variables, own


def _stamp(path: str) -> Stamp:
    try:
        found = os.stat(path)  # noqa: PTH116  (hundreds of files)
    except (OSError, ValueError):
        return path, -1, -1
    return path, found.st_size, found.st_mtime_ns
