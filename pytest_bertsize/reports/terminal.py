"""Terminal reports: a model that failed, one that passed, and the whole run."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pytest_bertsize.findings import BROKEN
from pytest_bertsize.quantity import compact_left
from pytest_bertsize.reports import sentences
from pytest_bertsize.reports.drawing import Line, Style, draw, draw_table, hanging
from pytest_bertsize.reports.report import NOTES_FOR_REVIEWERS
from pytest_bertsize.table.limits import NAMED
from pytest_bertsize.wording import MOST_NAMED, exact, listed, plural

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pytest_bertsize.reports.report import Component, FindingRow, FoldedTensor, Measure, ModelReport, RunBase

MOST_SENTENCES = 40  # the most findings shown for a model, errors first; further ones are usually repetitions
MOST_ROWS = 30  # the most passed models that have a row each; more are counted in one line
MOST_PLACES = 3  # the most places in files that are shown for a finding of several models
_COLOURS = {"error": "red", "warning": "yellow", "note": "dim"}


def draw_failure(model: ModelReport, style: Style) -> str:
    """Draw a failed model: its headline with the fix of the finding that it states, table, changes, other findings."""
    findings = model.own_findings
    if not model.components and not any(each.severity == "error" for each in findings):  # other models have the error
        return draw(style, *_finding_lines(findings, style, f"{model.name}: "))
    told = next((each for each in findings if each.in_headline and _is_stated(each)), None)
    fix = told.fix if told else ""
    stated = model.headline.replace(f"; {fix}", "", 1) if fix else model.headline
    if told and fix and told.place not in stated:
        fix = f"{fix} ({told.place})"
    blocks = [
        draw(style, hanging("", "bold red", stated, style), *_fix_lines(fix, style)),
        _draw_components(model, style) if model.components else "",
        draw(style, *_base_lines(model, style)),
        draw(style, *_finding_lines([each for each in findings if each is not told], style)),
        draw(style, *_choice_lines(model, style)),
    ]
    return "\n\n".join(filter(None, blocks))


def _is_stated(finding: FindingRow) -> bool:
    """Return whether a headline states the whole finding and its place: in words, or by the numbers of a limit.

    It does not say by how much a component is off the closed form, nor that the base exceeded the limit already.
    """
    is_sum = finding.kind == "off-closed-form" and finding.expected and finding.actual != finding.expected
    return not is_sum and finding.base is None and bool(finding.fix or finding.limit is None)


def _fix_lines(fix: str, style: Style) -> list[RenderableType]:
    return [hanging("  → ", "cyan", fix, style)] if fix else []


def draw_model(model: ModelReport, style: Style) -> str:
    """Draw a passed model for ``-v``: title, table, changes, and the costs of next changes."""
    below = draw(style, *_base_lines(model, style), *_choice_lines(model, style))
    return "\n\n".join(filter(None, [_draw_components(model, style), below]))


def draw_notes(model: ModelReport, style: Style) -> str:
    """Draw the warnings of a passed model, urgent notes unless the base shows the same, and with ``-v`` every note."""
    base, lock = model.base, model.lock
    is_said = bool(base and lock and lock.known and base.tensors == lock.tensors)
    urgent = NOTES_FOR_REVIEWERS - ({"differs-from-lock"} if is_said else set())
    shown = [
        each for each in model.own_findings if style.verbosity > 0 or each.severity != "note" or each.kind in urgent
    ]
    return draw(style, *_finding_lines(shown, style, prefix=f"{model.name}: "))


def take_common(models: Sequence[ModelReport], style: Style) -> tuple[str, list[ModelReport]]:
    """Draw each finding that several models share once; return the drawing, and the models without these findings.

    A model that was not counted and has nothing but notes left loses the notes too, unless the style is verbose.
    """

    def identify(finding: FindingRow) -> str:
        return repr(replace(finding, line=None, in_headline=False))

    found: dict[str, dict[str, FindingRow]] = {}
    for model in models:
        for each in model.own_findings:
            if each.severity != "note" or each.kind in NOTES_FOR_REVIEWERS:
                found.setdefault(identify(each), {})[model.name] = each
    common = {said: rows for said, rows in found.items() if len(rows) > 1}
    lines = []
    for rows in common.values():
        places = [*dict.fromkeys(each.place for each in rows.values())]
        told = replace(next(iter(rows.values())), file=listed(places, MOST_PLACES), line=None)
        lines += _finding_lines([told], style, prefix=f"{listed([*rows], MOST_NAMED)}: ")
    rest = []
    for model in models:
        left = [each for each in model.findings if identify(each) not in common]
        is_told = not model.components and style.verbosity < 1 and all(each.severity == "note" for each in left)
        rest.append(replace(model, findings=[each for each in left if not is_told or each.kind in NOTES_FOR_REVIEWERS]))
    return draw(style, *lines), rest


def draw_stand_ins(models: Sequence[ModelReport], style: Style) -> str:
    """Draw each finding on a stand-in (for a missing module) once, with the names of its models."""
    found = sentences.list_first(sentences.name_stand_ins(models), MOST_SENTENCES, "stand-in")
    return draw(style, *(hanging("- ", "dim", each, style) for each in found))


def draw_comparison(model: ModelReport, style: Style) -> str:
    """Draw the changes of a passed model since the base; return ``""`` if there are none."""
    return draw(style, *_base_lines(model, style, f"{model.name} ")) if model.differs_from_base else ""


def draw_base(base: RunBase, models: Sequence[ModelReport], style: Style) -> str:
    """Draw the base of the run if there is something to report, but not the removed models that fail the run."""
    lines: list[RenderableType] = []
    is_counted = all(model.parameter_count is not None for model in models)
    if not (base.problem or base.removed or any(model.differs_from_base for model in models)) and is_counted:
        revision = sentences.name_revision(base.revision, base.commit)
        lines.append(hanging("", "dim", f"against {revision}: no count changed", style))
    found = (each for each in sentences.list_problems(base) if each[0] != "error")
    lines += [hanging(f"{sentences.MARKS[severity]} ", "yellow", said, style) for severity, said in found]
    return draw(style, *lines)


def draw_way_to_accept(models: Iterable[ModelReport], base: RunBase | None, root: Path, style: Style) -> str:
    """Draw the command that raises budgets if only budgets and locks fail a model of the project in ``root``."""
    since = f" --base {shlex.quote(base.revision)}" if base else ""
    folder = os.path.relpath(root)
    project = "" if {*Path(folder).parts} <= {os.pardir} else f" --project {shlex.quote(folder)}"
    said = f'to accept these counts: bertsize accept{project}{since} --reason "…"'
    return draw(style, hanging("→ ", "cyan", said, style)) if any(map(_can_be_accepted, models)) else ""


def _can_be_accepted(model: ModelReport) -> bool:
    """Return whether a command can raise a limit that fails the model, and nothing but limits and its lock fail it."""
    errors = [row for row in model.findings if row.severity == "error"]
    of_services = {row.name for row in model.measures if row.limit in NAMED}  # which no project can raise
    budgets = {*BROKEN, "budget-loosened"}
    is_any_raised = any(row.kind in budgets and row.component not in of_services for row in errors)
    return is_any_raised and {row.kind for row in errors} <= {*budgets, "differs-from-lock"}


def _finding_lines(findings: Sequence[FindingRow], style: Style, prefix: str = "") -> list[RenderableType]:
    lines: list[RenderableType] = []
    for finding in findings[:MOST_SENTENCES]:
        mark, place = sentences.MARKS[finding.severity], f" ({finding.place})" if finding.place else ""
        said = f"{prefix}{finding.message}{place}"
        lines += [hanging(f"{mark} ", _COLOURS[finding.severity], said, style), *_fix_lines(finding.fix, style)]
    rest = sentences.count_rest(len(findings), MOST_SENTENCES, "finding")
    return [*lines, *(hanging("", "dim", f"{prefix}{each}", style) for each in rest)]


def _choice_lines(model: ModelReport, style: Style) -> list[RenderableType]:
    """Draw sizes that would fit, and the costs of next changes, for ``-v``."""
    said = sentences.describe_choices(model.choices) if style.verbosity > 0 else {}
    return [hanging("→ ", "cyan", f"{title}: {'; or '.join(lines)}", style) for title, lines in said.items()]


def _base_lines(model: ModelReport, style: Style, prefix: str = "") -> list[RenderableType]:
    lines = sentences.compare_with_base(model)
    head = [hanging("→ ", "cyan", f"{prefix}{each}", style) for each in lines[:1]]
    return [*head, *(hanging("    ", "", each, style) for each in lines[1:])]


# all models of a run


def draw_overview(models: Sequence[ModelReport], style: Style) -> str:
    """Draw a row for each model; if many passed, one line counts them, unless ``-v`` asks for all rows."""
    passed = [model for model in models if model.verdict == "passed"]
    is_short = style.verbosity < 1 and len(passed) > MOST_ROWS
    rows = [model for model in models if not is_short or model.verdict != "passed"]
    parts = []
    if rows:
        dropped_first = ("architecture", "vs base", "left", "budget")
        parts.append(draw_table(map(_draw_model, rows), (MODEL, "architecture"), dropped_first, style))
    if is_short:
        rooms = [(row.room_left, model.name) for model in passed if (row := model.total_row) and row.max is not None]
        tightest = f"; the least room is that of {min(rooms)[1]} ({compact_left(min(rooms)[0] or 0)})" if rooms else ""
        free = sum(model.report_only for model in passed)
        unlimited = f", {exact(free)} of them report-only" if free else ""
        said = f"{plural(len(passed), 'model')} passed{unlimited}{tightest}; -v shows each"
        parts.append(draw(style, hanging("✓  ", "", said, style)))
    return "\n".join(parts)


def _draw_model(model: ModelReport) -> Line:
    cells = {MODEL: f"{sentences.MARKS[model.verdict]}  {model.name}", **sentences.show_model(model)}
    return Line(cells, dict.fromkeys(cells, "red") if model.verdict == "failed" else {})


# the table of one model's components

MODEL, COMPONENT, BAR_OF_USE = "   model", "  component", ""
DROPPED_FIRST = (BAR_OF_USE, "share", "closed form", "used", "left", "budget", "vs base", "vs formula")
NAME, TENSOR = 24, 40  # the widths to which names are shortened before columns are dropped; ``-vv`` shows tensors
MOST_LINES = 200  # the most components in a table
BAR = 9  # the width of a full bar, in cells of the terminal


def _draw_components(model: ModelReport, style: Style) -> str:
    """Draw the title of a model, its table, and the sentences below it."""
    from rich.text import Text

    is_full = style.verbosity > 0
    rows = model.list_rows(MOST_LINES, is_full=is_full)
    lines = []
    for row in rows:
        times = f" ×{row.layers}" if row.layers > 1 else ""
        indent = "  " * row.name.count(".")
        cells = sentences.show_row(row, model.total_row, is_full=is_full)
        lines.append(_draw_row(row, f"{indent}{row.name.rpartition('.')[2]}{times}", cells))
        tensors = [each for each in model.tensors if each.component == row.name] if style.verbosity > 1 else []
        lines += [_draw_tensor(each, row, f"{indent}    ", cells) for each in tensors[:MOST_LINES]]
    measures = model.limited_measures
    lines += [_draw_row(row, row.name, sentences.show_row(row, None, is_full=is_full)) for row in measures]
    name = TENSOR if style.verbosity > 1 else NAME
    table = draw_table(lines, (COMPONENT, BAR_OF_USE), DROPPED_FIRST, style, name=name, is_ruled=True)
    title = Text(model.architecture, style="bold").append(f"  {model.config}  " if model.config else "  ", style="cyan")
    title.append(" ".join(f"{symbol}={size}" for symbol, size in model.symbols.items()), style="dim")
    said = [f"({each})" for each in sentences.describe_table(model, is_full=is_full)]
    said += sentences.count_rest(len(model.components), len(rows), "component") if is_full else []
    below = draw(style, *(hanging("  ", "dim", each, style) for each in said))
    return "\n".join(filter(None, [draw(style, title), table, below]))


def _draw_row(row: Component | Measure, label: str, cells: dict[str, str]) -> Line:
    bar, count, most = "", row.known_count or 0, row.max
    if most is not None:  # the used share of the limit, rounded down to eighths of a cell
        eighths = min(8 * BAR * count // most, 8 * BAR) if most else 8 * BAR if count else 0
        bar = "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip() + ("▶" if count > most else "")
    wrong = sentences.find_wrong(row)
    colours = {column: "dim" for column, cell in cells.items() if cell == "="}
    colours |= dict.fromkeys(("left", "used", BAR_OF_USE), "red" if "left" in wrong else "green")
    colours |= dict.fromkeys(wrong - {"left", "used"}, "bold red")
    colours[COMPONENT] = colours.pop("name", "")
    return Line({COMPONENT: f"{'✗ ' if row.failed else '  '}{label}", **cells, BAR_OF_USE: bar}, colours)


def _draw_tensor(tensor: FoldedTensor, row: Component, indent: str, of_row: dict[str, str]) -> Line:
    times = f" ×{tensor.layers}" if tensor.layers > 1 else ""
    frozen = "" if tensor.trainable else " frozen"
    actual, expected = tensor.actual, tensor.expected
    tail = tensor.name.rpartition(".*.")[2] if ".*." in tensor.name else tensor.name
    cells = {COMPONENT: f"{indent}{tail} ({', '.join(map(str, tensor.shape))}){times}{frozen}"}
    cells |= {**dict.fromkeys([*of_row, BAR_OF_USE], ""), "closed form": sentences.show_count(expected)}
    if row.actual is not None:
        cells["actual"] = "missing" if actual is None else "tied" if tensor.tied_to else exact(actual)
    is_compared = row.actual is not None and row.expected is not None
    if is_compared:
        cells["vs formula"] = "=" if actual == expected else "not expected" if expected is None else "missing"
    return Line(cells, dict.fromkeys(cells, "bold red" if is_compared and actual != expected else "dim"))
