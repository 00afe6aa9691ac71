"""How models grew, as one HTML page: a line of steps for each, and its table. No script, nothing loaded."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from itertools import groupby
from typing import TYPE_CHECKING

from markupsafe import Markup

from pytest_bertsize.reports.growth_words import headline, notes, said
from pytest_bertsize.reports.html.page import HEAD, templates
from pytest_bertsize.wording import exact, signed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_bertsize.base.growth import Growth, Line, Row

GENERATOR = '<meta name="generator" content="bertsize log'
"""How a page of this kind is recognised."""
WIDTH, HEIGHT = 1000, 100
"""Of the drawing, in units of its own: it takes the width that there is."""
MARGIN = 8
"""Above the highest and below the lowest."""
DAY = len("2026-11-22")


@dataclass(frozen=True, slots=True)
class Dot:
    """A commit on the line."""

    x: str
    y: str
    title: str


@dataclass(frozen=True, slots=True)
class Chart:
    """The counts of one model, a step a row, at equal distances: what dates say is whatever somebody's clock did."""

    path: Markup
    """Of SVG; it has gaps where the model is not declared, or not counted."""
    dots: tuple[Dot, ...]
    highest: int
    lowest: int
    spoken: str


def render(found: Growth, lines: Sequence[Line], release: str) -> str:
    """The page.

    :param release: of transformers, whose closed forms count.
    """
    ours = version("pytest-bertsize")
    return (
        templates()
        .get_template("log.html.jinja")
        .render(
            generator=Markup(GENERATOR),  # noqa: S704  (our own)
            version=ours,
            models=[(line, headline(line), _chart(line), _rows(line)) for line in lines],
            notes=[*notes(found, lines)],
            asked=found.span.asked,
            end=found.span.end,
            versions=f"pytest-bertsize {ours}, transformers {release}",
            day=DAY,
        )
    )


def is_ours(text: str) -> bool:
    """Whether it is a page that :func:`render` has made."""
    return GENERATOR in text[:HEAD]


def _rows(line: Line) -> list[tuple[Row, str, list[str]]]:
    """Each with its change in words, and what is to be said of it."""
    return [(row, "" if row.change is None else signed(row.change) or "0", [*said(row)]) for row in line.rows]


def _chart(line: Line) -> Chart | None:
    totals = [row.total for row in line.rows if row.total is not None]
    if not totals:
        return None
    highest, lowest = max(totals), min(totals)
    step = WIDTH / len(line.rows)
    points = [
        (at * step, None if row.total is None else _height(row.total, lowest, highest))
        for at, row in enumerate(line.rows)
    ]
    dots = tuple(
        Dot(_rounded(x), _rounded(y), _title(row))
        for (x, y), row in zip(points, line.rows, strict=True)
        if y is not None
    )
    return Chart(
        Markup(" ").join(_path(points, step)), dots, highest, lowest, f"{headline(line)}, in {len(totals):,} steps"
    )


def _height(total: int, lowest: int, highest: int) -> float:
    """From above; a model that never changed is a line in the middle."""
    if lowest == highest:
        return HEIGHT / 2
    return MARGIN + (HEIGHT - 2 * MARGIN) * ((highest - total) / (highest - lowest))


def _path(points: Sequence[tuple[float, float | None]], step: float) -> Iterator[str]:
    for is_there, each in groupby(points, lambda point: point[1] is not None):
        run = [(x, y) for x, y in each if y is not None]
        if is_there:
            yield f"M{_rounded(run[0][0])} {_rounded(run[0][1])}"
            yield from (f"H{_rounded(x)}V{_rounded(y)}" for x, y in run[1:])
            yield f"H{_rounded(run[-1][0] + step)}"


def _rounded(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")


def _title(row: Row) -> str:
    change = f" ({signed(row.change)})" if row.change else ""
    return "; ".join((f"{row.commit.label}, {row.commit.date[:DAY]}: {exact(row.total or 0)}{change}", *said(row)))
