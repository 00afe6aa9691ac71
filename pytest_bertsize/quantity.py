"""Quantities as people write them, exactly: "110M" parameters, "440MB" or "420MiB", "22G" FLOPs.

Written by hand because every unit library reads "1.2B" as 1.2 *bytes*, and because none refuses to guess.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from functools import cached_property

from msgspec import Struct

from pytest_bertsize.wording import BadValue, printable

SCALES = {"": 1, "K": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}
"""The units of a count of parameters."""
_BYTE_SCALES = {"": 1, "B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_BYTE_SCALES |= {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_FLOP_SCALES = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}

LONGEST = 60
"""The most characters of a quantity."""
LARGEST = 10**15
"""The largest count that can be written: a hundred times any model that is built, and exact in every JSON reader."""
_LARGEST_OF_OTHERS = 9 * 10**15
"""The largest number of bytes or FLOPs that can be written; JSON readers are exact up to 2⁵³."""
_PRECISION = 80
"""The digits of exact arithmetic: more than any quantity has before and after its point."""
_FEW_DIGITS = 3
"""The digits that a new limit may have if the old one has fewer; the new limit is then at most 1% above the count."""
_MOST_DECIMALS = 18
"""The most digits after the point; a whole number of parameters has at most 12 in any unit, of FLOPs at most 15."""
_DIGITS = rf"(?P<digits>(?:[0-9]{{1,3}}(?:_[0-9]{{3}})+|[0-9]{{1,25}})(?:\.[0-9]{{1,{_MOST_DECIMALS}}})?)"


class Quantity(Struct, frozen=True, dict=True):
    """A kind of count, and the units that it is written in."""

    noun: str
    """The word for a value: ``"count"``, as in "a count of parameters"."""
    of: str
    """The things that are counted: ``"parameters"``."""
    scales: Mapping[str, int]
    shown: tuple[str, ...]
    """The units in which a value is shown, each a thousand times the one before."""
    how_to_write: str
    largest: int
    left_out: str
    """A pattern for a word after the number that only repeats what is counted, such as ``PARAMS``."""
    meant: Mapping[str, tuple[str, ...]]
    """The units that people may mean by what they write, in capitals: ``MB`` of parameters means ``M``."""

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        return re.compile(rf"{_DIGITS}(?P<unit>{'|'.join(sorted(self.scales, key=len, reverse=True))})")

    def match(self, text: str) -> re.Match[str] | None:
        return self.pattern.fullmatch(text) if len(text) <= LONGEST else None

    def parse(self, value: object) -> int:
        """Return the exact number that ``value`` stands for.

        :param value: an ``int``, or a string such as ``"110M"`` or ``"86_000_000"``.
        :raises BadValue: for anything else (floats, booleans, negatives, other units), saying what to write.
        """
        match = self.match(value) if isinstance(value, str) else None
        if match:
            with localcontext(prec=_PRECISION):
                exact = (Decimal(match["digits"]) * self.scales[match["unit"]]).normalize()
            if exact != exact.to_integral_value():
                raise BadValue(f"{_show(value)} is not a whole number of {self.of}: {exact:f}")
            count = int(exact)
        elif type(value) is int:
            count = value
        else:
            hint = self._name_near_miss(value) if isinstance(value, str) else ""
            raise BadValue(f"{_show(value)} is not a {self.noun} of {self.of}", f"{self.how_to_write}{hint}")
        if count < 0:
            raise BadValue(f"{_show(value)} is negative: a {self.noun} of {self.of} is 0 or more")
        if count > self.largest:
            raise BadValue(f"{_show(value)} is more than any model has: the largest {self.noun} is {self.largest:,}")
        return count

    def _name_near_miss(self, text: str) -> str:
        """Name the spelling that was probably meant, such as '110M' for '110 mb'."""
        bare = re.sub(rf"\s|(?:{self.left_out})$", "", text.upper())
        if re.fullmatch(r"[0-9]{1,3}(,[0-9]{3})+", bare):  # 1,500M and 37,5M have two readings
            bare = bare.replace(",", "")
        match = re.fullmatch(rf"{_DIGITS}(?P<unit>[A-Z]*)", bare) if len(text) <= LONGEST else None
        meant = [repr(f"{match['digits']}{unit}") for unit in self.meant.get(match["unit"], ())] if match else []
        return f"; did you mean {' or '.join(meant)}?" if meant else ""


def _meant_by(scales: Iterable[str], **others: tuple[str, ...]) -> Mapping[str, tuple[str, ...]]:
    return {**{unit.upper(): (unit,) for unit in scales}, **others}


PARAMETERS = Quantity(
    noun="count",
    of="parameters",
    scales=SCALES,
    shown=tuple(SCALES),
    how_to_write="write a whole number, or a string such as '110M' or '1.2B' (K, M, B, T are powers of 1,000)",
    largest=LARGEST,
    left_out="PARAMS?|PARAMETERS?",
    meant=_meant_by(SCALES, **{f"{unit}B": (unit,) for unit in SCALES if unit}),
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
    left_out="YTES?",
    meant=_meant_by(
        [unit for unit in _BYTE_SCALES if unit != "KB"],
        K=("kB", "KiB"),
        **{unit: (f"{unit}B", f"{unit}iB") for unit in "MGT"},
        **{f"{unit}I": (f"{unit}iB",) for unit in "KMGT"},
    ),
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
    left_out="FLOPS?",
    meant=_meant_by(_FLOP_SCALES, B=("G",)),
)


def _show(value: object) -> str:
    try:
        return printable(repr(value), LONGEST)
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
    match = quantity.match(like) if isinstance(like, str) and bound != "exact" else None
    if match is None or quantity.scales[match["unit"]] == 1:
        unit = match["unit"] if match else ""
        return f'"{count:_}{unit}"' if unit else f"{count:_}"
    unit, digits = match["unit"], match["digits"]
    whole, _, behind = digits.replace("_", "").lstrip("0").partition(".")
    scale, places = quantity.scales[unit], len(behind)
    rounding = ROUND_FLOOR if bound == "min" else ROUND_CEILING
    if scale.bit_count() == 1:
        number, places = Decimal(count // scale if bound == "min" else -(-count // scale)), 0
    else:
        larger = {quantity.scales[each]: each for each in quantity.shown}
        most = max(_FEW_DIGITS, len(f"{whole}{behind}".lstrip("0")))
        with localcontext(prec=_PRECISION):
            while (steps := (Decimal(count) / scale).scaleb(places).to_integral_value(rounding)) >= 10**most:
                places -= 1
            while steps.scaleb(-places) >= 10 ** max(_FEW_DIGITS, len(whole)) and scale * 1000 in larger:
                scale, unit, places = scale * 1000, larger[scale * 1000], places + 3
            number, places = steps.scaleb(-places), min(max(places, 0), _MOST_DECIMALS)
    text = f"{number:,.{places}f}"
    is_marked = "_" in digits or len(text.partition(".")[0]) > len("9,999")
    return f'"{text.replace(",", "_" if is_marked else "")}{unit}"'


parse_count, parse_bytes = PARAMETERS.parse, BYTES.parse
