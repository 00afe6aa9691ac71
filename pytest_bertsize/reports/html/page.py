"""The report as one HTML page: no script, nothing loaded from elsewhere, the same bytes for the same report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from pytest_bertsize.inventory import CANONICAL, TOTAL, TRAINABLE
from pytest_bertsize.quantity import compact_left
from pytest_bertsize.reports import sentences
from pytest_bertsize.reports.report import Component, ModelReport, RunReport, urgent_rows
from pytest_bertsize.reports.sentences import NOTHING, pick_deepest, show_difference, show_percent, show_share
from pytest_bertsize.wording import exact, listed, plural, printable, signed

GENERATOR = '<meta name="generator" content="pytest-bertsize'
"""In the head of every page of ours."""
HEAD = 4_096
"""Characters of a page in which that stands."""
MOST_BYTES = 50_000
"""Of one model's part of the page; the rest of a page of one model is less than 14,000."""
LONGEST = 1_500
"""Characters of any text."""


class Bounds(NamedTuple):
    """How much of a model is shown; the JSON report has the rest."""

    rows: int = 60
    cells: int = 24
    """Of one bar."""
    findings: int = 24
    changes: int = 30
    layers: int = 24
    tensors: int = 12
    """Of one layer."""

    def halve(self) -> Bounds:
        return Bounds(*(max(each // 2, 1) for each in self))


def render_page(report: RunReport, _root: Path | None = None) -> str:
    """Return the page of a run. What is not shown is counted, and is in the JSON report."""
    ordered = sorted(report.models, key=lambda model: model.verdict == "passed")
    page = load_templates().get_template("page.html.jinja")
    return page.render(
        report=report,
        work_tree="work tree on " if sentences.is_of_work_tree(report) else "",
        generator=f"pytest-bertsize {report.versions.get('pytest_bertsize', '')}".strip(),
        alone=report.only_model,
        links=[(f"model-{index}", model, _cut_name(model)) for index, model in enumerate(ordered, 1)],
        parts=[_render_model(model, index, report) for index, model in enumerate(ordered, 1)],
        stand_ins=sentences.name_stand_ins(report.models),
        unchanged=bool(ordered) and all(model.is_unchanged for model in ordered),
    )


def is_ours(text: str) -> bool:
    """Whether it is a page that :func:`render_page` has made."""
    return GENERATOR in text[:HEAD]


def _render_model(model: ModelReport, index: int, report: RunReport) -> Markup:
    """Render one model's part, with as much of it as fits."""
    template, bounds, alone = load_templates().get_template("model.html.jinja"), Bounds(), report.only_model is not None
    while True:
        view = _view_model(model, report, bounds)
        text = template.render(id=f"model-{index}", alone=alone, level=2 if alone else 3, **view)
        if len(text.encode()) <= MOST_BYTES or bounds == bounds.halve():
            return Markup(text)  # noqa: S704  (rendered with autoescape)
        bounds = bounds.halve()


@cache
def load_templates() -> Environment:
    """Return what all pages are made with: no text from a file steers one."""
    found = Environment(
        loader=PackageLoader("pytest_bertsize.reports.html", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: printable(value, LONGEST) if type(value) is str else value,  # no markup of ours
    )
    found.filters |= {
        "exact": lambda count: NOTHING if count is None else exact(count),
        "line": _keep_percent,
        "signed": show_difference,
        "left": compact_left,
        "size": _show_bytes,
        "short": lambda commit: commit[: sentences.SHORT],
        "plural": plural,
        "dims": lambda shape: "absent" if shape is None else " × ".join(map(exact, shape)) or "scalar",
    }
    found.globals |= {"say_why": sentences.say_why, "name_limited": sentences.name_limited}
    return found


def _keep_percent(headline: str) -> Markup:
    """Let no sign of per cent begin a line of a headline."""
    return Markup(str(escape(printable(headline, LONGEST))).replace(" %", "&nbsp;%"))  # noqa: S704  (escaped)


def _show_bytes(count: int) -> str:
    """``590218704`` → ``'590 MB'``; kB, MB and GB are powers of 1,000."""
    value = Decimal(count)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        places = "1" if value >= 100 or unit == "B" else "0.1"  # noqa: PLR2004
        rounded = value.quantize(Decimal(places), ROUND_HALF_UP)
        if rounded < 1000 or unit == "TB":  # noqa: PLR2004
            return f"{rounded:,} {unit}".replace(".0 ", " ")
        value /= 1000
    raise AssertionError


def _cut_name(model: ModelReport) -> str:
    """The headline behind the model's name, which the page shows apart."""
    return model.headline.removeprefix(f"{model.name}: ")


# one model


class Line(NamedTuple):
    """A row of the table."""

    row: Component
    label: str
    depth: int
    share: str


def _view_model(model: ModelReport, report: RunReport, bounds: Bounds) -> dict[str, Any]:
    base, choices, findings = model.base, model.choices, model.own_findings
    rows, shown = model.components, urgent_rows(model.components, bounds.rows)
    names = {row.name for row in shown}
    whole, count = model.total_row, model.parameter_count
    change = model.base_delta if model.is_compared else None
    head = f"this branch ({report.commit[: sentences.SHORT]})" if report.commit else "this branch"
    return {
        "model": model,
        "headline": _cut_name(model),
        "in_title": model.headline in report.headline,
        "report": report,
        "base": base,
        "bounds": bounds,
        "head": "the work tree" if sentences.is_of_work_tree(report) else head,
        "parameters": model.totals.expected if count is None else count,
        "built": model.totals.actual is not None,
        "change": change,
        "percent": show_percent(change, base.total) if change and base and base.total else "",
        "whole": whole,
        "side": _name_side(whole) if whole else "",
        "limited": sum(row.limit is not None for row in (*rows, *model.measures)),
        "findings": findings,
        "off_form": any(finding.kind == "off-closed-form" for finding in findings),
        "bars": _find_bars(model, bounds.cells),
        "lines": [_view_row(row, names, whole) for row in shown],
        "columns": {
            "formula": any(row.formula for row in rows),
            "base": any(row.base is not None for row in rows),
            "budget": any(row.limit for row in rows),
            "off": model.closed_form and any(row.form_delta is not None for row in rows),
            "differs": any(row.form_delta for row in rows),
        },
        "changes": base.changes if base else [],
        "moved": _name_moved,
        "measures": sentences.name_changed_measures(model.measures),
        "beside": [
            *filter(None, [sentences.describe_embedding(model)]),
            *sentences.describe_measures(model),
            *sentences.describe_rest(model),
        ],
        "fits": choices.fits if choices else [],
        "costs": choices.costs if choices else [],
    }


def _view_row(row: Component, shown: set[str], whole: Component | None) -> Line:
    parent, _, last = row.name.rpartition(".")
    share = show_share(row.known_count, whole.known_count if whole else None)
    return Line(row, last, row.name.count("."), share) if parent in shown else Line(row, row.name, 0, share)


def _name_side(row: Component) -> str:
    """What there is of the limit: left, over, or above or under a minimum."""
    if row.min is not None and (row.known_count or 0) < row.min:
        return "under its minimum"
    return "over" if (row.room_left or 0) < 0 else "above its minimum" if row.max is None else "left"


def _name_moved(components: Mapping[str, int], most: int = 4) -> str:
    """Where a key's cost is, without the levels above: ``encoder.attention +4,727,808, …``."""
    return listed([f"{name} {signed(components[name])}" for name in pick_deepest(components)], most)


# bars: two models on one scale, so that growth is length and what is over budget sticks out past the line

NEAR = 4
"""A budget of more than so many times the larger model is beyond the right edge: it would leave no bars to see."""
COLOURS = 8
"""That the page has; those behind the canonical components' are for all others, in turn."""
_HEADROOM = 50
"""A part of so many stays free at the right, so that a line at the very end is seen."""


class Cell(NamedTuple):
    """A stretch of a bar. Its width is its count, and nothing else."""

    name: str
    start: int
    size: int
    label: str = ""
    amount: str = ""
    colour: int = 0
    added: bool = False


class Bar(NamedTuple):
    """One side: the first level above, the second below."""

    label: str
    total: int
    above: list[Cell]
    below: list[Cell]
    spoken: str


class Bars(NamedTuple):
    """Both sides on one scale."""

    scale: int
    sides: list[Bar]
    limit: int | None
    """Of the total; ``None`` where there is none."""
    beyond: bool
    """Whether it lies outside the scale."""
    limit_text: str

    def share(self, count: int) -> str:
        """Return the part of the whole width, in per cent."""
        return f"{100 * count / self.scale:.4f}"

    @property
    def added(self) -> bool:
        return any(cell.added for side in self.sides for cell in side.below)


def _find_bars(model: ModelReport, most: int) -> Bars | None:
    base, whole = model.base, model.total_row
    rows = [row for row in model.components if row.name != TRAINABLE]
    now = {row.name: row.known_count for row in rows if row.known_count is not None}
    if whole is None or not now.get(TOTAL):
        return None
    before = None
    if base and base.total is not None and not model.is_unchanged:
        before = {**{row.name: row.base for row in rows if row.base}, TOTAL: base.total}
    written = whole.limit or "" if whole.min in {None, whole.max} else exact(whole.max or 0)
    return find_bars(now, before, base.revision if base else "", (whole.max, written), most)


def find_bars(
    now: Mapping[str, int], before: Mapping[str, int] | None, base: str, limit: tuple[int | None, str], most: int
) -> Bars:
    """Return the bars of one model.

    :param now: parameters of every component at every level, and of the total.
    :param before: the same at the base; ``None`` where there is none to compare with.
    :param base: what the base is called.
    :param limit: the most that the total may be, and how that is written.
    :param most: cells that one bar has at each level; the smallest others are drawn as one.
    """
    larger = max(now[TOTAL], before[TOTAL] if before else 0)
    highest, written = limit
    beyond = highest is not None and highest > NEAR * larger
    scale = larger if highest is None or beyond else max(larger, highest)
    sides = [_find_bar("this branch", now, before, most, highest)]
    if before is not None:
        sides.insert(0, _find_bar(base, before, None, most, highest))
    return Bars(scale + scale // _HEADROOM, sides, highest, beyond, written)


def _find_bar(
    label: str, counts: Mapping[str, int], before: Mapping[str, int] | None, most: int, limit: int | None
) -> Bar:
    above: list[Cell] = []
    below: list[Cell] = []
    start, wholes = 0, _parts_below(counts, "")
    for name, count in _bound_parts(wholes, most):
        cell, parts = Cell(name, start, count, name, _round_up(count), colour_of(name, [*wholes])), {name: count}
        if name in wholes:  # and not several that are drawn as one
            parts = _parts_below(counts, name) or parts
        former = {**before, **_parts_below(before, name)} if before is not None and name in wholes else None
        above.append(cell)
        below += _second_level(cell, parts, former, max(most // 3, 1))
        start += count
    return Bar(label, counts[TOTAL], above, below, _speak_bar(label, counts, above, limit, most))


def _parts_below(counts: Mapping[str, int], parent: str) -> dict[str, int]:
    """The components right below one, or those at the top; what they leave of its count is the last, ``other``."""
    prefix = f"{parent}." if parent else ""
    names = [name for name in counts if name.startswith(prefix) and "." not in name[len(prefix) :] and name != TOTAL]
    parts = {name: counts[name] for name in names if counts[name]}
    rest = counts.get(parent or TOTAL, 0) - sum(parts.values())
    return {**parts, f"{prefix}other": rest} if parts and rest > 0 else parts


def _bound_parts(parts: Mapping[str, int], most: int) -> list[tuple[str, int]]:
    """The largest, in their order, and all others as one."""
    if len(parts) <= most:
        return list(parts.items())
    kept = sorted(parts, key=lambda name: -parts[name])[: most - 1]
    rest = [count for name, count in parts.items() if name not in kept]
    return [*((name, count) for name, count in parts.items() if name in kept), (f"{len(rest)} others", sum(rest))]


def _second_level(cell: Cell, parts: Mapping[str, int], former: Mapping[str, int] | None, most: int) -> list[Cell]:
    """The components below one, each with what was added to it at its end."""
    cells, start = [], cell.start
    for part, size in _bound_parts(parts, most):
        kept = size if former is None or part not in parts else min(size, former.get(part, 0))
        added = size - kept
        label = "" if part == cell.name else part.rpartition(".")[2]
        if kept:
            cells.append(Cell(part, start, kept, "" if added > kept else label, colour=cell.colour))
        if added:
            named = f"{label} " if added > kept and label else ""
            amount = f"{named}+{_round_up(added)}"
            cells.append(Cell(part, start + kept, added, amount, colour=cell.colour, added=True))
        start += size
    return cells


def colour_of(name: str, names: Sequence[str]) -> int:
    if name in CANONICAL:
        return CANONICAL.index(name)
    others = [each for each in names if each not in CANONICAL]
    room = COLOURS - len(CANONICAL)
    return len(CANONICAL) + (others.index(name) % room if name in others else room - 1)


def _round_up(count: int) -> str:
    """``85054464`` → ``'85.1M'``; the exact count is in the cell's title and in the table."""
    return compact_left(-count)[1:]


def _speak_bar(label: str, counts: Mapping[str, int], above: Sequence[Cell], limit: int | None, most: int) -> str:
    """The bar for those who do not see it."""
    parts = []
    for cell in above:
        below = _bound_parts(_parts_below(counts, cell.name), max(most // 3, 1))
        inner = ", ".join(f"{name.rpartition('.')[2]} {exact(count)}" for name, count in below)
        parts.append(f"{cell.name} {exact(cell.size)}{f' (of it {inner})' if inner else ''}")
    over = counts[TOTAL] - (limit or 0)
    side = f", {exact(abs(over))} {'over' if over > 0 else 'below'} the budget of"
    budget = "" if limit is None else f"{side} {exact(limit)}"
    return f"{label}: {exact(counts[TOTAL])} parameters{budget}. {'; '.join(parts)}"
