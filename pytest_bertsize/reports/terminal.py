"""The report in a terminal, drawn by rich at the width that is there. A number is never cut: whole columns go first."""

from __future__ import annotations

from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, Literal, TypeAlias

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, Group, JustifyMethod, RenderableType
from rich.table import Table
from rich.text import Text

from pytest_bertsize.inventory import TOTAL
from pytest_bertsize.quantity import compact_left, exact, percent_used, signed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_bertsize.reports import Component, FindingRow, FoldedTensor, ModelReport

Column: TypeAlias = Literal["component", "actual", "closed form", "vs formula", "budget", "left", "used", ""]

COLUMNS: tuple[Column, ...] = ("component", "closed form", "actual", "vs formula", "budget", "left", "used", "")
DROPPED_FIRST: tuple[Column, ...] = ("", "closed form", "used", "left", "budget", "vs formula")
NARROWEST = 60
NARROWEST_NAME = 14
NAME = 24
TENSOR = 40
"""Cells that names need before columns are dropped for them."""
BAR = 9
"""Cells of a full bar."""

_ASCII = str.maketrans("✗✓×·─█▶→≥…▏▎▍▌▋▊▉", "x+x*-#>>>~    ###")
"""One cell for one cell, so that columns stay where they are."""


@dataclass(frozen=True, slots=True)
class Style:
    """What the terminal can show."""

    width: int = 80
    colour: bool = False
    unicode: bool = True
    verbosity: int = 0


def failure(model: ModelReport, style: Style) -> str:
    """The whole report of a model that failed: headline, table, a sentence for each finding with its way out."""
    parts: list[RenderableType] = [Text(model["headline"], style="bold red"), Text("")]
    if model["components"]:
        parts += [_title(model), Text(""), _table(model, style), Text("")]
    parts += _sentences(model["findings"], style)
    return _draw(Group(*parts), style)


def breakdown(model: ModelReport, style: Style) -> str:
    """Title and table of a model that passed, for ``-v``."""
    return _draw(Group(_title(model), Text(""), _table(model, style)), style)


def notes(model: ModelReport, style: Style) -> str:
    """The warnings of a model that passed, ``""`` if there are none."""
    return (
        _draw(Group(*_sentences(model["findings"], style, prefix=f"{model['name']}: ")), style)
        if model["findings"]
        else ""
    )


def overview(models: Sequence[ModelReport], style: Style) -> str:
    """One line for each model: mark, name, architecture, total, budget, left."""
    cells = [["", "model", "architecture", "parameters", "budget", "left"], *(_overview_row(model) for model in models)]
    columns = [0, 1, 2, 3, 4, 5]
    for dropped in (2, 5, 4):
        if _overview_width(cells, columns) > _usable(style):
            columns.remove(dropped)
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(justify="right" if column > 2 else "left", no_wrap=True)  # noqa: PLR2004
    room = _usable(style) - _overview_width([[row[c] if c != 1 else "" for c in range(6)] for row in cells], columns)
    for index, row in enumerate(cells):
        colour = "bold" if index == 0 else "red" if row[0] == "✗" else ""
        shown = [_fit(row[column], room) if column == 1 else row[column] for column in columns]
        table.add_row(*(Text(cell, style=colour) for cell in shown))
    return _draw(table, style)


def _overview_width(cells: list[list[str]], columns: list[int]) -> int:
    """What the columns take; a name takes no more than it may be shortened to."""
    natural = {column: max(cell_len(row[column]) for row in cells) for column in columns}
    return sum(min(width, NAME) if column == 1 else width for column, width in natural.items()) + 2 * len(columns)


def _overview_row(model: ModelReport) -> list[str]:
    total = next((row for row in model["components"] if row["name"] == TOTAL), None)
    count = exact(total["actual"]) if total and total["actual"] is not None else "not counted"
    limit = "report-only" if model["report_only"] else (total["limit"] if total else None) or "by component"
    mark = "✓" if model["verdict"] == "passed" else "✗"
    room = _left(total) if total else None
    return [
        mark,
        model["name"],
        model["architecture"],
        count,
        limit if total else "",
        "" if room is None else compact_left(room),
    ]


def _draw(content: RenderableType, style: Style) -> str:
    drawn = StringIO()
    console = Console(
        file=drawn,
        width=_usable(style),
        force_terminal=style.colour,
        color_system="standard" if style.colour else None,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
        _environ={},
    )
    console.print(content)
    text = drawn.getvalue() if style.unicode else drawn.getvalue().translate(_ASCII)
    return "\n".join(line.rstrip() for line in text.splitlines())


def _usable(style: Style) -> int:
    return max(style.width, NARROWEST) - 1


def _powers(text: str, style: Style) -> str:
    """Superscripts need two cells in ASCII, so they are written out before anything is laid out."""
    return text if style.unicode else text.replace("²", "^2").replace("³", "^3")


def _title(model: ModelReport) -> RenderableType:
    title = Text()
    title.append(model["architecture"], style="bold")
    title.append(f"  {model['config']}  ", style="cyan")
    title.append(" ".join(f"{symbol}={size}" for symbol, size in model["symbols"].items()), style="dim")
    return title


# the table


def _table(model: ModelReport, style: Style) -> RenderableType:
    rows, hidden = _selected(model["components"], style.verbosity)
    lines = [line for row in rows for line in _lines(row, model, style)]
    columns, widths = _layout(lines, style)
    table = Table(box=SIMPLE_HEAD, show_edge=False, padding=0, header_style="bold", border_style="dim")
    for column in columns:
        justify: JustifyMethod = "left" if column in {"component", ""} else "right"
        table.add_column(_header(column), width=widths[column], justify=justify, no_wrap=True)
    for line in lines:
        table.add_row(*(_cell(line, column, widths) for column in columns))
    parts: list[RenderableType] = [table]
    if hidden:
        what = "part that matches its" if hidden == 1 else "parts that match their"
        are, it = ("is", "it") if hidden == 1 else ("are", "them")
        parts.append(Text(f"  ({hidden} {what} closed form {are} not shown: -v shows {it})", style="dim"))
    return Group(*parts)


@dataclass(frozen=True, slots=True)
class _Line:
    """One line of the table, as text; ``row`` is what it is about."""

    cells: dict[Column, str]
    failed: bool = False
    dim: bool = False
    room: int | None = None


def _selected(components: Sequence[Component], verbosity: int) -> tuple[list[Component], int]:
    """The rows to show, and how many are left out; those all match and have no limit."""
    if verbosity:
        return list(components), 0
    wanted = {row["name"] for row in components if "." not in row["name"] or row["limit"] or _differs(row)}
    wanted |= {name.rpartition(".")[0] for name in wanted}
    chosen = [row for row in components if row["name"] in wanted]
    return chosen, len(components) - len(chosen)


def _lines(row: Component, model: ModelReport, style: Style) -> list[_Line]:
    lines = [_component_line(row)]
    if _differs(row):
        lines.append(_expectation(row, style))
    if style.verbosity > 1:
        lines += [_tensor_line(t, row) for t in model["tensors"] if t["component"] == row["name"]]
    return lines


def _component_line(row: Component) -> _Line:
    actual, expected, room = row["actual"] or 0, row["expected"] or 0, _left(row)
    cells: dict[Column, str] = {
        "component": ("✗ " if row["failed"] else "  ") + _label(row),
        "closed form": exact(expected),
        "actual": exact(actual),
        "vs formula": "=" if actual == expected else signed(actual - expected),
        "budget": row["limit"] or "",
        "left": "" if room is None else compact_left(room),
        "used": "" if row["max"] is None else percent_used(actual, row["max"]),
        "": "" if row["max"] is None else _bar(actual, row["max"]),
    }
    return _Line(cells, row["failed"], room=room)


def _label(row: Component) -> str:
    depth = row["name"].count(".")
    times = f" ×{row['layers']}" if row["layers"] > 1 and (depth or row["layers"] > 1) else ""
    return f"{'  ' * depth}{row['name'].rpartition('.')[2]}{times}"


def _expectation(row: Component, style: Style) -> _Line:
    """What the closed form says, under a row that differs from it; a long formula stands in the finding alone."""
    formula = row["formula"] if row["formula"] and len(row["formula"]) <= NAME else "closed form"
    name = f"{'  ' * (row['name'].count('.') + 2)}{formula}"
    return _Line(
        {"component": _powers(name, style), "actual": exact(row["expected"] or 0), "vs formula": "expected"}, dim=True
    )


def _tensor_line(tensor: FoldedTensor, row: Component) -> _Line:
    times = f" ×{tensor['layers']}" if tensor["layers"] > 1 else ""
    shape = f" ({', '.join(str(size) for size in tensor['shape'])})"
    name = f"{'  ' * (row['name'].count('.') + 2)}{_tail(tensor['name'])}{shape}{times}"
    actual, expected = tensor["actual"], tensor["expected"]
    cells: dict[Column, str] = {
        "component": name,
        "closed form": "" if expected is None else exact(expected),
        "actual": "missing" if actual is None else "tied" if tensor["tied_to"] else exact(actual),
        "vs formula": "=" if actual == expected else "not expected" if expected is None else "missing",
    }
    return _Line(cells, failed=actual != expected, dim=actual == expected)


def _tail(name: str) -> str:
    """The end of a tensor's name that tells it from its neighbours: ``query.weight``."""
    return name.rpartition(".*.")[2] if ".*." in name else name


def _differs(row: Component) -> bool:
    return row["actual"] != row["expected"]


def _left(row: Component) -> int | None:
    """Room under the limit, or above the lower one; negative by how much a limit is broken."""
    actual, low, high = row["actual"] or 0, row["min"], row["max"]
    if low is not None and actual < low:
        return actual - low
    if high is not None:
        return high - actual
    return None if low is None else actual - low


def _bar(actual: int, limit: int) -> str:
    """The share of the limit that is used, rounded down; an arrow where it runs over."""
    if actual > limit:
        return "█" * BAR + "▶"
    eighths = 8 * BAR * actual // limit if limit else 0
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def _header(column: Column) -> str:
    return "  component" if column == "component" else column


def _layout(lines: Sequence[_Line], style: Style) -> tuple[list[Column], dict[Column, int]]:
    """Drop whole columns until the rest fits; only names of components are ever shortened."""
    natural = {
        column: max(cell_len(_header(column)), *(cell_len(line.cells.get(column, "")) for line in lines))
        for column in COLUMNS
    }
    columns = [column for column in COLUMNS if column not in _unused(lines, style)]
    for dropped in DROPPED_FIRST:
        if _needed(
            columns, natural, NARROWEST_NAME if dropped == "vs formula" else _name_room(natural, style)
        ) <= _usable(style):
            break
        if dropped in columns:
            columns.remove(dropped)
    rest = _needed(columns, natural, 0)
    return columns, {**natural, "component": min(natural["component"], max(_usable(style) - rest, NARROWEST_NAME))}


def _unused(lines: Sequence[_Line], style: Style) -> set[Column]:
    """Columns that say nothing here; the closed form's count is only shown where somebody asks for detail."""
    empty: set[Column] = {column for column in COLUMNS if not any(line.cells.get(column) for line in lines)}
    return empty | (set() if style.verbosity else {"closed form"})


def _name_room(natural: dict[Column, int], style: Style) -> int:
    """What names need before columns are dropped for them; a longer tensor name is shortened instead."""
    return min(natural["component"], TENSOR if style.verbosity > 1 else NAME)


def _needed(columns: Sequence[Column], natural: dict[Column, int], name: int) -> int:
    return sum(name if column == "component" else natural[column] for column in columns) + len(columns)


def _fit(text: str, width: int) -> str:
    """Shorten a name to a number of cells from its left: its end tells it from its neighbours and has the numbers."""
    if cell_len(text) <= width:
        return text
    name = text.lstrip("✗ ")
    indent = text[: len(text) - len(name)]
    while name and cell_len(name) > width - len(indent) - 1:
        name = name[1:]
    return f"{indent}…{name}"


def _cell(line: _Line, column: Column, widths: dict[Column, int]) -> Text:
    text = line.cells.get(column, "")
    colour = "dim" if line.dim else ""
    if line.failed and column in {"component", "actual", "vs formula"}:
        colour = "bold red"
    if line.room is not None and column in {"left", "used", ""}:
        colour = "red" if line.room < 0 else "green"
    return Text(_fit(text, widths["component"]) if column == "component" else text, style=colour)


# the sentences


def _sentences(findings: Sequence[FindingRow], style: Style, prefix: str = "") -> list[RenderableType]:
    marks = {"error": ("✗", "red"), "warning": ("!", "yellow"), "note": ("-", "dim")}
    ordered = sorted(findings, key=lambda finding: list(marks).index(finding["severity"]))
    lines: list[RenderableType] = []
    for finding in ordered:
        mark, colour = marks[finding["severity"]]
        lines.append(_hanging(f"{mark} ", colour, f"{prefix}{finding['message']}{_place(finding)}", style))
        if finding["fix"]:
            lines.append(_hanging("  → ", "cyan", finding["fix"], style))
    return lines


def _place(finding: FindingRow) -> str:
    if not finding["file"]:
        return ""
    return f" ({finding['file']}:{finding['line']})" if finding["line"] else f" ({finding['file']})"


def _hanging(mark: str, colour: str, sentence: str, style: Style) -> RenderableType:
    """A sentence that wraps under itself, not under its mark."""
    grid = Table.grid()
    grid.add_column(width=len(mark), no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(Text(mark, style=colour), Text(_powers(sentence, style)))
    return grid
