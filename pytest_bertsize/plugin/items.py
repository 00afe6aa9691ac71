"""The gate in pytest: a declared model as a test item; a Review becomes pass or fail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bertsize.review import check
from pytest_bertsize.review.accept import accepted, limits_after, raised, tightened
from pytest_bertsize.table.settings import Settings, SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pytest_bertsize.base.baseline import Baseline
    from pytest_bertsize.builder.messages import Built, NotBuilt, Request
    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.review.accept import Asked, Change, Verb
    from pytest_bertsize.review.check import Subject
    from pytest_bertsize.review.review import Review
    from pytest_bertsize.table.model import Limit


@dataclass(frozen=True, slots=True)
class Mode:
    """What a run does with the declared models."""

    builds: bool = True
    """Whether any is built; else budgets are held against the closed form alone."""
    formulas: bool = False
    """Whether they are written out, for a report file."""
    detail: bool = True
    """Whether anybody is shown tensors, costs and notes."""
    verb: Verb | None = None
    """What is done with budgets that fail, or that have room."""


class Gate:
    """Everything that one pytest process knows of the declared models."""

    def __init__(
        self,
        settings: Settings,
        registry: Registry,
        result: Callable[[str], Built | NotBuilt],
        baseline: Baseline | None = None,
        mode: Mode = Mode(),
    ) -> None:
        """Examine every declared model.

        :param result: what became of a model that was asked for.
        """
        self.settings = settings
        self.mode = mode
        self.baseline = baseline
        self.subjects = {
            name: check.examine(model, settings, registry, formulas=mode.formulas, detail=mode.detail)
            for name, model in settings.models.items()
        }
        self._result = result
        self._changes: dict[str, Asked] = {}

    def review(self, name: str, extra: tuple[Limit, ...] = ()) -> Review:
        """The review of one declared model, held to ``extra`` limits as well; waits for it to be built."""
        subject = self.subjects[name]
        if changes := self._changes_of_table(name) if self.mode.verb == "update" else []:
            subject = check.with_limits(subject, limits_after(subject.model.limits, changes))
        return self._concluded(subject, extra)

    def _changes_of_table(self, name: str) -> list[Change]:
        """What the budget of a model will say: several models may be declared by one table, which has one budget."""
        return raised(change for each in self._of_its_table(name) for change in self.changes(each).changes)

    def _of_its_table(self, name: str) -> list[str]:
        return self.settings.declared_by(self.settings.models[name].table_key)

    def changes(self, name: str) -> Asked:
        """What the budget of a model is to say instead, and what is not changed although it fails."""
        if name not in self._changes:
            found, shared = self._concluded(self.subjects[name]), len(self._of_its_table(name)) > 1
            self._changes[name] = accepted(found, shared=shared) if self.mode.verb == "update" else tightened(found)
        return self._changes[name]

    def _concluded(self, subject: Subject, extra: tuple[Limit, ...] = ()) -> Review:
        if not self.mode.builds:
            return check.conclude_unbuilt(subject, self.settings, extra, self.baseline)
        built = self._result(subject.model.name) if subject.request else None
        return check.conclude(subject, built, self.settings, extra, self.baseline)

    @property
    def requests(self) -> dict[str, Request]:
        """What there is to build: every model that the closed form has bounded."""
        wanted = self.subjects if self.mode.builds else {}
        return {name: subject.request for name, subject in wanted.items() if subject.request}


GATE = pytest.StashKey[Gate | SettingsError]()
REVIEW = pytest.StashKey["Review"]()


class BudgetFailure(Exception):
    """A review that did not pass: a test failure without a traceback."""

    def __init__(self, review: Review) -> None:
        super().__init__(review.headline)
        self.review = review


# declared models as test items


class Collector:
    """Collects the declared models whatever ``testpaths`` and the command line say."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> BudgetFile | None:
        if file_path != self.gate.settings.path:
            return None
        return BudgetFile.from_parent(parent, path=file_path, gate=self.gate)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        if not any(isinstance(item, BudgetItem) for item in items):
            file = BudgetFile.from_parent(session, path=self.gate.settings.path, gate=self.gate)
            items.extend(session.genitems(file))


class BudgetFile(pytest.File):
    """The project's pyproject.toml."""

    def __init__(self, *, gate: Gate, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.gate = gate

    def collect(self) -> Iterator[pytest.Item]:
        for name in self.gate.settings.names:
            yield BudgetItem.from_parent(self, name=name, gate=self.gate)


class BudgetItem(pytest.Item):
    """One declared model: ``pyproject.toml::NAME``."""

    def __init__(self, *, gate: Gate, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.gate = gate

    def runtest(self) -> None:
        hold(self, self.gate.review(self.name))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The headline: pytest need not draw a traceback that nobody is shown."""
        failure = excinfo.value
        return failure.review.headline if isinstance(failure, BudgetFailure) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, f"bert budget: {self.name}"


def hold(item: pytest.Item, review: Review) -> None:
    item.stash[REVIEW] = review
    if review.verdict == "failed":
        raise BudgetFailure(review)
