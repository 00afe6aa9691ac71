"""``bertsize fit``: the shapes that a model could have within a budget, with the overrides to paste."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_bertsize import quantity
from pytest_bertsize.closed_forms.flops import count_flops
from pytest_bertsize.closed_forms.shapes import OF_ADAPTER, find_shapes, list_of_adapter
from pytest_bertsize.closed_forms.what_if import Variants, is_allowed
from pytest_bertsize.commands.console import read_style, refuse
from pytest_bertsize.commands.documents import draw_document, list_facts, write_json, write_source
from pytest_bertsize.commands.named_model import Explained, explain_model
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.inventory import TOTAL
from pytest_bertsize.reports import markdown
from pytest_bertsize.reports.drawing import Line, draw_table
from pytest_bertsize.review.limits import Measurable, measure_limits
from pytest_bertsize.table.limits import FLOPS, Flops, Growth, Limit
from pytest_bertsize.table.toml import inline
from pytest_bertsize.wording import BadValue, did_you_mean, exact, printable, shown

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.family import ClosedForm
    from pytest_bertsize.closed_forms.shapes import Wish
    from pytest_bertsize.table.model import Model

MOST = 10  # the most shapes in the output


class Row(NamedTuple):
    """The model's present shape, or a proposed one, with the fields of the JSON."""

    overrides: dict[str, Any]  # the overrides to paste into the table, in addition to its own
    sizes: Mapping[str, Any]  # the values of the sizes that the search varies, by key
    parameters: int
    flops: int | None
    adapter: dict[str, Any]  # the keys of the adapter whose values differ from today's
    limited: dict[str, int]  # the parameters under each limit on the adapter: trainable, or a component of it


def fit(named: Model, total: str | None, most_flops: str | None, wish: Wish, form: str = "text") -> str:
    """Write the shapes within the limits, or else the model's budget, nearest first; raise Unusable for a mistake."""
    chosen = explain_model(named)
    limits, variants = _read_limits(chosen, total, most_flops, wish.seq_len), Variants(chosen.derivation)
    _check_wish(wish, variants)
    model, adapter = chosen.model, chosen.derivation.adapter

    def measure(limit: Limit, form: ClosedForm) -> int:
        if limit.measure is None:
            return form.count_of(limit.component)
        return measure_limits([limit], Measurable(form, form, {**chosen.config.data, **model.overrides}))[0].actual

    found = find_shapes(chosen.derivation, limits, wish, most=MOST, measure=measure)
    of_pass = (f" of {each.measure}" if isinstance(each.measure, Flops) else "" for each in limits)
    within = " and ".join(f"{each.component} {each}{said}" for each, said in zip(limits, of_pass, strict=True))
    if not found.varied:
        fix = variants.why_unsure or ("keep fewer keys" if wish.keep else "name a model that has a width or layers")
        raise refuse(f"{chosen.form.architecture.name} has no size that may change", fix)
    if not found.shapes and not all(is_allowed(limit, measure(limit, chosen.form)) for limit in limits):
        fewer = " or fewer --keep" if wish.keep else ""
        raise refuse(f"no shape of the search is within {within}", f"write a larger limit{fewer}")
    limited = list_of_adapter(chosen.derivation, limits)
    now = {key: getattr(adapter, key) if key in OF_ADAPTER else variants.now(key) for key in found.varied}

    def make_row(changes: Mapping[str, Any], form: ClosedForm) -> Row:
        others = {key: each for key, each in changes.items() if key in OF_ADAPTER}
        overrides = _list_overrides(chosen, {} if others else changes)
        counts = {each: form.count_of(each) for each in limited}
        return Row(overrides, {**now, **changes}, form.total, count_flops(form, found.seq_len), others, counts)

    today = make_row({}, chosen.form)
    shapes = [make_row(each.changes, each.form) for each in found.shapes]
    if form == "json":
        listed = [{"component": each.component, "min": each.minimum, "max": each.maximum} for each in limits]
        rows = {"today": today._asdict(), "shapes": [row._asdict() for row in shapes]}
        return write_json({**list_facts(chosen), "limits": listed, "seq_len": found.seq_len, **rows})
    notes = [*_list_notes(chosen, variants, within, [today, *shapes])]
    cells = _list_columns(variants, found.seq_len, [today, *shapes])
    pastes = [_write_paste(chosen, row) for row in shapes]
    if form == "md":
        cells["to paste"] = ["", *(f"`{each}`" for each in pastes)]
        lines = [f"| {' | '.join(cells)} |", f"|{' --: |' * (len(cells) - 1)} :-- |"]
        lines += [f"| {' | '.join(row)} |" for row in zip(*cells.values(), strict=True)]
        return "\n".join([*lines, "", *(f"- {markdown.text(each)}" for each in notes), "", write_source(chosen)])
    drawn = [Line(dict(zip(cells, row, strict=True))) for row in zip(*cells.values(), strict=True)]
    drawn[0] = Line(drawn[0].cells, dict.fromkeys(cells, "dim"))
    lines = [f"{number:>2}  {paste}" for number, paste in enumerate(pastes, 1)]
    return draw_document({"": chosen}, draw_table(drawn, (), read_style(sys.stdout)), notes, lines)


def _read_limits(chosen: Explained, total: str | None, most_flops: str | None, seq_len: int) -> list[Limit]:
    """Return the limits of the command line or, if it names none, the model's own."""
    found = []
    for component, written, kind in (TOTAL, total, quantity.PARAMETERS), (FLOPS, most_flops, quantity.FLOPS):
        if written is not None:
            try:
                limit = Limit(component, None, kind.parse(written), written, f"--{component}")
            except BadValue as bad:
                raise refuse(f"--{component} {bad.message}", bad.fix) from None
            found.append(limit._replace(measure=Flops(seq_len)) if component == FLOPS else limit)
    found = found or [limit for limit in chosen.model.limits if not isinstance(limit.measure, Growth)]
    if not any(limit.maximum is not None for limit in found):
        raise refuse("there is no limit", "write --total 110M, for example")
    return found


def _check_wish(wish: Wish, variants: Variants) -> None:
    keys, wrong = [*variants.sizes, *(OF_ADAPTER if variants.derivation.adapter else ())], {}
    for key in sorted(wish.keep.difference(keys)):
        known = f"its sizes are {', '.join(keys)}"
        wrong[f"--keep {shown(key)} is not a size of this model"] = did_you_mean(key, keys, known)
    for option, each in (("multiple", wish.multiple), ("head-width", wish.head), ("seq-len", wish.seq_len)):
        if each is not None and each < 1:
            wrong[f"--{option} is {each}"] = "write a number from 1"
    if wrong:
        raise Unusable(*(Finding("config-invalid", *each) for each in wrong.items()))


# the output


def _list_notes(chosen: Explained, variants: Variants, within: str, rows: Sequence[Row]) -> Iterator[str]:
    """Yield the notes below the rows, of which the first is today's shape; ``within`` has the limits as text."""
    today, *shapes = rows
    found = f"shapes within {within}; the nearest to today's comes first"
    yield found if shapes else "the search finds no other shape"
    yield f"varied: {', '.join(today.sizes)}"
    if variants.why_unsure:
        yield f"not varied: {variants.why_unsure}"
    if today.limited:
        yield f"no shape has more parameters than today's, {exact(today.parameters)}"
    model, is_adapter = chosen.model, any(row.adapter for row in shapes)
    if is_adapter and model.adapter_file:
        yield f"to paste into {printable(model.adapter_file)}"
    elif shapes and not is_adapter and model.has_config_of_build:
        yield f"to write into the config that {printable(model.factory or '')} makes"


def _list_overrides(chosen: Explained, changes: Mapping[str, int]) -> dict[str, Any]:
    """Return the table's overrides with those of a shape; a key ``PART.KEY`` becomes ``KEY`` in the object PART."""
    aliases = chosen.derivation.family.keys.aliases
    already = chosen.model.overrides.items()
    found: dict[str, Any] = {key: each for key, each in already if aliases.get(key) not in changes}
    for key, value in changes.items():
        part, _, own = key.rpartition(".")
        found |= {part: {**found.get(part, {}), own: value}} if part else {own: value}
    return found


def _write_paste(chosen: Explained, row: Row) -> str:
    """Return the text to paste for a shape: ``overrides = { num_hidden_layers = 12 }``, or keys of the adapter."""
    model = chosen.model
    if row.adapter and isinstance(model.adapter, dict):
        return f"adapter = {inline({**model.adapter, **row.adapter})}"
    if row.adapter or model.has_config_of_build:
        return json.dumps(row.adapter or row.overrides)[1:-1]
    return f"overrides = {inline(row.overrides)}"


def _list_columns(variants: Variants, seq_len: int, rows: Sequence[Row]) -> dict[str, list[str]]:
    """Return the cells of each column by its heading: the sizes that some shape changes, then the counts."""
    cells = {"": ["today", *(str(number) for number in range(1, len(rows)))]}
    for key, now in rows[0].sizes.items():
        values = [row.sizes[key] for row in rows]
        if key == "target_modules" and any(each != now for each in values):
            out = [", ".join(name for name in now if name not in each) for each in values]
            cells["targets"] = [f"without {names}" if names else "all" for names in out]
        elif any(each != now for each in values):
            cells[variants.sizes[key].symbol if key in variants.sizes else key] = [exact(each) for each in values]
    limited = {key: [row.limited[key] for row in rows] for key in rows[0].limited}
    cells |= {key: [*map(exact, counts)] for key, counts in limited.items() if len({*counts}) > 1}
    cells["parameters"] = [exact(row.parameters) for row in rows]
    costs = [exact(row.flops) for row in rows if row.flops is not None]
    if len(costs) == len(rows):
        cells[f"FLOPs of {exact(seq_len)} tokens"] = costs
    return cells
