"""A budget that was loosened in the same change: each limit that lets more pass than it did at the base."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from pytest_bertsize.dtypes import bits_of
from pytest_bertsize.findings import Finding
from pytest_bertsize.quantity import LARGEST
from pytest_bertsize.table.model import ALREADY_OVER, AsBytes, Flops, Growth, Training, most_growth, share_of
from pytest_bertsize.wording import exact, printable, shown, visible

if TYPE_CHECKING:
    from pytest_bertsize.base.baseline import Baseline
    from pytest_bertsize.findings import Severity
    from pytest_bertsize.inventory import Inventory
    from pytest_bertsize.table.model import Limit, Measure, Model

REASON = 'say why in the same change: reason = "…"'
SAY_WHY = f"if that is meant, {REASON}"
COUNTS = ("unique", "stored", "unrolled")
"""What bytes may be counted of; none is less than the one before it."""


def loosened(
    before: Model,
    after: Model,
    revision: str,
    dtypes: tuple[str | None, str | None],
    counts: Inventory | None = None,
) -> list[Finding]:
    """A finding for each limit that was loosened: an error, unless the table's ``reason`` changed with it.

    :param revision: what messages call the base.
    :param dtypes: of the weights, as each of the two configs says; ``None`` where that is unknown.
    :param counts: of the base, where they are known: growth by a share and by a count are compared there.
    """
    severity, fix = explained(after, before.reason, SAY_WHY)
    return [
        Finding("budget-loosened", message, fix, severity, component, table_key=key)
        for message, component, key in _what(before, after, revision, dtypes, counts)
    ]


def components_moved(
    before: Model, after: Model, revision: str, counts: tuple[Inventory, Inventory], limited: Iterable[str]
) -> list[Finding]:
    """A finding for each limit of a component that holds less of today's model than the base's table had it hold.

    :param counts: today's, by the components of the base's table and by those of today's.
    """
    severity, fix = explained(after, before.reason, SAY_WHY)
    then, now = counts
    found = []
    for name in limited:
        if then[name] > now[name]:
            was, left = exact(then[name]), f"{exact(now[name])} as this table has them"
            message = f"as {revision} has components, {name} is {was} of this model, and {left}"
            found.append(Finding("budget-loosened", message, fix, severity, name, table_key=("components",)))
    return found


def lock_loosened(after: Model, before: str, revision: str) -> list[Finding]:
    """A lock whose differences were errors at the base, and are none any more.

    :param before: the base's reason, which explains nothing of today.
    """
    severity, fix = explained(after, before, SAY_WHY)
    message = f"{revision} makes a difference from the lock an error (strict = true), and this table does not"
    return [Finding("budget-loosened", message, fix, severity, table_key=())]


def not_compared(model: Model, baseline: Baseline) -> list[Finding]:
    """What the base says of a model, and nobody can tell: an error where somebody has asked for that base."""
    severity: Severity = "error" if baseline.is_asked_for else "warning"
    if mistake := baseline.find_mistake(model):
        way_out = f"compare with a commit in which it can be read, or {REASON}"
        by_reason, fix = explained(model, mistake.reason, way_out)
        message = f"its table at {baseline.revision} cannot be read: {mistake.problem}"
        return [Finding("not-compared", message, fix, severity if by_reason == "error" else "note", table_key=())]
    former = baseline.find_former(model.name)
    if former and former.unread:
        message = f"at {baseline.revision} it cannot be counted: {former.problem}"
        return [Finding("not-compared", message, former.unread.fix, severity)]
    return []


def explained(model: Model, before: str, way_out: str) -> tuple[Severity, str]:
    """Whether today's table says why a model is held to another budget, and what to write where it does not.

    :param before: the base's reason, which explains nothing of today.
    """
    if visible(model.reason) in {"", visible(before)}:
        return "error", way_out
    return "note", f"its reason: {shown(model.reason)}"


def _what(
    before: Model,
    after: Model,
    revision: str,
    dtypes: tuple[str | None, str | None],
    counts: Inventory | None,
) -> Iterator[tuple[str, str | None, tuple[str, ...]]]:
    if before.closed_form and not after.closed_form:
        yield f"{revision} holds it to its closed form, which closed_form = false switches off", None, ("closed_form",)
    for key in ("checkpoint", "tokenizer"):
        if getattr(before, key) and not getattr(after, key):
            yield (
                f"{revision} compares it with the {key} {printable(getattr(before, key))}, and this table does not",
                None,
                (),
            )
    if after.passes_already_over and not before.passes_already_over:
        said = f'{revision} holds every limit, and already_over = "pass" lets pass those that it had broken'
        yield said, None, ("budget", ALREADY_OVER)
    if before.limits and not after.limits:
        limits = ", ".join(f"{limit.component} {limit}" for limit in before.limits)
        yield f"{revision} limits {limits}, and this table says report-only", None, ("budget",)
        return
    now = {limit.component: limit for limit in after.limits}
    for limit in before.limits:
        name = limit.component
        if name not in now:
            yield f"{revision} limits {name} to {limit}, and this table does not", name, ("budget",)
        elif _is_looser(limit, now[name], dtypes, counts):
            inside = (now[name].table_key or ())[len(after.table_key) :]
            yield _both(limit, now[name], revision), name, inside


def _is_looser(before: Limit, after: Limit, dtypes: tuple[str | None, str | None], counts: Inventory | None) -> bool:
    if isinstance(before.measure, Growth):
        return _lets_more_come(before, after, counts[before.measure.part] if counts else None)
    return _lets_more_pass(before, after, dtypes)


def _lets_more_come(before: Limit, after: Limit, count: int | None) -> bool:
    """:param count: at the base; ``None`` where it is not known."""
    was, now = share_of(before.written), share_of(after.written)
    if (was is None) == (now is None):
        return most_growth(after.written, LARGEST) > most_growth(before.written, LARGEST)
    return count is None or most_growth(after.written, count) > most_growth(before.written, count)


def _lets_more_pass(before: Limit, after: Limit, dtypes: tuple[str | None, str | None]) -> bool:
    same = before.measure == after.measure
    was, now = (
        _Scale() if same else _scale(*each) for each in zip((before.measure, after.measure), dtypes, strict=True)
    )
    if was is None or now is None:
        return True
    above = before.maximum is not None and (
        after.maximum is None
        or any(one > other for one, other in zip(was.ranks, now.ranks, strict=True))
        or after.maximum * was.bits > before.maximum * now.bits
    )
    least, least_now = before.minimum or 0, after.minimum or 0  # fewer than none there cannot be
    wider = any(one < other for one, other in zip(was.ranks, now.ranks, strict=True))
    below = least > 0 and (wider or least_now * was.bits < least * now.bits)
    return above or below


class _Scale(NamedTuple):
    """What one model comes to by a measure."""

    bits: int = 1
    """Of a parameter: it comes to so many times as much."""
    ranks: tuple[int, ...] = ()
    """It comes to no less where none of them is lower."""


def _scale(measure: Measure | None, dtype: str | None) -> _Scale | None:
    """``None`` where it cannot be told."""
    if isinstance(measure, Flops):
        return _Scale(ranks=(measure.seq_len,))
    if isinstance(measure, Training):
        return _Scale(ranks=(*map(bits_of, measure.dtypes),))
    if isinstance(measure, AsBytes):
        named = measure.dtype or dtype
        return _Scale(bits_of(named), (COUNTS.index(measure.count),)) if named else None
    return _Scale()


def _both(before: Limit, after: Limit, revision: str) -> str:
    if before.measure != after.measure:
        measures = f"{before} ({before.measure}) at {revision} and is {after} ({after.measure}) now"
        return f"the limit of {before.component} was {measures}"
    by = ""
    if before.maximum is not None and after.maximum is not None and after.maximum > before.maximum:
        by = f", {exact(after.maximum - before.maximum)} more"
    return f"the limit of {before.component} was {before} at {revision} and is {after} now{by}"
