"""``bertsize init``: propose a table for each config that is certain, and say the rest; print it or write it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from pytest_bertsize.builder.confined import collector_paused
from pytest_bertsize.closed_forms.contributed import registry_of
from pytest_bertsize.commands.console import GOOD, MISTAKEN, say
from pytest_bertsize.commands.init.lines import describe, wrap
from pytest_bertsize.commands.init.project import (
    Project,
    find_project_above,
    in_the_way,
    is_toml,
    read_project,
    root_above,
)
from pytest_bertsize.commands.init.proposal import Proposal, propose
from pytest_bertsize.config.which_release import asked_about
from pytest_bertsize.table import rewrite
from pytest_bertsize.table.model import EXAMPLE
from pytest_bertsize.table.settings import SettingsError, parse
from pytest_bertsize.table.toml import in_ascii
from pytest_bertsize.wording import plural, printable

NOTHING = 1
"""Exit status: nothing was found that can be declared without the user."""
NEXT = "pytest --bert-budget pyproject.toml"
NEXT_WITHOUT_PYTEST = "bertsize check"
"""The command for a table that pytest, started here, would not read."""


def start(root: Path, out: TextIO, err: TextIO, *, writes: bool = False, is_named: bool = True) -> int:
    """Propose a table for every config of which it is certain, and that the project does not declare yet.

    :param root: the folder of the pyproject.toml, be there one or not.
    :param writes: whether the tables are written, or only printed.
    :param is_named: whether the user has named the folder; one that is part of another project has to be named.
    :returns: the exit status.
    """
    try:
        if not is_named and (above := find_project_above(root)):
            say(wrap(f"ERROR: {_refuse_part_of(above)}"), err)
            return MISTAKEN
        before = read_project(root)
        with collector_paused():
            found = propose(before, registry_of(before.settings, asked_about(before.settings).release))
            if not found.tables:
                return _say_nothing(before, found, err)
            for line in describe(found, code=not before.declares):
                say(line, err)
            after = _with_tables(before, found)
            if writes:
                rewrite.replace_pyproject(before.path, before.text, after)
                _say_written(before, found, out)
            else:
                _print_tables(before, found, after, out)
    except SettingsError as error:
        say(f"ERROR: {error}", err)
        return MISTAKEN
    command = _next_command(before)
    if writes:
        say(f"next: {command}", out)
    else:
        say(wrap(f"nothing is written: add --write, or paste this into pyproject.toml; then run {command}"), err)
    for line in _warn_of_roots(before):
        say(wrap(line), err)
    return GOOD


def _refuse_part_of(above: Path) -> str:
    folder = os.path.relpath(above)
    what = f"this folder is part of the project in {folder}, and a table here would be one of its own"
    whole = f"bertsize init --project {shlex.quote(folder)}"
    return f"{what}: run {whole} for that project, or bertsize init --project . for this folder alone"


def _say_nothing(project: Project, found: Proposal, err: TextIO) -> int:
    if project.declares:
        what = f"nothing to add: pyproject.toml declares {plural(project.declares, 'model')}"
        left = f", and leaves {plural(len(found.by_hand), 'config')} that init is not certain of to you"
        say(wrap(f"{what}{left if found.by_hand else ''}"), err)
        return GOOD
    lines = [*describe(found, code=True)]
    for line in lines:
        say(line, err)
    why = "no table is proposed: no JSON or YAML file names a class of a family that is known"
    not_in = "tests, what git ignores, hidden, installed and built folders are not read"
    what = f"{why} ({not_in})" + ("" if lines else f"; {EXAMPLE}")
    say(wrap(what if lines else f"ERROR: {what}"), err)
    return NOTHING


def _next_command(project: Project) -> str:
    """The command that reads the table from where init was started."""
    if not project.is_here:
        return f"{NEXT_WITHOUT_PYTEST} --project {shlex.quote(os.path.relpath(project.root))}"
    return NEXT if project.is_root or project.becomes_root or not root_above(project.root) else NEXT_WITHOUT_PYTEST


def _name_folder(folder: Path) -> str:
    return "this folder" if (path := os.path.relpath(folder)) == os.curdir else path


def _warn_of_roots(project: Project) -> Iterator[str]:
    """A table makes its folder pytest's root, or is one that pytest does not look for."""
    above = root_above(project.root)
    if above is None or (project.is_root and not project.becomes_root):
        return
    here = _name_folder(project.root)
    no_longer = f"pytest's settings in {_name_folder(above)} then no longer apply to it"
    if project.becomes_root:
        yield f"the new [tool.pytest.ini_options] makes {here} a root: {no_longer}"
    else:
        yield (
            f"pytest takes {_name_folder(above)} for the root of {here}: for pytest to read this table, give "
            f'pyproject.toml a [tool.pytest.ini_options] with minversion = "8.2"; {no_longer}'
        )


def _print_tables(before: Project, found: Proposal, after: str, out: TextIO) -> None:
    """Print what can be appended to the file, which may have no newline at its end."""
    text = after if before.is_new else f"\n{_joined(found)}"
    try:
        text.encode(out.encoding or "utf-8")
    except UnicodeEncodeError:
        text = in_ascii(text)
    say(text.rstrip("\n"), out)


def _say_written(before: Project, found: Proposal, out: TextIO) -> None:
    names = ", ".join(table.name for table in found.tables)
    made = ", a new file" if before.text is None else ""
    declared = f"{plural(len(found.tables), 'model')} declared ({printable(names, 1_000)})"
    say(wrap(f"{before.path.name}{made}: {declared}"), out)
    if before.becomes_root:
        root = f"makes {_name_folder(before.root)} pytest's root, so that this table is the one that is read"
        say(wrap(f"its [tool.pytest.ini_options] {root}"), out)


def _with_tables(before: Project, found: Proposal) -> str:
    """The text of the whole file.

    :raises SettingsError: when a table cannot stand at its end, with what to paste.
    """
    after = before.with_tables(map(str, found.tables))
    if not is_toml(after):
        raise SettingsError(f"{before.path.name}: {in_the_way(before.text or '')}, then add\n\n{_joined(found)}")
    parse(after, before.path)
    return after


def _joined(found: Proposal) -> str:
    return "\n".join(map(str, found.tables))
