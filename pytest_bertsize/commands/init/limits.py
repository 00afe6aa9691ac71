"""Limits a little above today's counts, as an author writes them: ``"110M"``, with less room than one more layer."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.what_if import Variants
from pytest_bertsize.inventory import TOTAL, TRAINABLE
from pytest_bertsize.quantity import SCALES

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.derive import Derivation

FEWEST_DIGITS = 3
"""Digits of a limit: at most one percent of room."""
MOST_DIGITS = 5
"""Digits of a limit with a unit: one that needs more is easier to read as a whole number."""


def budget(derivation: Derivation) -> Iterator[tuple[str, str]]:
    """Yield a limit for the total and for each of its largest parts, with less room than one more layer would take.

    Parts that only other classes of the family have are kept out; beside an adapter, what trains is limited too.
    """
    form = derivation.form
    parts = [name for name, count in form.components.items() if "." not in name and count]
    for component in (TOTAL, *([TRAINABLE] if "adapters" in parts else []), *parts):
        yield component, limit_above(form[component], _count_with_one_more_layer(derivation, component))
    known = derivation.family.component_names(form.dims)
    yield from ((name, "0") for name in known if "." not in name and name not in parts)


def _count_with_one_more_layer(derivation: Derivation, component: str) -> int | None:
    """Return the count of the next larger model, ``None`` where layers make none larger."""
    variants = Variants(derivation)
    layers = [size.key for size in variants.sizes.values() if size.repeats]
    deeper = [form for each in layers if (form := variants.varied(**{each: variants.now(each) + 1}))]
    larger = [form[component] for form in deeper if form[component] > variants.form[component]]
    return min(larger, default=None)


def limit_above(count: int, too_much: int | None = None) -> str:
    """``109_482_240`` → ``'"110M"'``: rounded up to as few digits as tell it from a model that is too large."""
    digits = len(str(count))
    for kept in range(FEWEST_DIGITS, digits + 1):
        step = 10 ** (digits - kept)
        rounded = -(-count // step) * step
        if too_much is None or rounded < too_much:
            return _write_limit(rounded, kept)
    return _write_limit(count, digits)


def _write_limit(count: int, digits: int) -> str:
    """Write a limit with its zeros, as in ``"65.0K"``: what accepts a larger count writes as many digits."""
    if digits > MOST_DIGITS:
        return f"{count:_}"
    unit = max((unit for unit, scale in SCALES.items() if scale <= max(count, 1)), key=SCALES.__getitem__)
    if not unit:
        return str(count)
    places = max(0, digits - len(str(count // SCALES[unit])))
    return f'"{Decimal(count) / SCALES[unit]:.{places}f}{unit}"'
