"""The report as one HTML page: no script, nothing loaded from elsewhere, the same bytes for the same report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from pytest_bertsize.inventory import TOTAL, TRAINABLE
from pytest_bertsize.quantity import compact_left
from pytest_bertsize.reports import sentences
from pytest_bertsize.reports.headline import alone, is_quiet, unchanged
from pytest_bertsize.reports.html.bars import Bars, bars
from pytest_bertsize.reports.model_report import by_severity
from pytest_bertsize.reports.rows import (
    NOTHING,
    changed_by,
    counted,
    difference,
    differs,
    off_by,
    percent,
    room,
    share_of_total,
    total,
    unique,
    urgent,
)
from pytest_bertsize.reports.sentences import deepest
from pytest_bertsize.wording import exact, plural, printable, signed

if TYPE_CHECKING:
    from pytest_bertsize.reports.shape import Component, ModelReport, RunReport

GENERATOR = '<meta name="generator" content="pytest-bertsize'
"""In the head of every page of ours."""
HEAD = 4_096
"""Characters of a page in which that stands."""
MOST_BYTES = 50_000
"""Of one model's part of the page; the rest of a page of one model is less than 14,000."""
LONGEST = 1_500
"""Characters of any text."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much of a model is shown; the JSON report has the rest."""

    rows: int = 60
    cells: int = 24
    """Of one bar."""
    findings: int = 24
    changes: int = 30
    layers: int = 24
    tensors: int = 12
    """Of one layer."""

    def halved(self) -> Bounds:
        return Bounds(*(max(getattr(self, name) // 2, 1) for name in self.__slots__))


def render(report: RunReport, _root: Path | None = None) -> str:
    """The page of a run. What is not shown is counted, and is in the JSON report."""
    ordered = sorted(report["models"], key=lambda model: model["verdict"] == "passed")
    only = alone(report)
    parts = [_model(model, index, report, only is not None) for index, model in enumerate(ordered, 1)]
    page = templates().get_template("page.html.jinja")
    return page.render(
        report=report,
        say_why=sentences.say_why,
        work_tree=sentences.work_tree(report),
        generator=f"pytest-bertsize {report['versions'].get('pytest_bertsize', '')}".strip(),
        alone=only,
        headline=report["headline"],
        links=[(f"model-{index}", model, _behind_name(model)) for index, model in enumerate(ordered, 1)],
        parts=parts,
        stand_ins=sentences.stand_ins(report["models"]),
        unchanged=bool(ordered) and all(map(unchanged, ordered)),
    )


def is_ours(text: str) -> bool:
    """Whether it is a page that :func:`render` has made."""
    return GENERATOR in text[:HEAD]


def _model(model: ModelReport, index: int, report: RunReport, alone: bool) -> Markup:  # noqa: FBT001
    """One model's part, with as much of it as fits."""
    template = templates().get_template("model.html.jinja")
    bounds = Bounds()
    while True:
        view = _view(model, report, bounds)
        text = template.render(id=f"model-{index}", alone=alone, level=2 if alone else 3, **view)
        if len(text.encode()) <= MOST_BYTES or bounds == bounds.halved():
            return Markup(text)  # noqa: S704  (rendered with autoescape)
        bounds = bounds.halved()


@cache
def templates() -> Environment:
    """What all pages are made with: no text from a file steers one."""
    found = Environment(
        loader=PackageLoader("pytest_bertsize.reports.html", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_harmless,
    )
    found.filters |= {
        "exact": _exact,
        "line": _line,
        "signed": difference,
        "left": compact_left,
        "size": _bytes,
        "short": lambda commit: commit[:10],
        "plural": plural,
        "dims": lambda shape: "absent" if shape is None else " × ".join(map(exact, shape)) or "scalar",
    }
    return found


def _harmless(value: Any) -> Any:
    """A text from a file as any page can take it; markup of our own stays as it is."""
    return printable(value, LONGEST) if type(value) is str else value


def _line(headline: str) -> Markup:
    """A headline, in which no sign of per cent begins a line."""
    return Markup(str(escape(printable(headline, LONGEST))).replace(" %", "&nbsp;%"))  # noqa: S704  (escaped)


def _exact(count: int | None) -> str:
    return NOTHING if count is None else exact(count)


def _bytes(count: int) -> str:
    """``590218704`` → ``'590 MB'``; kB, MB and GB are powers of 1,000."""
    value, unit = Decimal(count), "B"
    for unit in ("B", "kB", "MB", "GB", "TB"):
        places = "1" if value >= 100 or unit == "B" else "0.1"  # noqa: PLR2004
        rounded = value.quantize(Decimal(places), ROUND_HALF_UP)
        if rounded < 1000:  # noqa: PLR2004
            return f"{rounded} {unit}".replace(".0 ", " ")
        value /= 1000
    return f"{value:,.0f} {unit}"


# one model


def _behind_name(model: ModelReport) -> str:
    """The headline behind the model's name, which the page shows apart."""
    return model["headline"].removeprefix(f"{model['name']}: ")


def _below(row: Component) -> bool:
    return row["min"] is not None and (counted(row) or 0) < row["min"]


def _view(model: ModelReport, report: RunReport, bounds: Bounds) -> dict[str, Any]:
    base, choices = model["base"], model["choices"]
    rows = model["components"]
    shown = urgent(rows, bounds.rows)
    findings = by_severity(sentences.of_the_model(model["findings"]))
    return {
        "model": model,
        "headline": _behind_name(model),
        "in_title": model["headline"] in report["headline"],
        "report": report,
        "base": base,
        "unchanged": unchanged(model),
        "quiet": is_quiet(model),
        "head": sentences.head(report),
        "figures": _figures(model),
        "findings": findings[: bounds.findings],
        "findings_hidden": max(len(findings) - bounds.findings, 0),
        "bars": _bars(model, bounds.cells),
        "rows": _lines(shown, model),
        "rows_hidden": len(rows) - len(shown),
        "columns": _columns(rows, model),
        "changes": base["changes"][: bounds.changes] if base else [],
        "changes_hidden": max(len(base["changes"]) - bounds.changes, 0) if base else 0,
        "moved": _moved,
        "beside_parameters": sentences.beside_parameters(model["measures"]),
        "limited_by": sentences.limited_by(model),
        "beside": [*filter(None, [sentences.embedding(model)]), *sentences.sentences(model)],
        "fits": choices["fits"][: bounds.changes] if choices else [],
        "costs": choices["costs"][: bounds.changes] if choices else [],
        "layers": model["layers"][: bounds.layers],
        "layers_hidden": max(len(model["layers"]) - bounds.layers, 0),
        "most_tensors": bounds.tensors,
    }


@dataclass(frozen=True, slots=True)
class Figures:
    """The numbers at the top."""

    parameters: int | None
    """What the closed form says of a model that could not be built: the page calls it so."""
    built: bool
    change: int | None
    percent: str
    limit: str | None
    left: int | None
    """Of the total's limit."""
    side: str
    """What that is: left, over, or above or under a minimum."""
    limited: int
    """How many components have a limit, bytes and FLOPs among them."""
    off: int | None


def _figures(model: ModelReport) -> Figures:
    whole, totals = total(model), model["totals"]
    count = unique(model)
    before = model["base"]["total"] if model["base"] else None
    change = None if before is None or count is None else count - before
    left = room(whole) if whole else None
    both = totals["actual"] is not None and totals["expected"] is not None and model["closed_form"]
    return Figures(
        totals["expected"] if count is None else count,
        totals["actual"] is not None,
        change,
        percent(change, before) if change and before else "",
        whole["limit"] if whole else None,
        left,
        _side(whole, left) if whole and left is not None else "",
        sum(row["limit"] is not None for row in (*model["components"], *model["measures"])),
        (totals["actual"] or 0) - (totals["expected"] or 0) if both else None,
    )


def _side(row: Component, left: int) -> str:
    if _below(row):
        return "under its minimum"
    return "over" if left < 0 else "above its minimum" if row["max"] is None else "left"


def _bars(model: ModelReport, most: int) -> Bars | None:
    now = {row["name"]: count for row in model["components"] if (count := counted(row)) is not None}
    now.pop(TRAINABLE, None)
    if not now.get(TOTAL):
        return None
    base, whole = model["base"], total(model)
    before = None
    if base and base["total"] is not None and not unchanged(model):
        before = {row["name"]: row["base"] for row in model["components"] if row["base"] and row["name"] != TRAINABLE}
        before[TOTAL] = base["total"]
    label = base["revision"] if base else ""
    limit = (None, "") if whole is None else (whole["max"], _highest(whole))
    return bars(now, before, label, limit, most)


def _highest(row: Component) -> str:
    """The upper limit, as its author wrote it where that is the only one."""
    return row["limit"] or "" if row["min"] in {None, row["max"]} else _exact(row["max"])


@dataclass(frozen=True, slots=True)
class Line:
    """A row of the table."""

    row: Component
    label: str
    depth: int
    count: int | None
    change: int | None
    left: int | None
    off: int | None
    share: str
    formula: str


def _lines(rows: Sequence[Component], model: ModelReport) -> list[Line]:
    shown = {row["name"] for row in rows}
    lines = []
    for row in rows:
        parent, _, last = row["name"].rpartition(".")
        lines.append(
            Line(
                row,
                last if parent in shown else row["name"],
                row["name"].count(".") if parent in shown else 0,
                counted(row),
                changed_by(row),
                room(row),
                off_by(row),
                share_of_total(row, model),
                row["formula"] or "",
            )
        )
    return lines


def _columns(rows: Sequence[Component], model: ModelReport) -> dict[str, bool]:
    """Which columns have anything to say."""
    return {
        "formula": any(row["formula"] for row in rows),
        "base": any(row["base"] is not None for row in rows),
        "budget": any(row["limit"] for row in rows),
        "off": model["closed_form"] and any(off_by(row) is not None for row in rows),
        "differs": any(differs(row) for row in rows),
    }


def _moved(components: dict[str, int], most: int = 4) -> str:
    """Where a key's cost is, without the levels above: ``encoder.attention +4,727,808, …``."""
    found = deepest(components)
    named = ", ".join(f"{name} {signed(components[name])}" for name in found[:most])
    return f"{named}, and {len(found) - most} more" if found[most:] else named
