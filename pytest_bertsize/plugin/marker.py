"""Tests with the marker or the fixture ``bert_budget``: which models they ask for, and with which limits."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from pytest_bertsize.plugin.items import GATE, REVIEW, BudgetFailure, hold
from pytest_bertsize.table.model import AsBytes, Training
from pytest_bertsize.table.settings import Settings, SettingsError, limits_from
from pytest_bertsize.wording import MOST_NAMED, did_you_mean, listed, shown

if TYPE_CHECKING:
    import pytest

    from pytest_bertsize.review.review import Review
    from pytest_bertsize.table.model import Limit

_MARKER = inspect.Signature(
    [
        inspect.Parameter("model", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None),
        inspect.Parameter("limits", inspect.Parameter.VAR_KEYWORD),
    ]
)
"""What the marker takes: ``bert_budget(model=None, **limits)``."""


class Mistaken(Exception):
    """A marker, or the table that it refers to, is wrong: a test failure without a traceback."""


def hold_marked(item: pytest.Item) -> None:
    """Check every model that the test's markers name, each against all of their limits; keep the nearest's review."""
    reviews = [*_reviews(item).values()]
    for review in reviews:
        hold(item, review)
    item.stash[REVIEW] = reviews[0]


def review_for_test(item: pytest.Item) -> Review:
    """What the fixture gives: the review of the nearest marker's model, or of the only one declared."""
    review = next(iter(_reviews(item).values()))
    if review.unbuilt and review.verdict == "passed":
        raise Mistaken("the fixture bert_budget gives what was built: run it without --bert-budget-no-build")
    if review.actual is None:
        raise BudgetFailure(review)
    return review


def _reviews(item: pytest.Item) -> dict[str, Review]:
    """By model, nearest marker first."""
    gate = item.config.stash[GATE]
    try:
        if isinstance(gate, SettingsError):
            raise gate
        limits: dict[str, tuple[Limit, ...]] = {}
        for marker in item.iter_markers("bert_budget"):
            name, extra = _bound(marker, gate.settings, item)
            limits[name] = (*limits.get(name, ()), *extra)
        if not limits:
            limits[_only_model(None, gate.settings)] = ()
    except SettingsError as error:
        raise Mistaken(str(error)) from None
    return {name: gate.review(name, extra) for name, extra in limits.items()}


def _bound(marker: pytest.Mark, settings: Settings, item: pytest.Item) -> tuple[str, tuple[Limit, ...]]:
    """The model that a marker names, and its limits."""
    path, line, _ = item.location
    place = f"{path}:{(line or 0) + 1}: @pytest.mark.bert_budget"
    try:
        arguments = _MARKER.bind(*marker.args, **marker.kwargs).arguments
    except TypeError as error:
        raise SettingsError(f'{place}: {error}; write @pytest.mark.bert_budget("NAME", total="110M")') from None
    name = _only_model(arguments.get("model"), settings, place)
    found = limits_from(arguments.get("limits", {}), file=path, line=(line or 0) + 1)
    return name, tuple(_tightening(limit, settings, name, place) for limit in found)


def _only_model(name: object, settings: Settings, place: str = "the fixture bert_budget") -> str:
    known = listed(settings.names, MOST_NAMED)
    if name is None and len(settings.names) == 1:
        return settings.names[0]
    if name is None:
        raise SettingsError(
            f'{place}: which model? {settings.file} declares {known}; write @pytest.mark.bert_budget("NAME")'
        )
    if not isinstance(name, str) or name not in settings.models:
        hint = did_you_mean(str(name), settings.names, f"there are {known}")
        raise SettingsError(f"{place}: no model {shown(name)} is declared in {settings.file}; {hint}")
    return name


def _tightening(limit: Limit, settings: Settings, name: str, place: str) -> Limit:
    """The limit, measured as the table's is; refused where it would loosen that.

    :raises SettingsError: naming both.
    """
    declared = next((each for each in settings.models[name].limits if each.component == limit.component), None)
    if declared is None:
        return limit
    if limit.measure != declared.measure and limit.measure not in {AsBytes(None, "unique"), Training()}:
        message = f"{place} limits {limit.component} as {limit.measure}, and {settings.file} as {declared.measure}"
        raise SettingsError(f"{message}: leave that to the table")
    _refuse_to_loosen(limit, declared, settings, place)
    return limit._replace(measure=declared.measure)


def _refuse_to_loosen(limit: Limit, declared: Limit, settings: Settings, place: str) -> None:
    if limit.maximum is not None and declared.maximum is not None and limit.maximum > declared.maximum:
        looser = f"{limit.component} up to {limit.maximum:,}, where {settings.file} allows {declared.maximum:,}"
    elif limit.minimum is not None and declared.minimum is not None and limit.minimum < declared.minimum:
        looser = f"{limit.component} down to {limit.minimum:,}, where {settings.file} allows {declared.minimum:,}"
    else:
        return
    raise SettingsError(f"{place} allows {looser}: a marker tightens a budget, it never loosens one; change the table")
