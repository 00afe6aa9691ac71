"""Files and declared models at a git revision that the command line names."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_bertsize.base import NoRevision
from pytest_bertsize.base.commit_files import CommitFiles, Unreadable
from pytest_bertsize.base.git import resolve_commit
from pytest_bertsize.base.lock import find_sizes, read_lock_at
from pytest_bertsize.base.project_at_commit import AtCommit, Missing, read_table
from pytest_bertsize.commands.console import refuse
from pytest_bertsize.config import source
from pytest_bertsize.config.adapter import adapter_of
from pytest_bertsize.findings import Unusable
from pytest_bertsize.table.settings import Settings, find_table
from pytest_bertsize.wording import did_you_mean, printable, shown

if TYPE_CHECKING:
    from pytest_bertsize.base.lock import Locked
    from pytest_bertsize.config.adapter import Adapter
    from pytest_bertsize.config.model_config import ModelConfig
    from pytest_bertsize.table.model import Model


TABLE = "pyproject.toml"
ALWAYS_REVISIONS = ("HEAD", "main", "master")
"""Names that are always taken for a revision: if there is no such revision, an error says so."""


def read_config_at(reference: str) -> ModelConfig:
    """Read a config at a commit, as in ``main:models/config.json``; the path is relative to the current folder.

    :raises Unusable: with a message for the command line.
    """
    revision, _, inside = reference.partition(":")
    location, hash_sign, inner = inside.partition("#")
    folder, parts = Path.cwd(), posixpath.normpath(location).split("/")
    while parts[1:] and parts[0] == "..":
        folder, parts = folder.parent, parts[1:]
    with _open_files(
        folder, revision, "write its path from the current folder, or the name of a declared model"
    ) as files:
        return source.in_file(AtCommit(files, revision), f"{'/'.join(parts)}{hash_sign}{inner}")


def read_model_at(revision: str, name: str) -> tuple[Model, ModelConfig, Adapter | None, Locked | None]:
    """Read a model as the table of the current folder declares it at a commit.

    The last value is the model's block in that commit's lock; ``None`` if it has no sizes, or the table names a config.

    :raises Unusable: if the commit declares no such model, or the model cannot be read.
    """
    here = Settings(find_table(Path.cwd()), "", {})
    with _open_files(here.root, revision) as files:
        then = read_table(files, here, revision, is_base=False)
        if name in then.wrong:
            raise refuse(f"at {printable(revision)}, {then.wrong[name]}")
        if name not in then.models:
            names = f"it declares {', '.join(then.models) or 'none'}"
            message = f"{here.file} at {printable(revision)} declares no model {shown(name)}"
            raise refuse(message, did_you_mean(name, then.models, names))
        reader = AtCommit(files, revision, then.values.get("hub", {}))
        model = then.models[name]
        locked = find_sizes(read_lock_at(files, then.values.get("lock")), model)
        config = source.read_locked(model, locked.sizes) if locked else source.read(model, here, reader)
        return model, config, adapter_of(model, here, config, reader), locked


def is_declared_at(revision: str, name: str) -> bool:
    """Return whether the table at a revision declares a model; ``False`` if :func:`is_revision` is false for it."""
    if not is_revision(revision):
        return False
    here = Settings(find_table(Path.cwd()), "", {})
    try:
        with _open_files(here.root, revision) as files:
            return name in read_table(files, here, revision, is_base=False).models
    except Unusable:
        return False


def is_revision(written: str) -> bool:
    """Return whether a name means a git revision; it does not if a Python module or a folder here has the same name."""
    top = written.partition(".")[0]
    if Path(f"{top}.py").exists() or Path(top).is_dir():
        return False
    if written in ALWAYS_REVISIONS:
        return True
    try:
        resolve_commit(Path.cwd(), written)
    except NoRevision:
        return False
    return True


@contextmanager
def _open_files(folder: Path, revision: str, where_else: str = "") -> Iterator[CommitFiles]:
    """Open the files of a commit.

    :param where_else: the fix for a path that does not exist.
    :raises Unusable: for a revision or a file that is missing or cannot be read.
    """
    try:
        with CommitFiles(folder, resolve_commit(folder, revision)) as files:
            yield files
    except NoRevision as error:
        raise refuse(str(error)) from None
    except Missing as missing:
        raise refuse(str(missing), where_else) from None
    except Unreadable as unread:
        raise refuse(str(unread), unread.fix) from None
