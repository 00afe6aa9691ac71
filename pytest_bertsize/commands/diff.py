"""``bertsize diff``: compare two configs, component by component, and attribute the changes to keys."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from pytest_bertsize.closed_forms.attribution import attribute, came_and_went
from pytest_bertsize.closed_forms.flops import count_flops
from pytest_bertsize.commands.console import read_style
from pytest_bertsize.commands.documents import draw_document, list_facts, write_json, write_source
from pytest_bertsize.commands.named_model import explain_model
from pytest_bertsize.dtypes import bytes_of
from pytest_bertsize.findings import find_all
from pytest_bertsize.inventory import TOTAL, parents_first
from pytest_bertsize.reports import markdown
from pytest_bertsize.reports.drawing import Line, draw_table
from pytest_bertsize.reports.sentences import NOTHING, describe_change
from pytest_bertsize.wording import exact, signed

if TYPE_CHECKING:
    from pytest_bertsize.table.model import Model

SEQ_LEN = 128  # the number of tokens for which FLOPs are counted
DTYPE = "float32"  # the dtype in which the bytes of both models are counted; the dtypes in their configs are ignored
MEASURES = f"bytes as {DTYPE}, FLOPs of a text of {SEQ_LEN} tokens"
COLUMNS = ("component", "A", "B", "change")
NAME = 24  # the width to which a narrow terminal shortens names


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


def diff(first: Model, second: Model, form: str = "text") -> str:
    """Write the changes from the first model to the second; raise Unusable with the mistakes in both configs."""
    models = find_all(partial(explain_model, each) for each in (first, second))
    before, after = (each.form for each in models)
    names = parents_first(dict.fromkeys((*before.components, *after.components)))
    rows = [Row(name, before.components.get(name, 0), after.components.get(name, 0)) for name in names]
    rows.append(Row(TOTAL, before.total, after.total))
    measured = [(bytes_of(each.total, DTYPE), count_flops(each, SEQ_LEN)) for each in (before, after)]
    measures = [Row(name, *values) for name, *values in zip(("bytes", "FLOPs"), *measured, strict=True)]
    found = attribute(models[0].derivation, models[1].derivation)
    came, went = came_and_went(after.own, before.own)
    gross = f": {exact(came)} added, {exact(went)} removed" if came and went else ""
    net = f"net {signed(after.total - before.total)}{gross}" if came or went else "no count changed"
    changes = [*map(describe_change, found.moved), *([found.method] if found.method else []), net]
    if form == "json":
        facts = zip(models, measured, strict=True)
        listed = [{"name": row.name, "parameters": [row.before, row.after], "changes": [0, row.change]} for row in rows]
        both = [{**list_facts(each), "bytes": size, "flops": cost} for each, (size, cost) in facts]
        measured_as = {"dtype": DTYPE, "seq_len": SEQ_LEN}
        return write_json({"models": both, **measured_as, "components": listed, "explanations": [changes]})
    if form == "md":
        table = markdown.table(COLUMNS, [(f"`{row.name}`", *row.write_cells("0")) for row in (*rows, *measures)])
        sources = "  \n".join(f"{name}: {write_source(each)}" for name, each in zip("AB", models, strict=True))
        notes = "\n".join(f"- {markdown.text(line)}" for line in changes)
        return f"{table}\n\n{notes}\n\n{MEASURES}.  \n{sources}"
    lines = []
    for row in (*rows, *measures):
        colour = "" if row in measures else "dim" if not row.change else "bold" if "." not in row.name else ""
        name = f"{'  ' * row.name.count('.')}{row.name.rpartition('.')[2]}"
        cells = dict(zip(COLUMNS, (name, *row.write_cells("=")), strict=True))
        lines.append(Line(cells, dict.fromkeys(COLUMNS, colour)))
    apart, style = {len(rows) - 1, len(rows)}, read_style(sys.stdout)
    drawn = draw_table(lines, COLUMNS[:1], style, names={COLUMNS[0]: NAME}, apart=apart)
    return draw_document(dict(zip(("A  ", "B  "), models, strict=True)), drawn, changes, [f"({MEASURES})"])
