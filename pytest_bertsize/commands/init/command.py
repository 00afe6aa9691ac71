"""``bertsize init``: propose a table for each config whose class is certain, and list the other configs."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from pytest_bertsize.builder.confined import collector_paused
from pytest_bertsize.closed_forms.contributed import registry_of
from pytest_bertsize.commands.console import GOOD, print_mistakes, say
from pytest_bertsize.commands.init.configs import describe_by_hand
from pytest_bertsize.commands.init.project import Project, find_root_above, read_project, write_heading
from pytest_bertsize.commands.init.proposal import Proposal, propose
from pytest_bertsize.config.which_release import asked_about
from pytest_bertsize.table import rewrite
from pytest_bertsize.table.model import TABLE_BY_HAND
from pytest_bertsize.table.settings import SettingsError
from pytest_bertsize.table.toml import in_ascii, quoted
from pytest_bertsize.wording import plural, printable

if TYPE_CHECKING:
    from pytest_bertsize.commands.init.classes import Call, Class

NOTHING = 1
"""The exit status if init cannot declare any model without the user."""
NEXT = "pytest --bert-budget pyproject.toml"
NEXT_WITHOUT_PYTEST = "bertsize check"
"""The command to run if pytest, started here, does not read the table."""
MOST_LINES = 20
"""The most lines to print for one group, such as ``model classes``."""
NARROWEST = 60
"""The fewest columns to which text is wrapped."""
_OF_TOML = re.compile(r'\w+ = (?:"[^"]*"|\{[^}]*\}|\[[^\]]*\])')


def start(root: Path, out: TextIO, err: TextIO, *, writes: bool = False, is_named: bool = True) -> int:
    """Propose a table for every config whose class is certain and that the project does not declare yet.

    :param root: the folder of the pyproject.toml, which may be missing.
    :param writes: whether to write the tables, not only print them.
    :param is_named: whether the user named the folder.
    :returns: the exit status.
    """
    try:
        before = read_project(root, is_named=is_named)
        with collector_paused():
            found = propose(before, registry_of(before.settings, asked_about(before.settings).release))
            if not found.tables:
                return _say_nothing(before, found, err)
            for line in describe_rest(found, code=not before.settings.models):
                say(line, err)
            after = before.add_tables(map(str, found.tables))
            if writes:
                rewrite.replace_pyproject(before.path, before.text, after)
                _say_written(before, found, out)
            else:
                appended = "\n" + "\n".join(map(str, found.tables))  # the file may lack a newline at its end
                print_toml(after if before.is_new else appended, out)
    except SettingsError as error:
        return print_mistakes([str(error)], err)
    command = choose_next(before)
    if writes:
        say(f"next: {command}", out)
    else:
        say(wrap_text(f"nothing is written: add --write, or paste this into pyproject.toml; then run {command}"), err)
    for line in warn_of_roots(before):
        say(wrap_text(line), err)
    return GOOD


def _say_nothing(project: Project, found: Proposal, err: TextIO) -> int:
    if declared := len(project.settings.models):
        what = f"nothing to add: pyproject.toml declares {plural(declared, 'model')}"
        left = f", and init is not certain of {plural(len(found.by_hand), 'config')}"
        say(wrap_text(f"{what}{left if found.by_hand else ''}"), err)
        return GOOD
    lines = [*describe_rest(found, code=True)]
    for line in lines:
        say(line, err)
    why = "no table is proposed: no JSON or YAML file names a class of a known family"
    not_in = "init does not read tests, files that git ignores, or folders that are hidden, installed or built"
    what = f"{why} ({not_in})" + ("" if lines else f"; write, for example, {TABLE_BY_HAND}")
    say(wrap_text(what if lines else f"ERROR: {what}"), err)
    return NOTHING


def choose_next(project: Project) -> str:
    """Return the command to run next, which reads the table if the user starts it where init was started."""
    if not project.is_here:
        return f"{NEXT_WITHOUT_PYTEST} --project {shlex.quote(os.path.relpath(project.root))}"
    return NEXT if project.is_root or project.becomes_root or not find_root_above(project.root) else NEXT_WITHOUT_PYTEST


def _name_folder(folder: Path) -> str:
    return "this folder" if (path := os.path.relpath(folder)) == os.curdir else path


def warn_of_roots(project: Project) -> Iterator[str]:
    """Yield a warning if the table makes its folder pytest's root, or if pytest does not read the table."""
    above = find_root_above(project.root)
    if above is None or (project.is_root and not project.becomes_root):
        return
    here = _name_folder(project.root)
    no_longer = f"pytest's settings in {_name_folder(above)} then no longer apply to {here}"
    if project.becomes_root:
        yield f"the new [tool.pytest.ini_options] makes {here} pytest's root: {no_longer}"
    else:
        yield (
            f"pytest uses {_name_folder(above)} as the root of {here}: for pytest to read this table, give "
            f'pyproject.toml a [tool.pytest.ini_options] with minversion = "8.2"; {no_longer}'
        )


def print_toml(text: str, out: TextIO) -> None:
    """Print tables to paste, with TOML's escapes for letters that the output cannot encode."""
    try:
        text.encode(out.encoding or "utf-8")
    except UnicodeEncodeError:
        text = in_ascii(text)
    say(text.rstrip("\n"), out)


def _say_written(before: Project, found: Proposal, out: TextIO) -> None:
    names = ", ".join(table.name for table in found.tables)
    made = ", a new file" if before.text is None else ""
    declared = f"{plural(len(found.tables), 'model')} declared ({printable(names, 1_000)})"
    say(wrap_text(f"{before.path.name}{made}: {declared}"), out)
    if before.becomes_root:
        root = f"makes {_name_folder(before.root)} pytest's root, so that pytest reads this table"
        say(wrap_text(f"its [tool.pytest.ini_options] {root}"), out)


# configs and classes without a proposed table: a line for each, in groups, and once the way to declare a class


def describe_rest(proposal: Proposal, *, code: bool) -> Iterator[str]:
    """Yield wrapped lines for a terminal: configs and code without a proposed table, in groups with headings.

    :param code: whether to list the project's classes too.
    """
    classes = proposal.code.list_classes() if code else []
    calls = proposal.code.list_calls() if code else []
    groups = {
        "model classes": [*map(_describe_class, classes)],
        "models of the library": [
            f"{each.place} makes {each.name}{f' of {quoted(each.hub_name)}' if each.hub_name else ''}" for each in calls
        ],
        "configs to declare by hand": describe_by_hand(proposal.by_hand),
        "left out": proposal.left_out,
    }
    for title, lines in groups.items():
        if lines:
            yield f"{title}:"
            rest = [f"and {len(lines) - MOST_LINES:,} more"] if len(lines) > MOST_LINES else []
            yield from (wrap_text(line, "  ", "    ") for line in (*lines[:MOST_LINES], *rest))
    if classes:
        yield wrap_text(BY_COMMAND)
    elif of_hub := next((each for each in calls if each.hub_name), None):
        yield _write_hub_table(of_hub)


def wrap_text(text: str, first: str = "", others: str = "") -> str:
    """Wrap a sentence for the terminal, without breaking a path or a line of TOML.

    :param first: the prefix of the first line; the other lines have ``others``.
    """
    width = max(shutil.get_terminal_size().columns, NARROWEST) - 1
    whole = _OF_TOML.sub(lambda found: found[0].replace(" ", "\0"), text)
    lines = textwrap.fill(
        whole, width, initial_indent=first, subsequent_indent=others, break_long_words=False, break_on_hyphens=False
    )
    return lines.replace("\0", " ")


def _describe_class(each: Class) -> str:
    where = f"{printable(each.file)}:{each.line} defines {each.name}"
    path = f' (with pythonpath = ["{each.folder}"] in pytest\'s options)' if each.folder not in {"", "src"} else ""
    return f"{where}: bertsize init {each.module}:{each.maker}{path}" if each.module else where


BY_COMMAND = (
    "bertsize init MODULE:CLASS builds a class, with the arguments of --kwargs, and proposes its table; if a script "
    "makes the model, call check_model(model, \"NAME\") in the script, and run bertsize init 'python train.py'"
)


HUB_TABLE = """\
to declare one of them, such as {name}, write a table in pyproject.toml

  {heading}
  config = {config}
  architecture = {architecture}
  budget.total = "0M"

then bertsize accept --reason "…" writes its limit
"""


def _write_hub_table(call: Call) -> str:
    """Write the table that declares a name of the hub, with the class that the call makes."""
    auto = f'"…"  # the class that {call.name} makes' if call.name.startswith("Auto") else ""
    heading, name = write_heading(call.hub_name.rpartition("/")[2]), call.hub_name
    return HUB_TABLE.format(name=name, heading=heading, config=quoted(name), architecture=auto or quoted(call.name))
