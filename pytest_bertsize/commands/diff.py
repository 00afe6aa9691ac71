"""``bertsize diff``: compare two configs, component by component, and attribute the changes to keys."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

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
"""The number of tokens for which FLOPs are counted."""
DTYPE = "float32"
"""The dtype in which the bytes of both models are counted; the dtypes in their configs are ignored."""
HEAD_WIDTH = ("head_dim", "d_kv", "d_head")
"""The keys of a config for the width of an attention head."""
MEASURES = f"bytes as {DTYPE}, FLOPs of a text of {SEQ_LEN} tokens"
COLUMNS = ("component", "A", "B", "change")


def diff(first: Named, second: Named, form: str = "text") -> str:
    """Write the changes from the first model to the second.

    :param form: ``text``, ``md`` or ``json``.
    :raises Unusable: with the mistakes in both configs.
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
    write = {"json": _write_json, "md": _write_markdown}.get(form, _draw_text)
    return write(*models)


# the comparison


class Row(NamedTuple):
    """The values of a component or of a measure in both models; ``None`` for an unknown value."""

    name: str
    before: int | None
    after: int | None

    @property
    def change(self) -> int | None:
        return None if self.before is None or self.after is None else self.after - self.before

    def write_cells(self, same: str) -> tuple[str, str, str]:
        """Return both values and the change as text; ``same`` is the text for no change."""
        change = "" if self.change is None else signed(self.change) if self.change else same
        before, after = (NOTHING if count is None else exact(count) for count in (self.before, self.after))
        return before, after, change


def _list_components(before: ClosedForm, after: ClosedForm) -> list[Row]:
    """List every component that either model has, at every level, and the total."""
    names = parents_first(dict.fromkeys((*before.components, *after.components)))
    rows = [Row(name, before.components.get(name, 0), after.components.get(name, 0)) for name in names]
    return [*rows, Row(TOTAL, before.total, after.total)]


def _measure(model: Explained) -> dict[str, Any]:
    """Return a model's bytes, FLOPs and shape; ``None`` for a value that its closed form does not give."""
    layers, width, inner = (model.form.dims.sizes.get(symbol) for symbol in ("L", "D", "I"))
    return {
        "bytes": bytes_of(model.form.total, DTYPE),
        "flops": flops.count_flops(model.form, SEQ_LEN),
        "layers": layers,
        "width": width,
        "head_width": _find_head_width(model),
        "inner_by_width": inner / width if inner and width else None,
    }


def _find_head_width(model: Explained) -> int | None:
    """Return the head width in the config, else width / heads if queries are as wide as the model, else ``None``."""
    sizes = model.form.dims.sizes
    said = (sizes.get(size.symbol) for size in model.derivation.family.keys.sizes if size.key in HEAD_WIDTH)
    if found := next(filter(None, said), None):
        return int(found)
    width, heads = sizes.get("D"), sizes.get("A")
    queries = [each for each in model.form.terms if each.name.endswith((".query.weight", ".q_lin.weight"))]
    widths = {each.shape[0] for each in queries if each.kind in flops.LINEAR}
    return int(width // heads) if width and heads and width % heads == 0 and not widths - {width} else None


def _explain_changes(before: Explained, after: Explained) -> list[str]:
    """Return a sentence for each changed key, and one for the net change, with the parameters added and removed."""
    found = attribute(before.derivation, after.derivation)
    sentences = [describe_change(row) for row in found.moved]
    sentences += [found.method] if found.method else []
    came, went = came_and_went(after.form.own, before.form.own)
    gross = f": {exact(came)} added, {exact(went)} removed" if came and went else ""
    net = after.form.total - before.form.total
    return [*sentences, f"net {signed(net)}{gross}" if came or went else "no count changed"]


# the output


def _list_measures(before: Explained, after: Explained, same: str) -> list[tuple[str, ...]]:
    """List the rows below the components: bytes and FLOPs, then depths and widths."""
    measured = _measure(before), _measure(after)
    counts = [Row(name, *(each[name.lower()] for each in measured)) for name in ("bytes", "FLOPs")]
    shapes = []
    for each in measured:
        layers, width, head, inner = (each[key] for key in ("layers", "width", "head_width", "inner_by_width"))
        depth = NOTHING if None in {layers, width} else f"{exact(layers)} / {exact(width)}"
        by_width = NOTHING if inner is None else f"{inner:.3f}".rstrip("0").rstrip(".")
        shapes.append((depth, NOTHING if head is None else exact(head), by_width))
    named = zip(("depth / width", "head width", "I / D"), *shapes, strict=True)
    return [*((row.name, *row.write_cells(same)) for row in counts), *((*row, "") for row in named)]


def _draw_text(before: Explained, after: Explained) -> str:
    rows: list[tuple[str, tuple[str, ...]]] = []
    for row in _list_components(before.form, after.form):
        name = f"{'  ' * row.name.count('.')}{row.name.rpartition('.')[2]}"
        rows.append(("dim" if not row.change else "bold" if "." not in row.name else "", (name, *row.write_cells("="))))
    sections = {len(rows) - 1, len(rows)}
    rows += [("", cells) for cells in _list_measures(before, after, "=")]
    room = usable(read_style(sys.stdout)) - sum(max(len(cells[at]) + 2 for _, cells in rows) for at in (1, 2, 3))
    fitted = [(style, (fit(name, room), *cells)) for style, (name, *cells) in rows]
    table = make_table(COLUMNS, fitted, left=1, sections=sections)
    notes = _explain_changes(before, after)
    return draw_document({"A  ": before, "B  ": after}, table, notes, lines=[f"({MEASURES})"])


def _write_markdown(before: Explained, after: Explained) -> str:
    counts = [(row.name, *row.write_cells("0")) for row in _list_components(before.form, after.form)]
    rows = [(f"`{name}`", *cells) for name, *cells in (*counts, *_list_measures(before, after, "0"))]
    notes = (f"- {markdown.text(line)}" for line in _explain_changes(before, after))
    sources = (f"{name}: {write_source(model)}" for name, model in (("A", before), ("B", after)))
    return "\n".join([markdown.table(COLUMNS, rows), "", *notes, "", "  \n".join([f"{MEASURES}.", *sources])])


def _write_json(before: Explained, after: Explained) -> str:
    return write_json(
        {
            "models": [{**list_facts(model), **_measure(model)} for model in (before, after)],
            "dtype": DTYPE,
            "seq_len": SEQ_LEN,
            "components": [
                {"name": row.name, "parameters": [row.before, row.after], "changes": [0, row.change]}
                for row in _list_components(before.form, after.form)
            ],
            "explanations": [_explain_changes(before, after)],
        }
    )
