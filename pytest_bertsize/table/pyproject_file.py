"""A project's pyproject.toml is changed: whole or not at all, and only what was read."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from pytest_bertsize import replaced_file
from pytest_bertsize.findings import reason
from pytest_bertsize.table.settings import SettingsError

if TYPE_CHECKING:
    from pathlib import Path


def replace(path: Path, before: str | None, after: str) -> None:
    """Replace the file at once, with the rights that it has; its line endings are those of the text.

    :param before: what it was read as; ``None`` for one that must not be there yet.
    :raises SettingsError: when it is something else by now, or cannot be written; it is then as it was.
    """
    try:
        refuse_another(path, before)
        if before is None:
            replaced_file.replace(path, after.encode())
        else:
            former = path.stat()
            owner = former.st_uid, former.st_gid
            replaced_file.replace(path, after.encode(), stat.S_IMODE(former.st_mode), owner)
    except OSError as error:
        raise SettingsError(f"{path}: cannot be written: {reason(error)}; nothing was changed") from None


def refuse_another(path: Path, before: str | None) -> None:
    """Refuse what is not the file that was read, or cannot be replaced.

    :raises SettingsError: saying which.
    """
    if path.is_symlink():
        raise SettingsError(f"{path} is a symlink, and is left alone: run this where the file itself is")
    now = path.read_bytes() if path.exists() else None
    if now != (None if before is None else before.encode()):
        what = "is there by now" if before is None else "was changed since it was read"
        raise SettingsError(f"{path} {what}, and is left alone: run this again")
    if before is not None and not (os.access(path, os.W_OK) and path.stat().st_mode & 0o222):  # root may write all
        raise SettingsError(f"{path} is read-only, and is left alone: make it writable, and run this again")
