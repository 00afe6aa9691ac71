"""Write the output of ``explain``, ``diff``, ``fit`` and ``log``: tables for the terminal, facts for JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from pytest_bertsize.closed_forms.training import training_states
from pytest_bertsize.commands.console import read_style
from pytest_bertsize.inventory import TOTAL
from pytest_bertsize.reports.drawing import draw, hanging
from pytest_bertsize.wording import printable

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pytest_bertsize.commands.named_model import Explained

SCHEMA = 1


# for the terminal


def draw_document(
    models: Mapping[str, Explained], table: Table, notes: Iterable[str], *, lines: Sequence[str] = ()
) -> str:
    """Draw a heading for each model, the table, and the notes and warnings below it.

    :param models: the models by the prefix of their headings: ``"A  "``.
    :param lines: lines between the table and the notes; they are not wrapped.
    """
    style = read_style(sys.stdout)
    heads: list[RenderableType] = []
    for mark, model in models.items():
        options = {key: str(value).lower() for key, value in model.model.options.items()}
        said = " ".join(f"{name}={value}" for name, value in {**options, **model.form.dims.given}.items())
        name, config = (model.form.architecture.name, "bold"), (model.config.reference, "cyan")
        heads.append(Text.assemble(mark, name, "  ", config, "  ", (said, "dim")))
        if model.config.origin:  # a name of the hub led to it
            heads.append(hanging("   from ", "dim", model.config.origin, style))
    findings = dict.fromkeys(finding for model in models.values() for finding in model.derivation.values.findings)
    below = [hanging("- ", "dim", note, style) for note in notes]
    for finding in findings:
        place = f" ({finding.place})" if finding.place else ""
        below.append(hanging("! ", "yellow", f"{finding.message}{place}", style))
        below += [hanging("  → ", "cyan", finding.fix, style)] if finding.fix else []
    above = draw(style, *heads, Text(""), table)
    return "\n".join([above, "", *lines, *([""] if lines else []), draw(style, *below)])


def make_table(
    columns: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]], *, left: int = 0, sections: Collection[int] = ()
) -> Table:
    """Make a table; each row has a style and its cells.

    :param left: the number of columns with words; all others have numbers.
    :param sections: the indices of rows above which a line is drawn.
    """
    table = Table(box=SIMPLE_HEAD, show_edge=False, padding=(0, 0, 0, 1), pad_edge=False, header_style="bold")
    table.border_style = "dim"
    for at, name in enumerate(columns):
        table.add_column(name, justify="left" if at < left else "right", no_wrap=True)
    for at, (style, cells) in enumerate(rows):
        if at in sections:
            table.add_section()
        table.add_row(*(Text(cell, style=style) for cell in cells))
    return table


# for other programs


def list_facts(model: Explained) -> dict[str, Any]:
    """Return the facts of a model for JSON, with the versions that reproduce them."""
    form, formulas = model.form, model.form.formulas()
    names = {size.symbol: size.key for size in model.derivation.family.keys.sizes}
    counts = {**form.components, TOTAL: form.total}
    return {
        "family": model.derivation.family.name,
        "architecture": form.architecture.name,
        "config": model.config.reference,
        "config_sha256": model.config.sha256,
        "options": dict(model.model.options),
        "symbols": {
            symbol: {"key": names.get(symbol, symbol), "value": size} for symbol, size in form.dims.given.items()
        },
        "total": form.total,
        "trainable": form.trainable,
        "training_bytes": training_states(form).total,
        "components": [
            {"name": name, "formula": formulas[name].text, "latex": formulas[name].latex, "parameters": count}
            for name, count in counts.items()
            if name in formulas
        ],
        "versions": list_versions(model.derivation.family.release),
    }


def list_versions(transformers: object) -> dict[str, str]:
    return {"pytest_bertsize": version("pytest-bertsize"), "transformers": str(transformers)}


def write_source(model: Explained) -> str:
    """Return the config's file with its hash, and the versions of this package and of transformers."""
    versions = list_versions(model.derivation.family.release)
    tools = f"pytest-bertsize {versions['pytest_bertsize']}, transformers {versions['transformers']}"
    return f"{printable(model.config.reference)} (sha256 {model.config.sha256}); {tools}"


def write_json(document: Mapping[str, Any]) -> str:
    return json.dumps({"schema": SCHEMA, **document}, indent=2, ensure_ascii=True)
