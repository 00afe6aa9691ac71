"""An explanation in a terminal: columns that do not fit are dropped, formulas wrap, numbers are never cut."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from pytest_bertsize.commands.explain.tree import NONE, TIED
from pytest_bertsize.inventory import TOTAL
from pytest_bertsize.reports.drawing import Style, drop_columns, fit, powers, usable
from pytest_bertsize.wording import exact

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pytest_bertsize.commands.explain.tree import Line

Column: TypeAlias = Literal["", "formula", "numbers", "parameters", "in all layers"]

COLUMNS: tuple[Column, ...] = ("", "formula", "numbers", "parameters", "in all layers")
DROPPED_FIRST: tuple[Column, ...] = ("in all layers", "numbers")
RIGHT: tuple[Column, ...] = ("parameters", "in all layers")
GAP = 2
NARROWEST_NAME = 34
"""Cells of a tensor's name; other names are whole."""
NARROWEST_FORMULA = 16
"""Cells of a formula before its sums are wrapped no further."""


def table(lines: Sequence[Line], style: Style) -> RenderableType:
    """Name, formula, numbers, parameters and, inside a layer, the parameters of all layers."""
    rows = [(line, _cells(line, style)) for line in lines]
    columns, widths = _layout(rows, style)
    drawn = Table(box=SIMPLE_HEAD, show_edge=False, padding=0, header_style="bold", border_style="dim")
    for column in columns:
        gap = GAP - 1 if column != columns[-1] else 0
        drawn.add_column(_fitted(column, column, widths), width=widths[column] + gap, no_wrap=True)
    for line, cells in rows:
        colour = "bold" if line.depth == 0 and not line.minor else "dim" if line.minor else ""
        if line.name == TOTAL and line.depth == 0:
            drawn.add_section()
        drawn.add_row(*(Text(_fitted(cells[column], column, widths), style=colour) for column in columns))
    return drawn


def _cells(line: Line, style: Style) -> dict[Column, str]:
    return {
        "": f"{'  ' * line.depth}{line.name}",
        "formula": powers(line.formula, style),
        "numbers": powers(line.numbers, style),
        "parameters": exact(line.count),
        "in all layers": "" if line.in_all is None else exact(line.in_all),
    }


def _fitted(text: str, column: Column, widths: dict[Column, int]) -> str:
    if column in RIGHT:
        return text.rjust(widths[column])
    return fit(text, widths[column]) if column == "" else _wrapped(text, widths[column])


def _wrapped(text: str, width: int) -> str:
    """A sum on several lines, each after the first with its sign ahead; a long term between its factors."""
    if text.startswith(TIED) and cell_len(text) > width:
        return f"{TIED.strip()}\n{fit(text.removeprefix(TIED), width)}"
    if text.startswith(NONE) and cell_len(text) > width:
        return NONE.partition(" ")[0]
    terms = re.split(r"(?<= )(?=[+-] )", text)
    lines = _filled((part for term in terms for part in _filled(re.split("(?<=·)", term), width)), width)
    return "\n".join(line.rstrip() for line in lines)


def _filled(parts: Iterable[str], width: int) -> list[str]:
    """Parts on as few lines as they fit on, one after the other; a part is never broken."""
    lines = [""]
    for part in parts:
        if lines[-1] and cell_len((lines[-1] + part).rstrip()) > width:
            lines.append(part)
        else:
            lines[-1] += part
    return lines


def _layout(rows: Sequence[tuple[Line, dict[Column, str]]], style: Style) -> tuple[list[Column], dict[Column, int]]:
    """Drop columns until the rest fits, sums being wrapped and names of tensors shortened as far as they have to be."""
    natural = {column: max(cell_len(column), *(cell_len(cells[column]) for _, cells in rows)) for column in COLUMNS}
    least = {**natural, **_least(rows)}
    tight = natural if not any(line.tensor for line, _ in rows) else least
    needed = {column: tight[column] + GAP for column in COLUMNS if any(cells[column] for _, cells in rows)}
    columns = drop_columns(needed, DROPPED_FIRST, usable(style) + GAP)
    widths = dict(natural)
    for column in ("formula", ""):
        over = max(_needed(columns, widths) - usable(style), 0)
        widths[column] = max(widths[column] - over, min(widths[column], least[column]))
    widths[""] -= max(_needed(columns, widths) - usable(style), 0)
    return columns, widths


def _least(rows: Sequence[tuple[Line, dict[Column, str]]]) -> dict[Column, int]:
    """What names and formulas can do with: a name that is no tensor's is whole, a sum is wrapped between its terms."""
    names = [min(cell_len(cells[""]), NARROWEST_NAME if line.tensor else sys.maxsize) for line, cells in rows]
    terms = [_wrapped(cells["formula"], NARROWEST_FORMULA) for _, cells in rows]
    return {"": max(names), "formula": max(cell_len(line) for text in terms for line in text.split("\n"))}


def _needed(columns: Sequence[Column], widths: dict[Column, int]) -> int:
    return sum(widths[column] for column in columns) + GAP * (len(columns) - 1)
