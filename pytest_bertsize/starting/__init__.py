"""``python -m pytest_bertsize init``: find the configs of a project, propose a table for each, print or write them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

from pytest_bertsize import pyproject_file
from pytest_bertsize.closed_forms.registry import Registry
from pytest_bertsize.console import say
from pytest_bertsize.findings import printable
from pytest_bertsize.settings import SettingsError, parse
from pytest_bertsize.starting.into_project import Project, is_toml, project, project_above, root_above
from pytest_bertsize.starting.proposal import Proposal, propose
from pytest_bertsize.starting.toml_text import in_ascii
from pytest_bertsize.table import EXAMPLE

if TYPE_CHECKING:
    from pathlib import Path

GOOD, NOTHING, MISTAKEN = 0, 1, 2
"""Exit status: proposed, or all declared already; nothing to propose; a mistake in the table or on the command line."""
NEXT = "pytest --bert-budget"


@dataclass(frozen=True, slots=True)
class Order:
    """What the command line asks for."""

    root: Path
    """The folder of the pyproject.toml, be there one or not."""
    writes: bool = False
    """Whether the tables are written, or only printed."""


def start(order: Order, out: TextIO, err: TextIO) -> int:
    """Propose a table for every config that the project does not declare yet.

    :returns: the exit status.
    """
    try:
        before = project(order.root)
        found = propose(before, Registry())
        for line in (*found.left_out, *(f"by hand: {each}" for each in found.by_hand)):
            say(line, err)
        if not found.tables:
            return _nothing(found, err)
        after = _with_tables(before, found)
        if order.writes:
            pyproject_file.replace(before.path, before.text, after)
    except SettingsError as error:
        say(f"ERROR: {error}", err)
        return MISTAKEN
    if order.writes:
        _say_written(before, found, out)
    else:
        _print(before, found, after, out, err)
    _say_of_others(before, err)
    return GOOD


def _say_of_others(project: Project, err: TextIO) -> None:
    """Folders above may be the project that is meant, or the one that pytest takes for it."""
    folder = project.path.parent
    if not (project.is_root or project.becomes_root) and (above := root_above(folder)):
        say(f'pytest takes {above} for its root: give {project.path} a [tool.pytest] with minversion = "9.0"', err)
    elif project.text is None and (other := project_above(folder)):
        say(f"{other} is above this folder: if it is the one of this project, name its folder by --project", err)


def _print(before: Project, found: Proposal, after: str, out: TextIO, err: TextIO) -> None:
    text = after if before.is_new else "\n".join(found.tables.values())
    try:
        text.encode(out.encoding or "utf-8")
    except UnicodeEncodeError:
        text = in_ascii(text)
    say(text.rstrip("\n"), out)
    say(f"nothing is written: add --write, or paste this into pyproject.toml; then run {NEXT}", err)


def _say_written(before: Project, found: Proposal, out: TextIO) -> None:
    count = len(found.tables)
    names = ", ".join(found.tables)
    made = ", a new file" if before.text is None else ""
    say(f"{before.path.name}{made}: {count} model{'s' * (count > 1)} declared ({printable(names, 1_000)})", out)
    if before.becomes_root:
        say("its [tool.pytest] makes this folder pytest's root, so that this table is the one that is read", out)
    say(f"next: {NEXT}", out)


def _nothing(found: Proposal, err: TextIO) -> int:
    if found.declared:
        say("nothing to add: pyproject.toml declares every config that was found and can be declared", err)
        return GOOD
    looked = "no config.json, bert_config.json, JSON or YAML file of a known family was found"
    if found.by_hand:
        looked = "no config was found that can be declared as it stands"
    say(
        f"ERROR: {looked} (what git ignores, and hidden, installed and built folders, are not looked into); {EXAMPLE}",
        err,
    )
    return NOTHING


def _with_tables(before: Project, found: Proposal) -> str:
    """The text of the whole file.

    :raises SettingsError: when a table cannot stand at its end, with what to paste.
    """
    after = before.with_tables(found.tables.values())
    if not is_toml(after):
        message = f"{before.path.name}: no table can be added behind the one that [tool.bertsize] has in braces"
        raise SettingsError(f"{message}; write it as [tool.bertsize.models.NAME], then add\n\n{_joined(found)}")
    parse(after, before.path)
    return after


def _joined(found: Proposal) -> str:
    return "\n".join(found.tables.values())
