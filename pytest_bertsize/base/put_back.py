"""Which changed key moved what, where no closed form says it: by what is built with keys put back to what they were."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_bertsize.builder.messages import Built
from pytest_bertsize.wording import listed, plural, printable

if TYPE_CHECKING:
    from pytest_bertsize.builder.messages import NotBuilt, Request
    from pytest_bertsize.closed_forms.attribution import Counts, Moved
    from pytest_bertsize.inventory import Inventory

CODE = "code"
"""The row of what no key explains."""
MOST_NAMED = 6


@dataclass(frozen=True, slots=True)
class PutBack:
    """The keys that changed, and what is built to know what each of them moved."""

    keys: tuple[tuple[str, str, str], ...] = ()
    """Name, and both values as a report shows them."""
    requests: Mapping[int | None, Request] = field(default_factory=dict)
    """By the one key that has today's value; all others are put back. Of ``None``, all of them are."""
    problem: str = ""
    """Why nothing is built again."""
    result: Callable[[str], Built | NotBuilt] | None = None

    @property
    def named(self) -> str:
        return listed([printable(key) for key, *_ in self.keys], MOST_NAMED)


@dataclass(frozen=True, slots=True)
class Shared:
    """What keys and code moved."""

    moved: tuple[Moved, ...] = ()
    method: str = ""
    said: tuple[str, ...] = ()


def shared(put_back: PutBack, before: Counts, now: Inventory, components: Callable[[Built], Inventory]) -> Shared:
    """Tell what each key moved alone, what they moved together, and what the code moved.

    :param before: of the base, by component.
    :param components: gives what was built its components.
    """
    from pytest_bertsize.closed_forms.attribution import Moved, alone_and_together, difference, in_one_row

    if put_back.problem:
        named = f"these keys changed: {put_back.named}; " if put_back.keys else ""
        return Shared(said=(f"{named}which of them or of the code moved what is not known: {put_back.problem}",))
    counts: dict[int | None, Counts] = {} if put_back.keys else {None: now.own}
    for key, request in put_back.requests.items():
        built = put_back.result(request.name) if put_back.result else None
        if isinstance(built, Built):
            counts[key] = components(built).own
        elif key is None:
            return Shared(said=(_not_built(put_back, built),))
    code = difference(counts[None], before)
    last = (Moved(CODE, "", "", code),) if code else ()
    builds = len(put_back.requests)
    if len(counts) <= builds - 1:
        row = in_one_row(put_back.keys, difference(now.own, counts[None]))
        return Shared((row, *last), "these keys go together: alone one of them is not built, with all of them it is")
    alone = [now.own] if len(put_back.keys) == 1 else [counts[index] for index in range(len(put_back.keys))]
    rows = alone_and_together(put_back.keys, counts[None], alone, now.own)
    back = "the key put back to what it was" if builds == 1 else "keys put back to what they were"
    method = f"by {plural(builds, 'build')} of today's code with {back}" if builds else ""
    return Shared((*rows, *last), method)


def _not_built(put_back: PutBack, result: NotBuilt | None) -> str:
    why = result.reason if result else "nothing was"
    unknown = f"these keys changed: {put_back.named}; what each of them moved is not known"
    back = ", ".join(printable(key) for key, *_ in put_back.keys)
    return f"{unknown}: with {back} put back it is not built: {why}"
