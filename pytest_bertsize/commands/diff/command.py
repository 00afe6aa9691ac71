"""``bertsize diff``: candidates component by component, and which changed key moved what."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from pytest_bertsize.commands.console import GOOD, mistaken, say, style_of
from pytest_bertsize.commands.named_model import Explained, Named, explained
from pytest_bertsize.findings import Finding, Unusable

if TYPE_CHECKING:
    from collections.abc import Sequence


def diff(named: Sequence[Named], out: TextIO, err: TextIO, *, form: str = "text") -> int:
    """Print what changes from the first model to each of the others.

    :param named: two or more.
    :param form: ``text``, ``md``, ``latex`` or ``json``.
    :returns: the exit status; that there is a difference is no mistake.
    """
    sides: list[Explained] = []
    mistakes: dict[Finding, None] = {}
    for each in named:
        try:
            sides.append(explained(each))
        except Unusable as unusable:
            mistakes |= dict.fromkeys(unusable.findings)
    if mistakes:
        return mistaken(Unusable(*mistakes), err)
    if form != "text":
        from pytest_bertsize.commands.quoting import difference

        say(difference(sides, form), out)
        return GOOD
    from pytest_bertsize.commands.diff.drawing import drawn

    say(drawn(sides, style_of(out, 0)), out)
    return GOOD
