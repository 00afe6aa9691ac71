"""``bertsize diff``: two configs, component by component, and which changed key moved what."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TextIO

from pytest_bertsize.closed_forms import flops
from pytest_bertsize.closed_forms.attribution import Side, attribute, came_and_went
from pytest_bertsize.closed_forms.blocks import Block
from pytest_bertsize.commands.console import GOOD, heading, mistaken, origin, say, style_of, warnings
from pytest_bertsize.commands.named_model import Explained, Named, explained
from pytest_bertsize.commands.quoting import SCHEMA, facts, json_text, source
from pytest_bertsize.dtypes import bytes_of
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.inventory import TOTAL, parents_first
from pytest_bertsize.reports.markdown import text as in_markdown
from pytest_bertsize.reports.sentences import NOTHING, describe_change
from pytest_bertsize.wording import exact, signed

if TYPE_CHECKING:
    from rich.table import Table

    from pytest_bertsize.closed_forms.family import ClosedForm
    from pytest_bertsize.reports.drawing import Style

SEQ_LEN = 128
"""Tokens of the text that FLOPs are of."""
DTYPE = "float32"
"""That bytes are of, whatever a config says: models are compared by what they have, not by how it is written."""
HEAD_WIDTH = ("head_dim", "d_kv", "d_head")
"""Keys that say how wide a head is."""
MEASURES = f"bytes as {DTYPE}, FLOPs of a text of {SEQ_LEN} tokens"


def diff(first: Named, second: Named, out: TextIO, err: TextIO, *, form: str = "text") -> int:
    """Print what changes from the first model to the second.

    :param form: ``text``, ``md`` or ``json``.
    :returns: the exit status; that there is a difference is no mistake.
    """
    sides: list[Explained] = []
    mistakes: dict[Finding, None] = {}
    for each in (first, second):
        try:
            sides.append(explained(each))
        except Unusable as unusable:
            mistakes |= dict.fromkeys(unusable.findings)
    if mistakes:
        return mistaken(Unusable(*mistakes), err)
    pair = Pair(*sides)
    say({"md": _markdown, "json": _json}[form](pair) if form != "text" else _drawn(pair, style_of(out, 0)), out)
    return GOOD


@dataclass(frozen=True, slots=True)
class Pair:
    """Two models that are compared."""

    before: Explained
    after: Explained

    @property
    def components(self) -> Iterator[Row]:
        """Every component at every level that either has, and the total."""
        counts = [side.form.components for side in (self.before, self.after)]
        for name in parents_first({name: None for each in counts for name in each}):
            yield Row(name, counts[0].get(name, 0), counts[1].get(name, 0))
        yield Row(TOTAL, self.before.form.total, self.after.form.total)

    @property
    def measures(self) -> tuple[Row, Row]:
        """Bytes and FLOPs."""
        before, after = self.before.form, self.after.form
        bytes_ = Row("bytes", bytes_of(before.total, DTYPE), bytes_of(after.total, DTYPE))
        return bytes_, Row("FLOPs", _flops_of(before), _flops_of(after))

    @property
    def shapes(self) -> tuple[Shape, Shape]:
        return _shape(self.before), _shape(self.after)

    @property
    def explanation(self) -> Iterator[str]:
        """A sentence for each changed key, then net and gross."""
        first, second = Side.of(self.before.derivation), Side.of(self.after.derivation)
        found = attribute(first, second)
        yield from (describe_change(row) for row in found.moved)
        if found.method:
            yield found.method
        came, went = came_and_went(second.own, first.own)
        gross = f": {exact(came)} came, {exact(went)} went" if came and went else ""
        net = self.after.form.total - self.before.form.total
        yield f"net {signed(net)}{gross}" if came or went else "no count changed"


@dataclass(frozen=True, slots=True)
class Row:
    """One component, or one measure, of both; ``None`` where it is not known."""

    name: str
    before: int | None
    after: int | None

    @property
    def change(self) -> int | None:
        return None if self.before is None or self.after is None else self.after - self.before

    @property
    def cells(self) -> tuple[str, str]:
        before, after = (NOTHING if value is None else exact(value) for value in (self.before, self.after))
        return before, after


@dataclass(frozen=True, slots=True)
class Shape:
    """How deep and wide a model is; ``None`` for what its family does not have, or has another way."""

    layers: int | None
    width: int | None
    head_width: int | None
    inner: Fraction | None
    """The feed-forward's width by the model's."""

    @property
    def cells(self) -> dict[str, str]:
        """As a table shows it: ``{"depth / width": "12 / 768", "head width": "64", "I / D": "4"}``."""
        depth = NOTHING if None in {self.layers, self.width} else f"{self.layers:,} / {self.width:,}"
        inner = NOTHING if self.inner is None else f"{float(self.inner):.3f}".rstrip("0").rstrip(".")
        head = NOTHING if self.head_width is None else exact(self.head_width)
        return {"depth / width": depth, "head width": head, "I / D": inner}


def _flops_of(form: ClosedForm) -> int | None:
    """Of a forward pass over one text; ``None`` where there is no closed form for it."""
    found = flops.flops(form.architecture, form.dims, seq_len=SEQ_LEN)
    return None if found is None else flops.total(found)


def _shape(side: Explained) -> Shape:
    sizes = side.form.dims.sizes
    layers, width, inner = (sizes.get(symbol) for symbol in ("L", "D", "I"))
    return Shape(layers, width, _head_width(side), Fraction(inner, width) if inner and width else None)


def _head_width(side: Explained) -> int | None:
    """As the config says it, else the width by the heads, where the queries are as wide as the model."""
    sizes = side.form.dims.sizes
    said = (sizes.get(size.symbol) for size in side.derivation.family.keys.sizes if size.key in HEAD_WIDTH)
    if found := next(filter(None, said), None):
        return int(found)
    width, heads = sizes.get("D"), sizes.get("A")
    if not width or not heads or width % heads or {*_queries(side.form.root)} - {width}:
        return None
    return int(width // heads)


def _queries(node: Block) -> Iterator[int]:
    """How wide the vectors are that attentions compare."""
    names = {query for query, _, _ in flops.ATTENTION}
    for child in node.children:
        if isinstance(child, Block):
            weight = child.children[0] if child.children else None
            if child.name.rpartition(".")[2] in names and child.kind in flops.LINEAR and not isinstance(weight, Block):
                yield weight.shape[0] if weight else 0
            yield from _queries(child)


# how it is printed


def _drawn(pair: Pair, style: Style) -> str:
    from rich.console import Group
    from rich.text import Text

    from pytest_bertsize.reports.drawing import draw, hanging

    sides = {"A": pair.before, "B": pair.after}
    heads = [
        part
        for name, side in sides.items()
        for part in (Text.assemble(f"{name}  ", heading(side)), *origin(side, style))
    ]
    said = [hanging("- ", "dim", line, style) for line in pair.explanation]
    findings = dict.fromkeys(finding for side in sides.values() for finding in side.derivation.values.findings)
    table = (Text(""), _table(pair, style), Text(""), Text(f"({MEASURES})", style="dim"), Text(""))
    return draw(Group(*heads, *table, *said, *warnings(findings, style)), style)


def _table(pair: Pair, style: Style) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from pytest_bertsize.reports.drawing import fit, usable

    lines: list[tuple[str, str, str, str, str]] = []  # the name, three cells, and a colour
    for row in pair.components:
        name = f"{'  ' * row.name.count('.')}{row.name.rpartition('.')[2]}"
        colour = "dim" if not row.change else "bold" if "." not in row.name else ""
        lines.append((name, *row.cells, _change_of(row), colour))
    lines += [(row.name, *row.cells, _change_of(row), "") for row in pair.measures]
    before, after = (shape.cells for shape in pair.shapes)
    lines += [(name, before[name], after[name], "", "") for name in before]
    room = usable(style) - sum(max(len(line[at]) + 2 for line in lines) for at in (1, 2, 3))
    table = Table(box=SIMPLE_HEAD, show_edge=False, padding=(0, 0, 0, 1), pad_edge=False, header_style="bold")
    table.border_style = "dim"
    table.add_column("component", no_wrap=True)
    for name in ("A", "B", "change"):
        table.add_column(name, justify="right", no_wrap=True)
    for name, *cells, colour in lines:
        if name in {TOTAL, "bytes"}:
            table.add_section()
        table.add_row(*(Text(text, style=colour) for text in (fit(name, room), *cells)))
    return table


def _change_of(row: Row) -> str:
    return "" if row.change is None else signed(row.change) if row.change else "="


def _markdown(pair: Pair) -> str:
    rows = [
        (row.name, *row.cells, "" if row.change is None else signed(row.change))
        for row in (*pair.components, *pair.measures)
    ]
    before, after = (shape.cells for shape in pair.shapes)
    rows += [(name, before[name], after[name], "") for name in before]
    lines = ["| component | A | B | change |", "| --- | --: | --: | --: |"]
    lines += [f"| `{name}` | {' | '.join(cells)} |" for name, *cells in rows]
    lines += ["", *(f"- {in_markdown(line)}" for line in pair.explanation), ""]
    sources = [f"{name}: {source(facts(side))}" for name, side in (("A", pair.before), ("B", pair.after))]
    return "\n".join([*lines, "  \n".join([f"{MEASURES}.", *sources])])


def _json(pair: Pair) -> str:
    bytes_, flops_ = pair.measures
    beside = [
        {
            "bytes": size,
            "flops": work,
            "layers": shape.layers,
            "width": shape.width,
            "head_width": shape.head_width,
            "inner_by_width": None if shape.inner is None else float(shape.inner),
        }
        for shape, size, work in zip(
            pair.shapes, (bytes_.before, bytes_.after), (flops_.before, flops_.after), strict=True
        )
    ]
    return json_text(
        {
            "schema": SCHEMA,
            "models": [{**facts(side), **more} for side, more in zip((pair.before, pair.after), beside, strict=True)],
            "dtype": DTYPE,
            "seq_len": SEQ_LEN,
            "components": [
                {"name": row.name, "parameters": [row.before, row.after], "changes": [0, row.change]}
                for row in pair.components
            ],
            "explanations": [[*pair.explanation]],
        }
    )
