"""Shapes within a budget: other sizes that a model could have, nearest to its present ones first.

A search varies the width with its heads, the feed-forward layers, and each number of layers: one alone, or two of them.
Of one it tries values, of the other it takes the largest within the limits. Of a model that exceeds a limit it also
takes fewer rows of an embedding. The closed form counts every shape. No shape is as large as another in every size.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, islice
from math import inf, lcm, log
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from pytest_bertsize.closed_forms import flops
from pytest_bertsize.closed_forms.derive import with_adapter
from pytest_bertsize.closed_forms.what_if import MULTIPLE, Variants, describe_changes, is_allowed, is_over, measure
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
SEQ_LEN = 128
FURTHEST = 4
"""The largest multiple of a present size that is tried."""
WIDEST, DEEPEST = 1_024, 24
"""The width and depth of BERT-large, which are tried for smaller models, too."""
MOST_TRIED = 32
"""The most values of one size that are tried beside another size; these are the nearest ones."""
HEADS, NETWORKS, ROWS = ("A", "Ad", "Q"), ("I", "Id"), ("V", "P")
"""The symbols for numbers of heads, for sizes of feed-forward layers, and for rows of embeddings."""
HEAD_WIDTHS = ("head_dim", "d_kv", "d_head", "attention_head_size")
"""Keys of the width of a head, in families where it does not follow from the model's width."""
OF_ADAPTER = ("r", "target_modules")
"""Keys of an adapter that a search varies."""


class Wish(NamedTuple):
    """The wishes for a search."""

    keep: frozenset[str] = frozenset()
    """Keys that do not change."""
    multiple: int = MULTIPLE
    """The number that widths and vocabularies are multiples of."""
    head: int | None = None
    """Hidden units of one head; ``None`` for the present number."""
    seq_len: int = SEQ_LEN
    """The number of tokens of the forward pass whose FLOPs are compared, unless a limit sets it."""


class Shape(Struct, frozen=True):
    """Other sizes within every limit, counted by the closed form itself."""

    changes: Mapping[str, Any]
    """Changes from the present shape, by key: sizes, or the rank and targets of the adapter."""
    said: str
    """The changes as text: ``num_hidden_layers 13 → 12``."""
    form: ClosedForm
    flops: int | None
    """FLOPs of a forward pass; ``None`` if there is no closed form of them."""


class Found(NamedTuple):
    """The result of a search."""

    shapes: tuple[Shape, ...]
    """The shapes, the nearest to the present one first."""
    varied: tuple[str, ...]
    """The keys for which other values were tried."""
    seq_len: int
    """The number of tokens in the forward pass whose FLOPs are counted."""


class Axis(NamedTuple):
    """A size that varies, perhaps with others that depend on it."""

    key: str
    values: range
    sizes_at: Callable[[int], Mapping[str, int]]
    """A function that returns all sizes for a value."""


def find_shapes(
    derivation: Derivation,
    limits: Sequence[Limit],
    wish: Wish,
    *,
    most: int,
    furthest: float = inf,
    measure: Callable[[Limit, ClosedForm], int] = measure,
) -> Found:
    """Search for the nearest shapes within some limits.

    If an adapter's own parameters are limited, its rank and targets vary first, and no shape has a larger total.

    :param most: the most shapes to return.
    :param furthest: the largest distance from the present shape.
    :param measure: returns the quantity of a limit.
    :raises Unusable: if a limited quantity has no closed form, or no width has heads of the given width.
    """
    form, own = derivation.form, list_of_adapter(derivation, limits)
    limits = [*limits, Limit(TOTAL, None, form.total, form.total, "")] if own else limits
    of_flops = [limit.measure.seq_len for limit in limits if isinstance(limit.measure, Flops)]
    seq_len = next(iter(of_flops), wish.seq_len)
    if of_flops and seq_len and flops.count_flops(form, seq_len) is None:
        adapted = " with its adapter" if "adapter" in form.architecture.added else ""
        message = f"there is no closed form for the FLOPs of {form.architecture.name}{adapted}"
        raise Unusable(
            Finding("unknown-closed-form", message, "leave out the limit on FLOPs, as in --total 110M alone")
        )

    highest = [(limit, limit.maximum) for limit in limits if limit.maximum is not None]

    def weigh(form: ClosedForm) -> list[int]:
        return [measure(limit, form) for limit, _ in highest]

    def has_room(form: ClosedForm | None) -> bool:
        return form is not None and all(measure(limit, form) <= maximum for limit, maximum in highest)

    def count_shapes(rows: Iterable[tuple[Mapping[str, Any], str, ClosedForm | None]]) -> Iterator[Shape]:
        for changes, said, counted in rows:
            if counted and all(is_allowed(limit, measure(limit, counted)) for limit in limits):
                yield Shape(changes, said, counted, flops.count_flops(counted, seq_len))

    if own and derivation.adapter and derivation.alone:
        tried = _list_adapters(derivation.adapter, derivation.alone, form, own, wish.keep, has_room)
        if adapters := tuple(islice(count_shapes(tried), most)):
            return Found(adapters, tuple(key for key in OF_ADAPTER if key not in wish.keep), seq_len)
    search = _Search(Variants(derivation), wish._replace(seq_len=seq_len), weigh, has_room)
    found = [*count_shapes(search.list_nearest(furthest))]
    best = (each for each in found if not any(search.is_larger(other.changes, each.changes) for other in found))
    return Found(tuple(islice(best, most)), search.varied, seq_len)


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


def _find_largest(values: range, has_room: Callable[[int], bool]) -> int | None:
    """Return the largest value within the limits; ``None`` if no value is, or if all are: no limit holds them."""
    place = bisect_left(values, 1, key=lambda value: not has_room(value))
    return values[place - 1] if 0 < place < len(values) else None


class _Search:
    """A search over the sizes of a model."""

    def __init__(
        self,
        variants: Variants,
        wish: Wish,
        weigh: Callable[[ClosedForm], list[int]],
        has_room: Callable[[ClosedForm | None], bool],
    ) -> None:
        """Prepare a search.

        :param weigh: returns the limited quantities of a closed form.
        :param has_room: returns whether a closed form exceeds no limit.
        """
        self._variants, self._wish, self._weigh, self._has_room = variants, wish, weigh, has_room
        self._now = {key: variants.now(key) for key in variants.sizes}
        self._kept = wish.keep | variants.unsure.keys()
        self._keys = {size.symbol: key for key, size in variants.sizes.items()}
        free = {symbol: key for symbol, key in self._keys.items() if key not in self._kept}
        self._width = self._keys.get("D", "")
        self._networks = [free[each] for each in NETWORKS if each in free]
        self._heads, self._start = self._list_heads()
        step, first = wish.multiple, next(iter(self._networks), "")
        wide = self._list_widths() if self._width else range(0)
        axes = [Axis(self._width, wide, self._size_at_width)]
        axes += [Axis(first, self._list_up_to(first, step), self._size_networks)] if first else []
        for symbol, key in free.items():
            if symbol[0] == "L" and variants.sizes[key].repeats and self._can_be_deeper(key):
                depths = range(max(1, variants.sizes[key].minimum), max(FURTHEST * self._now[key], DEEPEST) + 1)
                axes.append(Axis(key, depths[:MOST_LAYERS], lambda depth, key=key: {key: depth}))  # type: ignore[misc]
        rows = []
        for key in (free[each] for each in ROWS if each in free):  # some families count positions from 2 on
            least = step if key == self._keys["V"] else -(-wish.seq_len // step) * step + self._now[key] % step
            fewer = range(least, self._now[key] + step, step)
            rows.append(Axis(key, fewer, lambda count, key=key: {key: count}))  # type: ignore[misc]
        self._axes, self._rows = ([*filter(self._is_limited, found)] for found in (axes, rows))

    @property
    def varied(self) -> tuple[str, ...]:
        """The keys for which other values are tried."""
        of_width = [*self._size_at_width(self._now[self._width])] if self._width else []
        keys = [key for axis in self._axes for key in (of_width if axis.key == self._width else axis.sizes_at(1))]
        return tuple(dict.fromkeys((*(self._start or ()), *keys, *(axis.key for axis in self._rows))))

    # the width

    def _list_heads(self) -> tuple[dict[str, Fraction], Mapping[str, int] | None]:
        """Return the ratio of each number of heads to the width, and the present width's sizes with the wished heads.

        :raises Unusable: if no width has heads of the wished width.
        """
        there = [self._keys[each] for each in HEADS if each in self._keys and self._width]
        if not there:
            return {}, {}
        width, own = self._now[self._width], next((key for key in HEAD_WIDTHS if key in self._now), "")
        head = Fraction(self._now[own]) if own else Fraction(width, self._now[there[0]])
        wished = self._wish.head or head
        ratios = {key: Fraction(self._now[key], width) * head / wished for key in there}
        if self._wish.head is None:
            return ratios, {}
        counts = {key: ratio * width for key, ratio in ratios.items()}
        start = {**({own: int(wished)} if own else {}), **{key: int(count) for key, count in counts.items()}}
        is_whole = all(count.denominator == 1 for count in counts.values())
        return ratios, start if is_whole and not self._kept & start.keys() else None

    def _list_widths(self) -> range:
        """List the widths that are multiples of the wished number and have whole numbers of heads.

        :raises Unusable: if no width has heads of the wished width.
        """
        step = lcm(self._wish.multiple, *(ratio.denominator for ratio in self._heads.values()))
        top = max(FURTHEST * self._now[self._width], WIDEST)
        if self._start is None and step > top:
            message = f"no width of the search has a whole number of heads of {self._wish.head} units"
            fix = "write another --head-width, or --keep fewer keys"
            raise Unusable(Finding("config-invalid", message, fix))
        return range(0) if self._kept & {self._width, *self._heads} else range(step, top + 1, step)

    def _size_at_width(self, width: int) -> Mapping[str, int]:
        """Return a width with its heads, and with the sizes that keep their ratio to it."""
        ratio = Fraction(width, self._now[self._width])
        sizes = {self._width: width, **{key: int(each * width) for key, each in self._heads.items()}}
        if self._keys.get("E", "") in self._now.keys() - self._kept:
            same = self._now[self._keys["E"]] == self._now[self._width]
            sizes |= {self._keys["E"]: width} if same else {}
        return {**sizes, **{key: self._scale(key, ratio) for key in self._networks}}

    def _size_networks(self, size: int) -> Mapping[str, int]:
        first, *others = self._networks
        return {first: size, **{key: self._scale(key, Fraction(size, self._now[first])) for key in others}}

    def _scale(self, key: str, ratio: Fraction) -> int:
        step, exactly = self._wish.multiple, ratio * self._now[key]
        return max(step, int(exactly) // step * step) if ratio != 1 else self._now[key]

    # the other sizes

    def _list_up_to(self, key: str, step: int) -> range:
        return range(step, FURTHEST * self._now[key] + 1, step)

    def _can_be_deeper(self, key: str) -> bool:
        """Return whether a number of layers may change: not if a list of the config has an entry for each layer."""
        lists = (self._variants.derivation.values.for_build.get(each) for each in OF_EACH_LAYER)
        now = self._now[key]
        return now > 0 and not any(isinstance(each, list) and len(each) == now for each in lists)

    def _is_limited(self, axis: Axis) -> bool:
        """Return whether there are other values, and one more step changes a limited quantity."""
        try:
            more = self._variants.unchecked(**axis.sizes_at(self._now[axis.key] + axis.values.step))
            return len(axis.values) > 1 and self._weigh(more) != self._weigh(self._variants.form)
        except Exception:  # noqa: BLE001  (a block that these values make no sense to)
            return False

    # shapes

    def list_nearest(self, furthest: float) -> Iterator[tuple[Mapping[str, int], str, ClosedForm | None]]:
        """Yield the changes of each shape, in words, too, and its closed form, the nearest shape first."""
        found: dict[tuple[tuple[str, int], ...], tuple[float, Mapping[str, int]]] = {}
        for sizes in self._list_shapes(furthest):
            changes = {key: size for key, size in sizes.items() if size != self._now[key]}
            along = self._variants.together(changes)
            if along and not self._kept & along.keys():
                found[tuple(sorted(along.items()))] = self._measure_distance(changes), along
        for distance, shape in sorted(found.values(), key=lambda each: each[0]):
            if distance <= furthest:
                yield shape, describe_changes(self._variants, shape), self._variants.varied(**shape)

    def is_larger(self, one: Mapping[str, int], other: Mapping[str, int]) -> bool:
        """Return whether a shape is larger than another in some size, and smaller in none."""
        keys = {**one, **other}
        return one != other and all(one.get(key, self._now[key]) >= other.get(key, self._now[key]) for key in keys)

    def _list_shapes(self, furthest: float) -> Iterator[Mapping[str, int]]:
        if self._start is not None:
            for axis in (*self._axes, *(() if self._fits(self._start) else self._rows)):
                yield from self._list_largest(axis, self._start)
        # a feed-forward layer has the finest steps, and a layer the coarsest: the finer one takes what is left
        axes = [*filter(lambda axis: axis.key in self._networks, self._axes)]
        axes += [axis for axis in self._axes if axis not in axes]
        for inner, outer in combinations(axes, 2):
            if self._start is None and self._width not in (inner.key, outer.key):
                continue
            near = sorted(outer.values, key=lambda value: self._apart(outer.key, value))[:MOST_TRIED]
            for value in near:
                if value != self._now[outer.key] and self._apart(outer.key, value) <= furthest:
                    yield from self._list_largest(inner, {**(self._start or {}), **outer.sizes_at(value)})

    def _list_largest(self, axis: Axis, sizes: Mapping[str, int]) -> Iterator[Mapping[str, int]]:
        value = _find_largest(axis.values, lambda value: self._fits({**sizes, **axis.sizes_at(value)}))
        if value is not None:
            yield {**sizes, **axis.sizes_at(value)}

    def _fits(self, sizes: Mapping[str, int]) -> bool:
        try:
            return self._has_room(self._variants.unchecked(**sizes))
        except Exception:  # noqa: BLE001  (a block that these values make no sense to)
            return False

    def _apart(self, key: str, value: float) -> float:
        return abs(log(value / self._now[key]))

    def _measure_distance(self, changes: Mapping[str, int]) -> float:
        """Sum the logarithms of the factors of width, depths and rows, and of the feed-forward layers to the width."""
        wider = changes.get(self._width, 0) / self._now[self._width] if self._width in changes else 1
        network = next(iter(self._networks), "")
        alone = [axis.key for axis in (*self._axes, *self._rows) if axis.key in changes and axis.key != network]
        ratio = changes.get(network, self._now[network]) / wider if network else 1
        return sum(self._apart(key, changes[key]) for key in alone) + (self._apart(network, ratio) if network else 0)


def _list_adapters(
    today: Adapter,
    alone: ClosedForm,
    now: ClosedForm,
    own: Sequence[str],
    keep: frozenset[str],
    has_room: Callable[[ClosedForm | None], bool],
) -> list[tuple[Mapping[str, Any], str, ClosedForm | None]]:
    """List changes of an adapter, the nearest first: the largest rank on all of its targets, and on all but one.

    :param alone: the model without its adapter.
    :param now: the model with its adapter.
    :param own: the limited quantities of the adapter.
    """

    def adapt(r: int, targets: tuple[str, ...] | str) -> ClosedForm | None:
        try:
            return with_adapter(alone, replace(today, r=r, target_modules=targets))
        except Unusable:
            return None

    step = 2 if today.start == "orthogonal" else 1  # PEFT refuses an odd rank
    ranks = range(0) if "r" in keep else range(step, FURTHEST * today.r + 1, step)
    choices: list[tuple[str, ...] | str] = [today.target_modules]
    if isinstance(today.target_modules, tuple) and len(today.target_modules) > 1 and "target_modules" not in keep:
        choices += combinations(today.target_modules, len(today.target_modules) - 1)
    found = []
    for targets in choices:
        r = _find_largest(ranks, lambda r: has_room(adapt(r, targets))) or today.r  # noqa: B023
        form, tried = adapt(r, targets), {"r": r, "target_modules": targets}
        if form and (changes := {key: each for key, each in tried.items() if each != getattr(today, key)}):
            said = [f"r {today.r} → {r}"] if "r" in changes else []
            said += [f"target_modules without {name}" for name in today.target_modules if name not in targets]
            counts = ((each, now.count_of(each), form.count_of(each)) for each in own)
            said += [f"{each} {exact(old)} → {exact(new)}" for each, old, new in counts if new != old]
            distance = abs(log(r / today.r)) + log(len(today.target_modules) / len(targets))
            found.append((distance, (changes, ", ".join(said), form)))
    return [row for _, row in sorted(found, key=lambda each: each[0])]
