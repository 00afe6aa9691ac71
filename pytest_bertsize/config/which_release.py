"""Which release of transformers a run's closed forms are asked about: the one place where that is decided."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pytest_bertsize.builder import installed
from pytest_bertsize.release import LIBRARY, NEWEST, Release, Unsupported, is_said_by, of_metadata, parsed
from pytest_bertsize.table.settings import SettingsError
from pytest_bertsize.wording import printable

if TYPE_CHECKING:
    from pytest_bertsize.table.settings import Settings

KEY = ("tool", "bertsize", "transformers")


class AskedAbout(NamedTuple):
    """A release, and who says so."""

    release: Release
    version: str
    """As the environment or the table writes it."""
    because: str = ""
    """Why it is taken for the one that builds, where none is installed."""

    def __str__(self) -> str:
        return f"{self.version} ({self.because})" if self.because else self.version


def asked_about(settings: Settings | None) -> AskedAbout:
    """The release that is installed where models are built; where none is, what the table says, else the newest whose
    closed forms are known.

    :param settings: ``None`` where no table is read.
    :raises SettingsError: where no closed forms are known for it, or the table says another.
    """
    another = settings.interpreter if settings else None
    found = installed.find_release(LIBRARY, another.path if another else None)
    if found is not None:
        _refuse_another(settings, found)
        return AskedAbout(_release(found), found)
    if settings is None or settings.transformers is None:
        version = f"{NEWEST.major}.{NEWEST.minor}"
        return AskedAbout(NEWEST, version, "the newest that is known: none is installed")
    return AskedAbout(parsed(settings.transformers), settings.transformers, "as the table says: none is installed")


def _release(version: str) -> Release:
    try:
        return of_metadata(version)
    except Unsupported as error:
        raise SettingsError(f"{printable(str(error))}; install transformers 4.40 or newer, 5.0 excepted") from None


def _refuse_another(settings: Settings | None, found: str) -> None:
    if settings is None or settings.transformers is None or is_said_by(settings.transformers, found):
        return
    line = settings.line(KEY)
    place = f"{settings.file}:{line}" if line else settings.file
    message = f"transformers is {settings.transformers!r}, and {printable(found)} is installed, which builds"
    raise SettingsError(f"{place}: tool.bertsize.transformers: {message}; correct it, or install what it says")
