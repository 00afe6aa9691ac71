"""Compare the tensors of a model with its closed form, an error for each component that differs, and with its lock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pytest_bertsize.base.lock import ANEW, Lock, Locked
from pytest_bertsize.base.lock import MOST_NAMED as MOST_IN_LOCK
from pytest_bertsize.differences import Difference, compare_inventories
from pytest_bertsize.findings import Finding, Severity
from pytest_bertsize.inventory import TOTAL, Inventory, Tensor, common
from pytest_bertsize.review.review import AgainstLock, Review
from pytest_bertsize.table.limits import Growth
from pytest_bertsize.table.toml import inline, line_in_toml
from pytest_bertsize.wording import exact, listed, printable, shown, signed

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.family import ClosedForm
    from pytest_bertsize.closed_forms.formula import Formula

LIBRARY = "the class builds other tensors than its config declares: check the config, or report the library's class"
MOST_NAMED = 4  # the most differences that a sentence names; further ones are counted


def compare_with_closed_form(form: ClosedForm, actual: Inventory, command: str | None = None) -> Iterator[Finding]:
    """Yield a finding for each component whose tensors differ in name, shape, tie or trainability.

    :param command: the command that writes the table of a project's class, or ``""``; ``None`` for a class of the
        library, where (unlike in a project's class) another name for a tied tensor counts as a changed tie.
    """
    by_component: dict[str, list[Difference]] = {}
    sides = (actual.by_name, form.by_name)
    lost = [
        Difference("untied", each.name, 0, (each.name,), "there is no such tensor", each.tied_to)
        for each in form.tensors
        if each.tied_to and each.tied_to not in form.by_name
    ]
    for each in (*compare_inventories(form, actual), *lost):
        if not (command is not None and _is_other_name(each, *sides)):
            components = {next(side[name].component for side in sides if name in side) for name in each.tensors}
            by_component.setdefault(common(components, TOTAL), []).append(each)
    formulas = form.formulas() if by_component else {}
    for index, (component, differences) in enumerate(by_component.items()):
        fix = LIBRARY if command is None else _describe_in_table(differences, command, is_first=not index)
        yield _describe_component(component, differences, form, actual, formulas.get(component))._replace(fix=fix)


def _is_other_name(difference: Difference, *sides: Mapping[str, Tensor]) -> bool:
    """Return whether the only difference is another name for a tensor that both sides have."""
    tensors = [side[name] for side in sides for name in difference.tensors if name in side]
    return difference.is_name_alone and all(each.tied_to in side for each in tensors for side in sides)


def _describe_component(
    component: str, differences: Sequence[Difference], expected: Inventory, actual: Inventory, formula: Formula | None
) -> Finding:
    then, now = expected.count_of(component), actual.count_of(component)
    is_number = formula is None or str(formula).isdigit()
    by = f"the closed form {exact(then)}" if is_number else f"the closed form {formula} = {exact(then)}"
    off = f"{component} is {signed(now - then)} off {by}"
    if now == then:
        off = f"{component} has as many parameters as {by}, but its tensors differ"
    elif not then:
        off = f"{component} is {signed(now)}, and the closed form has none"
    named = listed([each.sentence for each in differences], MOST_NAMED, "; ", last="; and ")
    return Finding("off-closed-form", f"{off}: {named}", component=component, expected=then, actual=now)


def _describe_in_table(differences: Sequence[Difference], command: str, *, is_first: bool) -> str:
    """Return the fix for a project's class; only the first finding names the command that writes its table."""
    if command and is_first:
        return f"correct the class; if that is intended, {command} --write writes its table and its lock"
    if tied := next((each for each in differences if each.kind == "tied"), None):
        return f"write tied = {inline({tied.name: tied.other})}, or correct the class"
    return "" if command else "correct the class, or its table"


# the lock


def compare_with_lock(found: Review, now: Locked, lock: Lock) -> Review:
    """Add to a review the differences of the model from the lock."""
    model, before = found.subject.model, lock.models.get(found.name)
    against, is_other = AgainstLock(lock.file, is_there=before is not None), before is None
    if before:
        changes = compare_inventories(Inventory(before.tensors), Inventory(now.tensors))
        sizes = _list_other_sizes(before, now) if model.has_config_of_build else []
        if found.unbuilt:  # a class of the project and its closed form may name one tensor differently often
            changes = [each for each in changes if not each.is_name_alone]
        is_other = bool(changes or sizes)
        is_stale = is_other or (model.has_config_of_build and before.config != now.config)
        why = _explain(before, now, in_hand=found.subject.in_hand is not None) if is_stale and not found.unbuilt else ""
        against = replace(against, changes=(*changes,), why=why)
    found = replace(found, locked=against)
    if before and not (against.changes or against.why):
        return found
    is_counted_by_lock = not model.closed_form or model.has_config_of_build  # at the base
    has_growth = is_counted_by_lock and any(isinstance(limit.measure, Growth) for limit in found.budget)
    severity: Severity = "error" if is_other and (lock.strict or model.lock or has_growth) else "note"
    return found.with_findings(_make_finding(against, found, lock, severity))


def _make_finding(against: AgainstLock, found: Review, lock: Lock, severity: Severity) -> Finding:
    file = printable(lock.file)
    if lock.text is None:
        message = f"there is no {file}, which the table names as its lock"
        return Finding("differs-from-lock", message, f"write it: {ANEW}", severity)
    if not against.is_there:
        message = f"{file} does not have this model"
        return Finding("differs-from-lock", message, f"add it: {ANEW}", severity, file=lock.file)
    differences = listed([each.sentence for each in against.changes], MOST_IN_LOCK, "; ")
    message = f"it differs from {file}: {differences}{f' ({against.why})' if against.why else ''}"
    fix = f"if that is intended, accept it: {ANEW}"
    if found.subject.in_hand is not None:  # no run builds it
        fix = f"if that is intended, make the table build it too (its config, kwargs or code), and accept it: {ANEW}"
    if not against.changes:
        message = f"no tensor differs from {file}, but {against.why}"
    elif found.is_off_closed_form:  # a finding that has the command, if a command writes the table
        fix = "" if found.subject.model.init_command else fix
    line = line_in_toml(lock.text, ("models", found.name))
    return Finding("differs-from-lock", message, fix, severity, file=lock.file, line=line)


def _list_other_sizes(before: Locked, now: Locked) -> list[str]:
    """Describe changed sizes whose keys are in ``before`` and ``now``: releases of transformers have different keys."""
    return [
        f"{printable(key)} was {shown(before.sizes[key])} and is {shown(now.sizes[key])}"
        for key in before.sizes
        if key in now.sizes and before.sizes[key] != now.sizes[key]
    ]


def _explain(before: Locked, now: Locked, *, in_hand: bool) -> str:
    """Explain a difference by the first of these that changed: sizes, config, libraries; else by the code."""
    if changed := _list_other_sizes(before, now):
        return listed(changed, MOST_IN_LOCK)
    if before.config != now.config:
        return "its config or another input of its table has changed"
    same = "the inputs of its table are unchanged"
    if before.built_with != now.built_with:
        return f"{same}; it was built with {printable(before.built_with)}, and now with {printable(now.built_with)}"
    return f"{same}: the code has changed, or {'its options, or ' if in_hand else ''}a file that it reads"
