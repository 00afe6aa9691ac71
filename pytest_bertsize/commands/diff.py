"""``bertsize diff``: two configs, component by component, and which changed key moved what."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from pytest_bertsize.closed_forms import flops
from pytest_bertsize.closed_forms.attribution import attribute, came_and_went
from pytest_bertsize.commands.console import read_style
from pytest_bertsize.commands.documents import draw_document, list_facts, make_table, write_json, write_source
from pytest_bertsize.commands.named_model import Explained, Named, explain_model
from pytest_bertsize.dtypes import bytes_of
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.inventory import TOTAL, parents_first
from pytest_bertsize.reports import markdown
from pytest_bertsize.reports.drawing import fit, usable
from pytest_bertsize.reports.sentences import NOTHING, describe_change
from pytest_bertsize.wording import exact, signed

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.family import ClosedForm

SEQ_LEN = 128
"""Tokens of the text that FLOPs are of."""
DTYPE = "float32"
"""That bytes are of, whatever a config says: models are compared by what they have, not by how it is written."""
HEAD_WIDTH = ("head_dim", "d_kv", "d_head")
"""Keys that say how wide a head is."""
MEASURES = f"bytes as {DTYPE}, FLOPs of a text of {SEQ_LEN} tokens"
COLUMNS = ("component", "A", "B", "change")


def diff(first: Named, second: Named, form: str = "text") -> str:
    """Write what changes from the first model to the second.

    :param form: ``text``, ``md`` or ``json``.
    :raises Unusable: with the mistakes of both.
    """
    models: list[Explained] = []
    mistakes: dict[Finding, None] = {}
    for each in (first, second):
        try:
            models.append(explain_model(each))
        except Unusable as unusable:
            mistakes |= dict.fromkeys(unusable.findings)
    if mistakes:
        raise Unusable(*mistakes)
    pair = Pair(*models)
    return _write_json(pair) if form == "json" else _write_markdown(pair) if form == "md" else _draw_text(pair)


class Row(NamedTuple):
    """One component, or one measure, of both; ``None`` where it is not known."""

    name: str
    before: int | None
    after: int | None

    @property
    def change(self) -> int | None:
        return None if self.before is None or self.after is None else self.after - self.before

    def write_cells(self, same: str) -> tuple[str, str, str]:
        """Return both values and the change, which is ``same`` where there is none."""
        before, after = (NOTHING if value is None else exact(value) for value in (self.before, self.after))
        return before, after, "" if self.change is None else signed(self.change) if self.change else same


@dataclass(frozen=True, slots=True)
class Pair:
    """Two models that are compared."""

    before: Explained
    after: Explained

    @property
    def components(self) -> Iterator[Row]:
        """Every component at every level that either has, and the total."""
        before, after = self.before.form, self.after.form
        for name in parents_first(dict.fromkeys((*before.components, *after.components))):
            yield Row(name, before.components.get(name, 0), after.components.get(name, 0))
        yield Row(TOTAL, before.total, after.total)

    @property
    def measures(self) -> tuple[Row, Row]:
        before, after = self.before.form, self.after.form
        bytes_ = Row("bytes", bytes_of(before.total, DTYPE), bytes_of(after.total, DTYPE))
        return bytes_, Row("FLOPs", _count_flops(before), _count_flops(after))

    @property
    def shapes(self) -> list[tuple[str, str, str, str]]:
        """Rows that say how deep and wide both are."""
        before, after = (_measure_shape(model).write_cells() for model in (self.before, self.after))
        return [(name, before[name], after[name], "") for name in before]

    @property
    def explanation(self) -> list[str]:
        """A sentence for each changed key, then net and gross."""
        found = attribute(self.before.derivation, self.after.derivation)
        sentences = [describe_change(row) for row in found.moved]
        sentences += [found.method] if found.method else []
        came, went = came_and_went(self.after.form.own, self.before.form.own)
        gross = f": {exact(came)} came, {exact(went)} went" if came and went else ""
        net = self.after.form.total - self.before.form.total
        return [*sentences, f"net {signed(net)}{gross}" if came or went else "no count changed"]


@dataclass(frozen=True, slots=True)
class Shape:
    """Depth and width of a model; ``None`` for what its family does not have, or has another way."""

    layers: int | None
    width: int | None
    head_width: int | None
    inner: Fraction | None
    """The feed-forward's width by the model's."""

    def write_cells(self) -> dict[str, str]:
        """Return ``{"depth / width": "12 / 768", "head width": "64", "I / D": "4"}``."""
        depth = NOTHING if None in {self.layers, self.width} else f"{self.layers:,} / {self.width:,}"
        inner = NOTHING if self.inner is None else f"{float(self.inner):.3f}".rstrip("0").rstrip(".")
        head = NOTHING if self.head_width is None else exact(self.head_width)
        return {"depth / width": depth, "head width": head, "I / D": inner}


def _count_flops(form: ClosedForm) -> int | None:
    """Count those of a forward pass over one text; ``None`` where there is no closed form for it."""
    found = flops.flops(form.architecture, form.dims, seq_len=SEQ_LEN)
    return None if found is None else flops.total(found)


def _measure_shape(model: Explained) -> Shape:
    layers, width, inner = (model.form.dims.sizes.get(symbol) for symbol in ("L", "D", "I"))
    return Shape(layers, width, _find_head_width(model), Fraction(inner, width) if inner and width else None)


def _find_head_width(model: Explained) -> int | None:
    """Return what the config says, else the width by the heads, where the queries are as wide as the model."""
    sizes = model.form.dims.sizes
    said = (sizes.get(size.symbol) for size in model.derivation.family.keys.sizes if size.key in HEAD_WIDTH)
    if found := next(filter(None, said), None):
        return int(found)
    width, heads = sizes.get("D"), sizes.get("A")
    if not width or not heads or width % heads or {*_list_query_widths(model.form)} - {width}:
        return None
    return int(width // heads)


def _list_query_widths(form: ClosedForm) -> Iterator[int]:
    """Yield how wide the vectors are that attentions compare."""
    names = {query for query, _, _ in flops.ATTENTION}
    for term in form.terms:
        *_, module, leaf = ("", *term.name.split("."))
        if module in names and leaf == "weight" and term.kind in flops.LINEAR:
            yield term.shape[0]


# how it is printed


def _draw_text(pair: Pair) -> str:
    rows: list[tuple[str, tuple[str, ...]]] = []
    for row in pair.components:
        name = f"{'  ' * row.name.count('.')}{row.name.rpartition('.')[2]}"
        rows.append(("dim" if not row.change else "bold" if "." not in row.name else "", (name, *row.write_cells("="))))
    sections = {len(rows) - 1, len(rows)}
    rows += [("", (row.name, *row.write_cells("="))) for row in pair.measures]
    rows += [("", cells) for cells in pair.shapes]
    room = usable(read_style(sys.stdout)) - sum(max(len(cells[at]) + 2 for _, cells in rows) for at in (1, 2, 3))
    fitted = [(style, (fit(name, room), *cells)) for style, (name, *cells) in rows]
    table = make_table(COLUMNS, fitted, left=1, sections=sections)
    return draw_document({"A  ": pair.before, "B  ": pair.after}, table, pair.explanation, lines=[f"({MEASURES})"])


def _write_markdown(pair: Pair) -> str:
    counts = [(row.name, *row.write_cells("0")) for row in (*pair.components, *pair.measures)]
    rows = [(f"`{name}`", *cells) for name, *cells in (*counts, *pair.shapes)]
    notes = (f"- {markdown.text(line)}" for line in pair.explanation)
    sources = (f"{name}: {write_source(model)}" for name, model in (("A", pair.before), ("B", pair.after)))
    return "\n".join([markdown.table(COLUMNS, rows), "", *notes, "", "  \n".join([f"{MEASURES}.", *sources])])


def _write_json(pair: Pair) -> str:
    bytes_, flops_ = pair.measures
    sides = ((pair.before, bytes_.before, flops_.before), (pair.after, bytes_.after, flops_.after))
    return write_json(
        {
            "models": [_list_model_facts(*side) for side in sides],
            "dtype": DTYPE,
            "seq_len": SEQ_LEN,
            "components": [
                {"name": row.name, "parameters": [row.before, row.after], "changes": [0, row.change]}
                for row in pair.components
            ],
            "explanations": [pair.explanation],
        }
    )


def _list_model_facts(model: Explained, size: int | None, work: int | None) -> dict[str, object]:
    shape = _measure_shape(model)
    return {
        **list_facts(model),
        "bytes": size,
        "flops": work,
        "layers": shape.layers,
        "width": shape.width,
        "head_width": shape.head_width,
        "inner_by_width": None if shape.inner is None else float(shape.inner),
    }
