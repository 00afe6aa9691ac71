"""What the base has a say in: what a model may have grown by since, and which limits it broke there already. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_bertsize.base.comparison import WRITTEN
from pytest_bertsize.base.loosening import REASON, explained
from pytest_bertsize.findings import Finding
from pytest_bertsize.inventory import TOTAL, TRAINABLE
from pytest_bertsize.review import measures
from pytest_bertsize.review.limits import refuse_unknown_component
from pytest_bertsize.table.model import GROWTH, Growth, growth_that_passes, most_growth, share_of
from pytest_bertsize.wording import exact

if TYPE_CHECKING:
    from pytest_bertsize.base.baseline import Baseline
    from pytest_bertsize.findings import Severity
    from pytest_bertsize.review.review import Review
    from pytest_bertsize.table.model import Limit, Model

GIVE_ONE = "give it one: pytest --bert-budget --bert-budget-base=main, or bertsize check --base main"


def since_base(
    found: Review, model: Model, baseline: Baseline | None, known_components: Callable[[], list[str]]
) -> Review:
    """Hold growth, and say of each broken limit whether the base had broken it.

    :param found: with its comparison.
    :param known_components: what a budget may name.
    """
    findings = (_with_the_base(each, found, model, baseline) for each in found.findings)
    return _growth_held(replace(found, findings=tuple(findings)), model, baseline, known_components)


# growth


def _growth_held(
    found: Review, model: Model, baseline: Baseline | None, known_components: Callable[[], list[str]]
) -> Review:
    parts = {limit: limit.measure.part for limit in found.budget if isinstance(limit.measure, Growth)}
    held, base = found.held, found.base
    if not parts or held is None:
        return found
    there = {TOTAL, TRAINABLE, *held.components, *(base.components if base else ())}
    unknown = [limit for limit, part in parts.items() if part not in there and part not in known_components()]
    if unknown:
        known = [TOTAL, TRAINABLE, *known_components()]
        nobody_has = (refuse_unknown_component(parts[limit], limit, found, known) for limit in unknown)
        return replace(found, findings=(*found.findings, *nobody_has))
    if baseline is None or base is None:
        return replace(found, findings=(*found.findings, _not_held(found, model, baseline)))
    findings, budget, measured = [], [*found.budget], [*found.measured]
    for limit, part in parts.items():
        before, added = base[part], held[part] - base[part]
        most = most_growth(limit.written, before)
        what = f"{part} {exact(before)} at {baseline.revision}, at most {exact(most)} more"
        measured.append(measures.Measured(limit.component, what, max(added, 0), None))
        budget[budget.index(limit)] = limit._replace(maximum=most)
        if added > most:
            findings.append(_over_growth(limit, added, most, before, baseline.revision))
    return replace(found, budget=(*budget,), measured=(*measured,), findings=(*found.findings, *findings))


def _over_growth(limit: Limit, added: int, most: int, before: int, revision: str) -> Finding:
    assert isinstance(limit.measure, Growth)
    numbers = f" ({exact(most)} of {exact(before)})" if share_of(limit.written) is not None else ""
    grew = f"{limit.measure.part} grew by {exact(added)} since {revision}"
    return Finding(
        "over-growth",
        f"{grew}, {exact(added - most)} over its limit of {limit}{numbers}",
        f"to accept it, write {growth_that_passes(added, before, limit.written)} "
        'with a new reason = "…", and take it back in a later change',
        component=limit.component,
        actual=added,
        limit=most,
        file=limit.file,
        table_key=limit.table_key,
    )


def _not_held(found: Review, model: Model, baseline: Baseline | None) -> Finding:
    """Why growth is not held: an error, unless the model is new, or today's table says why."""
    first = next(limit for limit in found.budget if isinstance(limit.measure, Growth))

    def said(why: str, fix: str, severity: Severity = "error") -> Finding:
        message = f"budget.{GROWTH} is held against a base, and {why}"
        return Finding("not-compared", message, fix, severity, GROWTH, file=first.file, table_key=first.table_key)

    if baseline is None:
        return said("this run has none", GIVE_ONE)
    if baseline.commit is None:
        return said(f"{baseline.revision} cannot be read: {baseline.problem}", GIVE_ONE)
    if former := baseline.find_former(model.name):
        reason, problem = former.model.reason, former.problem
    elif mistake := baseline.find_mistake(model):
        reason, problem = mistake.reason, mistake.problem
    else:
        return said(f"{baseline.revision} declares no such model: it is new, and nothing is held", "", "note")
    way_out = f"compare with a commit in which it can be counted, or {REASON}"
    if not model.closed_form and not (former and former.locked):
        way_out = f"{REASON}, and commit a lock with it, which later ones are held against: {WRITTEN}"
    severity, fix = explained(model, reason, way_out)
    return said(f"what it was at {baseline.revision} is not known: {problem}", fix, severity)


# what was broken already


def _with_the_base(finding: Finding, found: Review, model: Model, baseline: Baseline | None) -> Finding:
    """A limit that is broken: whether it was at the base, by how much, and whether that passes."""
    if finding.kind != "over-budget" or finding.actual is None or finding.limit is None:
        return finding
    is_passed = model.passes_already_over and finding.table_key is not None  # a marker tightens
    limit = next(each for each in found.budget if _place(each) == _place(finding))
    before = _before(limit, found)
    if before is None or baseline is None:
        untold = 'what it was at the base is not known, and already_over = "pass" lets nothing pass'
        why = untold if baseline and baseline.commit else f'already_over = "pass" needs a base: {GIVE_ONE}'
        return finding._replace(fix=f"{finding.fix}; {why}") if is_passed else finding
    if before <= finding.limit:
        return finding
    change = finding.actual - before
    verb = "adds" if change >= 0 else "takes"
    said = f"already {exact(before - finding.limit)} over at {baseline.revision}, and this change {verb}"
    finding = finding._replace(base=before, message=f"{finding.message}; {said} {exact(abs(change))}")
    if change > 0 or finding.table_key is None:
        return finding
    if is_passed:
        return finding._replace(
            severity="warning", fix='it passes by budget.already_over = "pass", as it has not grown'
        )
    way_out = 'to let it pass as long as it does not grow, write budget.already_over = "pass"'
    return finding._replace(fix=f"{finding.fix}; {way_out}")


def _place(of: Limit | Finding) -> tuple[object, ...]:
    return of.component, of.file, of.line, of.table_key


def _before(limit: Limit, found: Review) -> int | None:
    """What the limit would have held at the base; ``None`` where nobody can tell."""
    if limit.measure is None:
        return found.base[limit.component] if found.base else None
    return next(each.base for each in found.measured if each.name == limit.component)
