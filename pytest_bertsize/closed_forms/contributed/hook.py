"""The function by which a file, a package or a plugin contributes, and what it has to return."""

from __future__ import annotations

from pytest_bertsize.closed_forms.family import Family

HOOK = "pytest_bertsize_closed_forms"
"""The name of the function, of pytest's hook, and of the group of entry points."""


class NoForms(ValueError):
    """What contributes nothing; the message says why."""


def families_in(answer: object) -> list[Family]:
    """What the function has returned.

    :raises NoForms: for anything but a list of families.
    """
    if not isinstance(answer, list | tuple) or not all(isinstance(each, Family) for each in answer):
        raise NoForms(f"{HOOK} returned {type(answer).__name__}, not a list of Family; write return [FAMILY]")
    return list(answer)
