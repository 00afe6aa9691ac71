"""A file that is replaced at once or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path


def replace(path: Path, content: bytes, mode: int = 0o644, owner: tuple[int, int] | None = None) -> None:
    """Replace the file at once, or leave it as it was; its content is on the disk before it takes the name.

    :param owner: user and group that the file is to have, where this user may give it to them.
    :raises OSError: when it cannot be written.
    """
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        if owner:
            with contextlib.suppress(OSError):  # a container's root writes what is somebody's
                os.chown(temporary, *owner)
        Path(temporary).chmod(mode)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
