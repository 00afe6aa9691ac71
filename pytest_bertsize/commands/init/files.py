"""Which files of a project can hold a config: those that git does not ignore, without copies of other people's code."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from pytest_bertsize import wording
from pytest_bertsize.base.git import git
from pytest_bertsize.config.model_config import LARGEST
from pytest_bertsize.files import NotRegular, regular
from pytest_bertsize.table.model import NAMES
from pytest_bertsize.table.settings import tables_of_models
from pytest_bertsize.wording import printable, reason

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SUFFIXES = (".json", ".yaml", ".yml")
MOST_FOLDERS = 20_000
MOST_FILES = 5_000
"""That are opened; those with the usual names are first."""
MOST_BYTES = 64 * 1024 * 1024
LEFT_OUT = frozenset({"node_modules", "site-packages", "build", "dist", "__pycache__"})
"""Folders of what was installed or built."""
OF_AN_ENVIRONMENT = "pyvenv.cfg"
TABLE = "pyproject.toml"

_CHECKPOINT = re.compile(r"(checkpoint|ckpt|global_step|step|epoch)[-_]?\d+", re.IGNORECASE)
_WEIGHTS = re.compile(
    r"(model|pytorch_model|tf_model|flax_model|adapter_model|optimizer|scheduler|trainer_state|training_args|rng_state)"
    r".*\.(safetensors|bin|pt|pth|h5|msgpack)|trainer_state\.json|.+\.(safetensors|ckpt|ckpt\.(index|meta|data-.+))",
)
_WORTH_READING = re.compile(rb"model_type|layer|vocab")
"""One of these stands in every config."""


@dataclass(frozen=True)
class Listed:
    """The files of a project by their paths, ``/`` between folders, and what was not looked into."""

    root: Path
    files: list[str]
    said: list[str] = field(default_factory=list)
    _with_weights: dict[str, bool] = field(default_factory=dict)

    @cached_property
    def of_usual_name(self) -> frozenset[str]:
        return frozenset(file for file in self.files if PurePosixPath(file).name in NAMES)

    def read(self) -> Iterator[tuple[str, bytes]]:
        """Each file that may hold a config, and its bytes; what is larger than a config is none."""
        opened = size = 0
        for file in sorted(self.files, key=lambda each: each not in self.of_usual_name):
            if opened == MOST_FILES or size > MOST_BYTES:
                rest = len(self.files) - opened
                looked = f"looked into {opened:,} files ({size // 2**20:,} MiB in all) and not into {rest:,} more"
                self.said.append(f"{looked}: declare by hand what is in those")
                return
            content = self._content(file)
            opened, size = opened + 1, size + len(content)
            if file in self.of_usual_name or _WORTH_READING.search(content):
                yield file, content

    def is_of_a_checkpoint(self, file: str) -> bool:
        """Whether a file stands in a folder like ``checkpoint-500``, or beside weights or the state of a trainer."""
        folder = PurePosixPath(file).parent
        if str(folder) not in self._with_weights:
            self._with_weights[str(folder)] = self._has_weights(self.root / folder)
        return self.run_of(file) is not None or self._with_weights[str(folder)]

    @staticmethod
    def run_of(file: str) -> str | None:
        """The folder of a training run that has saved a file in a folder like ``checkpoint-500``."""
        folders = PurePosixPath(file).parent.parts
        step = next((depth for depth, name in enumerate(folders) if _CHECKPOINT.fullmatch(name)), None)
        return None if step is None else "/".join(folders[:step])

    @staticmethod
    def _has_weights(folder: Path) -> bool:
        try:
            with os.scandir(folder) as entries:
                return any(_WEIGHTS.fullmatch(entry.name) for entry in entries)
        except OSError:
            return False

    def _content(self, file: str) -> bytes:
        try:
            with regular(self.root / file) as stream:
                content = stream.read(LARGEST + 1)
        except NotRegular:
            return b""
        except OSError as error:
            self.said.append(f"{printable(file)} cannot be read: {reason(error)}")
            return b""
        if len(content) > LARGEST and file in self.of_usual_name:
            self.said.append(f"{printable(file)} is larger than {LARGEST:,} bytes, and was not read")
        return content if len(content) <= LARGEST else b""


def listed(root: Path) -> Listed:
    """The files of a project that can hold a config, those of the usual names and those near the root first."""
    found = Listed(root, [])
    is_left_out = _LeftOut(root)
    paths = _by_git(root, found.said) or _by_walking(root, is_left_out, found.said)
    own = _tables_below(root, paths, found.said)
    for file in paths:
        folders = PurePosixPath(file).parts[:-1]
        if file.lower().endswith(SUFFIXES) and not any(file.startswith(f"{each}/") for each in own):
            if any(is_left_out(folders[: depth + 1]) for depth in range(len(folders))):
                continue
            if not PurePosixPath(file).name.startswith(".") and _is_there(root, file, found.said):
                found.files.append(file)
    found.files.sort(key=lambda file: (file.count("/"), file))
    return found


def _by_git(root: Path, said: list[str]) -> list[str]:
    """What git tracks, and what is new and not ignored; nothing where there is no repository, or none of its files."""
    answer = git(root, "ls-files", "--cached", "--others", "--exclude-standard", "-z")
    if answer is None or answer.returncode != 0:
        here = root.absolute()
        if any((folder / ".git").exists() for folder in (here, *here.parents)):
            said.append("git did not answer: what it ignores was looked into as well")
        return []
    found = list(dict.fromkeys(os.fsdecode(name) for name in answer.stdout.split(b"\0") if name))
    said += [f"left out: {printable(name)}, which is a repository of its own" for name in found if name.endswith("/")]
    return found


def _by_walking(root: Path, is_left_out: _LeftOut, said: list[str]) -> list[str]:
    files: list[str] = []
    waiting = [""]
    looked_through = 0
    while waiting:
        folder = waiting.pop()
        looked_through += 1
        if looked_through > MOST_FOLDERS:
            said.append(f"looked through {MOST_FOLDERS:,} folders and not through more: declare by hand what is there")
            break
        try:
            with os.scandir(root / folder) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            said.append(f"{printable(folder) or 'the project'} cannot be looked through: {reason(error)}")
            continue
        for entry in entries:
            path = f"{folder}{entry.name}"
            if not entry.is_dir(follow_symlinks=False):
                files.append(path)
            elif not is_left_out(PurePosixPath(path).parts):
                waiting.append(f"{path}/")
    return files


class _LeftOut:
    """Whether the last of some folders is hidden, an environment, or what a build has made."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._known: dict[tuple[str, ...], bool] = {}

    def __call__(self, folders: tuple[str, ...]) -> bool:
        if folders not in self._known:
            name = folders[-1]
            is_environment = os.path.lexists(self._root.joinpath(*folders, OF_AN_ENVIRONMENT))
            self._known[folders] = name.startswith(".") or name in LEFT_OUT or is_environment
        return self._known[folders]


def _tables_below(root: Path, paths: list[str], said: list[str]) -> list[str]:
    """Folders of projects in this one that have a table of their own."""
    tables = (path for path in paths if path.endswith(f"/{TABLE}") and tables_of_models(root / path) is not None)
    folders = [path.rpartition("/")[0] for path in tables]
    folders.sort()
    if folders:
        named = wording.listed([*map(printable, folders)], 1)
        said.append(f"left out: {named}, with a [tool.bertsize] in a {TABLE} below this folder")
    return folders


def _is_there(root: Path, file: str, said: list[str]) -> bool:
    """Whether it is a regular file, not a symlink and not one that was deleted since git saw it."""
    try:
        mode = (root / file).lstat().st_mode
    except (OSError, ValueError):
        return False
    if stat.S_ISLNK(mode) and PurePosixPath(file).name in NAMES:
        said.append(f"left out: {printable(file)}, which is a symlink")
    return stat.S_ISREG(mode)
