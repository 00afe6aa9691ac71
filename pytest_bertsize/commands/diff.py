"""``bertsize diff``: two configs component by component, and which changed key moved what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

from pytest_bertsize.commands.console import GOOD, heading, mistaken, origin, say, style_of, warnings
from pytest_bertsize.commands.named_model import Explained, Named, explained
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.inventory import TOTAL, parents_first
from pytest_bertsize.wording import exact, signed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType
    from rich.table import Table

    from pytest_bertsize.reports.terminal.drawing import Style


@dataclass(frozen=True, slots=True)
class Row:
    """One component of both models."""

    component: str
    before: int
    after: int

    @property
    def change(self) -> int:
        return self.after - self.before


def diff(first: Named, second: Named, out: TextIO, err: TextIO, *, form: str = "text") -> int:
    """Print what changes from the first model to the second.

    :param form: ``text``, ``md``, ``latex`` or ``json``.
    :returns: the exit status; that there is a difference is no mistake.
    """
    sides: list[Explained] = []
    mistakes: dict[Finding, None] = {}
    for named in (first, second):
        try:
            sides.append(explained(named))
        except Unusable as unusable:
            mistakes |= dict.fromkeys(unusable.findings)
    if mistakes:
        return mistaken(Unusable(*mistakes), err)
    before, after = sides
    if form != "text":
        from pytest_bertsize.commands.quoting import difference

        say(difference(before, after, rows(before, after), explanation(before, after), form), out)
        return GOOD
    say(_drawn(before, after, style_of(out, 0)), out)
    return GOOD


def rows(before: Explained, after: Explained) -> list[Row]:
    """Every component at every level that either has, and the total."""
    old, new = before.form.components, after.form.components
    found = [Row(name, old.get(name, 0), new.get(name, 0)) for name in parents_first({**old, **new})]
    return [*found, Row(TOTAL, before.form.total, after.form.total)]


def explanation(before: Explained, after: Explained) -> Iterator[str]:
    """A sentence for each changed key, then net and gross."""
    from pytest_bertsize.closed_forms.attribution import Side, attribute, came_and_went
    from pytest_bertsize.reports.model_report import change_of
    from pytest_bertsize.reports.sentences import change

    first, second = Side.of(before.derivation), Side.of(after.derivation)
    found = attribute(first, second)
    yield from (change(change_of(row)) for row in found.moved)
    if found.method:
        yield f"shared by {found.method}"
    came, went = came_and_went(second.own, first.own)
    gross = f": {exact(came)} came, {exact(went)} went" if came and went else ""
    net = after.form.total - before.form.total
    yield f"net {signed(net)}{gross}" if came or went else "no count changed"


def _drawn(before: Explained, after: Explained, style: Style) -> str:
    from rich.console import Group
    from rich.text import Text

    from pytest_bertsize.reports.terminal.drawing import draw, hanging

    parts: list[RenderableType] = [
        Text.assemble("A  ", heading(before)),
        *origin(before, style),
        Text.assemble("B  ", heading(after)),
        *origin(after, style),
        Text(""),
    ]
    parts += [_table(rows(before, after), style), Text("")]
    parts += [hanging("- ", "dim", line, style) for line in explanation(before, after)]
    findings = dict.fromkeys((*before.derivation.values.findings, *after.derivation.values.findings))
    return draw(Group(*parts, *warnings(findings, style)), style)


def _table(found: list[Row], style: Style) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from pytest_bertsize.reports.terminal.drawing import fit, usable

    names = [f"{'  ' * row.component.count('.')}{row.component.rpartition('.')[2]}" for row in found]
    cells = [(exact(row.before), exact(row.after), signed(row.change) if row.change else "=") for row in found]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    room = usable(style) - sum(widths) - 2 * len(widths)
    table = Table(box=SIMPLE_HEAD, show_edge=False, padding=(0, 0, 0, 1), pad_edge=False, header_style="bold")
    table.border_style = "dim"
    table.add_column("component", no_wrap=True)
    for header in ("A", "B", "change"):
        table.add_column(header, justify="right", no_wrap=True)
    for row, name, numbers in zip(found, names, cells, strict=True):
        if row.component == TOTAL:
            table.add_section()
        colour = "dim" if not row.change else "bold" if "." not in row.component else ""
        table.add_row(*(Text(text, style=colour) for text in (fit(name, room), *numbers)))
    return table
