"""``bertsize fit``: the shapes that a model could have under a budget, with the overrides to paste."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_bertsize import quantity
from pytest_bertsize.closed_forms import flops
from pytest_bertsize.closed_forms.shapes import OF_ADAPTER, find_shapes, list_of_adapter
from pytest_bertsize.closed_forms.what_if import Variants, is_allowed
from pytest_bertsize.commands.console import refuse
from pytest_bertsize.commands.documents import draw_document, list_facts, make_table, write_json, write_source
from pytest_bertsize.commands.named_model import Explained, Named, explain_model
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.inventory import TOTAL
from pytest_bertsize.reports import markdown
from pytest_bertsize.review.measures import Measurable, measure_limits
from pytest_bertsize.table.limits import FLOPS, Flops, Growth, Limit
from pytest_bertsize.table.toml import inline
from pytest_bertsize.wording import BadValue, did_you_mean, exact, printable, shown

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.family import ClosedForm
    from pytest_bertsize.closed_forms.shapes import Wish

MOST = 10
"""The most shapes in the output."""


class Row(NamedTuple):
    """The model's present shape, or a proposed one, with the fields of the JSON."""

    overrides: dict[str, Any]
    """The overrides to paste into the table, in addition to its own."""
    sizes: Mapping[str, Any]
    """The values of the sizes that the search varies, by key."""
    parameters: int
    flops: int | None
    adapter: dict[str, Any]
    """The keys of the adapter whose values differ from today's."""
    limited: dict[str, int]
    """The parameters under each limit on the adapter, by component: ``trainable``, or one inside the adapter."""


class Fitting(NamedTuple):
    """The content of the output, whether text, Markdown or JSON."""

    chosen: Explained
    limits: Sequence[Limit]
    seq_len: int
    today: Row
    rows: list[Row]


def fit(named: Named, total: str | None, most_flops: str | None, wish: Wish, form: str = "text") -> str:
    """Write the shapes of one model under a budget, the nearest to today's first.

    :param total: the most parameters, as in ``110M``; without ``total`` and ``most_flops`` the model's budget applies.
    :param most_flops: the most FLOPs of a forward pass.
    :param form: ``text``, ``md`` or ``json``.
    :raises Unusable: if the command line names a size that the model lacks, or no shape is within the limits.
    """
    chosen = explain_model(named)
    found = _find_shapes(chosen, _read_limits(chosen, total, most_flops, wish.seq_len), wish)
    write = {"json": _write_json, "md": _write_markdown}.get(form, _draw_text)
    return write(found)


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


def _find_shapes(chosen: Explained, limits: Sequence[Limit], wish: Wish) -> Fitting:
    variants = Variants(chosen.derivation)
    _check_wish(wish, variants)
    config = {**chosen.config.data, **chosen.model.overrides}

    def measure(limit: Limit, form: ClosedForm) -> int:
        if limit.measure is None:
            return form.count_of(limit.component)
        return measure_limits([limit], Measurable(form, form, config))[0].actual

    found = find_shapes(chosen.derivation, limits, wish, most=MOST, weigh=measure)
    if not found.varied:
        is_pair = not variants.sizes and any(symbol.startswith("L") for symbol in chosen.form.dims.sizes)
        alone = "name the config of one of its sides" if is_pair else "name a model that has a width or layers"
        what = f"{chosen.form.architecture.name} has no size that may change"
        raise refuse(what, variants.why_unsure or ("keep fewer keys" if wish.keep else alone))
    if not found.shapes and not all(is_allowed(limit, measure(limit, chosen.form)) for limit in limits):
        words = next((key for key, size in variants.sizes.items() if size.symbol == "V"), "")
        ways = ["a larger limit", *(["fewer --keep"] if wish.keep else [])]
        if words and not list_of_adapter(chosen.derivation, limits):
            ways.append(f"a smaller {words}")
        *first, last = ways
        fix = f"write {', '.join(first)} or {last}" if first else f"write {last}"
        raise refuse(f"no shape of the search is within {_list_limits(limits)}", fix)
    adapter, limited = chosen.derivation.adapter, list_of_adapter(chosen.derivation, limits)
    now = {key: getattr(adapter, key) if key in OF_ADAPTER else variants.now(key) for key in found.varied}

    def make_row(changes: Mapping[str, Any], form: ClosedForm, cost: int | None) -> Row:
        others = {key: each for key, each in changes.items() if key in OF_ADAPTER}
        overrides = _list_overrides(chosen, {} if others else changes)
        counts = {each: form.count_of(each) for each in limited}
        return Row(overrides, {**now, **changes}, form.total, cost, others, counts)

    today = make_row({}, chosen.form, flops.count_flops(chosen.form, found.seq_len))
    rows = [make_row(each.changes, each.form, each.flops) for each in found.shapes]
    return Fitting(chosen, limits, found.seq_len, today, rows)


def _list_overrides(chosen: Explained, changes: Mapping[str, int]) -> dict[str, Any]:
    """Return the table's overrides with those of a shape; a key ``PART.KEY`` becomes ``KEY`` in the object PART."""
    aliases = chosen.derivation.family.keys.aliases
    already = chosen.model.overrides.items()
    found: dict[str, Any] = {key: each for key, each in already if aliases.get(key) not in changes}
    for key, value in changes.items():
        part, _, own = key.rpartition(".")
        found |= {part: {**found.get(part, {}), own: value}} if part else {own: value}
    return found


def _check_wish(wish: Wish, variants: Variants) -> None:
    keys = [*variants.sizes, *(OF_ADAPTER if variants.derivation.adapter else ())]
    wrong = {}
    for key in sorted(wish.keep.difference(keys)):
        known = f"its sizes are {', '.join(keys)}"
        wrong[f"--keep {shown(key)} is not a size of this model"] = did_you_mean(key, keys, known)
    for option, each in (("multiple", wish.multiple), ("head-width", wish.head), ("seq-len", wish.seq_len)):
        if each is not None and each < 1:
            wrong[f"--{option} is {each}"] = "write a number from 1"
    if wrong:
        raise Unusable(*(Finding("config-invalid", *each) for each in wrong.items()))


def _list_limits(limits: Sequence[Limit]) -> str:
    """Return the limits in words: ``total 110M and flops 22G of 128 tokens``."""
    return " and ".join(
        f"{limit.component} {limit}{f' of {limit.measure}' if isinstance(limit.measure, Flops) else ''}"
        for limit in limits
    )


# the output


def _list_pastes(found: Fitting) -> list[str]:
    """Return the text to paste for each shape: ``overrides = { num_hidden_layers = 12 }``, or keys of the adapter."""
    model = found.chosen.model

    def write(row: Row) -> str:
        if row.adapter and isinstance(model.adapter, dict):
            return f"adapter = {inline({**model.adapter, **row.adapter})}"
        if row.adapter or model.has_config_of_build:
            return json.dumps(row.adapter or row.overrides)[1:-1]
        return f"overrides = {inline(row.overrides)}"

    return [write(row) for row in found.rows]


def _list_notes(found: Fitting) -> list[str]:
    how = "the nearest to today's comes first; no size of a shape can grow by one more step"
    shown_ones = f"shapes within {_list_limits(found.limits)}; {how}"
    first = shown_ones if found.rows else "today's shape is as large as the budget allows"
    variants = Variants(found.chosen.derivation)
    notes = [first, f"varied: {', '.join(found.today.sizes)}"]
    notes += [f"not varied: {variants.why_unsure}"] if variants.why_unsure else []
    notes += [variants.kept_numbers] if variants.kept_numbers else []
    if found.today.limited:
        notes.append(f"no shape has more parameters than today's, {exact(found.today.parameters)}")
    model, is_adapter = found.chosen.model, any(row.adapter for row in found.rows)
    if is_adapter and (file := model.adapter_file):
        notes.append(f"to paste into {printable(file)}")
    elif found.rows and not is_adapter and model.has_config_of_build:
        notes.append(f"to write into the config that {printable(model.factory or '')} makes")
    return notes


def _list_columns(found: Fitting) -> dict[str, list[str]]:
    """Return the cells of each column by its heading: the sizes that some shape changes, then the counts."""
    sizes, rows = Variants(found.chosen.derivation).sizes, [found.today, *found.rows]
    cells = {"": ["today", *(str(number) for number, _ in enumerate(found.rows, 1))]}
    for key, now in found.today.sizes.items():
        values = [row.sizes[key] for row in rows]
        if key == "target_modules" and any(each != now for each in values):
            out = [", ".join(name for name in now if name not in each) for each in values]
            cells["targets"] = [f"without {names}" if names else "all" for names in out]
        elif any(each != now for each in values):
            cells[sizes[key].symbol if key in sizes else key] = [exact(each) for each in values]
    limited = {key: [row.limited[key] for row in rows] for key in found.today.limited}
    cells |= {key: [*map(exact, counts)] for key, counts in limited.items() if len({*counts}) > 1}
    cells["parameters"] = [exact(row.parameters) for row in rows]
    costs = [exact(row.flops) for row in rows if row.flops is not None]
    if len(costs) == len(rows):
        cells[f"FLOPs of {exact(found.seq_len)} tokens"] = costs
    return cells


def _draw_text(found: Fitting) -> str:
    cells = _list_columns(found)
    rows = [("" if place else "dim", row) for place, row in enumerate(zip(*cells.values(), strict=True))]
    pastes = [f"{number:>2}  {paste}" for number, paste in enumerate(_list_pastes(found), 1)]
    return draw_document({"": found.chosen}, make_table([*cells], rows), _list_notes(found), lines=pastes)


def _write_markdown(found: Fitting) -> str:
    cells = {**_list_columns(found), "to paste": ["", *(f"`{each}`" for each in _list_pastes(found))]}
    lines = [f"| {' | '.join(cells)} |", f"|{' --: |' * (len(cells) - 1)} :-- |"]
    lines += [f"| {' | '.join(row)} |" for row in zip(*cells.values(), strict=True)]
    notes = (f"- {markdown.text(each)}" for each in _list_notes(found))
    return "\n".join([*lines, "", *notes, "", write_source(found.chosen)])


def _write_json(found: Fitting) -> str:
    limits = [{"component": each.component, "min": each.minimum, "max": each.maximum} for each in found.limits]
    searched = {"limits": limits, "seq_len": found.seq_len}
    shapes = {"today": found.today._asdict(), "shapes": [row._asdict() for row in found.rows]}
    return write_json({**list_facts(found.chosen), **searched, **shapes})
