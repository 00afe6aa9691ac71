"""``bertsize fit``: the shapes that a model could have under a budget, with the overrides to paste."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO

from pytest_bertsize import quantity
from pytest_bertsize.closed_forms import flops, shapes
from pytest_bertsize.closed_forms.axes import MULTIPLE, SEQ_LEN, Wish
from pytest_bertsize.closed_forms.what_if import Variants
from pytest_bertsize.commands.console import GOOD, heading, mistaken, origin, say, style_of
from pytest_bertsize.commands.named_model import Explained, Named, explained
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.inventory import TOTAL
from pytest_bertsize.review.measures import Subject, measured
from pytest_bertsize.table.model import FLOPS, AsBytes, Flops, Growth, Limit, Training
from pytest_bertsize.table.toml import inline
from pytest_bertsize.wording import did_you_mean, exact, shown

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from pytest_bertsize.closed_forms.family import ClosedForm
    from pytest_bertsize.closed_forms.shapes import Found
    from pytest_bertsize.quantity import Quantity
    from pytest_bertsize.reports.terminal.drawing import Style

MOST = 10
"""Shapes that are shown."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line says of the shapes."""

    total: str | None = None
    """The most parameters, as in ``110M``; ``None``, without FLOPs either: the budget of the declared model."""
    flops: str | None = None
    """The most FLOPs of a forward pass."""
    seq_len: int = SEQ_LEN
    """Its tokens."""
    keep: Sequence[str] = ()
    multiple: int = MULTIPLE
    head_width: int | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """A shape, or today's."""

    sizes: Mapping[str, int]
    """By key, of the keys that vary."""
    changes: Mapping[str, int]
    total: int
    flops: int | None


@dataclass(frozen=True, slots=True)
class Fitting:
    """All that is printed, in whatever form."""

    chosen: Explained
    limits: Sequence[Limit]
    found: Found
    rows: Sequence[Row]
    """Today's is the first."""


def fit(named: Named, asked: Asked, out: TextIO, err: TextIO, *, form: str = "text") -> int:
    """Print the shapes of one model under a budget, the nearest to today's first.

    :param form: ``text``, ``md`` or ``json``.
    :returns: the exit status.
    """
    try:
        found = _fitting(explained(named), asked)
    except Unusable as unusable:
        return mistaken(unusable, err)
    say(_quoted(found, form) if form != "text" else _drawn(found, style_of(out, 0)), out)
    return GOOD


def _fitting(chosen: Explained, asked: Asked) -> Fitting:
    """:raises Unusable: where the command line asks for what there is not, or no shape holds the limits."""
    limits = _limits(chosen, asked)
    keys = Variants(chosen.derivation).sizes
    wrong = [_no_such_key(key, keys) for key in asked.keep if key not in keys]
    numbers = {"--multiple": asked.multiple, "--head-width": asked.head_width, "--seq-len": asked.seq_len}
    wrong += [
        _mistake(f"{option} is {each}", "write a number from 1")
        for option, each in numbers.items()
        if each is not None and each < 1
    ]
    if wrong:
        raise Unusable(*wrong)
    wish = Wish(frozenset(asked.keep), asked.multiple, asked.head_width, asked.seq_len)
    sought = [*shapes.of_shapes(limits), *(_as_count(limit, chosen) for limit in limits if _is_of_bytes(limit))]
    found = shapes.shapes(chosen.derivation, sought, wish, most=MOST)
    if not found.varied:
        what = f"{chosen.form.architecture.name} has no size left to vary"
        is_pair = not keys and any(symbol.startswith("L") for symbol in chosen.form.dims.sizes)
        alone = "name the config of one of its sides" if is_pair else "name a model that has a width or layers"
        raise Unusable(_mistake(what, "keep fewer keys" if asked.keep else alone))
    return Fitting(chosen, limits, found, _rows(chosen, found, limits, keeps=bool(asked.keep)))


def _rows(chosen: Explained, found: Found, limits: Sequence[Limit], *, keeps: bool) -> list[Row]:
    """:raises Unusable: where there is none but today's, and that does not hold the limits either."""
    form, variants = chosen.form, Variants(chosen.derivation)
    counted = flops.flops(form.architecture, form.dims, seq_len=found.seq_len)
    cost = None if counted is None else flops.total(counted)
    now = {key: variants.now(key) for key in found.varied}
    of_bytes = [limit for limit in limits if _is_of_bytes(limit)]

    def is_too_heavy(shape: ClosedForm) -> bool:
        return any(_breaks(limit, _bytes(limit, shape, chosen)) for limit in of_bytes)

    rows = [
        Row({**now, **shape.changes}, shape.changes, shape.form.total, shape.flops)
        for shape in found.shapes
        if not is_too_heavy(shape.form)
    ]
    of_shapes = shapes.of_shapes(limits)
    is_over = any(_breaks(limit, cost if limit.measure else form[limit.component]) for limit in of_shapes)
    if not rows and (is_over or is_too_heavy(form)):
        raise Unusable(_none(found, limits, keeps=keeps))
    return [Row(now, {}, form.total, cost), *rows]


def _none(found: Found, limits: Sequence[Limit], *, keeps: bool) -> Finding:
    """Why there is no shape."""
    said, fix = _said(limits), f"write a larger limit{', or keep fewer keys' if keeps else ''}"
    if found.afterwards:
        way_out = f"leave {_said(found.afterwards)} out, as by --total 110M: no formula says what is frozen"
        return _mistake(f"no shape was found within {said}", way_out)
    least = min((limit.maximum or 0 for limit in limits if limit.component == TOTAL), default=found.smallest)
    if found.smallest > least:
        return _mistake(f"no shape is within {said}: the smallest has {exact(found.smallest)} parameters", fix)
    tried = "fewer tokens and positions are tried with today's layers alone"
    return _mistake(f"no shape that was tried is within {said}: {tried}", f"{fix}, or overrides with fewer of them")


def _breaks(limit: Limit, count: int | None) -> bool:
    if count is None:
        return False
    return (limit.maximum is not None and count > limit.maximum) or count < (limit.minimum or 0)


def _mistake(message: str, fix: str) -> Finding:
    return Finding("config-invalid", message, fix)


def _no_such_key(key: str, keys: Mapping[str, Any]) -> Finding:
    return _mistake(
        f"--keep {shown(key)} is no size of this model", did_you_mean(key, keys, f"there are {', '.join(keys)}")
    )


# the limits


def _limits(chosen: Explained, asked: Asked) -> list[Limit]:
    """Those of the command line or, where it says none, the model's own.

    :raises Unusable: where there is none at all, or one is not a number.
    """
    found = []
    if asked.total is not None:
        found.append(_limit(TOTAL, "--total", asked.total, quantity.PARAMETERS))
    if asked.flops is not None:
        limit = _limit(FLOPS, "--flops", asked.flops, quantity.FLOPS)
        found.append(limit._replace(measure=Flops(asked.seq_len)))
    own = chosen.declared[1].limits if chosen.declared else ()
    found = found or [limit for limit in own if not isinstance(limit.measure, Growth)]
    if not any(limit.maximum is not None for limit in found):
        raise Unusable(_mistake("there is no limit to stay under", "write --total 110M, for example"))
    return found


def _limit(component: str, option: str, written: str, kind: Quantity) -> Limit:
    try:
        most = kind.parse(written)
    except ValueError as error:
        message, _, fix = str(error).partition(": write ")
        raise Unusable(_mistake(f"{option} {message}", f"write {fix}" if fix else "")) from None
    return Limit(component, None, most, written, option)


def _is_of_bytes(limit: Limit) -> bool:
    return isinstance(limit.measure, AsBytes | Training)


def _bytes(limit: Limit, form: ClosedForm, chosen: Explained) -> int:
    """What a shape comes to by a limit of bytes.

    :raises Unusable: where nobody can tell, as of what is quantised.
    """
    config = {**chosen.config.data, **chosen.model.overrides}
    return measured([limit], Subject(form.inventory, form, config, None))[0].actual


def _as_count(limit: Limit, chosen: Explained) -> Limit:
    """The parameters that a limit of bytes lets pass, as many to the byte as today."""
    total, now = chosen.form.total, _bytes(limit, chosen.form, chosen)
    least, most = (each and each * total // now for each in (limit.minimum, limit.maximum))
    return Limit(TOTAL, least, most, limit.written, limit.file)


def _said(limits: Sequence[Limit]) -> str:
    """``total 110M and flops 22G of 128 tokens``."""
    return " and ".join(
        f"{limit.component} {limit}{f' of {limit.measure}' if isinstance(limit.measure, Flops) else ''}"
        for limit in limits
    )


# to paste


def overrides(chosen: Explained, changes: Mapping[str, int]) -> dict[str, Any]:
    """What the table says already, and what a shape changes; a key of one part of several stands in that part's."""
    aliases = chosen.derivation.family.keys.aliases
    already = chosen.declared[1].overrides if chosen.declared else {}
    found: dict[str, Any] = {key: each for key, each in already.items() if aliases.get(key) not in changes}
    for key, value in changes.items():
        part, _, own = key.rpartition(".")
        if part:
            found[part] = {**found.get(part, {}), own: value}
        else:
            found[own] = value
    return found


def to_paste(chosen: Explained, changes: Mapping[str, int]) -> str:
    """``overrides = { num_hidden_layers = 12 }``."""
    return f"overrides = {inline(overrides(chosen, changes))}"


# in a terminal


def _drawn(found: Fitting, style: Style) -> str:
    from rich.console import Group
    from rich.text import Text

    from pytest_bertsize.reports.terminal.drawing import draw, hanging

    chosen = found.chosen
    parts: list[RenderableType] = [heading(chosen), *origin(chosen, style), Text(""), _table(found)]
    lines = [f"{number:>2}  {to_paste(chosen, row.changes)}" for number, row in enumerate(found.rows[1:], 1)]
    said = draw(Group(*(hanging("- ", "dim", note, style) for note in notes(found))), style)
    return "\n".join(
        [draw(Group(*parts), style), "", *lines, *([""] if lines else []), said]
    )  # TOML may not be wrapped


def notes(found: Fitting) -> list[str]:
    """What the shapes are those of."""
    examined = f"{exact(found.found.examined)} shapes held against {_said(found.limits)}"
    how = "nearest to today's first, each with no size that could take one step more"
    none = "today's is as large as the budget lets it be" if len(found.rows) == 1 else f"{examined}; {how}"
    varied = f"varied: {', '.join(found.found.varied)}"
    return [none, varied]


def columns(found: Fitting) -> dict[str, list[str]]:
    """Cells by heading: the sizes that some shape changes by their symbol, then what they come to."""
    sizes = Variants(found.chosen.derivation).sizes
    changed = [key for key in found.found.varied if any(key in row.changes for row in found.rows)]
    cells = {"": ["today", *(str(number) for number, _ in enumerate(found.rows[1:], 1))]}
    cells |= {sizes[key].symbol: [exact(row.sizes[key]) for row in found.rows] for key in changed}
    cells["parameters"] = [exact(row.total) for row in found.rows]
    if all(row.flops is not None for row in found.rows):
        cells[f"FLOPs of {exact(found.found.seq_len)} tokens"] = [exact(row.flops or 0) for row in found.rows]
    return cells


def _table(found: Fitting) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, show_edge=False, padding=(0, 0, 0, 1), pad_edge=False, header_style="bold")
    table.border_style = "dim"
    cells = columns(found)
    for header in cells:
        table.add_column(header, justify="right", no_wrap=True)
    for place, row in enumerate(zip(*cells.values(), strict=True)):
        table.add_row(*(Text(text, style="dim" if place == 0 else "") for text in row))
    return table


def _quoted(found: Fitting, form: str) -> str:
    """Return the shapes as Markdown or as JSON."""
    from pytest_bertsize.commands.quoting import SCHEMA, facts, json_text, source
    from pytest_bertsize.reports.markdown.text import text as in_markdown

    chosen = found.chosen
    if form == "json":
        limits = [{"component": each.component, "min": each.minimum, "max": each.maximum} for each in found.limits]
        rows = [
            {
                "overrides": overrides(chosen, row.changes),
                "sizes": dict(row.sizes),
                "parameters": row.total,
                "flops": row.flops,
            }
            for row in found.rows
        ]
        searched = {"limits": limits, "seq_len": found.found.seq_len, "examined": found.found.examined}
        return json_text({"schema": SCHEMA, **facts(chosen), **searched, "today": rows[0], "shapes": rows[1:]})
    cells = columns(found)
    cells["to paste"] = ["", *(f"`{to_paste(chosen, row.changes)}`" for row in found.rows[1:])]
    lines = [f"| {' | '.join(cells)} |", f"|{' --: |' * (len(cells) - 1)} :-- |"]
    lines += [f"| {' | '.join(row)} |" for row in zip(*cells.values(), strict=True)]
    return "\n".join([*lines, "", *(f"- {in_markdown(each)}" for each in notes(found)), "", source(facts(chosen))])
