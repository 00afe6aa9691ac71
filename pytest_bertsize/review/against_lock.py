"""A model held against the lock: not a verdict, but every difference is told, and fails it where the lock is strict."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_bertsize.base.lock import ANEW, line_of
from pytest_bertsize.base.ranges import folded
from pytest_bertsize.base.tensor_changes import TensorChange, tensor_changes
from pytest_bertsize.findings import Finding
from pytest_bertsize.inventory import Inventory
from pytest_bertsize.wording import exact, listed, printable

if TYPE_CHECKING:
    from pytest_bertsize.base.lock import Lock, Locked, Weight
    from pytest_bertsize.review.check import Subject
    from pytest_bertsize.review.review import Review

MOST_TOLD = 6
"""Differences in one message; a report file has all of them."""
ACCEPT = f"if that is meant, accept it: {ANEW}"


@dataclass(frozen=True, slots=True)
class AgainstLock:
    """What a lock says of a model, and what is otherwise."""

    file: str
    is_there: bool
    """Whether it has the model."""
    changes: tuple[TensorChange, ...] = ()
    said: tuple[str, ...] = ()
    """What is otherwise, and is no tensor: buffers."""
    why: str = ""
    """What else has changed, or has not."""


def held(found: Review, subject: Subject, now: Locked, lock: Lock | None) -> Review:
    """The review, with what the lock has otherwise."""
    if lock is None:
        return found
    before = lock.models.get(subject.model.name)
    if before is None:
        against = AgainstLock(lock.file, is_there=False)
    else:
        changes = tensor_changes(Inventory(before.tensors), Inventory(now.tensors))
        if found.unbuilt:  # a class of the project's may have more names for one tensor than its closed form, or fewer
            changes = [each for each in changes if each.count or each.kind not in {"new", "gone", "recast"}]
        said = () if found.unbuilt else (*_buffers(before, now),)
        why = _why(before, now) if (changes or said) and not found.unbuilt else ""
        against = AgainstLock(lock.file, is_there=True, changes=(*changes,), said=said, why=why)
    told = [_finding(against, subject, lock)] if not against.is_there or against.changes or against.said else []
    return replace(found, locked=against, findings=(*found.findings, *told))


def _finding(against: AgainstLock, subject: Subject, lock: Lock) -> Finding:
    severity, file = "error" if lock.strict else "note", printable(lock.file)
    if lock.text is None:
        message, fix = f"there is no {file}, which the table names as its lock", f"have it written: {ANEW}"
        return Finding("differs-from-lock", message, fix, severity)  # type: ignore[arg-type]
    if not against.is_there:
        message, fix = f"{file} does not have this model", f"have it written there: {ANEW}"
        return Finding("differs-from-lock", message, fix, severity, file=lock.file)  # type: ignore[arg-type]
    said = [*(each.said for each in against.changes), *against.said]
    line = line_of(lock.text, ("models", subject.model.name))
    why = f" ({against.why})" if against.why else ""
    message = f"it is not as {file} has it: {listed(said, MOST_TOLD, '; ')}{why}"
    return Finding("differs-from-lock", message, ACCEPT, severity, file=lock.file, line=line)  # type: ignore[arg-type]


def _buffers(before: Locked, now: Locked) -> Iterator[str]:
    groups: dict[tuple[Weight | None, Weight | None], list[str]] = {}
    for name in dict.fromkeys((*before.buffers, *now.buffers)):
        both = before.buffers.get(name), now.buffers.get(name)
        if both[0] != both[1]:
            groups.setdefault(both, []).append(name)
    for (was, became), names in groups.items():
        for name, times in folded(names):
            what = f"the buffer {printable(name)}" if times == 1 else f"the buffers {printable(name)}"
            verb = "is" if times == 1 else "are"
            if was and became:
                yield f"{what}: {_weight(was, times)} → {_weight(became, times)}"
            elif one := was or became:
                yield f"{what} {verb} {'gone' if was else 'new'}: {_weight(one, times)}"


def _weight(weight: Weight, times: int) -> str:
    each = f"{times:,} × {exact(weight.numbers)}" if times > 1 else exact(weight.numbers)
    return f"{each} numbers of {printable(weight.dtype)}"


def _why(before: Locked, now: Locked) -> str:
    """Whether the config has a part in it, or the library."""
    if before.config != now.config:
        return "what it is built from has changed as well"
    same = "what it is built from is the same" if now.config else "it is built from code alone"
    if before.built_with != now.built_with:
        return f"{same}; it was built with {printable(before.built_with)}, and is with {printable(now.built_with)}"
    return f"{same}: the code has changed"
