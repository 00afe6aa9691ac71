"""``bertsize diff``: compare two configs, component by component, and attribute the changes to keys."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

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

SEQ_LEN = 128
"""The number of tokens for which FLOPs are counted."""
DTYPE = "float32"
"""The dtype in which the bytes of both models are counted; the dtypes in their configs are ignored."""
MEASURES = f"bytes as {DTYPE}, FLOPs of a text of {SEQ_LEN} tokens"
COLUMNS = ("component", "A", "B", "change")


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
    before, after = models
    names = parents_first(dict.fromkeys((*before.form.components, *after.form.components)))
    rows = [Row(name, *(each.form.components.get(name, 0) for each in models)) for name in names]
    rows.append(Row(TOTAL, before.form.total, after.form.total))
    measured = [_measure(each) for each in models]
    measures = [Row(name, *(each[name.lower()] for each in measured)) for name in ("bytes", "FLOPs")]
    changes = _explain_changes(before, after)
    if form == "json":
        return write_json(
            {
                "models": [{**list_facts(each), **_measure(each)} for each in models],
                "dtype": DTYPE,
                "seq_len": SEQ_LEN,
                "components": [
                    {"name": row.name, "parameters": [row.before, row.after], "changes": [0, row.change]}
                    for row in rows
                ],
                "explanations": [changes],
            }
        )
    if form == "md":
        table = markdown.table(COLUMNS, [(f"`{row.name}`", *row.write_cells("0")) for row in (*rows, *measures)])
        sources = "  \n".join(f"{name}: {write_source(each)}" for name, each in zip("AB", models, strict=True))
        notes = "\n".join(f"- {markdown.text(line)}" for line in changes)
        return f"{table}\n\n{notes}\n\n{MEASURES}.  \n{sources}"
    cells = [row.write_cells("=") for row in (*rows, *measures)]
    room = usable(read_style(sys.stdout)) - sum(max(map(len, column)) + 2 for column in zip(*cells, strict=True))
    fitted = []
    for row, numbers in zip((*rows, *measures), cells, strict=True):
        colour = "" if row in measures else "dim" if not row.change else "bold" if "." not in row.name else ""
        name = f"{'  ' * row.name.count('.')}{row.name.rpartition('.')[2]}"
        fitted.append((colour, (fit(name, room), *numbers)))
    drawn = make_table(COLUMNS, fitted, left=1, sections={len(rows) - 1, len(rows)})
    return draw_document({"A  ": before, "B  ": after}, drawn, changes, lines=[f"({MEASURES})"])


def _measure(model: Explained) -> dict[str, Any]:
    """Return a model's bytes and FLOPs; ``None`` for a value that its closed form does not give."""
    return {"bytes": bytes_of(model.form.total, DTYPE), "flops": flops.count_flops(model.form, SEQ_LEN)}


def _explain_changes(before: Explained, after: Explained) -> list[str]:
    """Return a sentence for each changed key, and one for the net change, with the parameters added and removed."""
    found = attribute(before.derivation, after.derivation)
    sentences = [*map(describe_change, found.moved), *([found.method] if found.method else [])]
    came, went = came_and_went(after.form.own, before.form.own)
    gross = f": {exact(came)} added, {exact(went)} removed" if came and went else ""
    net = after.form.total - before.form.total
    return [*sentences, f"net {signed(net)}{gross}" if came or went else "no count changed"]
