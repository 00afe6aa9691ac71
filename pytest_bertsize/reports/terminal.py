"""Terminal reports: a model that failed, one that passed, and the whole run."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pytest_bertsize.findings import BROKEN
from pytest_bertsize.reports import sentences
from pytest_bertsize.reports.drawing import Line, Style, draw_marked, draw_table, draw_title
from pytest_bertsize.reports.report import NOTES_FOR_REVIEWERS
from pytest_bertsize.table.limits import NAMED
from pytest_bertsize.wording import MOST_NAMED, exact, listed, plural

if TYPE_CHECKING:
    from pytest_bertsize.findings import Finding
    from pytest_bertsize.reports.report import FindingRow, FoldedTensor, ModelReport, Row, RunBase

MOST_SENTENCES = 40  # the most findings shown for a model, errors first; further ones are usually repetitions
MOST_ROWS = 30  # the most passed models that have a row each; more are counted in one line
MOST_PLACES = 3  # the most places in files that are shown for a finding of several models
_COLOURS = {"error": "red", "warning": "yellow", "note": "dim"}


def draw_failure(model: ModelReport, style: Style) -> str:
    """Draw a failed model: its headline with the fix of the finding that it states, table, changes, other findings."""
    findings = model.own_findings
    if not model.components and not any(each.severity == "error" for each in findings):  # other models have the error
        return "\n".join(list_findings(findings, style, f"{model.name}: "))
    told = next((each for each in findings if each.in_headline and _is_stated(each)), None)
    stated, fix = model.headline, told.fix if told else ""
    if told and fix:
        stated = stated.replace(f"; {fix}", "", 1)
        fix = fix if told.place in stated else f"{fix} ({told.place})"
    blocks = [
        [draw_marked("", stated, style, "bold red"), *_list_fix(fix, style)],
        _draw_components(model, style) if model.components else [],
        _compare_with_base(model, style),
        list_findings([each for each in findings if each is not told], style),
        _list_choices(model, style),
    ]
    return "\n\n".join("\n".join(lines) for block in blocks if (lines := [*block]))


def _is_stated(finding: FindingRow) -> bool:
    """Return whether a headline states the whole finding, also by how much it is off, and how far the base was."""
    is_sum = finding.kind == "off-closed-form" and finding.expected and finding.actual != finding.expected
    return not is_sum and finding.base is None and bool(finding.fix or finding.limit is None)


def draw_model(model: ModelReport, style: Style) -> str:
    """Draw a passed model for ``-v``: title, table, changes, and the costs of next changes."""
    below = [*_compare_with_base(model, style), *_list_choices(model, style)]
    return "\n".join([*_draw_components(model, style), *([""] if below else []), *below])


def draw_notes(model: ModelReport, style: Style) -> str:
    """Draw the warnings of a passed model, urgent notes unless the base shows the same, and with ``-v`` every note."""
    base, lock = model.base, model.lock
    is_said = bool(base and lock and lock.known and base.tensors == lock.tensors)
    urgent = NOTES_FOR_REVIEWERS - ({"differs-from-lock"} if is_said else set())
    shown = [row for row in model.own_findings if style.verbosity > 0 or row.severity != "note" or row.kind in urgent]
    return "\n".join(list_findings(shown, style, f"{model.name}: "))


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
    lines: list[str] = []
    for rows in common.values():
        places = [*dict.fromkeys(each.place for each in rows.values())]
        told = replace(next(iter(rows.values())), file=listed(places, MOST_PLACES), line=None)
        lines += list_findings([told], style, f"{listed([*rows], MOST_NAMED)}: ")
    rest = []
    for model in models:
        left = [each for each in model.findings if identify(each) not in common]
        is_told = not model.components and style.verbosity < 1 and all(each.severity == "note" for each in left)
        rest.append(replace(model, findings=[each for each in left if not is_told or each.kind in NOTES_FOR_REVIEWERS]))
    return "\n".join(lines), rest


def draw_stand_ins(models: Sequence[ModelReport], style: Style) -> str:
    """Draw each finding on a stand-in (for a missing module) once, with the names of its models."""
    found = sentences.list_first(sentences.name_stand_ins(models), MOST_SENTENCES, "stand-in")
    return "\n".join(draw_marked("- ", each, style, "dim") for each in found)


def draw_comparison(model: ModelReport, style: Style) -> str:
    """Draw the changes of a passed model since the base; return ``""`` if there are none."""
    return "\n".join(_compare_with_base(model, style, f"{model.name} ")) if model.differs_from_base else ""


def draw_base(base: RunBase, models: Sequence[ModelReport], style: Style) -> Iterator[str]:
    """Draw the base of the run if there is something to report, but not the removed models that fail the run."""
    is_counted = all(model.parameter_count is not None for model in models)
    if not (base.problem or base.removed or any(model.differs_from_base for model in models)) and is_counted:
        revision = sentences.name_revision(base.revision, base.commit)
        yield draw_marked("", f"against {revision}: no count changed", style, "dim")
    for severity, said in sentences.list_problems(base):
        if severity != "error":
            yield draw_marked(f"{sentences.MARKS[severity]} ", said, style, "yellow")


def draw_way_to_accept(models: Iterable[ModelReport], base: RunBase | None, root: Path, style: Style) -> str:
    """Draw the command that raises budgets if only budgets and locks fail a model of the project in ``root``."""
    since = f" --base {shlex.quote(base.revision)}" if base else ""
    folder = os.path.relpath(root)
    project = "" if {*Path(folder).parts} <= {os.pardir} else f" --project {shlex.quote(folder)}"
    said = f'to accept these counts: bertsize accept{project}{since} --reason "…"'
    return draw_marked("→ ", said, style, "cyan") if any(map(_can_be_accepted, models)) else ""


def _can_be_accepted(model: ModelReport) -> bool:
    """Return whether a command can raise a limit that fails the model, and nothing but limits and its lock fail it."""
    errors = [row for row in model.findings if row.severity == "error"]
    of_services = {row.name for row in model.measures if row.limit in NAMED}  # which no project can raise
    budgets = {*BROKEN, "budget-loosened"}
    is_any_raised = any(row.kind in budgets and row.component not in of_services for row in errors)
    return is_any_raised and {row.kind for row in errors} <= {*budgets, "differs-from-lock"}


def list_findings(findings: Sequence[FindingRow | Finding], style: Style, prefix: str = "") -> Iterator[str]:
    """Draw findings with their places and fixes."""
    for finding in findings[:MOST_SENTENCES]:
        said = f"{prefix}{finding.message}{f' ({finding.place})' if finding.place else ''}"
        yield draw_marked(f"{sentences.MARKS[finding.severity]} ", said, style, _COLOURS[finding.severity])
        yield from _list_fix(finding.fix, style)
    for rest in sentences.count_rest(len(findings), MOST_SENTENCES, "finding"):
        yield draw_marked("", f"{prefix}{rest}", style, "dim")


def _list_fix(fix: str, style: Style) -> Iterator[str]:
    yield from [draw_marked("  → ", fix, style, "cyan")] if fix else []


def _list_choices(model: ModelReport, style: Style) -> list[str]:
    """Draw sizes that would fit, and the costs of next changes, for ``-v``."""
    said = sentences.describe_choices(model.choices) if style.verbosity > 0 else {}
    return [draw_marked("→ ", f"{title}: {'; or '.join(lines)}", style, "cyan") for title, lines in said.items()]


def _compare_with_base(model: ModelReport, style: Style, prefix: str = "") -> Iterator[str]:
    for number, line in enumerate(sentences.compare_with_base(model)):
        yield draw_marked("    ", line, style) if number else draw_marked("→ ", f"{prefix}{line}", style, "cyan")


# all models of a run


def draw_overview(models: Sequence[ModelReport], style: Style) -> str:
    """Draw a row for each model; if many passed, one line counts them, unless ``-v`` asks for all rows."""
    passed = [model for model in models if model.verdict == "passed"]
    is_short = style.verbosity < 1 and len(passed) > MOST_ROWS
    lines = []
    for model in models:
        if not is_short or model.verdict != "passed":
            cells = {MODEL: f"{sentences.MARKS[model.verdict]}  {model.name}", **sentences.show_model(model)}
            lines.append(Line(cells, dict.fromkeys(cells, "red") if model.verdict == "failed" else {}))
    parts = []
    if lines:
        dropped_first, words = ("architecture", "vs base", "left", "budget"), (MODEL, "architecture")
        parts.append(draw_table(lines, words, style, names={MODEL: NAME}, dropped_first=dropped_first, is_ruled=False))
    if is_short:
        parts.append(draw_marked("✓  ", f"{plural(len(passed), 'model')} passed; -v shows each", style))
    return "\n".join(parts)


# the table of one model's components

MODEL, COMPONENT, BAR_OF_USE = "   model", "  component", ""
DROPPED_FIRST = (BAR_OF_USE, "share", "closed form", "used", "left", "budget", "vs base", "vs formula")
NAME, TENSOR = 24, 40  # the widths to which names are shortened before columns are dropped; ``-vv`` shows tensors
MOST_LINES = 200  # the most components in a table
BAR = 9  # the width of a full bar, in cells of the terminal


def _draw_components(model: ModelReport, style: Style) -> list[str]:
    """Draw the title of a model, its table, and the sentences below it."""
    is_full, lines = style.verbosity > 0, []
    for row, name, depth, whole in sentences.list_parts(model, MOST_LINES, is_full=is_full):
        indent, cells = "  " * depth, sentences.show_row(row, whole, is_full=is_full)
        lines.append(_draw_row(row, f"{indent}{name}", cells))
        tensors = [each for each in model.tensors if each.component == row.name] if style.verbosity > 1 else []
        lines += [_draw_tensor(each, row, f"{indent}    ", cells) for each in tensors[:MOST_LINES]]
    named = {COMPONENT: TENSOR if style.verbosity > 1 else NAME}
    table = draw_table(lines, (COMPONENT, BAR_OF_USE), style, names=named, dropped_first=DROPPED_FIRST, gap=1)
    symbols = " ".join(f"{symbol}={size}" for symbol, size in model.symbols.items())
    title = draw_title(model.architecture, "  ".join(filter(None, (model.config, symbols))), style)
    said = [f"({each})" for each in sentences.describe_table(model, is_full=is_full)]
    said += sentences.count_rest(len(model.components), MOST_LINES, "component") if is_full else []
    return [title, table, *(draw_marked("  ", each, style) for each in said)]


def _draw_row(row: Row, label: str, cells: dict[str, str]) -> Line:
    bar, count, most = "", row.known_count or 0, row.max
    if most is not None:  # the used share of the limit, rounded down to eighths of a cell
        eighths = min(8 * BAR * count // most, 8 * BAR) if most else 8 * BAR if count else 0
        bar = "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip() + ("▶" if count > most else "")
    wrong = sentences.find_wrong(row)
    colours = {column: "dim" for column, cell in cells.items() if cell == "="}
    colours |= dict.fromkeys(("left", "used", BAR_OF_USE), "red" if "left" in wrong else "green")
    colours |= dict.fromkeys(wrong - {"left", "used"}, "bold red")
    colours[COMPONENT] = colours.pop("component", "")
    return Line({COMPONENT: f"{'✗ ' if row.failed else '  '}{label}", **cells, BAR_OF_USE: bar}, colours)


def _draw_tensor(tensor: FoldedTensor, row: Row, indent: str, of_row: dict[str, str]) -> Line:
    actual, expected = tensor.actual, tensor.expected
    name = f"{tensor.name.rpartition('.*.')[2]} ({', '.join(map(str, tensor.shape))})"
    cells = {COMPONENT: f"{indent}{name}{sentences.show_times(tensor.layers)}{'' if tensor.trainable else ' frozen'}"}
    cells |= {**dict.fromkeys([*of_row, BAR_OF_USE], ""), "closed form": sentences.show_count(expected)}
    if row.actual is not None:
        cells["actual"] = "missing" if actual is None else "tied" if tensor.tied_to else exact(actual)
    is_compared = row.actual is not None and row.expected is not None
    if is_compared:
        cells["vs formula"] = "=" if actual == expected else "not expected" if expected is None else "missing"
    return Line(cells, dict.fromkeys(cells, "bold red" if is_compared and actual != expected else "dim"))
