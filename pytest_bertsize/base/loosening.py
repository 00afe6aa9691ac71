"""Find what a change loosens: limits that allow more than at the base, and comparisons that are switched off."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from pytest_bertsize.dtypes import bits_of
from pytest_bertsize.findings import Finding
from pytest_bertsize.quantity import LARGEST
from pytest_bertsize.table.limits import ALREADY_OVER, AsBytes, Flops, Growth, Training, most_growth, share_of
from pytest_bertsize.wording import exact, printable, shown, visible

if TYPE_CHECKING:
    from pytest_bertsize.base.baseline import Baseline
    from pytest_bertsize.findings import Severity
    from pytest_bertsize.inventory import Inventory
    from pytest_bertsize.table.limits import Limit, Measure
    from pytest_bertsize.table.model import Model

REASON = 'say why in the same change: reason = "…"'
SAY_WHY = f"if that is intended, {REASON}"
COUNTS = ("unique", "stored", "unrolled")
"""Values of a limit's key ``count``; each counts at least as many bytes as the value before it."""


Row: TypeAlias = tuple[str, str | None, tuple[str, ...]]
"""The message of a loosening, its component, and its key in the model's table."""


def make_findings(rows: Iterable[Row], before: Model, after: Model) -> list[Finding]:
    """Return a finding for each loosening: an error, or a note if today's table has a new ``reason``."""
    severity, fix = judge_reason(after, before.reason, SAY_WHY)
    asks_why = severity == "error"
    return [
        Finding("budget-loosened", message, fix, severity, component, table_key=key, asks_why=asks_why)
        for message, component, key in rows
    ]


def list_moved_components(revision: str, counts: tuple[Inventory, Inventory], limited: Iterable[str]) -> Iterator[Row]:
    """Yield each limited component that covers fewer parameters of today's model than it would by the base's table.

    :param counts: today's model, counted with the components of the base's table and with those of today's table.
    """
    for name in limited:
        then, now = (each.count_of(name) for each in counts)
        if then > now:
            more = f"{exact(then)} with the components of {revision}"
            yield f"{name} covers {exact(now)} of this model, and {more}", name, ("components",)


def find_not_compared(model: Model, baseline: Baseline) -> list[Finding]:
    """Report a model whose table or files at the base cannot be read; a new ``reason`` excuses the table."""
    severity: Severity = "error" if baseline.is_asked_for else "warning"
    if mistake := baseline.find_mistake(model):
        way_out = f"compare with a commit in which it can be read, or {REASON}"
        by_reason, fix = judge_reason(model, mistake.reason, way_out)
        message = f"its table at {baseline.revision} cannot be read: {mistake.problem}"
        asks_why = by_reason == "error"
        severity = severity if asks_why else "note"
        return [Finding("not-compared", message, fix, severity, table_key=(), asks_why=asks_why)]
    former = baseline.find_former(model.name)
    if former and former.unread:
        message = f"at {baseline.revision} it cannot be counted: {former.problem}"
        return [Finding("not-compared", message, former.unread.fix, severity)]
    return []


def judge_reason(model: Model, before: str, way_out: str) -> tuple[Severity, str]:
    """Return a severity and a fix: a note if today's table gives a new reason, else an error and ``way_out``.

    :param before: the base's reason, which does not explain today's change.
    """
    if not visible(model.reason):
        return "error", way_out
    if visible(model.reason) == visible(before):
        return "error", f"{way_out}; its reason is still the base's: write another, or add to it"
    return "note", f"its reason: {shown(model.reason)}"


def list_loosened(
    before: Model, after: Model, revision: str, dtypes: tuple[str | None, str | None], counts: Inventory | None
) -> Iterator[Row]:
    """Yield each limit that was loosened, and each comparison that was switched off.

    :param revision: the name of the base in messages.
    :param dtypes: dtypes of the weights in the two configs; ``None`` for an unknown one.
    :param counts: the base's counts, if known; only they show whether 1% allows more growth than 1,000,000.
    """
    if before.closed_form and not after.closed_form:
        said = f"{revision} compares it with its closed form, which closed_form = false switches off"
        yield said, None, ("closed_form",)
    for key, was, now in (
        ("checkpoint", before.checkpoint, after.checkpoint),
        ("tokenizer", before.tokenizer, after.tokenizer),
    ):
        if was and not now:
            yield f"{revision} compares it with the {key} {printable(was)}, and this table does not", None, ()
    if after.budget.passes_already_over and not before.budget.passes_already_over:
        said = f'{revision} fails every exceeded limit, and already_over = "pass" passes those that {revision} exceeds'
        yield said, None, ("budget", ALREADY_OVER)
    if before.limits and not after.limits:
        limits = ", ".join(f"{limit.component} {limit}" for limit in before.limits)
        yield f"{revision} limits {limits}, and this table says report-only", None, ("budget",)
        return
    todays = {limit.component: limit for limit in after.limits}
    for limit in before.limits:
        name = limit.component
        if name not in todays:
            yield f"{revision} limits {name} to {limit}, and this table does not", name, ("budget",)
        elif _is_looser(limit, todays[name], dtypes, counts):
            inside = (todays[name].table_key or ())[len(after.table_key) :]
            yield _describe_both(limit, todays[name], revision), name, inside


def _is_looser(before: Limit, after: Limit, dtypes: tuple[str | None, str | None], counts: Inventory | None) -> bool:
    if isinstance(before.measure, Growth):
        was, now = before.written, after.written
        alike = (share_of(was) is None) == (share_of(now) is None)
        count = LARGEST if alike else counts.count_of(before.measure.part) if counts else None
        return count is None or most_growth(now, count) > most_growth(was, count)
    then, today = _find_scale(before.measure, dtypes[0]), _find_scale(after.measure, dtypes[1])
    if before.measure == after.measure:
        then = today = (1, ())
    if then is None or today is None:
        return True
    (bits, ranks), (bits_now, ranks_now) = then, today
    pairs = [*zip(ranks, ranks_now, strict=True)]
    is_above = before.maximum is not None and (
        after.maximum is None
        or any(was > now for was, now in pairs)
        or after.maximum * bits > before.maximum * bits_now
    )
    least, least_now = before.minimum or 0, after.minimum or 0  # a count is never negative
    is_below = least > 0 and (any(was < now for was, now in pairs) or least_now * bits < least * bits_now)
    return is_above or is_below


def _find_scale(measure: Measure | None, dtype: str | None) -> tuple[int, tuple[int, ...]] | None:
    """Return the bits of a parameter, ``None`` for an unknown dtype, and ranks: higher ones count a model as larger."""
    if isinstance(measure, Flops):
        return 1, (measure.seq_len,)
    if isinstance(measure, Training):
        return 1, (*map(bits_of, measure.dtypes),)
    if isinstance(measure, AsBytes):
        named = measure.dtype or dtype
        return (bits_of(named), (COUNTS.index(measure.count),)) if named else None
    return 1, ()


def _describe_both(before: Limit, after: Limit, revision: str) -> str:
    if before.measure != after.measure:
        measures = f"{before} ({before.measure}) at {revision} and is {after} ({after.measure}) now"
        return f"the limit of {before.component} was {measures}"
    by = ""
    if before.maximum is not None and after.maximum is not None and after.maximum > before.maximum:
        by = f", {exact(after.maximum - before.maximum)} more"
    return f"the limit of {before.component} was {before} at {revision} and is {after} now{by}"
