"""Quantities as people write them, exactly: "110M" parameters, "440MB" or "420MiB", "22G" FLOPs.

Written by hand because every unit library reads "1.2B" as 1.2 *bytes*, and because none refuses to guess.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from functools import cached_property

from pytest_bertsize.wording import printable

SCALES = {"": 1, "K": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}
"""The units of a count of parameters."""
BYTE_SCALES = {"": 1, "B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12} | {
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
}
FLOP_SCALES = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}

LONGEST = 60
"""Characters of a quantity."""
PRECISION = 80
"""Digits: more than any quantity has before and behind its point."""
FEW_DIGITS = 3
"""That anybody writes, who has written fewer of a smaller quantity: at most one percent of room."""
_LONG = len("9,999")
"""A number that is read without marks between its thousands."""
LARGEST = 10**15
"""The largest count that can be written: a hundred times any model that is built, and exact in every JSON reader."""
LARGEST_OF_OTHERS = 9 * 10**15
"""The largest number of bytes or FLOPs that can be written, which JSON readers have exact up to 2⁵³."""

_DIGITS = r"(?P<digits>[0-9]{1,25}(?:_[0-9]{1,25})*(?:\.[0-9]{1,18})?)"


@dataclass(frozen=True)
class Quantity:
    """What can be counted, and the units that it is written in."""

    noun: str
    """``"count"``, as in "a count of parameters"."""
    of: str
    """``"parameters"``."""
    scales: Mapping[str, int]
    shown: tuple[str, ...]
    """The units that a table shows it in, each a thousand of the one before."""
    how_to_write: str
    largest: int
    left_out: str
    """What people write behind a quantity that says no more than what is counted: a pattern."""
    meant: Mapping[str, tuple[str, ...]]
    """Each unit that people write, in capitals, and those that they may mean."""

    @property
    def name(self) -> str:
        return f"a {self.noun} of {self.of}"

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        return re.compile(rf"{_DIGITS}(?P<unit>{'|'.join(sorted(self.scales, key=len, reverse=True))})")

    def parse(self, value: object) -> int:
        """The exact number that ``value`` stands for.

        :raises ValueError: for anything else (floats, booleans, negatives, other units), saying what to write.
        """
        if isinstance(value, str):
            return self._in_range(self._parse_text(value), value)
        if type(value) is int:
            return self._in_range(value, value)
        raise ValueError(f"{_shown(value)} is not {self.name}: {self.how_to_write}")

    def _parse_text(self, text: str) -> int:
        match = self.match(text)
        if match is None:
            raise ValueError(f"{_shown(text)} is not {self.name}: {self.how_to_write}{self._near_miss(text)}")
        with localcontext(prec=PRECISION):
            exact = (Decimal(match["digits"]) * self.scales[match["unit"]]).normalize()
        if exact != exact.to_integral_value():
            raise ValueError(f"{_shown(text)} is not a whole number of {self.of}: {exact:f}")
        return int(exact)

    def match(self, text: str) -> re.Match[str] | None:
        return self.pattern.fullmatch(text) if len(text) <= LONGEST else None

    def _in_range(self, count: int, value: object) -> int:
        if count < 0:
            raise ValueError(f"{_shown(value)} is negative: {self.name} never is")
        if count > self.largest:
            raise ValueError(f"{_shown(value)} is more than any model has: the largest {self.noun} is {self.largest:,}")
        return count

    def _near_miss(self, text: str) -> str:
        """Name the spelling that was probably meant, such as '110M' for '110 mb'."""
        bare = re.sub(rf"[\s,]|(?:{self.left_out})$", "", text.upper()) if len(text) <= LONGEST else ""
        match = re.fullmatch(rf"{_DIGITS}(?P<unit>[A-Z]*)", bare)
        units = self.meant.get(match["unit"], ()) if match else ()
        meant = [repr(f"{match['digits']}{unit}") for unit in units] if match else []
        return f"; did you mean {' or '.join(meant)}?" if meant else ""


def _meant(scales: Iterable[str], **others: tuple[str, ...]) -> Mapping[str, tuple[str, ...]]:
    return {**{unit.upper(): (unit,) for unit in scales}, **others}


PARAMETERS = Quantity(
    noun="count",
    of="parameters",
    scales=SCALES,
    shown=tuple(SCALES),
    how_to_write="write a whole number, or a string such as '110M' or '1.2B' (K, M, B, T are powers of 1,000)",
    largest=LARGEST,
    left_out="PARAMS?|PARAMETERS?",
    meant=_meant(SCALES, **{f"{unit}B": (unit,) for unit in SCALES if unit}),
)
BYTES = Quantity(
    noun="number",
    of="bytes",
    scales=BYTE_SCALES,
    shown=("B", "kB", "MB", "GB", "TB"),
    how_to_write=(
        "write a whole number, or a string such as '440MB' or '420MiB' "
        "(kB, MB, GB, TB are powers of 1,000; KiB, MiB, GiB, TiB powers of 1,024)"
    ),
    largest=LARGEST_OF_OTHERS,
    left_out="YTES?",
    meant=_meant(
        [unit for unit in BYTE_SCALES if unit != "KB"],
        K=("kB", "KiB"),
        **{unit: (f"{unit}B", f"{unit}iB") for unit in "MGT"},
        **{f"{unit}I": (f"{unit}iB",) for unit in "KMGT"},
    ),
)
FLOPS = Quantity(
    noun="number",
    of="FLOPs",
    scales=FLOP_SCALES,
    shown=tuple(FLOP_SCALES),
    how_to_write=(
        "write a whole number, or a string such as '22G' or '1.5T' "
        "(K, M, G, T, P are powers of 1,000, and a multiply-add is 2 FLOPs)"
    ),
    largest=LARGEST_OF_OTHERS,
    left_out="FLOPS?",
    meant=_meant(FLOP_SCALES, B=("G",)),
)


def parse_count(value: object) -> int:
    """Return the exact number of parameters that ``value`` stands for.

    :param value: an ``int``, or a string such as ``"110M"``, ``"1.2B"`` or ``"86_000_000"``.
    :raises ValueError: for anything else (floats, booleans, negatives, other units), saying what to write.
    """
    return PARAMETERS.parse(value)


def parse_bytes(value: object) -> int:
    """Return the exact number of bytes that ``value`` stands for.

    :param value: an ``int``, or a string such as ``"440MB"`` (of 1,000²) or ``"420MiB"`` (of 1,024²). "440M" could be
        either, and is refused.
    :raises ValueError: for anything else, saying what to write.
    """
    return BYTES.parse(value)


def parse_flops(value: object) -> int:
    """Return the exact number of FLOPs that ``value`` stands for: floating-point operations, not such per second.

    A multiply-add (MAC) is two of them, as torch's counter has it; a tool that reports MACs shows half.

    :param value: an ``int``, or a string such as ``"22G"`` or ``"1.5T"``.
    :raises ValueError: for anything else, saying what to write.
    """
    return FLOPS.parse(value)


def _shown(value: object) -> str:
    try:
        return printable(repr(value), LONGEST)
    except Exception:  # noqa: BLE001  (an integer of too many digits, and whatever an object's own repr raises)
        return f"a value of type {type(value).__name__}"


def compact_left(left: int, quantity: Quantity = PARAMETERS) -> str:
    """Room left in a few characters (six for a count), rounded so that it never flatters: room down, overshoot up.

    ``769_000`` → ``'+769K'``, ``-13_230_208`` → ``'-13.3M'``, ``0`` → ``'0'``; of bytes ``'-13.3MB'``.
    """
    if left > 0:
        return f"+{_three_digits(left, quantity.shown, up=False)}"
    if left < 0:
        return f"-{_three_digits(-left, quantity.shown, up=True)}"
    return "0"


def _three_digits(size: int, units: tuple[str, ...], *, up: bool) -> str:
    rounding = ROUND_CEILING if up else ROUND_FLOOR
    for power, unit in enumerate(units):
        scale = 1000**power
        tenths = size // scale < 100  # noqa: PLR2004
        rounded = (Decimal(size) / scale).quantize(Decimal("0.1") if tenths else Decimal(1), rounding)
        if rounded < 1000:  # noqa: PLR2004
            return f"{rounded}".replace(".0", "") + unit
    return f"{-(-size // scale) if up else size // scale:,}{unit}"


def percent_used(actual: int, limit: int) -> str:
    """How much of a limit is used, in at most four characters; 100% is all of it, not more and not less.

    ``(96, 100)`` → ``'96%'``, ``(1001, 1000)`` → ``'101%'``, ``(95, 10)`` → ``'>9x'``.
    """
    if limit == 0:
        return "0%" if actual == 0 else ">9x"
    if actual > 9 * limit:
        return ">9x"
    share, rest = divmod(100 * actual, limit)
    return f"{share + 1 if rest and share >= 100 else share}%"  # noqa: PLR2004


def restated(count: int, bound: str, like: object, quantity: Quantity) -> str:
    """What a bound has to say to let ``count`` pass: ``max`` or ``min`` in the style of ``like``, ``exact`` exactly.

    A maximum is rounded up, a minimum down: ``113_123_456`` like ``"110M"`` → ``'"114M"'`` and ``'"113M"'``; like
    ``86_000_000`` → ``'113_123_456'``. What has more digits than its author would write loses some, and takes the next
    unit: ``1_082_114`` like ``"623K"`` → ``'"1.09M"'``, and ``125_985_792`` like ``"85.1M"`` → ``'"126M"'``.
    """
    match = quantity.match(like) if isinstance(like, str) and bound != "exact" else None
    unit = match["unit"] if match else ""
    if match is None or quantity.scales[unit] == 1:
        return f'"{count:_}{unit}"' if unit else f"{count:_}"
    rounding = ROUND_FLOOR if bound == "min" else ROUND_CEILING
    written = _in_halves if quantity.scales[unit].bit_count() == 1 else _in_digits
    with localcontext(prec=PRECISION):
        return f'"{written(count, match["digits"], unit, quantity, rounding)}"'


def _in_digits(count: int, digits: str, unit: str, quantity: Quantity, rounding: str) -> str:
    """In steps of the last digit, of as many digits as there are in ``digits``, or a few."""
    whole, _, behind = digits.replace("_", "").lstrip("0").partition(".")
    scale, places = quantity.scales[unit], len(behind)
    most = max(FEW_DIGITS, len(f"{whole}{behind}".lstrip("0")))
    while (steps := _steps(count, scale, places, rounding)) >= 10**most:
        places -= 1
    while steps.scaleb(-places) >= 10 ** max(FEW_DIGITS, len(whole)) and (larger := _next(scale, quantity)):
        scale, unit, places = scale * 1000, larger, places + 3
    return _marked(steps.scaleb(-places), max(places, 0), digits) + unit


def _marked(number: Decimal, places: int, like: str) -> str:
    """Thousands have marks where the author sets them, and where nobody reads them without."""
    text = f"{number:,.{places}f}"
    return text.replace(",", "_" if "_" in like or len(text.partition(".")[0]) > _LONG else "")


def _steps(count: int, scale: int, places: int, rounding: str) -> Decimal:
    return (Decimal(count) / scale).scaleb(places).to_integral_value(rounding)


def _next(scale: int, quantity: Quantity) -> str:
    """The unit of a thousand of these; ``""`` above the largest."""
    return next((unit for unit in quantity.shown if quantity.scales[unit] == scale * 1000), "")


def _in_halves(count: int, digits: str, unit: str, quantity: Quantity, rounding: str) -> str:
    """With powers of 1,024: in steps of whole bytes that have no more digits, as halves."""
    scale, places = quantity.scales[unit], len(digits.partition(".")[2])
    step = Decimal(1) / 2 ** min(places, scale.bit_length() - 1)
    steps = (Decimal(count) / scale / step).to_integral_value(rounding)
    return _marked(steps * step, places, digits) + unit
