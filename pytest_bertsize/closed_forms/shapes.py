"""Shapes under a budget: which other sizes a model could have, by its closed form, the nearest to today's first.

Heads divide the width and stay as wide as they are, sizes are multiples of 64, and what a rule of the class refuses is
left out. Of the shapes that hold every limit those are worth a look of which no size can take one step more, and than
which no nearer one of the same depth has as many parameters for as few FLOPs, give or take one in a hundred.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise, zip_longest
from math import inf, log
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms import flops
from pytest_bertsize.closed_forms.axes import Axes, Wish
from pytest_bertsize.closed_forms.polynomials import counts_of, flops_of
from pytest_bertsize.closed_forms.what_if import Variants, change, is_over
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.inventory import TOTAL
from pytest_bertsize.table.model import Flops, Limit
from pytest_bertsize.wording import printable

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.axes import Point
    from pytest_bertsize.closed_forms.derive import Derivation
    from pytest_bertsize.closed_forms.family import ClosedForm

OF_EACH_LAYER = ("layer_types", "mlp_layer_types", "attention_window")
"""Keys of lists with an entry for each layer."""
MOST_IN_A_REPORT = 3
REACHES = (0.1, 0.3, 0.7)
"""How far a report looks: sums of logarithms, 0.1 for one size that is a tenth another."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Other sizes with which every limit holds, counted by the closed form itself."""

    changes: Mapping[str, int]
    """By key, what is not as it is today."""
    said: str
    """``num_hidden_layers 13 → 12``."""
    form: ClosedForm
    flops: int | None
    """Of a forward pass; ``None`` where there is no closed form of them."""
    distance: float
    """From today's: the sum of the logarithms of what width, depth, network, heads and rows are multiplied by."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a search came to."""

    shapes: tuple[Shape, ...]
    """The nearest to today's first."""
    examined: int
    """Combinations whose count was held against the limits."""
    varied: tuple[str, ...]
    """Keys of which other values were tried."""
    smallest: int
    """Parameters of the smallest that can be."""
    seq_len: int
    """Tokens of the forward pass whose FLOPs they have."""
    afterwards: tuple[Limit, ...] = ()
    """Limits that were held against the nearest shapes alone, because no polynomial says what they are about."""


def shapes(derivation: Derivation, limits: Sequence[Limit], wish: Wish, *, most: int) -> Found:
    """The shapes under some limits that are worth a look.

    :param limits: of components, of the total, of what trains and of FLOPs.
    :param most: how many are told.
    :raises Unusable: where there is no closed form for what is limited.
    """
    search = _Search(derivation, limits, wish)
    told = tuple(search.told(most))
    return Found(told, search.examined, tuple(search.axes.varied), search.smallest, search.seq_len, search.afterwards)


def of_shapes(budget: Sequence[Limit]) -> list[Limit]:
    """The limits that a shape is held to: those of counts and of FLOPs."""
    return [limit for limit in budget if limit.measure is None or isinstance(limit.measure, Flops)]


def fits(derivation: Derivation, budget: Sequence[Limit]) -> tuple[Shape, ...]:
    """For a budget that the closed form is over: a few shapes near today's with which its counts and FLOPs hold.

    None has more parameters than today's, so that limits of bytes need no look; growth is a matter of the base.
    """
    if not any(is_over(limit, derivation.form) for limit in budget):
        return ()
    total = derivation.form.total
    limits = of_shapes(budget)
    try:
        search = _Search(derivation, [*limits, Limit(TOTAL, None, total, total, "")], Wish())
    except Unusable:
        return ()
    found: tuple[Shape, ...] = ()
    for search.reach in REACHES:
        found = tuple(search.told(MOST_IN_A_REPORT))
        if len(found) == MOST_IN_A_REPORT:
            break
    return found


@dataclass(frozen=True, slots=True)
class _Candidate:
    values: tuple[int, ...]
    """In the order of the axes' sizes."""
    distance: float
    total: int
    flops: int
    layers: int

    def is_as_good_as(self, other: _Candidate) -> bool:
        """Of one depth, but for the distance."""
        more, less = self.total * 100 >= other.total * 99, self.flops * 99 <= other.flops * 100
        return self.layers == other.layers and more and less


class _Search:
    """One walk over all combinations of widths, networks and depths."""

    def __init__(self, derivation: Derivation, limits: Sequence[Limit], wish: Wish) -> None:
        """:raises Unusable: where there is no closed form for what is limited, or no width for the heads wished for."""
        form, self.variants = derivation.form, Variants(derivation)
        self.reach = inf
        """The largest distance from today's."""
        self.limits = sorted(limits, key=lambda limit: limit.measure is not None)
        self.seq_len = next((each.measure.seq_len for each in limits if isinstance(each.measure, Flops)), wish.seq_len)
        self._bounds = [(limit.minimum or 0, inf if limit.maximum is None else limit.maximum) for limit in self.limits]
        wish = replace(wish, seq_len=self.seq_len)
        self._look_at(form, wish)
        if still := self._without_say():
            self._look_at(form, replace(wish, keep=wish.keep | still))
        if not self.axes.widths:
            message = f"no width that is tried is a whole number of heads of {wish.head}"
            fix = "write a smaller --head-width, or one that goes into a width, and keep fewer keys"
            raise Unusable(Finding("config-invalid", message, fix))
        stacks = ([point.values[0] for point in points] for points in self.axes.depths)
        self._deeper_by = [dict(pairwise(depths)) for depths in stacks]
        self._legal: dict[tuple[int, ...], bool] = {}
        self._over: dict[tuple[int, ...], bool] = {}
        asked = {key for rule in self.variants.rules for key in rule.keys}
        self._asked = [place for place, size in enumerate(self.axes.sizes) if size.key in asked]

    def _look_at(self, form: ClosedForm, wish: Wish) -> None:
        """The axes, and what is limited as polynomials of their sizes."""
        self.axes = Axes(self.variants, wish)
        symbols = [size.symbol for size in self.axes.sizes]
        counted = [limit for limit in self.limits if limit.measure is None]
        try:
            self._counts = counts_of(form, symbols, [*(limit.component for limit in counted), TOTAL])
            self._flops = flops_of(form, symbols, self.seq_len)
        except Exception as error:  # (whatever a contributed form does with sizes that are symbols)
            message = f"its closed form is none of symbols: {type(error).__name__}: {error}"
            raise Unusable(Finding("unknown-closed-form", printable(message), "correct its blocks")) from error
        if len(counted) < len(self.limits) and self._flops is None:
            adapted = " with its adapter" if "adapter" in form.architecture.added else ""
            message = f"there is no closed form for the FLOPs of {form.architecture.name}{adapted}"
            fix = "leave the limit on FLOPs out, as by --total 110M alone"
            raise Unusable(Finding("unknown-closed-form", message, fix))
        now = zip(counted, self._counts(*self.axes.now)[:-1], strict=True)
        self.afterwards = tuple(limit for limit, count in now if count != form[limit.component])
        """Limits of which the polynomials know nothing, as of what trains where layers are frozen."""
        self._sought = [
            (0, inf) if limit in self.afterwards else bounds
            for limit, bounds in zip(self.limits, self._bounds, strict=True)
        ]

    def _without_say(self) -> frozenset[str]:
        """Depths that no limit depends on, and those of which the polynomials say otherwise than the closed form.

        The former are those of layers that share their weights, the latter of a table that names single layers. Where
        the config has a list with an entry for each layer, the class refuses another number of them.
        """
        given = self.variants.derivation.values.for_build
        lengths = [len(each) for key in OF_EACH_LAYER if isinstance(each := given.get(key), list)]
        still = set()
        for size in self.axes.stacks:
            if self.variants.now(size.key) in lengths:
                still.add(size.key)
                continue
            deeper = {size.key: self.variants.now(size.key) + 1}
            values = [deeper.get(each.key, now) for each, now in zip(self.axes.sizes, self.axes.now, strict=True)]
            is_off = self._counts(*values)[-1] != self.variants.unchecked(**deeper).total
            if is_off or self._held(values) == self._held(self.axes.now):
                still.add(size.key)
        return frozenset(still)

    # what a shape comes to

    @property
    def examined(self) -> int:
        return len(self._over)

    def is_over(self, values: tuple[int, ...]) -> bool:
        """By the polynomials, each shape once."""
        if values not in self._over:
            try:
                held = zip(self._held(values), self._sought, strict=True)
                self._over[values] = any(each > most for each, (_, most) in held)
            except ZeroDivisionError:  # fewer heads than they are divided by: no such class can be built
                self._over[values] = True
        return self._over[values]

    def _is_under(self, values: Sequence[int]) -> bool:
        return any(each < least for each, (least, _) in zip(self._held(values), self._sought, strict=True))

    def _held(self, values: Sequence[int]) -> list[int]:
        """What limits are about, in their order."""
        counts = self._counts(*values)[:-1]
        return counts if len(counts) == len(self.limits) or not self._flops else [*counts, *self._flops(*values)]

    def _is_legal(self, values: Sequence[int]) -> bool:
        """The rules are asked once for what they look at."""
        key = tuple(values[place] for place in self._asked)
        if key not in self._legal:
            self._legal[key] = self.variants.is_legal(**self._changes(values))
        return self._legal[key]

    def _changes(self, values: Sequence[int]) -> dict[str, int]:
        """By key, what is not as it is today."""
        both = zip(self.axes.sizes, values, self.axes.now, strict=True)
        return {size.key: value for size, value, now in both if value != now}

    @property
    def smallest(self) -> int:
        """Parameters of the smallest that can be."""
        of_rows = zip(self.axes.of_rows, self._rows, strict=True)
        rows = [next(iter(self.axes.rows(size)), now) for size, now in of_rows]
        depths = [points[0].values[0] for points in self.axes.depths]
        for width in self.axes.widths:
            with suppress(ZeroDivisionError):
                return self._counts(*width.values, *self.axes.networks(width)[0].values, *depths, *rows)[-1]
        return self.variants.form.total

    # which there are

    def _candidates(self) -> list[_Candidate]:
        """Those that hold every limit, and of which no size can take one step more."""
        found = [*self._with_fewer_rows()]
        for width, wider in _with_next(self.axes.widths):
            if width.distance > self.reach:
                continue
            for network, larger in _with_next(self.axes.networks(width)):
                steps = [(*wider.values, *network.values)] if wider else []
                steps += [(*width.values, *larger.values)] if larger else []
                body = _Body((*width.values, *network.values), width.distance + network.distance, steps)
                if body.distance <= self.reach:
                    self._deepen(body, (), body.distance, found)
        return found

    def _deepen(self, body: _Body, depth: tuple[int, ...], distance: float, found: list[_Candidate]) -> bool:
        """Whether the shallowest is over already, so that a deeper one need not be asked."""
        if len(depth) == len(self.axes.depths):
            return self._examine(body, depth, distance, found)
        first = None
        for point in self.axes.depths[len(depth)]:
            if distance + point.distance <= self.reach:
                is_over = self._deepen(body, (*depth, *point.values), distance + point.distance, found)
                first = is_over if first is None else first
                if is_over:
                    break
        return bool(first)

    def _examine(self, body: _Body, depth: tuple[int, ...], distance: float, found: list[_Candidate]) -> bool:
        """Whether it is over."""
        rows = self._rows
        values = (*body.values, *depth, *rows)
        if self.is_over(values):
            return True
        larger = [*((*step, *depth) for step in body.steps), *((*body.values, *each) for each in self._deeper(depth))]
        if not any(self._fits((*each, *rows)) for each in larger):
            found += self._candidate(values, distance)
        return False

    @property
    def _rows(self) -> tuple[int, ...]:
        return self.axes.now[len(self.axes.now) - len(self.axes.of_rows) :]

    def _deeper(self, depth: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        for place, each in enumerate(depth):
            if each in self._deeper_by[place]:
                yield (*depth[:place], self._deeper_by[place][each], *depth[place + 1 :])

    def _fits(self, values: tuple[int, ...]) -> bool:
        return not self.is_over(values) and self._is_legal(values)

    def _with_fewer_rows(self) -> Iterator[_Candidate]:
        """Today's shape with as many rows of one table as the limits leave, where it is over."""
        body, rows = self.axes.now[: len(self.axes.now) - len(self._rows)], self._rows
        if not self.is_over(self.axes.now):
            return
        for place, size in enumerate(self.axes.of_rows):
            tried = self.axes.rows(size)

            def with_rows(count: int, place: int = place) -> tuple[int, ...]:
                return (*body, *rows[:place], count, *rows[place + 1 :])

            fitting = bisect_left(tried, 1, key=lambda count: self.is_over(with_rows(count)))
            if fitting:
                fewer = tried[fitting - 1]
                yield from self._candidate(with_rows(fewer), log(rows[place] / fewer))

    def _candidate(self, values: tuple[int, ...], distance: float) -> Iterator[_Candidate]:
        if distance <= self.reach and self._is_legal(values) and not self._is_under(values):
            first = len(values) - len(self.axes.of_rows) - len(self.axes.depths)
            layers = sum(values[first : first + len(self.axes.depths)])
            cost = self._flops(*values)[0] if self._flops else 0
            yield _Candidate(values, distance, self._counts(*values)[-1], cost, layers)

    # which are worth a look

    def told(self, most: int) -> Iterator[Shape]:
        """The nearest of those that no nearer one is as good as; today's own is not among them."""
        kept: list[_Candidate] = []
        for each in sorted(self._candidates(), key=lambda each: (each.distance, -each.total, each.flops)):
            changes = self._changes(each.values)
            if any(nearer.is_as_good_as(each) for nearer in kept):
                continue
            shape = self._counted(changes, each.distance)
            kept += [each] if shape else []
            if shape and changes:
                yield shape
                most -= 1
                if not most:
                    return

    def _counted(self, changes: Mapping[str, int], distance: float) -> Shape | None:
        """By the closed form itself; ``None`` where that finds it over after all."""
        form = self.variants.varied(**changes)
        if form is None:
            return None
        counted = flops.flops(form.architecture, form.dims, seq_len=self.seq_len)
        cost = None if counted is None else flops.total(counted)
        held = [form[limit.component] if limit.measure is None else cost or 0 for limit in self.limits]
        if not all(least <= each <= most for each, (least, most) in zip(held, self._bounds, strict=True)):
            return None
        return Shape(self.variants.together(changes), change(self.variants, changes), form, cost, distance)


@dataclass(frozen=True, slots=True)
class _Body:
    """Width and network, and the next larger ones."""

    values: tuple[int, ...]
    distance: float
    steps: list[tuple[int, ...]]


def _with_next(points: Sequence[Point]) -> Iterator[tuple[Point, Point | None]]:
    return zip_longest(points, points[1:])
