"""Compare one model with its closed form, budget, checkpoint, lock and base."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pytest_bertsize.base.lock import Locked
from pytest_bertsize.builder.messages import Built, NotBuilt
from pytest_bertsize.builder.structure import NoComponent, find_components, inventory_of
from pytest_bertsize.closed_forms import what_if
from pytest_bertsize.findings import Finding, Severity, Unusable
from pytest_bertsize.inventory import TOTAL, Inventory
from pytest_bertsize.review import build_findings
from pytest_bertsize.review.limits import Measurable, check_limits, compare_flops, measure_limits
from pytest_bertsize.review.review import Accepted, AgainstLock, Review
from pytest_bertsize.review.tensors import compare_with_closed_form, compare_with_lock
from pytest_bertsize.table.limits import NO_COMPONENTS, Growth, Limit
from pytest_bertsize.wording import exact, printable

if TYPE_CHECKING:
    from pytest_bertsize.base.lock import Lock
    from pytest_bertsize.closed_forms.family import ClosedForm
    from pytest_bertsize.review.examine import Subject


NOTHING = Accepted()


def conclude(
    subject: Subject, built: Built | NotBuilt | None, extra: tuple[Limit, ...] = (), accepted: Accepted = NOTHING
) -> Review:
    """Compare a build (``None`` for a refused model) with closed form, budget, checkpoint, lock and base.

    :param extra: limits of a marker, in addition to the table's.
    """
    found = Review(subject, (*subject.model.limits, *extra), subject.findings)
    now: Locked | None = None
    if isinstance(built, NotBuilt):
        failed = f"{subject.architecture} could not be built: "
        message = f"{'' if built.kind == 'elsewhere' else failed}{built.reason}"
        fix = built.suggest_fix(own=subject.model.factory is not None)
        found = found.with_findings(Finding("build-failed", message, fix))
    elif built:
        found = found.with_findings(*build_findings.check_hidden(built, found.name, accepted.lock))
        found = _review_build(found, built, accepted)
        now = subject.to_locked(built) if accepted.lock else None
    return _hold_against_accepted(found, now, accepted)


def conclude_unbuilt(
    subject: Subject, extra: tuple[Limit, ...] = (), accepted: Accepted = NOTHING, *, strict: bool = False
) -> Review:
    """Compare the closed form, else the lock, with budget and base, and report that nothing is built.

    :param strict: whether it is an error, not a warning, that only a build can count the model.
    """
    found = Review(subject, (*subject.model.limits, *extra), subject.findings, unbuilt=True)
    now: Locked | None = None
    if subject.model.checkpoint:
        message = f"its checkpoint {printable(subject.model.checkpoint)} is not compared, because nothing is built"
        found = found.with_findings(Finding("checkpoint-differs", message, "", "warning"))
    if subject.form and not subject.model.has_config_of_build:
        found = _hold_limits(found, subject.form)
        now = Locked(subject.form.tensors) if accepted.lock else None  # which unrolls repeated layers
    elif subject.form or not subject.errors:
        found = _count_by_lock(found, accepted, "error" if strict else "warning")
    return _hold_against_accepted(found, now, accepted)


def _count_by_lock(found: Review, accepted: Accepted, severity: Severity) -> Review:
    """Compare the count in a model's lock with the model's budget, or report why the lock cannot count the model."""
    subject, lock = found.subject, accepted.lock
    locked = lock.models.get(found.name) if lock else None
    if subject.form is None and (problem := _find_why_uncounted(found, lock, locked)):
        finding = Finding("build-failed", f"not counted: {problem}", "check it with a build", severity)
        return replace(found.with_findings(finding), uncounted=True)
    assert lock
    assert locked
    found = _list_components(found, Built(locked.tensors, {}), accepted)
    if (actual := found.actual) is None:
        return found
    found = replace(found, locked=AgainstLock(lock.file, is_there=True))
    if subject.model.factory:
        message = f"counted by {printable(lock.file)}, not built: its code may build a different model today"
        found = found.with_findings(Finding("build-failed", message, "check it with a build", severity))
    return _hold_limits(found, actual)


def _find_why_uncounted(found: Review, lock: Lock | None, locked: Locked | None) -> str:
    """Return why a lock cannot count a model without a closed form; ``""`` if it can."""
    if found.subject.awaits_build:
        return "the sizes of its backbone come from the built model; nothing is built, and no lock has them"
    why, limit = "", next((limit for limit in found.budget if limit.measure), None)
    if lock is None:
        why = "the table names no lock"
    elif locked is None:
        why = f"{lock.file} does not have this model"
    elif limit:
        why = f"a lock cannot check its limit on {limit.component}"
    elif locked.config != found.subject.sources:
        why = f"{lock.file} was written for another config or table"
    return why and f"closed_form = false, nothing is built, and {why}"


def _list_components(found: Review, built: Built, accepted: Accepted) -> Review:
    """Add the tensors with their components, without a closed form those of the base's lock too, or why none fit."""
    subject, components = found.subject, None
    if subject.form is None:
        parts = (each.measure.part if isinstance(each.measure, Growth) else each.component for each in found.budget)
        asked = [part for part in parts if part not in NO_COMPONENTS]
        former = accepted.baseline.find_former(found.name) if accepted.baseline else None
        former_tensors = former.locked.tensors if former and former.locked else ()
        try:
            components = find_components(built.tensors, asked, subject.model.components, former_tensors)
        except NoComponent as wrong:
            fix, key = f"correct components.{wrong.key}", ("components", wrong.key)
            return found.with_findings(Finding("config-invalid", str(wrong), fix, table_key=key))
    actual = subject.form if built.agreed else inventory_of(built, subject.form, components)
    return replace(found, components=components, actual=actual)


def _review_build(found: Review, built: Built, accepted: Accepted) -> Review:
    """Compare a build with closed form, budget and checkpoint."""
    subject = found.subject
    found = replace(found, answered=built.answered, seconds_ago=built.seconds_ago).with_findings(
        *build_findings.check_release(subject.derivation, built),
        *build_findings.note_published_configs(built.answered, "factory"),
        *(Finding("stood-in", each, "", "note", table_key=("factory",)) for each in built.stood_in),
    )
    found = _list_components(found, built, accepted)
    if (actual := found.actual) is None:
        return found
    is_own = subject.model.factory is not None
    if subject.form and not built.agreed:
        compared = train_as(subject.form, actual) if found.freezes_at_will else actual
        command = (subject.model.init_command if subject.in_hand is None else "") if is_own else None
        found = found.with_findings(*compare_with_closed_form(subject.form, compared, command))
    found = _hold_limits(found, actual, built)
    derivation, config, is_off = subject.derivation, subject.config, found.is_off_closed_form
    otherwise: Iterable[Finding] = ()  # the cause comes before the difference
    if derivation and config and built.config:
        otherwise = build_findings.find_read_otherwise(derivation.values, config, built.config, is_off=is_off)
    elif derivation and config and (is_off or subject.in_hand is not None):
        otherwise = build_findings.find_other_configs(derivation.values, config, subject.model, built.finished)
    found = replace(found, findings=(*otherwise, *found.findings)).with_findings(
        *(() if built.agreed else build_findings.check_ties(built)),
        *build_findings.note_large_buffers(actual, built.buffers, own=is_own),
    )
    if subject.stored is not None:
        from pytest_bertsize.checkpoint.differences import compare_checkpoint

        found = found.with_findings(*compare_checkpoint(subject.stored, built, actual))
    return found


def is_equal(form: ClosedForm, built: Built) -> bool:
    """Return whether a built model has the tensors of its closed form, and the ties that its class declares."""
    return not any((*build_findings.check_ties(built), *compare_with_closed_form(form, inventory_of(built, form))))


def train_as(expected: Inventory, actual: Inventory) -> Inventory:
    """Return ``actual`` with tensors that train as in ``expected``, so that later freezing is no difference."""
    known = expected.by_name
    return Inventory(
        tuple(each._replace(trainable=each.name not in known or known[each.name].trainable) for each in actual.tensors)
    )


def _hold_limits(found: Review, counted: Inventory, built: Built | None = None) -> Review:
    """Measure the limited quantities other than parameter counts, and compare all limits."""
    subject = found.subject
    if any(limit.measure for limit in found.budget):
        model = Measurable(counted, subject.form, subject.written_keys, built)
        try:
            measured = measure_limits(found.budget, model)
        except Unusable as unusable:
            found = found.with_findings(*unusable.findings)
        else:
            found = replace(found, measured=(*measured,)).with_findings(*compare_flops(measured))
    return found.with_findings(*check_limits(found, counted))


def _note_insensitive(found: Review) -> list[Finding]:
    """Note a budget that the model would pass with one more layer or, without a closed form, at twice its size."""
    derivation, actual = found.subject.derivation, found.actual
    if found.verdict == "failed" or not found.budget:
        return []
    if derivation:
        return what_if.find_insensitive_budget(derivation, found.budget) if found.subject.detail else []
    counts = [(each, actual.count_of(each.component)) for each in found.budget if actual and each.measure is None]
    if len(counts) < len(found.budget) or any((limit.maximum or 0) < 2 * max(count, 1) for limit, count in counts):
        return []
    limit, count = next((pair for pair in counts if pair[0].component == TOTAL), counts[0])
    fix = f"{limit.component} is {exact(count)}, and its limit {limit}: write a lower limit"
    message = "twice as many parameters would pass every limit"
    return [limit.make_finding("insensitive-budget", message, fix, "note")]


def _hold_against_accepted(found: Review, now: Locked | None, accepted: Accepted) -> Review:
    """Note an insensitive budget, compare with lock and base, and add its line to every finding.

    :param now: the model as a lock records it; ``None`` if it is not compared with the lock.
    """
    found = found.with_findings(*_note_insensitive(found))
    if now and accepted.lock:
        found = compare_with_lock(found, now, accepted.lock)
    has_growth = any(isinstance(each.measure, Growth) for each in found.budget)
    if accepted.baseline or found.subject.model.budget.passes_already_over or has_growth:
        from pytest_bertsize.review.against_base import hold_against_base

        found = hold_against_base(found, accepted)
    return place_findings(found)


def place_findings(found: Review) -> Review:
    """Add file, full key and line to each finding about the table; a finding on a limit lacks only the line."""
    settings, table, findings = found.subject.settings, found.subject.model.table_key, []
    for each in found.findings:
        key, place = each.table_key, each
        if key is not None and key[: len(table)] != table:
            key = (*table, *key)
            place = each._replace(file=settings.file, table_key=key)
        is_placed = key is None or each.line is not None
        findings.append(place if is_placed else place._replace(line=settings.line(key or ())))
    return replace(found, findings=(*findings,))
