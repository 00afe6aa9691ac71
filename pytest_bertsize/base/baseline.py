"""The project at the base of a run: its models, their names today, and the models that are no longer declared."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from pytest_bertsize.base.commit_files import CommitFiles, Unreadable
from pytest_bertsize.base.git import find_renames
from pytest_bertsize.base.project_at_commit import ModelAtCommit, ProjectAtCommit, ProjectReader, Side, match_models
from pytest_bertsize.config import source
from pytest_bertsize.findings import Unusable
from pytest_bertsize.table.settings import Settings
from pytest_bertsize.wording import visible

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.config.model_config import ModelConfig
    from pytest_bertsize.table.model import Model


_NOTHING = ProjectAtCommit({}, Settings(Path(), "", {}), "")


class Left(NamedTuple):
    """A model that the base declares, and that today's table does not."""

    name: str
    former: ModelAtCommit | None  # the model at the base; None if its table there cannot be read
    problem: str  # the reason why the base's table of the model cannot be read; "" if it can be
    reason: str  # the reason that this change gives for removing the model; "" if it gives none

    @property
    def is_loosened(self) -> bool:
        """True if a limit may have been removed with the model, and no reason is given."""
        return not self.reason and (self.former is None or bool(self.former.model.limits))


class Baseline(Struct, frozen=True):
    """The project as it was at a revision."""

    revision: str  # the revision as the user or CI names it: origin/main
    commit: str | None
    problem: str = ""  # the reason why there is nothing to compare with; "" if the revision can be read
    is_asked_for: bool = True  # True if the user named the base; false for the base of CI, and for the last commit
    project: ProjectAtCommit = _NOTHING
    became: Mapping[str, str] = {}  # the models' names at the base, by their names today
    left: tuple[Left, ...] = ()
    not_compared: tuple[str, ...] = ()  # models of today that the base declares, but that cannot be counted there

    def find_former(self, name: str) -> ModelAtCommit | None:
        """Return the model that is called ``name`` today; ``None`` if it is new."""
        return self.project.models.get(self.became.get(name, ""))

    def find_mistake(self, model: Model) -> tuple[str, str] | None:
        """Return why the base's table of a model cannot be read, and its ``reason``; ``None`` if it can or is not."""
        for name in (model.name, model.table_key[-1]):
            if problem := self.project.declared.wrong.get(name):
                return problem, self.project.read_text("models", name, "reason")
        return None


def read_baseline(found: Baseline, today: Settings, registry: Registry) -> Baseline:
    """Read the table and the configs of a revision, and count its models by today's closed forms."""
    if found.commit is None:
        return found
    try:
        with CommitFiles(today.root, found.commit) as files:
            files.follow_rename(today.file)
            then = ProjectReader(files, today, registry, found.revision).read_project()
            now = Side(today.models, lambda path: os.path.isfile(today.root / path), partial(_read_config, today))  # noqa: PTH113
            renames = partial(find_renames, today.root, files.commit)
            became = match_models(now, then.to_side(files.may_have), renames)
    except Unreadable as unread:
        return replace(found, commit=None, problem=f"{unread}; {unread.fix}")
    found = replace(found, project=then, became=became)
    not_compared = []
    for model in today.models.values():
        former = found.find_former(model.name)
        if not (former.derivation or former.locked) if former else found.find_mistake(model):
            not_compared.append(model.name)
    return replace(found, left=(*_find_left(found, today),), not_compared=(*not_compared,))


def _read_config(today: Settings, model: Model) -> ModelConfig | None:
    """Return today's config of a model; ``None`` if code makes the config, or if it cannot be read."""
    try:
        return source.read(model, today) if model.config and not model.is_made_by_code else None
    except Unusable:
        return None


def _find_left(found: Baseline, today: Settings) -> Iterator[Left]:
    then = found.project
    before = {name: visible(then.read_text("removed", name)) for name in today.removed}
    new = {name: said.strip() for name, said in today.removed.items() if visible(said) not in {"", before[name]}}
    for name in (name for name in then.models if name not in {*found.became.values()}):
        yield Left(name, then.models[name], "", new.get(name, ""))
    declared = {name for model in today.models.values() for name in (model.name, model.table_key[-1])}
    for name, problem in then.declared.wrong.items():
        if name not in declared:
            yield Left(name, None, problem, new.get(name, ""))
