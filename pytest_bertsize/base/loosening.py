"""A budget that was loosened in the same change: each limit that lets more pass than it did at the base."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bertsize.findings import Finding
from pytest_bertsize.wording import exact, printable, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_bertsize.table.model import Limit, Model

SAY_WHY = 'if that is meant, say why in the same change: reason = "…"'


def loosened(before: Model, after: Model, revision: str) -> list[Finding]:
    """A finding for each limit that was loosened: an error, unless the table's ``reason`` changed with it.

    :param revision: what messages call the base.
    """
    explained = after.reason.strip() not in {"", before.reason.strip()}
    severity, fix = ("note", f"its reason: {shown(after.reason)}") if explained else ("error", SAY_WHY)
    return [
        Finding("budget-loosened", message, fix, severity, component, table_key=key)  # type: ignore[arg-type]
        for message, component, key in _what(before, after, revision)
    ]


def _what(before: Model, after: Model, revision: str) -> Iterator[tuple[str, str | None, tuple[str, ...]]]:
    if before.closed_form and not after.closed_form:
        yield f"{revision} holds it to its closed form, which closed_form = false switches off", None, ("closed_form",)
    for key in ("checkpoint", "tokenizer"):
        if getattr(before, key) and not getattr(after, key):
            yield (
                f"{revision} compares it with the {key} {printable(getattr(before, key))}, and this table does not",
                None,
                (),
            )
    if before.limits and not after.limits:
        limits = ", ".join(f"{limit.component} {limit}" for limit in before.limits)
        yield f"{revision} limits {limits}, and this table says report-only", None, ("budget",)
        return
    now = {limit.component: limit for limit in after.limits}
    for limit in before.limits:
        name = limit.component
        if name not in now:
            yield f"{revision} limits {name} to {limit}, and this table does not", name, ("budget",)
        elif limit.measure != now[name].measure:
            was, became = limit.measure, now[name].measure
            yield f"{name} was measured as {was} at {revision}, and is as {became} now", name, ("budget", name)
        elif _lets_more_pass(limit, now[name]):
            yield _both(limit, now[name], revision), name, ("budget", name)


def _lets_more_pass(before: Limit, after: Limit) -> bool:
    above = before.maximum is not None and (after.maximum is None or after.maximum > before.maximum)
    below = before.minimum is not None and (after.minimum is None or after.minimum < before.minimum)
    return above or below


def _both(before: Limit, after: Limit, revision: str) -> str:
    by = ""
    if before.maximum is not None and after.maximum is not None and after.maximum > before.maximum:
        by = f", {exact(after.maximum - before.maximum)} more"
    return f"the limit of {before.component} was {before} at {revision} and is {after} now{by}"
