"""A release of transformers, which a closed form is asked about: the library has built some classes otherwise."""

from __future__ import annotations

import re
from typing import NamedTuple

LIBRARY = "transformers"
_NUMBER = r"(0|[1-9]\d{0,5})"
_WRITTEN = re.compile(rf"{_NUMBER}\.{_NUMBER}(?:\.{_NUMBER})?", re.ASCII)
_OF_METADATA = re.compile(rf"{_NUMBER}(?:\.{_NUMBER})?(?:\.{_NUMBER})?", re.ASCII)


class Release(NamedTuple):
    """``Release(4, 57, 6)``, which is compared as numbers are: ``release < (5, 4)``."""

    major: int
    minor: int = 0
    patch: int = 0

    def __str__(self) -> str:
        return ".".join(map(str, self))


OLDEST = Release(4, 40)
"""Before it the comparison in ``docs/reference/compatibility.md`` was never made."""
NEWEST = Release(5, 23)
"""The last whose code the closed forms were read from; a later one is taken to be like it, and built to be compared."""
BROKEN = Release(5, 0)
"""Every 5.0.x: what a class ties is not tied when it is made on the meta device."""


class Unsupported(ValueError):
    """A release that no closed form is known for, or a name of none; why, in one sentence."""


def parse_release(text: str) -> Release:
    """Return a release as the table writes it: ``"4.57"`` or ``"4.57.6"``.

    :raises Unsupported: if it is none that closed forms know.
    """
    found = _WRITTEN.fullmatch(text)
    if found is None:
        raise Unsupported(f'{text!r} is no release of transformers; write "4.57", for example')
    return _supported(found)


def read_version(version: str) -> Release:
    """Return a release as its distribution calls it: ``"5.24.0.dev0"`` is that which it will be.

    :raises Unsupported: if it is none that closed forms know.
    """
    found = _OF_METADATA.match(version)
    if found is None:
        raise Unsupported(f"the installed transformers calls itself {version!r}, which is no release")
    return _supported(found)


def is_said_by(written: str, version: str) -> bool:
    """Return whether ``"4.57"`` and ``"4.57.6"`` both are what an installed 4.57.6 is called."""
    release = read_version(version)
    return tuple(release[: written.count(".") + 1]) == tuple(int(part) for part in written.split("."))


def _supported(numbers: re.Match[str]) -> Release:
    release = Release(*(int(part or 0) for part in numbers.groups()))
    if release < OLDEST:
        oldest = f"{OLDEST.major}.{OLDEST.minor}"
        raise Unsupported(f"transformers {release} is older than {oldest}, the oldest whose closed forms are known")
    if release[:2] == BROKEN[:2]:
        raise Unsupported(
            f"transformers {release} loses ties on the meta device, as every 5.0 does: its counts are wrong"
        )
    return release
