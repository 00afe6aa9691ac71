"""The report as one HTML page: no script, no requests, the same bytes for the same report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pytest_bertsize.inventory import CANONICAL, TOTAL, TRAINABLE, levels
from pytest_bertsize.quantity import compact_left
from pytest_bertsize.reports import sentences
from pytest_bertsize.reports.report import Component, ModelReport, RunReport, urgent_rows
from pytest_bertsize.reports.sentences import NOTHING, show_difference, show_percent
from pytest_bertsize.wording import exact, plural, printable, signed

MOST_BYTES = 50_000  # the most bytes of one model's section; the rest of a page about one model takes less than 14,000
LONGEST = 1_500  # the most characters of one text that is inserted in the page
BOUNDS = {"rows": 60, "cells": 24, "findings": 24, "changes": 30, "layers": 24, "tensors": 12}
"""The most entries that are shown: ``cells`` in a bar, ``tensors`` in a layer, and the other kinds for a model."""


def render_page(report: RunReport) -> str:
    """Return the page of a run. It counts the entries that it leaves out; the JSON report has all."""
    ordered = sorted(report.models, key=lambda model: model.verdict == "passed")
    numbered = [(f"model-{index}", model) for index, model in enumerate(ordered, 1)]
    return (
        load_templates()
        .get_template("page.html.jinja")
        .render(
            report=report,
            work_tree=sentences.is_of_work_tree(report),
            alone=report.only_model,
            models=[(name, model, _render_model(name, model, report)) for name, model in numbered],
            stand_ins=sentences.name_stand_ins(report.models),
            unchanged=bool(ordered) and all(model.is_unchanged for model in ordered),
        )
    )


def _render_model(name: str, model: ModelReport, report: RunReport) -> Markup:
    """Render one model's section; if it exceeds :data:`MOST_BYTES`, show fewer entries of every kind."""
    template, bounds = load_templates().get_template("model.html.jinja"), BOUNDS
    while True:
        text = template.render(id=name, **_view_model(model, report, bounds))
        fewer = {kind: max(most // 2, 1) for kind, most in bounds.items()}
        if len(text.encode()) <= MOST_BYTES or bounds == fewer:
            return Markup(text)  # noqa: S704  (rendered with autoescape)
        bounds = fewer


@cache
def load_templates() -> Environment:
    """Return the environment of the templates, which escape every text that they insert."""
    found = Environment(
        loader=PackageLoader("pytest_bertsize.reports.html", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: printable(value, LONGEST) if type(value) is str else value,  # not our markup
    )
    found.filters |= {
        "exact": _show_count,
        "behind_name": lambda model: model.headline.removeprefix(f"{model.name}: "),
        "break_behind": lambda name, sign: Markup(f"{sign}<wbr>").join(printable(name, LONGEST).split(sign)),  # noqa: S704
        "signed": show_difference,
        "percent": show_percent,
        "side": _name_side,
        "size": _show_bytes,
        "short": lambda commit: commit[: sentences.SHORT],
        "plural": plural,
        "dims": lambda shape: "absent" if shape is None else " × ".join(map(exact, shape)) or "scalar",
        "where": lambda components: sentences.name_moved(components, 4),
        "cause": sentences.name_change,
        "former": sentences.describe_former,
        "reason": sentences.describe_reason,
    }
    return found


def _show_bytes(count: int) -> str:
    """Return ``590218704`` bytes as ``'590 MB'``; kB, MB and GB are powers of 1,000."""
    for power, unit in enumerate(("B", "kB", "MB", "GB", "TB")):
        value = Decimal(count) / 1000**power
        rounded = value.quantize(Decimal("0.1" if power and value < 100 else "1"), ROUND_HALF_UP)  # noqa: PLR2004
        if rounded < 1000 or unit == "TB":  # noqa: PLR2004
            break
    return f"{rounded:,} {unit}".replace(".0 ", " ")


def _name_side(row: Component) -> str:
    """Return the words after ``room_left``: ``left``, ``over``, ``above its minimum`` or ``under its minimum``."""
    if row.min is not None and (row.known_count or 0) < row.min:
        return "under its minimum"
    return "over" if (row.room_left or 0) < 0 else "above its minimum" if row.max is None else "left"


# one model


class Column(NamedTuple):
    """A column of the table of components."""

    head: str
    style: str
    """The CSS classes of the column's cells."""
    show: Callable[[Component], str]
    is_bad: Callable[[Component], bool] = lambda _: False


def _view_model(model: ModelReport, report: RunReport, bounds: Mapping[str, int]) -> dict[str, Any]:
    """Return the values that a model's template needs, except its ``id``."""
    base, is_built = model.base, model.totals.actual is not None
    counts = {row.name: row.known_count or 0 for row in model.components if row.name != TRAINABLE}
    rows = []
    for row in model.components:  # but one whose only part has its name, as in ``layers.layers``
        part = f"{row.name}.{row.name.rpartition('.')[2]}"
        rows += [row] if row.limit or counts.get(part) != counts.get(row.name) else []
    shown = urgent_rows(rows, bounds["rows"])
    names = {row.name for row in shown}
    lines = []
    for row in shown:  # each with its label, and how many of the shown components contain it
        parent, _, last = row.name.rpartition(".")
        depth = sum(level in names for level in levels(parent)) if parent in names else 0
        lines.append((row, last if depth else row.name, depth))
    sides = {
        **({"base": base.revision} if base and base.total is not None else {}),
        **({"expected": "Closed form"} if model.closed_form else {}),
        **({"actual": "this branch" if base else "Built" if model.built else "Lock"} if is_built else {}),
    }
    return {
        "model": model,
        "report": report,
        "bounds": bounds,
        "alone": report.only_model is not None,
        "work_tree": sentences.is_of_work_tree(report),
        "parameters": model.totals.expected if model.parameter_count is None else model.parameter_count,
        "limited": sum(row.limit is not None for row in (*model.components, *model.measures)),
        "changes": sentences.list_changes(base) if base else [],
        "measures": sentences.name_changed_measures(model.measures),
        "beside": [
            *filter(None, [sentences.describe_embedding(model)]),
            *sentences.describe_measures(model),
            *sentences.describe_rest(model),
        ],
        "bars": find_bars(model, bounds["cells"]),
        "differs": any(row.form_delta for row in model.components),
        "columns": [*_list_columns(model)],
        "has_own": any(f"{name}.other" in _find_parts(counts, name) for name in counts),
        "lines": lines,
        "layer_sides": [*sides],
        "layer_heads": [("Tensor", ""), *((name, "n") for name in sides.values())],
    }


def _list_columns(model: ModelReport) -> Iterator[Column]:
    """Yield the columns that are not empty; narrow screens hide those with certain CSS classes."""
    rows, base = model.components, model.base
    has_changed = any(row.base_delta for row in rows)
    now = "Closed form's count" if model.totals.actual is None else "this branch" if base else "Parameters"
    if any(row.formula for row in rows):
        yield Column("Closed form", "formula", lambda row: row.formula or "")
    if has_changed:
        yield Column(base.revision if base else "Base", "n count base", lambda row: _show_count(row.base))
    yield Column(now, "n count", lambda row: _show_count(row.known_count))
    yield Column("Share", "n share", lambda row: sentences.share_of_total(row, model))
    if has_changed:
        yield Column("Change", "n count", lambda row: signed(row.base_delta) if row.base_delta else "")
    if any(row.limit for row in rows):
        # the limit is bad if a row fails although its count is within the limit and matches the closed form
        is_raised = {row.name for row in rows if row.failed and not row.form_delta and (row.room_left or 0) >= 0}
        yield Column("Budget", "n budget", lambda row: row.limit or "", lambda row: row.name in is_raised)
        left = Column("Left", "n", lambda row: "" if row.room_left is None else compact_left(row.room_left))
        yield left._replace(is_bad=lambda row: (row.room_left or 0) < 0)
    if any(row.form_delta for row in rows):
        off = Column("Off formula", "n off", lambda row: signed(row.form_delta) if row.form_delta else "")
        yield off._replace(is_bad=lambda row: bool(row.form_delta))


def _show_count(count: int | None) -> str:
    return NOTHING if count is None else exact(count)


# bars: two models on one scale; an excess extends past the line of the budget

COLOURS = 8
"""The number of colours: each canonical component has its own, and the other components share the remaining ones."""


class Cell(NamedTuple):
    """A stretch of a bar, as wide as the count that it stands for."""

    name: str
    start: int
    size: int
    label: str
    colour: int
    added: bool = False


class Bar(NamedTuple):
    """The bar of the base or of this branch: ``above`` has components of the first level, ``below`` has their parts."""

    label: str
    total: int
    above: list[Cell]
    below: list[Cell]
    spoken: str


class Bars(NamedTuple):
    """The bars of a model on one scale."""

    scale: int
    sides: list[Bar]
    limit: int | None
    """The limit of the total, or ``None``."""
    beyond: bool
    """True if the limit is off the scale."""
    limit_text: str

    def share(self, count: int) -> str:
        """Return a count as a percentage of the whole width."""
        return f"{100 * count / self.scale:.4f}"

    @property
    def added(self) -> bool:
        return any(cell.added for side in self.sides for cell in side.below)


def find_bars(model: ModelReport, most: int) -> Bars | None:
    """Return a model's bars of at most ``most`` components, the base's first; ``None`` if nothing was counted."""
    base, whole = model.base, model.total_row
    rows = [row for row in model.components if row.name != TRAINABLE]
    now = {row.name: row.known_count or 0 for row in rows}
    if whole is None or not now[TOTAL]:
        return None
    sides, before = [], None
    if base and base.total is not None and not model.is_unchanged:
        before = {**{row.name: row.base or 0 for row in rows}, TOTAL: base.total}
        sides.append(_find_bar(base.revision, before, None, most, whole.max))
    sides.append(_find_bar("this branch", now, before, most, whole.max))
    larger = max(side.total for side in sides)
    beyond = whole.max is not None and whole.max > 4 * larger  # off the scale, so that the bars stay visible
    scale = larger if whole.max is None or beyond else max(larger, whole.max)
    written = whole.limit or "" if whole.min in {None, whole.max} else exact(whole.max or 0)
    return Bars(scale + scale // 50, sides, whole.max, beyond, written)


def _find_bar(
    label: str, counts: Mapping[str, int], before: Mapping[str, int] | None, most: int, limit: int | None
) -> Bar:
    above: list[Cell] = []
    below: list[Cell] = []
    spoken = []
    start, wholes = 0, _find_parts(counts, "")
    for name, count in _join_smallest(wholes, most).items():
        cell = Cell(name, start, count, exact(count), colour_of(name, [*wholes]))
        parts = _join_smallest(_find_parts(counts, name), max(most // 3, 1))
        former = {**before, **_find_parts(before, name)} if before is not None and name in wholes else None
        above.append(cell)
        below += _find_cells_below(cell, parts or {name: count}, former)
        inner = ", ".join(f"{part.rpartition('.')[2]} {exact(size)}" for part, size in parts.items())
        spoken.append(f"{name} {exact(count)}{f' (of it {inner})' if inner else ''}")
        start += count
    over = counts[TOTAL] - (limit or 0)
    side = f", {exact(abs(over))} {'over' if over > 0 else 'below'} the budget of"
    budget = "" if limit is None else f"{side} {exact(limit)}"
    text = f"{label}: {exact(counts[TOTAL])} parameters{budget}. {'; '.join(spoken)}"
    return Bar(label, counts[TOTAL], above, below, text)


def _find_parts(counts: Mapping[str, int], parent: str) -> dict[str, int]:
    """Return the counts of a component's direct parts (for ``""``: of the first level), and the rest as ``other``."""
    prefix = f"{parent}." if parent else ""
    names = [name for name in counts if name.startswith(prefix) and "." not in name[len(prefix) :] and name != TOTAL]
    parts = {name: counts[name] for name in names if counts[name]}
    rest = counts.get(parent or TOTAL, 0) - sum(parts.values())
    return {**parts, f"{prefix}other": rest} if parts and rest > 0 else parts


def _join_smallest(parts: Mapping[str, int], most: int) -> Mapping[str, int]:
    """Return at most ``most`` parts: the largest keep their order, and the others are added up."""
    if len(parts) <= most:
        return parts
    kept = sorted(parts, key=lambda name: -parts[name])[: most - 1]
    rest = [count for name, count in parts.items() if name not in kept]
    return {**{name: count for name, count in parts.items() if name in kept}, f"{len(rest)} others": sum(rest)}


def _find_cells_below(cell: Cell, parts: Mapping[str, int], former: Mapping[str, int] | None) -> Iterator[Cell]:
    """Yield a cell for each part of a component, and after it a cell for the growth of that part since the base."""
    start = cell.start
    for part, size in parts.items():
        kept = size if former is None or part.endswith(" others") else min(size, former.get(part, 0))
        added = size - kept
        last = part.rpartition(".")[2]
        label = "" if last == cell.name else last
        if kept:
            yield Cell(part, start, kept, "" if added > kept else label, cell.colour)
        if added:
            named = f"{label} " if added > kept and label else ""
            yield Cell(part, start + kept, added, f"{named}+{exact(added)}", cell.colour, added=True)
        start += size


def colour_of(name: str, names: Sequence[str]) -> int:
    if name in CANONICAL:
        return CANONICAL.index(name)
    others = [each for each in names if each not in CANONICAL]
    room = COLOURS - len(CANONICAL)
    return len(CANONICAL) + (others.index(name) % room if name in others else room - 1)
