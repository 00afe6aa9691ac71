"""What a project declares in a commit and what it counts to there, for one commit after another.

Nothing is run, and nothing of the folder of today is read in place of what a commit does not have. What is the same in
two commits is read and counted once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Literal, TypeVar, cast

from pytest_bertsize.base import locked_models
from pytest_bertsize.base.baseline import AtCommit, Missing, hub_of, table_of
from pytest_bertsize.base.lock import Lock
from pytest_bertsize.base.matching import content_of
from pytest_bertsize.base.tree import Unreadable
from pytest_bertsize.closed_forms.attribution import Side
from pytest_bertsize.closed_forms.derive import choose, derive
from pytest_bertsize.config import source
from pytest_bertsize.config.adapter import adapter_of
from pytest_bertsize.findings import Unusable
from pytest_bertsize.table.globs import BadGlob, find_matches_in
from pytest_bertsize.wording import printable

if TYPE_CHECKING:
    from pytest_bertsize.base.lock import Locked
    from pytest_bertsize.base.tree import Entry, Files, Looked
    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.table.model import Model
    from pytest_bertsize.table.settings import Apart, Settings

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class State:
    """A model as a commit has it."""

    model: Model
    total: int | None = None
    """Parameters; ``None``: not counted, and :attr:`why` says why."""
    by: Literal["", "closed form", "lock"] = ""
    """What the count is of."""
    why: str = ""
    is_built: bool = False
    """Whether no closed form is meant to count it, so that its lock may: a config that nobody can read is no such."""
    side: Side | None = None
    """What a closed form counts."""
    own: Mapping[str, int] = field(default_factory=dict)
    """By component, without those below it; empty for a count of the lock's."""
    locked: Locked | None = None
    content: str | None = None
    """What tells its config from others."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All models of a commit."""

    states: Mapping[str, State] = field(default_factory=dict)
    wrong: Mapping[str, str] = field(default_factory=dict)
    """By the names of tables that cannot be read, why."""
    removed: Mapping[str, str] = field(default_factory=dict)
    """Why models have left the table, as it says."""
    problem: str = ""
    """Why nobody can tell what it declares."""


@dataclass(frozen=True, slots=True)
class _Declared:
    """A table, with what its models are known by: all that their counts follow from, but for the files."""

    apart: Apart
    keys: Mapping[str, str]
    hub: Mapping[str, str]


class Snapshots:
    """Reads one commit after another."""

    def __init__(self, files: Files, today: Settings, registry: Registry) -> None:
        """:param files: of any commit.
        :param today: where the project is.
        :param registry: today's closed forms: code of a commit is never run.
        """
        self._files = files
        self._today = today
        self._registry = registry
        self._known: dict[object, dict[tuple[Looked, ...], dict[tuple[Entry | None, ...], object]]] = {}

    def at(self, commit: str) -> Snapshot:
        """:param commit: its full name."""
        self._files.move_to(commit)
        try:
            declared = self._once("table", self._declared)
            states = {name: self._state(model, declared) for name, model in declared.apart.models.items()}
        except Unreadable as unread:
            return Snapshot(problem=str(unread))
        except (OSError, ValueError):
            return Snapshot(problem="its files cannot be read, because this clone lacks them or is damaged")
        removed = declared.apart.table.get("removed")
        said = {name: why for name, why in removed.items() if isinstance(why, str)} if isinstance(removed, dict) else {}
        return Snapshot(states, declared.apart.wrong, said)

    def _once(self, what: object, make: Callable[[], T]) -> T:
        """What was made of the same files before, if it was.

        What is made follows from ``what``, and from the files that making it looks at, one after another: where all of
        these are as they were, it would look at the same ones again.

        :raises ValueError, OSError: when git does not hand out where the folder is.
        """
        files = self._files
        made = self._known.setdefault((*files.prefix, what), {})
        for looked, values in made.items():
            now = self._standing(looked)
            if now is not None and now in values:
                return cast("T", values[now])  # what is made of one thing is always of one type
        files.looked = {}
        found = make()
        made.setdefault((*files.looked,), {})[(*files.looked.values(),)] = found
        return found

    def _standing(self, looked: tuple[Looked, ...]) -> tuple[Entry | None, ...] | None:
        """``None``: git does not hand out what tells it, and whoever reads it says so."""
        try:
            return tuple(map(self._files.stands_at, looked))
        except (OSError, ValueError):
            return None

    def _declared(self) -> _Declared:
        apart = table_of(self._files, self._today, "", self._matching, limits=False)
        hub = hub_of(apart.table)
        plain = {name: replace(model, reason="") for name, model in apart.models.items()}
        return _Declared(apart, {name: f"{model!r} {hub!r}" for name, model in plain.items()}, hub)

    def _matching(self, pattern: str) -> list[str]:
        try:
            return find_matches_in(self._files.listed, pattern)
        except Unreadable as unread:
            raise BadGlob(f"{unread}; {unread.fix}") from None

    def _state(self, model: Model, declared: _Declared) -> State:
        try:
            found = self._once(declared.keys[model.name], partial(self._counted, model, declared.hub))
            return self._by_lock(found, declared) if found.is_built else found
        except Unreadable as unread:
            return State(model, why=str(unread))

    def _counted(self, model: Model, hub: Mapping[str, str]) -> State:
        """By its closed form."""
        reader = AtCommit(self._files, "", hub, self._today.root)
        content, is_built = None, False
        try:
            config = source.read(model, self._today, reader)
            content = sha256((content_of(model, config) or "").encode()).hexdigest()
            if not model.closed_form:
                return State(model, why="closed_form = false", is_built=True, content=content)
            adapter = adapter_of(model, self._today, config, reader)
            found = derive(model, config, choose(model, config, self._registry, adapter))
            counted = replace(State(model, found.form.total, "closed form"), side=Side.of(found), own=found.form.own)
            return replace(counted, content=content)
        except Missing as missing:
            why, is_built = str(missing), model.is_made_by_code
        except Unusable as unusable:
            error = next((each for each in unusable.findings if each.severity == "error"), unusable.findings[0])
            why = f"{error.place}: {error.message}" if error.place else error.message
            is_built = error.kind == "unknown-closed-form"
        except Unreadable:
            raise
        except Exception as error:  # noqa: BLE001  (one config of the past is no end of its history)
            why = printable(f"counting it failed: {type(error).__name__}: {error}")
        return State(model, why=why, is_built=is_built, content=content)

    def _by_lock(self, state: State, declared: _Declared) -> State:
        """As the commit's lock has it, where it has it."""
        table = declared.apart.table
        lock = self._once(("lock", repr(table.get("lock"))), lambda: locked_models.at_commit(self._files, table, ""))
        if not isinstance(lock, Lock):
            return replace(state, why=f"{state.why}; {lock}")
        locked = lock.models.get(state.model.name)
        if locked is None:
            return replace(state, why=f"{state.why}; its lock does not have this model")
        return replace(state, total=sum(each.owned for each in locked.tensors), by="lock", why="", locked=locked)
