"""The table of one model's components. A number is never cut: whole columns go first, the least important one ahead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Group, JustifyMethod, RenderableType
from rich.table import Table
from rich.text import Text

from pytest_bertsize.quantity import compact_left, percent_used
from pytest_bertsize.reports import sentences
from pytest_bertsize.reports.rows import chosen, counted, difference, differs, room, share_of_total, unique
from pytest_bertsize.reports.terminal.drawing import NAME, Style, columns_that_fit, fit, hanging, powers, usable
from pytest_bertsize.table.model import unit_of
from pytest_bertsize.wording import exact

if TYPE_CHECKING:
    from pytest_bertsize.reports.shape import Component, FoldedTensor, Measure, ModelReport

Column: TypeAlias = Literal[
    "component", "actual", "share", "closed form", "vs formula", "vs base", "budget", "left", "used", ""
]

COLUMNS: tuple[Column, ...] = (
    "component",
    "closed form",
    "actual",
    "share",
    "vs formula",
    "vs base",
    "budget",
    "left",
    "used",
    "",
)
DROPPED_FIRST: tuple[Column, ...] = ("", "share", "closed form", "used", "left", "budget", "vs base")
DROPPED_LAST: tuple[Column, ...] = ("vs formula",)
"""Where names are as narrow as they can be."""
NARROWEST_NAME = 14
TENSOR = 40
"""Cells that a tensor's name gets before columns are dropped for it."""
MOST_LINES = 200
"""Of a table; a model whose layers all differ has thousands of them."""
BAR = 9
"""Cells of a full bar."""


def component_table(model: ModelReport, style: Style) -> RenderableType:
    rows, hidden = _selected(model["components"], style.verbosity)
    all_lines = [line for row in rows for line in _lines(row, model, style)]
    all_lines += [_measure_line(row) for row in sentences.limited_measures(model)]
    lines = all_lines if len(all_lines) <= MOST_LINES else [*all_lines[: MOST_LINES - 1], all_lines[-1]]
    columns, widths = _layout(lines, style)
    table = Table(box=SIMPLE_HEAD, show_edge=False, padding=0, header_style="bold", border_style="dim")
    for column in columns:
        justify: JustifyMethod = "left" if column in {"component", ""} else "right"
        table.add_column(_header(column), width=widths[column], justify=justify, no_wrap=True)
    for line in lines:
        table.add_row(*(_cell(line, column, widths) for column in columns))
    parts: list[RenderableType] = [table]
    said = [sentences.embedding(model), _other_totals(model), *_measured(model), *sentences.beside(model)]
    parts += [hanging("  ", "dim", f"({each})", style) for each in said if each]
    if len(all_lines) > len(lines):
        rest = len(all_lines) - len(lines)
        parts.append(
            Text(f"  ({exact(rest)} lines above the total are not shown: the JSON report has them)", style="dim")
        )
    if not model["built"]:
        parts.append(Text("  (not built: these are the closed form's counts)", style="dim"))
    if hidden:
        parts.append(Text(f"  ({_left_out(hidden, model)})", style="dim"))
    return Group(*parts)


def _left_out(hidden: int, model: ModelReport) -> str:
    one = hidden == 1
    what = f"{'part that matches its' if one else 'parts that match their'} closed form"
    if not (model["closed_form"] and model["built"]):
        what = f"{'part' if one else 'parts'} without a limit"
    return f"{hidden} {what} {'is' if one else 'are'} not shown: -v shows {'it' if one else 'them'}"


def _other_totals(model: ModelReport) -> str:
    """What a counter that writes shared weights out would say, where that is another number."""
    totals = model["totals"]
    stored, unrolled = totals["stored"], totals["unrolled"]
    parts = [] if stored in {None, unique(model)} else [f"with ties written out {exact(stored or 0)}"]
    if unrolled not in {None, stored} and unique(model) == totals["expected"]:
        parts.append(f"with shared layers unrolled {exact(unrolled or 0)}")
    return "; ".join(parts)


@dataclass(frozen=True, slots=True)
class _Line:
    """One line of the table, as text."""

    cells: dict[Column, str]
    failed: bool = False
    dim: bool = False
    left: int | None = None


def _selected(components: Sequence[Component], verbosity: int) -> tuple[list[Component], int]:
    """The rows to show, and how many are left out; those all match and have no limit."""
    if verbosity > 0:
        return list(components), 0
    shown = chosen(components)
    return shown, len(components) - len(shown)


def _lines(row: Component, model: ModelReport, style: Style) -> list[_Line]:
    lines = [_component_line(row, model)]
    if differs(row):
        lines.append(_expectation(row, style))
    if style.verbosity > 1:
        lines += [_tensor_line(t, row) for t in model["tensors"] if t["component"] == row["name"]]
    return lines


def _component_line(row: Component, model: ModelReport) -> _Line:
    expected, left, is_built = row["expected"], room(row), row["actual"] is not None
    actual = counted(row) or 0
    cells: dict[Column, str] = {
        "component": ("✗ " if row["failed"] else "  ") + _label(row),
        "closed form": "" if expected is None else exact(expected),
        "actual": exact(actual) if is_built else "",
        "share": share_of_total(row, model),
        "vs formula": "" if expected is None or not is_built else difference(actual - expected),
        "vs base": "" if row["base"] is None else difference(actual - row["base"]),
        "budget": row["limit"] or "",
        "left": "" if left is None else compact_left(left),
        "used": "" if row["max"] is None else percent_used(actual, row["max"]),
        "": "" if row["max"] is None else _bar(actual, row["max"]),
    }
    return _Line(cells, row["failed"], left=left)


def _measure_line(row: Measure) -> _Line:
    """Bytes, FLOPs and growth, under the total."""
    left, actual, count = room(row), row["actual"], counted(row) or 0
    cells: dict[Column, str] = {
        "component": f"{'✗ ' if row['failed'] else '  '}{row['name']}",
        "closed form": "" if row["expected"] is None else exact(row["expected"]),
        "actual": "" if actual is None else exact(actual),
        "vs formula": "" if actual is None or row["expected"] is None else difference(actual - row["expected"]),
        "vs base": "" if row["base"] is None else difference(count - row["base"]),
        "budget": row["limit"] or "",
        "left": "" if left is None else compact_left(left, unit_of(row["name"])),
        "used": "" if row["max"] is None else percent_used(count, row["max"]),
        "": "" if row["max"] is None else _bar(count, row["max"]),
    }
    return _Line(cells, row["failed"], left=left)


def _measured(model: ModelReport) -> Iterator[str]:
    """What the numbers under the total are of, and where a forward pass multiplies."""
    limited = sentences.limited_measures(model)
    if limited:
        yield "; ".join(f"{row['name']}: {row['what']}" for row in limited)
    yield from filter(None, (sentences.parts(row) for row in limited))


def _label(row: Component) -> str:
    depth = row["name"].count(".")
    times = f" ×{row['layers']}" if row["layers"] > 1 else ""
    return f"{'  ' * depth}{row['name'].rpartition('.')[2]}{times}"


def _expectation(row: Component, style: Style) -> _Line:
    """What the closed form says, under a row that differs from it; a long formula stands in the finding alone."""
    formula = row["formula"] if row["formula"] and len(row["formula"]) <= NAME else "closed form"
    name = f"{'  ' * (row['name'].count('.') + 2)}{formula}"
    return _Line(
        {"component": powers(name, style), "actual": exact(row["expected"] or 0), "vs formula": "expected"}, dim=True
    )


def _tensor_line(tensor: FoldedTensor, row: Component) -> _Line:
    times = f" ×{tensor['layers']}" if tensor["layers"] > 1 else ""
    shape = f" ({', '.join(str(size) for size in tensor['shape'])})"
    frozen = "" if tensor["trainable"] else " frozen"
    name = f"{'  ' * (row['name'].count('.') + 2)}{_tail(tensor['name'])}{shape}{times}{frozen}"
    actual, expected = tensor["actual"], tensor["expected"]
    cells: dict[Column, str] = {
        "component": name,
        "closed form": "" if expected is None else exact(expected),
        "actual": "missing" if actual is None else "tied" if tensor["tied_to"] else exact(actual),
        "vs formula": "=" if actual == expected else "not expected" if expected is None else "missing",
    }
    if row["actual"] is None:  # nothing was built
        return _Line({**cells, "actual": "", "vs formula": ""}, dim=True)
    if row["expected"] is None:  # there is no closed form to compare with
        return _Line({**cells, "vs formula": ""}, dim=True)
    return _Line(cells, failed=actual != expected, dim=actual == expected)


def _tail(name: str) -> str:
    """The end of a tensor's name that tells it from its neighbours: ``query.weight``."""
    return name.rpartition(".*.")[2] if ".*." in name else name


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
    unused = _unused(lines, style)
    columns = [column for column in COLUMNS if column not in unused]
    room = _name_room(natural, style)
    for name, dropped in ((room, DROPPED_FIRST), (min(room, NARROWEST_NAME), DROPPED_LAST)):
        needed = {column: (name if column == "component" else natural[column]) + 1 for column in columns}
        columns = columns_that_fit(needed, dropped, usable(style))
    rest = sum(natural[column] for column in columns if column != "component") + len(columns)
    return columns, {**natural, "component": min(natural["component"], max(usable(style) - rest, NARROWEST_NAME))}


def _unused(lines: Sequence[_Line], style: Style) -> set[Column]:
    """Columns that say nothing here; the closed form's count is only shown where somebody asks for detail."""
    empty: set[Column] = {column for column in COLUMNS if not any(line.cells.get(column) for line in lines)}
    is_all_there_is = "actual" in empty
    return empty | (set() if style.verbosity > 0 or is_all_there_is else {"closed form"})


def _name_room(natural: dict[Column, int], style: Style) -> int:
    """What names need before columns are dropped for them; a longer tensor name is shortened instead."""
    return min(natural["component"], TENSOR if style.verbosity > 1 else NAME)


def _cell(line: _Line, column: Column, widths: dict[Column, int]) -> Text:
    text = line.cells.get(column, "")
    colour = "dim" if line.dim or text == "=" else ""
    if line.failed and column in {"component", "actual", "vs formula"} and text != "=":
        colour = "bold red"
    if line.left is not None and column in {"left", "used", ""}:
        colour = "red" if line.left < 0 else "green"
    return Text(fit(text, widths["component"]) if column == "component" else text, style=colour)
