"""Which changed key moved what: Shapley values over the closed form, exact to the parameter.

A key's share is what it adds on average over every order in which the changed keys could have changed (Shapley 1953):
no order is preferred, a key that no count depends on gets 0, and the shares sum to the whole change.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import combinations, pairwise
from math import factorial, floor
from typing import TYPE_CHECKING, TypeAlias

from pytest_bertsize.closed_forms.family import ClosedForm
from pytest_bertsize.config.dims import Dims
from pytest_bertsize.config.keys import LABELS
from pytest_bertsize.inventory import roll_up
from pytest_bertsize.wording import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from pytest_bertsize.closed_forms.derive import Derivation
    from pytest_bertsize.closed_forms.family import Architecture, Family

MOST_KEYS = 10
"""Changed keys; for n of them the closed form is counted 2ⁿ times."""
MOST_SAID = 3
"""Of a list in the table, how many rows that are otherwise are said."""

SHAPLEY = "each key's average over every order in which the keys could have changed (Shapley values)"
IN_ORDER = f"more than {MOST_KEYS} keys changed: each is counted on top of those before it, in the family's own order"
TOGETHER = "these keys go together: the closed form has no count for one without the others"
ROUNDED = "; parts of a parameter are rounded so that the sums stay exact"

Counts: TypeAlias = dict[str, int]
"""Parameters by component, without those of the components below it."""
Shares: TypeAlias = dict[str, Fraction]
Chosen: TypeAlias = tuple[int, ...]
"""A set of keys, by their index."""


@dataclass(frozen=True)
class Side:
    """One of the two models that are compared."""

    family: Family
    architecture: Architecture
    dims: Dims

    @classmethod
    def of(cls, derivation: Derivation) -> Side:
        found = cls(derivation.family, derivation.form.architecture, derivation.form.dims)
        vars(found)["own"] = dict(derivation.form.own)
        return found

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
    method: str
    """How keys that act together share what they moved; ``""`` where one key or none changed."""


@dataclass(frozen=True, slots=True)
class _Player:
    """A key that changed, and how a side becomes one in which it has."""

    key: str
    before: object
    after: object
    change: Callable[[Side], Side]


def attribute(before: Side, after: Side) -> Attribution:
    """Share what the closed form changed by among the keys that changed.

    :returns: a row for every changed key, also for one that moved nothing.
    """
    if before.family.name != after.family.name:
        names = shown(before.family.name), shown(after.family.name)
        return Attribution((Moved("model_type", *names, difference(after.own, before.own)),), "")
    start, end = _completed(before, after), _completed(after, before)
    players = list(_players(start, end))
    try:
        shares = _shapley(players, start, end) if len(players) <= MOST_KEYS else _in_order(players, start)
    except Exception:  # noqa: BLE001  (a mixture of two configs may be one that no closed form counts)
        return _together(players, start, end)
    rows = [
        Moved(player.key, shown(player.before), shown(player.after), own)
        for player, own in zip(players, in_whole_parameters(shares), strict=True)
    ]
    return Attribution(tuple(sorted(rows, key=lambda row: -abs(row.total))), method_of(shares))


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


def _players(start: Side, end: Side) -> Iterator[_Player]:
    keys = {size.symbol: size.key for size in end.family.keys.sizes} | {LABELS: "num_labels"}
    options = {*start.architecture.options, *end.architecture.options}
    before, after = ({"architecture": [side.architecture.name], **side.architecture.added} for side in (start, end))
    if changed := [key for key in {**before, **after} if before.get(key, ()) != after.get(key, ())]:
        was, became = (
            ", ".join(_beside(side.get(key, ()), other.get(key, ())) for key in changed)
            for side, other in ((before, after), (after, before))
        )
        yield _Player(", ".join(changed), was, became, partial(replace, architecture=end.architecture))
    for symbol, size in end.dims.sizes.items():
        if start.dims.sizes[symbol] != size:
            change = partial(_with, "sizes", symbol, size)
            yield _Player(keys.get(symbol, symbol), start.dims.sizes[symbol], size, change)
    for key, value in end.dims.switches.items():
        if start.dims.switches[key] != value:
            change = partial(_with, "switches", key, value)
            yield _Player(f"options.{key}" if key in options else key, start.dims.switches[key], value, change)


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


def _after(players: Iterable[_Player], start: Side) -> Side:
    for player in players:
        start = player.change(start)
    return start


def _shapley(players: Sequence[_Player], start: Side, end: Side) -> list[Shares]:
    """For every key, by component: the sum over all sets of other keys of their weight × what the key then adds."""
    everyone = range(len(players))
    counts = {
        chosen: _after((players[index] for index in chosen), start).own
        for size in range(len(players))
        for chosen in combinations(everyone, size)
    }
    counts[*everyone,] = end.own  # which all of them have made
    return shares_of(counts, len(players))


def shares_of(counts: Mapping[Chosen, Counts], keys: int) -> list[Shares]:
    """Each key's share of what all of them changed.

    :param counts: of a model in which these keys have changed, and no others; for every set of them.
    """
    return [
        _share({chosen: own for chosen, own in counts.items() if index not in chosen}, counts, index)
        for index in range(keys)
    ]


def _share(without: Mapping[Chosen, Counts], counts: Mapping[Chosen, Counts], index: int) -> Shares:
    """One key's share: ``without`` are the counts of all sets of other keys."""
    others = max(map(len, without))
    sums: Counter[str] = Counter()
    for chosen, own in without.items():
        weight = factorial(len(chosen)) * factorial(others - len(chosen))
        for component, added in difference(counts[tuple(sorted((*chosen, index)))], own).items():
            sums[component] += weight * added
    return {component: Fraction(added, factorial(others + 1)) for component, added in sums.items()}


def _in_order(players: Sequence[_Player], start: Side) -> list[Shares]:
    """What each key adds on top of those before it."""
    steps = [_after(players[:count], start).own for count in range(len(players) + 1)]
    return [{name: Fraction(count) for name, count in difference(new, old).items()} for old, new in pairwise(steps)]


def _together(players: Sequence[_Player], start: Side, end: Side) -> Attribution:
    key, before, after = (", ".join(parts) for parts in zip(*map(_said, players), strict=True))
    return Attribution((Moved(key, before, after, difference(end.own, start.own)),), TOGETHER)


def _said(player: _Player) -> tuple[str, str, str]:
    return player.key, shown(player.before), shown(player.after)


def method_of(shares: Sequence[Shares]) -> str:
    if len(shares) < 2:  # noqa: PLR2004  (one key has no one to share with)
        return ""
    rounded = any(share.denominator > 1 for each in shares for share in each.values())
    return (SHAPLEY if len(shares) <= MOST_KEYS else IN_ORDER) + (ROUNDED if rounded else "")


def in_whole_parameters(shares: Sequence[Shares]) -> list[Counts]:
    """Round every component by largest remainder: what the keys moved of it keeps its sum."""
    whole: list[Counts] = [{} for _ in shares]
    for component in dict.fromkeys(name for each in shares for name in each):
        exact = [each.get(component, Fraction()) for each in shares]
        floors = [floor(share) for share in exact]
        left = int(sum(exact)) - sum(floors)
        by_remainder = sorted(range(len(exact)), key=lambda index: floors[index] - exact[index])
        for index, count in enumerate(floors):
            counted = count + (index in by_remainder[:left])
            if counted:
                whole[index][component] = counted
    return whole
