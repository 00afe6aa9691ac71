"""The release of transformers whose closed forms a run uses: the one installed in the environment that builds."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_bertsize.files import read_regular
from pytest_bertsize.release import LIBRARY, NEWEST, Release, Unsupported, is_said_by, parse_release, read_version
from pytest_bertsize.table.settings import SettingsError
from pytest_bertsize.wording import printable

if TYPE_CHECKING:
    from pytest_bertsize.table.settings import Settings

LARGEST = 64 * 1024  # characters of a pyvenv.cfg; Python's own have a thousand at most


class AskedAbout(NamedTuple):
    """A release of transformers, and the reason for using it."""

    release: Release
    version: str  # the version as the environment or the table writes it
    because: str = ""  # the reason for assuming this release, if none is installed

    def __str__(self) -> str:
        return f"{self.version} ({self.because})" if self.because else self.version


def asked_about(settings: Settings | None) -> AskedAbout:
    """Return the release that is installed where models are built, else the table's, else the newest known one.

    :raises SettingsError: if it has no closed forms, or the table names another than is installed.
    """
    another = settings.interpreter if settings else None
    found = find_release(LIBRARY, another.path if another else None)
    said = settings.transformers if settings else None
    if found is None and said:
        return AskedAbout(parse_release(said), said, "as the table says: none is installed")
    if found is None:
        return AskedAbout(NEWEST, f"{NEWEST.major}.{NEWEST.minor}", "the newest that is known: none is installed")
    try:
        if settings and said and not is_said_by(said, found):
            message = f"transformers is {said!r}, but {printable(found)} is installed and builds"
            raise SettingsError(f"{settings.place('transformers')}: {message}; correct it, or install that release")
        return AskedAbout(read_version(found), found)
    except Unsupported as error:
        raise SettingsError(f"{printable(str(error))}; install transformers 4.40 or newer, 5.0 excepted") from None


def find_release(library: str, python: Path | None = None) -> str | None:
    """Return the version of a library by the metadata that this interpreter, or ``python`` without a run, finds."""
    try:
        folders = map(Path, sys.path) if python is None else _find_folders(python)
        names = (each.name for folder in folders for each in folder.glob(f"{library}-*-info"))  # .dist-info, .egg-info
        return next((re.sub(r"(-py3[\d.]*)?\.\w+-info$", "", name[len(library) + 1 :]) for name in names), None)
    except (OSError, ValueError):  # a NUL byte, a loop of symlinks: an error when it is run
        return None


def _find_folders(python: Path) -> list[Path]:
    """Return the folders in which an interpreter finds packages, the first one first."""
    real = Path(os.path.realpath(python))
    named = re.match(r"python3\.\d+", real.name)
    base = _list_packages(real, named[0] if named else "")
    lines = [*_read_lines(python.parent / "pyvenv.cfg"), *_read_lines(python.parent.parent / "pyvenv.cfg")]
    if not lines:
        return base
    shares = any(re.fullmatch(r"include-system-site-packages\s*=\s*true", line.strip().lower()) for line in lines)
    return [*_list_packages(python), *(base if shares else ())]


def _read_lines(path: Path) -> list[str]:
    try:
        return read_regular(os.path.realpath(path), LARGEST).decode("utf-8", "replace").splitlines()
    except OSError:
        return []


def _list_packages(python: Path, name: str = "") -> list[Path]:
    """Return one installation's folders with packages, also on Debian.

    If ``name`` is empty and ``lib`` has folders of several Pythons, these folders are left out.
    """
    named = [f"{name}*", "python3"] if name else ["python3*"]
    libs = [python.parent.parent / lib for lib in ("lib", "lib64", "local/lib")]
    found = [path for lib in libs for each in named for path in sorted(lib.glob(f"{each}/*-packages"), reverse=True)]
    return found if name or len({path.parent.name for path in found}) == 1 else []
