"""Terminal reports: a model that failed, one that passed, and the whole run."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pytest_bertsize.findings import BROKEN
from pytest_bertsize.inventory import TOTAL
from pytest_bertsize.quantity import compact_left, percent_used
from pytest_bertsize.reports import sentences
from pytest_bertsize.reports.drawing import Line, Style, draw, draw_table, hanging, powers
from pytest_bertsize.reports.headline import has_way_out
from pytest_bertsize.reports.report import NOTES_FOR_REVIEWERS
from pytest_bertsize.table.limits import NAMED, unit_of
from pytest_bertsize.wording import MOST_NAMED, exact, listed, plural

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pytest_bertsize.reports.report import Component, FindingRow, FoldedTensor, Measure, ModelReport, RunBase

MOST_SENTENCES = 40  # the most findings shown for a model, errors first; further ones are usually repetitions
MOST_ROWS = 30  # the most passed models that have a row each; more are counted in one line
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
    blocks = [
        draw(style, hanging("", "bold red", model.headline, style), *ways),
        _draw_components(model, style) if model.components else "",
        "" if _is_change_told(model, style) else draw(style, *_base_lines(model, style)),
        draw(style, *_finding_lines([each for each in findings if each not in told], style)),
        draw(style, *_choice_lines(model, style)),
    ]
    return "\n\n".join(filter(None, blocks))


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
    """Draw the base of the run if there is something to report."""
    lines: list[RenderableType] = []
    is_counted = all(model.parameter_count is not None for model in models)
    if not (base.problem or base.removed or any(model.differs_from_base for model in models)) and is_counted:
        revision = sentences.name_revision(base.revision, base.commit)
        lines.append(hanging("", "dim", f"against {revision}: no count changed", style))
    if missing := base.problem or listed(base.not_compared, MOST_NAMED):
        lines.append(hanging("! ", "yellow", f"not compared with {base.revision}: {missing}", style))
    lines += [hanging("- ", "yellow", line, style) for line in sentences.list_removed(base, failed=False)]
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
        mark, colour = _MARKS[finding.severity]
        place = f" ({finding.place})" if finding.place else ""
        lines.append(hanging(f"{mark} ", colour, f"{prefix}{finding.message}{place}", style))
        lines += _fix_lines(finding.fix, style)
    rest = sentences.count_rest(len(findings), MOST_SENTENCES, "finding")
    return [*lines, *(hanging("", "dim", f"{prefix}{each}", style) for each in rest)]


def _choice_lines(model: ModelReport, style: Style) -> list[RenderableType]:
    """Draw sizes that would fit, and the costs of next changes, for ``-v``."""
    said = sentences.describe_choices(model.choices) if model.choices and style.verbosity > 0 else ()
    return [hanging("→ ", "cyan", text, style) for text in said]


def _base_lines(model: ModelReport, style: Style, prefix: str = "") -> list[RenderableType]:
    lines = [] if model.is_unchanged else sentences.compare_with_base(model)  # the run says that nothing changed
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
        columns = {"": "left", "model": "name", "architecture": "left"}
        columns |= dict.fromkeys(("parameters", "budget", "left"), "right")
        dropped_first = ("architecture", "left", "budget")
        parts.append(draw_table(columns, map(_overview_line, rows), dropped_first, style, gap=2))
    if is_short:
        rooms = [(row.room_left, model.name) for model in passed if (row := model.total_row) and row.max is not None]
        tightest = f"; the least room is that of {min(rooms)[1]} ({compact_left(min(rooms)[0] or 0)})" if rooms else ""
        free = sum(model.report_only for model in passed)
        unlimited = f", {exact(free)} of them report-only" if free else ""
        said = f"{plural(len(passed), 'model')} passed{unlimited}{tightest}; -v shows each"
        parts.append(draw(style, hanging("✓  ", "", said, style)))
    return "\n".join(parts)


def _overview_line(model: ModelReport) -> Line:
    whole, left = model.total_row, model.room_left
    cells = {
        "": _MARKS[model.verdict][0],
        "model": model.name,
        "architecture": model.architecture,
        "parameters": "not counted" if whole is None else exact(whole.known_count or 0),
        "budget": model.limited_by if whole or model.report_only else "",
        "left": "" if left is None else compact_left(left),
    }
    return Line(cells, dict.fromkeys(cells, "red") if model.verdict == "failed" else {})


# the table of one model's components

COMPONENT = "  component"
COLUMNS = (COMPONENT, "closed form", "actual", "share", "vs formula", "vs base", "budget", "left", "used", "")
ALIGNED = {**dict.fromkeys(COLUMNS, "right"), COMPONENT: "name", "": "left"}
DROPPED_FIRST = ("", "share", "closed form", "used", "left", "budget", "vs base", "vs formula")
NAME, TENSOR = 24, 40  # the widths to which names are shortened before columns are dropped; ``-vv`` shows tensors
MOST_LINES = 200  # the most lines of a table; a model whose layers all differ has thousands
BAR = 9  # the width of a full bar, in cells of the terminal


def _draw_components(model: ModelReport, style: Style) -> str:
    """Draw the title of a model, its table, and the sentences below it."""
    from rich.text import Text

    def is_shown(row: Component) -> bool:
        return row.name == TOTAL or bool(row.known_count or row.failed or row.form_delta or row.base_delta)

    rows = model.components if style.verbosity > 0 else [row for row in model.chosen_rows if is_shown(row)]
    every = [line for row in rows for line in _component_lines(row, model, style)]
    every += [_line_of(row, row.name) for row in model.limited_measures]  # under the total
    lines = every if len(every) <= MOST_LINES else [*every[: MOST_LINES - 1], every[-1]]
    columns = dict(ALIGNED)
    if style.verbosity < 1 and any(line.cells["actual"] for line in lines):  # shown only if nothing is built
        del columns["closed form"]
    name = TENSOR if style.verbosity > 1 else NAME
    table = draw_table(columns, lines, DROPPED_FIRST, style, name=name, is_ruled=True)
    title = Text(model.architecture, style="bold").append(f"  {model.config}  " if model.config else "  ", style="cyan")
    title.append(" ".join(f"{symbol}={size}" for symbol, size in model.symbols.items()), style="dim")
    said = [hanging("  ", "dim", f"({each})", style) for each in _describe_table(model, style) if each]
    if cut := len(every) - len(lines):
        said.append(hanging("  ", "dim", f"({exact(cut)} lines above the total are only in the JSON report)", style))
    return "\n".join(filter(None, [draw(style, title), table, draw(style, *said)]))


def _describe_table(model: ModelReport, style: Style) -> Iterator[str]:
    """Yield sentences under the table: on measures, trainable parameters and the checkpoint.

    With ``-v``, also the share of the embeddings, and totals that count tied tensors and shared layers more than once.
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
    if not model.built and not (model.base and model.verdict == "failed"):  # which the headline says
        yield f"not built: the {model.counted_by} gives these counts"


def _component_lines(row: Component, model: ModelReport, style: Style) -> Iterator[Line]:
    depth = row.name.count(".")
    times = f" ×{row.layers}" if row.layers > 1 else ""
    label = f"{'  ' * depth}{row.name.rpartition('.')[2]}{times}"
    yield _line_of(row, label, sentences.share_of_total(row, model))
    indent, empty = "  " * (depth + 2), dict.fromkeys(COLUMNS, "")
    if row.form_delta:  # only the finding shows a long formula
        formula = row.formula if row.formula and len(row.formula) <= NAME else "closed form"
        below = {COMPONENT: powers(f"{indent}{formula}", style), "actual": exact(row.expected or 0)}
        yield Line({**empty, **below, "vs formula": "expected"}, dict.fromkeys(COLUMNS, "dim"))
    if style.verbosity > 1:
        yield from (_tensor_line(each, row, indent) for each in model.tensors if each.component == row.name)


def _line_of(row: Component | Measure, label: str, share: str = "") -> Line:
    left, count, most = row.room_left, row.known_count or 0, row.max
    bar = ""  # the used share of the limit, rounded down to eighths of a cell
    if most is not None:
        eighths = min(8 * BAR * count // most, 8 * BAR) if most else 8 * BAR if count else 0
        bar = "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip() + ("▶" if count > most else "")
    cells = {
        COMPONENT: f"{'✗ ' if row.failed else '  '}{label}",
        "closed form": "" if row.expected is None else exact(row.expected),
        "actual": "" if row.actual is None else exact(row.actual),
        "share": share,
        "vs formula": "" if row.form_delta is None else sentences.show_difference(row.form_delta),
        "vs base": "" if row.base is None else sentences.show_difference(row.base_delta),
        "budget": row.limit or "",
        "left": "" if left is None else compact_left(left, unit_of(row.name)),
        "used": "" if most is None else percent_used(count, most),
        "": bar,
    }
    colours = {column: "dim" for column, cell in cells.items() if cell == "="}
    if row.failed:
        colours = {**dict.fromkeys((COMPONENT, "actual", "vs formula"), "bold red"), **colours}
    if left is not None:
        colours |= dict.fromkeys(("left", "used", ""), "red" if left < 0 else "green")
    return Line(cells, colours)


def _tensor_line(tensor: FoldedTensor, row: Component, indent: str) -> Line:
    times = f" ×{tensor.layers}" if tensor.layers > 1 else ""
    frozen = "" if tensor.trainable else " frozen"
    tail = tensor.name.rpartition(".*.")[2] if ".*." in tensor.name else tensor.name
    actual, expected = tensor.actual, tensor.expected
    cells = {
        **dict.fromkeys(COLUMNS, ""),
        COMPONENT: f"{indent}{tail} ({', '.join(map(str, tensor.shape))}){times}{frozen}",
        "closed form": "" if expected is None else exact(expected),
    }
    is_compared = row.actual is not None and row.expected is not None
    if row.actual is not None:
        cells["actual"] = "missing" if actual is None else "tied" if tensor.tied_to else exact(actual)
    if is_compared:
        cells["vs formula"] = "=" if actual == expected else "not expected" if expected is None else "missing"
    return Line(cells, dict.fromkeys(COLUMNS, "bold red" if is_compared and actual != expected else "dim"))
