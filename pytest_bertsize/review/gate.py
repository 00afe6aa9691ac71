"""The gate: every declared model of a run, examined, built and reviewed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_bertsize.review import check

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_bertsize.base.baseline import Baseline
    from pytest_bertsize.builder.messages import Built, NotBuilt, Request
    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.review.accept import Asked, Verb
    from pytest_bertsize.review.check import Subject
    from pytest_bertsize.review.review import Review
    from pytest_bertsize.table.model import Limit
    from pytest_bertsize.table.settings import Settings


@dataclass(frozen=True, slots=True)
class Mode:
    """What a run does with the declared models."""

    formulas: bool = False
    """Whether they are written out, for a report file."""
    detail: bool = True
    """Whether anybody is shown tensors, costs and notes."""
    verb: Verb | None = None
    """What is done with budgets that fail, or that have room."""


class Gate:
    """Everything that one process knows of the declared models, whether pytest called it or nobody's code did."""

    def __init__(
        self,
        settings: Settings,
        registry: Registry,
        result: Callable[[str], Built | NotBuilt] | None,
        baseline: Baseline | None = None,
        mode: Mode = Mode(),
    ) -> None:
        """Examine every declared model.

        :param result: what became of a model that was asked for; ``None`` where nothing is built, and budgets are held
            against the closed form alone.
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
        subject = self._accepted(name) if self.mode.verb == "update" else self.subjects[name]
        return self._concluded(subject, extra)

    def _accepted(self, name: str) -> Subject:
        """A model held to what its budget will say: several models may be declared by one table, which has one."""
        from pytest_bertsize.table.rewrite import limits_after, raised

        subject = self.subjects[name]
        changes = raised(change for each in self._of_its_table(name) for change in self.changes(each).changes)
        return check.with_limits(subject, limits_after(subject.model.limits, changes)) if changes else subject

    def _of_its_table(self, name: str) -> list[str]:
        return self.settings.declared_by(self.settings.models[name].table_key)

    def changes(self, name: str) -> Asked:
        """What the budget of a model is to say instead, and what is not changed although it fails."""
        from pytest_bertsize.review.accept import accepted, tightened

        if name not in self._changes:
            found, shared = self._concluded(self.subjects[name]), len(self._of_its_table(name)) > 1
            self._changes[name] = accepted(found, shared=shared) if self.mode.verb == "update" else tightened(found)
        return self._changes[name]

    def _concluded(self, subject: Subject, extra: tuple[Limit, ...] = ()) -> Review:
        if self._result is None:
            return check.conclude_unbuilt(subject, self.settings, extra, self.baseline)
        built = self._result(subject.model.name) if subject.request else None
        return check.conclude(subject, built, self.settings, extra, self.baseline)

    @property
    def requests(self) -> dict[str, Request]:
        """What there is to build: every model that the closed form has bounded."""
        wanted = {} if self._result is None else self.subjects
        return {name: subject.request for name, subject in wanted.items() if subject.request}
