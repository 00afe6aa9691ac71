"""The same models at another git revision: table and configs are read through git, and nothing there is executed.

Of whatever is asked for there are three answers: it is there, it is not there, or it could not be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import TYPE_CHECKING

from pytest_bertsize.base import locked_models
from pytest_bertsize.base.lock import Lock
from pytest_bertsize.base.matching import matched
from pytest_bertsize.base.tree import Files, Unreadable
from pytest_bertsize.closed_forms.derive import choose, derive
from pytest_bertsize.config import by_hub_name, source
from pytest_bertsize.config.adapter import adapter_of
from pytest_bertsize.config.by_hub_name import Found
from pytest_bertsize.findings import Unusable
from pytest_bertsize.table import settings
from pytest_bertsize.table.globs import BadGlob, find_matches, find_matches_in
from pytest_bertsize.table.model import NAMES
from pytest_bertsize.table.settings import NothingDeclared, Settings, SettingsError
from pytest_bertsize.wording import listed, printable, visible

if TYPE_CHECKING:
    from pytest_bertsize.base.lock import Locked
    from pytest_bertsize.base.revision import BaseRevision
    from pytest_bertsize.closed_forms.derive import Derivation
    from pytest_bertsize.closed_forms.family import ClosedForm
    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.config.model_config import ModelConfig
    from pytest_bertsize.table.model import Model

MOST_NAMED = 6
"""Files that a sentence names before it counts the rest."""


@dataclass(frozen=True, slots=True)
class Former:
    """A model as the base declares it."""

    model: Model
    config: ModelConfig | None = None
    derivation: Derivation | None = None
    """By today's closed form; ``None`` where it cannot be counted, and :attr:`problem` says why."""
    problem: str = ""
    unread: Unreadable | None = None
    """Where its files may be there, and git does not hand them out."""
    locked: Locked | None = None
    """As the base's lock has it."""

    @property
    def form(self) -> ClosedForm | None:
        return self.derivation.form if self.derivation else None


@dataclass(frozen=True, slots=True)
class Mistaken:
    """A table of the base of which nobody can tell what it declares."""

    problem: str
    reason: str
    """Why its budget was what it was."""


@dataclass(frozen=True, slots=True)
class Left:
    """A model of the base, or a table of which nobody can tell what it declares, that today's table does not have."""

    name: str
    former: Former | None
    """``None``: its table cannot be read."""
    problem: str
    """Why it cannot."""
    reason: str
    """Why it left; ``""`` where this change does not say."""

    @property
    def is_loosened(self) -> bool:
        """Whether a limit may have left with it, and nobody says why."""
        return not self.reason and (self.former is None or bool(self.former.model.limits))


@dataclass(frozen=True)
class Baseline:
    """The project as it was at a revision."""

    revision: str
    commit: str | None
    problem: str = ""
    """Why there is nothing to compare with; ``""`` where there is."""
    is_asked_for: bool = True
    """Whether somebody has named it, and not CI alone."""
    models: Mapping[str, Former] = field(default_factory=dict)
    """By the name that the base gives them."""
    became: Mapping[str, str] = field(default_factory=dict)
    """Names of today, and what the base calls the same models."""
    mistaken: Mapping[str, Mistaken] = field(default_factory=dict)
    """By the names of their tables."""
    no_lock: str = ""
    """Why no lock of it says anything: ``there is no lock``."""
    is_strict: bool = False
    """Whether its table makes a difference from the lock an error."""
    python: str = ""
    """The interpreter that its table names."""
    left: tuple[Left, ...] = ()
    not_compared: tuple[str, ...] = ()
    """Models of today that are not new, and of which there is no count to compare with."""

    def former(self, name: str) -> Former | None:
        """The model that is called ``name`` today; ``None`` where it is new."""
        return self.models.get(self.became.get(name, ""))

    def mistake(self, model: Model) -> Mistaken | None:
        """Where nobody can tell what the base says of a model of today."""
        return self.mistaken.get(model.name) or self.mistaken.get(model.table_key[-1])


def read(today: Settings, revision: BaseRevision, registry: Registry, *, is_asked_for: bool = True) -> Baseline:
    """Read the table and the configs of a revision, and derive what they count to.

    :param registry: today's closed forms: code of the base is never run.
    """
    if revision.commit is None:
        return Baseline(revision.name, None, revision.problem, is_asked_for)
    try:
        with Files(today.root, revision.commit) as files:
            files.follow(today.file)
            then = table_of(files, today, revision.name, partial(_matching, files, today))
            reader = AtCommit(files, revision.name, hub_of(then.table), today.root)
            anew = _anew(files, today, then.table)
            models = {
                name: _unless_anew(
                    _former(model, reader, today, registry, revision.name), reader, today, registry, anew
                )
                for name, model in then.models.items()
            }
            became = matched(today, models, files)
            lock = locked_models.at_commit(files, then.table, revision.name)
    except Unreadable as unread:
        return Baseline(revision.name, None, f"{unread}; {unread.fix}", is_asked_for)
    mistaken = {
        name: Mistaken(problem, _text(then.table, "models", name, "reason")) for name, problem in then.wrong.items()
    }
    if isinstance(lock, Lock):
        models = {name: replace(former, locked=lock.models.get(name)) for name, former in models.items()}
    found = Baseline(revision.name, revision.commit, "", is_asked_for, models, became, mistaken)
    no_lock = lock if isinstance(lock, str) else ""
    found = replace(found, is_strict=locked_models.is_strict(then.table), no_lock=no_lock)
    left, not_compared = (*_left(found, today, then.table),), (*_not_compared(found, today),)
    return replace(found, python=_text(then.table, "python"), left=left, not_compared=not_compared)


def _left(found: Baseline, today: Settings, table: Mapping[str, object]) -> Iterator[Left]:
    """:param table: the base's, as it was parsed."""
    declared = {name for model in today.models.values() for name in (model.name, model.table_key[-1])}
    before = {name: visible(_text(table, "removed", name)) for name in today.removed}
    new = {name: said.strip() for name, said in today.removed.items() if visible(said) not in {"", before[name]}}
    still_there = {*found.became.values()}
    for name, former in found.models.items():
        if name not in still_there:
            yield Left(name, former, "", new.get(name, ""))
    for name, mistake in found.mistaken.items():
        if name not in declared:
            yield Left(name, None, mistake.problem, new.get(name, ""))


def _not_compared(found: Baseline, today: Settings) -> Iterator[str]:
    for model in today.models.values():
        former = found.former(model.name)
        if former.derivation is None and former.locked is None if former else found.mistake(model):
            yield model.name


def _anew(files: Files, today: Settings, table: Mapping[str, object]) -> set[str]:
    """Today's files of closed forms that are none of the base's, by any name.

    :param table: the base's, as it was parsed.
    """
    said = table.get("closed_forms")
    names = [each for each in said if isinstance(each, str)] if isinstance(said, list) else []
    try:
        contents = map(files.read, names if today.closed_forms else [])
        before = {content.replace(b"\r\n", b"\n") for content in contents if content is not None}
    except Unreadable:
        before = set()
    return {name for name in today.closed_forms if _content(today.root / name) not in before}


def _content(path: Path) -> bytes:
    """As git has it."""
    return path.read_bytes().replace(b"\r\n", b"\n")


def _unless_anew(former: Former, reader: AtCommit, today: Settings, registry: Registry, anew: set[str]) -> Former:
    """A count by a closed form that the base did not have is none of the base."""
    if not anew or former.derivation is None:
        return former
    again = _former(former.model, reader, today, registry.without(anew), "").derivation
    now = former.derivation
    if again and (again.family.name, again.form.architecture.name) == (now.family.name, now.form.architecture.name):
        return former
    names = listed(sorted(map(printable, anew)), MOST_NAMED)
    why = f"{names} {'is' if len(anew) == 1 else 'are'} not what it was{reader.at}, so it says nothing of the base"
    return Former(former.model, former.config, problem=f"{why}: a lock committed there would say what it counted to")


def _text(table: object, *path: str) -> str:
    """What a table says at a path; ``""`` where that is no text."""
    for key in path:
        table = table.get(key) if isinstance(table, dict) else None
    return table if isinstance(table, str) else ""


def hub_of(table: Mapping[str, object]) -> dict[str, str]:
    """Files by names of the hub, as far as a table says them rightly."""
    hub = table.get("hub")
    pairs = hub.items() if isinstance(hub, dict) else ()
    return {name: file for name, file in pairs if isinstance(file, str)}


def table_of(
    files: Files, today: Settings, revision: str, matches: Callable[[str], list[str]], *, limits: bool = True
) -> settings.Apart:
    """What a commit declares.

    :param revision: what messages call it; ``""`` where they need not.
    :param matches: the files that a pattern means.
    :param limits: whether budgets are read.
    :raises Unreadable: when nobody can tell.
    """
    at = f" at {revision}" if revision else ""
    file = f"{today.file}{at}"
    other = "compare with a commit in which it can be read, as in --base=main~1"
    content = files.read(today.file)
    if content is None and files.is_link(today.file):
        raise Unreadable(f"{file} is a symlink that leads to no file of the repository", other)
    try:
        text = settings.decoded(content or b"", file)
        return settings.parse_apart(text, today.path, matches, limits=limits)
    except NothingDeclared:
        return settings.Apart({}, {}, {})
    except SettingsError as error:
        raise Unreadable(f"the table{at} cannot be read: {' '.join(str(error).split())}", other) from None


def _matching(files: Files, today: Settings, pattern: str) -> list[str]:
    """What a pattern of the base's table means there, or today, where that is nothing: what git has no files of."""
    try:
        return find_matches_in(files.listed, pattern) or find_matches(today.root, pattern)
    except Unreadable as unread:
        raise BadGlob(f"{unread}; {unread.fix}") from None


class Missing(Exception):
    """What a model needs is not there at the base."""


class AtCommit:
    """The project as a commit has it."""

    def __init__(
        self,
        files: Files,
        revision: str,
        hub: Mapping[str, str] = MappingProxyType({}),
        root: Path | None = None,
    ) -> None:
        """:param revision: what messages call it; ``""`` where they need not.
        :param hub: of the table there.
        :param root: where today's Python says which library reads the project's YAML.
        """
        self.at = f" at {revision}" if revision else ""
        self._files = files
        self._hub = hub
        self._root = root

    def config(self, location: str) -> Found:
        """The file, the only config of a folder, or what is published by that name.

        :raises Missing: when there is none, or more than one.
        """
        try:
            return self._file(location)
        except Missing:
            if found := by_hub_name.find(location, self._hub, self._file):
                return found
            raise

    def _file(self, location: str) -> Found:
        path = PurePosixPath(location)
        found = {str(path): self._files.read(str(path))}
        if found[str(path)] is None:
            found = {str(path / name): self._files.read(str(path / name)) for name in NAMES}
        there = [Found(name, printable(name), content) for name, content in found.items() if content is not None]
        if len(there) != 1:
            what = f"holds both {' and '.join(NAMES)}" if there else "is no file"
            raise Missing(f"{printable(location)} {what}{self.at}")
        return there[0]

    def file(self, location: str) -> bytes | None:
        return self._files.read(location)

    def adapter(self, location: str) -> bytes:
        content = self._files.read(location)
        if content is None:
            raise Missing(f"{printable(location)} is no file{self.at}")
        return content

    def made_by_code(self, reference: str) -> ModelConfig:
        """:raises Missing: always: code of the base is never run."""
        raise Missing(f"its config is made by code ({printable(reference)}), which is not run{self.at}")

    def line(self, key: Sequence[str], settings: Settings) -> None:
        """None: the lines that the table has are today's."""


def _former(model: Model, reader: AtCommit, today: Settings, registry: Registry, revision: str) -> Former:
    """One model of the base, counted if it can be."""
    config = None
    try:
        config = source.read(model, today, reader)
        if not model.closed_form:
            return Former(model, config, problem=f"at {revision} it has closed_form = false, and is not counted")
        adapter = adapter_of(model, today, config, reader)
        return Former(model, config, derive(model, config, choose(model, config, registry, adapter)))
    except Missing as missing:
        return Former(model, config, problem=str(missing))
    except Unreadable as unread:
        return Former(model, config, problem=f"at {revision}, {unread}", unread=unread)
    except Unusable as unusable:
        error = next((each for each in unusable.findings if each.severity == "error"), unusable.findings[0])
        return Former(model, problem=f"at {revision} it cannot be counted: {error.message}")
