"""The arithmetic of one row of a report."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING

from pytest_bertsize.inventory import TOTAL
from pytest_bertsize.wording import signed

if TYPE_CHECKING:
    from pytest_bertsize.reports.shape import Component, Measure, ModelReport

NOTHING = "\N{EN DASH}"
"""Where there is no number."""


def unique(model: ModelReport) -> int | None:
    """Its parameters, as they were built, or by the closed form where nothing is built."""
    return model["totals"]["actual"] if model["built"] else model["totals"]["expected"]


def total(model: ModelReport) -> Component | None:
    """The row of the whole model; ``None`` where it was not counted."""
    return next((row for row in model["components"] if row["name"] == TOTAL), None)


def chosen(rows: Sequence[Component]) -> list[Component]:
    """Everything at the first level, and below it what has a limit, differs or changed."""
    wanted = {row["name"] for row in rows if "." not in row["name"] or row["limit"] or differs(row) or changed(row)}
    wanted |= {name.rpartition(".")[0] for name in wanted}
    return [row for row in rows if row["name"] in wanted]


def counted(row: Component | Measure) -> int | None:
    """What is there, or what the closed form says where nothing was built."""
    return row["expected"] if row["actual"] is None else row["actual"]


def off_by(row: Component) -> int | None:
    """What is there too much, or too little, for the closed form; ``None`` where the two are not compared."""
    return None if row["actual"] is None or row["expected"] is None else row["actual"] - row["expected"]


def differs(row: Component) -> bool:
    return bool(off_by(row))


def changed_by(row: Component) -> int | None:
    """What came since the base; ``None`` where nothing is compared."""
    count = counted(row)
    return None if count is None or row["base"] is None else count - row["base"]


def changed(row: Component) -> bool:
    return bool(changed_by(row))


def difference(delta: int | None) -> str:
    """``'+768'``, ``'='``, or a dash where nothing is compared."""
    return NOTHING if delta is None else signed(delta) if delta else "="


def percent(change: int, before: int) -> str:
    """``(7_087_872, 109_514_298)`` → ``'+6.5 %'``; what would round to nothing is ``'<0.1 %'``."""
    share = _in_tenths(change, before)
    return f"{share:+,} %" if share else "<0.1 %"


def share_of_total(row: Component, model: ModelReport) -> str:
    whole = total(model)
    return share(counted(row), counted(whole) if whole else None)


def share(part: int | None, whole: int | None) -> str:
    """Of the whole: ``'21.8%'``, ``'<0.1%'``, ``'0%'``; ``''`` where either is not known."""
    if part is None or not whole:
        return ""
    tenths = 100 if part == whole else _in_tenths(part, whole)
    return f"{tenths}%" if tenths else "<0.1%" if part else "0%"


def _in_tenths(part: int, whole: int) -> Decimal:
    return (Decimal(100 * part) / whole).quantize(Decimal("0.1"), ROUND_HALF_UP)


def urgent(rows: Sequence[Component], most: int) -> list[Component]:
    """Those that a review needs, in their order: the total, what fails, differs or changed, what has a limit."""

    def order(index: int) -> tuple[bool, ...]:
        row = rows[index]
        has = (row["name"] == TOTAL, row["failed"], differs(row), changed(row), row["limit"] is not None)
        return *(not each for each in has), "." in row["name"]

    return [rows[index] for index in sorted(sorted(range(len(rows)), key=order)[:most])]


def room(row: Component | Measure) -> int | None:
    """Room under the limit, or above the lower one; negative by how much a limit is broken."""
    actual, low, high = counted(row) or 0, row["min"], row["max"]
    if low is not None and actual < low:
        return actual - low
    if high is not None:
        return high - actual
    return None if low is None else actual - low
