"""Models side by side: what each counts to, by how much that differs from the first, and what shape each has."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from string import ascii_uppercase
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms import flops
from pytest_bertsize.closed_forms.attribution import Side, attribute, came_and_went
from pytest_bertsize.closed_forms.blocks import Block
from pytest_bertsize.inventory import TOTAL, parents_first
from pytest_bertsize.reports.model_report import change_of
from pytest_bertsize.reports.rows import NOTHING
from pytest_bertsize.reports.sentences import change
from pytest_bertsize.table.byte_sizes import bytes_of
from pytest_bertsize.wording import exact, signed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_bertsize.closed_forms.family import ClosedForm
    from pytest_bertsize.commands.named_model import Explained

SEQ_LEN = 128
"""Tokens of the text that FLOPs are of."""
DTYPE = "float32"
"""That bytes are of, whatever a config says: candidates are compared by what they have, not by how it is written."""
HEAD_WIDTH = ("head_dim", "d_kv", "d_head")
"""Keys that say how wide a head is."""


def label(index: int) -> str:
    """``A``, ``B``, …: what a candidate is called."""
    return ascii_uppercase[index] if index < len(ascii_uppercase) else str(index + 1)


@dataclass(frozen=True, slots=True)
class Row:
    """One component, or one measure, of all candidates; ``None`` where it is not known."""

    name: str
    values: tuple[int | None, ...]

    @property
    def changes(self) -> tuple[int | None, ...]:
        """Since the first."""
        first = self.values[0]
        return tuple(None if first is None or value is None else value - first for value in self.values)


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


def rows(sides: Sequence[Explained]) -> list[Row]:
    """Every component at every level that any has, and the total."""
    counts = [side.form.components for side in sides]
    names = parents_first({name: None for each in counts for name in each})
    found = [Row(name, tuple(each.get(name, 0) for each in counts)) for name in names]
    return [*found, Row(TOTAL, tuple(side.form.total for side in sides))]


def measures(sides: Sequence[Explained]) -> list[Row]:
    """Bytes and FLOPs."""
    return [
        Row("bytes", tuple(bytes_of(side.form.total, DTYPE) for side in sides)),
        Row("FLOPs", tuple(flops_of(side.form) for side in sides)),
    ]


def of_measures() -> str:
    """What these are of."""
    return f"bytes as {DTYPE}, FLOPs of a text of {SEQ_LEN} tokens"


def flops_of(form: ClosedForm) -> int | None:
    """Of a forward pass over one text; ``None`` where there is no closed form for it."""
    found = flops.flops(form.architecture, form.dims, seq_len=SEQ_LEN)
    return None if found is None else flops.total(found)


def shape(side: Explained) -> Shape:
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


def explanation(before: Explained, after: Explained) -> Iterator[str]:
    """A sentence for each changed key, then net and gross."""
    first, second = Side.of(before.derivation), Side.of(after.derivation)
    found = attribute(first, second)
    yield from (change(change_of(row)) for row in found.moved)
    if found.method:
        yield f"shared by {found.method}"
    came, went = came_and_went(second.own, first.own)
    gross = f": {exact(came)} came, {exact(went)} went" if came and went else ""
    net = after.form.total - before.form.total
    yield f"net {signed(net)}{gross}" if came or went else "no count changed"
