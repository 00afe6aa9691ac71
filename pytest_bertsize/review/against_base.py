"""Compare a model with the base: its growth, limits that the base already exceeded, and loosened limits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pytest_bertsize.base.comparison import WRITTEN, Today, compare_with_base
from pytest_bertsize.base.loosening import (
    REASON,
    Row,
    find_not_compared,
    judge_reason,
    list_loosened,
    list_moved_components,
    make_findings,
)
from pytest_bertsize.findings import Finding, Severity
from pytest_bertsize.inventory import TOTAL, TRAINABLE, Inventory
from pytest_bertsize.review.limits import refuse_unknown_component
from pytest_bertsize.review.measures import Measurable, Measured, dtype_of, measure_one
from pytest_bertsize.table.limits import (
    FLOPS,
    GROWTH,
    AsBytes,
    Flops,
    Growth,
    Limit,
    Measure,
    growth_that_passes,
    most_growth,
    share_of,
)
from pytest_bertsize.wording import BadValue, exact

if TYPE_CHECKING:
    from pytest_bertsize.base.baseline import Baseline
    from pytest_bertsize.base.project_at_commit import ModelAtCommit
    from pytest_bertsize.review.check import Accepted
    from pytest_bertsize.review.review import Review

GIVE_ONE = "name one: pytest --bert-budget --bert-budget-base=main, or bertsize check --base main"
TOKENS = 128
"""The tokens in a forward pass without a limit on FLOPs; a model with fewer positions gets one for each position."""


def hold_against_base(found: Review, accepted: Accepted) -> Review:
    """Add to a review the changes since the base, exceeded limits on growth, and loosened limits."""
    subject, baseline = found.subject, accepted.baseline
    former = baseline.find_former(found.name) if baseline else None
    today = Today(subject.model, subject.config, subject.derivation, found.actual, found.components, accepted.put_back)
    found = replace(found, comparison=compare_with_base(today, baseline))
    if former and found.base and found.held:
        measured = [*_add_base(found, former, found.base), *_measure_changes(found, former, found.held, found.base)]
        found = replace(found, measured=(*measured,))
    found = replace(found, findings=tuple(_mark_already_broken(each, found, baseline) for each in found.findings))
    found = _hold_growth(found, baseline)
    if baseline is None:
        return found
    loose: list[Finding] = []
    if former:
        loose = make_findings(_list_loosened(found, former, baseline), former.model, subject.model)
    return found.with_findings(*loose, *find_not_compared(subject.model, baseline))


# bytes and FLOPs of the base, which is not built, follow from its parameters and its closed form


def _add_base(found: Review, former: ModelAtCommit, base: Inventory) -> Iterator[Measured]:
    """Yield each limited quantity with its value at the base, which is ``None`` if unknown."""
    for each in found.measured:
        limit = found.limit(each.name)
        is_known = not each.buffers and (each.name != FLOPS or each.expected in {None, each.actual})
        then = _measure_at_base(limit.measure, former, base) if limit and limit.measure and is_known else None
        yield each._replace(base=then.actual if then else None)


def _measure_at_base(measure: Measure, former: ModelAtCommit, base: Inventory) -> Measured | None:
    return _measure_if_known(measure, Measurable(base, former.form, former.written_keys))


def _measure_if_known(measure: Measure, model: Measurable) -> Measured | None:
    try:
        return measure_one(measure, model)
    except BadValue:
        return None


def _measure_changes(found: Review, former: ModelAtCommit, held: Inventory, base: Inventory) -> Iterator[Measured]:
    """Yield bytes and FLOPs that changed since the base, except a quantity that was measured for its limit."""
    subject = found.subject
    today = Measurable(held, subject.form, subject.written_keys)
    asked: list[Measure] = [AsBytes(None, "unique")]
    is_as_derived = not (found.actual and found.expected and found.actual.own != found.expected.own)
    is_changed = held.unique != base.unique or bool(found.comparison and found.comparison.moved)
    if is_changed and is_as_derived:
        positions = (side.form.dims.sizes.get("P") for side in (subject.derivation, former.derivation) if side)
        asked.append(Flops(min([TOKENS, *filter(None, positions)])))
    for measure in asked:
        now, then = _measure_if_known(measure, today), _measure_at_base(measure, former, base)
        if now and then and now.actual != then.actual and not any(now.name == each.name for each in found.measured):
            if isinstance(measure, Flops):
                now = Measured(now.name, f"{now.what}, by the closed form", now.actual, now.actual)
            yield now._replace(base=then.actual)


# limits


def _mark_already_broken(finding: Finding, found: Review, baseline: Baseline | None) -> Finding:
    """Add to a finding on an exceeded limit the excess at the base, and whether ``already_over`` lets it pass."""
    if finding.kind != "over-budget" or finding.actual is None or finding.limit is None:
        return finding
    model = found.subject.model
    is_passed = model.budget.passes_already_over and finding.table_key is not None  # a marker tightens
    component, measured = finding.component or "", found.find_measured(finding.component or "")
    before = measured.base if measured else found.base.count_of(component) if found.base else None
    if before is None or baseline is None:
        unknown = 'its count at the base is unknown, so already_over = "pass" does not apply'
        why = unknown if baseline and baseline.commit else f'already_over = "pass" needs a base: {GIVE_ONE}'
        return finding._replace(fix=f"{finding.fix}; {why}") if is_passed else finding
    if before <= finding.limit:
        return finding
    change = finding.actual - before
    verb = "adds" if change >= 0 else "removes"
    already = f"already {exact(before - finding.limit)} over at {baseline.revision}, and this change {verb}"
    finding = finding._replace(base=before, message=f"{finding.message}; {already} {exact(abs(change))}")
    if change > 0 or finding.table_key is None:
        return finding
    if is_passed:
        return finding._replace(
            severity="warning", fix='it passes by budget.already_over = "pass", as it has not grown'
        )
    way_out = 'to let it pass as long as it does not grow, write budget.already_over = "pass"'
    return finding._replace(fix=f"{finding.fix}; {way_out}")


def _hold_growth(found: Review, baseline: Baseline | None) -> Review:
    """Compare the growth of components since the base with the limits on their growth."""
    parts = {limit: limit.measure.part for limit in found.budget if isinstance(limit.measure, Growth)}
    held, base = found.held, found.base
    if not parts or held is None:
        return found
    there = {TOTAL, TRAINABLE, *held.components, *(base.components if base else ())}
    unknown = [limit for limit, part in parts.items() if part not in there and part not in found.known_components]
    if unknown:
        return found.with_findings(*(refuse_unknown_component(parts[limit], limit, found) for limit in unknown))
    if baseline is None or base is None:
        return found.with_findings(_explain_unheld_growth(next(iter(parts)), found, baseline))
    findings, budget, measured = [], [*found.budget], [*found.measured]
    for limit, part in parts.items():
        before, added = base.count_of(part), held.count_of(part) - base.count_of(part)
        most = most_growth(limit.written, before)
        what = f"{part} {exact(before)} at {baseline.revision}, at most {exact(most)} more"
        measured.append(Measured(limit.component, what, max(added, 0), None))
        budget[budget.index(limit)] = limit._replace(maximum=most)
        if added > most:
            numbers = f" ({exact(most)} of {exact(before)})" if share_of(limit.written) is not None else ""
            grew = f"{part} grew by {exact(added)} since {baseline.revision}"
            over = f"{grew}, {exact(added - most)} over its limit of {limit}{numbers}"
            accept = (
                f"to accept it, write {growth_that_passes(added, before, limit.written)} "
                'with a new reason = "…", and restore the old value in a later change'
            )
            findings.append(limit.make_finding("over-growth", over, accept, actual=added)._replace(limit=most))
    return replace(found, budget=(*budget,), measured=(*measured,)).with_findings(*findings)


def _explain_unheld_growth(limit: Limit, found: Review, baseline: Baseline | None) -> Finding:
    """Return a finding that growth cannot be checked: an error, unless the model is new or has a new reason."""
    model = found.subject.model
    severity: Severity = "error"
    asks_why = False
    if baseline is None:
        why, fix = "this run has none", GIVE_ONE
    elif baseline.commit is None:
        why, fix = f"{baseline.revision} cannot be read: {baseline.problem}", GIVE_ONE
    else:
        former, mistake = baseline.find_former(model.name), baseline.find_mistake(model)
        way_out = f"compare with a commit in which it can be counted, or {REASON}"
        if not model.closed_form and not (former and former.locked):
            way_out = f"{REASON}, and commit a lock, which later commits are compared with: {WRITTEN}"
        if unknown := former or mistake:
            reason = former.model.reason if former else mistake.reason if mistake else ""
            severity, fix = judge_reason(model, reason, way_out)
            why = f"its count at {baseline.revision} is unknown: {unknown.problem}"
            asks_why = severity == "error"
        else:
            severity, fix = "note", ""
            why = f"{baseline.revision} does not declare this model: it is new, and has no growth to check"
    message = f"budget.{GROWTH} needs a base, and {why}"
    finding = Finding("not-compared", message, fix, severity, GROWTH, asks_why=asks_why)
    return finding._replace(file=limit.file, table_key=limit.table_key)


# loosened limits


def _list_loosened(found: Review, former: ModelAtCommit, baseline: Baseline) -> Iterator[Row]:
    """Yield a row for each limit that is looser than at the base, and for a lock that is no longer strict."""
    subject, before = found.subject, former.model
    model, settings = subject.model, subject.settings
    if subject.form is None and found.actual and before.components != model.components:
        from pytest_bertsize.review.by_structure import count_by_components

        limited = [limit.component for limit in model.limits if limit.measure is None and limit.maximum is not None]
        then = count_by_components(before.components, found.actual, limited)
        yield from list_moved_components(baseline.revision, (then, found.actual), limited)
    was = _read_dtype(former.written_keys) if former.config else None  # an unreadable config names no dtype
    dtypes = was, _read_dtype(subject.written_keys)
    yield from list_loosened(before, model, baseline.revision, dtypes, found.base)
    if (baseline.is_strict or before.lock) and not (model.lock or (settings.lock and settings.lock.strict)):
        declares = f"{baseline.revision} declares strict = true (a difference from the lock fails)"
        yield f"{declares}, and this table does not", None, ()


def _read_dtype(config: dict[str, object]) -> str | None:
    """Return the dtype of the weights by the config; ``None`` if the config names two dtypes, or an unknown one."""
    try:
        return dtype_of(config)
    except BadValue:
        return None
