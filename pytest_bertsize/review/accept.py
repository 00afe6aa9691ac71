"""Accept what was built: raise limits that fail, or lower those with room; write limits, reasons and the lock.

All files of a run are written after its last model is reviewed: all of them or none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from msgspec import Struct

from pytest_bertsize.base.lock import HEAD, merge_accepted, parse_lock, read_lock, render_lock
from pytest_bertsize.findings import BROKEN
from pytest_bertsize.quantity import restated
from pytest_bertsize.table.limits import NAMED, Growth, Limit, unit_of
from pytest_bertsize.table.rewrite import (
    Change,
    lowered,
    raised,
    refuse_another,
    replace_together,
    sentence,
    settings_after,
)
from pytest_bertsize.table.settings import SettingsError
from pytest_bertsize.wording import listed, printable, shown, visible

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_bertsize.base.lock import Lock
    from pytest_bertsize.review.review import Review
    from pytest_bertsize.table.settings import Settings

Verb = Literal["update", "tighten"]
MOST_NAMED = 10  # the most models that one line names
_NOTHING: Mapping[Verb, str] = {
    "update": "no limit that can be raised is exceeded, and none was raised",
    "tighten": "no checked budget can be lowered without more digits, and none was lowered",
}
WHY = 'give a reason before you commit, because a run with a base needs one: bertsize accept --reason "…"'


class BudgetChanges(Struct, frozen=True):
    """The changes that a run makes for one model; plain data, because an xdist worker sends it as a dict."""

    model: str
    changes: list[Change] = []
    refused: dict[str, str] = {}  # the reason why the limit of a component stays as it is, though the model fails
    asks_why: bool = False  # True if a run with a base requires a reason: for raising, for loosening by hand
    block: str | None = None  # the model's block of the lock; "" if the model fails, None if the run writes no lock
    before: dict[str, Any] | None = None  # the model's report with its budget before these changes


# the changes of one model


def raise_limits(review: Review, *, shared: bool) -> BudgetChanges:
    """Return the limits with which a model passes, if it fails for nothing but its limits.

    :param shared: whether the same table declares other models.
    """
    others = [each for each in review.errors if each.kind not in {*BROKEN, "over-growth"} and not each.asks_why]
    is_unexplained = any(each.asks_why for each in review.errors)
    limits = {limit.table_key: limit for limit in review.budget}
    changes, refused = [], {}
    for finding in (each for each in review.errors if each.kind in BROKEN):
        limit = limits[finding.table_key]
        bound = limit.bound(finding.kind)
        if others:
            why = f"the model has another error ({others[0].kind}), which you must fix first"
        elif limit.written_at(bound) in NAMED:
            why = f"{limit.written_at(bound)!r} is a limit of the service, not of the project"
        elif bound == "exact" and shared:
            why = "several models share this exact limit, so one of them cannot change it"
        else:
            changes.append(_change_limit(review.name, limit, bound, finding.actual or 0))
            continue
        refused[limit.component] = why
    asks_why = bool(changes) or (is_unexplained and not others)
    return BudgetChanges(review.name, changes, refused, asks_why)


def lower_limits(review: Review) -> BudgetChanges:
    """Return, for each limit that may be lowered, the value with which the model just passes, in the limit's style."""
    changes, refused, held = [], {}, review.held
    for limit in review.budget:
        is_growth = isinstance(limit.measure, Growth)
        if limit.table_key is None or limit.maximum is None or is_growth or limit.written_at("max") in NAMED:
            continue
        if review.verdict == "failed" or held is None:
            refused[limit.component] = "its model fails"
        else:
            measured = review.find_measured(limit.component)
            count = measured.actual if measured else held.count_of(limit.component)
            changes.append(_change_limit(review.name, limit, "max", count))
    return BudgetChanges(review.name, changes, refused)


def _change_limit(model: str, limit: Limit, bound: str, count: int) -> Change:
    assert limit.table_key is not None
    after = restated(count, bound, limit.written_at(bound), unit_of(limit.component))
    return Change(model, limit.table_key, limit.component, bound, count, after)


# writing the changes of all models


def check_reason(written: str | None, option: str) -> str:
    """Return the reason that ``option`` gives, or ``""`` if it is not used."""
    if written is not None and (not visible(written) or written != printable(written)):
        must = "a reason must be visible text of one line: write, for example, 'ADR-12: wider'"
        raise SettingsError(f"{option}={shown(written)}: {must}")
    return written or ""


def read_lock_to_change(settings: Settings, verb: Verb) -> Lock | None:
    """Read the table's lock; raise SettingsError if it cannot be read, or a file to change cannot be replaced."""
    refuse_another(settings.path, settings.text)
    lock = read_lock(settings)
    if verb == "update" and lock:
        refuse_another(settings.root / lock.file, lock.text)
    return lock


class Line(NamedTuple):
    """One line about a change, or about something that was not changed."""

    text: str
    mark: str = ""
    is_bad: bool = False


class Writer:
    """Collects the changes of models, and writes them."""

    def __init__(self, settings: Settings, verb: Verb, lock: Lock | None = None, reason: str = "") -> None:
        """:param lock: the lock as the run read it; ``None`` if the table names none."""
        self.settings = settings  # the current file, with the changes after it is written
        self.verb, self.lock, self.reason = verb, lock, reason
        self.problem = ""
        self.done: list[Change] = []
        self._read = settings
        self._asked: dict[str, BudgetChanges] = {}
        self._locked: list[str] = []

    def ask(self, changes: BudgetChanges) -> None:
        """Collect the changes of one model; another call for the model replaces them."""
        self._asked[changes.model] = changes

    @property
    def _explained(self) -> dict[tuple[str, ...], str]:
        """The reason for each table that gets it."""
        asking = [self._read.models[each.model] for each in self._asked.values() if each.asks_why and self.reason]
        return {model.table_key: self.reason for model in asking}

    def write(self, *, is_broken_off: bool = False) -> None:
        """Write everything, unless the run was interrupted."""
        asked = [change for each in self._asked.values() for change in each.changes]
        files: list[tuple[Path, str | None, str]] = []
        after, locked = self.settings, list[str]()
        try:
            changes = raised(asked) if self.verb == "update" else lowered(asked, self.settings)
            if changes or self._explained:
                after = settings_after(self.settings, changes, self._explained)
                files.append((self.settings.path, self.settings.text, after.text))
            if self.lock and self.verb == "update":
                text, locked = self._change_lock(self.lock)
                files += [(self.settings.root / self.lock.file, self.lock.text, text)] if locked else []
            if files and is_broken_off:
                self.problem = f"{files[0][0]}: the run was interrupted, and nothing was changed"
                return
            replace_together(*files)
        except SettingsError as error:  # a class may have names that a lock cannot
            self.problem = str(error)
        else:
            self.settings, self.done, self._locked = after, changes, locked

    def _change_lock(self, lock: Lock) -> tuple[str, list[str]]:
        """Return the new text of the lock, and the names of the changed models, none if the lock stays as it is."""
        now = parse_lock("".join((HEAD, *(each.block or "" for each in self._asked.values()))), lock.file)
        models = merge_accepted(lock.models, now, self._read.models)
        text = render_lock(models)
        changed = sorted(name for name in models if models[name] is not lock.models.get(name))
        left = (f"{printable(name)} (removed)" for name in lock.models if name not in models)
        return text, [] if text == lock.text or not models else [*map(printable, changed), *left]

    def list_lines(self) -> Iterator[Line]:
        """Yield a line for each change, for the reason, for the lock, and for each failing limit that stays."""
        refused = [(asked.model, *each) for asked in self._asked.values() for each in asked.refused.items()]
        for change in sorted(self.done, key=lambda change: self.settings.line(change.key) or 0):
            yield Line(sentence(change, self._read, self.settings))
        if self._explained and not self.problem:
            tables = listed([printable(table[-1]) for table in self._explained], MOST_NAMED)
            yield Line(f"reason: written for {tables}; commit it", "→ ")
        elif self.done and self.verb == "update":
            yield Line(WHY, "→ ")
        if self.lock and self._locked:
            yield Line(f"{self.lock.file}: written for {listed(self._locked, MOST_NAMED)}; commit it", "→ ")
        for name in (each.model for each in self._asked.values() if each.block == ""):
            yield Line(f"{name}: its tensors are not written to the lock, because it fails", is_bad=True)
        for model, component, why in refused:
            yield Line(f"{model}: {component} is unchanged: {why}", is_bad=True)
        if self.problem:
            yield Line(self.problem, is_bad=True)
        elif not self._asked:
            yield Line("nothing was checked, and nothing was changed", is_bad=True)
        elif not (self.done or refused or self._locked or self._explained):
            yield Line(f"{_NOTHING[self.verb]}{'; no reason is written' if self.reason else ''}")
