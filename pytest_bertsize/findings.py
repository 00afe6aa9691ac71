"""Findings about a model: each has a kind, a message, a place and a fix."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple, TypeAlias, TypeVar

from pytest_bertsize.wording import exact, signed

Kind: TypeAlias = Literal[
    "over-budget",
    "under-budget",
    "over-growth",
    "off-closed-form",
    "read-otherwise",
    "unknown-closed-form",
    "config-invalid",
    "config-refused",
    "ignored-key",
    "defaulted-key",
    "published-config",
    "stood-in",
    "build-failed",
    "untied",
    "checkpoint-differs",
    "dead-weight",
    "budget-loosened",
    "not-compared",
    "insensitive-budget",
    "differs-from-lock",
]
T = TypeVar("T")
BROKEN = frozenset({"over-budget", "under-budget"})  # kinds of findings about a limit that the model breaks
# kinds of findings that prevent the check of a model, the most urgent first
UNCHECKED: tuple[Kind, ...] = ("config-refused", "config-invalid", "unknown-closed-form", "build-failed")
Severity: TypeAlias = Literal["error", "warning", "note"]


def describe_limit(component: str | None, actual: int, limit: int) -> str:
    """Write a broken limit for a headline: ``total 116,602,170, limit 110,000,000 (+6,602,170)``."""
    return f"{component} {exact(actual)}, limit {exact(limit)} ({signed(actual - limit)})"


class Option(NamedTuple):
    """An option of a command, ``--family bert``, or the same argument in Python, ``family="bert"``."""

    name: str
    value: str = ""


class Finding(NamedTuple):
    """One finding about a model; the model fails if the severity is ``error``."""

    kind: Kind
    message: str  # the problem, with exact values; a sentence without its full stop
    fix: str = ""  # the text to write, or the command to run
    severity: Severity = "error"
    component: str | None = None
    expected: int | None = None
    actual: int | None = None
    limit: int | None = None
    file: str | None = None  # the file's path, relative to the project's root
    line: int | None = None
    table_key: tuple[str, ...] | None = None  # the key in the project's table, to look up its line
    base: int | None = None  # the count at the base, if it exceeded the limit there already
    asks_why: bool = False  # True if a new reason in the table resolves the finding
    elsewhere: tuple[str | Option, ...] = ()  # the fix if no table declares the model; empty if it is the same as fix

    @property
    def place(self) -> str:
        """The file and line for a message: ``models/config.json:4``, ``pyproject.toml`` or nothing."""
        return f"{self.file}:{self.line}" if self.file and self.line else self.file or ""

    def in_command(self) -> Finding:
        """Return the finding with the fix for someone who names the model in a command."""
        written = (each if isinstance(each, str) else f"--{each.name} {each.value}".strip() for each in self.elsewhere)
        return self._replace(fix="".join(written)) if self.elsewhere else self

    def in_python(self) -> Finding:
        """Return the finding with the fix for someone who names the model in a line of Python."""
        written = ""
        for each in self.elsewhere:
            written += each if isinstance(each, str) else f'{each.name}="{each.value}"' if each.value else each.name
        return self._replace(fix=written) if written else self

    @property
    def sentence(self) -> str:
        """The finding as a sentence: ``config.json:4: what is wrong; what to write``."""
        place = f"{self.place}: " if self.place else ""
        fix = f"; {self.fix}" if self.fix else ""
        return f"{place}{self.message}{fix}"


class Unusable(Exception):
    """The error for a model that cannot be checked, for the reasons in :attr:`findings`."""

    def __init__(self, *findings: Finding) -> None:
        super().__init__(*(finding.message for finding in findings))
        self.findings = findings


def find_all(finders: Iterable[Callable[[], T]], wrong: Iterable[Finding] = ()) -> list[T]:
    """Return the result of each function; raise Unusable with all findings, ``wrong`` among them, if there are any."""
    found, findings = [], dict.fromkeys(wrong)
    for find in finders:
        try:
            found.append(find())
        except Unusable as unusable:
            findings |= dict.fromkeys(unusable.findings)
    if findings:
        raise Unusable(*findings)
    return found
