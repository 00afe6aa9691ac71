"""What was found about a model: a kind, a sentence, a place and a way out."""

from __future__ import annotations

import json
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

Kind: TypeAlias = Literal[
    "over-budget",
    "under-budget",
    "off-closed-form",
    "unknown-closed-form",
    "config-invalid",
    "config-refused",
    "ignored-key",
    "defaulted-key",
    "build-failed",
    "untied",
]
Severity: TypeAlias = Literal["error", "warning", "note"]

LONGEST = 200
"""The most characters of a foreign text that a message shows."""
LONGEST_NUMBER = 10**30


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to know about a model. Any of severity ``error`` fails it."""

    kind: Kind
    message: str
    """What is wrong, with exact values; a sentence without its full stop."""
    fix: str = ""
    """What to write instead."""
    severity: Severity = "error"
    component: str | None = None
    expected: int | None = None
    actual: int | None = None
    limit: int | None = None
    file: str | None = None
    """Relative to the project's root."""
    line: int | None = None
    table_key: tuple[str, ...] | None = None
    """Where in the project's table, for whoever looks the line up."""

    @property
    def place(self) -> str:
        """``models/config.json:4``, ``pyproject.toml`` or nothing."""
        return f"{self.file}:{self.line}" if self.file and self.line else self.file or ""


class Unusable(Exception):
    """A model cannot be checked, for the reasons in :attr:`findings`. Caught once, where models are examined."""

    def __init__(self, *findings: Finding) -> None:
        super().__init__(*(finding.message for finding in findings))
        self.findings = findings


def shown(value: object) -> str:
    """A foreign value as a message shows it: as JSON writes it, printable, on one line, of bounded length."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = f"<{type(value).__name__}>"
    return printable(text)


def number(value: int) -> str:
    """``30522`` → ``'30,522'``; a number that would fill lines is described instead."""
    return f"{value:,}" if abs(value) < LONGEST_NUMBER else "a number of more than 30 digits"


def printable(text: str) -> str:
    """``text`` without control characters, cut to :data:`LONGEST` characters."""
    if len(text) <= LONGEST and text.isprintable():
        return text
    cut = text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in cut)


def did_you_mean(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """The known name that is nearest to a misspelt one, or ``""``."""
    return next(iter(get_close_matches(name, list(known), n=1, cutoff=cutoff)), "")
