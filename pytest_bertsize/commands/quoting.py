"""What ``explain``, ``diff`` and ``fit`` print for other documents: Markdown, LaTeX and JSON, with what repeats it."""

from __future__ import annotations

import json
import re
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from pytest_bertsize.closed_forms.proportions import unusual
from pytest_bertsize.closed_forms.training import training_states
from pytest_bertsize.commands.diff import candidates
from pytest_bertsize.commands.diff.candidates import DTYPE, SEQ_LEN, label, measures, of_measures, rows, shape
from pytest_bertsize.commands.fit import columns, notes, overrides, to_paste
from pytest_bertsize.inventory import TOTAL
from pytest_bertsize.reports.markdown.text import text as in_markdown
from pytest_bertsize.reports.rows import NOTHING
from pytest_bertsize.wording import exact, printable, signed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pytest_bertsize.commands.diff.candidates import Row
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


def difference(sides: Sequence[Explained], form: str) -> str:
    """Models side by side in one of :data:`FORMATS`, text excepted; what changes, changes from the first."""
    counts, beside, shapes = rows(sides), measures(sides), [shape(side) for side in sides]
    said = [[*candidates.explanation(sides[0], side)] for side in sides[1:]]
    if form == "json":
        sizes = [
            {
                "bytes": beside[0].values[index],
                "flops": beside[1].values[index],
                "layers": each.layers,
                "width": each.width,
                "head_width": each.head_width,
                "inner_by_width": None if each.inner is None else float(each.inner),
            }
            for index, each in enumerate(shapes)
        ]
        return _json(
            {
                "schema": SCHEMA,
                "models": [{**_said(side), **size} for side, size in zip(sides, sizes, strict=True)],
                "dtype": DTYPE,
                "seq_len": SEQ_LEN,
                "components": [
                    {"name": row.name, "parameters": [*row.values], "changes": [*row.changes]} for row in counts
                ],
                "explanations": said,
            }
        )
    labels = [label(index) for index in range(len(sides))]
    head = ["component", labels[0], *(each for name in labels[1:] for each in (name, _change(name, sides)))]
    cells = [_cells(row) for row in (*counts, *beside)]
    cells += [_beside([each.cells[name] for each in shapes], name) for name in shapes[0].cells]
    sources = [f"{name}: {_source(_said(side))}" for name, side in zip(labels, sides, strict=True)]
    if form == "md":
        lines = [f"| {' | '.join(line)} |" for line in (head, ["---", *["--:"] * (len(head) - 1)])]
        lines += [f"| `{name}` | {' | '.join(rest)} |" for name, *rest in cells]
        for name, sentences in zip(labels[1:], said, strict=True):
            lines += ["", *(f"- {'' if len(said) == 1 else f'{name}: '}{in_markdown(line)}" for line in sentences)]
        return "\n".join([*lines, "", "  \n".join([f"{of_measures()}.", *sources])])
    lines = [rf"\begin{{tabular}}{{l{'r' * (len(head) - 1)}}}", rf"{' & '.join(head)} \\", r"\hline"]
    lines += [f"{_escaped(name)} & {' & '.join(map(_in_latex, rest))} \\\\" for name, *rest in cells]
    return "\n".join([*lines, r"\end{tabular}", *(f"% {each}" for each in (of_measures(), *sources))])


def _change(name: str, sides: Sequence[Explained]) -> str:
    return "change" if len(sides) == 2 else f"{name} - A"  # noqa: PLR2004  (a pair)


def _cells(row: Row) -> list[str]:
    """The name, the first, then each other with what it changes."""
    texts = [NOTHING if value is None else exact(value) for value in row.values]
    changes = ["" if change is None else signed(change) for change in row.changes]
    return [row.name, texts[0], *(each for pair in zip(texts[1:], changes[1:], strict=True) for each in pair)]


def _beside(texts: Sequence[str], name: str) -> list[str]:
    return [name, texts[0], *(each for text in texts[1:] for each in (text, ""))]


def _in_latex(cell: str) -> str:
    return f"${cell}$" if cell[:1] in {"+", "-", "0"} else cell.replace(NOTHING, "--")


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
        "training_bytes": training_states(form.inventory).total,
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
