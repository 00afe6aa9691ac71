"""Quantities as people write them, exactly: "110M" parameters, "440MB" or "420MiB", "22G" FLOPs.

Written by hand because every unit library reads "1.2B" as 1.2 *bytes*, and because none refuses to guess.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from math import ceil, floor

from msgspec import Struct

from pytest_bertsize.wording import BadValue, printable, shown

SCALES = {"": 1, "K": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}  # the units of a count of parameters
_BYTE_SCALES = {"": 1, "B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_BYTE_SCALES |= {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_FLOP_SCALES = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}

LONGEST = 60  # the most characters of a quantity
LARGEST = 10**15  # the largest count: a hundred times any model that is built, and exact in every JSON reader
_LARGEST_OF_OTHERS = 9 * 10**15  # the largest number of bytes or FLOPs; JSON readers are exact up to 2⁵³
_FEW_DIGITS = 3  # the digits of a new limit if the old one has fewer; it is then at most 1% above the count
_MOST_DECIMALS = 18  # a whole number of parameters has at most 12 in any unit, of FLOPs at most 15
_DIGITS = rf"(?P<digits>(?:[0-9]{{1,3}}(?:_[0-9]{{3}})+|[0-9]{{1,25}})(?:\.[0-9]{{1,{_MOST_DECIMALS}}})?)"


class Quantity(Struct, frozen=True, dict=True):
    """A kind of count, and the units that it is written in."""

    noun: str  # the word for a value: "count", as in "a count of parameters"
    of: str  # the things that are counted: "parameters"
    scales: Mapping[str, int]
    shown: tuple[str, ...]  # the units in which a value is shown, each a thousand times the one before
    how_to_write: str
    largest: int
    named: Mapping[str, int] = {}  # values that have names

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        return re.compile(rf"{_DIGITS}(?P<unit>{'|'.join(sorted(self.scales, key=len, reverse=True))})")

    def match(self, text: object) -> re.Match[str] | None:
        return self.pattern.fullmatch(text) if isinstance(text, str) and len(text) <= LONGEST else None

    def parse(self, value: object) -> int:
        """Return the exact number that ``value`` stands for.

        :param value: an ``int``, or a string such as ``"110M"`` or ``"86_000_000"``.
        :raises BadValue: for anything else (floats, booleans, negatives, other units), saying what to write.
        """
        if match := self.match(value):
            exact = Fraction(match["digits"]) * self.scales[match["unit"]]
            if exact.denominator != 1:
                raise BadValue(f"{_show(value)} is not a whole number of {self.of}")
            count = int(exact)
        elif type(value) is int:
            count = value
        elif isinstance(value, str) and value in self.named:
            count = self.named[value]
        else:
            lacks_b = isinstance(value, str) and self.match(f"{value}B")
            fix = f"did you mean '{value}B'?" if lacks_b else self.how_to_write
            raise BadValue(f"{_show(value)} is not a {self.noun} of {self.of}", fix)
        if count < 0:
            raise BadValue(f"{_show(value)} is negative: a {self.noun} of {self.of} is 0 or more")
        if count > self.largest:
            raise BadValue(f"{_show(value)} is more than any model has: the largest {self.noun} is {self.largest:,}")
        return count


PARAMETERS = Quantity(
    noun="count",
    of="parameters",
    scales=SCALES,
    shown=tuple(SCALES),
    how_to_write="write a whole number, or a string such as '110M' or '1.2B' (K, M, B, T are powers of 1,000)",
    largest=LARGEST,
)
BYTES = Quantity(
    noun="number",
    of="bytes",
    scales=_BYTE_SCALES,
    shown=("B", "kB", "MB", "GB", "TB"),
    how_to_write=(
        "write a whole number, or a string such as '440MB' or '420MiB' "
        "(kB, MB, GB, TB are powers of 1,000; KiB, MiB, GiB, TiB powers of 1,024)"
    ),
    largest=_LARGEST_OF_OTHERS,
)
FLOPS = Quantity(
    noun="number",
    of="FLOPs",
    scales=_FLOP_SCALES,
    shown=tuple(_FLOP_SCALES),
    how_to_write=(
        "write a whole number, or a string such as '22G' or '1.5T' "
        "(K, M, G, T, P are powers of 1,000, and a multiply-add is 2 FLOPs)"
    ),
    largest=_LARGEST_OF_OTHERS,
)


def _show(value: object) -> str:
    try:
        return printable(shown(value) if isinstance(value, bool) else repr(value), LONGEST)
    except Exception:  # noqa: BLE001  (an integer of too many digits, and whatever an object's own repr raises)
        return f"a value of type {type(value).__name__}"


def compact_left(left: int, quantity: Quantity = PARAMETERS) -> str:
    """Write in a few characters what a limit leaves: the first digits of the number, which is cut and not rounded.

    ``769_000`` → ``'+769K'``, ``-13_290_208`` → ``'-13.2M'``, ``0`` → ``'0'``; of bytes ``'-13.2MB'``.
    """
    if left == 0:
        return "0"
    size = abs(left)
    power = min((len(str(size)) - 1) // 3, len(quantity.shown) - 1)
    whole, tenths = divmod(10 * size // 1000**power, 10)
    shown = f"{whole}.{tenths}" if tenths and whole < 100 else f"{whole:,}"  # noqa: PLR2004
    return f"{'+' if left > 0 else '-'}{shown}{quantity.shown[power]}"


def percent_used(actual: int, limit: int) -> str:
    """Return the part of a limit that is used, in at most four characters; 100% means exactly all of the limit.

    ``(96, 100)`` → ``'96%'``, ``(1001, 1000)`` → ``'101%'``, ``(95, 10)`` → ``'>9x'``.
    """
    if actual > 9 * limit:
        return ">9x"
    share, rest = divmod(100 * actual, limit or 1)
    return f"{share + 1 if rest and actual > limit else share}%"


def restated(count: int, bound: str, like: object, quantity: Quantity) -> str:
    """Write a limit that lets ``count`` pass, in the style of ``like``, the old limit; write an ``exact`` one in full.

    A maximum is rounded up, a minimum down: ``113_123_456`` like ``"110M"`` → ``'"114M"'`` and ``'"113M"'``; like
    ``86_000_000`` → ``'113_123_456'``. A number with more digits than ``like`` (or than three, if
    ``like`` has fewer) loses decimals: ``125_985_792`` like ``"85.1M"`` → ``'"126M"'``. If its whole part is still too
    long, it takes the next unit: ``1_082_114`` like ``"623K"`` → ``'"1.09M"'``. KiB, MiB and so on get no decimals.
    """
    match = quantity.match(like) if bound != "exact" else None
    unit, digits = (match["unit"], match["digits"]) if match else ("", "")
    scale = quantity.scales[unit]
    if scale == 1:
        return f'"{count:_}{unit}"' if unit else f"{count:_}"
    round_ = floor if bound == "min" else ceil
    whole, _, decimals = digits.replace("_", "").lstrip("0").partition(".")
    places, most = len(decimals), max(_FEW_DIGITS, len(f"{whole}{decimals}".lstrip("0")))
    if scale.bit_count() == 1:
        steps, places = round_(Fraction(count, scale)), 0
    else:
        larger = {quantity.scales[each]: each for each in quantity.shown}
        while (steps := round_(Fraction(count, scale) * Fraction(10) ** places)) >= 10**most:
            places -= 1
        while steps >= 10 ** (places + max(_FEW_DIGITS, len(whole))) and scale * 1000 in larger:
            scale, unit, places = scale * 1000, larger[scale * 1000], places + 3
    units, behind = divmod(steps * 10 ** max(-places, 0), 10 ** max(places, 0))
    text = f"{units:_}" if "_" in digits or units >= 10_000 else f"{units}"  # noqa: PLR2004
    text += f".{behind:0{places}}"[: len(".") + _MOST_DECIMALS] if places > 0 else ""  # the rest are zeros
    return f'"{text}{unit}"'


parse_count, parse_bytes = PARAMETERS.parse, BYTES.parse
