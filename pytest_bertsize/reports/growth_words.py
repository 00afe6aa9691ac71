"""What every form of a log says beside its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pytest_bertsize.base.commits import SHORT
from pytest_bertsize.reports.model_report import change_of
from pytest_bertsize.reports.sentences import change
from pytest_bertsize.wording import exact, plural, printable, signed

if TYPE_CHECKING:
    from pytest_bertsize.base.growth import Growth, Line, Row

UNSHALLOW = "run git fetch --unshallow (GitHub: fetch-depth: 0 under actions/checkout, GitLab: GIT_DEPTH: 0)"


def headline(line: Line) -> str:
    """``encoder: 102,290,312 → 116,602,170 (+14,311,858)``."""
    name = printable(line.name)
    totals = [row.total for row in line.rows if row.total is not None]
    if not totals:
        return f"{name}: never counted"
    by = " by its lock" if line.counted and line.counted[1].by == "lock" else ""
    left = ", no longer declared" if line.is_left else ""
    if len(totals) == 1:
        return f"{name}: {exact(totals[0])}{by}{left}"
    return f"{name}: {exact(totals[0])} → {exact(totals[-1])} ({signed(totals[-1] - totals[0])}){by}{left}"


def said(row: Row) -> Iterator[str]:
    """Beside the numbers of a row: the keys first."""
    yield from (change(change_of(each)) for each in row.moved)
    yield from beside(row)


def beside(row: Row) -> Iterator[str]:
    """What no key says."""
    yield from row.said
    if row.since:
        yield f"the change is since {row.since}, which was the last that was counted"
    if len(row.commit.parents) > 1 and row.change is not None:
        yield "a merge: this is all that it brought"


def notes(found: Growth, lines: Sequence[Line]) -> Iterator[str]:
    """What is to be said of all rows."""
    yield from dict.fromkeys(row.method for line in lines for row in line.rows if row.method)
    told = {row.commit.name for line in lines for row in line.rows}
    if found.span.start == found.span.end:
        yield f"no commit lies in {printable(found.span.asked)}"
    elif quiet := found.looked_at - len(told):
        touch = "touches" if quiet == 1 else "touch"
        yield f"{plural(quiet, 'other commit')} {touch} the table or what it names, and moved none of these counts"
    if found.is_cut:
        yield f"this clone is shallow: what was before {found.span.first[:SHORT]} is not known; {UNSHALLOW}"
