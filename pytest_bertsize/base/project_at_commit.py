"""Read and count the models that a commit declares. Git hands out table, configs and lock; nothing is executed.

The base of a run and the history of a project share this reader. A file is present, absent or unreadable.
The end of this module matches the models of a commit with those of a later one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import PurePosixPath
from posixpath import join, normpath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from pytest_bertsize.base.commit_files import CommitFiles, Unreadable
from pytest_bertsize.base.declared import Declared, derive_declared, read_declared
from pytest_bertsize.base.lock import Lock, Locked, find_sizes, read_lock_at
from pytest_bertsize.builder.published import Found
from pytest_bertsize.config import source
from pytest_bertsize.findings import Unusable
from pytest_bertsize.table import settings
from pytest_bertsize.table.globs import find_matches, find_matches_in
from pytest_bertsize.table.model import NAMES, Model
from pytest_bertsize.table.reading import Mistake
from pytest_bertsize.table.settings import NothingDeclared, Settings, SettingsError, value_at
from pytest_bertsize.wording import listed, printable

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.config.model_config import ModelConfig

MOST_NAMED = 6  # the most files that a sentence names; it gives the number of the others
ANOTHER_COMMIT = "compare with a commit in which it can be read, as in --base=main~1"


class Missing(Exception):
    """The error for a file that a model needs and the commit does not have."""


class ModelAtCommit(Declared, frozen=True):
    """A model as a commit declares it, counted by today's closed form."""

    problem: str = ""  # the reason why no closed form counts it
    unread: Unreadable | None = None  # the error if git does not hand out the model's files, which the commit may have
    has_no_form: bool = False  # True if no closed form applies, so that the lock may count; not for a bad config
    locked: Locked | None = None  # the model's block in the commit's lock, unless it contradicts the table
    why_not_locked: str = ""

    @property
    def by(self) -> str:
        """The source of the count: ``closed form``, else ``lock`` if no form applies; ``""`` without a count."""
        return "closed form" if self.form else "lock" if self.has_no_form and self.locked else ""

    @property
    def total(self) -> int | None:
        locked = sum(each.owned for each in self.locked.tensors) if self.by == "lock" and self.locked else None
        return self.form.total if self.form else locked


class ProjectAtCommit(NamedTuple):
    """A commit's models, its table and its lock."""

    models: Mapping[str, ModelAtCommit]
    declared: Settings  # without the models of ``wrong``
    lock: Lock | str  # the commit's lock, or the reason why there is none

    def read_text(self, *path: str) -> str:
        """Return the text at a path of keys in the table; ``""`` if there is none."""
        found = value_at(self.declared.table, *path)
        return found if isinstance(found, str) else ""

    def to_side(self, is_file: Callable[[str], bool]) -> Side:
        """Return the models for :func:`match_models`."""
        models = {name: each.model for name, each in self.models.items()}
        return Side(models, is_file, lambda model: self.models[model.name].config)


class ProjectReader:
    """Reads one commit after another; a model whose files are those of the commit before is counted once."""

    def __init__(self, files: CommitFiles, today: Settings, registry: Registry, base: str = "") -> None:
        """Read nothing yet.

        :param base: the name of the commit in messages, if the commit is the base. Then budgets are read, and a
            contributed closed form counts only if the commit has the same file.
        """
        self._files, self._today, self._registry, self._base = files, today, registry, base
        self._new_forms: list[str] = []
        self._known: dict[str, tuple[Mapping[str, bytes], Locked | None, Any]] = {}

    def read_project(self) -> ProjectAtCommit:
        """Read the project in the commit that ``files`` reads now; raise Unreadable for its table."""
        declared, keys = self._make_once("table", self._read_declared)
        named, hub = declared.lock, declared.hub
        if self._base:
            self._new_forms = self._list_new_forms(declared.closed_forms)
        lock = self._make_once(f"lock {named!r}", partial(read_lock_at, self._files, named))
        models = {}
        for name, model in declared.models.items():
            locked = find_sizes(lock, model)
            count = partial(self._count_model, model, AtCommit(self._files, "", hub), locked)
            try:
                found = self._make_once(f"{keys[name]} {hub!r}", count, locked)
            except Unreadable as unread:
                found = ModelAtCommit(model, problem=str(unread), unread=unread)
            models[name] = _add_lock(replace(found, model=model), lock)
        return ProjectAtCommit(models, declared, lock)

    def _make_once(self, what: str, make: Callable[[], Any], locked: Locked | None = None) -> Any:
        """Return the last result for ``what`` if the files and the block that it was made from are unchanged."""
        looked, before, found = self._known.get(what, (None, None, None))
        if looked is None or before != locked or not self._files.has_same(looked):
            self._files.looked = {}
            found = make()
            self._known[what] = self._files.looked, locked, found
        return found

    def _read_declared(self) -> tuple[Settings, dict[str, str]]:
        """Return the table, and a text for each model that changes with its declaration."""
        declared = read_table(self._files, self._today, self._base, is_base=bool(self._base))
        return declared, {name: repr(model.replace(reason="")) for name, model in declared.models.items()}

    def _list_new_forms(self, names: Iterable[str]) -> list[str]:
        """List today's files of closed forms whose content is in none of the files that the commit's table names."""
        try:
            contents = map(self._files.read, names if self._today.closed_forms else ())
            before = {(content or b"").replace(b"\r\n", b"\n") for content in contents}
        except Unreadable:
            before = set()
        now = {each: (self._today.root / each).read_bytes() for each in self._today.closed_forms}  # git may write CRLF
        return sorted(each for each, content in now.items() if content.replace(b"\r\n", b"\n") not in before)

    def _count_model(self, model: Model, reader: AtCommit, locked: Locked | None) -> ModelAtCommit:
        """Read one model (by its block in the lock, if no config is named), and count it if a closed form can."""
        found = ModelAtCommit(model)
        registry = self._registry.without(self._new_forms) if self._new_forms else self._registry
        try:
            config = read_declared(model, self._today, locked, reader)
            found = replace(found, config=config)
            if not model.closed_form:
                return replace(found, problem="closed_form = false", has_no_form=True)
            return replace(found, derivation=derive_declared(model, config, registry, locked, reader))
        except Missing as missing:
            return replace(found, problem=str(missing), has_no_form=model.is_made_by_code)
        except Unusable as unusable:
            error = next((each for each in unusable.findings if each.severity == "error"), unusable.findings[0])
            has_no_form = error.kind == "unknown-closed-form"
            problem = f"{error.place}: {error.message}" if error.place else error.message
            if has_no_form and self._new_forms:
                names = listed([*map(printable, self._new_forms)], MOST_NAMED)
                form = f"a closed form that is new or changed ({names})"
                problem = f"{form} counts nothing at the base; only a lock that is committed there can count it"
            return replace(found, problem=problem, has_no_form=has_no_form)
        except Unreadable:
            raise
        except Exception as error:  # noqa: BLE001  (a config of the past must not end a run, nor a history)
            return replace(found, problem=printable(f"counting it failed: {type(error).__name__}: {error}"))


def _add_lock(found: ModelAtCommit, lock: Lock | str) -> ModelAtCommit:
    """Return a model with its block in the lock, unless the block contradicts its table."""
    if isinstance(lock, str):
        return replace(found, why_not_locked=lock)
    locked = lock.models.get(found.model.name)
    if locked is None:
        return replace(found, why_not_locked="its lock does not have this model")
    is_untrue = found.model.has_config_of_build and found.derivation is None  # and the problem says why
    return found if is_untrue else replace(found, locked=locked)


class AtCommit:
    """The files of a project at a commit, for readers of configs."""

    def __init__(self, files: CommitFiles, revision: str, hub: Mapping[str, str] = MappingProxyType({})) -> None:
        """:param revision: the commit's name in messages; ``""`` if they need none."""
        self.at = f" at {revision}" if revision else ""
        self.file = files.read
        self._hub = hub

    def config(self, location: str) -> Found:
        """Return the only config at a location: a file, one in a folder, or a published config by its name."""
        try:
            return self._find_config(location)
        except Missing:
            if found := source.find_published_config(location, self._hub, self._find_config):
                return found
            raise

    def _find_config(self, location: str) -> Found:
        path = PurePosixPath(location)
        found = {str(path): self.file(str(path))}
        if found[str(path)] is None:
            found = {str(path / name): self.file(str(path / name)) for name in NAMES}
        there = [Found(printable(name), content) for name, content in found.items() if content is not None]
        if len(there) != 1:
            what = f"holds both {' and '.join(NAMES)}" if there else "is not a file"
            raise Missing(f"{printable(location)} {what}{self.at}")
        return there[0]

    def adapter(self, location: str) -> bytes:
        content = self.file(location)
        if content is None:
            raise Missing(f"{printable(location)} is not a file{self.at}")
        return content

    def made_by_code(self, reference: str) -> ModelConfig:
        """:raises Missing: always: code of a commit is never run."""
        raise Missing(f"its config is made by code ({printable(reference)}), which is not run{self.at}")


def read_table(files: CommitFiles, today: Settings, revision: str, *, is_base: bool = True) -> Settings:
    """Read the table of a commit, whose name in messages is ``revision``; raise Unreadable if it cannot be read.

    :param is_base: if true, match a pattern with today's files if it matches none of the commit.
    """
    at = f" at {revision}" if revision else ""
    file = f"{today.file}{at}"
    content = files.read(today.file)
    if content is None and any(name == today.file for name, *_ in files.list_folder("")):
        raise Unreadable(f"{file} is a symlink that leads to no file of the repository", ANOTHER_COMMIT)

    def match_files(pattern: str) -> list[str]:
        try:
            found = find_matches_in(files.list_folder, pattern)
        except Unreadable as unread:
            raise Mistake(f"{unread}; {unread.fix}") from None
        return found or (find_matches(today.root, pattern) if is_base else [])  # files that git does not track

    try:
        text = settings.decoded(content or b"", file)
        return settings.parse_apart(text, today.path, match_files)
    except NothingDeclared:
        return Settings(today.path, "", {})
    except SettingsError as error:
        raise Unreadable(f"the table{at} cannot be read: {' '.join(str(error).split())}", ANOTHER_COMMIT) from None


# matching the models of two commits


class Side(NamedTuple):
    """The models of one of two states of the project, whose models are matched."""

    models: Mapping[str, Model]
    is_file: Callable[[str], bool]  # tells whether this state of the project has a file of a given name
    read_config: Callable[[Model], ModelConfig | None]

    def find_file(self, model: Model) -> tuple[str, str]:
        """Return the config file and the object in it, however the table spells them; else the model's identity."""
        if not model.file:
            return "", model.identity
        location, _, inner = model.config.partition("#")
        path = normpath(location)
        return next(filter(self.is_file, (path, *(join(path, name) for name in NAMES))), path), inner

    def find_content(self, model: Model) -> str | None:
        """Return a text that is equal for equal configs and factories; ``None`` without a config."""
        config = self.read_config(model)
        return None if config is None else _join_parts(model.factory, config.data)

    def describe(self, model: Model) -> str:
        """Return a text that differs if two models of one file are built differently."""
        how = (model.architecture, model.factory, model.overrides, model.options, model.adapter)
        return _join_parts(self.find_file(model), how)


def match_models(now: Side, before: Side, find_renames: Callable[[Iterable[str]], Mapping[str, str]]) -> dict[str, str]:
    """Return the earlier name of each model; of several earlier ones with a key, the first declared matches."""
    new, old = dict(now.models), dict(before.models)
    became: dict[str, str] = {}

    def match(key: Callable[[Side, Model], object], key_before: Callable[[Side, Model], object] | None = None) -> None:
        waiting: dict[object, list[str]] = {}
        for name, model in old.items() if new else ():
            waiting.setdefault((key_before or key)(before, model), []).append(name)
        for name, model in [*new.items()] if waiting else ():
            found = key(now, model)
            if found is not None and waiting.get(found):
                became[name] = waiting[found].pop(0)
                del new[name], old[became[name]]

    match(lambda _, model: model.name)  # the surest key first
    match(Side.describe)
    match(Side.find_file)
    match(Side.find_content)
    if new and old:
        sides = ((now, new), (before, old))
        paths = {side.find_file(model)[0] for side, models in sides for model in models.values()} - {""}
        renames = find_renames(sorted(paths)) if paths else {}
        match(lambda side, model: (renames.get(side.find_file(model)[0]), side.find_file(model)[1]), Side.find_file)
    match(lambda _, model: model.table_key)  # models of one table that declares several
    return became


def describe_move(before: Model, after: Model, revision: str) -> Iterator[str]:
    """Name what a model and its config were called at a revision, if they have other names now."""
    if before.name != after.name:
        yield f"renamed: the table at {revision} calls it {before.name}"
    if normpath(before.config) != normpath(after.config):
        yield printable(f"its config was {before.config or 'none'} at {revision}, and is {after.config or 'none'} now")


def _join_parts(*parts: object) -> str:
    return json.dumps(parts, sort_keys=True, default=str)
