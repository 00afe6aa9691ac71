"""A project's pyproject.toml is changed: whole or not at all, and only what was read."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path

from pytest_bertsize.findings import reason
from pytest_bertsize.settings import SettingsError


def replace(path: Path, before: str | None, after: str) -> None:
    """Replace the file at once, with the rights that it has; its line endings are those of the text.

    :param before: what it was read as; ``None`` for one that must not be there yet.
    :raises SettingsError: when it is something else by now, or cannot be written; it is then as it was.
    """
    try:
        _refuse_another(path, before)
        _replace(path, after, path.stat() if before is not None else None)
    except OSError as error:
        raise SettingsError(f"{path}: cannot be written: {reason(error)}; nothing was changed") from None


def _refuse_another(path: Path, before: str | None) -> None:
    if path.is_symlink():
        raise SettingsError(f"{path} is a symlink, and is left alone: run this where the file itself is")
    now = path.read_bytes() if path.exists() else None
    if now != (None if before is None else before.encode()):
        what = "is there by now" if before is None else "was changed since it was read"
        raise SettingsError(f"{path} {what}, and is left alone: run this again")
    if before is not None and not (os.access(path, os.W_OK) and path.stat().st_mode & 0o222):  # root may write all
        raise SettingsError(f"{path} is read-only, and is left alone: make it writable, and run this again")


def _replace(path: Path, text: str, former: os.stat_result | None) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(text.encode())
            stream.flush()
            os.fsync(stream.fileno())
        if former:
            with contextlib.suppress(OSError):  # a container's root writes what is somebody's
                os.chown(temporary, former.st_uid, former.st_gid)
        Path(temporary).chmod(stat.S_IMODE(former.st_mode) if former else 0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
