"""List the files of a project that can hold a config or a class: no copies of other people's code, no tests."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path, PurePosixPath

from msgspec import Struct

from pytest_bertsize.base.git import ask_git
from pytest_bertsize.config.model_config import LARGEST
from pytest_bertsize.files import open_regular
from pytest_bertsize.table.model import NAMES
from pytest_bertsize.table.settings import tables_of_models
from pytest_bertsize.wording import listed, printable, reason

CONFIGS = (".json", ".yaml", ".yml")
PYTHON = ".py"
MOST_FILES = 5_000
"""The most files of each kind to open; files near the root come first."""
MOST_BYTES = 64 * 1024 * 1024
TABLE = "pyproject.toml"
FOREIGN = frozenset({"node_modules", "site-packages", "build", "dist", "__pycache__"})
"""Folders with other people's code or with build products; they are skipped, like hidden folders and environments."""
OF_AN_ENVIRONMENT = "pyvenv.cfg"
_OF_TESTS = re.compile(
    r"(^|/)(tests?|testing|fixtures|test_data|testdata)/|(^|/)(test_[^/]*|[^/]*_test|conftest)\.py$", re.IGNORECASE
)


class Files(Struct):
    """The paths of a project's files, with ``/`` between folders; files near the root come first."""

    root: Path
    configs: list[str] = []
    """The JSON and YAML files; those named ``config.json`` or ``bert_config.json`` come first."""
    python: list[str] = []
    left_out: list[str] = []
    """A line for each place that is not searched although it may hold a model."""

    def read_all(self, files: Sequence[str], what: str) -> Iterator[tuple[str, bytes]]:
        """Yield each file with its bytes (``b""`` if too large or unreadable), up to a limit on files and bytes."""
        size = 0
        for opened, file in enumerate(files):
            if opened == MOST_FILES or size > MOST_BYTES:
                self.left_out.append(f"{len(files) - opened:,} files of {what} after the first {opened:,}")
                return
            content = self._read_file(file)
            size += len(content)
            yield file, content

    def _read_file(self, file: str) -> bytes:
        problem = f"is larger than {LARGEST:,} bytes"
        try:
            with open_regular(self.root / file) as stream:
                if len(content := stream.read(LARGEST + 1)) <= LARGEST:
                    return content
        except OSError as error:
            problem = f"cannot be read: {reason(error)}"
        if PurePosixPath(file).name in NAMES:
            self.left_out.append(f"{printable(file)}, which {problem}")
        return b""

    def has_name(self, folder: str, pattern: re.Pattern[str]) -> bool:
        """Return whether a folder has a file whose name matches ``pattern``, even one that git ignores."""
        try:
            return any(map(pattern.fullmatch, os.listdir(self.root / folder)))  # noqa: PTH208  (names alone)
        except OSError:
            return False


def list_files(root: Path) -> Files:
    """List the Python, JSON and YAML files of a project, in a repository only those that git does not ignore."""
    found = Files(root)
    is_foreign = _make_foreign(root)
    paths = _list_by_git(found) or _list_by_walking(found, is_foreign)
    others = _find_other_projects(found, paths)
    of_tests: list[str] = []
    for path in paths:
        name = PurePosixPath(path).name
        kind = found.python if path.endswith(PYTHON) else found.configs if path.lower().endswith(CONFIGS) else None
        if kind is None or name.startswith(".") or path.startswith(others) or is_foreign(path):
            continue
        if _OF_TESTS.search(path):
            of_tests += [printable(path)] if name in NAMES else []
        elif _is_regular(path, found):
            kind.append(path)
    found.configs.sort(key=lambda file: (PurePosixPath(file).name not in NAMES, file.count("/"), file))
    found.python.sort(key=lambda file: (file.count("/"), file))
    found.left_out += [f"{listed(of_tests, 1)}, of tests"] if of_tests else []
    return found


def _list_by_git(found: Files) -> list[str]:
    """List the files that git tracks, and new files that it does not ignore; none outside a repository."""
    answer = ask_git(found.root, "ls-files", "--cached", "--others", "--exclude-standard", "-z")
    if answer is None or answer.returncode != 0:
        here = found.root.absolute()
        if any((folder / ".git").exists() for folder in (here, *here.parents)):
            found.left_out.append("git did not answer: ignored files were read as well")
        return []
    paths = list(dict.fromkeys(os.fsdecode(name) for name in answer.stdout.split(b"\0") if name))
    found.left_out += [f"{printable(path)}, a repository of its own" for path in paths if path.endswith("/")]
    return paths


def _list_by_walking(found: Files, is_foreign: Callable[[str], bool]) -> list[str]:
    def note(error: OSError) -> None:
        folder = os.path.relpath(error.filename, found.root)
        what = "the project" if folder == os.curdir else printable(folder)
        found.left_out.append(f"{what}, which cannot be read: {reason(error)}")

    files: list[str] = []
    for folder, inner, names in os.walk(found.root, onerror=note):
        place = PurePosixPath(os.path.relpath(folder, found.root))
        inner[:] = sorted(name for name in inner if not is_foreign(f"{place / name}/"))
        files += [str(place / name) for name in names]
    return files


def _make_foreign(root: Path) -> Callable[[str], bool]:
    """Return whether a path leads through a folder to skip; the path of a folder has to end with a slash.

    To skip are hidden folders, environments, other people's code and products of a build.
    """

    @cache
    def is_skipped(folder: str) -> bool:
        outer, _, name = folder.rpartition("/")
        is_one = name.startswith(".") or name in FOREIGN
        return is_one or os.path.lexists(root / folder / OF_AN_ENVIRONMENT) or (outer != "" and is_skipped(outer))

    return lambda path: "/" in path and is_skipped(path.rpartition("/")[0])


def _find_other_projects(found: Files, paths: list[str]) -> tuple[str, ...]:
    """Find the folders below the root that have a ``[tool.bertsize]`` of their own; each path ends with a slash."""
    tables = [path for path in paths if path.endswith(f"/{TABLE}") and tables_of_models(found.root / path) is not None]
    folders = sorted(path.removesuffix(TABLE) for path in tables)
    if folders:
        named = listed([printable(folder.rstrip("/")) for folder in folders], 1)
        found.left_out.append(f"{named}, with a [tool.bertsize] in a {TABLE} below this folder")
    return tuple(folders)


def _is_regular(path: str, found: Files) -> bool:
    """Return whether a path is a regular file: no symlink, and not deleted since git listed it."""
    try:
        mode = (found.root / path).lstat().st_mode
    except (OSError, ValueError):
        return False
    if stat.S_ISLNK(mode) and PurePosixPath(path).name in NAMES:
        found.left_out.append(f"{printable(path)}, which is a symlink")
    return stat.S_ISREG(mode)
