"""Shapes under a budget: other sizes that a model could have, by its closed form, nearest to the present shape first.

Heads divide the width and keep their own width, sizes are multiples of 64, and shapes that a rule of the class refuses
are left out. A shape under every limit is shown if no size can grow by one more step, and if no nearer shape of the
same depth has as many parameters for as few FLOPs, within one percent.

A network is a size of the feed-forward layers. A count is linear in each number of layers, so a width with a network is
counted only at the present depth and one layer deeper. The closed form itself counts every shape that is shown.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, islice, zip_longest
from math import inf, lcm, log
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from pytest_bertsize.closed_forms import flops
from pytest_bertsize.closed_forms.derive import with_adapter
from pytest_bertsize.closed_forms.what_if import Variants, describe_changes, is_allowed, is_over
from pytest_bertsize.config.values import MOST_LAYERS
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.inventory import TOTAL, TRAINABLE, is_within
from pytest_bertsize.table.limits import Flops, Limit
from pytest_bertsize.wording import exact

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.derive import Derivation
    from pytest_bertsize.closed_forms.family import ClosedForm
    from pytest_bertsize.config.adapter import Adapter

OF_EACH_LAYER = ("layer_types", "mlp_layer_types", "attention_window")
"""Keys of lists with an entry for each layer."""
MOST_IN_A_REPORT = 3
FURTHEST_IN_A_REPORT = 0.7
"""The largest distance of a shape in a report, a sum of logarithms: a size that changes by a tenth adds about 0.1."""
MULTIPLE = 64
"""The number that widths and vocabularies are multiples of, for the matrix units of a GPU."""
HEAD = 64
"""Hidden units of one attention head, in BERT and most of its kin (Devlin et al. 2018)."""
SEQ_LEN = 128
FURTHEST = 4
"""The largest multiple of the present width or depth that is tried."""
WIDEST, DEEPEST = 1_024, 24
"""The width and depth of BERT-large, which are tried for smaller models, too."""
MOST_APART = 5
"""The most steps between two widths that heads of the present width divide; with more, heads become 64 wide."""
MOST_STEPS = 64
"""The most values of one size that are tried."""
LEAST_RATIO, MOST_RATIO = 0.5, 1.5
"""The least and the greatest ratio of feed-forward size to width that is tried, in multiples of the present ratio."""
HEADS, NETWORKS, ROWS = ("A", "Ad", "Q"), ("I", "Id"), ("V", "P")
"""The symbols for numbers of heads, for sizes of feed-forward layers, and for rows of embeddings."""
HEAD_WIDTHS = ("head_dim", "d_kv", "d_head", "attention_head_size")
"""Keys of the width of a head, in families where it does not follow from the model's width."""
OF_ADAPTER = ("r", "target_modules")
"""Keys of an adapter that a search varies."""
MOST_LEFT_OUT = 2
"""The most targets of an adapter that a shape leaves out."""


class Wish(NamedTuple):
    """The wishes for a search: keys to keep, steps between sizes, the width of a head, and tokens in a forward pass."""

    keep: frozenset[str] = frozenset()
    """Keys that do not change."""
    multiple: int = MULTIPLE
    head: int | None = None
    """Hidden units of one head; ``None``: the present number, or 64 if few widths are a multiple of it."""
    seq_len: int = SEQ_LEN
    """The number of tokens of the forward pass whose FLOPs are compared, unless a limit sets it."""


class Shape(Struct, frozen=True):
    """Other sizes under every limit, counted by the closed form itself."""

    changes: Mapping[str, Any]
    """Changes from the present shape, by key: sizes, or the rank and targets of the adapter."""
    said: str
    """The changes as text: ``num_hidden_layers 13 → 12``."""
    form: ClosedForm
    flops: int | None
    """FLOPs of a forward pass; ``None`` if there is no closed form of them."""
    distance: float
    """The distance from the present shape: the sum of the logarithms of the factors by which sizes change."""
    layers: int

    def is_as_good_as(self, other: Shape) -> bool:
        """Return whether ``other`` has as many layers, and no advantage of over one percent in parameters or FLOPs."""
        costs = (self.flops or 0) * 99 <= (other.flops or 0) * 100
        return self.layers == other.layers and self.form.total * 100 >= other.form.total * 99 and costs


class Found(NamedTuple):
    """The result of a search."""

    shapes: tuple[Shape, ...]
    """The shapes, the nearest to the present one first."""
    varied: tuple[str, ...]
    """The keys for which other values were tried."""
    seq_len: int
    """The number of tokens in the forward pass whose FLOPs are counted."""


class Point(NamedTuple):
    """Values of the keys that change together."""

    sizes: Mapping[str, int]
    distance: float
    """The distance from the present values: the sum of the logarithms of the factors by which they change."""


class Axes:
    """The keys that vary, and the values of each, including the present ones."""

    def __init__(self, variants: Variants, wish: Wish) -> None:
        self.wish = wish
        self.now = {key: variants.now(key) for key in variants.sizes}
        keys = {size.symbol: key for key, size in variants.sizes.items()}
        self._kept = wish.keep | variants.unsure.keys()
        free = {symbol: key for symbol, key in keys.items() if key not in self._kept}
        self._width, self._first_heads = keys.get("D"), keys.get(HEADS[0])
        self._heads = [free[each] for each in HEADS if each in free and self._width]
        self._head_widths = [key for key in free.values() if key in HEAD_WIDTHS and self._heads]
        equal = {key for pair in variants.derivation.family.keys.equal if self._width in pair for key in pair}
        self._as_wide = [  # embeddings of the same width, and sizes that the class requires to be equal
            key
            for symbol, key in free.items()
            if (symbol == "E" or key in equal)
            and key != self._width
            and self.now[key] == self.now.get(self._width or "")
        ]
        self._networks = [free[each] for each in NETWORKS if each in free]
        self.stacks = [key for symbol, key in free.items() if symbol[0] == "L" and variants.sizes[key].repeats]
        self.depths = {
            key: range(
                max(1, variants.sizes[key].minimum), min(max(FURTHEST * self.now[key], DEEPEST), MOST_LAYERS) + 1
            )
            for key in self.stacks
        }
        self.rows = {free[each]: self._fewer_rows(each, self.now[free[each]]) for each in ROWS if each in free}
        self.widths = self._list_widths()

    def _fewer_rows(self, symbol: str, now: int) -> range:
        """Return smaller numbers of rows to try, in rising order.

        Rows of a vocabulary are multiples of the step. Rows of positions are such multiples plus the present remainder,
        as some families count positions from 2 on (fairseq's padding), and are no fewer than the tokens of a pass.
        """
        step = self.wish.multiple
        return range(step if symbol == ROWS[0] else -(-self.wish.seq_len // step) * step + now % step, now, step)

    @property
    def varied(self) -> tuple[str, ...]:
        """The keys that have another value to try."""
        tried = [*self.widths, *self.list_networks(self.widths[0]), *self.list_networks(self.widths[-1])]
        keys = dict.fromkeys(key for point in tried for key in point.sizes)
        others = [key for key in keys if any(point.sizes.get(key, self.now[key]) != self.now[key] for point in tried)]
        return (*others, *self.stacks, *(key for key, fewer in self.rows.items() if fewer))

    def _list_widths(self) -> list[Point]:
        """List widths, rising, each with its heads and with the sizes that are as wide."""
        if self._width is None:
            return [Point({}, 0)]
        now = self.now[self._width]
        own = [self.now[key] for key in HEAD_WIDTHS if key in self.now]
        heads = self.now[self._first_heads] if self._first_heads else 0
        head = own[0] if own else now // heads if heads and now % heads == 0 else None
        kept = head if head and lcm(head, self.wish.multiple) <= MOST_APART * self.wish.multiple else HEAD
        top = max(FURTHEST * now, WIDEST)
        step = self._step_over(top)
        others = [] if self._width in self._kept else range(step, top + 1, step)
        points = [self._at_width(width, head, self.wish.head or kept) for width in (now, *others)]
        found = [each for each in points if each]
        if self.wish.head is None:
            alike = (self._width, *self._as_wide, *self._heads, *self._head_widths)
            today = Point({key: self.now[key] for key in alike}, 0)
            found = [today, *(each for each in found if each.sizes[self._width] != now)]
        return sorted(found, key=lambda point: tuple(point.sizes.values()))

    def _at_width(self, width: int, now: int | None, head: int) -> Point | None:
        """Return a width with its heads in the present ratio; ``None`` if their number would not be whole.

        :param now: the present width of a head; ``None`` if heads do not divide the width.
        """
        assert self._width is not None
        today, heads = self.now[self._width], {}
        if self._first_heads in self._heads:
            to_width = Fraction(now, today) if now else Fraction(1, self.now[self._first_heads])
            heads = {key: self.now[key] * to_width * width / head for key in self._heads}
            if any(count.denominator != 1 for count in heads.values()):
                return None
        elif self._first_heads and width % self.now[self._first_heads]:
            return None
        sizes = {self._width: width, **dict.fromkeys(self._as_wide, width)}
        sizes |= {key: int(count) for key, count in heads.items()} | dict.fromkeys(self._head_widths, head)
        return Point(sizes, abs(log(width / today)) + (abs(log(head / now)) if now and heads else 0))

    def _step_over(self, span: float) -> int:
        """Return the step between sizes in a span: it doubles until there are at most :data:`MOST_STEPS` steps."""
        step = self.wish.multiple
        while span / step > MOST_STEPS:
            step *= 2
        return step

    def list_networks(self, width: Point) -> list[Point]:
        """List sizes of the feed-forward layers, rising: 0.5 to 1.5 times the present ratio to the width."""
        if not self._networks:
            return [Point({}, 0)]
        now = self.now[self._networks[0]]
        scale = width.sizes[self._width] / self.now[self._width] if self._width else 1
        low, high = LEAST_RATIO * scale * now, MOST_RATIO * scale * now
        step = self._step_over(high - low)
        found = []
        for size in sorted({now, *range(-(-int(low) // step) * step, int(high) + 1, step)}):
            values = {key: Fraction(self.now[key] * size, now) for key in self._networks}  # each keeps its ratio
            if low <= size <= high and all(each.denominator == 1 for each in values.values()):
                found.append(Point({key: int(each) for key, each in values.items()}, abs(log(size / now / scale))))
        return found


def find_shapes(
    derivation: Derivation,
    limits: Sequence[Limit],
    wish: Wish,
    *,
    most: int,
    furthest: float = inf,
    weigh: Callable[[Limit, ClosedForm], int] | None = None,
) -> Found:
    """Search for the nearest shapes within some limits.

    If an adapter's own parameters are limited, its rank and targets vary first, and no shape has a larger total.

    :param limits: limits of components, of the total, of trainable parameters and of FLOPs.
    :param most: the most shapes to return.
    :param furthest: the largest distance from the present shape.
    :param weigh: measures the quantities of other limits.
    :raises Unusable: if a limited quantity has no closed form, or no width has heads of the given width.
    """
    total = derivation.form.total
    limits = [*limits, Limit(TOTAL, None, total, total, "")] if list_of_adapter(derivation, limits) else limits
    search = _Search(derivation, limits, wish, weigh)
    if adapters := tuple(islice(search.list_adapters(), most)):
        return Found(adapters, tuple(key for key in OF_ADAPTER if key not in wish.keep), search.seq_len)
    found = tuple(islice(search.list_shapes(furthest), most))
    return Found(found, search.axes.varied, search.seq_len)


def list_of_adapter(derivation: Derivation, limits: Sequence[Limit]) -> list[str]:
    """List the adapter's quantities that have a maximum in ``limits``: ``trainable``, and the adapter's components."""
    own = [each for each in limits if each.component == TRAINABLE or is_within(each.component, "adapters")]
    return [each.component for each in own if each.maximum is not None] if derivation.adapter else []


def find_fitting_shapes(derivation: Derivation, budget: Sequence[Limit]) -> tuple[Shape, ...]:
    """Return a few near shapes within a budget's limits on counts and FLOPs, if the closed form exceeds a limit.

    No shape has more parameters than the present one, so limits on bytes need no check. Growth is not checked.
    """
    if not any(is_over(limit, derivation.form) for limit in budget):
        return ()
    total = derivation.form.total
    limits = [limit for limit in budget if limit.measure is None or isinstance(limit.measure, Flops)]
    limits.append(Limit(TOTAL, None, total, total, ""))
    try:
        return find_shapes(derivation, limits, Wish(), most=MOST_IN_A_REPORT, furthest=FURTHEST_IN_A_REPORT).shapes
    except Unusable:
        return ()


class _Search:
    """A search over pairs of a width and a feed-forward size, each pair as deep as the limits allow."""

    def __init__(
        self,
        derivation: Derivation,
        limits: Sequence[Limit],
        wish: Wish,
        weigh: Callable[[Limit, ClosedForm], int] | None,
    ) -> None:
        self.variants, self.limits, self._weigh = Variants(derivation), limits, weigh
        self._of_adapter = list_of_adapter(derivation, limits)
        of_flops = (limit.measure.seq_len for limit in limits if isinstance(limit.measure, Flops))
        self.seq_len = next(of_flops, wish.seq_len)
        form = derivation.form
        if (
            self.seq_len
            and any(isinstance(limit.measure, Flops) for limit in limits)
            and flops.count_flops(form, self.seq_len) is None
        ):
            adapted = " with its adapter" if "adapter" in form.architecture.added else ""
            message = f"there is no closed form for the FLOPs of {form.architecture.name}{adapted}"
            fix = "leave out the limit on FLOPs, as in --total 110M alone"
            raise Unusable(Finding("unknown-closed-form", message, fix))
        self.axes = Axes(self.variants, wish._replace(seq_len=self.seq_len))
        if not self.axes.widths:
            message = f"no width of the search has a whole number of heads of {wish.head} units"
            fix = "write another --head-width, or --keep fewer keys"
            raise Unusable(Finding("config-invalid", message, fix))
        self._lines: dict[tuple[int, ...], list[list[int] | None]] = {}
        self.axes.stacks = [key for key in self.axes.stacks if self._is_free(key)]

    def _is_free(self, stack: str) -> bool:
        """Return whether the number of layers in ``stack`` can change and a limit depends on this number.

        The number cannot change if a list of the config has an entry for each layer, or if the table names single
        layers, so that the number is in no formula.
        """
        form, now = self.variants.form, self.axes.now[stack]
        given = self.variants.derivation.values.for_build
        lists = (given.get(key) for key in OF_EACH_LAYER)
        deeper = self.variants.unchecked(**{stack: now + 1})
        is_named = self.variants.sizes[stack].symbol not in form.formulas()[TOTAL].symbols
        if any(isinstance(each, list) and len(each) == now for each in lists) or (
            is_named and deeper.total != form.total
        ):
            return False
        return self._measure_form(deeper) != self._measure_form(form)

    # measure a shape

    def _measure_form(self, form: ClosedForm) -> list[int]:
        """Measure the quantity of each limit, in the order of the limits."""
        found = []
        for limit in self.limits:
            if limit.measure is None:
                found.append(form.count_of(limit.component))
            elif isinstance(limit.measure, Flops):
                found.append(flops.count_flops(form, self.seq_len) or 0)
            else:
                assert self._weigh is not None
                found.append(self._weigh(limit, form))
        return found

    def _measure_sizes(self, sizes: Mapping[str, int]) -> list[int] | None:
        """Measure the quantities of the limits with other sizes; ``None`` for sizes that cannot be counted."""
        try:
            return self._measure_form(self.variants.unchecked(**sizes))
        except Exception:  # noqa: BLE001  (a block that these values make no sense to)
            return None

    def _measure_line(self, body: Mapping[str, int]) -> list[list[int] | None]:
        """Measure the sizes in ``body`` at the present depth, and with one layer more in each stack in turn."""
        key = tuple(body.values())
        if key not in self._lines:
            deeper = ({**body, stack: self.axes.now[stack] + 1} for stack in self.axes.stacks)
            self._lines[key] = [self._measure_sizes(body), *map(self._measure_sizes, deeper)]
        return self._lines[key]

    def _exceeds_limit(self, counts: Sequence[int]) -> bool:
        """Return whether one of the counts exceeds its limit."""
        held = zip(self.limits, counts, strict=True)
        return any(limit.maximum is not None and count > limit.maximum for limit, count in held)

    def _is_over(self, body: Mapping[str, int], depths: Sequence[int]) -> bool:
        """Return whether a model with the sizes in ``body`` and these depths exceeds a limit."""
        start, *deeper = self._measure_line(body)
        if start is None:
            return True
        counts = start
        for stack, depth, more in zip(self.axes.stacks, depths, deeper, strict=True):
            if more is None:
                return True
            layers = depth - self.axes.now[stack]
            counts = [each + layers * (one - none) for each, one, none in zip(counts, more, start, strict=True)]
        return self._exceeds_limit(counts)

    # list shapes

    def list_adapters(self) -> Iterator[Shape]:
        """Yield shapes with another adapter, the nearest first; none if no limit concerns the adapter's parameters."""
        adapter = self.variants.derivation.adapter
        if adapter and self._of_adapter:
            targets = adapter.target_modules
            choices: list[tuple[str, ...] | str] = [targets]
            if isinstance(targets, tuple) and "target_modules" not in self.axes.wish.keep:
                fewer = range(1, min(MOST_LEFT_OUT + 1, len(targets)))
                choices += (each for out in fewer for each in combinations(targets, len(targets) - out))
            yield from sorted((shape for each in choices for shape in self._list_ranks(adapter, each)), key=_sort_key)

    def _list_ranks(self, today: Adapter, targets: tuple[str, ...] | str) -> Iterator[Shape]:
        """Yield the adapter on ``targets`` with the largest rank under every limit, unless it is the present one."""

        def adapt(r: int) -> ClosedForm | None:
            alone = self.variants.derivation.alone
            try:
                return alone and with_adapter(alone, replace(today, r=r, target_modules=targets))
            except Unusable:
                return None

        def is_over(r: int) -> bool:
            form = adapt(r)
            return form is None or self._exceeds_limit(self._measure_form(form))

        step = 2 if today.start == "orthogonal" else 1  # PEFT refuses an odd rank
        ranks = () if "r" in self.axes.wish.keep else range(step, FURTHEST * today.r + 1, step)
        r = next(iter(ranks[: bisect_left(ranks, 1, key=is_over)][-1:]), today.r)
        form, same = adapt(r), adapt(today.r)
        if form and same and form.total == same.total:  # a rank_pattern sets all ranks
            r, form = today.r, same
        tried = {"r": r, "target_modules": targets}
        changes = {key: each for key, each in tried.items() if each != getattr(today, key)}
        if form and changes and all(map(is_allowed, self.limits, self._measure_form(form))):
            counts = [(each, self.variants.form.count_of(each), form.count_of(each)) for each in self._of_adapter]
            told = [f"r {today.r} → {r}"] if "r" in changes else []
            told += [f"target_modules without {name}" for name in today.target_modules if name not in targets]
            told += [f"{each} {exact(old)} → {exact(new)}" for each, old, new in counts if new != old]
            distance = abs(log(r / today.r)) + log(len(today.target_modules) / len(targets))
            cost = flops.count_flops(form, self.seq_len)
            yield Shape(changes, ", ".join(told), form, cost, distance, 0)

    def list_shapes(self, furthest: float) -> Iterator[Shape]:
        """Yield the shapes that are better than every nearer one, without the present shape."""
        kept: list[Shape] = []
        for shape in self._list_candidates(furthest):
            if not any(nearer.is_as_good_as(shape) for nearer in kept):
                kept.append(shape)
                if shape.changes:
                    yield shape

    def _list_candidates(self, furthest: float) -> Iterator[Shape]:
        """Yield the shapes that are under every limit and in which no size can grow by a step, the nearest first."""
        bodies = []
        for width, wider in zip_longest(self.axes.widths, self.axes.widths[1:]):
            networks = self.axes.list_networks(width)
            for network, larger in zip_longest(networks, networks[1:]):
                steps = [{**wider.sizes, **network.sizes}] if wider else []
                steps += [{**width.sizes, **larger.sizes}] if larger else []
                distance = width.distance + network.distance
                if distance <= furthest:
                    bodies.append((distance, {**width.sizes, **network.sizes}, steps))
        waiting = list(self._list_with_fewer_rows(furthest))
        too_large: list[Mapping[str, int]] = []
        fewest = [self.axes.depths[stack][0] for stack in self.axes.stacks]
        for distance, body, steps in sorted(bodies, key=lambda each: each[0]):
            if any(all(body[key] >= least for key, least in each.items()) for each in too_large):
                continue
            waiting.sort(key=_sort_key)
            while waiting and waiting[0].distance < distance:
                yield waiting.pop(0)
            if self._is_over(body, fewest):
                too_large.append(body)
            else:
                waiting += self._list_depths(body, distance, steps, furthest)
        yield from sorted(waiting, key=_sort_key)

    def _list_depths(
        self, body: Mapping[str, int], distance: float, steps: Sequence[Mapping[str, int]], furthest: float
    ) -> Iterator[Shape]:
        """Yield the deepest shapes with the sizes in ``body`` under the limits; each changes at most one stack."""
        now = tuple(self.axes.now[stack] for stack in self.axes.stacks)
        depths = set() if now else {now}
        for place, tried in enumerate(self.axes.depths[stack] for stack in self.axes.stacks):
            each = [(*now[:place], depth, *now[place + 1 :]) for depth in tried]
            depths.update(each[: bisect_left(each, 1, key=lambda depth: self._is_over(body, depth))][-1:])
        for depth in sorted(depths):
            changed = [(new, old) for new, old in zip(depth, now, strict=True) if new != old]
            apart = distance + sum(abs(log(new / old)) if old else inf for new, old in changed)
            if apart <= furthest and not self._is_over(body, depth) and not self._can_grow(body, depth, steps):
                yield from self._count_shape({**body, **dict(zip(self.axes.stacks, depth, strict=True))}, apart)

    def _can_grow(self, body: Mapping[str, int], depth: tuple[int, ...], steps: Sequence[Mapping[str, int]]) -> bool:
        deeper = [
            (*depth[:place], depth[place] + 1, *depth[place + 1 :])
            for place, stack in enumerate(self.axes.stacks)
            if depth[place] + 1 in self.axes.depths[stack]
        ]
        larger = [*((step, depth) for step in steps), *((body, each) for each in deeper)]
        return any(
            not self._is_over(sizes, layers)
            and self.variants.is_legal(**sizes, **dict(zip(self.axes.stacks, layers, strict=True)))
            for sizes, layers in larger
        )

    def _list_with_fewer_rows(self, furthest: float) -> Iterator[Shape]:
        """Yield the present shape, if it exceeds a limit, with as many rows of one embedding as the limits allow."""

        def is_over(sizes: Mapping[str, int]) -> bool:
            counts = self._measure_sizes(sizes)
            return counts is None or self._exceeds_limit(counts)

        if is_over({}):
            for key, fewer in self.axes.rows.items():
                fitting = bisect_left(fewer, 1, key=lambda rows, key=key: is_over({key: rows}))  # type: ignore[misc]
                if fitting and (distance := log(self.axes.now[key] / fewer[fitting - 1])) <= furthest:
                    yield from self._count_shape({key: fewer[fitting - 1]}, distance)

    def _count_shape(self, sizes: Mapping[str, int], distance: float) -> Iterator[Shape]:
        """Yield a shape, counted by the closed form itself, if the class accepts it and every limit holds."""
        changes = {key: each for key, each in sizes.items() if each != self.axes.now[key]}
        form = self.variants.varied(**changes)
        if form and all(map(is_allowed, self.limits, self._measure_form(form))):
            layers = sum(sizes.get(key, self.axes.now[key]) for key in self.axes.stacks)
            told = describe_changes(self.variants, changes)
            yield Shape(
                self.variants.together(changes), told, form, flops.count_flops(form, self.seq_len), distance, layers
            )


def _sort_key(shape: Shape) -> tuple[float, int, int]:
    return shape.distance, -shape.form.total, shape.flops or 0
