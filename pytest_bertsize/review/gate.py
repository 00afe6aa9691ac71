"""The gate: every declared model of a run, examined, built and reviewed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from pytest_bertsize.base.lock import Lock, find_sizes, render_model
from pytest_bertsize.builder.messages import Built, NotBuilt, Request
from pytest_bertsize.review import check
from pytest_bertsize.review.examine import Subject, examine
from pytest_bertsize.review.put_back import plan_rebuilds
from pytest_bertsize.review.review import Accepted, Review

if TYPE_CHECKING:
    from pytest_bertsize.base.run_base import Project
    from pytest_bertsize.builder.helper import Helper
    from pytest_bertsize.review.accept import BudgetChanges, Verb
    from pytest_bertsize.review.put_back import PutBack, Result
    from pytest_bertsize.table.limits import Limit
    from pytest_bertsize.table.model import Model


class Mode(Struct, frozen=True):
    """The options of a run."""

    formulas: bool = False  # True if formulas are derived, for a report file
    detail: bool = True  # True if a report shows tensors, costs and notes
    verb: Verb | None = None  # update raises budgets that fail, tighten lowers those with room; None only checks
    strict: bool = False  # True if it is an error that only a build can count a model
    reason: str = ""  # the reason for raising budgets, which is written to the tables


class Gate:
    """Examines, requests and reviews the declared models, under pytest or a command."""

    def __init__(
        self, project: Project, result: Result | None, mode: Mode | None = None, lock: Lock | None = None
    ) -> None:
        """Examine nothing yet: a worker of xdist examines only the models of its own tests.

        :param result: returns the result of a requested build; ``None`` if nothing is built.
        """
        self.settings, self.mode, self.lock = project.settings, mode or Mode(), lock
        self._registry, self._baseline, self._result = project.registry, project.base, result
        self.subject = cache(self._examine)  # the subject of a model, without building it
        self.reviewed = cache(lambda name: self._conclude(self.subject(name)))  # with the budget before any change
        self.changes = cache(self._change_budget)  # of a model's budget, and the failing limits that stay
        plan = cache(lambda name: plan_rebuilds(self.subject(name), project.base, result))
        self._plan: Callable[[str], PutBack | None] = plan if self.mode.verb is None else lambda _: None

    def _examine(self, name: str, model: Model | None = None, built: Built | None = None) -> Subject:
        model = model or self.settings.models[name]
        locked = find_sizes(self.lock, model) if self._result is None else None
        found = examine(model, self.settings, self._registry, built, locked)
        return replace(found, detail=self.mode.detail, shows_formulas=self.mode.formulas)

    def _change_budget(self, name: str) -> BudgetChanges:
        from pytest_bertsize.review.accept import lower_limits, raise_limits

        found = self.reviewed(name)
        if self.mode.verb == "update":
            return raise_limits(found, shared=len(self._list_beside(name)) > 1)
        return lower_limits(found)

    def changes_to_write(self, name: str) -> BudgetChanges:
        """Return the changes of a model's budget, with the model's block of the lock if the run writes the lock."""
        is_locked = self.mode.verb == "update" and self.lock
        return replace(self.changes(name), block=self.to_lock(name) if is_locked else None)

    def _list_beside(self, name: str) -> list[str]:
        """Return the names of all models that the table of this model declares."""
        return self.settings.declared_by(self.settings.models[name].table_key)

    def list_needed(self, names: Iterable[str]) -> list[str]:
        """Return the models to build for the given ones: all models of their tables if the run changes budgets."""
        if self.mode.verb is None:
            return [*names]
        return [*dict.fromkeys(beside for name in names for beside in self._list_beside(name))]

    def review(self, name: str, extra: tuple[Limit, ...] = ()) -> Review:
        """Review one declared model, also with ``extra`` limits; wait for its build."""
        subject = self.subject(name)
        if self.mode.verb != "update":
            return self._conclude(subject, extra)
        from pytest_bertsize.table.rewrite import limits_after, raised

        asked = [self.changes(each) for each in self._list_beside(name)]  # one table may declare several models
        changes = raised(change for each in asked for change in each.changes)
        budget = subject.model.budget._replace(limits=limits_after(subject.model.limits, changes))
        model = subject.model.replace(budget=budget)
        is_explained = bool(self.mode.reason) and any(each.asks_why for each in asked)
        if is_explained:
            model = model.replace(reason=self.mode.reason)
        found = self._conclude(replace(subject, model=model), extra)
        if is_explained and self._baseline and not self._baseline.is_asked_for:  # an earlier model may ask for the same
            found = replace(found, findings=tuple(each for each in found.findings if not each.asks_why))
        return found

    def _conclude(self, subject: Subject, extra: tuple[Limit, ...] = ()) -> Review:
        name = subject.model.name
        lock = None if self.mode.verb == "update" else self.lock
        accepted = Accepted(self._baseline, lock, self._plan(name))
        if self._result is None:
            return check.conclude_unbuilt(subject, extra, accepted, strict=self.mode.strict)
        subject, built = self._complete(subject)
        if isinstance(built, Built) and self.lock and lock is None:  # the lock is written, with the hidden parameters
            built = built._replace(hidden=())
        return check.conclude(subject, None if subject.errors else built, extra, accepted)

    def _complete(self, subject: Subject) -> tuple[Subject, Built | NotBuilt | None]:
        """Return a subject, with its closed form if that is derived from the build, and the build."""
        name, request = subject.model.name, subject.request
        built = self._result(name) if self._result and request else None
        if subject.awaits_build and isinstance(built, Built):
            subject = replace(self._examine(name, subject.model, built), request=request)
        return subject, built

    def to_lock(self, name: str) -> str:
        """Return a model's block of the lock; ``""`` if the model fails for anything but its budget."""
        subject, built = self._complete(self.subject(name))
        if self.review(name).verdict == "failed" or not isinstance(built, Built):
            return ""
        return render_model(name, subject.to_locked(built))

    def request_builds(self, helper: Helper, names: Iterable[str]) -> None:
        """Ask a helper process, with the table's interpreter, for the builds that the models ``names`` need."""
        if interpreter := self.settings.interpreter:
            helper.build_with(interpreter.path, interpreter.written)
        if helper.memory:
            helper.memory.agrees = self._agrees
        helper.ask([*self.find_requests(names).values()])

    def find_requests(self, names: Iterable[str]) -> dict[str, Request]:
        """Return the requests to build the models ``names``, and again with the former values of changed keys."""
        asked = [self.subject(name) for name in names] if self._result else []
        first = [each.request._replace(closed_form=self._hash_form(each)) for each in asked if each.request]
        plans = filter(None, (self._plan(each.model.name) for each in asked))
        return {each.name: each for each in (*first, *(again for plan in plans for again in plan.requests))}

    def _hash_form(self, subject: Subject) -> str:
        """Return the hash of a model's closed form; ``""`` without one, or if the run needs the built tensors too."""
        if subject.form is None or subject.stored or self.lock or self.mode.verb:
            return ""
        return sha256(repr(subject.form.terms).encode()).hexdigest()

    def _agrees(self, request: Request, built: Built) -> bool:
        """Return whether a built model equals the closed form whose hash its request has."""
        form = self.subject(request.name).form
        return form is not None and check.is_equal(form, built)
