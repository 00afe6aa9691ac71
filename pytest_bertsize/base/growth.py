"""How each model of a project grew, commit by commit: what it counts to, what that changed by, and which key did it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from posixpath import normpath
from typing import TYPE_CHECKING

from pytest_bertsize.base import commits
from pytest_bertsize.base.commits import SHORT
from pytest_bertsize.base.git import NoRevision, renamed
from pytest_bertsize.base.matching import Candidate, paired
from pytest_bertsize.base.snapshot import Snapshots
from pytest_bertsize.base.tensor_changes import tensor_changes
from pytest_bertsize.base.tree import MOST_AHEAD, Files, Unreadable
from pytest_bertsize.closed_forms.attribution import attribute
from pytest_bertsize.inventory import Inventory
from pytest_bertsize.wording import printable

if TYPE_CHECKING:
    from pytest_bertsize.base.commits import Commit, Range
    from pytest_bertsize.base.snapshot import Snapshot, State
    from pytest_bertsize.closed_forms.attribution import Moved
    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.table.settings import Settings

MOST_TENSORS = 6
"""Changes of tensors that a commit is told by, where a lock and no key says them."""


@dataclass(frozen=True, slots=True)
class Row:
    """What one commit made of a model."""

    commit: Commit
    total: int | None
    """Parameters; ``None``: not declared, or not counted."""
    by: str
    """What the count is of, ``closed form`` or ``lock``; ``""`` where there is none."""
    change: int | None
    """Since the row before, or since :attr:`since`; ``None`` where there is nothing to compare with."""
    since: str = ""
    """What it is compared with, where that is not the row before: the last commit in which it was counted."""
    said: tuple[str, ...] = ()
    """What no number says: a new model, another name, why it is not counted, what a lock says of tensors."""
    moved: tuple[Moved, ...] = ()
    """The keys, the one that moved most first."""
    method: str = ""
    """How keys that act together share what they moved."""


@dataclass
class Line:
    """One model through all commits."""

    name: str
    """The last that it had."""
    names: dict[str, None] = field(default_factory=dict)
    """All that it had."""
    rows: list[Row] = field(default_factory=list)
    state: State | None = None
    """As the last commit has it; ``None``: not declared there, or its table cannot be read."""
    why: str = ""
    """Why it is not counted there."""
    counted: tuple[Commit, State] | None = None
    """As it was last counted."""
    is_left: bool = False
    """Whether the last commit does not declare it."""


@dataclass(frozen=True, slots=True)
class Growth:
    """The models of a project in the commits of a range."""

    span: Range
    lines: Sequence[Line]
    """In the order in which they were declared."""
    looked_at: int
    """Commits that touch the table, or what it names; where tags are asked for, those that have one."""
    is_cut: bool
    """Whether there are commits before the first, which a shallow clone lacks."""


def grown(today: Settings, registry: Registry, asked: str, *, by_tag: bool) -> Growth:
    """Read the history of a project.

    :param asked: a range of commits, ``v1..HEAD``; ``""`` for all.
    :param by_tag: whether a step is one from tag to tag.
    :raises NoRevision: where there is no such range, or git does not answer.
    """
    span = commits.range_of(today.root, asked)
    try:
        with Files(today.root, span.end) as files:
            steps, snapshots = _read(files, today, registry, span, by_tag=by_tag)
            is_cut = span.start is None and files.is_the_clones_end(span.first)
            beginning = {span.start, *([span.first] if is_cut else []), *(each.name for each in steps[:1] if by_tag)}
            told = _Told(today, files)
            for commit in steps:
                told.take(commit, snapshots[commit.name], by_tag=by_tag, is_start=commit.name in beginning)
    except (OSError, ValueError, Unreadable):
        raise NoRevision("this clone lacks commits, or is damaged; clone without --filter, or run git fsck") from None
    return Growth(span, told.lines, len(steps), is_cut)


def _read(
    files: Files, today: Settings, registry: Registry, span: Range, *, by_tag: bool
) -> tuple[list[Commit], dict[str, Snapshot]]:
    """The commits to tell of, the oldest first, and what each declares.

    Which files a table names is known when it is read: commits that touch those are read then, until no file is new.
    """
    snapshots = Snapshots(files, today, registry)
    start = commits.named(today.root, [span.start] if span.start else [])
    found = {each.name: snapshots.at(each.name) for each in start}
    if by_tag:
        steps = [*start, *commits.tagged(today.root, span)]
        return steps, found | dict(_of_each(snapshots, files, [each.name for each in steps if each.name not in found]))
    files.places.add(b"/".join((*files.prefix, today.file.encode())))
    while True:
        places = {*files.places}
        steps = [*start, *commits.touching(today.root, span, places)]
        found |= dict(_of_each(snapshots, files, [each.name for each in steps if each.name not in found]))
        if files.places <= places:
            return steps, found


def _of_each(snapshots: Snapshots, files: Files, names: Sequence[str]) -> Iterator[tuple[str, Snapshot]]:
    for some in (names[at : at + MOST_AHEAD] for at in range(0, len(names), MOST_AHEAD)):
        files.read_ahead(some)
        yield from ((name, snapshots.at(name)) for name in some)


class _Told:
    """Follows every model from commit to commit."""

    def __init__(self, today: Settings, files: Files) -> None:
        self.lines: list[Line] = []
        self._today = today
        self._files = files
        self._before: Commit | None = None

    def take(self, commit: Commit, now: Snapshot, *, by_tag: bool, is_start: bool) -> None:
        """:param by_tag: whether a model has a row for every commit, changed or not."""
        if now.problem:
            for line in self._declared():
                _step(line, commit, None, (), now.problem, told=by_tag)
            return
        became = self._became(commit, now)
        alive = {line.name: line for line in self._declared()}
        taken: set[int] = set()
        for name, state in now.states.items():
            known = alive.get(became.get(name, ""))
            if known and known.state is state and known.name == name and not by_tag:
                taken.add(id(known))
                continue
            line, said = self._line(commit, state, known, is_start=is_start)
            _step(line, commit, state, said, state.why, told=by_tag)
            taken.add(id(line))
        for name, why in now.wrong.items():
            for line in [line for line in alive.values() if name in {line.name, *_table(line)}] or [self._new(name)]:
                taken.add(id(line))
                _step(line, commit, None, (), f"its table cannot be read: {why}", told=by_tag)
        for line in alive.values():
            if id(line) not in taken:
                _leave(line, commit, now.removed.get(line.name, ""))
        self._before = commit

    def _declared(self) -> list[Line]:
        return [line for line in self.lines if not line.is_left]

    def _new(self, name: str) -> Line:
        line = Line(name, {name: None})
        self.lines.append(line)
        return line

    def _became(self, commit: Commit, now: Snapshot) -> dict[str, str]:
        """What each model was called in the commit before."""
        before = {line.name: line.state for line in self._declared() if line.state}
        if before.keys() == now.states.keys():
            return {name: name for name in before}
        last = self._before.name if self._before else commit.name
        return paired(
            {name: self._candidate(state, commit.name) for name, state in now.states.items()},
            {name: self._candidate(state, last) for name, state in before.items()},
            partial(renamed, self._today.root, last, after=commit.name),
        )

    def _candidate(self, state: State, commit: str) -> Candidate:
        return Candidate(state.model, partial(self._has, commit), lambda: state.content)

    def _has(self, commit: str, path: str) -> bool:
        self._files.move_to(commit)
        try:
            return self._files.read(path) is not None
        except Unreadable:
            return True

    def _line(self, commit: Commit, state: State, line: Line | None, *, is_start: bool) -> tuple[Line, tuple[str, ...]]:
        """The line of a model, and what is to be said of its name and its file."""
        name = state.model.name
        said: tuple[str, ...] = ()
        if line is None:
            again = next((each for each in self.lines if each.name == name and each.state is None), None)
            line = again or self._new(name)
            if line.is_left:
                said = ("declared again",)
            elif again is None:
                new = "new" if commit.parents else "new, in the first commit of all"
                said = ("where these commits begin" if is_start else new,)
        else:
            said = (*_otherwise(line, state),)
        line.name, line.is_left = name, False
        line.names[name] = None
        return line, said


def _table(line: Line) -> tuple[str, ...]:
    state = line.state or (line.counted[1] if line.counted else None)
    return state.model.table_key[-1:] if state else ()


def _otherwise(line: Line, now: State) -> Iterator[str]:
    """Another name, and another file."""
    assert line.state
    before, after = line.state.model, now.model
    if before.name != after.name:
        yield f"renamed: it was called {before.name}"
    if normpath(before.config) != normpath(after.config):
        yield printable(f"its config is {after.config or 'none'}, and was {before.config or 'none'}")


def _leave(line: Line, commit: Commit, reason: str) -> None:
    """:param reason: that the table gives."""
    line.state, line.why, line.is_left = None, "", True
    said = f"removed from the table{f': {printable(reason)}' if reason else ''}"
    line.rows.append(Row(commit, None, "", None, said=(said,)))


def _step(line: Line, commit: Commit, state: State | None, said: tuple[str, ...], why: str, *, told: bool) -> None:
    """Add a row where a commit made a difference, or where every one has a row.

    :param state: ``None`` where its table cannot be read.
    """
    before, was = line.counted, line.why
    line.state, line.why = state, why
    if state is None or state.total is None:
        said = (*said, f"not counted: {why}") if why != was or said or told else ()
        if said:
            line.rows.append(Row(commit, None, "", None, said=said))
        return
    line.counted = commit, state
    if before is None:
        line.rows.append(Row(commit, state.total, state.by, None, said=said))
        return
    if state is before[1] and not (said or was or told):
        return
    row = _compared(
        commit, before, state, said, since=before[0].name[:SHORT] if was or line.rows[-1].total is None else ""
    )
    if told or was or row.said or row.moved or row.change:
        line.rows.append(row)


def _compared(commit: Commit, before: tuple[Commit, State], now: State, said: tuple[str, ...], since: str) -> Row:
    then = before[1]
    assert now.total is not None
    assert then.total is not None
    change = now.total - then.total
    if now.side and then.side:
        if dict(now.own) == dict(then.own):
            return Row(commit, now.total, now.by, change, since, said)
        found = attribute(then.side, now.side)
        moved = tuple(each for each in found.moved if each.own)
        return Row(commit, now.total, now.by, change, since, said, moved, found.method)
    if now.locked and then.locked:
        of_tensors = tensor_changes(Inventory(then.locked.tensors), Inventory(now.locked.tensors))
        rest = len(of_tensors) - MOST_TENSORS
        also = (f"and {rest:,} more changes of tensors",) if rest > 0 else ()
        told = (*(each.said for each in of_tensors[:MOST_TENSORS]), *also)
        return Row(commit, now.total, now.by, change, since, (*said, *told))
    other = f"counted by its {now.by} from here on, and by its {then.by} before: no key is known to have moved it"
    return Row(commit, now.total, now.by, change, since, (*said, other))
