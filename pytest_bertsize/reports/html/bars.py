"""Bars of a page: two models on one scale, so that growth is length and over budget sticks out past the line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_bertsize.inventory import CANONICAL, TOTAL
from pytest_bertsize.quantity import compact_left
from pytest_bertsize.wording import exact

NEAR = 4
"""A budget of more than so many times the larger model is beyond the right edge: it would leave no bars to see."""
COLOURS = 8
"""That the page has; those behind the canonical components' are for all others, in turn."""
_HEADROOM = 50
"""A part of so many stays free at the right, so that a line at the very end is seen."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A stretch of a bar. Its width is its count, and nothing else."""

    name: str
    start: int
    count: int
    label: str = ""
    amount: str = ""
    colour: int = 0
    added: bool = False


@dataclass(frozen=True, slots=True)
class Bar:
    """One side: the first level above, the second below."""

    label: str
    total: int
    above: tuple[Cell, ...]
    below: tuple[Cell, ...]
    spoken: str


@dataclass(frozen=True, slots=True)
class Bars:
    """Both sides on one scale."""

    scale: int
    sides: tuple[Bar, ...]
    limit: int | None
    """Of the total; ``None`` where there is none."""
    beyond: bool
    """Whether it lies outside the scale."""
    limit_text: str

    def share(self, count: int) -> str:
        """Of the whole width, in per cent."""
        return f"{100 * count / self.scale:.4f}"

    @property
    def added(self) -> bool:
        return any(cell.added for side in self.sides for cell in side.below)


def bars(
    now: Mapping[str, int], before: Mapping[str, int] | None, base: str, limit: tuple[int | None, str], most: int
) -> Bars:
    """The bars of one model.

    :param now: parameters of every component at every level, and of the total.
    :param before: the same at the base; ``None`` where there is none to compare with.
    :param base: what the base is called.
    :param limit: the most that the total may be, and how that is written.
    :param most: cells that one bar has at each level; the smallest others are drawn as one.
    """
    larger = max(now[TOTAL], before[TOTAL] if before else 0)
    highest, written = limit
    beyond = highest is not None and highest > NEAR * larger
    scale = larger if highest is None or beyond else max(larger, highest)
    sides = [_bar("this branch", now, before, most, highest)]
    if before is not None:
        sides.insert(0, _bar(base, before, None, most, highest))
    return Bars(scale + scale // _HEADROOM, tuple(sides), highest, beyond, written)


def _bar(label: str, counts: Mapping[str, int], before: Mapping[str, int] | None, most: int, limit: int | None) -> Bar:
    above, below = [], []
    start = 0
    for name, count in _bounded(_level(counts, ""), most):
        colour = colour_of(name, [*_level(counts, "")])
        above.append(Cell(name, start, count, name, _rounded(count), colour))
        below += _second_level(name, count, start, colour, counts, before, most)
        start += count
    return Bar(label, counts[TOTAL], tuple(above), tuple(below), _spoken(label, counts, above, limit, most))


def _level(counts: Mapping[str, int], parent: str) -> dict[str, int]:
    """The components right below one, or those at the top; what they leave of its count is the last, ``other``."""
    prefix = f"{parent}." if parent else ""
    names = [name for name in counts if name.startswith(prefix) and "." not in name[len(prefix) :] and name != TOTAL]
    parts = {name: counts[name] for name in names if counts[name]}
    rest = counts.get(parent or TOTAL, 0) - sum(parts.values())
    return {**parts, f"{prefix}other": rest} if parts and rest > 0 else parts


def _bounded(parts: Mapping[str, int], most: int) -> list[tuple[str, int]]:
    """The largest, in their order, and all others as one."""
    if len(parts) <= most:
        return list(parts.items())
    kept = sorted(parts, key=lambda name: -parts[name])[: most - 1]
    rest = [count for name, count in parts.items() if name not in kept]
    return [*((name, count) for name, count in parts.items() if name in kept), (f"{len(rest)} others", sum(rest))]


def _second_level(
    name: str,
    count: int,
    start: int,
    colour: int,
    counts: Mapping[str, int],
    before: Mapping[str, int] | None,
    most: int,
) -> list[Cell]:
    """The components below one, each with what was added to it at its end."""
    cells = []
    former = None if before is None else {**before, **_level(before, name)}
    parts = _bounded(_level(counts, name), max(most // 3, 1)) or [(name, count)]
    for part, size in parts:
        gathered = former is None or part.endswith(" others")
        kept = size if gathered else min(size, (former or {}).get(part, 0))
        added = size - kept
        label = "" if part == name else part.rpartition(".")[2]
        larger = added > kept
        if kept:
            cells.append(Cell(part, start, kept, "" if larger else label, "", colour))
        if added:
            named = f"{label} " if larger and label else ""
            cells.append(Cell(part, start + kept, added, f"{named}+{_rounded(added)}", "", colour, added=True))
        start += size
    return cells


def colour_of(name: str, names: Sequence[str]) -> int:
    if name in CANONICAL:
        return CANONICAL.index(name)
    others = [each for each in names if each not in CANONICAL]
    room = COLOURS - len(CANONICAL)
    return len(CANONICAL) + (others.index(name) % room if name in others else room - 1)


def _rounded(count: int) -> str:
    """``85054464`` → ``'85.1M'``, up as all that is used; the exact count is in the cell's title and in the table."""
    return compact_left(-count)[1:]


def _spoken(label: str, counts: Mapping[str, int], above: Sequence[Cell], limit: int | None, most: int) -> str:
    """The bar for those who do not see it."""
    parts = []
    for cell in above:
        inner = ", ".join(
            f"{name.rpartition('.')[2]} {exact(count)}"
            for name, count in _bounded(_level(counts, cell.name), max(most // 3, 1))
        )
        parts.append(f"{cell.name} {exact(cell.count)}{f' (of it {inner})' if inner else ''}")
    over = counts[TOTAL] - (limit or 0)
    budget = (
        f", {exact(abs(over))} {'over' if over > 0 else 'below'} the budget of {exact(limit)}"
        if limit is not None
        else ""
    )
    return f"{label}: {exact(counts[TOTAL])} parameters{budget}. {'; '.join(parts)}"
