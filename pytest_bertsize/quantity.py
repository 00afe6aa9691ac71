"""Parameter counts as people write them: "110M" ⇄ 110_000_000, exactly.

Written by hand because every unit library reads "1.2B" as 1.2 *bytes*. K, M, B and T are powers of 1,000.
"""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext

from pytest_bertsize.findings import printable

SCALES = {"": 1, "K": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}
LONGEST = 60
"""Characters of a count."""
PRECISION = 80
"""Digits: more than any count has before and behind its point."""
LARGEST = 10**15
"""The largest count that can be written: a hundred times any model that is built, and exact in every JSON reader."""

_COUNT = re.compile(r"(?P<digits>[0-9]{1,25}(?:_[0-9]{1,25})*(?:\.[0-9]{1,18})?)(?P<unit>[KMBT]?)")
HOW_TO_WRITE = "write a whole number, or a string such as '110M' or '1.2B' (K, M, B, T are powers of 1,000)"


def parse_count(value: object) -> int:
    """Return the exact number of parameters that ``value`` stands for.

    :param value: an ``int``, or a string such as ``"110M"``, ``"1.2B"`` or ``"86_000_000"``.
    :raises ValueError: for anything else (floats, booleans, negatives, other units), saying what to write.
    """
    if isinstance(value, str):
        return _in_range(_parse_text(value), value)
    if type(value) is int:
        return _in_range(value, value)
    raise ValueError(f"{_shown(value)} is not a count of parameters: {HOW_TO_WRITE}")


def _parse_text(text: str) -> int:
    match = _COUNT.fullmatch(text) if len(text) <= LONGEST else None
    if match is None:
        raise ValueError(f"{_shown(text)} is not a count of parameters: {HOW_TO_WRITE}{_near_miss(text)}")
    with localcontext(prec=PRECISION):
        exact = (Decimal(match["digits"]) * SCALES[match["unit"]]).normalize()
    if exact != exact.to_integral_value():
        raise ValueError(f"{_shown(text)} is not a whole number of parameters: {exact:f}")
    return int(exact)


def _in_range(count: int, value: object) -> int:
    if count < 0:
        raise ValueError(f"{_shown(value)} is negative: a count of parameters never is")
    if count > LARGEST:
        raise ValueError(f"{_shown(value)} is more than any model has: the largest count is {LARGEST:,}")
    return count


def _near_miss(text: str) -> str:
    """Name the spelling that was probably meant, such as '110M' for '110 mb'."""
    if len(text) > LONGEST:
        return ""
    bare = re.sub(r"[\s,]|PARAMS?$|PARAMETERS?$", "", text.upper())
    meant = [each for each in (bare, bare.removesuffix("B")) if _COUNT.fullmatch(each)]
    return f"; did you mean {meant[0]!r}?" if meant else ""


def _shown(value: object) -> str:
    try:
        return printable(repr(value), LONGEST)
    except Exception:  # noqa: BLE001  (an integer of too many digits, and whatever an object's own repr raises)
        return f"a value of type {type(value).__name__}"


def exact(count: int) -> str:
    """``109482240`` → ``'109,482,240'``."""
    return f"{count:,}"


def signed(delta: int) -> str:
    """``30522`` → ``'+30,522'``; zero is ``'0'``."""
    return f"{delta:+,}" if delta else "0"


def compact_left(left: int) -> str:
    """Room left in at most six characters, rounded so that it never flatters: room down, overshoot up.

    ``769_000`` → ``'+769K'``, ``-13_230_208`` → ``'-13.3M'``, ``0`` → ``'0'``.
    """
    if left > 0:
        return f"+{_three_digits(left, up=False)}"
    if left < 0:
        return f"-{_three_digits(-left, up=True)}"
    return "0"


def _three_digits(size: int, *, up: bool) -> str:
    rounding = ROUND_CEILING if up else ROUND_FLOOR
    for unit, scale in SCALES.items():
        scaled = Decimal(size) / scale
        tenths = size // scale < 100  # noqa: PLR2004
        rounded = scaled.quantize(Decimal("0.1"), rounding) if tenths else scaled.to_integral_value(rounding)
        if rounded < SCALES["K"]:
            return f"{rounded}{unit}".replace(".0", "")
    return f"{-(-size // SCALES['T']) if up else size // SCALES['T']:,}T"


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


def rounded_up(count: int, like: object) -> str:
    """``count`` written in the style of ``like``, rounded up: what a budget in that style has to say to pass.

    ``(113_123_456, "110M")`` → ``'"114M"'``; ``(113_123_456, 86_000_000)`` → ``'113_123_456'``.
    """
    match = _COUNT.fullmatch(like) if isinstance(like, str) else None
    if match is None or match["unit"] == "":
        return f"{count:_}"
    with localcontext(prec=PRECISION):
        scaled = (Decimal(count) / SCALES[match["unit"]]).quantize(Decimal(match["digits"]), ROUND_CEILING)
    return f'"{scaled:,f}{match["unit"]}"'.replace(",", "_")
