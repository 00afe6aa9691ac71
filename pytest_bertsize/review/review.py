"""The review of one model; only this module computes the verdict. Pure: no files, no pytest."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from pytest_bertsize.builder.structure import list_modules
from pytest_bertsize.closed_forms import what_if
from pytest_bertsize.closed_forms.attribution import Attribution
from pytest_bertsize.findings import UNCHECKED, Finding, Kind, describe_limit
from pytest_bertsize.inventory import TOTAL, TRAINABLE, Inventory, parents_first
from pytest_bertsize.wording import exact, plural, printable, signed

if TYPE_CHECKING:
    from pytest_bertsize.base.baseline import Baseline
    from pytest_bertsize.base.lock import Lock
    from pytest_bertsize.base.project_at_commit import ModelAtCommit
    from pytest_bertsize.builder.messages import Answered
    from pytest_bertsize.closed_forms.derive import Derivation
    from pytest_bertsize.closed_forms.formula import Formula
    from pytest_bertsize.closed_forms.shapes import Shape
    from pytest_bertsize.closed_forms.what_if import Cost
    from pytest_bertsize.differences import Difference
    from pytest_bertsize.review.examine import Subject
    from pytest_bertsize.review.put_back import PutBack
    from pytest_bertsize.table.limits import Limit


class Accepted(NamedTuple):
    """The base and the lock that a model is compared with, and builds of the model with former values of keys."""

    baseline: Baseline | None = None
    lock: Lock | None = None
    put_back: PutBack | None = None  # the changed keys and their builds, if no closed form shows what each changes


class Measured(NamedTuple):
    """A quantity of one model."""

    name: str  # its key in the budget: bytes, flops, training_bytes or growth
    what: str  # the conditions of the count, as "float16, ties once", or "128 tokens, eager attention, …"
    actual: int
    expected: int | None  # the quantity by the closed form; None if there is no closed form
    components: Mapping[str, int] = MappingProxyType({})  # FLOPs by component at every level; empty for bytes
    buffers: int = 0  # the bytes of buffers in actual, which no closed form counts
    dtype: str = ""  # the dtype in which bytes is counted; "" for the other quantities
    base: int | None = None  # the value at the base; None without a base, or if unknown
    by_form: Mapping[str, int] = MappingProxyType({})  # FLOPs by component, by the closed form


class AgainstLock(Struct, frozen=True):
    """The differences of a model from its lock."""

    file: str
    is_there: bool  # True if the lock has the model
    changes: tuple[Difference, ...] = ()
    why: str = ""  # the probable cause of the differences


class Comparison(Struct, frozen=True):
    """A model as it was at the base, and the changes since."""

    revision: str
    commit: str
    said: tuple[str, ...]  # sentences on changes that a count does not show: a new model, a renamed file
    former: ModelAtCommit | None = None  # None if the model is new
    inventory: Inventory | None = None  # the base's tensors; None if the model is new, or cannot be counted there
    by: str = "closed form"  # the source of the base's count, "closed form" or "lock"; "" if it has none
    by_keys: Attribution = Attribution(())
    tensors: tuple[Difference, ...] = ()  # changes of tensors; none if both sides have a closed form, with its keys
    is_new: bool = False  # True if the base declares no such model
    grown: int = 0  # added parameters, over all components; the net change is grown - shrunk
    shrunk: int = 0


# kinds of errors, the most urgent first; the others are less urgent
_ORDER: list[Kind] = [*UNCHECKED, "read-otherwise", "off-closed-form", "over-budget", "under-budget", "over-growth"]


class Review(Struct, frozen=True, dict=True):
    """The findings about one model, and the verdict on it."""

    subject: Subject  # the model as it is known before its build
    budget: tuple[Limit, ...]  # the limits of table and marker; without any, only the closed form is compared
    findings: tuple[Finding, ...]
    unbuilt: bool = False  # True if the run builds nothing: the closed form, else the lock, is compared with the budget
    uncounted: bool = False  # True if neither build, closed form nor lock counts the model: its budget is not checked
    actual: Inventory | None = None  # the built inventory, or that of the lock if nothing is built
    components: Mapping[str, str] | None = None  # of each tensor of today and of the base; None with a closed form
    answered: tuple[Answered, ...] = ()  # origins of configs that the project's code names by their name on the hub
    seconds_ago: int | None = None  # seconds since an earlier run built the model; None if this run did
    measured: tuple[Measured, ...] = ()  # limited quantities other than parameter counts
    locked: AgainstLock | None = None  # None if the table names no lock, or the model was not compared with it
    comparison: Comparison | None = None  # the comparison with the base; None if the run has no base

    def with_findings(self, *findings: Finding) -> Review:
        return replace(self, findings=(*self.findings, *findings)) if findings else self

    @property
    def name(self) -> str:
        return self.subject.model.name

    @property
    def expected(self) -> Inventory | None:
        """The inventory by the closed form; ``None`` without a closed form, or if the config was refused."""
        return self.subject.form

    @property
    def held(self) -> Inventory | None:
        """The inventory compared with the budget: the built one, else that of the closed form, else of the lock."""
        return (self.expected or self.actual) if self.unbuilt else self.actual

    @property
    def base(self) -> Inventory | None:
        """The inventory at the base, by the closed form or the lock."""
        return self.comparison.inventory if self.comparison else None

    @cached_property
    def errors(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.severity == "error")

    @property
    def is_off_closed_form(self) -> bool:
        return any(finding.kind == "off-closed-form" for finding in self.findings)

    @property
    def freezes_at_will(self) -> bool:
        """Return whether the caller of ``check_model`` may freeze tensors: no factory and no adapter is declared."""
        return self.subject.in_hand is not None and not (self.subject.model.factory or self.subject.model.adapter)

    @property
    def verdict(self) -> Literal["passed", "failed", "uncounted"]:
        if self.uncounted and not self.errors:
            return "uncounted"
        compared = self.expected is not None or not self.subject.model.closed_form
        return "passed" if compared and self.held is not None and not self.errors else "failed"

    @property
    def model(self) -> Any:
        """The module that ``check_model`` got, else one that is built now, on the meta device in this process.

        It raises RuntimeError if the check did not build the model, or did so by another interpreter.
        """
        if self.subject.in_hand is not None:
            return self.subject.in_hand
        request, interpreter = self.subject.request, self.subject.settings.interpreter
        if request is None or self.actual is None:
            raise RuntimeError(self.headline)
        if interpreter:
            where = printable(interpreter.written)
            raise RuntimeError(f"{self.name} is built by {where}, so this process has no module of it")
        from pytest_bertsize.builder.child.making import instantiate

        return instantiate(request)

    @property
    def headline(self) -> str:
        """One line: the count of a model that passed, else the most urgent error, or why nothing counts the model."""
        if self.held and self.verdict == "passed":
            how = f" by {'its lock' if self.actual else 'the closed form'}, not built" if self.unbuilt else ""
            return f"{self.name}: {exact(self.held.unique)} parameters{how}"
        return f"{self.name}: {self.describe_failure()}"

    @property
    def worst_error(self) -> Finding | None:
        """The most urgent error: what prevents a check, then by kind; of one kind, the total, then the most excess."""

        def rank(finding: Finding) -> tuple[int, bool, int]:
            kind = _ORDER.index(finding.kind) if finding.kind in _ORDER else len(_ORDER)
            bound = finding.expected if finding.limit is None else finding.limit
            return kind, finding.component != TOTAL, -abs((finding.actual or 0) - (bound or 0))

        return min(self.errors, key=rank, default=None)

    def describe_failure(self) -> str:
        """Return the most urgent error, and the number of others; without an error, why nothing counts the model."""
        if (worst := self.worst_error) is None:
            return next((each.message for each in self.findings if each.kind == "build-failed"), "was not built")
        rest = f"; {plural(len(self.errors) - 1, 'more finding')}" if self.errors[1:] else ""
        actual, limit, expected = worst.actual, worst.limit, worst.expected
        is_off = worst.kind == "off-closed-form"
        said = worst.message if is_off else worst.sentence
        if actual is not None and limit is not None:
            said = describe_limit(worst.component, actual, limit)
        elif is_off and actual is not None and expected and actual != expected:
            counts = f"{exact(actual)}, closed form {exact(expected)} ({signed(actual - expected)})"
            said = f"{worst.component} {counts}"
        return f"{said}{rest}"

    # additional content of reports

    @cached_property
    def formulas(self) -> Mapping[str, Formula]:
        """Formulas, if the report shows them or the model differs from its closed form."""
        form = self.subject.form
        return form.formulas() if form and (self.subject.shows_formulas or self.is_off_closed_form) else {}

    @property
    def _varied(self) -> Derivation | None:
        """The closed form, to try other sizes; ``None`` without detail or a count, or if the model differs from it."""
        is_varied = self.subject.detail and self.held and not self.is_off_closed_form
        return self.subject.derivation if is_varied else None

    @cached_property
    def fits(self) -> tuple[Shape, ...]:
        """Sizes with which the model would pass an exceeded budget, the nearest to today's sizes first."""
        found = self._varied
        if found is None or not any(each.kind == "over-budget" for each in self.findings):
            return ()
        from pytest_bertsize.closed_forms.shapes import find_fitting_shapes

        return find_fitting_shapes(found, self.budget)

    @property
    def costs(self) -> tuple[Cost, ...]:
        """The costs of the usual next changes, by the closed form."""
        return what_if.list_costs(self._varied) if self._varied else ()

    @property
    def known_components(self) -> list[str]:
        """The components that a budget may name: those of the family, or of the class if it has no closed form."""
        if self.subject.form or self.held is None:
            return self.subject.component_names
        return parents_first({**self.held.components, **dict.fromkeys(list_modules(self.held.by_name))})

    @property
    def component_names(self) -> list[str]:
        """Every component of the closed form, the build, the base and the limits, parents first; without the totals."""
        sides = (self.expected, self.actual, self.base)
        names = dict.fromkeys(name for side in sides if side for name in side.components)
        not_components = {TOTAL, TRAINABLE, *names}
        counted = (limit.component for limit in self.budget if limit.measure is None)
        return parents_first([*names, *(component for component in counted if component not in not_components)])

    def find_measured(self, name: str) -> Measured | None:
        """Return the measured quantity by its name, as in ``bytes``; ``None`` if it was not measured."""
        return next((each for each in self.measured if each.name == name), None)

    def limit(self, component: str) -> Limit | None:
        """Return the limit on a component with the lowest maximum: limits may be in the table and in a marker."""
        limits = [limit for limit in self.budget if limit.component == component]
        return min(limits, key=lambda each: (each.maximum is None, each.maximum, -(each.minimum or 0)), default=None)
