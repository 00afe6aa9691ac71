"""What the sizes of a model could be instead: widths with whole heads, networks, depths and rows, in legal steps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf, lcm, log
from typing import TYPE_CHECKING

from pytest_bertsize.config.values import MOST_LAYERS

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.what_if import Variants
    from pytest_bertsize.config.keys import Size

MULTIPLE = 64
"""Of what widths and vocabularies are multiples, for the matrix units of a GPU."""
HEAD = 64
"""Hidden units of one attention head, in BERT and most of its kin (Devlin et al. 2018)."""
SEQ_LEN = 128
FURTHEST = 4
"""How many times today's width or depth is tried at most."""
WIDEST, DEEPEST = 1_024, 24
"""What is tried however small today's is: those of BERT-large."""
MOST_APART = 5
"""Steps from one width that heads go into to the next, before heads become 64 wide."""
MOST_STEPS = 96
"""Values of one size that are tried; fewer where there are several stacks of layers to combine them with."""
MOST_DEPTHS = 256
MOST_STACKS = 2
"""Stacks of layers that vary, the deepest: of more there would be too many combinations."""
LEAST_RATIO, MOST_RATIO = 0.5, 1.5
"""How many times today's ratio the feed-forward network may be to the width."""
HEADS = ("A", "Ad", "Q")
NETWORKS = ("I", "Id")
ROWS = ("V", "P")
"""Symbols of families."""
HEAD_WIDTHS = ("head_dim", "d_kv", "d_head", "attention_head_size")
"""Keys that say how wide a head is, where the width alone does not."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What a search may change, and by which steps."""

    keep: frozenset[str] = frozenset()
    """Keys that stay as they are."""
    multiple: int = MULTIPLE
    head: int | None = None
    """Hidden units of one head; ``None``: as many as today's have, or 64 where few widths allow that."""
    seq_len: int = SEQ_LEN
    """Tokens of the forward pass whose FLOPs are compared, where no limit says how many."""


@dataclass(frozen=True, slots=True)
class Point:
    """Values of the keys that change together."""

    values: tuple[int, ...]
    distance: float
    """From today's: the sum of the logarithms of what they are multiplied by."""


class Axes:
    """The keys that vary, and the values of each; today's are always among them."""

    def __init__(self, variants: Variants, wish: Wish) -> None:
        self.variants, self.wish = variants, wish
        self._by_symbol = {size.symbol: size for size in variants.sizes.values()}
        free = {symbol: size for symbol, size in self._by_symbol.items() if size.key not in wish.keep}
        self._width = self._by_symbol.get("D")
        self._heads = [free[each] for each in HEADS if each in free and self._width]
        self._head_widths = [size for size in free.values() if size.key in HEAD_WIDTHS and self._heads]
        self._as_wide = self._equal_to_the_width(free)
        self._networks = [free[each] for each in NETWORKS if each in free]
        stacks = [size for size in free.values() if size.repeats and size.symbol.startswith("L")]
        deepest = sorted(stacks, key=self._now, reverse=True)[:MOST_STACKS]
        self.stacks = [size for size in stacks if size in deepest]
        """Numbers of layers that vary."""
        width = [self._width] if self._width else []
        self._of_width = [*width, *self._as_wide, *self._heads, *self._head_widths]
        self.of_rows = [free[each] for each in ROWS if each in free]
        self.sizes: list[Size] = [*self._of_width, *self._networks, *self.stacks, *self.of_rows]

    def _equal_to_the_width(self, free: Mapping[str, Size]) -> list[Size]:
        """Embeddings that are, and what the class wants to be: they stay so."""
        width = self._width
        if width is None:
            return []
        equal = {key for pair in self.variants.derivation.family.keys.equal if width.key in pair for key in pair}
        named = [size for size in free.values() if size.symbol == "E" or size.key in equal]
        return [size for size in named if size is not width and self._now(size) == self._now(width)]

    def _now(self, size: Size) -> int:
        return self.variants.now(size.key)

    @cached_property
    def now(self) -> tuple[int, ...]:
        """Today's values, in the order of :attr:`sizes`."""
        return tuple(map(self._now, self.sizes))

    @property
    def varied(self) -> list[str]:
        """Keys of which another value is tried."""
        network = self.networks(self.widths[-1])
        tried = [(self._of_width, self.widths), (self._networks, [*self.networks(self.widths[0]), *network])]
        tried += [([size], points) for size, points in zip(self.stacks, self.depths, strict=True)]
        rows = [size.key for size in self.of_rows if self.rows(size)]
        return [
            *(
                size.key
                for sizes, points in tried
                for place, size in enumerate(sizes)
                if any(point.values[place] != self._now(size) for point in points)
            ),
            *rows,
        ]

    @property
    def _today(self) -> Point:
        return Point(self.now[: len(self._of_width)], 0)

    # widths

    @cached_property
    def widths(self) -> list[Point]:
        """Rising; with the heads, and with what is as wide."""
        if self._width is None:
            return [Point((), 0)]
        now = self._now(self._width)
        top = max(FURTHEST * now, WIDEST)
        step = self._step(top)
        others = [] if self._width.key in self.wish.keep else range(step, top + 1, step)
        points = self._points((now, *others), self.wish.head or self._head_kept)
        if self.wish.head is None:
            points = [self._today, *(point for point in points if point.values[0] != now)]
        return sorted(points, key=lambda point: point.values)

    @cached_property
    def _head(self) -> int | None:
        """How wide a head is; ``None`` where there is none, or where heads do not divide the width."""
        said = [self._now(size) for size in self._by_symbol.values() if size.key in HEAD_WIDTHS]
        if said or self._width is None or HEADS[0] not in self._by_symbol:
            return next(iter(said), None)
        each, rest = divmod(self._now(self._width), self._now(self._by_symbol[HEADS[0]]))
        return None if rest else each

    @property
    def _head_kept(self) -> int:
        """As wide as today's, where that goes into widths near each other."""
        head = self._head or HEAD
        return head if lcm(head, self.wish.multiple) <= MOST_APART * self.wish.multiple else HEAD

    def _points(self, widths: Iterable[int], head: int) -> list[Point]:
        points = (self._point(width, head) for width in widths)
        return [point for point in points if point]

    def _point(self, width: int, head: int) -> Point | None:
        """As many heads as there are to a width today; ``None`` where they would not be whole."""
        assert self._width is not None
        now, first = self._now(self._width), self._by_symbol.get(HEADS[0])
        heads: list[int] = []
        whole = first is None or width % self._now(first) == 0
        if first and first in self._heads:
            to_width = Fraction(self._head, now) if self._head else Fraction(1, self._now(first))
            counts = [self._now(size) * to_width * width / head for size in self._heads]
            heads, whole = list(map(int, counts)), all(each.denominator == 1 for each in counts)
        if not whole:
            return None
        distance = abs(log(width / now)) + (abs(log(head / self._head)) if self._head and heads else 0)
        return Point((width, *(width for _ in self._as_wide), *heads, *(head for _ in self._head_widths)), distance)

    def _step(self, span: float) -> int:
        """Of sizes: where there would be too many, every second one is left out, and again."""
        step = self.wish.multiple
        while span / step > MOST_STEPS // max(1, len(self.stacks)) ** 2:
            step *= 2
        return step

    # networks, depths and rows

    def networks(self, width: Point) -> list[Point]:
        """Rising: of the feed-forward layers, half to one and a half times today's ratio to the width."""
        if not self._networks:
            return [Point((), 0)]
        now = self._now(self._networks[0])
        scale = width.values[0] / self._now(self._width) if self._width else 1
        low, high = LEAST_RATIO * scale * now, MOST_RATIO * scale * now
        step = self._step(high - low)
        tried = {now, *range(-(-int(low) // step) * step, int(high) + 1, step)}
        points = (self._network(each, scale) for each in sorted(tried) if low <= each <= high)
        return [point for point in points if point]

    def _network(self, size: int, scale: float) -> Point | None:
        """The first one's; ``None`` where another, which keeps its ratio to it, would not be whole."""
        now = self._now(self._networks[0])
        values = [divmod(self._now(each) * size, now) for each in self._networks]
        if any(rest for _, rest in values):
            return None
        return Point(tuple(value for value, _ in values), abs(log(size / now / scale)))

    @cached_property
    def depths(self) -> list[list[Point]]:
        """Rising, of each stack of layers."""
        return [self._depth(size) for size in self.stacks]

    def _depth(self, size: Size) -> list[Point]:
        now = self._now(size)
        top = min(max(FURTHEST * now, DEEPEST), MOST_LAYERS)
        tried = range(max(1, size.minimum), top + 1, -(-top // MOST_DEPTHS))
        others = [Point((each,), abs(log(each / now)) if now else inf) for each in tried if each != now]
        return sorted([Point((now,), 0), *others], key=lambda point: point.values)

    def rows(self, size: Size) -> range:
        """Fewer than today, rising: a vocabulary in steps, and positions with what is left over from them today.

        Some families begin to count positions at 2 (fairseq's padding). There are no fewer than a pass has tokens.
        """
        now, step = self._now(size), self.wish.multiple
        if size.symbol == ROWS[0]:
            return range(step, now, step)
        return range(-(-self.wish.seq_len // step) * step + now % step, now, step)
