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
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from pytest_bertsize.closed_forms import flops
from pytest_bertsize.closed_forms.derive import with_adapter
from pytest_bertsize.closed_forms.what_if import MULTIPLE, Variants, describe_changes, is_allowed, measure
from pytest_bertsize.config.keys import MOST_LAYERS
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.inventory import TOTAL, TRAINABLE, is_within
from pytest_bertsize.table.limits import Flops, Limit
from pytest_bertsize.wording import exact

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.derive import Derivation
    from pytest_bertsize.closed_forms.family import ClosedForm

OF_EACH_LAYER = ("layer_types", "mlp_layer_types", "attention_window")  # keys of lists with an entry for each layer
MOST_IN_A_REPORT = 3
FURTHEST_IN_A_REPORT = 0.7  # a sum of logarithms: a size that changes by a tenth adds about 0.1
# the largest multiple of a present size that is tried, and the width and depth that small models try, too: BERT-large's
FURTHEST, WIDEST, DEEPEST = 4, 1_024, 24
MOST_TRIED = 32  # the most values of one size that are tried beside another size; these are the nearest ones
HEADS, NETWORKS, ROWS = ("A", "Ad", "Q"), ("I", "Id"), ("V", "P")  # symbols of heads, of feed-forward sizes, of rows
HEAD_WIDTHS = ("head_dim", "d_kv", "d_head", "attention_head_size")  # widths of a head of their own
OF_ADAPTER = ("r", "target_modules")

Sizes: TypeAlias = Mapping[str, int]
Exceed: TypeAlias = Callable[["ClosedForm"], Iterable[int]]  # returns by how much a form exceeds each limit


class Wish(NamedTuple):
    """The wishes for a search."""

    keep: frozenset[str] = frozenset()
    multiple: int = MULTIPLE  # widths and vocabularies are multiples of it
    head: int | None = None  # hidden units of one head; None for the present number
    seq_len: int = 128  # the number of tokens of the forward pass whose FLOPs are compared, unless a limit sets it


class Shape(Struct, frozen=True):
    """Other sizes within every limit, counted by the closed form itself."""

    changes: Mapping[str, Any]  # changes from the present shape, by key: sizes, or the rank and targets of the adapter
    said: str  # the changes as text: num_hidden_layers 13 → 12
    form: ClosedForm


class Found(NamedTuple):
    """The result of a search."""

    shapes: tuple[Shape, ...]
    varied: tuple[str, ...]  # the keys for which other values were tried
    seq_len: int


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
    wish = wish._replace(seq_len=next(iter(of_flops), wish.seq_len))
    if of_flops and flops.count_flops(form, wish.seq_len) is None:
        message = f"there is no closed form for the FLOPs of {form.architecture.name}"
        raise Unusable(Finding("unknown-closed-form", message, "leave out the limit on FLOPs"))

    def exceed(form: ClosedForm) -> Iterator[int]:
        return (measure(limit, form) - limit.maximum for limit in limits if limit.maximum is not None)

    def keep_allowed(shapes: Iterable[Shape]) -> Iterator[Shape]:
        return (each for each in shapes if all(is_allowed(limit, measure(limit, each.form)) for limit in limits))

    adapted = _list_adapters(derivation, own, wish.keep, exceed) if own else []
    if found := tuple(islice(keep_allowed(adapted), most)):
        return Found(found, tuple(key for key in OF_ADAPTER if key not in wish.keep), wish.seq_len)
    search = _Search(Variants(derivation), wish, exceed)
    found = tuple(keep_allowed(search.list_nearest(furthest)))
    best = (each for each in found if not any(search.is_larger(other.changes, each.changes) for other in found))
    return Found(tuple(islice(best, most)), search.varied, wish.seq_len)


def list_of_adapter(derivation: Derivation, limits: Sequence[Limit]) -> list[str]:
    """List the adapter's quantities that have a maximum in ``limits``: ``trainable``, and the adapter's components."""
    own = [each for each in limits if each.component == TRAINABLE or is_within(each.component, "adapters")]
    return [each.component for each in own if each.maximum is not None] if derivation.adapter else []


def find_fitting_shapes(derivation: Derivation, budget: Sequence[Limit]) -> tuple[Shape, ...]:
    """Return a few near shapes within a budget's limits on counts and FLOPs, if the closed form exceeds a limit.

    No shape has more parameters than the present one, so limits on bytes need no check. Growth is not checked.
    """
    total = derivation.form.total
    limits = [limit for limit in budget if limit.measure is None or isinstance(limit.measure, Flops)]
    if all(limit.maximum is None or measure(limit, derivation.form) <= limit.maximum for limit in limits):
        return ()
    limits.append(Limit(TOTAL, None, total, total, ""))
    try:
        return find_shapes(derivation, limits, Wish(), most=MOST_IN_A_REPORT, furthest=FURTHEST_IN_A_REPORT).shapes
    except Unusable:
        return ()


def _find_largest(values: range, has_room: Callable[[int], bool]) -> int | None:
    """Return the largest value within the limits; ``None`` if no value is, or if all are: no limit holds them."""
    place = bisect_left(values, 1, key=lambda value: not has_room(value))
    return values[place - 1] if 0 < place < len(values) else None


class _Axis(Struct, frozen=True):
    """A size that varies, perhaps with others that keep their ratio to it."""

    key: str
    now: int
    values: range
    exact: Mapping[str, Fraction] = {}  # the ratios of other sizes to this one; each value gives whole numbers
    rounded: Sizes = {}  # other sizes at present, which are rounded down to multiples of multiple
    multiple: int = 1

    def at(self, value: int) -> Sizes:
        """Return all sizes for a value."""
        step, ratio = self.multiple, Fraction(value, self.now)
        rounded = {key: max(step, int(size * ratio) // step * step) for key, size in self.rounded.items()}
        exact = {key: int(each * value) for key, each in self.exact.items()}
        return {self.key: value, **exact, **(self.rounded if value == self.now else rounded)}


class _Search:
    """A search over the sizes of a model."""

    def __init__(self, variants: Variants, wish: Wish, exceed: Exceed) -> None:
        self._variants, self._exceed = variants, exceed
        self._now = now = {key: variants.now(key) for key in variants.sizes}
        self._kept = wish.keep | variants.unsure.keys()
        keys = {size.symbol: key for key, size in variants.sizes.items()}
        free = {symbol: key for symbol, key in keys.items() if key not in self._kept}
        self._width, step = keys.get("D", ""), wish.multiple
        self._networks = [free[each] for each in NETWORKS if each in free]
        self._start: Sizes | None = {}  # the present width with the wished heads; None if it is no multiple of them
        axes = [self._make_width(keys, wish)] if self._width else []
        if self._networks:
            first, *others = self._networks
            sizes = range(step, FURTHEST * now[first] + 1, step)
            axes.append(_Axis(first, now[first], sizes, {}, {key: now[key] for key in others}, step))
        for symbol, key in free.items():
            if symbol[0] == "L" and variants.sizes[key].repeats and self._can_be_deeper(key):
                depths = range(max(1, variants.sizes[key].minimum), max(FURTHEST * now[key], DEEPEST) + 1)
                axes.append(_Axis(key, now[key], depths[:MOST_LAYERS]))
        rows = []
        for key in (free[each] for each in ROWS if each in free):  # some families count positions from 2 on
            least = step if key == keys["V"] else -(-wish.seq_len // step) * step + now[key] % step
            rows.append(_Axis(key, now[key], range(least, now[key] + step, step)))
        self._axes, self._rows = ([*filter(self._is_limited, found)] for found in (axes, rows))

    @property
    def varied(self) -> tuple[str, ...]:
        """The keys for which other values are tried."""
        keys = (key for axis in (*self._axes, *self._rows) for key in axis.at(axis.now))
        return tuple(dict.fromkeys((*(self._start or ()), *keys)))

    # the axes

    def _make_width(self, keys: Mapping[str, str], wish: Wish) -> _Axis:
        """Return the axis of the width, and set :attr:`_start`; raise Unusable if no width has the wished heads."""
        now, width = self._now, self._now[self._width]
        heads = [keys[each] for each in HEADS if each in keys]
        own = next((key for key in HEAD_WIDTHS if key in now), "")
        head = Fraction(now[own]) if own else Fraction(width, now[heads[0]]) if heads else Fraction(1)
        exact = {key: now[key] * head / (wish.head or head) / width for key in heads}
        step = lcm(wish.multiple, *(ratio.denominator for ratio in exact.values()))
        widths = range(step, max(FURTHEST * width, WIDEST) + 1, step)
        if wish.head and heads:
            start = {**({own: wish.head} if own else {}), **{key: int(each * width) for key, each in exact.items()}}
            is_whole = all((each * width).denominator == 1 for each in exact.values())
            self._start = start if is_whole and not self._kept & start.keys() else None
            if self._start is None and not widths:
                message = f"no width of the search has a whole number of heads of {wish.head} units"
                raise Unusable(Finding("config-invalid", message, "write another --head-width, or --keep fewer keys"))
        narrow = keys.get("E", "")
        if narrow in now.keys() - self._kept and now[narrow] == width:
            exact[narrow] = Fraction(1)
        widths = range(0) if self._kept & {self._width, *heads} else widths
        return _Axis(self._width, width, widths, exact, {key: now[key] for key in self._networks}, wish.multiple)

    def _can_be_deeper(self, key: str) -> bool:
        """Return whether a number of layers may change: not if a list of the config has an entry for each layer."""
        lists = (self._variants.derivation.values.for_build.get(each) for each in OF_EACH_LAYER)
        now = self._now[key]
        return now > 0 and not any(isinstance(each, list) and len(each) == now for each in lists)

    def _is_limited(self, axis: _Axis) -> bool:
        """Return whether there are other values, and one more step changes a limited quantity."""
        return len(axis.values) > 1 and self._weigh(axis.at(axis.now + axis.values.step)) not in (None, self._weigh({}))

    # shapes

    def list_nearest(self, furthest: float) -> Iterator[Shape]:
        """Yield each shape that the class allows, the nearest first."""
        found: dict[tuple[tuple[str, int], ...], tuple[float, Sizes]] = {}
        for sizes in self._list_shapes(furthest):
            changes = {key: size for key, size in sizes.items() if size != self._now[key]}
            along = self._variants.together(changes)
            if along and not self._kept & along.keys():
                found[tuple(sorted(along.items()))] = self._measure_distance(changes), along
        for distance, shape in sorted(found.values(), key=lambda each: each[0]):
            if distance <= furthest and (form := self._variants.varied(**shape)):
                yield Shape(shape, describe_changes(self._variants, shape), form)

    def is_larger(self, one: Sizes, other: Sizes) -> bool:
        """Return whether a shape is larger than another in some size, and smaller in none."""
        keys = {**one, **other}
        return one != other and all(one.get(key, self._now[key]) >= other.get(key, self._now[key]) for key in keys)

    def _list_shapes(self, furthest: float) -> Iterator[Sizes]:
        start = self._start or {}
        if self._start is not None:
            for axis in (*self._axes, *(() if self._fits(start) else self._rows)):
                yield from self._list_largest(axis, start)
        # a feed-forward layer has the finest steps, and a layer the coarsest: the finer one takes what is left
        axes = sorted(self._axes, key=lambda axis: axis.key not in self._networks)
        for inner, outer in combinations(axes, 2):
            if self._start is not None or self._width in (inner.key, outer.key):
                for value in sorted(outer.values, key=lambda value: self._apart(outer.key, value))[:MOST_TRIED]:
                    if value != outer.now and self._apart(outer.key, value) <= furthest:
                        yield from self._list_largest(inner, {**start, **outer.at(value)})

    def _list_largest(self, axis: _Axis, sizes: Sizes) -> Iterator[Sizes]:
        value = _find_largest(axis.values, lambda value: self._fits({**sizes, **axis.at(value)}))
        if value is not None:
            yield {**sizes, **axis.at(value)}

    def _weigh(self, sizes: Sizes) -> list[int] | None:
        """Return by how much a shape exceeds each limit; ``None`` for sizes that make no sense to its class."""
        try:
            return [*self._exceed(self._variants.unchecked(**sizes))]
        except Exception:  # noqa: BLE001  (blocks raise anything for sizes that they cannot use)
            return None

    def _fits(self, sizes: Sizes) -> bool:
        found = self._weigh(sizes)
        return found is not None and max(found, default=0) <= 0

    def _apart(self, key: str, value: float) -> float:
        return abs(log(value / self._now[key]))

    def _measure_distance(self, changes: Sizes) -> float:
        """Sum the logarithms of the factors of width, depths and rows, and of the feed-forward layers to the width."""
        wider = changes.get(self._width, 0) / self._now[self._width] if self._width in changes else 1
        networks = self._networks[:1]
        alone = (axis.key for axis in (*self._axes, *self._rows) if axis.key in changes and axis.key not in networks)
        ratios = ((key, changes.get(key, self._now[key]) / wider) for key in networks)
        return sum(self._apart(key, value) for key, value in (*((key, changes[key]) for key in alone), *ratios))


def _list_adapters(derivation: Derivation, own: Sequence[str], keep: frozenset[str], exceed: Exceed) -> list[Shape]:
    """List changes of an adapter, the nearest first: the largest rank on all of its targets, and on all but one."""
    today, alone, now = derivation.adapter, derivation.alone, derivation.form
    if today is None or alone is None:
        return []

    def adapt(r: int, targets: tuple[str, ...] | str) -> ClosedForm | None:
        try:
            return with_adapter(alone, replace(today, r=r, target_modules=targets))
        except Unusable:
            return None

    def has_room(r: int, targets: tuple[str, ...] | str) -> bool:
        form = adapt(r, targets)
        return form is not None and all(each <= 0 for each in exceed(form))

    ranks = range(0) if "r" in keep else range(1, FURTHEST * today.r + 1)
    choices: list[tuple[str, ...] | str] = [today.target_modules]
    if isinstance(today.target_modules, tuple) and len(today.target_modules) > 1 and "target_modules" not in keep:
        choices += combinations(today.target_modules, len(today.target_modules) - 1)
    found = []
    for targets in choices:
        r = _find_largest(ranks, lambda r: has_room(r, targets)) or today.r  # noqa: B023
        form, tried = adapt(r, targets), {"r": r, "target_modules": targets}
        if form and (changes := {key: each for key, each in tried.items() if each != getattr(today, key)}):
            said = [f"r {today.r} → {r}"] if "r" in changes else []
            said += [f"target_modules without {name}" for name in today.target_modules if name not in targets]
            counts = ((each, now.count_of(each), form.count_of(each)) for each in own)
            said += [f"{each} {exact(old)} → {exact(new)}" for each, old, new in counts if new != old]
            distance = abs(log(r / today.r)) + log(len(today.target_modules) / len(targets))
            found.append((distance, Shape(changes, ", ".join(said), form)))
    return [shape for _, shape in sorted(found, key=lambda each: each[0])]
