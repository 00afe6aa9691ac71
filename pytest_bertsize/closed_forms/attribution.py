"""Which changed key moved what by the closed form: each key alone, and together what they do not explain one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, TypeAlias

from pytest_bertsize.closed_forms.family import ClosedForm
from pytest_bertsize.config.dims import Dims
from pytest_bertsize.config.keys import LABELS
from pytest_bertsize.inventory import roll_up
from pytest_bertsize.wording import shown

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.derive import Derivation
    from pytest_bertsize.closed_forms.family import Architecture, Family

MOST_SAID = 3
"""Of a list in the table, how many rows that are otherwise are said."""
TOGETHER = "together"
"""The key of the row that has what no key explains alone: wider layers, and more of them."""
INSEPARABLE = "these keys go together: the closed form has no count for one without the others"

Counts: TypeAlias = dict[str, int]
"""Parameters by component, without those of the components below it."""


@dataclass(frozen=True)
class Side:
    """One of the two models that are compared."""

    family: Family
    architecture: Architecture
    dims: Dims

    @classmethod
    def of(cls, derivation: Derivation) -> Side:
        return cls(derivation.family, derivation.form.architecture, derivation.form.dims)

    @cached_property
    def own(self) -> Counts:
        return dict(ClosedForm(self.architecture, self.dims).own)


@dataclass(frozen=True, slots=True)
class Moved:
    """What one changed key moved, all its components together."""

    key: str
    before: str
    after: str
    own: Mapping[str, int]
    """By component, without those below it; only what it moved."""

    @property
    def total(self) -> int:
        return sum(self.own.values())

    @property
    def components(self) -> Counts:
        """At every level."""
        return {name: count for name, count in roll_up(dict(self.own)).items() if count}


@dataclass(frozen=True, slots=True)
class Attribution:
    """The changed keys, the one that moved most first; their totals sum to what the closed form changed by."""

    moved: tuple[Moved, ...]
    method: str = ""
    """Why keys stand in one row, where they do."""


@dataclass(frozen=True, slots=True)
class _Change:
    """A key that changed, and how a side becomes one in which it has."""

    key: str
    before: object
    after: object
    change: Callable[[Side], Side]


def attribute(before: Side, after: Side) -> Attribution:
    """Tell what each changed key moves alone, and what they move together beyond that.

    :returns: a row for every changed key, also for one that moved nothing; a row :data:`TOGETHER` for the rest.
    """
    if before.family.name != after.family.name:
        names = shown(before.family.name), shown(after.family.name)
        return Attribution((Moved("model_type", *names, difference(after.own, before.own)),))
    start, end = _completed(before, after), _completed(after, before)
    changes = list(_changes(start, end))
    said = [(each.key, shown(each.before), shown(each.after)) for each in changes]
    try:
        counts = [end.own] if len(changes) == 1 else [each.change(start).own for each in changes]
    except Exception:  # noqa: BLE001  (a mixture of two configs may be one that no closed form counts)
        return Attribution((in_one_row(said, difference(end.own, start.own)),), INSEPARABLE)
    return Attribution(alone_and_together(said, start.own, counts, end.own))


def alone_and_together(
    said: Sequence[tuple[str, str, str]], start: Counts, counts: Sequence[Counts], end: Counts
) -> tuple[Moved, ...]:
    """Return a row for each key, the one that moved most first, and one for what is left.

    :param said: each key with both of its values.
    :param counts: with that key changed, and no other.
    """
    rows = [Moved(*key, difference(own, start)) for key, own in zip(said, counts, strict=True)]
    rows.sort(key=lambda row: -abs(row.total))
    left = difference(end, start)
    for row in rows:
        left = difference(left, row.own)
    return (*rows, Moved(TOGETHER, "", "", left)) if left else tuple(rows)


def in_one_row(said: Sequence[tuple[str, str, str]], own: Counts) -> Moved:
    """Return the row of keys that cannot be counted one by one."""
    key, before, after = (", ".join(parts) for parts in zip(*said, strict=True))
    return Moved(key, before, after, own)


def difference(new: Mapping[str, int], old: Mapping[str, int]) -> Counts:
    """By component, what is not the same."""
    deltas = {name: new.get(name, 0) - old.get(name, 0) for name in {**old, **new}}
    return {name: delta for name, delta in deltas.items() if delta}


def came_and_went(new: Mapping[str, int], old: Mapping[str, int]) -> tuple[int, int]:
    """Gross: what the growing components gained, and what the shrinking ones lost; neither is negative."""
    deltas = difference(new, old).values()
    return sum(delta for delta in deltas if delta > 0), -sum(delta for delta in deltas if delta < 0)


def _completed(side: Side, other: Side) -> Side:
    """What only the other architecture has, its labels or its pooler, is no change of a key."""
    sizes, switches = {**other.dims.sizes, **side.dims.sizes}, {**other.dims.switches, **side.dims.switches}
    if len(sizes) == len(side.dims.sizes) and len(switches) == len(side.dims.switches):
        return side
    return replace(side, dims=replace(side.dims, sizes=sizes, switches=switches))


def _changes(start: Side, end: Side) -> Iterator[_Change]:
    keys = {size.symbol: size.key for size in end.family.keys.sizes} | {LABELS: "num_labels"}
    options = {*start.architecture.options, *end.architecture.options}
    before, after = ({"architecture": [side.architecture.name], **side.architecture.added} for side in (start, end))
    if changed := [key for key in {**before, **after} if before.get(key, ()) != after.get(key, ())]:
        was, became = (
            ", ".join(_beside(side.get(key, ()), other.get(key, ())) for key in changed)
            for side, other in ((before, after), (after, before))
        )
        yield _Change(", ".join(changed), was, became, partial(replace, architecture=end.architecture))
    for symbol, size in end.dims.sizes.items():
        if start.dims.sizes[symbol] != size:
            change = partial(_with, "sizes", symbol, size)
            yield _Change(keys.get(symbol, symbol), start.dims.sizes[symbol], size, change)
    for key, value in end.dims.switches.items():
        if start.dims.switches[key] != value:
            change = partial(_with, "switches", key, value)
            yield _Change(f"options.{key}" if key in options else key, start.dims.switches[key], value, change)


def _beside(said: Sequence[str], other: Sequence[str]) -> str:
    """What one side says and the other does not; all of it, where they say the same in another order."""
    here = [each for each in said if each not in other] if {*said} != {*other} else [*said]
    rest = f", … ({len(here)} of them)" if len(here) > MOST_SAID else ""
    return f"{', '.join(here[:MOST_SAID])}{rest}" or "nothing"


def _with(table: str, name: str, value: object, side: Side) -> Side:
    changed = {**getattr(side.dims, table), name: value}
    return replace(
        side,
        dims=Dims(
            **{"sizes": side.dims.sizes, "switches": side.dims.switches, table: changed}, release=side.dims.release
        ),
    )
