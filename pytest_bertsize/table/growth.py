"""``budget.growth``: what a component may grow by against the base, a count or a share of what it was."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from pytest_bertsize.inventory import TOTAL, TRAINABLE
from pytest_bertsize.quantity import PARAMETERS, parse_count, restated
from pytest_bertsize.table.extra import NO_COMPONENTS
from pytest_bertsize.wording import shown

HOW_TO_WRITE = 'write a share such as "1%", a count of parameters such as "500K", or 0'
NOT_OF_PARAMETERS = NO_COMPONENTS - {TOTAL, TRAINABLE}
SHARE = re.compile(r"(?P<digits>[0-9]{1,9}(?:\.[0-9]{1,9})?)%")
_MEANT = re.compile(r"\s*\+?\s*(?P<digits>[0-9]{1,9}(?:\.[0-9]{1,9})?)\s*(?:%|percent|per cent|pct)\s*", re.IGNORECASE)


def growth_from_shorthand(value: object) -> Mapping[str, object]:
    """``"1%"`` is that of the total."""
    if not isinstance(value, dict):
        return {TOTAL: value}
    if not value:
        raise ValueError(f"an empty table limits nothing: {HOW_TO_WRITE}")
    wrong = next((name for name in value if name in NOT_OF_PARAMETERS), None)
    if wrong is not None:
        raise ValueError(f"growth is one of parameters, and {shown(wrong)} has none: name a component, or total")
    return value


def parse_growth(value: object) -> Any:
    """What a component may grow by, as it is written.

    :raises ValueError: for what is neither a share nor a count, saying what to write.
    """
    if share_of(value) is None:
        try:
            parse_count(value)
        except ValueError:
            raise ValueError(f"{shown(value)} is no growth: {HOW_TO_WRITE}{_near_miss(value)}") from None
    return value


def share_of(written: object) -> Fraction | None:
    """``"1%"`` → 1/100; ``None`` for a count."""
    match = SHARE.fullmatch(written) if isinstance(written, str) else None
    return Fraction(match["digits"]) / 100 if match else None


def allowed(written: object, before: int) -> int:
    """The most parameters that may be added to what there was, a share rounded down."""
    share = share_of(written)
    return parse_count(written) if share is None else share * before // 1


def growth_that_passes(added: int, before: int, like: object) -> str:
    """What growth would have to say to let something pass, in its author's style: ``'"7%"'`` or ``'"7.1M"'``."""
    match = SHARE.fullmatch(like) if isinstance(like, str) else None
    if match is None:
        return restated(added, "max", like, PARAMETERS)
    places = len(match["digits"].partition(".")[2])
    steps = -(-Fraction(100 * added * 10**places, before) // 1) if before else 0
    share = f"{Decimal(steps).scaleb(-places):f}%"
    return f'"{share}"' if before and SHARE.fullmatch(share) else f"{added:_}"


def _near_miss(value: object) -> str:
    """``0.01`` and ``"+1 %"`` are probably meant for ``"1%"``."""
    if isinstance(value, float) and 0 < value < 1:
        return f"; did you mean '{(100 * Decimal(repr(value))).normalize():f}%'?"
    match = _MEANT.fullmatch(value) if isinstance(value, str) else None
    return f"; did you mean '{match['digits']}%'?" if match else ""
