"""Which file names make which report. A report replaces an earlier one of its own format, and no other file."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

if TYPE_CHECKING:
    from pytest_bertsize.reports.shape import RunReport


class Reporter(Protocol):
    """What the module of every format has."""

    def render(self, report: RunReport, root: Path, /) -> str:
        """The report as text.

        :param root: the project's folder.
        """
        ...

    def is_ours(self, text: str, /) -> bool:
        """Whether it is an earlier report of this format, and not somebody else's."""
        ...


class Format(NamedTuple):
    """A kind of report, by the module of this room that writes it."""

    module: str
    called: str = "a report of pytest-bertsize"

    @property
    def reporter(self) -> Reporter:
        """Imported where a report is written or recognised, and no sooner."""
        return cast("Reporter", import_module(f"pytest_bertsize.reports.{self.module}"))


PAGE = ".html"
JSON = Format("json")
WHAT_IF = Format("html.what_if", "a page of bertsize explain")
BY_SUFFIX = {
    ".json": JSON,
    ".md": Format("markdown.page"),
    PAGE: Format("html.page"),
}
"""The first that fits, behind at least one character of a name."""
SUFFIXES = ".json, .md or .html"
LARGEST = 256 * 1024 * 1024
"""Bytes; no report of ours comes near it, and what is larger is not read to see that it is none."""


def format_of(path: Path) -> Format | None:
    """The format that a file's name asks for."""
    if path.name in BY_SUFFIX:
        return None
    return next((found for suffix, found in BY_SUFFIX.items() if path.name.endswith(suffix)), None)


def may_be_replaced(path: Path, found: Format) -> bool:
    """Whether what stands there is an earlier report of ours, or an empty file, which is nobody's."""
    if path.stat().st_size > LARGEST:
        return False
    content = path.read_bytes()
    try:
        return not content or found.reporter.is_ours(content.decode("utf-8"))
    except UnicodeDecodeError:
        return False
