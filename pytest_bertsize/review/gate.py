"""The gate: every declared model of a run, examined, built and reviewed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from pytest_bertsize.base.lock import find_sizes, render_model
from pytest_bertsize.builder.messages import Built
from pytest_bertsize.review import check
from pytest_bertsize.review.examine import examine
from pytest_bertsize.review.put_back import plan_rebuilds

if TYPE_CHECKING:
    from pytest_bertsize.base.baseline import Baseline
    from pytest_bertsize.base.comparison import PutBack
    from pytest_bertsize.base.lock import Lock
    from pytest_bertsize.builder.messages import NotBuilt, Request
    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.review.accept import BudgetChanges, Verb
    from pytest_bertsize.review.examine import Subject
    from pytest_bertsize.review.review import Review
    from pytest_bertsize.table.limits import Limit
    from pytest_bertsize.table.model import Model
    from pytest_bertsize.table.settings import Settings


@dataclass(frozen=True, slots=True)
class Mode:
    """The work of a run on the declared models."""

    formulas: bool = False
    """Whether they are written out, for a report file."""
    detail: bool = True
    """Whether anybody is shown tensors, costs and notes."""
    verb: Verb | None = None
    """What is done with budgets that fail, or that have room."""
    strict: bool = False
    """Whether a model is an error that nothing counts because nothing is built."""
    reason: str = ""
    """Why budgets are raised, which the tables of their models then say."""


class Gate:
    """Everything that one process knows of the declared models, whether pytest called it or nobody's code did."""

    def __init__(
        self,
        settings: Settings,
        registry: Registry,
        result: Callable[[str], Built | NotBuilt] | None,
        baseline: Baseline | None = None,
        mode: Mode = Mode(),
        lock: Lock | None = None,
    ) -> None:
        """Examine nothing yet: a worker of xdist pays for the models of its own tests alone.

        :param result: what became of a model that was asked for; ``None`` where nothing is built, and budgets are held
            against the closed form alone.
        :param lock: what the table's lock says; ``None`` where it names none.
        """
        self.settings = settings
        self.mode = mode
        self.lock = lock
        self._registry = registry
        self._baseline = baseline
        self._result = result
        self.subject = cache(self._examine)
        """Return a model as it is known without building it."""
        self.changes = cache(self._change_budget)
        """Return what the budget of a model is to say instead, and what is not changed although it fails."""
        self._plan = cache(self._plan_rebuilds)

    def _examine(self, name: str) -> Subject:
        model = self.settings.models[name]
        return self._examined(model, locked=find_sizes(self.lock, model) if self._result is None else None)

    def _examined(self, model: Model, **known: Any) -> Subject:
        mode = self.mode
        return examine(model, self.settings, self._registry, formulas=mode.formulas, detail=mode.detail, **known)

    def _plan_rebuilds(self, name: str) -> PutBack | None:
        return None if self.mode.verb else plan_rebuilds(self.subject(name), self._baseline, self._result)

    def _change_budget(self, name: str) -> BudgetChanges:
        from pytest_bertsize.review.accept import lower_limits, raise_limits

        found = self._conclude(self.subject(name))
        if self.mode.verb == "update":
            return raise_limits(found, shared=len(self._list_beside(name)) > 1)
        return lower_limits(found)

    def _list_beside(self, name: str) -> list[str]:
        """Return the models that the same table declares."""
        return self.settings.declared_by(self.settings.models[name].table_key)

    def list_needed(self, names: Iterable[str]) -> list[str]:
        """Return the models that have to be built for some: where budgets are raised, all of their tables."""
        if self.mode.verb is None:
            return [*names]
        return [*dict.fromkeys(beside for name in names for beside in self._list_beside(name))]

    def review(self, name: str, extra: tuple[Limit, ...] = ()) -> Review:
        """Review one declared model, with ``extra`` limits too; wait for it to be built."""
        subject = self.subject(name)
        is_explained = False
        if self.mode.verb == "update":  # held to what its budget will say: one table may declare several models
            from pytest_bertsize.table.rewrite import limits_after, raised

            asked = [self.changes(each) for each in self._list_beside(name)]
            changes = raised(change for each in asked for change in each.changes)
            model = subject.model.with_limits(limits_after(subject.model.limits, changes))
            is_explained = bool(self.mode.reason) and any(each.asks_why for each in asked)
            if is_explained:
                model = model.replace(reason=self.mode.reason)
            subject = replace(subject, model=model)
        found = self._conclude(subject, extra)
        if is_explained and self._baseline and not self._baseline.is_asked_for:  # an earlier one may say the same
            found = replace(found, findings=tuple(each for each in found.findings if not each.asks_why))
        return found

    def _conclude(self, subject: Subject, extra: tuple[Limit, ...] = ()) -> Review:
        name = subject.model.name
        lock = None if self.mode.verb == "update" else self.lock
        accepted = check.Accepted(self._baseline, lock, self._plan(name))
        if self._result is None:
            return check.conclude_unbuilt(subject, extra, accepted, strict=self.mode.strict)
        built = self._result(name) if subject.request else None
        known = self._complete(subject, built)
        return check.conclude(known, None if known.errors else built, extra, accepted)

    def _complete(self, subject: Subject, built: Built | NotBuilt | None) -> Subject:
        """Return a subject with the closed form that its own build gives the sizes of."""
        if not subject.awaits_build or not isinstance(built, Built):
            return subject
        known = self._examined(subject.model, built=built)
        return replace(known, request=subject.request)

    def to_lock(self, name: str) -> str:
        """Return the block of a model for the lock; ``""`` for one that fails for what is no budget."""
        subject = self.subject(name)
        built = self._result(name) if self._result and subject.request else None
        if self.review(name).verdict == "failed" or not isinstance(built, Built):
            return ""
        return render_model(name, self._complete(subject, built).to_locked(built))

    @property
    def requests(self) -> dict[str, Request]:
        """The requests to build every declared model."""
        return self.find_requests(self.settings.names)

    def find_requests(self, names: Iterable[str]) -> dict[str, Request]:
        """Return the requests to build models that the closed form has bounded, and those with keys put back."""
        names = () if self._result is None else tuple(names)
        subjects = {name: self.subject(name) for name in names}
        found = {name: subject.request for name, subject in subjects.items() if subject.request}
        plans = [self._plan(name) for name in names]
        again = (each for plan in plans if plan for each in plan.requests.values())
        return found | {each.name: each for each in again}
