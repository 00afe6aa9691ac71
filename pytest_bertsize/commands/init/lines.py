"""Say what nobody proposes a table for: a line for each, in groups, and once how a class is declared."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pytest_bertsize.commands.init.configs import describe_by_hand
from pytest_bertsize.commands.init.naming import heading
from pytest_bertsize.table.toml import quoted
from pytest_bertsize.wording import listed, printable

if TYPE_CHECKING:
    from pytest_bertsize.commands.init.classes import Call, Class
    from pytest_bertsize.commands.init.proposal import Proposal

MOST_LINES = 20
"""Lines of one group; classes and names of the hub are one."""
MOST_CLASSES = 15
FACTORIES = "bertsize_models"
"""A module for functions that make the project's classes."""
NARROWEST = 60
"""Columns."""
THEN = "pytest --bert-budget --bert-budget-update"
"""The command that writes what is counted into a budget."""


def describe(proposal: Proposal, *, code: bool) -> Iterator[str]:
    """Yield the lines for a terminal, wrapped, each group under its heading.

    :param code: whether they tell of the project's Python too.
    """
    classes, names = (proposal.code.classes(), proposal.code.hub_names()) if code else ([], {})
    called = [each for each in classes if each.call]
    of_classes = [*map(_describe_class, called)]
    if others := [f"{each.name} ({printable(each.origin.file)}:{each.line})" for each in classes if not each.call]:
        of_classes.append(f"no call is found that makes {listed(others, 5)}")
    shown = min(len(of_classes), MOST_CLASSES)
    yield from _group("model classes", of_classes, MOST_CLASSES)
    of_names = [f"{_place(call)} calls {call.name}{call.maker}({quoted(name)})" for name, call in names.items()]
    yield from _group("names of the hub", of_names, MOST_LINES - shown)
    yield from _group("configs to declare by hand", [*describe_by_hand(proposal.by_hand)])
    yield from _group("left out", proposal.left_out)
    if example := next((each for each in classes if each.module), None):
        yield from _show_factory(example)
    elif names:
        yield from _show_table(*next(iter(names.items())))


def _group(title: str, lines: Sequence[str], most: int = MOST_LINES) -> Iterator[str]:
    if lines:
        yield f"{title}:"
        rest = [f"and {len(lines) - most:,} more"] if len(lines) > most else []
        yield from (wrap(line, "  ", "    ") for line in (*lines[:most], *rest))


def wrap(text: str, first: str = "", others: str = "") -> str:
    """Break a sentence into lines that the terminal can show; a path stays whole.

    :param first: what the first line begins with; the others begin with ``others``.
    """
    width = max(shutil.get_terminal_size().columns, NARROWEST) - 1
    return textwrap.fill(
        text, width, initial_indent=first, subsequent_indent=others, break_long_words=False, break_on_hyphens=False
    )


def _place(call: Call) -> str:
    return f"{printable(call.file)}:{call.line}"


def _describe_class(each: Class) -> str:
    assert each.call is not None
    where = f"{printable(each.origin.file)}:{each.line}" if each.line else each.origin.name.partition(".")[0]
    named = "a class" if each.call.name == each.name else f"the class {each.name}"
    return f"{_place(each.call)} calls {each.call.name}{each.call.maker}, {named} of {where}"


def _show_factory(each: Class) -> Iterator[str]:
    """Show the function and the table that declare one class; its arguments are for whoever knows them."""
    name = re.sub(r"\W|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", each.name).lower()
    made = each.name + (each.call.maker if each.call else "")
    gives = f"  # write what {_place(each.call)} gives it" if each.call else "  # write its arguments"
    path = [f"    sys.path.insert(0, {quoted(each.folder)})"] if each.folder else []
    yield f"to declare one, here {each.name}: a function that makes it, in {FACTORIES}.py"
    yield ""
    yield from ["  import sys", ""] if path else []
    function = [
        f"def {name}():",
        *path,
        f"    from {each.module} import {each.name}",
        "",
        f"    return {made}(...){gives}",
    ]
    yield from (f"  {line}".rstrip() for line in function)
    yield from _show_table(name, None)


def _show_table(name: str, call: Call | None) -> Iterator[str]:
    """Show the four lines that declare a function of the project, or a name of the hub as the class that is made."""
    if call is None:
        yield from ("", "and a table that names it, in pyproject.toml", "")
        said = [f"factory = {quoted(f'{FACTORIES}:{name}')}", "closed_form = false"]
    else:
        yield from (f"to declare one, here {name}: a table in pyproject.toml", "")
        is_auto = call.name.startswith("Auto")
        architecture = f'"…"  # the class that {call.name} makes' if is_auto else quoted(call.name)
        said = [f"config = {quoted(name)}", f"architecture = {architecture}"]
    yield from (f"  {line}" for line in (heading(name.rpartition("/")[2]), *said, 'budget.total = "0M"'))
    yield from ("", f"then {THEN} writes what it counts to", "")
