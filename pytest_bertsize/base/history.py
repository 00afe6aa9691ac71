"""Follow each model of a project commit by commit: its count, the change, and the key that caused it.

Each commit is compared with its first parent: a merge is one step with all that it brought, so that the steps add up
to the growth of the model.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from pytest_bertsize.base import NoRevision
from pytest_bertsize.base.commit_files import CommitFiles, Unreadable
from pytest_bertsize.base.git import ask_git, find_renames, list_lines, resolve_commit
from pytest_bertsize.base.project_at_commit import ProjectReader, Side, describe_move, match_models
from pytest_bertsize.closed_forms.attribution import attribute
from pytest_bertsize.differences import compare_inventories
from pytest_bertsize.inventory import Inventory
from pytest_bertsize.wording import printable, shown

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_bertsize.base.project_at_commit import ModelAtCommit, ProjectAtCommit
    from pytest_bertsize.closed_forms.attribution import Moved
    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.table.settings import Settings

DOTS = ".."
MOST_TENSORS = 6  # the most changes of tensors that a row names if it compares two locks
SHORT = 10  # the number of characters of an abbreviated commit
_FIELDS = ("--encoding=UTF-8", "--format=%H%x00%P%x00%cI%x00%s")


class Commit(NamedTuple):
    """A commit, as git describes it."""

    name: str
    parents: tuple[str, ...]
    date: str  # the commit's date in ISO 8601
    subject: str  # the first line of the commit's message, as its author wrote it
    tags: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The commit's tags, if the history goes by tags and the commit has some; else the beginning of its name."""
        return ", ".join(self.tags) or self.name[:SHORT]


class Row(NamedTuple):
    """A model in one commit, and the change that the commit made."""

    commit: Commit
    total: int | None = None  # the number of parameters; None if the model is not declared or not counted
    by: str = ""  # the source of the count, "closed form" or "lock"; "" without a count
    change: int | None = None  # parameters added since the last count; None without a count to compare with
    since: str = ""  # the last commit with a count of the model, if there are commits without one in between
    said: tuple[str, ...] = ()  # sentences on the model: it is new, renamed or not counted, or its lock changed
    moved: tuple[Moved, ...] = ()  # the keys that caused the change, the one with the largest change first
    method: str = ""  # the reason why several keys share one row, if they do


class ModelHistory(Struct):
    """A model through all commits."""

    name: str  # the model's last name
    names: dict[str, None] = {}  # all names that the model had
    rows: list[Row] = []
    then: ModelAtCommit | None = None  # the model in the last commit; None if that does not declare it, or not readably
    why: str = ""  # the reason why the model is not counted in the last commit
    counted: tuple[Commit, ModelAtCommit] | None = None  # the last commit with a count, and the model there
    is_left: bool = False  # True if the last commit does not declare the model

    @property
    def known_as(self) -> set[str]:
        """The model's name, and the name of its table, which may declare many models."""
        then = self.then or (self.counted[1] if self.counted else None)
        return {self.name, *(then.model.table_key[-1:] if then else ())}


class History(NamedTuple):
    """The models of a project in a range of commits, each the first parent of the next, by their full names."""

    asked: str  # the range as the user wrote it: v1..HEAD; "" for all commits
    start: str | None  # the commit before the range; None if the first commit has no parent
    first: str  # the first commit; the end if the range is empty
    end: str  # the last commit
    models: Sequence[ModelHistory]  # in the order of their declarations
    commits_read: int  # the number of commits that were read, including the one before the range
    is_cut: bool  # True if the clone is shallow, and lacks the commits before the range


def read_history(today: Settings, registry: Registry, asked: str, *, by_tag: bool) -> History:
    """Read the history of a project, from tag to tag if ``by_tag``; raise NoRevision if git does not have the commits.

    :param asked: a range of commits, ``v1..HEAD``; ``""`` for all.
    """
    root = today.root
    low, dots, high = asked.partition(DOTS)
    if asked and (not dots or high.startswith(".") or not low):
        raise NoRevision(f"{shown(asked)} is not a range of commits; write one, as in v1..HEAD")
    end = resolve_commit(root, high or "HEAD")
    ends = (end, *([f"^{resolve_commit(root, low)}"] if low else []))
    steps = _list_commits(root, "--first-parent", *ends)
    start = next(iter(steps[0].parents), None) if steps else end
    first = steps[0].name if steps else end
    shallow = ask_git(root, "rev-parse", "--is-shallow-repository") if start is None else None
    is_cut = shallow is not None and shallow.stdout.strip() == b"true"
    if by_tag:
        tags = _find_tags(root)
        every = _list_commits(root, "--topo-order", *ends)
        steps = [each._replace(tags=tags.get(each.name, ())) for each in every if each.name in {*tags, end}]
    if start:
        steps = [*_list_commits(root, "--no-walk", start), *steps]
    beginning = {start, *([first] if is_cut else []), *(each.name for each in steps[:1] if by_tag)}
    try:
        with CommitFiles(root, end) as files:
            reader = ProjectReader(files, today, registry)
            follower = _Follower(root, files, has_all_rows=by_tag)
            for commit in steps:
                files.commit = commit.name
                try:
                    project: ProjectAtCommit | str = reader.read_project()
                except Unreadable as unread:
                    project = str(unread)
                follower.take_step(commit, project, is_start=commit.name in beginning)
    except (OSError, ValueError, Unreadable):
        raise NoRevision("this clone lacks commits, or is damaged; clone without --filter, or run git fsck") from None
    return History(asked, start, first, end, follower.models, len(steps), is_cut)


def _list_commits(folder: Path, *which: str) -> list[Commit]:
    """Return commits, the oldest first: git lists each in two lines, first ``commit`` and a name, then the fields."""
    fields = (line.split("\0") for line in list_lines(folder, "rev-list", "--reverse", *_FIELDS, *which)[1::2])
    return [Commit(name, tuple(parents.split()), date, subject) for name, parents, date, subject in fields]


def _find_tags(folder: Path) -> dict[str, tuple[str, ...]]:
    """Return the names of the tags of each commit; git lists an annotated tag twice, at last with its commit."""
    answer = ask_git(folder, "show-ref", "--tags", "--dereference")
    lines = os.fsdecode(answer.stdout).splitlines() if answer else []
    commits = {name.removeprefix("refs/tags/").removesuffix("^{}"): commit for commit, name in map(str.split, lines)}
    return {commit: tuple(name for name in commits if commits[name] == commit) for commit in {*commits.values()}}


# what became of each model


class _Follower:
    """Follows every model from commit to commit."""

    def __init__(self, root: Path, files: CommitFiles, *, has_all_rows: bool) -> None:
        """:param has_all_rows: whether a model has a row for every commit, changed or not."""
        self.models: list[ModelHistory] = []
        self._root, self._files, self._has_all_rows = root, files, has_all_rows
        self._last = ""

    def take_step(self, commit: Commit, project: ProjectAtCommit | str, *, is_start: bool) -> None:
        """Add the rows of one commit; ``project`` may be the reason why the commit cannot be read."""
        alive = [each for each in self.models if not each.is_left]
        if isinstance(project, str):
            for each in alive:
                self._add_uncounted(each, commit, (), project)
            return
        became = self._match_models(commit, project, {each.name: each.then for each in alive if each.then})
        self._last = commit.name
        new = "new" if commit.parents else "new, in the repository's first commit"
        new = "at the start of these commits" if is_start else new
        stay = set()
        for name, then in project.models.items():
            model = next((each for each in alive if each.name == became.get(name)), None)
            former = model and model.then
            said = tuple(describe_move(former.model, then.model, "the commit before")) if former else ()
            if model is None:
                model, said = self._begin_history(name, new)
            stay.add(id(model))
            model.name, model.is_left, model.names[name] = name, False, None
            if then.by:
                self._add_counted(model, commit, said, then)
            else:
                why = "; ".join(filter(None, (then.problem, then.why_not_locked if then.has_no_form else "")))
                self._add_uncounted(model, commit, said, why)
            model.then = then
        for name, why in project.declared.wrong.items():
            for each in [each for each in alive if name in each.known_as] or [self._begin_history(name, new)[0]]:
                stay.add(id(each))
                each.is_left = False
                self._add_uncounted(each, commit, (), f"its table cannot be read: {why}")
        for each in alive:
            if id(each) not in stay:
                reason = project.read_text("removed", each.name)
                each.then, each.why, each.is_left = None, "", True
                why = f": {printable(reason)}" if reason else ""
                each.rows.append(Row(commit, said=(f"removed from the table{why}",)))

    def _match_models(
        self, commit: Commit, project: ProjectAtCommit, before: dict[str, ModelAtCommit]
    ) -> dict[str, str]:
        """Return the name that each model had in the commit before."""
        if before.keys() == project.models.keys():
            return {name: name for name in before}

        def may_have(commit: str, path: str) -> bool:
            self._files.commit = commit
            return self._files.may_have(path)

        last = self._last or commit.name
        models = {name: each.model for name, each in before.items()}
        earlier = Side(models, partial(may_have, last), lambda model: before[model.name].config)
        later = project.to_side(partial(may_have, commit.name))
        return match_models(later, earlier, partial(find_renames, self._root, last, after=commit.name))

    def _begin_history(self, name: str, new: str) -> tuple[ModelHistory, tuple[str, ...]]:
        """Return the history of a model that matches none in the commit before, and notes for its row."""
        again = next((each for each in self.models if each.name == name and each.then is None), None)
        if again:
            return again, ("declared again",) if again.is_left else ()
        self.models.append(ModelHistory(name, {name: None}))
        return self.models[-1], (new,)

    def _add_uncounted(self, model: ModelHistory, commit: Commit, said: tuple[str, ...], why: str) -> None:
        if why != model.why or said or self._has_all_rows:
            model.rows.append(Row(commit, said=(*said, f"not counted: {why}")))
        model.then, model.why = None, why

    def _add_counted(self, model: ModelHistory, commit: Commit, said: tuple[str, ...], now: ModelAtCommit) -> None:
        before, was = model.counted, model.why
        model.counted, model.why = (commit, now), ""
        row = Row(commit, now.total, now.by, said=said)
        if before:
            since = before[0].name[:SHORT] if was or model.rows[-1].total is None else ""
            row = _compare_counts(before[1], now, row._replace(since=since))
        if not before or self._has_all_rows or was or row.said or row.moved or row.change:
            model.rows.append(row)


def _compare_counts(before: ModelAtCommit, now: ModelAtCommit, row: Row) -> Row:
    """Return ``row`` with the change of the model's count, and with the cause of this change."""
    row = row._replace(change=(now.total or 0) - (before.total or 0))
    if before.derivation and now.derivation:
        if dict(before.derivation.form.own) == dict(now.derivation.form.own):
            return row
        found = attribute(before.derivation, now.derivation)
        return row._replace(moved=tuple(each for each in found.moved if each.own), method=found.method)
    if before.by == now.by and before.locked and now.locked:
        changes = compare_inventories(Inventory(before.locked.tensors), Inventory(now.locked.tensors))
        rest = len(changes) - MOST_TENSORS
        also = (f"and {rest:,} more changes of tensors",) if rest > 0 else ()
        return row._replace(said=(*row.said, *(each.sentence for each in changes[:MOST_TENSORS]), *also))
    other = f"counted by its {now.by} from here on, by its {before.by} before: the change is not attributed to keys"
    return row._replace(said=(*row.said, other))
