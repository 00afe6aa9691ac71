"""``--bert-budget-update`` and ``-tighten``: what the tests of models ask for is written when all of them are over."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import pytest
from rich.text import Text

from pytest_bertsize.base.lock import HEAD, BadLock, merge_accepted, parse_lock, render_lock
from pytest_bertsize.plugin.failures import terminal_style
from pytest_bertsize.reports.drawing import draw, hanging
from pytest_bertsize.reports.report import model_from_plain
from pytest_bertsize.review.accept import Refused, Verb
from pytest_bertsize.table import rewrite
from pytest_bertsize.table.rewrite import Change, lowered, raised, sentence, settings_after
from pytest_bertsize.table.settings import SettingsError
from pytest_bertsize.wording import listed, printable

if TYPE_CHECKING:
    from pytest_bertsize.base.lock import Lock
    from pytest_bertsize.reports.report import ModelReport
    from pytest_bertsize.table.settings import Settings

MOST_NAMED = 10
"""Models in one line on the lock."""
_OVER = {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED}
_DONE: Mapping[Verb, str] = {"update": "raised", "tighten": "lowered"}
_NOTHING: Mapping[Verb, str] = {
    "update": "no budget that was checked fails, and none was raised",
    "tighten": "no budget that was checked has room that its own decimals can say, and none was lowered",
}


class _Line(NamedTuple):
    text: str
    mark: str = ""
    is_bad: bool = False


class Rewriter:
    """Collects what is asked for, in the process that talks to the user, and writes it."""

    def __init__(self, settings: Settings, verb: Verb, lock: Lock | None = None) -> None:
        """:param lock: as the run has read it; ``None`` where the table names none."""
        self.settings = settings  # of the file as it is: once it is written, with the changes
        self.verb = verb
        self.lock = lock
        self.problem = ""
        self._read = settings
        self._is_broken_off = False
        self._has_reports = False
        self._asked: dict[tuple[str, tuple[str, ...], str], Change] = {}
        self._refused: dict[tuple[str, str], Refused] = {}
        self._before: dict[str, ModelReport] = {}
        self._blocks: dict[str, str] = {}
        self._done: list[Change] = []
        self._locked: list[str] = []

    @property
    def taken_back(self) -> Mapping[str, ModelReport]:
        """The models whose budgets could not be written: they are held to those that there are."""
        return self._before if self.problem and self.verb == "update" else {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        asked = getattr(report, "bertsize_changes", None)
        if asked is None:
            return
        self._has_reports = True
        for change in msgspec.convert(asked["changes"], list[Change]):
            self._asked[change.model, change.key, change.bound] = change
        for refused in msgspec.convert(asked["refused"], list[Refused]):
            self._refused[refused.model, refused.component] = refused
        if before := asked["before"]:
            self._before[before["name"]] = model_from_plain(before)
        self._blocks |= asked["lock"]

    def pytest_keyboard_interrupt(self) -> None:
        """Note an interrupt, as ``pytest.exit`` is one too, whose exit status may be any."""
        self._is_broken_off = True

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write, unless the run was broken off; what could not be written has not been accepted."""
        self._is_broken_off |= session.exitstatus not in _OVER
        try:
            self._write_budgets()
            if self.verb == "update" and self.lock:
                self._write_lock(self.lock)
        except (SettingsError, BadLock) as error:  # a class may have names that a lock cannot
            self.problem = str(error)
            if session.exitstatus in _OVER:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if not session.config.pluginmanager.hasplugin("terminalreporter"):
            sys.stderr.write("".join(f"{line.mark}{line.text}\n" for line in self._lines()))

    def _write_budgets(self) -> None:
        asked = list(self._asked.values())
        if changes := raised(asked) if self.verb == "update" else lowered(asked, self.settings):
            after = settings_after(self.settings, changes)
            self._replace(self.settings.path, str(self.settings.path), self.settings.text, after.text)
            self.settings, self._done = after, changes

    def _write_lock(self, lock: Lock) -> None:
        """Have the lock say what was built, of the models that were looked at and do not fail."""
        now = parse_lock("".join((HEAD, *self._blocks.values())), lock.file)
        models = merge_accepted(lock.models, now, self._read.names)
        text = render_lock(models)
        if text == lock.text or not models:
            return
        assert self._read.lock
        self._replace(self._read.root / self._read.lock.file, lock.file, lock.text, text)
        changed = sorted(name for name in models if models[name] is not lock.models.get(name))
        left = (f"{printable(name)} (which has left)" for name in lock.models if name not in models)
        self._locked = [*map(printable, changed), *left]

    def _replace(self, path: Path, name: str, before: str | None, after: str) -> None:
        if self._is_broken_off:
            raise SettingsError(f"{name}: the run was broken off, and nothing was changed")
        rewrite.replace_pyproject(path, before, after)

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        style = terminal_style(terminalreporter._tw, 0)  # noqa: SLF001  (pytest's own plugins have no other way)
        terminalreporter.section(f"budgets {_DONE[self.verb]}" if self._done else "budgets")
        for line in self._lines():
            text = draw(style, hanging(line.mark, "", line.text, style) if line.mark else Text(line.text))
            terminalreporter.write_line(text, red=line.is_bad)

    def _lines(self) -> Iterator[_Line]:
        """Yield what was changed, what was not although it fails, and why."""
        for change in sorted(self._done, key=lambda change: self._read.line(change.key) or 0):
            yield _Line(sentence(change, self._read, self.settings))
        if self._done and self.verb == "update":
            yield _Line('commit it with why: a run with a base asks for a new reason = "…" of a raised budget', "→ ")
        if self.lock and self._locked:
            yield _Line(f"{self.lock.file}: written for {listed(self._locked, MOST_NAMED)}; commit it", "→ ")
        for name in (name for name, block in self._blocks.items() if not block):
            yield _Line(f"{name}: its tensors are not written to the lock, because it fails", is_bad=True)
        for each in self._refused.values():
            yield _Line(f"{each.model}: {each.component} is left as it is: {each.why}", is_bad=True)
        if self.problem:
            yield _Line(self.problem, is_bad=True)
        elif not self._has_reports:
            yield _Line("nothing was checked, and nothing was changed", is_bad=True)
        elif not self._done and not self._refused and not self._locked:
            locked = self.verb == "update" and self.lock and self.lock.text is not None
            yield _Line(f"{_NOTHING[self.verb]}{f'; {self.lock.file} is as it was' if locked and self.lock else ''}")
