"""``bertsize explain``: explain the parameter count of a config, without torch or transformers."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rich.cells import cell_len

from pytest_bertsize.checkpoint.tokenizer import check_rows
from pytest_bertsize.closed_forms.training import STEP, training_states
from pytest_bertsize.commands.console import read_style, refuse
from pytest_bertsize.commands.documents import draw_document, list_facts, make_table, write_json, write_source
from pytest_bertsize.commands.explain.names import FAMILY, VOCABULARIES, list_by_names
from pytest_bertsize.commands.explain.tree import Line, list_tree
from pytest_bertsize.commands.named_model import Explained, Named, explain_model
from pytest_bertsize.findings import Unusable
from pytest_bertsize.inventory import TOTAL
from pytest_bertsize.reports import markdown
from pytest_bertsize.reports.drawing import Style, drop_columns, fit, powers, usable
from pytest_bertsize.reports.files import what_if_path, write_page
from pytest_bertsize.wording import did_you_mean, exact, plural, printable, shown

if TYPE_CHECKING:
    from rich.table import Table

    from pytest_bertsize.closed_forms.formula import Formula

BYTES_AS_FLOAT32 = 4
MEBIBYTE = 1024**2


def explain(named: Named, form: str = "text", *, names: str | None = None, tensors: bool = False) -> str:
    """Explain the count of one model.

    :param form: ``text``, ``md`` or ``json``.
    :param names: the vocabulary of the tensors' names; ``None`` for a tree of components.
    :param tensors: whether the tree lists the tensors as well.
    :raises Unusable: if the config or the vocabulary cannot be used.
    """
    chosen = explain_model(named)
    if names is not None:
        _check_names(names, chosen)
    if form == "json":
        return write_json(list_facts(chosen))
    if form == "md":
        return _write_markdown(chosen)
    lines = (
        list_by_names(chosen.form, names)
        if names
        else list_tree(chosen.form, chosen.derivation.family, tensors=tensors)
    )
    return draw_document({"": chosen}, draw_lines(lines, read_style(sys.stdout)), _list_notes(chosen))


def write_what_if(named: Named, given: str) -> str:
    """Write the page that counts the model with other sizes; if that fails, an older page stays as it is.

    :returns: the line to print, which names the page.
    :raises Unusable: for a config that cannot be used.
    :raises SettingsError: for a path that cannot be written to.
    """
    from pytest_bertsize.reports.html.what_if import render

    path = what_if_path(given)
    chosen = explain_model(named)
    write_page(path, render(chosen.model, chosen.config, chosen.derivation))
    return f"{printable(given)}: what if {chosen.model.name or chosen.form.architecture.name}"


def _check_names(names: str, chosen: Explained) -> None:
    """:raises Unusable: if the vocabulary is unknown, or has no names for the model's family."""
    known = ", ".join(VOCABULARIES)
    if names not in VOCABULARIES:
        fix = did_you_mean(names, VOCABULARIES, f"write one of {known}", written=str)
        raise refuse(f"--names {shown(names)} is not known", fix)
    if names != "transformers" and chosen.derivation.family.name != FAMILY:
        family = chosen.derivation.family.name
        message = f"--names {names} has names for the family {FAMILY!r}, but the model's family is {family!r}"
        raise refuse(message, "write --names transformers, which has names for every family")


def _write_markdown(chosen: Explained) -> str:
    facts = list_facts(chosen)
    components = [(f"`{row['name']}`", row["formula"], exact(row["parameters"])) for row in facts["components"]]
    used = chosen.form.formulas()[TOTAL].symbols
    symbols = [
        (symbol, f"`{size['key']}`", exact(size["value"]))
        for symbol, size in facts["symbols"].items()
        if symbol in used
    ]
    return "\n\n".join(
        [
            f"**{markdown.text(facts['architecture'])}**: {exact(facts['total'])} parameters",
            markdown.table(("component", "formula", "parameters"), components, left=2),
            markdown.table(("symbol", "key", "value"), symbols, left=2),
            write_source(chosen),
        ]
    )


# the lines in a terminal: columns that do not fit are dropped, formulas wrap, numbers are never cut


COLUMNS = ("", "formula", "numbers", "parameters", "in all layers")
LEFT = {"", "formula", "numbers"}
DROPPED_FIRST = ("in all layers", "numbers")
GAP = 2
NARROWEST = {"": 34, "formula": 16}
"""The fewest cells to which a tensor's name is shortened and a formula wrapped; other names are never shortened."""


def draw_lines(lines: Sequence[Line], style: Style) -> Table:
    """Draw a row for each line; inside a layer, the row has the parameters of one layer and those of all layers."""
    rows = []
    for line in lines:
        texts = f"{'  ' * line.depth}{line.name}", powers(line.formula, style), powers(line.numbers, style)
        rows.append([*texts, exact(line.count), "" if line.in_all is None else exact(line.in_all)])
    widths = {
        column: max(cell_len(column), *map(cell_len, cells))
        for column, cells in zip(COLUMNS, zip(*rows, strict=True), strict=True)
        if column not in DROPPED_FIRST or any(cells)
    }
    needed = {column: width + GAP for column, width in widths.items()}
    if any(line.tensor for line in lines):  # whose names and formulas are long
        names = (cell_len(row[0]) for line, row in zip(lines, rows, strict=True) if not line.tensor)
        least = {"": max(NARROWEST[""], *names), "formula": NARROWEST["formula"]}
        needed |= {column: min(needed[column], width + GAP) for column, width in least.items()}
    shown = drop_columns(needed, DROPPED_FIRST, usable(style) + GAP)
    room = usable(style) - sum(needed[column] for column in shown if column) - GAP
    cells = []
    for line, row in zip(lines, rows, strict=True):
        row[0] = fit(row[0], max(needed[""] - GAP, room))
        colour = "dim" if line.minor else "bold" if line.depth == 0 else ""
        cells.append((colour, [cell for column, cell in zip(COLUMNS, row, strict=True) if column in shown]))
    table = make_table(shown, cells, left=len(LEFT.intersection(shown)), sections=[len(rows) - 1])
    table.columns[shown.index("formula")].no_wrap = False
    return table


# common mistakes of a count by hand


def _list_notes(chosen: Explained) -> Iterator[str]:
    form = chosen.form
    formula = form.formulas()[TOTAL]
    yield f"total = {formula}"
    yield from _list_sizes_without_effect(chosen, formula)
    if form.stored != form.total:
        yield f"tied tensors are counted once; with copies the count is {exact(form.stored)}"
    if form.unrolled != form.stored:
        yield f"shared layers are counted once; with a copy for each pass the count is {exact(form.unrolled)}"
    yield from _list_spare_rows(chosen)
    size = BYTES_AS_FLOAT32 * form.total
    yield f"a count is not a size: in float32 the model takes {exact(size)} bytes, {size / MEBIBYTE:,.1f} MiB"
    states = training_states(form)
    yield (
        f"training takes {exact(states.total)} bytes, {states.total / MEBIBYTE:,.1f} MiB, with AdamW in float32: "
        f"parameters {exact(states.parameters)}, gradients {exact(states.gradients)}, "
        f"two moments {exact(states.moments)}, and {STEP} for each of {plural(states.tensors, 'tensor')}; "
        "activations come on top"
    )


def _list_spare_rows(chosen: Explained) -> Iterator[str]:
    """Yield a note if the word embeddings have rows that no id of the tokenizer reaches, or lack rows for its ids."""
    file, model = Path(chosen.config.file), chosen.model
    with suppress(Unusable):  # a broken file beside it: no fault of the config
        if chosen.settings:
            beside = chosen.config.file, model.checkpoint
            found = check_rows(chosen.settings.root, model.tokenizer, beside, chosen.form)
        else:
            found = check_rows(file.parent, None, (file.name,), chosen.form)
        yield from (each.message for each in found)


def _list_sizes_without_effect(chosen: Explained, formula: Formula) -> Iterator[str]:
    """Yield a note on each size that is in no formula, such as the number of heads."""
    shared = any(term.passes != term.times for term in chosen.form.symbolic)
    layers = "layers share their weights" if shared else "the table names single layers by their numbers"
    for size in chosen.derivation.family.keys.sizes:
        value = chosen.form.dims.sizes[size.symbol]
        if value is not None and size.symbol not in formula.symbols:
            heads = ": heads divide D, they do not multiply it" if "head" in size.key else ""
            because = heads or (f": {layers}" if size.symbol == "L" else "")
            yield f"{size.symbol} = {value:,} ({size.key}) is in no formula{because}"
