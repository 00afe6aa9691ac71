"""Releases of transformers: a closed form depends on the release, because releases build some classes differently."""

from __future__ import annotations

import re
from typing import NamedTuple

LIBRARY = "transformers"
_NUMBER = r"(0|[1-9]\d{0,5})"
_WRITTEN = re.compile(rf"{_NUMBER}\.{_NUMBER}(?:\.{_NUMBER})?", re.ASCII)
_OF_METADATA = re.compile(rf"{_NUMBER}(?:\.{_NUMBER})?(?:\.{_NUMBER})?", re.ASCII)


class Release(NamedTuple):
    """A release of transformers, which is compared by its numbers: ``Release(4, 57, 6) < (5, 4)``."""

    major: int
    minor: int = 0
    patch: int = 0

    def __str__(self) -> str:
        return ".".join(map(str, self))


OLDEST = Release(4, 40)  # the oldest release that the comparison in docs/reference/compatibility.md covers
NEWEST = Release(5, 23)  # the newest that closed forms are written for; for a later one builds show if they hold
BROKEN = Release(5, 0)  # the releases 5.0.x, in which a class that is built on the meta device loses its ties


class Unsupported(ValueError):
    """A release without closed forms, or a text that is not a release; the message says why."""


def parse_release(text: str) -> Release:
    """Parse the release that the table names, ``"4.57"`` or ``"4.57.6"``; raise :class:`Unsupported` for others."""
    return _supported(_WRITTEN.fullmatch(text), f'{text!r} is not a release of transformers; write "4.57", for example')


def read_version(version: str) -> Release:
    """Parse the version of a distribution; ``"5.24.0.dev0"`` is read as the release that it will be."""
    is_none = f"the installed transformers has the version {version!r}, which is not a release"
    return _supported(_OF_METADATA.match(version), is_none)


def is_said_by(written: str, version: str) -> bool:
    """Return whether a written release means an installed version: ``"4.57"`` and ``"4.57.6"`` both mean 4.57.6."""
    release = read_version(version)
    return tuple(release[: written.count(".") + 1]) == tuple(int(part) for part in written.split("."))


def _supported(numbers: re.Match[str] | None, is_none: str) -> Release:
    if numbers is None:
        raise Unsupported(is_none)
    release = Release(*(int(part or 0) for part in numbers.groups()))
    if release < OLDEST:
        oldest = f"{OLDEST.major}.{OLDEST.minor}"
        raise Unsupported(f"transformers {release} is older than {oldest}, the oldest whose closed forms are known")
    if release[:2] == BROKEN[:2]:
        loses = "loses ties on the meta device, as every 5.0 does: its counts are wrong"
        raise Unsupported(f"transformers {release} {loses}")
    return release
