"""``bertsize fit``: the shapes that a model could have under a budget, with the overrides to paste."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO

from pytest_bertsize import quantity
from pytest_bertsize.closed_forms import flops, shapes
from pytest_bertsize.closed_forms.shapes import MULTIPLE, SEQ_LEN
from pytest_bertsize.closed_forms.what_if import Variants, is_allowed
from pytest_bertsize.commands.console import GOOD, heading, mistaken, origin, say, style_of
from pytest_bertsize.commands.named_model import Explained, Named, explained
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.inventory import TOTAL
from pytest_bertsize.review.measures import Measurable, measure_limits
from pytest_bertsize.table.model import FLOPS, Flops, Growth, Limit
from pytest_bertsize.table.toml import inline
from pytest_bertsize.wording import BadValue, did_you_mean, exact, shown

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.family import ClosedForm
    from pytest_bertsize.closed_forms.shapes import Found
    from pytest_bertsize.quantity import Quantity
    from pytest_bertsize.reports.drawing import Style

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
class Fitting:
    """All that is printed, in whatever form."""

    chosen: Explained
    limits: Sequence[Limit]
    found: Found
    now: Mapping[str, int]
    """Today's sizes, of the keys that vary."""
    flops: int | None
    """Of today's shape."""

    @property
    def rows(self) -> list[tuple[Mapping[str, int], int, int | None]]:
        """Sizes, parameters and FLOPs of today's shape and of those that were found."""
        rows = [({**self.now, **each.changes}, each.form.total, each.flops) for each in self.found.shapes]
        return [(self.now, self.chosen.form.total, self.flops), *rows]


def fit(named: Named, asked: Asked, out: TextIO, err: TextIO, *, form: str = "text") -> int:
    """Print the shapes of one model under a budget, the nearest to today's first.

    :param form: ``text``, ``md`` or ``json``.
    :returns: the exit status.
    """
    try:
        found = _fit_model(explained(named), asked)
    except Unusable as unusable:
        return mistaken(unusable, err)
    say(_quote(found, form) if form != "text" else _draw(found, style_of(out, 0)), out)
    return GOOD


def _fit_model(chosen: Explained, asked: Asked) -> Fitting:
    """:raises Unusable: where the command line asks for what there is not, or no shape holds the limits."""
    limits = _read_limits(chosen, asked)
    variants = Variants(chosen.derivation)
    keys = variants.sizes
    wrong = [
        _mistake(
            f"--keep {shown(key)} is no size of this model", did_you_mean(key, keys, f"there are {', '.join(keys)}")
        )
        for key in asked.keep
        if key not in keys
    ]
    numbers = {"--multiple": asked.multiple, "--head-width": asked.head_width, "--seq-len": asked.seq_len}
    wrong += [
        _mistake(f"{option} is {each}", "write a number from 1")
        for option, each in numbers.items()
        if each is not None and each < 1
    ]
    if wrong:
        raise Unusable(*wrong)
    config = {**chosen.config.data, **chosen.model.overrides}

    def measure(limit: Limit, form: ClosedForm) -> int:
        if limit.measure is None:
            return form[limit.component]
        return measure_limits([limit], Measurable(form.inventory, form, config))[0].actual

    wish = shapes.Wish(frozenset(asked.keep), asked.multiple, asked.head_width, asked.seq_len)
    found = shapes.find_shapes(chosen.derivation, limits, wish, most=MOST, weigh=measure)
    if not found.varied:
        what = f"{chosen.form.architecture.name} has no size left to vary"
        is_pair = not keys and any(symbol.startswith("L") for symbol in chosen.form.dims.sizes)
        alone = "name the config of one of its sides" if is_pair else "name a model that has a width or layers"
        raise Unusable(_mistake(what, "keep fewer keys" if asked.keep else alone))
    is_within = all(is_allowed(limit, measure(limit, chosen.form)) for limit in limits)
    if not found.shapes and not is_within:
        fix = f"write a larger limit, {'keep fewer keys, ' if asked.keep else ''}or overrides with fewer tokens"
        raise Unusable(_mistake(f"no shape that was tried is within {_list_limits(limits)}", fix))
    counted = flops.flops(chosen.form.architecture, chosen.form.dims, seq_len=found.seq_len)
    now = {key: variants.now(key) for key in found.varied}
    return Fitting(chosen, limits, found, now, None if counted is None else flops.total(counted))


def _mistake(message: str, fix: str) -> Finding:
    return Finding("config-invalid", message, fix)


def _read_limits(chosen: Explained, asked: Asked) -> list[Limit]:
    """Return the limits of the command line or, where it has none, the model's own.

    :raises Unusable: where there is none at all, or one is not a number.
    """
    found = []
    if asked.total is not None:
        found.append(_read_limit(TOTAL, "--total", asked.total, quantity.PARAMETERS))
    if asked.flops is not None:
        limit = _read_limit(FLOPS, "--flops", asked.flops, quantity.FLOPS)
        found.append(limit._replace(measure=Flops(asked.seq_len)))
    own = chosen.declared[1].limits if chosen.declared else ()
    found = found or [limit for limit in own if not isinstance(limit.measure, Growth)]
    if not any(limit.maximum is not None for limit in found):
        raise Unusable(_mistake("there is no limit to stay under", "write --total 110M, for example"))
    return found


def _read_limit(component: str, option: str, written: str, kind: Quantity) -> Limit:
    try:
        most = kind.parse(written)
    except BadValue as bad:
        raise Unusable(_mistake(f"{option} {bad.message}", bad.fix)) from None
    return Limit(component, None, most, written, option)


def _list_limits(limits: Sequence[Limit]) -> str:
    """Return ``total 110M and flops 22G of 128 tokens``."""
    return " and ".join(
        f"{limit.component} {limit}{f' of {limit.measure}' if isinstance(limit.measure, Flops) else ''}"
        for limit in limits
    )


# what is printed


def list_overrides(chosen: Explained, changes: Mapping[str, int]) -> dict[str, Any]:
    """Return the table's overrides with a shape's; a key of one part of several stands in that part's."""
    aliases = chosen.derivation.family.keys.aliases
    already = chosen.declared[1].overrides if chosen.declared else {}
    found: dict[str, Any] = {key: each for key, each in already.items() if aliases.get(key) not in changes}
    for key, value in changes.items():
        part, _, own = key.rpartition(".")
        found |= {part: {**found.get(part, {}), own: value}} if part else {own: value}
    return found


def _list_pastes(found: Fitting) -> list[str]:
    """Return ``overrides = { num_hidden_layers = 12 }`` of each shape."""
    return [f"overrides = {inline(list_overrides(found.chosen, each.changes))}" for each in found.found.shapes]


def _list_notes(found: Fitting) -> list[str]:
    how = "nearest to today's first, each with no size that could take one step more"
    shown_ones = f"shapes within {_list_limits(found.limits)}; {how}"
    first = shown_ones if found.found.shapes else "today's is as large as the budget lets it be"
    return [first, f"varied: {', '.join(found.now)}"]


def _list_columns(found: Fitting) -> dict[str, list[str]]:
    """Return cells by heading: the sizes that some shape changes by their symbol, then what they come to."""
    sizes = Variants(found.chosen.derivation).sizes
    cells = {"": ["today", *(str(number) for number, _ in enumerate(found.found.shapes, 1))]}
    for key in found.now:
        if any(key in each.changes for each in found.found.shapes):
            cells[sizes[key].symbol] = [exact(row[key]) for row, _, _ in found.rows]
    cells["parameters"] = [exact(total) for _, total, _ in found.rows]
    costs = [cost for _, _, cost in found.rows if cost is not None]
    if len(costs) == len(found.rows):
        cells[f"FLOPs of {exact(found.found.seq_len)} tokens"] = list(map(exact, costs))
    return cells


def _draw(found: Fitting, style: Style) -> str:
    from rich.box import SIMPLE_HEAD
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from pytest_bertsize.reports.drawing import draw, hanging

    table = Table(box=SIMPLE_HEAD, show_edge=False, padding=(0, 0, 0, 1), pad_edge=False, header_style="bold")
    table.border_style = "dim"
    cells = _list_columns(found)
    for header in cells:
        table.add_column(header, justify="right", no_wrap=True)
    for place, row in enumerate(zip(*cells.values(), strict=True)):
        table.add_row(*(Text(text, style="dim" if place == 0 else "") for text in row))
    above = draw(Group(heading(found.chosen), *origin(found.chosen, style), Text(""), table), style)
    lines = [f"{number:>2}  {paste}" for number, paste in enumerate(_list_pastes(found), 1)]  # TOML may not be wrapped
    notes = draw(Group(*(hanging("- ", "dim", note, style) for note in _list_notes(found))), style)
    return "\n".join([above, "", *lines, *([""] if lines else []), notes])


def _quote(found: Fitting, form: str) -> str:
    """Return the shapes as Markdown or as JSON."""
    from pytest_bertsize.commands.quoting import SCHEMA, facts, json_text, source
    from pytest_bertsize.reports.markdown import text as in_markdown

    chosen = found.chosen
    if form == "json":
        limits = [{"component": each.component, "min": each.minimum, "max": each.maximum} for each in found.limits]
        changes: list[Mapping[str, int]] = [{}, *(each.changes for each in found.found.shapes)]
        rows = [
            {"overrides": list_overrides(chosen, changed), "sizes": sizes, "parameters": total, "flops": cost}
            for changed, (sizes, total, cost) in zip(changes, found.rows, strict=True)
        ]
        searched = {"limits": limits, "seq_len": found.found.seq_len}
        return json_text({"schema": SCHEMA, **facts(chosen), **searched, "today": rows[0], "shapes": rows[1:]})
    cells = {**_list_columns(found), "to paste": ["", *(f"`{each}`" for each in _list_pastes(found))]}
    lines = [f"| {' | '.join(cells)} |", f"|{' --: |' * (len(cells) - 1)} :-- |"]
    lines += [f"| {' | '.join(row)} |" for row in zip(*cells.values(), strict=True)]
    notes = (f"- {in_markdown(each)}" for each in _list_notes(found))
    return "\n".join([*lines, "", *notes, "", source(facts(chosen))])
