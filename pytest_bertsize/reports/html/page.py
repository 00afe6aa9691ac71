"""The report as one HTML page: no script, no requests, the same bytes for the same report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pytest_bertsize.inventory import CANONICAL, TOTAL, TRAINABLE
from pytest_bertsize.reports import sentences
from pytest_bertsize.wording import exact, printable, signed

if TYPE_CHECKING:
    from pytest_bertsize.reports.report import ModelReport, Row, RunReport

LONGEST = 1_500  # the most characters of one text that is inserted in the page
BOUNDS = {"rows": 60, "findings": 24, "layers": 100, "models": 100}  # the most entries that a page shows


def render_page(report: RunReport) -> str:
    """Return the page of a run. It counts the entries that it leaves out; the JSON report has all."""
    models = sorted(report.models, key=lambda model: model.verdict == "passed")
    page = load_templates().get_template("page.html.jinja")
    return page.render(
        report=report,
        bounds=BOUNDS,
        say=sentences,
        alone=report.only_model is not None,
        models=[(f"model-{index}", model) for index, model in enumerate(models, 1)],
        figures=_list_figures,
        parts=_list_parts,
        bars=find_bars,
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
        "exact": exact,
        "break_behind": lambda name, sign: Markup(f"{sign}<wbr>").join(printable(name, LONGEST).split(sign)),  # noqa: S704
        "css": _name_classes,
        "head": lambda column: (column.capitalize(), _name_classes(column)),
        "rest": lambda entries, most, what: sentences.count_rest(len(entries), most, what),
    }
    return found


def _name_classes(column: str) -> str:
    """Return the CSS classes of a column; narrow screens hide some columns."""
    return column if column == "formula" else f"n {column.replace(' ', '-')}"


# one model


def _list_figures(model: ModelReport) -> Iterator[tuple[str, str, str, bool]]:
    """Yield the numbers at the top of a model's section: name, value, what is said below it, and whether it is bad."""
    count, base, left = model.parameter_count, model.base, model.room_left
    count = model.totals.expected if count is None else count
    if count is None:
        return
    detail = "" if model.totals.actual is not None and model.built else f"by the {model.counted_by}, not built"
    if base and model.base_delta and base.total:
        share = sentences.show_percent(model.base_delta, base.total)
        detail = f"{signed(model.base_delta)} against {base.revision} ({share}){detail and f', {detail}'}"
    yield "Parameters", exact(count), detail, False
    room = "" if left is None else f"{exact(abs(left))} {'left' if left >= 0 else 'beyond it'}"
    yield "Budget", model.limited_by, room, (left or 0) < 0
    yield "Weights in fp32", _show_bytes(4 * count), f"{_show_bytes(2 * count)} in bf16", False
    deltas = {row.form_delta for row in model.components} - {None}
    off = model.total_row.form_delta if model.total_row else None
    differs = deltas > {0} or "off-closed-form" in {each.kind for each in model.findings}
    if not deltas:
        why = "it was not built" if model.closed_form and not model.built else "the budget alone is"
        yield "Closed form", "not compared", why, False
    else:
        value = signed(off) if off else "other tensors" if differs else "matches"
        yield "Closed form", value, "" if differs else "tensor by tensor", differs


def _show_bytes(count: int) -> str:
    """Return ``590218704`` bytes as ``'590 MB'``; kB, MB and GB are powers of 1,000."""
    for power, unit in enumerate(("B", "kB", "MB", "GB", "TB")):
        value = Decimal(count) / 1000**power
        rounded = value.quantize(Decimal("0.1" if power and value < 100 else "1"), ROUND_HALF_UP)  # noqa: PLR2004
        if rounded < 1000 or unit == "TB":  # noqa: PLR2004
            break
    return f"{rounded:,} {unit}".replace(".0 ", " ")


def _list_parts(model: ModelReport) -> list[tuple[Row, str, int, dict[str, str]]]:
    """Return the components, the measures last, each with its name, the depth below its parent, and its cells."""
    formulas = {row.name: row.formula or "" for row in model.components}
    return [
        (row, name, depth, {"formula": formulas.get(row.name, ""), **sentences.show_row(row, whole)})
        for row, name, depth, whole in sentences.list_parts(model, BOUNDS["rows"], is_full=True)
    ]


# bars: two models on one scale; an excess extends past the line of the budget

COLOURS = 8  # each canonical component has its own colour; the others share the remaining ones


class Cell(NamedTuple):
    """A stretch of a bar, as wide as the count that it stands for."""

    name: str
    start: int
    size: int
    colour: int
    added: bool = False


class Bar(NamedTuple):
    """The bar of the base or of this branch: ``above`` has components of the first level, ``below`` has their parts."""

    label: str
    total: int
    above: list[Cell]
    below: list[Cell]


class Bars(NamedTuple):
    """The bars of a model on one scale."""

    scale: int
    sides: list[Bar]
    limit: int | None  # the total's limit; None without one, or if the bars would be small beside it

    def share(self, count: int) -> str:
        """Return a count as a percentage of the whole width."""
        return f"{100 * count / self.scale:.4f}"


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
        sides.append(_find_bar(base.revision, before, None))
    sides.append(_find_bar("this branch", now, before))
    scale = max(side.total for side in sides)
    limit = None if whole.max is None or whole.max > 4 * scale else whole.max
    scale = max(scale, limit or 0)
    return Bars(scale + scale // 50, sides, limit)


def _find_bar(label: str, counts: Mapping[str, int], before: Mapping[str, int] | None) -> Bar:
    """Return a bar. Below, a cell for each part of a component stands before one for the part's growth ``before``."""
    above: list[Cell] = []
    below: list[Cell] = []
    wholes, end = _find_parts(counts, ""), 0
    for name, count in wholes.items():
        colour, start = colour_of(name, [*wholes]), end
        above.append(Cell(name, start, count, colour))
        end += count
        former = None if before is None else {**before, **_find_parts(before, ""), **_find_parts(before, name)}
        for part, size in (_find_parts(counts, name) or {name: count}).items():
            kept = size if former is None else min(size, former.get(part, 0))
            cells = (Cell(part, start, kept, colour), Cell(part, start + kept, size - kept, colour, added=True))
            below += [cell for cell in cells if cell.size]
            start += size
    return Bar(label, counts[TOTAL], above, below)


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
