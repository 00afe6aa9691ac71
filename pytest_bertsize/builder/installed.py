"""Which release of a library is installed where models are built: by its metadata, so that nothing of it is run."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distributions, version
from pathlib import Path

from pytest_bertsize.files import regular

LARGEST = 64 * 1024
"""Characters of a pyvenv.cfg or a ``.pth``; Python's own have a thousand at most."""


def release(library: str, python: Path | None = None) -> str | None:
    """The version that is installed, ``None`` where there is none, or where nobody can tell.

    :param python: the interpreter that builds, which is not run; ``None`` for this one.
    """
    if python is None:
        try:
            return version(library)
        except PackageNotFoundError:
            return None
    try:
        folders = [*map(str, folders_of(python))]
        return next((each.version for each in distributions(name=library, path=folders)), None)
    except (OSError, ValueError):  # a NUL byte, a loop of symlinks: who runs it says so
        return None


def folders_of(python: Path) -> list[Path]:
    """Where an interpreter finds what is installed, as the files beside it say: ``lib/python3.12/site-packages``; the
    first that has a library is the one whose it is.
    """
    settings = _settings_of(python)
    if settings is None:
        return [*_below(_prefix(Path(os.path.realpath(python))), _minor(python))]
    folders = [*_below(_prefix(python), settings.get("version_info") or settings.get("version") or _minor(python))]
    if settings.get("include-system-site-packages", "").lower() == "true":
        folders += folders_of(Path(os.path.realpath(python)))
    return folders


def _settings_of(python: Path) -> dict[str, str] | None:
    """What the pyvenv.cfg of a virtual environment says; ``None`` for an interpreter that is in none."""
    for folder in (python.parent, python.parent.parent):
        if lines := _lines(folder / "pyvenv.cfg"):
            settings = (line.partition("=") for line in lines)
            return {key.strip().lower(): value.strip() for key, _, value in settings}
    return None


def _lines(path: Path) -> list[str]:
    try:
        with regular(os.path.realpath(path)) as stream:
            return stream.read(LARGEST).decode("utf-8", "replace").splitlines()
    except OSError:
        return []


def _prefix(python: Path) -> Path:
    """The folder of an installation: ``bin/python`` and ``Scripts/python.exe`` are in it, and so is ``python.exe``."""
    return python.parent.parent if python.parent.name in {"bin", "Scripts"} else python.parent


def _minor(python: Path) -> str:
    """``3.12``, as the name of an executable has it; ``""`` where it does not say."""
    found = re.fullmatch(r"python(3\.\d+)t?", Path(os.path.realpath(python)).name)
    return found[1] if found else ""


def _below(prefix: Path, version_info: str) -> Iterator[Path]:
    """The folders of one installation, Debian's ``dist-packages`` and those of Windows among them.

    Of several Pythons in one place nobody can tell which is meant where neither name nor settings say it.
    """
    said = re.match(r"3\.\d+", version_info)
    names = [f"python{said[0]}", f"python{said[0]}t", "python3"] if said else ["python3*"]
    libs = [prefix / lib for lib in ("lib", "lib64", "local/lib")]
    found = [path for lib in libs for name in names for path in sorted(lib.glob(name))]
    if said or len({path.name for path in found}) == 1:
        for path in found:
            yield from _with_linked(path / "site-packages")
            yield from _with_linked(path / "dist-packages")
    yield from _with_linked(prefix / "Lib" / "site-packages")


def _with_linked(folder: Path) -> Iterator[Path]:
    """A folder, and those that a ``.pth`` in it adds to Python's path; what such a file would have run is not."""
    if folder.is_dir():
        yield folder
        for file in sorted(folder.glob("*.pth")):
            yield from (path for line in _lines(file) if line.strip() and (path := folder / line.strip()).is_dir())
