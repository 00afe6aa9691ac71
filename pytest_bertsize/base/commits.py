"""The commits of a range, in the order in which one line of work has them: each beside the first of its parents.

A merge is then one step, of all that it brought, and what the steps add up to is what the model grew by.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_bertsize.base.git import LONGEST_PATH, NoRevision, around, resolve, walked
from pytest_bertsize.wording import shown

if TYPE_CHECKING:
    from pytest_bertsize.base.git import Repository

DOTS = ".."
MOST_PLACES = 100
"""Paths that git is given at once; of more, it is given the folders that they lie in."""
MOST_NAMES = 1_000
"""Tags, or commits, of which git is asked at once."""
SHORT = 10
"""Characters of a commit's name that tell it from others."""
_FIELDS = "%H%x00%P%x00%cI%x00%s"
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T")
"""What git makes of what a commit says; of what is no date, the letters of our own format."""


@dataclass(frozen=True, slots=True)
class Commit:
    """What git says of one commit."""

    name: str
    parents: tuple[str, ...]
    date: str
    """Of the commit, as ISO 8601 has it; ``""`` where the commit says none, or one behind the year 9999."""
    subject: str
    """Foreign text."""
    tags: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """By which it is told: its tags where tags are asked for, else the beginning of its name."""
        return ", ".join(self.tags) or self.name[:SHORT]


@dataclass(frozen=True, slots=True)
class Range:
    """A line of commits, each the first parent of the next."""

    asked: str
    """``v1..HEAD``; ``""``: all that there are."""
    end: str
    """The full name of the last commit."""
    without: str | None
    """The full name of a commit whose history is left out."""
    start: str | None
    """The full name of the commit before the first; ``None``: there is none."""
    first: str
    """The full name of the first; that of :attr:`end` where there are none between the two."""


def range_of(folder: Path, asked: str) -> Range:
    """The commits that a range means.

    :param asked: ``v1..HEAD``, ``v1..``; ``""`` for all up to the commit that is checked out.
    :raises NoRevision: where it is none.
    """
    low, dots, high = asked.partition(DOTS)
    if asked and (not dots or high.startswith(".") or not low):
        raise NoRevision(f"{shown(asked)} is no range of commits; write one, as in v1..HEAD")
    end = resolve(folder, high or "HEAD")
    without = resolve(folder, low) if low else None
    line = walked(around(folder), "rev-list", "--first-parent", "--parents", *_ends(end, without))
    if not line:
        return Range(asked, end, without, end, end)
    first, *parents = line[-1].split()
    return Range(asked, end, without, parents[0] if parents else None, first)


def touching(folder: Path, span: Range, places: Iterable[bytes]) -> list[Commit]:
    """The commits of a range that touch one of some paths, the oldest first.

    :param places: from the repository's root.
    """
    found = around(folder)
    paths = _few({*places})
    which = [] if "" in paths else ["--", *paths]
    said = walked(found, "rev-list", "--first-parent", *_described(), *_ends(span.end, span.without), *which)
    return _commits(said)[::-1]


def named(folder: Path, names: Sequence[str]) -> list[Commit]:
    """Some commits by their full names."""
    return _commits(_in_parts(around(folder), ("rev-list", "--no-walk=unsorted", *_described()), names))


def tagged(folder: Path, span: Range) -> list[Commit]:
    """The commits of a range that have tags, parents first, and the last commit of all."""
    found = around(folder)
    tags = _tags(found, span)
    order = walked(found, "rev-list", "--topo-order", "--reverse", *_ends(span.end, span.without))
    names = [name for name in order if name in tags or name == span.end]
    return [replace(each, tags=tuple(tags.get(each.name, ()))) for each in named(folder, names)]


def _tags(found: Repository, span: Range) -> dict[str, list[str]]:
    """The tags that a range reaches, by the commits that they name."""
    reached = [f"--merged={span.end}", *([f"--no-merged={span.without}"] if span.without else [])]
    names = walked(found, "for-each-ref", *reached, "--sort=version:refname", "--format=%(refname)", "refs/tags")
    commits = _in_parts(found, ("rev-parse",), [f"{name}^{{commit}}" for name in names])
    tags: dict[str, list[str]] = {}
    for name, commit in zip(names, commits, strict=True):
        tags.setdefault(commit, []).append(name.removeprefix("refs/tags/"))
    return tags


def _in_parts(found: Repository, command: Sequence[str], names: Sequence[str]) -> list[str]:
    """What git says of many names: no command line takes any number of them."""
    parts = (names[at : at + MOST_NAMES] for at in range(0, len(names), MOST_NAMES))
    return [line for part in parts for line in walked(found, *command, *part)]


def _ends(end: str, without: str | None) -> list[str]:
    return [end, *([f"^{without}"] if without else [])]


def _described() -> tuple[str, ...]:
    return ("--encoding=UTF-8", f"--format={_FIELDS}")


def _commits(lines: Sequence[str]) -> list[Commit]:
    """Each has two lines: ``commit`` with its name, and its fields."""
    fields = (line.split("\0") for line in lines[1::2])
    return [
        Commit(name, tuple(parents.split()), date if _DATE.match(date) else "", subject)
        for name, parents, date, subject in fields
    ]


def _few(places: Collection[bytes]) -> list[str]:
    """Paths that have all of these in them, few enough for git to look for each in each commit."""
    found = {path for path in places if len(path) <= LONGEST_PATH}
    while len(found) > MOST_PLACES:
        found = {path.rpartition(b"/")[0] for path in found}
    parents = {path for path in found if any(path.startswith(other + b"/") for other in found)}
    return sorted(path.decode("utf-8", "surrogateescape") for path in found - parents)
