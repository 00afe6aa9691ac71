"""A log in the terminal: the oldest above, so that the last line is the last that happened."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Group
from rich.text import Text

from pytest_bertsize.reports.growth_words import headline, notes, said
from pytest_bertsize.reports.terminal.drawing import draw, hanging, usable
from pytest_bertsize.wording import exact, plural, printable, signed

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pytest_bertsize.base.growth import Growth, Line, Row
    from pytest_bertsize.reports.terminal.drawing import Style

MOST_ROWS = 100
"""Of one model, the last ones; other forms have all."""
LABEL = 24
"""Characters of a tag's name."""
DAY = len("2026-11-22")
INDENT = "  "
LEAST = 12
"""Cells that are worth beginning a subject in."""


def drawn(found: Growth, lines: Sequence[Line], style: Style) -> str:
    """Each model by itself, then what is to be said of all."""
    parts = [draw(Group(*_of_model(line, style)), style) for line in lines]
    told = [draw(hanging("- ", "dim", each, style), style) for each in notes(found, lines)]
    return "\n\n".join([*parts, "\n".join(told)] if told else parts)


def _of_model(line: Line, style: Style) -> Iterator[RenderableType]:
    yield Text(headline(line), style="bold")
    rows = line.rows[-MOST_ROWS:]
    if hidden := len(line.rows) - len(rows):
        yield Text(
            f"{INDENT}({plural(hidden, 'earlier row')} not shown: --format json or md, or a range, has them)",
            style="dim",
        )
    cells = [_cells(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row, (label, total, change) in zip(rows, cells, strict=True):
        numbers = f"{total:>{widths[1]}}  {change:>{widths[2]}}"
        head = f"{INDENT}{label:<{widths[0]}}  {row.commit.date[:DAY]:{DAY}}  {numbers}"
        yield Text.assemble(head, *_subject(row, usable(style) - cell_len(head)))
        yield from (hanging(INDENT * 2, "", each, style) for each in said(row))


def _cells(row: Row) -> tuple[str, str, str]:
    label = printable(row.commit.label, LABEL)
    total = "" if row.total is None else exact(row.total)
    return label, total, "" if row.change is None else signed(row.change) if row.change else "="


def _subject(row: Row, room: int) -> Iterator[tuple[str, str]]:
    """As much of it as the line takes."""
    room -= len(INDENT)
    if room < LEAST:
        return
    text = printable(row.commit.subject)
    while cell_len(text) > room:
        text = f"{text.removesuffix('…')[:-1]}…"
    yield f"{INDENT}{text}", "dim"
