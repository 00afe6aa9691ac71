"""Candidates in the terminal: a column each, and as many tables as the width makes of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Table
from rich.text import Text

from pytest_bertsize.commands.console import heading, origin, warnings
from pytest_bertsize.commands.diff.candidates import Row, explanation, label, measures, of_measures, rows, shape
from pytest_bertsize.inventory import TOTAL
from pytest_bertsize.reports.rows import NOTHING
from pytest_bertsize.reports.terminal.drawing import draw, fit, hanging, usable
from pytest_bertsize.wording import exact, signed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from pytest_bertsize.commands.named_model import Explained
    from pytest_bertsize.reports.terminal.drawing import Style

GAPS = (2, 1)
"""Cells between columns; the narrower one where that makes fewer tables."""
NARROWEST_NAME = 14
CHANGE = "change"


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the table, as text."""

    name: str
    cells: tuple[str, ...]
    changes: tuple[str, ...]
    """Since the first; all empty where nothing changed, or where a change is no number."""
    colour: str = ""
    begins: bool = False
    """Whether it stands apart from what is above it."""


def drawn(sides: Sequence[Explained], style: Style) -> str:
    parts: list[RenderableType] = []
    for index, side in enumerate(sides):
        parts += [Text.assemble(f"{label(index)}  ", heading(side)), *origin(side, style)]
    parts += [Text(""), *_tables([*_lines(sides)], len(sides), style)]
    parts += [Text(f"({of_measures()})", style="dim"), Text("")]
    for index, side in enumerate(sides[1:], 1):
        mark = "- " if len(sides) == 2 else f"{label(index)}  "  # noqa: PLR2004  (a pair)
        parts += [hanging(mark, "dim", line, style) for line in explanation(sides[0], side)]
    findings = dict.fromkeys(finding for side in sides for finding in side.derivation.values.findings)
    return draw(Group(*parts, *warnings(findings, style)), style)


def _lines(sides: Sequence[Explained]) -> Iterator[Line]:
    for row in rows(sides):
        changed = any(row.changes)
        colour = "dim" if not changed else "bold" if "." not in row.name else ""
        name = f"{'  ' * row.name.count('.')}{row.name.rpartition('.')[2]}"
        yield _line(row, name, colour, begins=row.name == TOTAL)
    for index, row in enumerate(measures(sides)):
        yield _line(row, row.name, "", begins=index == 0)
    cells = [shape(side).cells for side in sides]
    for name in cells[0]:
        yield Line(name, tuple(each[name] for each in cells), ("",) * len(sides))


def _line(row: Row, name: str, colour: str, *, begins: bool) -> Line:
    cells = tuple(NOTHING if value is None else exact(value) for value in row.values)
    changes = tuple("" if change is None else signed(change) if change else "=" for change in row.changes)
    return Line(name, cells, ("", *changes[1:]), colour, begins)


def _tables(lines: Sequence[Line], count: int, style: Style) -> Iterator[RenderableType]:
    """All candidates in one table where it is wide enough for them; else each table has the first again."""
    if count == 2:  # noqa: PLR2004  (a pair has its change beside it)
        pair = [Line(each.name, (*each.cells, each.changes[1]), (), each.colour, each.begins) for each in lines]
        yield _table(pair, [label(0), label(1), CHANGE], [0, 1, 2], GAPS[0], style)
        yield Text("")
        return
    labels = [label(index) for index in range(count)]
    room = usable(style) - NARROWEST_NAME
    gap, groups = min(((gap, [*_groups(lines, labels, gap, room)]) for gap in GAPS), key=lambda each: len(each[1]))
    for group in groups:
        yield _table(lines, labels, group, gap, style)
        yield Text("")
    if len(groups) > 1:
        yield Text(f"({count} candidates stand in {len(groups)} tables, each of them with {labels[0]})", style="dim")


def _groups(lines: Sequence[Line], labels: Sequence[str], gap: int, room: int) -> Iterator[list[int]]:
    """Which candidates stand in one table: the first, and as many others as fit, at least one."""
    widths = [_width(lines, labels, at) + gap for at in range(len(labels))]
    group = [0]
    for at in range(1, len(labels)):
        if len(group) > 1 and sum(widths[each] for each in (*group, at)) > room:
            yield group
            group = [0]
        group.append(at)
    yield group


def _width(lines: Sequence[Line], labels: Sequence[str], column: int) -> int:
    return max(map(len, (labels[column], *(text for line in lines for text in _texts(line, column)))))


def _table(lines: Sequence[Line], labels: Sequence[str], columns: Sequence[int], gap: int, style: Style) -> Table:
    widths = [_width(lines, labels, at) for at in columns]
    room = usable(style) - sum(widths) - gap * len(widths)
    table = Table(box=SIMPLE_HEAD, show_edge=False, padding=(0, 0, 0, gap - 1), pad_edge=False, header_style="bold")
    table.border_style = "dim"
    table.add_column("component", no_wrap=True)
    for at in columns:
        table.add_column(labels[at], justify="right", no_wrap=True)
    for line in lines:
        if line.begins:
            table.add_section()
        cells = (fit(line.name, room), *(line.cells[at] for at in columns))
        table.add_row(*(Text(text, style=line.colour) for text in cells))
        changes = [line.changes[at].replace("=", "") for at in columns] if line.changes else []
        if any(changes):
            table.add_row("", *(Text(each, style="dim") for each in changes))
    return table


def _texts(line: Line, column: int) -> tuple[str, ...]:
    return line.cells[column], *line.changes[column : column + 1]
