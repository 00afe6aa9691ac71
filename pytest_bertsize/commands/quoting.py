"""What ``explain``, ``diff`` and ``fit`` print for other documents: Markdown, LaTeX and JSON, with what repeats it."""

from __future__ import annotations

import json
import re
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from pytest_bertsize.closed_forms.proportions import unusual
from pytest_bertsize.commands.fit import columns, notes, overrides, to_paste
from pytest_bertsize.inventory import TOTAL
from pytest_bertsize.reports.markdown.text import text as in_markdown
from pytest_bertsize.wording import exact, printable, signed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pytest_bertsize.commands.diff import Row
    from pytest_bertsize.commands.fit import Fitting
    from pytest_bertsize.commands.named_model import Explained

FORMATS = ("text", "md", "latex", "json")
SCHEMA = 1
_SPECIAL = re.compile(r"[&%$#_{}]")


def explanation(chosen: Explained, form: str) -> str:
    """One model in one of :data:`FORMATS`, text excepted."""
    said = _said(chosen)
    if form == "json":
        return _json({"schema": SCHEMA, **said, "notes": [*unusual(chosen.derivation)]})
    return "\n".join(_markdown(chosen, said) if form == "md" else _latex(chosen, said))


def difference(before: Explained, after: Explained, rows: Iterable[Row], changes: Iterable[str], form: str) -> str:
    """Two models in one of :data:`FORMATS`, text excepted.

    :param changes: a sentence for each key that moved something.
    """
    found, said = list(rows), list(changes)
    if form == "json":
        components = [
            {"name": row.component, "before": row.before, "after": row.after, "change": row.change} for row in found
        ]
        sides = {"before": _said(before), "after": _said(after)}
        return _json({"schema": SCHEMA, **sides, "components": components, "changes": said})
    cells = [(row.component, exact(row.before), exact(row.after), signed(row.change)) for row in found]
    if form == "md":
        lines = ["| component | A | B | change |", "| --- | --: | --: | --: |"]
        lines += [f"| `{name}` | {first} | {second} | {change} |" for name, first, second, change in cells]
        lines += ["", *(f"- {in_markdown(line)}" for line in said), ""]
        return "\n".join([*lines, f"A: {_source(_said(before))}  ", f"B: {_source(_said(after))}"])
    lines = [r"\begin{tabular}{lrrr}", r"component & A & B & change \\", r"\hline"]
    lines += [f"{_escaped(name)} & {first} & {second} & ${change}$ \\\\" for name, first, second, change in cells]
    return "\n".join([*lines, r"\end{tabular}", f"% A: {_source(_said(before))}", f"% B: {_source(_said(after))}"])


def fitting(found: Fitting, form: str) -> str:
    """Shapes under a budget, as Markdown or as JSON."""
    chosen = found.chosen
    if form == "json":
        limits = [{"component": each.component, "min": each.minimum, "max": each.maximum} for each in found.limits]
        rows = [
            {
                "overrides": overrides(chosen, row.changes),
                "sizes": dict(row.sizes),
                "parameters": row.total,
                "flops": row.flops,
            }
            for row in found.rows
        ]
        searched = {"limits": limits, "seq_len": found.found.seq_len, "examined": found.found.examined}
        return _json({"schema": SCHEMA, **_said(chosen), **searched, "today": rows[0], "shapes": rows[1:]})
    cells = columns(found)
    cells["to paste"] = ["", *(f"`{to_paste(chosen, row.changes)}`" for row in found.rows[1:])]
    lines = [f"| {' | '.join(cells)} |", f"|{' --: |' * (len(cells) - 1)} :-- |"]
    lines += [f"| {' | '.join(row)} |" for row in zip(*cells.values(), strict=True)]
    return "\n".join([*lines, "", *(f"- {in_markdown(each)}" for each in notes(found)), "", _source(_said(chosen))])


def _said(chosen: Explained) -> dict[str, Any]:
    form, formulas = chosen.form, chosen.form.formulas()
    names = {size.symbol: size.key for size in chosen.derivation.family.keys.sizes}
    sizes = {symbol: size for symbol, size in form.dims.sizes.items() if size is not None}
    counts = {**form.components, TOTAL: form.total}
    return {
        "family": chosen.derivation.family.name,
        "architecture": form.architecture.name,
        "config": chosen.config.reference,
        "config_sha256": chosen.config.sha256,
        "options": dict(chosen.asked),
        "symbols": {symbol: {"key": names.get(symbol, symbol), "value": size} for symbol, size in sizes.items()},
        "total": form.total,
        "trainable": form.trainable,
        "components": [
            {"name": name, "formula": formulas[name].text, "latex": formulas[name].latex, "parameters": count}
            for name, count in counts.items()
            if name in formulas
        ],
        "versions": {
            "pytest_bertsize": version("pytest-bertsize"),
            "transformers": str(chosen.derivation.family.release),
        },
    }


def _markdown(chosen: Explained, said: Mapping[str, Any]) -> Iterable[str]:
    yield f"**{in_markdown(said['architecture'])}**: {exact(said['total'])} parameters"
    yield from ("", "| component | formula | parameters |", "| --- | --- | --: |")
    for row in said["components"]:
        yield f"| `{row['name']}` | {row['formula']} | {exact(row['parameters'])} |"
    yield from ("", "| symbol | key | value |", "| --- | --- | --: |")
    used = chosen.form.formulas()[TOTAL].symbols
    for symbol, size in said["symbols"].items():
        if symbol in used:
            yield f"| {symbol} | `{size['key']}` | {exact(size['value'])} |"
    yield from ("", _source(said))


def _latex(chosen: Explained, said: Mapping[str, Any]) -> Iterable[str]:
    from pytest_bertsize.closed_forms.formula import of_symbol

    yield f"% {_source(said)}"
    yield r"\begin{align*}"
    for row in said["components"]:
        if "." not in row["name"]:
            yield f"  \\text{{{_escaped(row['name'])}}} &= {row['latex']} = {_number(row['parameters'])} \\\\"
    yield r"\end{align*}"
    used = chosen.form.formulas()[TOTAL].symbols
    sizes = {symbol: size for symbol, size in said["symbols"].items() if symbol in used}
    named = (f"${of_symbol(name).latex} = {_number(each['value'])}$" for name, each in sizes.items())
    yield f"with {', '.join(named)}."


def _source(said: Mapping[str, Any]) -> str:
    versions = said["versions"]
    tools = f"pytest-bertsize {versions['pytest_bertsize']}, transformers {versions['transformers']}"
    return f"{printable(said['config'])} (sha256 {said['config_sha256']}); {tools}"


def _number(count: int) -> str:
    """Its commas are none of a list."""
    return exact(count).replace(",", "{,}")


def _escaped(text: str) -> str:
    return _SPECIAL.sub(lambda each: f"\\{each[0]}", text)


def _json(said: Mapping[str, Any]) -> str:
    return json.dumps(said, indent=2, ensure_ascii=True)
