"""``bertsize init``: find the configs of a project, propose a table for each, print or write them."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, TextIO

from pytest_bertsize.closed_forms.contributed.asked import registry_of
from pytest_bertsize.commands.console import GOOD, MISTAKEN, say
from pytest_bertsize.commands.init.project import Project, in_the_way, is_toml, project_above, read_project, root_above
from pytest_bertsize.commands.init.proposal import Proposal, propose
from pytest_bertsize.config.which_release import asked_about
from pytest_bertsize.table.rewrite import replace_pyproject
from pytest_bertsize.table.schema import EXAMPLE
from pytest_bertsize.table.settings import SettingsError, parse
from pytest_bertsize.table.toml import in_ascii
from pytest_bertsize.wording import printable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NOTHING = 1
"""Exit status: nothing was found that can be declared."""
NEXT = "pytest --bert-budget pyproject.toml"
NEXT_WITHOUT_PYTEST = "bertsize check"
"""Where pytest, started here, would read the table of another folder."""


def start(root: Path, out: TextIO, err: TextIO, *, writes: bool = False) -> int:
    """Propose a table for every config that the project does not declare yet.

    :param root: the folder of the pyproject.toml, be there one or not.
    :param writes: whether the tables are written, or only printed.
    :returns: the exit status.
    """
    try:
        before = read_project(root)
        found = propose(before, registry_of(before.settings, asked_about(before.settings).release))
        for line in (*found.left_out, *(f"by hand: {each}" for each in found.by_hand)):
            say(line, err)
        if not found.tables:
            return _nothing(found, err)
        after = _with_tables(before, found)
        if writes:
            replace_pyproject(before.path, before.text, after)
    except SettingsError as error:
        say(f"ERROR: {error}", err)
        return MISTAKEN
    command = _next(before)
    if writes:
        _say_written(before, found, out)
        say(f"next: {command}", out)
    else:
        _print(before, found, after, out)
        say(f"nothing is written: add --write, or paste this into pyproject.toml; then run {command}", err)
    for line in _of_others(before):
        say(line, err)
    return GOOD


def _next(project: Project) -> str:
    """The command that reads the table from where init was started."""
    if not project.is_here:
        return f"{NEXT_WITHOUT_PYTEST} --project {shlex.quote(_shown(project.root))}"
    return NEXT if project.is_root or project.becomes_root or not root_above(project.root) else NEXT_WITHOUT_PYTEST


def _shown(folder: Path) -> str:
    """As it is written on the next command line."""
    below = os.path.relpath(folder)
    return str(folder) if below.startswith(os.pardir) else below


def _of_others(project: Project) -> Iterator[str]:
    """Folders above may be the project that is meant, or the one that pytest takes for it."""
    above = root_above(project.root)
    no_longer = f"pytest's settings in {above} then no longer apply to it"
    if above and project.becomes_root:
        yield f"the [tool.pytest.ini_options] in {project.path} makes its folder a root: {no_longer}"
    elif above and not project.is_root:
        yield (
            f"pytest takes {above} for its root: for pytest to read this table, give {project.path} a "
            f'[tool.pytest.ini_options] with minversion = "8.2"; {no_longer}'
        )
    if project.is_here and project.text is None and (other := project_above(project.root)):
        yield f"{other} is above this folder: if it is the one of this project, name its folder by --project"


def _print(before: Project, found: Proposal, after: str, out: TextIO) -> None:
    """So that it can be appended: what stands in the file may have no newline at its end."""
    text = after if before.is_new else f"\n{_joined(found)}"
    try:
        text.encode(out.encoding or "utf-8")
    except UnicodeEncodeError:
        text = in_ascii(text)
    say(text.rstrip("\n"), out)


def _say_written(before: Project, found: Proposal, out: TextIO) -> None:
    count = len(found.tables)
    names = ", ".join(found.tables)
    made = ", a new file" if before.text is None else ""
    say(f"{before.path.name}{made}: {count} model{'s' * (count > 1)} declared ({printable(names, 1_000)})", out)
    if before.becomes_root:
        this = "this folder" if before.is_here else _shown(before.root)
        say(
            f"its [tool.pytest.ini_options] makes {this} pytest's root, so that this table is the one that is read", out
        )


def _nothing(found: Proposal, err: TextIO) -> int:
    if found.declared:
        say("nothing to add: pyproject.toml declares every config that was found and can be declared", err)
        return GOOD
    looked = "no config.json, bert_config.json, JSON or YAML file of a known family was found"
    if found.by_hand:
        looked = "no config was found that can be declared as it stands"
    not_in = "what git ignores, hidden, installed and built folders"
    say(f"ERROR: {looked} ({not_in} are not looked into); {EXAMPLE}", err)
    return NOTHING


def _with_tables(before: Project, found: Proposal) -> str:
    """The text of the whole file.

    :raises SettingsError: when a table cannot stand at its end, with what to paste.
    """
    after = before.with_tables(found.tables.values())
    if not is_toml(after):
        raise SettingsError(f"{before.path.name}: {in_the_way(before.text or '')}, then add\n\n{_joined(found)}")
    parse(after, before.path)
    return after


def _joined(found: Proposal) -> str:
    return "\n".join(found.tables.values())
