"""A project at its author's desk: what accepting and tightening make of its pyproject.toml, without pytest or torch.

What "was built" is what the closed form says, unless a test says otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_bertsize.base.baseline import Baseline
from pytest_bertsize.base.project_at_commit import ModelAtCommit, ProjectAtCommit
from pytest_bertsize.base.run_base import Project
from pytest_bertsize.builder.messages import Built, NotBuilt
from pytest_bertsize.closed_forms.registry import Registry
from pytest_bertsize.config.which_release import AskedAbout
from pytest_bertsize.release import NEWEST
from pytest_bertsize.review.examine import examine
from pytest_bertsize.review.gate import Gate, Mode
from pytest_bertsize.table.rewrite import lowered, raised, settings_after
from pytest_bertsize.table.settings import Settings, parse

if TYPE_CHECKING:
    from pytest_bertsize.review.accept import Verb
    from pytest_bertsize.review.examine import Subject
    from pytest_bertsize.review.review import Review
    from pytest_bertsize.table.limits import Limit
    from pytest_bertsize.table.rewrite import Change


def as_project(settings: Settings, baseline: Baseline | None = None) -> Project:
    return Project(settings, AskedAbout(NEWEST, ""), Registry(), baseline)


def as_derived(subject: Subject) -> Built:
    assert subject.derivation
    tensors = subject.derivation.form.tensors
    return Built(tensors, {tensor.name: tensor.tied_to for tensor in tensors if tensor.tied_to})


@dataclass
class Run:
    """One run with ``--bert-budget-update`` or ``-tighten``."""

    settings: Settings
    verb: Verb
    built: Mapping[str, Built | NotBuilt] = field(default_factory=dict)
    """What is built of a model, where that is not what its closed form says."""
    baseline: Baseline | None = None
    builds: bool = True

    def __post_init__(self) -> None:
        result = self._result if self.builds else None
        self.gate = Gate(as_project(self.settings, self.baseline), result, Mode(verb=self.verb))

    def _result(self, name: str) -> Built | NotBuilt:
        return self.built[name] if name in self.built else as_derived(self.gate.subject(name))

    def review(self, name: str, extra: tuple[Limit, ...] = ()) -> Review:
        return self.gate.review(name, extra)

    def changes(self) -> list[Change]:
        """What the models ask for, as one change for each bound."""
        asked = [change for name in self.settings.models for change in self.gate.changes(name).changes]
        return raised(asked) if self.verb == "update" else lowered(asked, self.settings)

    @property
    def refused(self) -> dict[str, dict[str, str]]:
        found = {name: self.gate.changes(name).refused for name in self.settings.models}
        return {name: refused for name, refused in found.items() if refused}

    def text(self) -> str:
        changes = self.changes()
        return settings_after(self.settings, changes).text if changes else self.settings.text

    @property
    def red(self) -> list[str]:
        return [name for name in self.settings.models if self.review(name).verdict == "failed"]


def lay(folder: Path, text: str, config: Mapping[str, Any], **configs: Mapping[str, Any]) -> Settings:
    """A project with a ``config.json``, and with what else is named."""
    for name, each in {"config": config, **configs}.items():
        (folder / f"{name}.json").write_text(json.dumps(each), encoding="utf-8")
    return again(folder, text)


def again(folder: Path, text: str) -> Settings:
    return parse(text, folder / "pyproject.toml")


def as_base(settings: Settings) -> Baseline:
    """The base ``main`` that declares what the settings do; no git is asked."""
    subjects = {name: examine(model, settings, Registry()) for name, model in settings.models.items()}
    models = {name: ModelAtCommit(each.model, each.config, each.derivation) for name, each in subjects.items()}
    project = ProjectAtCommit(models, Settings(Path(), "", {}), "its table names no lock")
    return Baseline("main", "a1b2c3", project=project, became={name: name for name in models})
