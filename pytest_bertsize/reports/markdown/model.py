"""One model in Markdown, in parts that are shown whole or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_bertsize.inventory import TOTAL
from pytest_bertsize.reports import sentences
from pytest_bertsize.reports.markdown.text import LONGEST, code, details, table, text
from pytest_bertsize.reports.model_report import by_severity
from pytest_bertsize.reports.rows import (
    changed,
    changed_by,
    chosen,
    counted,
    differs,
    off_by,
    room,
    share_of_total,
    total,
    unique,
    urgent,
)
from pytest_bertsize.wording import exact, plural, signed

if TYPE_CHECKING:
    from pytest_bertsize.reports.shape import Base, Change, Choices, Component, FindingRow, Fit, Layer, ModelReport

MOST_ROWS = 60
"""Components of a table; the total and those that fail are among them."""
MOST_FINDINGS = 20
MOST_CHANGES = 30
MOST_LAYERS = 30
_NAME = 120
"""Characters of a component's name."""
_MARKS = {"error": "✗", "warning": "!", "note": "·"}


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A paragraph, a list or a table; equal to none but itself."""

    text: str
    is_detail: bool = False
    """Whether the report is understood without it."""


def model_parts(model: ModelReport, *, in_title: bool = False) -> list[Part]:
    """The headline is the first; what changed stands before what is found, and before what to write to accept it.

    :param in_title: whether the page's title says the headline, of which the name is enough then.
    """
    base, choices = model["base"], model["choices"]
    parts = [Part(_headline(model["name"] if in_title else model["headline"], model)), *_subject(model)]
    if base:
        parts += _changes(base, model)
    if rows := [row for row in model["components"] if counted(row) is not None]:
        parts += _components(rows, model)
    if beside := [f"- {text(sentence)}" for sentence in sentences.sentences(model)]:
        parts.append(Part("\n".join(beside)))
    if findings := sentences.of_the_model(model["findings"]):
        parts.append(Part(_findings(findings)))
    if choices and choices["fits"]:
        parts.append(Part(_fits(choices["fits"])))
    if choices and choices["costs"]:
        parts.append(Part(_costs(choices), is_detail=True))
    return [*parts, *_layers(model["layers"]), *_formulas(model)]


def _headline(said: str, model: ModelReport) -> str:
    return f"### {'✓' if model['verdict'] == 'passed' else '✗'} {text(said)}"


def _subject(model: ModelReport) -> list[Part]:
    """What it is, and what it is not held to."""
    symbols = ", ".join(f"{text(symbol)} = {exact(size)}" for symbol, size in model["symbols"].items())
    what = ", ".join(code(each) for each in (model["architecture"], model["config"]) if each)
    said = [each for each in (what, symbols) if each]
    if model["report_only"]:
        said.append("**report-only: held to no limit**")
    if not model["built"] and unique(model) is not None:
        said.append("**not built: counts are the closed form's**")
    if not model["closed_form"]:
        said.append("**held to its budget alone: not compared with a closed form**")
    return [Part("; ".join(said))]


# the table of components


def _components(rows: Sequence[Component], model: ModelReport) -> list[Part]:
    """The table, folded away for a model that passed, and what it leaves out."""
    shown = urgent(chosen(rows), MOST_ROWS)
    columns = {
        "component": [_label(row) for row in shown],
        "closed form": [
            _number(row["expected"]) if any(map(differs, rows)) or row["actual"] is None else "" for row in shown
        ],
        "actual": [_bold(_number(row["actual"]), row) for row in shown],
        "share": [share_of_total(row, model) for row in shown],
        "off formula": [_difference(off_by(row)) for row in shown],
        "base": [_number(row["base"]) if any(map(changed, rows)) else "" for row in shown],
        "change": [_difference(changed_by(row)) for row in shown],
        "budget": [_limit(row) for row in shown],
        "left": [_left(row) for row in shown],
    }
    used = {name: cells for name, cells in columns.items() if any(cells)}
    drawn = table([*used], [*zip(*used.values(), strict=True)])
    note = f"<sub>{'. '.join(_notes(rows, len(rows) - len(shown), model))}.</sub>"
    if model["verdict"] == "passed" and not any(map(changed, rows)):
        return [Part(details("Components", f"{drawn}\n\n{note}"))]
    return [Part(drawn), Part(note)]


def _label(row: Component) -> str:
    times = f" ×{row['layers']:,}" if row["layers"] > 1 else ""
    return _bold(f"{'✗ ' if row['failed'] else ''}{text(row['name'], _NAME)}{times}", row)


def _bold(cell: str, row: Component) -> str:
    return f"**{cell}**" if cell and row["failed"] else cell


def _number(count: int | None) -> str:
    return "" if count is None else exact(count)


def _difference(delta: int | None) -> str:
    """Nothing where nothing differs: a column without a difference is left out."""
    return signed(delta) if delta else ""


def _limit(row: Component) -> str:
    """Bold where it is the limit that is wrong, and not what is left of it: one that was raised without a word."""
    written = text(row["limit"] or "")
    return written if (room(row) or 0) < 0 else _bold(written, row)


def _left(row: Component) -> str:
    left = room(row)
    return "" if left is None else _bold(signed(left), row) if left < 0 else signed(left)


def _notes(rows: Sequence[Component], hidden: int, model: ModelReport) -> list[str]:
    """Sentences under the table, without their full stops."""
    notes = [said[:1].upper() + said[1:]] if (said := sentences.embedding(model)) else []
    compared = [row for row in rows if row["expected"] is not None and row["actual"] is not None]
    if compared and not any(map(differs, compared)) and not _is_off(model):
        notes.append("Every component is what its closed form says")
    if hidden:
        notes.append(f"{plural(hidden, 'component is', 'components are')} not shown")
    totals = model["totals"]
    if totals["stored"] not in {None, unique(model)}:
        notes.append(f"With ties written out {_number(totals['stored'])}")
    if totals["trainable"] not in {None, unique(model)}:
        notes.append(f"Trainable {_number(totals['trainable'])}")
    return notes or ["Counted in parameters"]


def _is_off(model: ModelReport) -> bool:
    """Counts may agree where tensors do not."""
    return any(finding["kind"] == "off-closed-form" for finding in model["findings"])


# findings, changes, choices


def _findings(findings: Sequence[FindingRow]) -> str:
    ordered = by_severity(findings)
    lines = [_finding(finding) for finding in ordered[:MOST_FINDINGS]]
    rest = len(ordered) - MOST_FINDINGS
    return "\n".join([*lines, *([f"- {exact(rest)} more findings are in the JSON report"] if rest > 0 else [])])


def _finding(finding: FindingRow) -> str:
    fix = f"<br>→ {text(finding['fix'])}" if finding["fix"] else ""
    line = f":{finding['line']}" if finding["line"] else ""
    place = f" ({code(finding['file'] + line)})" if finding["file"] else ""
    return f"- {_MARKS[finding['severity']]} {text(finding['message'])}{place}{fix}"


def _changes(base: Base, model: ModelReport) -> list[Part]:
    """What the model was, and which key moved what."""
    whole = total(model)
    now = counted(whole) if whole else None
    lines = [f"- {text(said)}" for said in base["said"]]
    lines += [f"- {text(each['said'])}" for each in base["tensors"][:MOST_CHANGES]]
    if tensors := len(base["tensors"][MOST_CHANGES:]):
        lines.append(f"- {plural(tensors, 'more change')} of tensors: the JSON report has them")
    lines += [_change(change) for change in base["changes"][:MOST_CHANGES]]
    if rest := base["changes"][MOST_CHANGES:]:
        moved = signed(sum(change["total"] for change in rest))
        lines.append(f"- {exact(len(rest))} more keys together: **{moved}**")
    if base["method"]:
        lines.append(f"- <sub>{text(base['method'])}</sub>")
    moved = _moved(base, now, model)
    if not moved and not lines:
        return []
    since = f"**Since {code(base['revision'])}**{_by(base)}{moved}"
    return [Part("\n".join([since, *(["", *lines] if lines else [])]))]


def _by(base: Base) -> str:
    return ", by its lock" if base["by"] == "lock" else ""


def _moved(base: Base, now: int | None, model: ModelReport) -> str:
    """The sum of a comparison: net, and what came and went where it is both."""
    if base["total"] is None or now is None:
        return ""
    delta = now - base["total"]
    sides = f"; {signed(base['grown'])} and {signed(-base['shrunk'])}" if base["grown"] and base["shrunk"] else ""
    beside = f"; {text(also)}" if (also := sentences.beside_parameters(model["measures"])) else ""
    if not delta and not sides:
        return f": {exact(now)} parameters, as before{beside}"
    return f": **{signed(delta)}** ({exact(base['total'])} → {exact(now)}{sides}){beside}"


def _change(change: Change) -> str:
    components = {name: moved for name, moved in change["components"].items() if "." not in name and name != TOTAL}
    where = ", ".join(f"{text(name, _NAME)} {signed(moved)}" for name, moved in components.items())
    moved = f"**{signed(change['total'])}**" if change["total"] or components else "no parameter"
    what = {
        "code": "the code, which no key of the config explains",
        "together": "these keys together, beyond each of them alone",
    }.get(change["key"]) or f"{code(change['key'])} {code(change['before'])} → {code(change['after'])}"
    return f"- {what}: {moved}{f' ({where})' if where else ''}"


def _fits(fits: Sequence[Fit]) -> str:
    """Shapes that bring the model within its budget."""
    lines = (f"- {text(fit['change'])}: {exact(fit['total'])} in total" for fit in fits)
    return "\n".join(["**What would fit:**", "", *lines])


def _costs(choices: Choices) -> str:
    rows = [(text(cost["what"]), text(cost["change"]), signed(cost["total"])) for cost in choices["costs"]]
    return details("What the next change would cost", table(("change", "in the config", "parameters"), rows, left=2))


# details


def _layers(layers: Sequence[Layer]) -> list[Part]:
    if not layers:
        return []
    cells = [
        (_layer_name(layer), *(_number(layer[side]) for side in ("base", "expected", "actual"))) for layer in layers
    ]
    drawn = table(("layer", "base", "closed form", "actual"), cells[:MOST_LAYERS])
    rest = len(layers) - MOST_LAYERS
    more = f"\n\n{exact(rest)} more are in the JSON report" if rest > 0 else ""
    return [Part(details("Layers that differ", drawn + more), is_detail=True)]


def _layer_name(layer: Layer) -> str:
    times = f" ×{layer['times']:,}" if layer["times"] > 1 else ""
    return f"{text(layer['name'], _NAME)}{times}"


def _formulas(model: ModelReport) -> list[Part]:
    rows = [
        (text(row["name"], _NAME), math(row["formula"], model["latex"]), _number(row["expected"]))
        for row in model["components"]
        if row["formula"]
    ]
    drawn = table(("component", "closed form", "parameters"), rows[:MOST_ROWS], left=2)
    return [Part(details("Closed form", drawn), is_detail=True)] if rows else []


def math(formula: str, latex: Mapping[str, str]) -> str:
    """A formula of ours as GitHub sets it; any other text as code."""
    return f"$`{latex[formula]}`$" if formula in latex else code(formula, LONGEST)
