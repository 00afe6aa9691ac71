"""Compare a model with the base: what changed, by component and by key, its growth, and limits that were loosened."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from msgspec.structs import replace

from pytest_bertsize.base.project_at_commit import describe_move
from pytest_bertsize.builder import structure
from pytest_bertsize.builder.messages import Built
from pytest_bertsize.closed_forms.attribution import Attribution, Moved, attribute, came_and_went, difference
from pytest_bertsize.config.keys import IMPLEMENTATIONS
from pytest_bertsize.differences import Difference, compare_inventories
from pytest_bertsize.findings import Finding, Kind, Severity
from pytest_bertsize.inventory import TOTAL, TRAINABLE, Inventory
from pytest_bertsize.quantity import LARGEST
from pytest_bertsize.review.limits import Measurable, measure_one, refuse_unknown_component
from pytest_bertsize.review.put_back import CODE, MOST_NAMED, divide_change
from pytest_bertsize.review.review import Accepted, Comparison, Measured, Review
from pytest_bertsize.table.limits import (
    ALREADY_OVER,
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
from pytest_bertsize.wording import BadValue, exact, listed, printable, shown, visible

if TYPE_CHECKING:
    from pytest_bertsize.base.baseline import Baseline
    from pytest_bertsize.base.project_at_commit import ModelAtCommit
    from pytest_bertsize.table.model import Model

GIVE_ONE = "name one: pytest --bert-budget --bert-budget-base=main, or bertsize check --base main"
REASON = 'say why in the same change: reason = "…"'
WRITTEN = 'lock = "bertsize.lock" in [tool.bertsize], written by bertsize accept --reason "…"'
TOKENS = 128  # the tokens in a forward pass without a limit on FLOPs, or as many as the model has positions
Row: TypeAlias = tuple[str, str | None, tuple[str, ...]]  # a loosening's message, component, and key in the table
_IDENTITY = {"architectures", "model_type", "id2label", "label2id", "num_labels", *IMPLEMENTATIONS}


def hold_against_base(found: Review, accepted: Accepted) -> Review:
    """Add to a review the changes since the base, exceeded limits on growth, and loosened limits."""
    baseline = accepted.baseline
    former = baseline.find_former(found.name) if baseline else None
    if baseline and baseline.commit:
        found = replace(found, comparison=_compare(found, baseline, baseline.commit, former, accepted))
    if former and found.base and found.held:
        found = replace(found, measured=(*_measure_changes(found, former, found.held, found.base),))
    found = replace(found, findings=tuple(_mark_already_broken(each, found, baseline) for each in found.findings))
    found = _hold_growth(found, baseline)
    if baseline is None:
        return found
    loosened = _find_loosened(found, former, baseline) if former else ()
    return found.with_findings(*loosened, *_find_not_compared(found.subject.model, baseline, former))


# what changed


def _compare(
    found: Review, baseline: Baseline, commit: str, former: ModelAtCommit | None, accepted: Accepted
) -> Comparison:
    model, revision, derivation = found.subject.model, baseline.revision, found.subject.derivation
    if former is None:
        is_new = baseline.find_mistake(model) is None
        why = f"new: {revision} declares no such model" if is_new else f"its table at {revision} cannot be read"
        return Comparison(revision, commit, (why,), is_new=is_new)
    by_keys, notes, tensors = Attribution(()), list[str](), list[Difference]()
    base: Inventory | None = former.form
    by = "closed form" if base else ""
    is_known = derivation is not None or found.components is not None  # else the names of its modules are unknown
    if former.locked and is_known and not (former.derivation and derivation):
        by, base = "lock", _add_components(found, Built(former.locked.tensors, {}))
        if found.actual:
            tensors = compare_inventories(base, found.actual)
        if found.actual and accepted.put_back:
            by_keys, unknown = divide_change(accepted.put_back, base.own, found.actual, partial(_add_components, found))
            if not any(each.count for each in tensors):  # other names, and no count
                by_keys, unknown = replace(by_keys, moved=tuple(row for row in by_keys.moved if row.key != CODE)), ""
            notes = [unknown] if unknown else []
    else:
        if former.derivation and derivation:
            by_keys = attribute(former.derivation, derivation)
            code = difference(found.actual.own, derivation.form.own) if found.actual else {}
            by_keys = replace(by_keys, moved=(*by_keys.moved, *([Moved(CODE, "", "", code)] if code else [])))
        notes = [*_list_notes(found, former, by_keys, revision)]
    now = found.actual or found.expected
    grown, shrunk = came_and_went(now.own, base.own) if now and base else (0, 0)
    said = (*describe_move(former.model, model, revision), *notes)
    return Comparison(revision, commit, said, former, base, by, by_keys, (*tensors,), grown=grown, shrunk=shrunk)


def _add_components(found: Review, built: Built) -> Inventory:
    """Return the tensors of another build of the model, with today's components."""
    if found.subject.form:
        return structure.inventory_of(built, found.subject.form)
    known = found.components or {}
    missing = structure.find_components(each for each in built.tensors if each.name not in known)
    return structure.inventory_of(built, components={**missing, **known})


def _list_notes(found: Review, former: ModelAtCommit, by_keys: Attribution, revision: str) -> Iterator[str]:
    """Say why counts are not compared, and name the changed keys that have no row."""
    subject, before, after = found.subject, former.model, found.subject.model
    if former.problem and not former.locked:
        yield f"at {revision} it cannot be counted: {former.problem}"
    uncounted = not before.closed_form or not after.closed_form or before.is_made_by_code
    if uncounted and former.derivation is None and former.locked is None:
        yield f"at {revision} {former.why_not_locked}; only a lock can show what changed; commit one: {WRITTEN}"
    if not after.closed_form and former.derivation:
        yield "closed_form = false: the change is not attributed to keys"
    if former.config is None or subject.config is None or after.has_config_of_build:
        return
    moved, was, now = {row.key for row in by_keys.moved}, former.written_keys, subject.written_keys
    changed = {key for key in {**was, **now} if was.get(key) != now.get(key)}
    if rest := sorted(changed - moved - _IDENTITY):
        named = listed([*map(printable, rest)], MOST_NAMED)
        if former.derivation and subject.derivation:  # whose forms explain the whole change
            yield f"also changed{'' if CODE in moved else ', and moved nothing'}: {named}"
        else:
            yield f"these keys changed: {named}; the effect of each is not known"


# bytes and FLOPs of the base, which is not built, follow from its parameters and its closed form


def _measure_changes(found: Review, former: ModelAtCommit, held: Inventory, base: Inventory) -> Iterator[Measured]:
    """Yield each limited quantity with its value at the base, then bytes and FLOPs that have no limit and changed."""
    subject = found.subject
    before = Measurable(base, former.form, former.written_keys)
    today = Measurable(held, subject.form, subject.written_keys)
    for each in found.measured:
        limit = found.limit(each.name)
        is_known = not each.buffers and (each.name != FLOPS or each.expected in {None, each.actual})
        then = _measure_if_known(limit.measure, before) if limit and is_known else None
        yield each._replace(base=then.actual if then else None)
    asked: list[Measure] = [AsBytes(None, "unique")]
    is_as_derived = not (found.actual and found.expected and found.actual.own != found.expected.own)
    if is_as_derived:
        positions = (side.form.dims.sizes.get("P") for side in (subject.derivation, former.derivation) if side)
        asked.append(Flops(min([TOKENS, *filter(None, positions)])))
    for measure in asked:
        now, then = _measure_if_known(measure, today), _measure_if_known(measure, before)
        if now and then and now.actual != then.actual and not found.find_measured(now.name):
            if isinstance(measure, Flops):
                now = Measured(now.name, f"{now.what}, by the closed form", now.actual, now.actual)
            yield now._replace(base=then.actual)


def _measure_if_known(measure: Measure | None, model: Measurable) -> Measured | None:
    try:
        return measure_one(measure, model) if measure else None
    except BadValue:
        return None


# limits


def _mark_already_broken(finding: Finding, found: Review, baseline: Baseline | None) -> Finding:
    """Add to a finding on an exceeded limit the excess at the base, and whether ``already_over`` lets it pass."""
    if finding.kind != "over-budget" or finding.actual is None or finding.limit is None:
        return finding
    is_passed = found.subject.model.budget.passes_already_over and finding.table_key is not None  # a marker tightens
    measured = found.find_measured(finding.component or "")
    before = measured.base if measured else found.base.count_of(finding.component or "") if found.base else None
    if before is None or baseline is None:
        unknown = 'its count at the base is unknown, so already_over = "pass" does not apply'
        why = unknown if baseline and baseline.commit else f'already_over = "pass" needs a base: {GIVE_ONE}'
        return finding._replace(fix=f"{finding.fix}; {why}") if is_passed else finding
    if before <= finding.limit:
        return finding
    change = finding.actual - before
    already = f"already {exact(before - finding.limit)} over at {baseline.revision}, and this change"
    added = f"{already} {'adds' if change >= 0 else 'removes'} {exact(abs(change))}"
    finding = finding._replace(base=before, message=f"{finding.message}; {added}")
    if change > 0 or finding.table_key is None:
        return finding
    if is_passed:
        fix = 'it passes by budget.already_over = "pass", as it has not grown'
        return finding._replace(severity="warning", fix=fix)
    way_out = 'to let it pass as long as it does not grow, write budget.already_over = "pass"'
    return finding._replace(fix=f"{finding.fix}; {way_out}")


def _hold_growth(found: Review, baseline: Baseline | None) -> Review:
    """Compare the growth of components since the base with the limits on their growth."""
    parts = {limit: limit.measure.part for limit in found.budget if isinstance(limit.measure, Growth)}
    held, base = found.held, found.base
    if not parts or held is None:
        return found
    there = {TOTAL, TRAINABLE, *held.components, *(base.components if base else ()), *found.known_components}
    if unknown := [refuse_unknown_component(part, limit, found) for limit, part in parts.items() if part not in there]:
        return found.with_findings(*unknown)
    if baseline is None or base is None:
        return found.with_findings(_explain_unheld_growth(next(iter(parts)), found.subject.model, baseline))
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


def _explain_unheld_growth(limit: Limit, model: Model, baseline: Baseline | None) -> Finding:
    """Return a finding that growth cannot be checked: an error, unless the model is new or has a new reason."""
    needs, former = f"budget.{GROWTH} needs a base, and", baseline.find_former(model.name) if baseline else None
    if baseline is None or baseline.commit is None:
        why = f"{baseline.revision} cannot be read: {baseline.problem}" if baseline else "this run has none"
        finding = Finding("not-compared", f"{needs} {why}", GIVE_ONE, component=GROWTH)
    elif unknown := (former.problem, former.model.reason) if former else baseline.find_mistake(model):
        way_out = f"compare with a commit in which it can be counted, or {REASON}"
        if not model.closed_form and not (former and former.locked):
            way_out = f"{REASON}, and commit a lock, which later commits are compared with: {WRITTEN}"
        problem, reason = unknown
        why = f"its count at {baseline.revision} is unknown: {problem}"
        finding = _excuse("not-compared", f"{needs} {why}", way_out, model, reason)._replace(component=GROWTH)
    else:
        why = f"{baseline.revision} does not declare this model: it is new, and has no growth to check"
        finding = Finding("not-compared", f"{needs} {why}", "", "note", GROWTH)
    return finding._replace(file=limit.file, table_key=limit.table_key)


# what the change loosens: limits that allow more than at the base, and comparisons that are switched off


def _find_not_compared(model: Model, baseline: Baseline, former: ModelAtCommit | None) -> list[Finding]:
    """Report a model whose table or files at the base cannot be read; a new ``reason`` excuses the table."""
    severity: Severity = "error" if baseline.is_asked_for else "warning"
    if mistake := baseline.find_mistake(model):
        way_out = f"compare with a commit in which it can be read, or {REASON}"
        problem, reason = mistake
        message = f"its table at {baseline.revision} cannot be read: {problem}"
        found = _excuse("not-compared", message, way_out, model, reason)._replace(table_key=())
        return [found._replace(severity=severity) if found.asks_why else found]
    if former and former.unread:
        message = f"at {baseline.revision} it cannot be counted: {former.problem}"
        return [Finding("not-compared", message, former.unread.fix, severity)]
    return []


def _excuse(kind: Kind, message: str, way_out: str, model: Model, before: str) -> Finding:
    """Return a note if today's table gives another reason than ``before``, else an error with the fix ``way_out``."""
    if visible(model.reason) not in {"", visible(before)}:
        return Finding(kind, message, f"its reason: {shown(model.reason)}", "note")
    if visible(model.reason):
        way_out = f"{way_out}; its reason is still the base's: write another, or add to it"
    return Finding(kind, message, way_out, asks_why=True)


def _find_loosened(found: Review, former: ModelAtCommit, baseline: Baseline) -> Iterator[Finding]:
    """Yield a finding for each loosening: an error, or a note if today's table has a new ``reason``."""
    before, after, revision = former.model, found.subject.model, baseline.revision
    rows = [*_list_switched_off(before, after, revision), *_list_looser_limits(before, after, revision)]
    lock_then, lock = baseline.project.declared.lock, found.subject.settings.lock
    was_strict = before.lock or (lock_then and lock_then.strict)
    if was_strict and not (after.lock or (lock and lock.strict)):
        declares = f"{revision} declares strict = true (a difference from the lock fails)"
        rows.append((f"{declares}, and this table does not", None, ()))
    for message, component, key in rows:
        row = _excuse("budget-loosened", message, f"if that is intended, {REASON}", after, before.reason)
        yield row._replace(component=component, table_key=key)


def _list_switched_off(before: Model, after: Model, revision: str) -> Iterator[Row]:
    if before.closed_form and not after.closed_form:
        said = f"{revision} compares it with its closed form, which closed_form = false switches off"
        yield said, None, ("closed_form",)
    for key in ("checkpoint", "tokenizer"):
        if (was := getattr(before, key)) and not getattr(after, key):
            yield f"{revision} compares it with the {key} {printable(was)}, and this table does not", None, ()
    if after.budget.passes_already_over and not before.budget.passes_already_over:
        said = f'{revision} fails every exceeded limit, and already_over = "pass" passes those that {revision} exceeds'
        yield said, None, ("budget", ALREADY_OVER)


def _list_looser_limits(before: Model, after: Model, revision: str) -> Iterator[Row]:
    if before.limits and not after.limits:
        limits = ", ".join(f"{limit.component} {limit}" for limit in before.limits)
        yield f"{revision} limits {limits}, and this table says report-only", None, ("budget",)
        return
    if before.limits and before.components != after.components and not after.closed_form:
        yield f"{revision} has other components, so a limit may cover less than there", None, ("components",)
    todays = {limit.component: limit for limit in after.limits}
    for was in before.limits:
        name, now = was.component, todays.get(was.component)
        if now is None:
            yield f"{revision} limits {name} to {was}, and this table does not", name, ("budget",)
        elif _is_looser(was, now):
            is_other = was.measure != now.measure
            then, today = (f"{each} ({each.measure})" if is_other else f"{each}" for each in (was, now))
            more = 0 if is_other or was.maximum is None else (now.maximum or 0) - was.maximum
            added = f", {exact(more)} more" if more > 0 else ""
            key = (now.table_key or ())[len(after.table_key) :]
            yield f"the limit of {name} was {then} at {revision} and is {today} now{added}", name, key


def _is_looser(before: Limit, after: Limit) -> bool:
    """Return whether a limit allows more, or limits another quantity, which may be less: FLOPs of fewer tokens."""
    if before.measure != after.measure:
        return True
    if isinstance(before.measure, Growth):
        is_other = (share_of(before.written) is None) != (share_of(after.written) is None)
        return is_other or most_growth(after.written, LARGEST) > most_growth(before.written, LARGEST)
    above = before.maximum is not None and (after.maximum is None or after.maximum > before.maximum)
    return above or (after.minimum or 0) < (before.minimum or 0)  # a count is never negative
