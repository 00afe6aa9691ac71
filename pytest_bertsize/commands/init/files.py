"""List the files of a project that can hold a config or a class: no copies of other people's code, no tests."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path, PurePosixPath

from pytest_bertsize.base.git import ask_git
from pytest_bertsize.builder.published import LARGEST
from pytest_bertsize.files import read_regular
from pytest_bertsize.table.model import NAMES
from pytest_bertsize.table.settings import tables_of_models
from pytest_bertsize.wording import printable

CONFIGS = (".json", ".yaml", ".yml")
MOST_FILES = 5_000  # the most files of each kind to open; files near the root come first
MOST_BYTES = 64 * 1024 * 1024
# Folders with other people's code or with build products; they are skipped, like hidden folders and environments.
FOREIGN = frozenset({"node_modules", "site-packages", "build", "dist", "__pycache__"})
_OF_TESTS = re.compile(r"(?i)(^|/)(tests?|testing|fixtures|test_?data)/|(^|/)(test_[^/]*|[^/]*_test|conftest)\.py$")


class Files:
    """The paths of a project's files, with ``/`` between folders; files near the root come first."""

    def __init__(self, root: Path) -> None:
        """List the Python, JSON and YAML files, in a repository only those that git does not ignore."""
        self.root = root
        self.left_out: list[str] = []  # files that are not read, but look like a config or define a model
        paths = _list_paths(root)
        tables = (root / path for path in paths if path.endswith("/pyproject.toml"))
        others = tuple(f"{table.parent.relative_to(root)}/" for table in tables if tables_of_models(table) is not None)
        kept = [path for path in paths if self._keep(PurePosixPath(path), others)]
        kept.sort(key=lambda path: (PurePosixPath(path).name not in NAMES, path.count("/"), path))
        self.configs = [path for path in kept if path.lower().endswith(CONFIGS)]
        self.python = [path for path in kept if path.endswith(".py")]

    def _keep(self, path: PurePosixPath, others: tuple[str, ...]) -> bool:
        """Return whether a path is a regular file, and neither a test nor a part of another project in a folder."""
        if path.name.startswith(".") or any(_is_foreign(self.root / folder) for folder in path.parents[:-1]):
            return False
        try:
            is_regular = stat.S_ISREG((self.root / path).lstat().st_mode)
        except (OSError, ValueError):  # deleted since git listed it
            return False
        if is_regular and not str(path).startswith(others) and not _OF_TESTS.search(str(path)):
            return True
        self._leave_out(path)
        return False

    def _leave_out(self, path: PurePosixPath) -> None:
        self.left_out += [printable(str(path))] if path.name in NAMES else []

    def read_all(self, paths: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """Yield each file with its bytes, up to a limit on files and bytes; leave out what cannot be read."""
        size = 0
        for opened, path in enumerate(paths):
            if opened == MOST_FILES or size > MOST_BYTES:
                self.left_out += map(printable, paths[opened:])
                return
            try:
                content = read_regular(self.root / path, LARGEST + 1)
            except OSError:
                content = b" " * (LARGEST + 1)
            if len(content) > LARGEST:
                self._leave_out(PurePosixPath(path))
            else:
                size += len(content)
                yield path, content


def _list_paths(root: Path) -> list[str]:
    """List the files that git tracks, and new ones that it does not ignore; outside a repository all files."""
    answer = ask_git(root, "ls-files", "--cached", "--others", "--exclude-standard", "-z")
    if answer and answer.returncode == 0 and answer.stdout:
        return list(dict.fromkeys(os.fsdecode(name) for name in answer.stdout.split(b"\0") if name))
    found = []
    for folder, inner, names in os.walk(root):
        inner[:] = sorted(name for name in inner if not _is_foreign(Path(folder, name)))
        found += [str(PurePosixPath(os.path.relpath(folder, root), name)) for name in names]
    return found


@cache
def _is_foreign(folder: Path) -> bool:
    """Return whether a folder is hidden, an environment, or has other people's code or products of a build."""
    return folder.name.startswith(".") or folder.name in FOREIGN or os.path.lexists(folder / "pyvenv.cfg")
