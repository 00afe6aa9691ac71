"""The same models at another git revision: table and configs are read through git, and nothing there is executed."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from pytest_bertsize.base.git import Files, NoRevision
from pytest_bertsize.base.revision import base_revision
from pytest_bertsize.closed_forms.derive import choose, derive
from pytest_bertsize.config import source
from pytest_bertsize.config.adapter import adapter_of
from pytest_bertsize.findings import Unusable
from pytest_bertsize.table import settings
from pytest_bertsize.table.globs import matching_at
from pytest_bertsize.table.model import NAMES
from pytest_bertsize.table.settings import NothingDeclared, Settings, SettingsError
from pytest_bertsize.wording import printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_bertsize.base.revision import BaseRevision
    from pytest_bertsize.closed_forms.derive import Derivation
    from pytest_bertsize.closed_forms.family import ClosedForm
    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.config.model_config import ModelConfig
    from pytest_bertsize.table.model import Model


@dataclass(frozen=True, slots=True)
class Former:
    """A model as the base declares it."""

    model: Model
    config: ModelConfig | None = None
    derivation: Derivation | None = None
    """By today's closed form; ``None`` where it cannot be counted, and :attr:`problem` says why."""
    problem: str = ""

    @property
    def form(self) -> ClosedForm | None:
        return self.derivation.form if self.derivation else None


@dataclass(frozen=True)
class Baseline:
    """The project as it was at a revision."""

    revision: str
    commit: str | None
    problem: str = ""
    """Why there is nothing to compare with; ``""`` where there is."""
    models: Mapping[str, Former] = field(default_factory=dict)
    """By the name that the base gives them."""
    became: Mapping[str, str] = field(default_factory=dict)
    """Names of today, and what the base calls the same models."""

    def former(self, name: str) -> Former | None:
        """The model that is called ``name`` today; ``None`` where it is new."""
        return self.models.get(self.became.get(name, ""))

    @property
    def removed(self) -> list[Former]:
        """Models that today's table does not have."""
        return [former for name, former in self.models.items() if name not in self.became.values()]


def of_run(today: Settings, asked: str | None, registry: Registry, option: str) -> Baseline | None:
    """What a run is compared with, ``None`` where that is nothing.

    :param asked: what the option says, ``None`` where it is not given.
    :param option: what messages call it: ``"--bert-budget-base"``.
    :raises SettingsError: when the revision that was asked for cannot be read.
    """
    try:
        revision = base_revision(today.root, asked)
    except NoRevision as error:
        raise SettingsError(f"{option}={printable(asked or '')}: {error}") from None
    return None if revision is None else read(today, revision, registry)


def read(today: Settings, revision: BaseRevision, registry: Registry) -> Baseline:
    """Read the table and the configs of a revision, and derive what they count to.

    :param registry: today's closed forms: code of the base is never run.
    """
    if revision.commit is None:
        return Baseline(revision.name, None, revision.problem)
    with Files(today.root, revision.commit) as files:
        then, problem = _table(files, today, revision.name)
        models = {name: _former(model, files, today, registry, revision.name) for name, model in then.items()}
    return Baseline(revision.name, revision.commit, problem, models, _matched(today, models))


def _table(files: Files, today: Settings, revision: str) -> tuple[Mapping[str, Model], str]:
    content = files.read(today.file)
    try:
        text = (content or b"").decode("utf-8")
        return settings.parse(text, today.path, partial(_matching, files)).models, ""
    except NothingDeclared:
        return {}, ""
    except SettingsError as error:
        return {}, f"the table at {revision} cannot be read: {' '.join(str(error).split())}"
    except UnicodeDecodeError:
        return {}, f"{today.file} at {revision} is not UTF-8"


def _matching(files: Files, pattern: str) -> list[str]:
    return matching_at(files.names(), pattern)


class Missing(Exception):
    """What a model needs is not there at the base."""


class AtCommit:
    """The project as a commit has it."""

    def __init__(self, files: Files, revision: str) -> None:
        self.at = f" at {revision}"
        self._files = files

    def config(self, location: str) -> source.Found:
        """The file, or the only config of a folder.

        :raises Missing: when there is none, or more than one.
        """
        path = PurePosixPath(location)
        found = {str(path): self._files.read(str(path))}
        if found[str(path)] is None:
            found = {str(path / name): self._files.read(str(path / name)) for name in NAMES}
        there = [source.Found(name, printable(name), content) for name, content in found.items() if content is not None]
        if len(there) != 1:
            what = f"holds both {' and '.join(NAMES)}" if there else "is no file"
            raise Missing(f"{printable(location)} {what}{self.at}")
        return there[0]

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


def _former(model: Model, files: Files, today: Settings, registry: Registry, revision: str) -> Former:
    """One model of the base, counted if it can be."""
    reader, config = AtCommit(files, revision), None
    try:
        config = source.read(model, today, reader)
        if not model.closed_form:
            return Former(model, config, problem=f"at {revision} it has closed_form = false, and is not counted")
        adapter = adapter_of(model, today, config, reader)
        return Former(model, config, derive(model, config, choose(model, config, registry, adapter)))
    except Missing as missing:
        return Former(model, config, problem=str(missing))
    except Unusable as unusable:
        error = next((each for each in unusable.findings if each.severity == "error"), unusable.findings[0])
        return Former(model, problem=f"at {revision} it cannot be counted: {error.message}")


def _matched(today: Settings, models: Mapping[str, Former]) -> dict[str, str]:
    """What each model of today was called: the same name, else the one whose config it has."""
    became = {name: name for name in today.names if name in models}
    left = {former.model.identity: name for name, former in models.items() if name not in became}
    for name, model in today.models.items():
        if name not in became and model.identity in left:
            became[name] = left.pop(model.identity)
    return became
