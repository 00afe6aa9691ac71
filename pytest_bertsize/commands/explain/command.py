"""``bertsize explain``: explain the parameter count of a config, without torch or transformers."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len

from pytest_bertsize.closed_forms.training import training_states
from pytest_bertsize.commands.console import read_style, refuse
from pytest_bertsize.commands.documents import draw_document, list_facts, write_json, write_source
from pytest_bertsize.commands.explain.names import FAMILY, list_by_names
from pytest_bertsize.commands.explain.tree import Line, list_tree
from pytest_bertsize.commands.named_model import Explained, explain_model
from pytest_bertsize.inventory import TOTAL
from pytest_bertsize.reports import drawing, markdown
from pytest_bertsize.reports.drawing import Style, powers
from pytest_bertsize.reports.files import write_page
from pytest_bertsize.wording import exact, printable

if TYPE_CHECKING:
    from pytest_bertsize.table.model import Model

BYTES_AS_FLOAT32 = 4
MEBIBYTE = 1024**2


def explain(named: Model, form: str = "text", *, names: str | None = None, tensors: bool = False) -> str:
    """Explain the count of a model: a tree of components, or with ``names`` the tensors by that vocabulary."""
    chosen = explain_model(named)
    family = chosen.derivation.family
    if names not in {None, "transformers"} and family.name != FAMILY:
        message = f"--names {names} has names for the family {FAMILY!r}, but the model's family is {family.name!r}"
        raise refuse(message, "write --names transformers, which has names for every family")
    if form == "json":
        return write_json(list_facts(chosen))
    if form == "md":
        return _write_markdown(chosen)
    lines = list_by_names(chosen.form, names) if names else list_tree(chosen.form, family, tensors=tensors)
    return draw_document({"": chosen}, draw_lines(lines, read_style(sys.stdout)), _list_notes(chosen))


def write_what_if(named: Model, given: str) -> str:
    """Write the page that counts the model with other sizes, and return a line that names it."""
    from pytest_bertsize.reports.html.what_if import render

    chosen = explain_model(named)
    write_page(given, render(chosen.model, chosen.config, chosen.derivation))
    return f"{printable(given)}: what if {chosen.model.name or chosen.form.architecture.name}"


def _write_markdown(chosen: Explained) -> str:
    facts = list_facts(chosen)
    components = [(f"`{row['name']}`", row["formula"], exact(row["parameters"])) for row in facts["components"]]
    sizes, used = facts["symbols"].items(), chosen.form.formulas()[TOTAL].symbols
    symbols = [(symbol, f"`{size['key']}`", exact(size["value"])) for symbol, size in sizes if symbol in used]
    head = f"**{markdown.text(facts['architecture'])}**: {exact(facts['total'])} parameters"
    counts = markdown.table(("component", "formula", "parameters"), components, left=2)
    meanings = markdown.table(("symbol", "key", "value"), symbols, left=2)
    return "\n\n".join([head, counts, meanings, write_source(chosen)])


# the lines in a terminal: columns that do not fit are dropped, formulas wrap, numbers are never cut


LEFT = ("", "formula", "numbers")
DROPPED_FIRST = ("in all layers", "numbers")
NARROWEST = 34  # the fewest cells to which a tensor's name is shortened; other names are never shortened


def draw_lines(lines: Sequence[Line], style: Style) -> str:
    """Draw a row for each line; inside a layer, the row has the parameters of one layer and those of all layers."""
    rows = []
    for line in lines:
        in_all = "" if line.in_all is None else exact(line.in_all)
        formulas = {"formula": powers(line.formula, style), "numbers": powers(line.numbers, style)}
        counts = {"parameters": exact(line.count), "in all layers": in_all}
        cells = {"": f"{'  ' * line.depth}{line.name}", **formulas, **counts}
        colour = "dim" if line.minor else "bold" if line.depth == 0 else ""
        rows.append(drawing.Line(cells, dict.fromkeys(cells, colour)))
    has_tensors = any(line.tensor for line in lines)  # whose names and formulas are long
    names = [cell_len(row.cells[""]) for line, row in zip(lines, rows, strict=True) if not line.tensor]
    least = {"": max(NARROWEST, *names)} if has_tensors else {}
    wrapped, apart = {"formula": drawing.FEWEST_WRAPPED if has_tensors else sys.maxsize}, [len(rows) - 1]
    return drawing.draw_table(rows, LEFT, style, names=least, wrapped=wrapped, dropped_first=DROPPED_FIRST, apart=apart)


# common mistakes of a count by hand


def _list_notes(chosen: Explained) -> Iterator[str]:
    form = chosen.form
    formula = form.formulas()[TOTAL]
    yield f"total = {formula}"
    shared = any(term.passes != term.times for term in form.symbolic)
    layers = "layers share their weights" if shared else "the table names single layers by their numbers"
    for size in chosen.derivation.family.keys.sizes:
        value = form.dims.sizes[size.symbol]
        if value is not None and size.symbol not in formula.symbols:
            heads = ": heads divide D, they do not multiply it" if "head" in size.key else ""
            because = heads or (f": {layers}" if size.symbol == "L" else "")
            yield f"{size.symbol} = {value:,} ({size.key}) is in no formula{because}"
    if form.stored != form.total:
        yield f"tied tensors are counted once; with copies the count is {exact(form.stored)}"
    if form.unrolled != form.stored:
        yield f"shared layers are counted once; with a copy for each pass the count is {exact(form.unrolled)}"
    taken = BYTES_AS_FLOAT32 * form.total
    yield f"a count is not a size: in float32 the model takes {exact(taken)} bytes, {taken / MEBIBYTE:,.1f} MiB"
    taken = training_states(form).total
    how = "with AdamW in float32: parameters, gradients and two moments; activations come on top"
    yield f"training takes {exact(taken)} bytes, {taken / MEBIBYTE:,.1f} MiB, {how}"
