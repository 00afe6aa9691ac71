"""Which changed key moved what, where no closed form says it: by what is built with keys put back to what they were."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_bertsize.builder.messages import Built
from pytest_bertsize.wording import listed, plural, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pytest_bertsize.builder.messages import NotBuilt, Request
    from pytest_bertsize.closed_forms.attribution import Chosen, Counts, Moved
    from pytest_bertsize.inventory import Inventory

CODE = "code"
"""The row of what no key explains."""
MOST_NAMED = 6


@dataclass(frozen=True, slots=True)
class PutBack:
    """The keys that changed, and what is built to know what each of them moved."""

    keys: tuple[tuple[str, str, str], ...] = ()
    """Name, and both values as a report shows them."""
    requests: Mapping[Chosen, Request] = field(default_factory=dict)
    """By the keys that have today's value; all others are put back. Of all of them, that is the model of today."""
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
    """Share what changed among the keys and the code.

    :param before: of the base, by component.
    :param components: gives what was built its components.
    """
    from pytest_bertsize.closed_forms.attribution import Moved, in_whole_parameters, method_of, shares_of

    if put_back.problem:
        named = f"these keys changed: {put_back.named}; " if put_back.keys else ""
        return Shared(said=(f"{named}which of them or of the code moved what is not known: {put_back.problem}",))
    counts: dict[Chosen, Counts] = {tuple(range(len(put_back.keys))): now.own}
    for chosen, request in put_back.requests.items():
        built = put_back.result(request.name) if put_back.result else None
        if not isinstance(built, Built) and not chosen:
            return Shared(said=(_not_built(put_back, chosen, built),))
        if not isinstance(built, Built):
            return _together(put_back, before, now.own, counts[()])
        counts[chosen] = components(built).own
    shares = shares_of(counts, len(put_back.keys)) if put_back.keys else []
    rows = [
        Moved(key, was, became, own)
        for (key, was, became), own in zip(put_back.keys, in_whole_parameters(shares), strict=True)
    ]
    rows.sort(key=lambda row: -abs(row.total))
    return Shared((*rows, *_code(counts[()], before)), _method(method_of(shares), len(put_back.requests)))


def _code(then: Counts, before: Counts) -> list[Moved]:
    """The row of today's code, built from what the base's config says."""
    from pytest_bertsize.closed_forms.attribution import Moved, difference

    code = difference(then, before)
    return [Moved(CODE, "", "", code)] if code else []


def _together(put_back: PutBack, before: Counts, now: Counts, then: Counts) -> Shared:
    """Keys of which some alone build nothing."""
    from pytest_bertsize.closed_forms.attribution import Moved, difference

    key, was, became = (", ".join(parts) for parts in zip(*put_back.keys, strict=True))
    row = Moved(key, was, became, difference(now, then))
    method = "these keys go together: with some of them put back it is not built, with all of them it is"
    return Shared((row, *_code(then, before)), method)


def _method(method: str, builds: int) -> str:
    if not builds:
        return ""
    back = "the key put back to what it was" if builds == 1 else "keys put back to what they were"
    again = f"by {plural(builds, 'build')} of today's code with {back}"
    return f"{method}; {again}" if method else again


def _not_built(put_back: PutBack, chosen: Sequence[int], result: NotBuilt | None) -> str:
    back = ", ".join(printable(key) for index, (key, *_) in enumerate(put_back.keys) if index not in chosen)
    why = result.reason if result else "nothing was"
    unknown = f"these keys changed: {put_back.named}; what each of them moved is not known"
    return f"{unknown}: with {back} put back it is not built: {why}"
