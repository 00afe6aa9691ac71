"""A log for other documents: Markdown, and JSON with every row."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from pytest_bertsize.reports.growth_words import beside, headline, notes, said
from pytest_bertsize.reports.markdown.text import code, table, text
from pytest_bertsize.reports.model_report import change_of
from pytest_bertsize.wording import exact, signed

if TYPE_CHECKING:
    from pytest_bertsize.base.growth import Growth, Line, Row

SCHEMA = 1
DAY = len("2026-11-22")
COLUMNS = ("commit", "date", "subject", "what moved it", "parameters", "change")


def quoted(found: Growth, lines: Sequence[Line], form: str, release: str) -> str:
    """:param form: ``md`` or ``json``.
    :param release: of transformers, whose closed forms count.
    """
    versions = {"pytest_bertsize": version("pytest-bertsize"), "transformers": release}
    if form == "json":
        return json.dumps(_document(found, lines, versions), indent=2, ensure_ascii=True)
    tools = ", ".join(f"{name.replace('_', '-')} {text(each)}" for name, each in versions.items())
    parts = [_section(line) for line in lines]
    return "\n\n".join([*parts, *(f"- {text(each)}" for each in notes(found, lines)), tools])


def _section(line: Line) -> str:
    rows = [
        (
            code(row.commit.label),
            row.commit.date[:DAY],
            text(row.commit.subject),
            "<br>".join(map(text, said(row))),
            "" if row.total is None else exact(row.total),
            "" if row.change is None else signed(row.change),
        )
        for row in line.rows
    ]
    return f"**{text(headline(line))}**\n\n{table(COLUMNS, rows, left=4)}"


def _document(found: Growth, lines: Sequence[Line], versions: dict[str, str]) -> dict[str, Any]:
    span = found.span
    return {
        "schema": SCHEMA,
        "range": {"asked": span.asked, "after": span.start, "to": span.end, "shallow": found.is_cut},
        "commits_read": found.looked_at,
        "models": [
            {"name": line.name, "names": [*line.names], "declared": not line.is_left, "rows": [*map(_row, line.rows)]}
            for line in lines
        ],
        "notes": [*notes(found, lines)],
        "versions": versions,
    }


def _row(row: Row) -> dict[str, Any]:
    commit = row.commit
    return {
        "commit": commit.name,
        "tags": [*commit.tags],
        "parents": [*commit.parents],
        "date": commit.date,
        "subject": commit.subject,
        "total": row.total,
        "by": row.by or None,
        "change": row.change,
        "since": row.since or None,
        "keys": [dict(change_of(each)) for each in row.moved],
        "method": row.method,
        "said": [*beside(row)],
    }
