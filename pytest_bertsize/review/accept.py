"""Which budgets a run changes: accepting raises those that fail, tightening lowers those with room."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import tomli

from pytest_bertsize.findings import BROKEN
from pytest_bertsize.quantity import exact, restated
from pytest_bertsize.table.byte_sizes import NAMED
from pytest_bertsize.table.mistakes import dotted
from pytest_bertsize.table.model import unit_of
from pytest_bertsize.table.settings import Settings, SettingsError, parse
from pytest_bertsize.table.toml_values import CannotReplace, replaced

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_bertsize.review.review import Review
    from pytest_bertsize.table.model import Limit, Model

Verb = Literal["update", "tighten"]


@dataclass(frozen=True)
class Change:
    """One bound of a budget, and what it is to say instead. Plain data: an xdist worker sends it as a dict."""

    model: str
    key: tuple[str, ...]
    """Of the limit in the project's table."""
    component: str
    bound: str
    """``max``, ``min`` or ``exact``."""
    counted: int
    after: str
    """As TOML writes it: ``'"114M"'`` or ``'113_123_456'``."""

    @property
    def value(self) -> object:
        """What TOML reads there then: a number, or a string such as ``"114M"``."""
        return tomli.loads(f"x = {self.after}")["x"]

    def size(self) -> int:
        """What the bound lets pass then."""
        return unit_of(self.component).parse(self.value)


@dataclass(frozen=True)
class Refused:
    """A budget that fails and is not changed."""

    model: str
    component: str
    why: str


@dataclass(frozen=True)
class Asked:
    """What one model asks for."""

    review: Review
    """Of the model as its budget is now."""
    changes: list[Change] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)


def accepted(review: Review, *, shared: bool) -> Asked:
    """What the budget has to say to let a model pass that fails for nothing else.

    :param shared: whether other models are declared by the same table.
    """
    broken = [finding for finding in review.errors if finding.kind in BROKEN]
    others = [finding for finding in review.errors if finding.kind not in {*BROKEN, "budget-loosened"}]
    if not broken:
        return Asked(review)
    if others:
        why = f"it fails for another reason as well ({others[0].kind}), which comes first"
        return Asked(review, [], [Refused(review.name, finding.component or "", why) for finding in broken])
    limits = {limit.table_key: limit for limit in review.budget}
    changes, refused = [], []
    for finding in broken:
        limit = limits[finding.table_key]
        bound = limit.bound(finding.kind)
        if why := _cannot_change(limit, bound, shared=shared):
            refused.append(Refused(review.name, limit.component, why))
        else:
            changes.append(_change(review.name, limit, bound, finding.actual or 0))
    return Asked(review, changes, refused)


def _cannot_change(limit: Limit, bound: str, *, shared: bool) -> str:
    if limit.written_at(bound) in NAMED:
        return f"{limit.written_at(bound)!r} is not the project's to change"
    if bound == "exact" and shared:
        return "an exact limit of several models cannot be that of one"
    return ""


def tightened(review: Review) -> Asked:
    """The least that each budget can say in its own style, and pass; no more than it says now."""
    lowerable = [limit for limit in review.budget if _can_be_lowered(limit)]
    if review.verdict == "failed" or review.held is None:
        return Asked(review, [], [Refused(review.name, each.component, "its model fails") for each in lowerable])
    return Asked(review, [_change(review.name, limit, "max", _count(limit, review)) for limit in lowerable])


def _can_be_lowered(limit: Limit) -> bool:
    bounded = limit.table_key is not None and limit.maximum is not None
    return bounded and limit.written_at("max") not in NAMED


def _count(limit: Limit, review: Review) -> int:
    if limit.measure:
        return next(each.actual for each in review.measured if each.name == limit.component)
    assert review.held is not None
    return review.held[limit.component]


def _change(model: str, limit: Limit, bound: str, count: int) -> Change:
    assert limit.table_key is not None
    after = restated(count, bound, limit.written_at(bound), unit_of(limit.component))
    return Change(model, limit.table_key, limit.component, bound, count, after)


def limits_after(limits: Iterable[Limit], changes: Iterable[Change]) -> tuple[Limit, ...]:
    """The limits of one model as they are once the changes are made."""
    by_key: dict[tuple[str, ...], list[Change]] = {}
    for change in changes:
        by_key.setdefault(change.key, []).append(change)
    return tuple(_after(limit, by_key.get(limit.table_key or (), [])) for limit in limits)


def _after(limit: Limit, changes: Iterable[Change]) -> Limit:
    for change in changes:
        size = change.size()
        written = {**limit.written, change.bound: change.value} if isinstance(limit.written, dict) else change.value
        low = size if change.bound in {"min", "exact"} else limit.minimum
        high = size if change.bound in {"max", "exact"} else limit.maximum
        limit = replace(limit, minimum=low, maximum=high, written=written)
    return limit


def raised(changes: Iterable[Change]) -> list[Change]:
    """One change for each bound, where several models of one table ask for it: that which lets all of them pass."""
    found: dict[tuple[tuple[str, ...], str], Change] = {}
    for change in changes:
        place = (change.key, change.bound)
        other = found.setdefault(place, change)
        if (change.size() < other.size()) if change.bound == "min" else (change.size() > other.size()):
            found[place] = change
    return list(found.values())


def lowered(changes: Iterable[Change], settings: Settings) -> list[Change]:
    """The changes that leave room for none and are asked for by every model of their table."""
    everything = list(changes)
    found = []
    for change in raised(everything):
        asked_by = {other.model for other in everything if other.key == change.key}
        everybody = settings.declared_by(settings.models[change.model].table_key)
        if asked_by == {*everybody} and change.size() < (settings.limits[change.key].maximum or 0):
            found.append(change)
    return found


def settings_after(settings: Settings, changes: Sequence[Change]) -> Settings:
    """The pyproject.toml with the changes, and nothing else changed; checked by reading it again.

    :raises SettingsError: when it cannot be.
    """
    values = {_path(change, settings.limits[change.key]): change.after for change in changes}
    by_hand = ", ".join(f"{_place(path, settings)}: {dotted(path)} = {value}" for path, value in values.items())
    try:
        found = parse(replaced(settings.text, values), settings.path)
    except CannotReplace as error:
        raise SettingsError(f"{settings.path}: {error}, and nothing was changed: write {by_hand}") from None
    for name, model in settings.models.items():
        after = replace(model, limits=limits_after(model.limits, changes))
        if name not in found.models or _as_numbers(found.models[name]) != _as_numbers(after):
            raise SettingsError(f"{settings.path}: the budgets cannot be changed in place: write {by_hand}")
    if _without(values, settings.text) != _without(values, found.text):
        raise SettingsError(f"{settings.path}: the budgets cannot be changed and nothing else: write {by_hand}")
    return found


def _path(change: Change, limit: Limit) -> tuple[str, ...]:
    return (*change.key, change.bound) if isinstance(limit.written, dict) else change.key


def _place(path: tuple[str, ...], settings: Settings) -> str:
    """``pyproject.toml:12``."""
    line = settings.line(path)
    return f"{settings.file}:{line}" if line else settings.file


def _as_numbers(model: Model) -> Model:
    """Without the spelling of its limits."""
    return replace(model, limits=tuple(replace(limit, written=None) for limit in model.limits))


def _without(paths: Iterable[tuple[str, ...]], text: str) -> dict[str, Any]:
    """What a TOML file says beside some values."""
    document = tomli.loads(text)
    for path in paths:
        table = document
        for part in path[:-1]:
            table = table[part]
        del table[path[-1]]
    return document


def sentence(change: Change, before: Settings, after: Settings) -> str:
    """``pyproject.toml:12: encoder: total "110M" → "114M", for 113,123,456``."""
    was, now = (settings.limits[change.key] for settings in (before, after))
    bound = f" {change.bound}" if isinstance(was.written, dict) else ""
    values = " → ".join(_quoted(limit.written_at(change.bound)) for limit in (was, now))
    place = _place(change.key, before)
    return f"{place}: {change.model}: {change.component}{bound} {values}, for {exact(change.counted)}"


def _quoted(value: object) -> str:
    return exact(value) if isinstance(value, int) else f'"{value}"'
