"""``bertsize explain``: what a config's parameter count is made of, without torch or transformers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from pytest_bertsize.commands.console import GOOD, heading, mistaken, origin, say, style_of, warnings
from pytest_bertsize.commands.named_model import Explained, Named, explained
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.wording import did_you_mean, shown

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pytest_bertsize.closed_forms.formula import Formula
    from pytest_bertsize.closed_forms.training import TrainingStates
    from pytest_bertsize.commands.explain.tree import Line
    from pytest_bertsize.reports.drawing import Style

BYTES_AS_FLOAT32 = 4
MEBIBYTE = 1024**2


def explain(
    named: Named, out: TextIO, err: TextIO, *, names: str | None = None, tensors: bool = False, form: str = "text"
) -> int:
    """Print the tree of one model.

    :param names: another vocabulary for the lines; ``None`` for components.
    :param tensors: whether the tree goes down to them.
    :param form: ``text``, ``md`` or ``json``.
    :returns: the exit status.
    """
    try:
        chosen = explained(named)
        lines = _lines(chosen, names, tensors=tensors)
    except Unusable as unusable:
        return mistaken(unusable, err)
    if form != "text":
        from pytest_bertsize.commands.quoting import SCHEMA, facts, json_text

        said = facts(chosen)
        say(json_text({"schema": SCHEMA, **said}) if form == "json" else "\n".join(_markdown(chosen, said)), out)
        return GOOD
    say(_drawn(chosen, lines, style_of(out, 0)), out)
    return GOOD


def _markdown(chosen: Explained, said: Mapping[str, Any]) -> Iterator[str]:
    from pytest_bertsize.commands.quoting import source
    from pytest_bertsize.inventory import TOTAL
    from pytest_bertsize.reports.markdown import text as in_markdown
    from pytest_bertsize.wording import exact

    yield f"**{in_markdown(said['architecture'])}**: {exact(said['total'])} parameters"
    yield from ("", "| component | formula | parameters |", "| --- | --- | --: |")
    for row in said["components"]:
        yield f"| `{row['name']}` | {row['formula']} | {exact(row['parameters'])} |"
    yield from ("", "| symbol | key | value |", "| --- | --- | --: |")
    used = chosen.form.formulas()[TOTAL].symbols
    for symbol, size in said["symbols"].items():
        if symbol in used:
            yield f"| {symbol} | `{size['key']}` | {exact(size['value'])} |"
    yield from ("", source(said))


def _lines(chosen: Explained, names: str | None, *, tensors: bool) -> list[Line]:
    from pytest_bertsize.commands.explain.in_vocabulary import named
    from pytest_bertsize.commands.explain.tree import tree

    if names is None:
        return tree(chosen.form, chosen.derivation.family, tensors=tensors)
    _check_names(names, chosen)
    return named(chosen.form, names)


def _check_names(names: str, chosen: Explained) -> None:
    """:raises Unusable: for a vocabulary that is unknown, or that has no names for this family."""
    from pytest_bertsize.commands.explain.vocabularies import FAMILY, VOCABULARIES

    known = ", ".join(VOCABULARIES)
    if names not in VOCABULARIES:
        fix = did_you_mean(names, VOCABULARIES, f"write one of {known}", written=str)
        raise Unusable(Finding("config-invalid", f"--names {shown(names)}: there are {known}", fix))
    if names != "transformers" and chosen.derivation.family.name != FAMILY:
        message = f"--names {names} knows the family {FAMILY!r}, and this is {chosen.derivation.family.name!r}"
        raise Unusable(Finding("config-invalid", message, "write --names transformers, which knows every family"))


def _drawn(chosen: Explained, lines: list[Line], style: Style) -> str:
    from rich.console import Group
    from rich.text import Text

    from pytest_bertsize.commands.explain.drawing import table
    from pytest_bertsize.reports.drawing import draw, hanging

    parts: list[RenderableType] = [heading(chosen), *origin(chosen, style), Text(""), table(lines, style), Text("")]
    parts += [hanging("- ", "dim", note, style) for note in notes(chosen)]
    return draw(Group(*parts, *warnings(chosen.derivation.values.findings, style)), style)


def notes(chosen: Explained) -> Iterator[str]:
    """What is usually got wrong by hand, in this model's own numbers."""
    from pytest_bertsize.closed_forms.training import training_states
    from pytest_bertsize.inventory import TOTAL
    from pytest_bertsize.wording import exact

    form = chosen.form
    formula = form.formulas()[TOTAL]
    yield f"total = {formula}"
    yield from _without_effect(chosen, formula)
    if form.stored != form.total:
        yield f"what is tied is counted once; written out again it would be {exact(form.stored)}"
    if form.unrolled != form.stored:
        yield f"what layers share is counted once; with a copy for each pass it would be {exact(form.unrolled)}"
    yield from _spare_rows(chosen)
    size = BYTES_AS_FLOAT32 * form.total
    yield f"a count is not a size in bytes: as float32 it takes {exact(size)} of them, {size / MEBIBYTE:,.1f} MiB"
    yield _trained(training_states(form.inventory))


def _trained(states: TrainingStates) -> str:
    from pytest_bertsize.closed_forms.training import STEP
    from pytest_bertsize.wording import exact, plural

    return (
        f"to train it takes {exact(states.total)} bytes, {states.total / MEBIBYTE:,.1f} MiB, by AdamW in float32: "
        f"parameters {exact(states.parameters)}, gradients {exact(states.gradients)}, "
        f"two moments {exact(states.moments)}, and {STEP} for each of {plural(states.tensors, 'tensor')}; "
        "activations come on top"
    )


def _spare_rows(chosen: Explained) -> Iterator[str]:
    """Rows that the tokenizer beside the config does not reach, or lacks."""
    from pytest_bertsize.checkpoint.tokenizer import check_rows

    file = Path(chosen.config.file)
    try:
        if chosen.declared:
            settings, model = chosen.declared
            beside = (chosen.config.file, model.checkpoint)
            found = check_rows(settings.root, model.tokenizer, beside, chosen.form.inventory)
        else:
            found = check_rows(file.parent, None, (file.name,), chosen.form.inventory)
    except Unusable:  # a file beside it that is none: no word of the config
        return
    yield from (each.message for each in found)


def _without_effect(chosen: Explained, formula: Formula) -> Iterator[str]:
    """Sizes that are in no formula, above all the number of heads."""
    used = formula.symbols
    for size in chosen.derivation.family.keys.sizes:
        value = chosen.form.dims.sizes[size.symbol]
        if value is not None and size.symbol not in used:
            because = ": heads divide D, they do not multiply it" if "head" in size.key else ""
            because = because or (_of_layers(chosen) if size.symbol == "L" else "")
            yield f"{size.symbol} = {value:,} ({size.key}) is in no formula{because}"


def _of_layers(chosen: Explained) -> str:
    """Why no formula has the number of layers: they are one, or the table takes some of them out by their numbers."""
    shared = any(term.passes != term.times for term in chosen.form.symbolic)
    return ": layers share their weights" if shared else ": the table names single layers, which stand there in numbers"
