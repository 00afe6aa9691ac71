"""Read and count the models that a commit declares. Git hands out table, configs and lock; nothing is executed.

The base of a run and the history of a project share this reader. A file is present, absent or unreadable.
The end of this module matches the models of a commit with those of a later one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, partial
from pathlib import PurePosixPath
from posixpath import join, normpath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from pytest_bertsize.base.commit_files import CommitFiles, Unreadable
from pytest_bertsize.base.lock import Lock, Locked, find_sizes, read_lock_at, refuse_untrue
from pytest_bertsize.closed_forms.derive import Derivation, choose, derive
from pytest_bertsize.config import source
from pytest_bertsize.config.adapter import adapter_of
from pytest_bertsize.config.source import Found
from pytest_bertsize.findings import Unusable
from pytest_bertsize.table import settings
from pytest_bertsize.table.globs import find_matches, find_matches_in
from pytest_bertsize.table.model import NAMES, Model
from pytest_bertsize.table.reading import Mistake
from pytest_bertsize.table.settings import Apart, NothingDeclared, Settings, SettingsError
from pytest_bertsize.wording import listed, printable

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.family import ClosedForm
    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.config.model_config import ModelConfig

MOST_NAMED = 6
"""The most files that a sentence names; it gives the number of the others."""
GIT_RENAME = "git rename"
ANOTHER_COMMIT = "compare with a commit in which it can be read, as in --base=main~1"


class Missing(Exception):
    """The error for a file that a model needs and the commit does not have."""


class ModelAtCommit(Struct, frozen=True):
    """A model as a commit declares it."""

    model: Model
    config: ModelConfig | None = None
    derivation: Derivation | None = None
    """The derivation by today's closed form; ``None`` if no form can count the model, for the reason in ``problem``."""
    problem: str = ""
    unread: Unreadable | None = None
    """The error if git does not hand out the model's files, which the commit may have."""
    has_no_form: bool = False
    """True if no closed form applies, so that the lock may count the model; false for an unreadable config."""
    locked: Locked | None = None
    """The model's block in the commit's lock, unless it contradicts the table."""
    why_not_locked: str = ""

    @property
    def form(self) -> ClosedForm | None:
        return self.derivation.form if self.derivation else None

    @property
    def written_keys(self) -> dict[str, object]:
        """The keys and values of the config, with the table's overrides."""
        return {**(self.config.flat if self.config else {}), **self.model.overrides}

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
    declared: Apart
    lock: Lock | str
    """The commit's lock, or the reason why there is none."""

    def read_text(self, *path: str) -> str:
        """Return the text at a path of keys in the table; ``""`` if there is none."""
        found: object = self.declared.table
        for key in path:
            found = found.get(key) if isinstance(found, dict) else None
        return found if isinstance(found, str) else ""


class ProjectReader:
    """Reads one commit after another; equal files are read and counted once."""

    def __init__(self, files: CommitFiles, today: Settings, registry: Registry, base: str = "") -> None:
        """Read nothing yet.

        :param today: today's table, which shows where the project is.
        :param registry: today's closed forms, which count the models: code of a commit is never run.
        :param base: the name of the commit in messages, if the commit is the base. Then budgets are read, and a
            contributed closed form counts only if the commit has the same file.
        """
        self._files = files
        self._today = today
        self._registry = registry
        self._base = base
        self._changed_forms: set[str] = set()
        self._known: dict[object, list[tuple[dict[Any, Any], Any]]] = {}

    def read_project(self) -> ProjectAtCommit:
        """Read the project in the commit that ``files`` reads now.

        :raises Unreadable: if the commit's table cannot be read.
        """
        apart, keys, hub = self._make_once("table", self._read_declared)
        if self._base:
            self._changed_forms = self._find_changed_forms(apart.values.get("closed_forms", ()))
        reader = AtCommit(self._files, "", hub)
        named = apart.values.get("lock")
        lock = self._make_once(("lock", repr(named)), partial(read_lock_at, self._files, named))
        models = {}
        for name, model in apart.models.items():
            locked = find_sizes(lock, model)
            read = partial(self._read_model, model, reader, locked)
            try:
                found = read() if locked else self._make_once(keys[name], read)
            except Unreadable as unread:
                found = ModelAtCommit(model, problem=str(unread), unread=unread)
            models[name] = _add_lock(replace(found, model=model), lock)
        return ProjectAtCommit(models, apart, lock)

    def _make_once(self, what: object, make: Callable[[], Any]) -> Any:
        """Return an earlier result if it was made from the same files, else the result of ``make``.

        A result depends only on ``what`` and on the files that ``make`` looks at, one after another: if all of these
        are unchanged, ``make`` would look at the same files again.
        """
        files = self._files
        with files.explain_lack(self._today.file):
            known = self._known.setdefault((*files.prefix, what), [])
        for looked, found in reversed(known):
            if files.leads_as_before(looked):
                return found
        files.looked = {}
        found = make()
        known.append((files.looked, found))
        return found

    def _read_declared(self) -> tuple[Apart, dict[str, str], dict[str, str]]:
        """Return the table, a key for each model (it changes with the declaration), and the table's ``hub``."""
        apart = read_table(self._files, self._today, self._base, is_base=bool(self._base))
        hub = apart.values.get("hub", {})
        return apart, {name: f"{model.replace(reason='')!r} {hub!r}" for name, model in apart.models.items()}, hub

    def _find_changed_forms(self, named: Iterable[str]) -> set[str]:
        """Return today's files of closed forms whose content is new: none of the commit's files in ``named`` has it."""
        try:
            contents = map(self._files.read, named if self._today.closed_forms else [])
            before = {content.replace(b"\r\n", b"\n") for content in contents if content is not None}
        except Unreadable:
            before = set()
        now = {name: (self._today.root / name).read_bytes() for name in self._today.closed_forms}
        return {name for name, content in now.items() if content.replace(b"\r\n", b"\n") not in before}

    def _read_model(self, model: Model, reader: AtCommit, locked: Locked | None) -> ModelAtCommit:
        """Read one model (by its block in the lock, if no config is named), and count it if a closed form can."""
        found = ModelAtCommit(model)
        changed = self._changed_forms
        registry = self._registry.without(changed) if changed else self._registry
        try:
            config = source.read_locked(model, locked.sizes) if locked else source.read(model, self._today, reader)
            found = replace(found, config=config)
            if not model.closed_form:
                return replace(found, problem="closed_form = false", has_no_form=True)
            adapter = adapter_of(model, self._today, config, reader)
            derivation = derive(model, config, choose(model, config, registry, adapter))
            if locked:
                refuse_untrue(locked, model, adapter, derivation.form.tensors)
            return replace(found, derivation=derivation)
        except Missing as missing:
            return replace(found, problem=str(missing), has_no_form=model.is_made_by_code)
        except Unusable as unusable:
            error = next((each for each in unusable.findings if each.severity == "error"), unusable.findings[0])
            has_no_form = error.kind == "unknown-closed-form"
            problem = f"{error.place}: {error.message}" if error.place else error.message
            if has_no_form and changed:
                names = listed(sorted(map(printable, changed)), MOST_NAMED)
                counts = "is new or changed, and counts" if len(changed) == 1 else "are new or changed, and count"
                problem = f"{names} {counts} nothing at the base; only a lock that is committed there can count it"
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
        """:param revision: the commit's name in messages; ``""`` if they need none.
        :param hub: the key ``hub`` of the commit's table.
        """
        self.at = f" at {revision}" if revision else ""
        self.file = files.read
        self._hub = hub

    def config(self, location: str) -> Found:
        """Return the config at a location: a file, the only config in a folder, or a published config by its name.

        :raises Missing: if there is no such config, or more than one.
        """
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
        there = [Found(name, printable(name), content) for name, content in found.items() if content is not None]
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


def read_table(files: CommitFiles, today: Settings, revision: str, *, is_base: bool = True) -> Apart:
    """Read the table of a commit.

    :param revision: the commit's name in messages; ``""`` if they need none.
    :param is_base: if true, read budgets, and match a pattern with today's files if it matches none of the commit.
    :raises Unreadable: if the table cannot be read.
    """
    at = f" at {revision}" if revision else ""
    file = f"{today.file}{at}"
    content = files.read(today.file)
    if content is None and files.is_link(today.file):
        raise Unreadable(f"{file} is a symlink that leads to no file of the repository", ANOTHER_COMMIT)

    def match_files(pattern: str) -> list[str]:
        try:
            found = find_matches_in(files.list_folder, pattern)
        except Unreadable as unread:
            raise Mistake(f"{unread}; {unread.fix}") from None
        return found or (find_matches(today.root, pattern) if is_base else [])  # files that git does not track

    try:
        text = settings.decoded(content or b"", file)
        return settings.parse_apart(text, today.path, match_files, limits=is_base)
    except NothingDeclared:
        return Apart({}, {}, {}, {})
    except SettingsError as error:
        raise Unreadable(f"the table{at} cannot be read: {' '.join(str(error).split())}", ANOTHER_COMMIT) from None


# matching the models of two commits


class Candidate(Struct, frozen=True, dict=True):
    """A model in one of two states of the project, which may match a model in the other state."""

    model: Model
    is_file: Callable[[str], bool]
    """Tells whether this state of the project has a file of a given name."""
    read_config: Callable[[], ModelConfig | None]

    @cached_property
    def file(self) -> str:
        """The config file and the object in it, however the table spells them; without a file, the model's identity."""
        if not self.model.file:
            return self.model.identity
        location, _, inner = self.model.config.partition("#")
        path = normpath(location)
        found = next(filter(self.is_file, (path, *(join(path, name) for name in NAMES))), path)
        return f"{found}#{inner}"

    @property
    def how(self) -> str:
        """A text that differs if the class, factory, overrides, options or adapter of two models of one file differ."""
        model = self.model
        return _join_parts(model.architecture, model.factory, model.overrides, model.options, model.adapter)

    @cached_property
    def content(self) -> str | None:
        """A text that is equal for equal configs and factories, whatever the file's name; ``None`` without a config."""
        config = self.read_config()
        return None if config is None else _join_parts(self.model.factory, config.data)


KEYS: Mapping[str, Callable[[Candidate], str | None]] = {
    "name": lambda each: each.model.name,
    "file and options": lambda each: _join_parts(each.file, each.how),
    "file": lambda each: each.file,
    "content": lambda each: each.content,
    GIT_RENAME: lambda each: each.file,
    "table": lambda each: _join_parts(*each.model.table_key),
}
"""The keys by which models match, the surest first; ``table`` matches models of one table that declares several."""


def list_candidates(models: Mapping[str, ModelAtCommit], is_file: Callable[[str], bool]) -> dict[str, Candidate]:
    return {name: Candidate(each.model, is_file, partial(getattr, each, "config")) for name, each in models.items()}


def match_models(
    now: Mapping[str, Candidate],
    before: Mapping[str, Candidate],
    find_renames: Callable[[Iterable[str]], Mapping[str, str]],
) -> dict[str, str]:
    """Return the earlier name of each model; if several earlier models have the same key, the first declared matches.

    :param find_renames: returns the old names of files by their names now.
    """
    now, before = dict(now), dict(before)
    became: dict[str, str] = {}
    for kind, key in KEYS.items():
        if not now or not before:
            break
        waiting: dict[str | None, list[str]] = {}
        for name, candidate in before.items():
            waiting.setdefault(key(candidate), []).append(name)
        renamed = _rename_files(now, before, find_renames) if kind == GIT_RENAME else None
        for name, candidate in [*now.items()]:
            found = key(candidate) if renamed is None else renamed.get(candidate.file)
            if found is not None and waiting.get(found):
                became[name] = waiting[found].pop(0)
                del now[name], before[became[name]]
    return became


def _rename_files(
    now: Mapping[str, Candidate],
    before: Mapping[str, Candidate],
    find_renames: Callable[[Iterable[str]], Mapping[str, str]],
) -> Mapping[str, str]:
    """Return the old file of each new file that git detects as renamed."""
    was, became = (
        {each.file.partition("#")[0]: each.file for each in side.values() if each.model.file} for side in (before, now)
    )
    found = find_renames([*was, *became]) if was and became else {}
    return {became[new]: was[old] for new, old in found.items() if new in became and old in was}


def _join_parts(*parts: object) -> str:
    return json.dumps(parts, sort_keys=True, default=str)
