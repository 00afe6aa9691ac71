"""Inventories × budget → Review. Pure: no files, no torch, no pytest; the verdict is computed here and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from pytest_bertsize.findings import UNCHECKED, Finding, Kind
from pytest_bertsize.inventory import TOTAL, TRAINABLE, Inventory, parents_first
from pytest_bertsize.review.limits import check_limits
from pytest_bertsize.wording import exact, plural, signed

if TYPE_CHECKING:
    from pytest_bertsize.base.comparison import Comparison
    from pytest_bertsize.builder.messages import Answered
    from pytest_bertsize.checkpoint.headers import Stored
    from pytest_bertsize.closed_forms.formula import Formula
    from pytest_bertsize.closed_forms.shapes import Shape
    from pytest_bertsize.closed_forms.what_if import Cost
    from pytest_bertsize.review.against_lock import AgainstLock
    from pytest_bertsize.review.measures import Measured
    from pytest_bertsize.review.off_closed_form import OwnClass
    from pytest_bertsize.table.model import Limit


@dataclass(frozen=True)
class Review:
    """What is known of one model, and the verdict on it."""

    name: str
    family: str
    architecture: str
    config: str
    """``models/config.json`` or ``train.json#model.bert_config``."""
    config_sha256: str
    symbols: Mapping[str, int]
    """``{"V": 30522, "D": 768, …}``."""
    expected: Inventory | None
    """By the closed form; ``None`` when the config was refused."""
    actual: Inventory | None
    """By the built model; ``None`` when it was not built."""
    budget: tuple[Limit, ...]
    """Empty: counted and compared with the closed form, held to no limit."""
    findings: tuple[Finding, ...]
    formulas: Mapping[str, Formula] = field(default_factory=dict, repr=False)
    closed_form: bool = True
    """``False``: there is none to compare with, by the table's own word."""
    unbuilt: bool = False
    """Whether the run builds nothing: what is held to the budget is what the closed form says."""
    detail: bool = True
    """Whether anybody is shown its tensors one by one."""
    own_class: bool = False
    """Whether a function of the project builds it."""
    unrolled: int | None = None
    """By the closed form: ties written out, and a copy of a shared layer for each pass through it."""
    comparison: Comparison | None = None
    """With the base; ``None``: the run has none."""
    costs: tuple[Cost, ...] = ()
    """Of the usual next changes, by the closed form."""
    fits: tuple[Shape, ...] = ()
    """For a budget that is broken, shapes that hold it, the nearest to today's first."""
    measured: tuple[Measured, ...] = ()
    """What its budget limits beside parameter counts."""
    stored: Stored | None = None
    """What its checkpoint holds; ``None`` where none is declared."""
    published: tuple[Answered, ...] = ()
    """Where its configs are from that were named as the hub names them: by ``config``, and by code of the project."""
    components: Mapping[str, str] | None = field(default=None, repr=False, compare=False)
    """Of each tensor of today and of the base, where no closed form says it."""
    locked: AgainstLock | None = None
    """``None``: the table names no lock, or nothing was built to hold against it."""
    build: Callable[[], Any] | None = field(default=None, repr=False, compare=False)

    @cached_property
    def errors(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.severity == "error")

    @cached_property
    def failed_components(self) -> frozenset[str | None]:
        """What an error is about."""
        return frozenset(finding.component for finding in self.errors)

    @property
    def held(self) -> Inventory | None:
        """What the budget is held against: what was built, or what the closed form says where nothing is built."""
        return self.expected if self.unbuilt else self.actual

    @property
    def verdict(self) -> Literal["passed", "failed"]:
        compared = self.expected is not None or not self.closed_form
        return "passed" if compared and self.held is not None and not self.errors else "failed"

    @property
    def model(self) -> Any:
        """The module itself, built on the meta device in this process: torch and transformers are imported now.

        :raises RuntimeError: when the model was not built for the check either.
        """
        if self.build is None or self.actual is None:
            raise RuntimeError(self.headline)
        return self.build()

    @property
    def headline(self) -> str:
        """One line that stands alone: model, component, actual, limit, signed delta."""
        if self.held and self.verdict == "passed":
            how = " by the closed form, not built" if self.unbuilt else ""
            return f"{self.name}: {exact(self.held.unique)} parameters{how}"
        return f"{self.name}: {self.describe_failure()}"

    def describe_failure(self, *, with_fix: bool = True) -> str:
        """Return what fails the model: the most urgent error, and how many others there are."""
        if not self.errors:
            return "was not built"
        worst = min(self.errors, key=_rank_finding)
        rest = f"; {plural(len(self.errors) - 1, 'more finding')}" if self.errors[1:] else ""
        return f"{_shorten_finding(worst if with_fix else worst._replace(fix=''))}{rest}"

    @property
    def component_names(self) -> list[str]:
        """Every component that any side has or that a limit names, parents first; without the totals."""
        names = {
            **(self.expected.components if self.expected else {}),
            **(self.actual.components if self.actual else {}),
            **(self.base.components if self.base else {}),
        }
        not_components = {TOTAL, TRAINABLE, *names}
        counted = (limit.component for limit in self.budget if limit.measure is None)
        limited = [component for component in counted if component not in not_components]
        return parents_first([*names, *limited])

    @property
    def base(self) -> Inventory | None:
        """What the base counts to by the closed form."""
        return self.comparison.inventory if self.comparison else None

    def limit(self, component: str) -> Limit | None:
        """The limit on a component; the tightest, where a marker adds to the table."""
        return _tightest_limit(self._limits.get(component, []))

    @cached_property
    def _limits(self) -> Mapping[str, list[Limit]]:
        found: dict[str, list[Limit]] = {}
        for limit in self.budget:
            found.setdefault(limit.component, []).append(limit)
        return found


def review_built(
    subject: Review, actual: Inventory, known_components: Callable[[], list[str]], own: OwnClass | None = None
) -> Review:
    """Compare a built model with its closed form and its budget.

    :param subject: what is known before the build; its ``expected`` is set, unless it has a budget alone.
    :param known_components: what a limit may name although this architecture does not have it; asked when one does.
    """
    if subject.closed_form and subject.expected is None:
        raise ValueError("a model without a closed form cannot be compared with it")
    findings = [*subject.findings]
    if subject.expected:
        from pytest_bertsize.review.off_closed_form import compare_with_closed_form

        findings += compare_with_closed_form(subject.expected, actual, subject.formulas, subject.symbols, own)
    findings += check_limits(subject, actual, known_components)
    return replace(subject, actual=actual, findings=tuple(findings))


def review_unbuilt(subject: Review, known_components: Callable[[], list[str]]) -> Review:
    """Compare what the closed form says with the budget, where the run builds nothing."""
    limits = check_limits(subject, subject.expected, known_components) if subject.expected else []
    return replace(subject, unbuilt=True, findings=(*subject.findings, *limits))


def _tightest_limit(limits: list[Limit]) -> Limit | None:
    if len(limits) < 2:  # noqa: PLR2004
        return limits[0] if limits else None
    upper = min((each for each in limits if each.maximum is not None), key=lambda each: each.maximum or 0, default=None)
    lower = max((each for each in limits if each.minimum is not None), key=lambda each: each.minimum or 0, default=None)
    if upper is None or lower is None or upper is lower:
        return upper or lower
    written = {"min": lower.bounds[0], "max": upper.bounds[1]}
    return upper._replace(minimum=lower.minimum, written=written)


_ORDER: tuple[Kind, ...] = (*UNCHECKED, "read-otherwise", "over-budget", "under-budget", "over-growth")


def _rank_finding(finding: Finding) -> tuple[int, bool, int]:
    """The headline is what kept the model from being checked; else the total; else the largest overshoot."""
    kind = _ORDER.index(finding.kind) if finding.kind in _ORDER else len(_ORDER)
    bound = finding.expected if finding.limit is None else finding.limit
    return (kind, finding.component != TOTAL, -abs((finding.actual or 0) - (bound or 0)))


def _shorten_finding(finding: Finding) -> str:
    if finding.actual is not None and finding.limit is not None:
        delta = signed(finding.actual - finding.limit)
        return f"{finding.component} {exact(finding.actual)}, limit {exact(finding.limit)} ({delta})"
    counted = finding.actual is not None and finding.actual != finding.expected
    if finding.kind == "off-closed-form" and counted and finding.actual is not None and finding.expected is not None:
        delta = signed(finding.actual - finding.expected)
        return f"{finding.component} {exact(finding.actual)}, closed form {exact(finding.expected)} ({delta})"
    return finding.sentence
