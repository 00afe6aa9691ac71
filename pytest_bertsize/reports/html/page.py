"""The report as one HTML page: no script, no requests, the same bytes for the same report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pytest_bertsize.inventory import CANONICAL, TOTAL, TRAINABLE
from pytest_bertsize.quantity import compact_left
from pytest_bertsize.reports import sentences
from pytest_bertsize.reports.report import Component, ModelReport, RunReport, urgent_rows
from pytest_bertsize.reports.sentences import NOTHING, show_difference, show_percent
from pytest_bertsize.wording import exact, plural, printable, signed

LONGEST = 1_500  # the most characters of one text that is inserted in the page
BOUNDS = {"rows": 60, "findings": 24, "changes": 30, "layers": 24, "tensors": 12, "models": 100}
"""The most entries that are shown: ``tensors`` in a layer, ``models`` in a list of names, the others for a model."""


def render_page(report: RunReport) -> str:
    """Return the page of a run. It counts the entries that it leaves out; the JSON report has all."""
    template = load_templates().get_template("page.html.jinja")
    models = sorted(report.models, key=lambda model: model.verdict == "passed")
    return template.render(
        report=report,
        bounds=BOUNDS,
        work_tree=sentences.is_of_work_tree(report),
        alone=report.only_model is not None,
        models=[(f"model-{index}", model, _view_model(model)) for index, model in enumerate(models, 1)],
        stand_ins=sentences.name_stand_ins(models),
        unchanged=bool(models) and all(model.is_unchanged for model in models),
    )


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
        "size": _show_bytes,
        "short": lambda commit: commit[: sentences.SHORT],
        "plural": plural,
        "rest": lambda entries, most, what: sentences.count_rest(len(entries), most, what),
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


# one model


class Column(NamedTuple):
    """A column of the table of components."""

    head: str
    style: str
    """The CSS classes of the column's cells."""
    show: Callable[[Component], str]
    is_bad: Callable[[Component], bool] = lambda _: False


def _view_model(model: ModelReport) -> dict[str, Any]:
    """Return what a model's section has beside its report."""
    base = model.base
    shown = urgent_rows([row for row in model.components if row.name != TRAINABLE or row.limit], BOUNDS["rows"])
    names = {row.name for row in shown}
    lines = []
    for row in shown:  # each with its label, below its parent if that is shown
        parent, _, last = row.name.rpartition(".")
        lines.append((row, last, row.name.count(".")) if parent in names else (row, row.name, 0))
    sides = {
        **({"base": base.revision} if base and base.total is not None else {}),
        **({"expected": "Closed form"} if model.closed_form else {}),
    }
    if model.totals.actual is not None:
        sides["actual"] = "this branch" if base else "Built" if model.built else "Lock"
    return {
        "changes": sentences.list_changes(base) if base else [],
        "measures": sentences.name_changed_measures(model.measures),
        "beside": [
            *filter(None, [sentences.describe_embedding(model)]),
            *sentences.describe_measures(model),
            *sentences.describe_rest(model),
        ],
        "bars": find_bars(model),
        "differs": any(row.form_delta for row in model.components),
        "columns": [*_list_columns(model)],
        "lines": lines,
        "sides": sides,
        "heads": [(name, "n") for name in sides.values()],
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
        raised = {row.name for row in rows if row.failed and not row.form_delta and (row.room_left or 0) >= 0}
        over = {row.name for row in rows if (row.room_left or 0) < 0}
        yield Column("Budget", "n budget", lambda row: row.limit or "", lambda row: row.name in raised)
        yield Column("Left", "n", lambda row: _show_room(row.room_left), lambda row: row.name in over)
    if any(row.form_delta for row in rows):
        off = Column("Off formula", "n off", lambda row: signed(row.form_delta) if row.form_delta else "")
        yield off._replace(is_bad=lambda row: bool(row.form_delta))


def _show_room(left: int | None) -> str:
    return "" if left is None else compact_left(left)


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


def find_bars(model: ModelReport) -> Bars | None:
    """Return a model's bars, the base's first; ``None`` if nothing was counted."""
    base, whole = model.base, model.total_row
    rows = [row for row in model.components if row.name != TRAINABLE]
    now = {row.name: row.known_count or 0 for row in rows}
    if whole is None or not now[TOTAL]:
        return None
    sides, before = [], None
    if base and base.total is not None and not model.is_unchanged:
        before = {**{row.name: row.base or 0 for row in rows}, TOTAL: base.total}
        sides.append(_find_bar(base.revision, before, None, whole.max))
    sides.append(_find_bar("this branch", now, before, whole.max))
    larger = max(side.total for side in sides)
    beyond = whole.max is not None and whole.max > 4 * larger  # off the scale, so that the bars stay visible
    scale = larger if whole.max is None or beyond else max(larger, whole.max)
    written = whole.limit or "" if whole.min in {None, whole.max} else exact(whole.max or 0)
    return Bars(scale + scale // 50, sides, whole.max, beyond, written)


def _find_bar(label: str, counts: Mapping[str, int], before: Mapping[str, int] | None, limit: int | None) -> Bar:
    """Return a bar. Below, a cell for each part of a component stands before one for the part's growth ``before``."""
    above: list[Cell] = []
    below: list[Cell] = []
    spoken = []
    wholes = _find_parts(counts, "")
    for name, count in wholes.items():
        start = sum(cell.size for cell in above)
        parts, colour = _find_parts(counts, name), colour_of(name, [*wholes])
        inner = ", ".join(f"{part.rpartition('.')[2]} {exact(size)}" for part, size in parts.items())
        spoken.append(f"{name} {exact(count)}{f' (of it {inner})' if inner else ''}")
        above.append(Cell(name, start, count, exact(count), colour))
        former = None if before is None else {**before, **_find_parts(before, ""), **_find_parts(before, name)}
        for part, size in (parts or {name: count}).items():
            kept = size if former is None else min(size, former.get(part, 0))
            last = "" if part == name else part.rpartition(".")[2]
            grown = f"+{exact(size - kept)}"
            words = (last, grown) if 2 * kept >= size else ("", f"{last} {grown}".strip())
            cells = (
                Cell(part, start, kept, words[0], colour),
                Cell(part, start + kept, size - kept, words[1], colour, added=True),
            )
            below += [cell for cell in cells if cell.size]
            start += size
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


def colour_of(name: str, names: Sequence[str]) -> int:
    if name in CANONICAL:
        return CANONICAL.index(name)
    others = [each for each in names if each not in CANONICAL]
    room = COLOURS - len(CANONICAL)
    return len(CANONICAL) + (others.index(name) % room if name in others else room - 1)
