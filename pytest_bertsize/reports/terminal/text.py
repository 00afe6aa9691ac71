"""The reports in a terminal: one model that failed, one that passed, all of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TypeAlias

from rich.cells import cell_len

from pytest_bertsize.findings import BROKEN
from pytest_bertsize.quantity import compact_left
from pytest_bertsize.reports import sentences
from pytest_bertsize.reports.model_report import by_severity
from pytest_bertsize.reports.rows import counted, room, total, unique
from pytest_bertsize.reports.sentences import limited_by
from pytest_bertsize.reports.terminal.drawing import (
    BOLD,
    NAME,
    RED,
    Style,
    coloured,
    columns,
    columns_that_fit,
    draw,
    draw_all,
    fit,
    hanging,
    plain,
    usable,
)
from pytest_bertsize.reports.terminal.folding import Folded, folded
from pytest_bertsize.wording import MOST_NAMED, exact, listed

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pytest_bertsize.reports.shape import FindingRow, ModelReport, RunBase

__all__ = [
    "Style",
    "against_base",
    "base_of_run",
    "breakdown",
    "count",
    "failure",
    "notes",
    "overview",
    "plain",
    "stand_ins",
]

Column: TypeAlias = Literal["", "model", "architecture", "parameters", "budget", "left"]

COLUMNS: tuple[Column, ...] = ("", "model", "architecture", "parameters", "budget", "left")
MOST_SENTENCES = 40
"""Findings that are shown of a model, errors first; who has more has one of them many times."""
NUMBERS: tuple[Column, ...] = ("parameters", "budget", "left")
DROPPED_FIRST: tuple[Column, ...] = ("architecture", "left", "budget")


def failure(model: ModelReport, style: Style) -> str:
    """The whole report of a model that failed: headline, table, what changed, each finding with its way out."""
    from pytest_bertsize.reports.terminal.component_table import component_table

    parts: list[RenderableType] = [coloured(model["headline"], "bold red"), coloured("")]
    if model["components"]:
        parts += [_title(model), coloured(""), component_table(model, style), coloured("")]
    parts += _changes(model, style)
    parts += _sentences(sentences.of_the_model(model["findings"]), style)
    if choices := _choices(model, style):
        parts += [coloured(""), *choices]
    return draw_all(parts, style)


def breakdown(model: ModelReport, style: Style) -> str:
    """Title and table of a model that passed, for ``-v``."""
    from pytest_bertsize.reports.terminal.component_table import component_table

    beside = [*_base_sentences(model, style, ""), *_choices(model, style)]
    parts = [_title(model), coloured(""), component_table(model, style), *([coloured(""), *beside] if beside else [])]
    return draw_all(parts, style)


def notes(model: ModelReport, style: Style) -> str:
    """The warnings of a model that passed, and its notes where detail is asked for; ``""`` if there are none."""
    found = sentences.of_the_model(model["findings"])
    told = [each for each in found if each["severity"] != "note" or _is_told(each, model, style)]
    return draw_all(_sentences(told, style, prefix=f"{model['name']}: "), style) if told else ""


def _is_told(note: FindingRow, model: ModelReport, style: Style) -> bool:
    """Always: a budget that was loosened, and what is not as the lock has it, unless the base has said that."""
    base, lock = model["base"], model["lock"]
    is_said = bool(base and lock and lock["known"] and not lock["buffers"] and base["tensors"] == lock["tensors"])
    of_the_lock = note["kind"] == "differs-from-lock" and not is_said
    return style.verbosity > 0 or note["kind"] == "budget-loosened" or of_the_lock


def stand_ins(models: Sequence[ModelReport], style: Style) -> str:
    """What stood in for something that is not there, each once for all models; ``""`` where nothing did."""
    found = sentences.stand_ins(models)
    lines = [hanging("- ", "dim", each, style) for each in found[:MOST_SENTENCES]]
    if rest := len(found[MOST_SENTENCES:]):
        lines.append(coloured(f"{exact(rest)} more stand-ins are in the JSON report", "dim"))
    return draw_all(lines, style) if lines else ""


def against_base(model: ModelReport, style: Style) -> str:
    """What became of a model that passed, ``""`` where nothing did."""
    lines = _base_sentences(model, style, f"{model['name']} ") if sentences.differs(model) else []
    return draw_all(lines, style) if lines else ""


def base_of_run(base: RunBase, models: Sequence[ModelReport], style: Style) -> str:
    """What the whole run was compared with, where there is something to say; ``""`` where there is not."""
    lines = []
    if base["problem"]:
        lines.append(hanging("! ", "yellow", f"not compared with {base['revision']}: {base['problem']}", style))
    else:
        changed = any(sentences.differs(model) for model in models) or base["removed"]
        told = f"against {sentences.named(base['revision'], base['commit'])}"
        lines += [] if changed else [coloured(f"{told}: no count changed", "dim")]
        if base["not_compared"]:
            named = listed(base["not_compared"], MOST_NAMED)
            lines.append(hanging("! ", "yellow", f"not compared with {base['revision']}: {named}", style))
    lines += [hanging("- ", "yellow", line, style) for line in sentences.removed(base)]
    return draw_all(lines, style) if lines else ""


def _title(model: ModelReport) -> RenderableType:
    title = coloured("")
    title.append(model["architecture"], style="bold")
    title.append(f"  {model['config']}  " if model["config"] else "  ", style="cyan")
    title.append(" ".join(f"{symbol}={size}" for symbol, size in model["symbols"].items()), style="dim")
    return title


# all models of a run


def overview(models: Sequence[ModelReport], style: Style, declared: Mapping[str, str] = MappingProxyType({})) -> str:
    """One line for each model: mark, name, architecture, total, budget, left; of many that passed, one for a pattern.

    :param declared: by the name of a model that of the table which declares several.
    """
    shown = folded(models, declared) if style.verbosity < 1 else Folded([*models], [])
    parts = [_overview_table(shown.rows, style)] if shown.rows else []
    if shown.lines:
        parts.append(draw_all((hanging("✓  ", "", line, style) for line in shown.lines), style))
    return "\n".join(parts)


def _overview_table(models: Sequence[ModelReport], style: Style) -> str:
    rows = [_overview_row(model) for model in models]
    widths = {column: max(cell_len(column), *(cell_len(row[column]) for row in rows)) for column in COLUMNS}
    needed = {**{column: widths[column] + 2 for column in COLUMNS}, "model": min(widths["model"], NAME) + 2}
    shown = columns_that_fit(needed, DROPPED_FIRST, usable(style))
    name = min(widths["model"], usable(style) - sum(needed[column] for column in shown) + needed["model"] - 2)
    drawn: list[tuple[str, list[str]]] = [(BOLD, [*shown])]
    for row in rows:
        cells = {**row, "model": fit(row["model"], name)}
        drawn.append((RED if row[""] == "✗" else "", [cells[column] for column in shown]))
    return columns(drawn, {at for at, column in enumerate(shown) if column in NUMBERS}, style)


def count(models: Sequence[ModelReport], configured: int, failed: int, written: Sequence[Path], *, builds: bool) -> str:
    """``3 configured, 3 checked, 0 failed``, what they were not compared with, and the reports that were written."""
    alone = sum(not model["closed_form"] for model in models)
    budget = f"; {alone} without a closed form, held to {'the budget alone' if builds else 'nothing'}" if alone else ""
    reports = "".join(f"; {path.name} written" for path in written)
    build = "" if builds else "; not compared with a build"
    return f"{configured} configured, {len(models)} checked, {failed} failed{budget}{build}{reports}"


def way_to_accept(models: Iterable[ModelReport], style: Style) -> str:
    """The command that raises budgets, where they alone are what fails a model; ``""`` where there is none such."""
    errors = ({row["kind"] for row in model["findings"] if row["severity"] == "error"} for model in models)
    acceptable = any(kinds & BROKEN and kinds <= {*BROKEN, "budget-loosened"} for kinds in errors)
    said = "to accept what was counted: pytest --bert-budget --bert-budget-update"
    return draw(hanging("→ ", "cyan", said, style), style) if acceptable else ""


def _overview_row(model: ModelReport) -> dict[Column, str]:
    whole = total(model)
    left = room(whole) if whole else None
    limit = (whole["limit"] if whole else "") or limited_by(model)
    return {
        "": "✓" if model["verdict"] == "passed" else "✗",
        "model": model["name"],
        "architecture": model["architecture"],
        "parameters": "not counted" if whole is None else exact(counted(whole) or 0),
        "budget": "report-only" if model["report_only"] else limit if whole else "",
        "left": "" if left is None else compact_left(left),
    }


# the sentences


def _sentences(findings: Sequence[FindingRow], style: Style, prefix: str = "") -> list[RenderableType]:
    marks = {"error": ("✗", "red"), "warning": ("!", "yellow"), "note": ("-", "dim")}
    ordered = by_severity(findings)
    rest = len(ordered) - MOST_SENTENCES
    lines: list[RenderableType] = []
    for finding in ordered[:MOST_SENTENCES]:
        mark, colour = marks[finding["severity"]]
        lines.append(hanging(f"{mark} ", colour, f"{prefix}{finding['message']}{_place(finding)}", style))
        if finding["fix"]:
            lines.append(hanging("  → ", "cyan", finding["fix"], style))
    if rest > 0:
        lines.append(coloured(f"{prefix}{exact(rest)} more findings are not shown: the JSON report has them", "dim"))
    return lines


def _changes(model: ModelReport, style: Style) -> list[RenderableType]:
    """What changed against the base: it comes before what to write to accept it."""
    lines = _base_sentences(model, style, "")
    return [*lines, coloured("")] if lines else []


def _choices(model: ModelReport, style: Style) -> list[RenderableType]:
    """What would fit, and what the next change would cost."""
    lines: list[RenderableType] = []
    choices = model["choices"]
    if choices and (text := sentences.fits(choices)):
        lines.append(hanging("→ ", "cyan", text, style))
    if choices and choices["costs"] and (choices["fits"] or style.verbosity > 0):
        lines.append(hanging("→ ", "cyan", sentences.costs(choices), style))
    return lines


def _base_sentences(model: ModelReport, style: Style, prefix: str) -> list[RenderableType]:
    base = model["base"]
    if base is None:
        return []
    lines = [hanging("→ ", "cyan", f"{prefix}{sentences.against(base, unique(model), model['measures'])}", style)]
    lines += [hanging("    ", "", line, style) for line in base["said"]]
    lines += [hanging("    ", "", each["said"], style) for each in base["tensors"][:MOST_SENTENCES]]
    if rest := len(base["tensors"][MOST_SENTENCES:]):
        lines.append(coloured(f"    and {exact(rest)} more: the JSON report has them", "dim"))
    shown = base["changes"][:MOST_SENTENCES]
    lines += [hanging("    ", "", sentences.change(row), style) for row in shown]
    if len(shown) < len(base["changes"]):
        lines.append(coloured(f"    and {len(base['changes']) - len(shown)} more: the JSON report has them", "dim"))
    if base["method"]:
        lines.append(hanging("    ", "", f"({base['method']})", style))
    return lines


def _place(finding: FindingRow) -> str:
    if not finding["file"]:
        return ""
    return f" ({finding['file']}:{finding['line']})" if finding["line"] else f" ({finding['file']})"
