"""Which file names make which report. A report replaces an earlier one of its own format, and no other file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pytest_bertsize.reports.shape import RunReport

GENERATOR = '<meta name="generator" content="pytest-bertsize'
"""In the head of every page of ours."""
_HEAD = 4_096
"""Characters of a page in which that stands."""


@dataclass(frozen=True, slots=True)
class Format:
    """How a report becomes text, and how an earlier text of ours is told from somebody else's."""

    render: Callable[[RunReport, Path], str]
    """Of a report and the project's folder."""
    is_ours: Callable[[str], bool]


def _markdown(report: RunReport, _: Path) -> str:
    from pytest_bertsize.reports.markdown import page as markdown

    return markdown.page(report)


def _is_markdown(content: str) -> bool:
    from pytest_bertsize.reports.markdown import page as markdown

    return content.startswith(markdown.MARK)


def _html(report: RunReport, _: Path) -> str:
    from pytest_bertsize.reports.html import page as html

    return html.page(report)


def _json(report: RunReport, _: Path) -> str:
    from pytest_bertsize.reports import json

    return json.render(report)


def _is_json(content: str) -> bool:
    from pytest_bertsize.reports import json

    return json.is_ours(content)


def _code_quality(report: RunReport, root: Path) -> str:
    from pytest_bertsize.reports import gitlab

    return gitlab.render(report, root)


def _is_code_quality(content: str) -> bool:
    from pytest_bertsize.reports import gitlab

    return gitlab.is_ours(content)


JSON = Format(_json, _is_json)
CODE_QUALITY = Format(_code_quality, _is_code_quality)
BY_SUFFIX = {
    ".codequality.json": CODE_QUALITY,
    ".json": JSON,
    ".md": Format(_markdown, _is_markdown),
    ".html": Format(_html, lambda content: GENERATOR in content[:_HEAD]),
}
"""The first that fits, behind at least one character of a name."""
BY_NAME = {"gl-code-quality-report.json": CODE_QUALITY}
"""What GitLab's own documentation calls its report."""
SUFFIXES = ".json, .md or .html"


def format_of(path: Path) -> Format | None:
    """The format that a file's name asks for."""
    if path.name in BY_SUFFIX:
        return None
    by_suffix = (found for suffix, found in BY_SUFFIX.items() if path.name.endswith(suffix))
    return BY_NAME.get(path.name) or next(by_suffix, None)


def may_be_replaced(path: Path, found: Format) -> bool:
    """Whether what stands there is an earlier report of ours, or an empty file, which is nobody's."""
    content = path.read_bytes()
    try:
        return not content or found.is_ours(content.decode("utf-8"))
    except UnicodeDecodeError:
        return False
