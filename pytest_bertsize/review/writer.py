"""Write budgets, their reasons and the lock after all models are reviewed: all of them or none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from pytest_bertsize.base.lock import HEAD, merge_accepted, parse_lock, read_lock, render_lock
from pytest_bertsize.table.rewrite import lowered, raised, refuse_another, replace_together, sentence, settings_after
from pytest_bertsize.table.settings import SettingsError
from pytest_bertsize.wording import listed, printable, shown, visible

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_bertsize.base.lock import Lock
    from pytest_bertsize.review.accept import Refused, Verb
    from pytest_bertsize.table.rewrite import Change
    from pytest_bertsize.table.settings import Settings

MOST_NAMED = 10
"""The most models that one line names."""
_NOTHING: Mapping[Verb, str] = {
    "update": "no limit that can be raised is exceeded, and none was raised",
    "tighten": "no checked budget can be lowered without more digits, and none was lowered",
}


def check_reason(written: str | None, option: str) -> str:
    """Return the reason that ``option`` gives, or ``""`` if it is not used.

    :raises SettingsError: for an invisible reason, and for a reason of several lines.
    """
    if written is None:
        return ""
    if not visible(written) or written != printable(written):
        raise SettingsError(
            f"{option}={shown(written)}: a reason must be visible text of one line: write, for example, 'ADR-12: wider'"
        )
    return written


def read_lock_to_change(settings: Settings, verb: Verb) -> Lock | None:
    """Read the table's lock, if the run changes budgets and the lock.

    :raises SettingsError: if it cannot be read, or a file to change cannot be replaced.
    """
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
        """Collect nothing yet.

        :param lock: the lock as the run read it; ``None`` if the table names none.
        :param reason: the reason for raising budgets, or ``""``.
        """
        self.settings = settings  # the current file, with the changes after it is written
        self.verb = verb
        self.lock = lock
        self.reason = reason
        self.problem = ""
        self.done: list[Change] = []
        self._read = settings
        self._is_asked = False
        self._asked: dict[tuple[str, tuple[str, ...], str], Change] = {}
        self._refused: dict[tuple[str, str], Refused] = {}
        self._blocks: dict[str, str] = {}
        self._explained: dict[tuple[str, ...], str] = {}
        self._said_again: list[str] = []
        self._locked: list[str] = []

    def ask(
        self, name: str, changes: Iterable[Change], refused: Iterable[Refused], blocks: Mapping[str, str], *, why: bool
    ) -> None:
        """Collect the changes of one model; another call for the model replaces them.

        :param blocks: the model's block of the lock, by the model's name; ``""`` for a failed model.
        :param why: whether a base requires a reason.
        """
        self._is_asked = True
        self._asked |= {(change.model, change.key, change.bound): change for change in changes}
        self._refused |= {(each.model, each.component): each for each in refused}
        self._blocks |= blocks
        if why and self.reason:
            model = self._read.models[name]
            self._explained[model.table_key] = self.reason
            if visible(model.reason) == visible(self.reason) and name not in self._said_again:
                self._said_again.append(name)

    def write(self, *, is_broken_off: bool = False) -> None:
        """Write everything, unless the run was interrupted."""
        try:
            asked = list(self._asked.values())
            changes = raised(asked) if self.verb == "update" else lowered(asked, self.settings)
            is_changed = changes or self._explained
            after = settings_after(self.settings, changes, self._explained) if is_changed else self.settings
            locked = self._change_lock(self.lock) if self.verb == "update" and self.lock else None
            self._replace(after, locked[0] if locked else None, is_broken_off=is_broken_off)
        except SettingsError as error:  # a class may have names that a lock cannot
            self.problem = str(error)
        else:
            self.settings, self.done, self._locked = after, changes, locked[1] if locked else []

    def _replace(self, after: Settings, locked: str | None, *, is_broken_off: bool) -> None:
        files: list[tuple[Path, str | None, str]] = []
        if after is not self.settings:
            files.append((self.settings.path, self.settings.text, after.text))
        if self.lock and locked is not None:
            files.append((self.settings.root / self.lock.file, self.lock.text, locked))
        if files and is_broken_off:
            raise SettingsError(f"{files[0][0]}: the run was interrupted, and nothing was changed")
        replace_together(*files)

    def _change_lock(self, lock: Lock) -> tuple[str, list[str]] | None:
        """Return the new text of the lock and the names of the changed models; ``None`` if the lock stays as it is."""
        now = parse_lock("".join((HEAD, *self._blocks.values())), lock.file)
        models = merge_accepted(lock.models, now, self._read.names)
        text = render_lock(models)
        if text == lock.text or not models:
            return None
        changed = sorted(name for name in models if models[name] is not lock.models.get(name))
        left = (f"{printable(name)} (removed)" for name in lock.models if name not in models)
        return text, [*map(printable, changed), *left]

    def list_lines(self) -> Iterator[Line]:
        """Yield a line for each change, for the reason, for the lock, and for each failing limit that stays."""
        for change in sorted(self.done, key=lambda change: self.settings.line(change.key) or 0):
            yield Line(sentence(change, self._read, self.settings))
        yield from self._list_reasons()
        if self.lock and self._locked:
            yield Line(f"{self.lock.file}: written for {listed(self._locked, MOST_NAMED)}; commit it", "→ ")
        for name in (name for name, block in self._blocks.items() if not block):
            yield Line(f"{name}: its tensors are not written to the lock, because it fails", is_bad=True)
        for each in self._refused.values():
            yield Line(f"{each.model}: {each.component} is unchanged: {each.why}", is_bad=True)
        if self.problem:
            yield Line(self.problem, is_bad=True)
        elif not self._is_asked:
            yield Line("nothing was checked, and nothing was changed", is_bad=True)
        elif not (self.done or self._refused or self._locked or self._explained):
            locked = self.verb == "update" and self.lock and self.lock.text is not None
            lock = f"; {self.lock.file} is unchanged" if locked and self.lock else ""
            yield Line(f"{_NOTHING[self.verb]}{'; no reason is written' if self.reason else ''}{lock}")

    def _list_reasons(self) -> Iterator[Line]:
        """Yield a line on the tables that got the reason, and on those that had it; without a reason, ask for one."""
        if self._explained and not self.problem:
            yield Line(f"reason: written for {listed(self._name_explained(), MOST_NAMED)}; commit it", "→ ")
            if self._said_again:
                again = f"{listed(self._said_again, MOST_NAMED)}: the table already has {shown(self.reason)}"
                yield Line(f"{again}; if the base has the same reason, a check asks for a new one", "! ")
        elif self.done and self.verb == "update":
            yield Line(
                'give a reason before you commit, because a run with a base needs one: bertsize accept --reason "…"',
                "→ ",
            )

    def _name_explained(self) -> list[str]:
        """Return the names of the tables with the new reason, each with its raised limits."""
        named = []
        for table in self._explained:
            components = dict.fromkeys(each.component for each in self.done if each.key[: len(table)] == table)
            raised_here = f" ({', '.join(components)})" if components else ""
            named.append(f"{printable(table[-1])}{raised_here}")
        return named
