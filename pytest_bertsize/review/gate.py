"""The gate: every declared model of a run, examined, built and reviewed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from pytest_bertsize.review import check
from pytest_bertsize.review.put_back import Accepted, fingerprint, planned

if TYPE_CHECKING:
    from pytest_bertsize.base.baseline import Baseline
    from pytest_bertsize.base.lock import Lock
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


Made = TypeVar("Made")


class WhenAsked(Mapping[str, Made]):
    """Something of each declared model, made when it is first asked for, and once."""

    def __init__(self, names: tuple[str, ...], make: Callable[[str], Made]) -> None:
        self._names = names
        self._make = make
        self._made: dict[str, Made] = {}

    def __getitem__(self, name: str) -> Made:
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


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
        """Nothing is examined yet: a worker of xdist pays for the models of its own tests alone.

        :param result: what became of a model that was asked for; ``None`` where nothing is built, and budgets are held
            against the closed form alone.
        :param lock: what the table's lock says; ``None`` where it names none.
        """
        self.settings = settings
        self.mode = mode
        self.baseline = baseline
        examined = partial(
            check.examine, settings=settings, registry=registry, formulas=mode.formulas, detail=mode.detail
        )
        self.subjects = WhenAsked(settings.names, lambda name: examined(settings.models[name]))
        self.lock = lock
        self._result = result
        plans = WhenAsked(settings.names, lambda name: planned(self.subjects[name], baseline, result))
        self._accepted_before = Accepted(None if mode.verb == "update" else lock, plans)
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

    def to_lock(self, name: str) -> str:
        """The block of a model for the lock, where a run writes it; ``""`` for one that fails for what is no budget."""
        from pytest_bertsize.base.lock import lock_model, render_model
        from pytest_bertsize.builder.messages import Built

        built = self._result(name) if self._result and self.subjects[name].request else None
        if self.review(name).verdict == "failed" or not isinstance(built, Built):
            return ""
        return render_model(name, lock_model(built, fingerprint(self.subjects[name])))

    def _concluded(self, subject: Subject, extra: tuple[Limit, ...] = ()) -> Review:
        if self._result is None:
            return check.conclude_unbuilt(subject, self.settings, extra, self.baseline, self._accepted_before)
        built = self._result(subject.model.name) if subject.request else None
        return check.conclude(subject, built, self.settings, extra, self.baseline, self._accepted_before)

    @property
    def requests(self) -> dict[str, Request]:
        """What there is to build: every model that the closed form has bounded, and those with keys put back."""
        wanted = {} if self._result is None else self.subjects
        found = {name: subject.request for name, subject in wanted.items() if subject.request}
        plans = [self._accepted_before.put_back[name] for name in wanted]
        again = (each for plan in plans if plan for each in plan.requests.values())
        return found | {each.name: each for each in again}
