"""Terminal reports: a model that failed, one that passed, and the whole run."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace
from rich.cells import cell_len

from pytest_bertsize.findings import BROKEN
from pytest_bertsize.inventory import TOTAL
from pytest_bertsize.quantity import compact_left, percent_used
from pytest_bertsize.reports import sentences
from pytest_bertsize.reports.drawing import (
    NAME,
    Style,
    bound_lines,
    colour_text,
    draw,
    drop_columns,
    fit,
    hanging,
    powers,
    to_terminal,
    usable,
)
from pytest_bertsize.reports.headline import has_way_out
from pytest_bertsize.reports.report import NOTES_FOR_REVIEWERS
from pytest_bertsize.reports.sentences import show_difference
from pytest_bertsize.table.limits import NAMED, unit_of
from pytest_bertsize.wording import MOST_NAMED, exact, listed, plural

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

    from pytest_bertsize.reports.report import Component, FindingRow, FoldedTensor, Measure, ModelReport, RunBase

MOST_SENTENCES = 40  # the most findings shown for a model, errors first; further ones are usually repetitions
MOST_ROWS = 30  # the most rows for passed models, and the most lines for groups of them
FEWEST = 3  # the least number of models that share one line because their names have one pattern; fewer get a row each
MOST_PLACES = 3  # the most places in files that are shown for a finding of several models
_MARKS = {"error": ("✗", "red"), "warning": ("!", "yellow"), "note": ("-", "dim")}
_MARKS |= {"passed": ("✓", ""), "failed": ("✗", "red"), "uncounted": ("!", "")}


def draw_failure(model: ModelReport, style: Style) -> str:
    """Draw a failed model: its headline with fixes of the findings that it states, table, changes, other findings."""
    findings = model.own_findings
    if not model.components and not any(each.severity == "error" for each in findings):  # other models have the error
        return draw(style, *_finding_lines(findings, style, f"{model.name}: "))
    if not model.components and len(findings) == 1:
        (only,) = findings
        line = ": ".join(filter(None, (model.name, only.place, only.message)))
        return draw(style, hanging("", "bold red", line, style), *_fix_lines(only.fix, style))
    told = [each for each in findings if each.fix and _is_told(each)]
    ways = [line for each in told for line in _fix_lines(_say_way_out(each, is_whole=has_way_out(model)), style)]
    blocks: list[list[RenderableType]] = [
        [hanging("", "bold red", model.headline, style), *ways],
        _table_parts(model, style) if model.components else [],
        [] if _is_change_told(model, style) else _base_lines(model, style),
        _finding_lines([each for each in findings if each not in told], style),
        _choice_lines(model, style),
    ]
    return _draw_blocks(blocks, style)


def _fix_lines(fix: str, style: Style) -> list[RenderableType]:
    return [hanging("  → ", "cyan", fix, style)] if fix else []


def _is_told(finding: FindingRow) -> bool:
    """Return whether the headline states the finding, in words or by the numbers of a limit."""
    is_sum = finding.kind == "off-closed-form" and finding.expected and finding.actual != finding.expected
    return finding.in_headline and not is_sum


def _is_change_told(model: ModelReport, style: Style) -> bool:
    """Return whether the headline and the table show the whole change: one key explains all of it."""
    base = model.base
    if base is None or style.verbosity > 0 or not model.components or base.said or base.tensors:
        return False
    return [row.total for row in base.changes] == [model.base_delta]


def _say_way_out(finding: FindingRow, *, is_whole: bool) -> str:
    """Return the fix of a finding, with the place of a limit; ``""`` if the headline, which ``is_whole``, has it."""
    if finding.limit is not None:
        return f"{finding.fix} ({finding.place})" if finding.place else finding.fix
    return "" if is_whole and finding.kind != "off-closed-form" else finding.fix


def draw_model(model: ModelReport, style: Style) -> str:
    """Draw a passed model for ``-v``: title, table, changes, and the costs of next changes."""
    return _draw_blocks([_table_parts(model, style), _base_lines(model, style) + _choice_lines(model, style)], style)


def _draw_blocks(blocks: Iterable[Sequence[RenderableType]], style: Style) -> str:
    """Draw blocks of lines, separated by empty lines."""
    parts = [part for block in blocks if block for part in (colour_text(""), *block)]
    return draw(style, *parts[1:])


def _table_parts(model: ModelReport, style: Style) -> list[RenderableType]:
    title = colour_text("").append(model.architecture, style="bold")
    title.append(f"  {model.config}  " if model.config else "  ", style="cyan")
    title.append(" ".join(f"{symbol}={size}" for symbol, size in model.symbols.items()), style="dim")
    return [title, *([colour_text("")] if style.verbosity > 0 else []), _component_table(model, style)]


def draw_notes(model: ModelReport, style: Style) -> str:
    """Draw the warnings of a passed model, urgent notes unless the base shows the same, and with ``-v`` every note."""
    base, lock = model.base, model.lock
    is_said = bool(base and lock and lock.known and base.tensors == lock.tensors)
    urgent = NOTES_FOR_REVIEWERS - ({"differs-from-lock"} if is_said else set())
    is_shown = (style.verbosity > 0 or each.severity != "note" or each.kind in urgent for each in model.own_findings)
    return draw(style, *_finding_lines([*compress(model.own_findings, is_shown)], style, prefix=f"{model.name}: "))


def take_common(models: Sequence[ModelReport], style: Style) -> tuple[str, list[ModelReport]]:
    """Draw each finding that several models share once; return the drawing, and the models without these findings.

    A model that was not counted and has nothing but notes left loses the notes too, unless the style is verbose.
    """
    found: dict[str, dict[str, FindingRow]] = {}
    for model in models:
        for each in model.own_findings:
            if each.severity != "note" or each.kind in NOTES_FOR_REVIEWERS:
                found.setdefault(_without_line(each), {})[model.name] = each
    common = {said: rows for said, rows in found.items() if len(rows) > 1}
    lines = []
    for rows in common.values():
        places = [*dict.fromkeys(each.place for each in rows.values())]
        told = replace(next(iter(rows.values())), file=listed(places, MOST_PLACES), line=None)
        lines += _finding_lines([told], style, prefix=f"{listed([*rows], MOST_NAMED)}: ")
    rest = []
    for model in models:
        left = [each for each in model.findings if _without_line(each) not in common]
        is_told = not model.components and style.verbosity < 1 and all(each.severity == "note" for each in left)
        rest.append(replace(model, findings=[each for each in left if not is_told or each.kind in NOTES_FOR_REVIEWERS]))
    return draw(style, *lines), _join_alike(rest, style)


def _join_alike(models: Sequence[ModelReport], style: Style) -> list[ModelReport]:
    """Join failed models whose reports differ only in name and config: the first gets the names of all."""
    groups: dict[str, list[int]] = {}
    for at, model in enumerate(models):
        if model.verdict == "failed" and model.components and model.headline.startswith(f"{model.name}: "):
            groups.setdefault(draw_failure(_rename(model, "", ""), style), []).append(at)
    joined = [*models]
    for first, *others in groups.values():
        if others:
            alike = [models[at] for at in (first, *others)]
            names = listed([each.name for each in alike], MOST_NAMED)
            configs = [*dict.fromkeys(each.config for each in alike)]
            joined[first] = _rename(models[first], names, listed(configs, MOST_PLACES))
        for at in others:
            joined[at] = replace(models[at], components=[], findings=[])
    return joined


def _rename(model: ModelReport, name: str, config: str) -> ModelReport:
    headline = f"{name}: {model.headline.removeprefix(f'{model.name}: ')}"
    return replace(model, name=name, config=config, headline=headline)


def _without_line(finding: FindingRow) -> str:
    return repr(replace(finding, line=None, in_headline=False))


def draw_stand_ins(models: Sequence[ModelReport], style: Style) -> str:
    """Draw each finding on a stand-in (for a missing module) once, with the names of its models."""
    found = sentences.name_stand_ins(models)
    lines = [hanging("- ", "dim", each, style) for each in found[:MOST_SENTENCES]]
    if rest := len(found[MOST_SENTENCES:]):
        lines.append(colour_text(f"{exact(rest)} more stand-ins are in the JSON report", "dim"))
    return draw(style, *lines)


def draw_comparison(model: ModelReport, style: Style) -> str:
    """Draw the changes of a passed model since the base; return ``""`` if there are none."""
    return draw(style, *_base_lines(model, style, f"{model.name} ")) if model.differs_from_base else ""


def draw_base(base: RunBase, models: Sequence[ModelReport], style: Style) -> str:
    """Draw the base of the run if there is something to report."""
    lines: list[RenderableType] = []
    against = f"against {sentences.name_revision(base.revision, base.commit)}"
    differing = [model for model in models if model.differs_from_base]
    if not base.problem:
        are_counted = all(model.parameter_count is not None for model in models)
        if are_counted and not base.removed and not differing:
            lines.append(colour_text(f"{against}: no count changed", "dim"))
        elif style.verbosity < 1 and any(model.verdict == "failed" for model in differing):
            lines.append(colour_text(against, "dim"))
    if missing := base.problem or listed(base.not_compared, MOST_NAMED):
        lines.append(hanging("! ", "yellow", f"not compared with {base.revision}: {missing}", style))
    lines += [hanging("- ", "yellow", line, style) for line in sentences.list_removed(base, failed=False)]
    return draw(style, *lines)


def _can_be_accepted(model: ModelReport) -> bool:
    """Return whether a command can raise a limit that fails the model, and nothing but limits and its lock fail it."""
    errors = [row for row in model.findings if row.severity == "error"]
    of_services = {row.name for row in model.measures if row.limit in NAMED}  # which no project can raise
    budgets = {*BROKEN, "budget-loosened"}
    is_any_raised = any(row.kind in budgets and row.component not in of_services for row in errors)
    return is_any_raised and {row.kind for row in errors} <= {*budgets, "differs-from-lock"}


def draw_way_to_accept(models: Iterable[ModelReport], base: RunBase | None, root: Path, style: Style) -> str:
    """Draw the command that raises budgets if only budgets and locks fail a model of the project in ``root``."""
    acceptable = any(map(_can_be_accepted, models))
    since = f" --base {shlex.quote(base.revision)}" if base else ""
    folder = os.path.relpath(root)
    project = "" if {*Path(folder).parts} <= {os.pardir} else f" --project {shlex.quote(folder)}"
    said = f'to accept these counts: bertsize accept{project}{since} --reason "…"'
    return draw(style, hanging("→ ", "cyan", said, style)) if acceptable else ""


def _finding_lines(findings: Sequence[FindingRow], style: Style, prefix: str = "") -> list[RenderableType]:
    lines: list[RenderableType] = []
    for finding in findings[:MOST_SENTENCES]:
        mark, colour = _MARKS[finding.severity]
        place = f" ({finding.place})" if finding.place else ""
        lines.append(hanging(f"{mark} ", colour, f"{prefix}{finding.message}{place}", style))
        lines += _fix_lines(finding.fix, style)
    if rest := len(findings[MOST_SENTENCES:]):
        lines.append(colour_text(f"{prefix}{exact(rest)} more findings are not shown: the JSON report has them", "dim"))
    return lines


def _choice_lines(model: ModelReport, style: Style) -> list[RenderableType]:
    """Draw sizes that would fit, and the costs of next changes, for ``-v``."""
    said = sentences.describe_choices(model.choices) if model.choices and style.verbosity > 0 else ()
    return [hanging("→ ", "cyan", text, style) for text in said]


def _base_lines(model: ModelReport, style: Style, prefix: str = "") -> list[RenderableType]:
    lines = [] if model.is_unchanged else sentences.compare_with_base(model)  # the run says that nothing changed
    head = [hanging("→ ", "cyan", f"{prefix}{each}", style) for each in lines[:1]]
    return [*head, *(hanging("    ", "", each, style) for each in lines[1:])]


# all models of a run

BOLD, RED = "1", "31"
"""Codes of ECMA-48 (Select Graphic Rendition)."""


def draw_overview(models: Sequence[ModelReport], style: Style, patterns: Mapping[str, str]) -> str:
    """Draw a row for each model; if many passed, a line for each of ``patterns``: tables with several models."""
    rows, lines = ([*models], []) if style.verbosity > 0 else _fold_passed(models, patterns)
    parts = [_draw_rows([_overview_row(model) for model in rows], style)] if rows else []
    if lines:
        parts.append(draw(style, *(hanging("✓  ", "", line, style) for line in lines)))
    return "\n".join(parts)


def _draw_rows(rows: Sequence[Mapping[str, str]], style: Style) -> str:
    """Draw a table of ``rows`` without importing ``rich.console``; drop columns and shorten names if it is too wide."""
    widths = {column: max(cell_len(column), *(cell_len(row[column]) for row in rows)) for column in rows[0]}
    needed = {column: (min(width, NAME) if column == "model" else width) + 2 for column, width in widths.items()}
    shown = drop_columns(needed, ("architecture", "left", "budget"), usable(style))
    room = usable(style) - sum(needed[column] for column in shown) + needed["model"] - 2
    widths["model"] = min(widths["model"], room)
    lines = []
    for row in ({column: column for column in shown}, *rows):
        cells = []
        for column in shown:
            cell = fit(row[column], widths[column])
            gap = " " * (widths[column] - cell_len(cell))
            cells.append(gap + cell if column in {"parameters", "budget", "left"} else cell + gap)
        text, colour = "  ".join(cells).rstrip(), {"": BOLD, "✗": RED}.get(row[""], "")
        lines.append(f"\x1b[{colour}m{text}\x1b[0m" if style.colour and colour else text)
    return bound_lines(to_terminal("\n".join(lines), style).splitlines())


def _fold_passed(models: Sequence[ModelReport], patterns: Mapping[str, str]) -> tuple[list[ModelReport], list[str]]:
    """Return the models to draw as rows, and lines that count the others."""
    passed = [model for model in models if model.verdict == "passed"]
    if len(passed) <= MOST_ROWS:
        return [*models], []
    groups: dict[tuple[str, bool], list[ModelReport]] = {}
    for model in passed:
        pattern = re.sub(r"\{[^{}]*\}", "*", patterns.get(model.name, "")) or re.sub(r"\d+", "*", model.name)
        groups.setdefault((pattern, model.report_only), []).append(model)
    largest = sorted(groups, key=lambda key: -len(groups[key]))[:MOST_ROWS]
    folded = [key for key in groups if key in largest and len(groups[key]) >= FEWEST]
    lines = [_describe_group(key[0], groups[key]) for key in folded]
    failed = [model for model in models if model.verdict != "passed"]
    rest = [model for key, group in groups.items() if key not in folded for model in group]
    if len(rest) <= MOST_ROWS:
        return [*failed, *rest], lines
    others = [[each for each in rest if each.report_only is only] for only in (False, True)]
    return failed, [*lines, *(_describe_group("others" if lines else "", group) for group in others if group)]


def _describe_group(pattern: str, models: Sequence[ModelReport]) -> str:
    """Return ``model-*: 97 passed, BertModel, 102,291,081 to 103,057,774 parameters, tightest model-7 (+1K left)``."""
    classes = {model.architecture for model in models}
    counts = [row.known_count or 0 for model in models if (row := model.total_row)]
    sizes = " to ".join(map(exact, dict.fromkeys((min(counts), max(counts))))) if counts else ""
    rooms = [(row.room_left, model.name) for model in models if (row := model.total_row) and row.room_left is not None]
    limits = {model.limited_by for model in models}
    tightest = f"limited by {limits.pop().removeprefix('by ')}" if len(limits) == 1 else ""
    if models[0].report_only:
        tightest = "report-only"
    elif rooms:  # the least room under the limit of a total
        left, name = min(rooms)
        rest = len(models) - len(rooms)
        without = f"; {exact(rest)} without a limit of the total" if rest else ""
        tightest = f"tightest {name} ({compact_left(left)} left){without}"
    parts = [
        f"{pattern}: {exact(len(models))} passed" if pattern else f"{plural(len(models), 'model')} passed",
        classes.pop() if len(classes) == 1 else plural(len(classes), "class", "classes"),
        f"{sizes} parameters" if sizes else "",
        tightest,
    ]
    return ", ".join(filter(None, parts))


def _overview_row(model: ModelReport) -> dict[str, str]:
    whole = model.total_row
    left = model.room_left
    return {
        "": _MARKS[model.verdict][0],
        "model": model.name,
        "architecture": model.architecture,
        "parameters": "not counted" if whole is None else exact(whole.known_count or 0),
        "budget": model.limited_by if whole or model.report_only else "",
        "left": "" if left is None else compact_left(left),
    }


# the table of one model's components; numbers are never cut: whole columns are dropped, the least important first

COMPONENT = "  component"
COLUMNS = (COMPONENT, "closed form", "actual", "share", "vs formula", "vs base", "budget", "left", "used", "")
DROPPED_FIRST = ("", "share", "closed form", "used", "left", "budget", "vs base")
NARROWEST_NAME = 14
TENSOR = 40  # the width in cells to which longer names of tensors are shortened before other columns are dropped
MOST_LINES = 200  # the most lines of a table; a model whose layers all differ has thousands
BAR = 9  # the width of a full bar, in cells of the terminal


class _Line(Struct, frozen=True):
    """One line of the table, as text."""

    cells: dict[str, str]
    failed: bool = False
    dim: bool = False
    left: int | None = None


def _component_table(model: ModelReport, style: Style) -> RenderableType:
    from rich.box import SIMPLE_HEAD
    from rich.console import Group
    from rich.table import Table

    def is_shown(row: Component) -> bool:
        return row.name == TOTAL or bool(row.known_count or row.failed or row.form_delta or row.base_delta)

    rows = model.components if style.verbosity > 0 else [row for row in model.chosen_rows if is_shown(row)]
    all_lines = [line for row in rows for line in _component_lines(row, model, style)]
    all_lines += [_line_of(row, row.name, {}) for row in model.limited_measures]  # under the total
    lines = all_lines if len(all_lines) <= MOST_LINES else [*all_lines[: MOST_LINES - 1], all_lines[-1]]
    columns, widths = _lay_out(lines, style)
    table = Table(box=SIMPLE_HEAD, show_edge=False, padding=0, header_style="bold", border_style="dim")
    for column in columns:
        at_left = column in {COMPONENT, ""}
        table.add_column(column, width=widths[column], justify="left" if at_left else "right", no_wrap=True)
    for line in lines:
        table.add_row(*(_draw_cell(line, column, widths) for column in columns))
    said = _describe_table(model, style, len(all_lines) - len(lines))
    return Group(table, *(hanging("  ", "dim", f"({each})", style) for each in said if each))


def _describe_table(model: ModelReport, style: Style, cut: int) -> Iterator[str]:
    """Yield sentences under the table: on measures, trainable parameters, the checkpoint, and lines left out.

    With ``-v``, also the share of the embeddings, and totals that count tied tensors and shared layers more than once.

    :param cut: the number of lines left out of a long table.
    """
    stored, unrolled, count = model.totals.stored, model.totals.unrolled, model.parameter_count
    if style.verbosity > 0:
        yield sentences.describe_embedding(model)
        totals = [] if stored in {None, count} else [f"with ties written out {exact(stored or 0)}"]
        if unrolled not in {None, stored} and count == model.totals.expected:
            totals.append(f"with shared layers unrolled {exact(unrolled or 0)}")
        yield "; ".join(totals)
    yield "; ".join(f"{row.name}: {row.what}" for row in model.limited_measures)
    yield from map(sentences.describe_parts, model.limited_measures)
    yield from sentences.describe_rest(model)
    if cut:
        yield f"{exact(cut)} lines above the total are not shown: the JSON report has them"
    if not model.built and not (model.base and model.verdict == "failed"):  # which the headline says
        yield f"not built: the {model.counted_by} gives these counts"


def _component_lines(row: Component, model: ModelReport, style: Style) -> Iterator[_Line]:
    depth = row.name.count(".")
    times = f" ×{row.layers}" if row.layers > 1 else ""
    label = f"{'  ' * depth}{row.name.rpartition('.')[2]}{times}"
    yield _line_of(row, label, {"share": sentences.share_of_total(row, model)})
    indent = "  " * (depth + 2)
    if row.form_delta:  # only the finding shows a long formula
        formula = row.formula if row.formula and len(row.formula) <= NAME else "closed form"
        expected: dict[str, str] = {"actual": exact(row.expected or 0), "vs formula": "expected"}
        yield _Line({COMPONENT: powers(f"{indent}{formula}", style), **expected}, dim=True)
    if style.verbosity > 1:
        yield from (_tensor_line(each, row, indent) for each in model.tensors if each.component == row.name)


def _line_of(row: Component | Measure, label: str, more: dict[str, str]) -> _Line:
    left, count, most = row.room_left, row.known_count or 0, row.max
    eighths = 0 if not most else min(8 * BAR * count // most, 8 * BAR)
    bar = (
        "█" * BAR + "▶" if most is not None and count > most else "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()
    )
    cells: dict[str, str] = {
        COMPONENT: f"{'✗ ' if row.failed else '  '}{label}",
        "closed form": "" if row.expected is None else exact(row.expected),
        "actual": "" if row.actual is None else exact(row.actual),
        "vs formula": "" if row.form_delta is None else show_difference(row.form_delta),
        "vs base": "" if row.base is None else show_difference(row.base_delta),
        "budget": row.limit or "",
        "left": "" if left is None else compact_left(left, unit_of(row.name)),
        "used": "" if most is None else percent_used(count, most),
        "": bar,  # the used share of the limit, rounded down
    }
    return _Line({**cells, **more}, row.failed, left=left)


def _tensor_line(tensor: FoldedTensor, row: Component, indent: str) -> _Line:
    times = f" ×{tensor.layers}" if tensor.layers > 1 else ""
    frozen = "" if tensor.trainable else " frozen"
    tail = tensor.name.rpartition(".*.")[2] if ".*." in tensor.name else tensor.name
    actual, expected = tensor.actual, tensor.expected
    cells = {
        COMPONENT: f"{indent}{tail} ({', '.join(map(str, tensor.shape))}){times}{frozen}",
        "closed form": "" if expected is None else exact(expected),
        "actual": "missing" if actual is None else "tied" if tensor.tied_to else exact(actual),
        "vs formula": "=" if actual == expected else "not expected" if expected is None else "missing",
    }
    if row.actual is None:  # nothing was built
        return _Line({**cells, "actual": "", "vs formula": ""}, dim=True)
    if row.expected is None:  # no closed form to compare with
        return _Line({**cells, "vs formula": ""}, dim=True)
    return _Line(cells, failed=actual != expected, dim=actual == expected)


def _lay_out(lines: Sequence[_Line], style: Style) -> tuple[list[str], dict[str, int]]:
    """Return the columns that fit, and their widths; only the column of names may be narrower than its content."""
    widths = {column: [cell_len(line.cells.get(column, "")) for line in lines] for column in COLUMNS}
    natural = {column: max(cell_len(column), *widths[column]) for column in COLUMNS}
    columns = [column for column in COLUMNS if any(widths[column])]
    if style.verbosity < 1 and "actual" in columns and "closed form" in columns:  # shown only if nothing is built
        columns.remove("closed form")
    room = min(natural[COMPONENT], TENSOR if style.verbosity > 1 else NAME)  # shortens a longer tensor name
    for name, dropped in ((room, DROPPED_FIRST), (min(room, NARROWEST_NAME), ["vs formula"])):
        needed = {column: (name if column == COMPONENT else natural[column]) + 1 for column in columns}
        columns = drop_columns(needed, dropped, usable(style))
    rest = sum(natural[column] for column in columns if column != COMPONENT) + len(columns)
    return columns, {**natural, COMPONENT: min(natural[COMPONENT], max(usable(style) - rest, NARROWEST_NAME))}


def _draw_cell(line: _Line, column: str, widths: dict[str, int]) -> Text:
    text = line.cells.get(column, "")
    colour = "dim" if line.dim or text == "=" else ""
    if line.failed and column in {COMPONENT, "actual", "vs formula"} and text != "=":
        colour = "bold red"
    if line.left is not None and column in {"left", "used", ""}:
        colour = "red" if line.left < 0 else "green"
    return colour_text(fit(text, widths[COMPONENT]) if column == COMPONENT else text, colour)
