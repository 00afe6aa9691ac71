"""Contributed closed forms as the gate has them: every function of theirs is called in the process that has it."""

from __future__ import annotations

import contextlib
import json
import sys
import weakref
from functools import partial
from math import ceil
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from pytest_bertsize.builder.confined import MEGABYTE, framed
from pytest_bertsize.builder.own_process import ISOLATION, Allowed, Lost, end, line_of, started
from pytest_bertsize.closed_forms.contributed.hook import HOOK
from pytest_bertsize.closed_forms.registry import Conflict, Registry
from pytest_bertsize.files import Place
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.table.settings import SettingsError
from pytest_bertsize.wording import printable, shown

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from pytest_bertsize.closed_forms.family import Family
    from pytest_bertsize.release import Release
    from pytest_bertsize.table.settings import Settings

KEY = "closed_forms"
ENTRY_POINTS = HOOK
"""The group in which an installed package names its function: ``acme = "acme_sizes:closed_forms"``."""
MODULE = "pytest_bertsize.closed_forms.contributed.child"
ALLOWED = Allowed(seconds=30, memory=1024 * MEGABYTE, answer=16 * MEGABYTE)
"""Of one process; a tenth of a second more for each answer, of which a thousand models ask for tens of thousands."""
MORE_SECONDS = 0.1
NONSENSE = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)
"""What reading an answer raises that is none."""
MEND = "correct its blocks"


def registry_of(settings: Settings | None, release: Release, also: Iterable[tuple[str, Family]] = ()) -> Registry:
    """The built-in closed forms, those of the table's files and those of what else contributes.

    :param settings: ``None`` where no table is read.
    :param also: who contributes, by name, and what.
    :raises SettingsError: for a file that contributes none, and where two are for the same architecture.
    """
    try:
        files = _of_files(settings, release) if settings and settings.closed_forms else []
        root = settings.root if settings else Path.cwd()
        return Registry([*files, *also], release=release, installed=partial(_of_packages, root, release))
    except Conflict as conflict:
        raise SettingsError(str(conflict)) from None


def _of_files(settings: Settings, release: Release) -> list[tuple[str, Family]]:
    places = [(file, str(_file(settings, file))) for file in settings.closed_forms]
    forms = Forms(settings.root, settings.place(KEY))
    return list(forms.families(places, release))


def _file(settings: Settings, written: str) -> Path:
    """:raises SettingsError: for what is no Python file of the project."""
    said = settings.place(KEY)
    if not written.endswith(".py"):
        raise SettingsError(
            f'{said}: {shown(written)} is no Python file; name one, as in closed_forms = ["sizes/forms.py"]'
        )
    place = Place(settings.root, written, "file of closed forms", "config-invalid")
    try:
        place.opened_unread().close()
        return place.path  # noqa: TRY300  (which may raise as well)
    except Unusable as unusable:
        raise SettingsError(f"{said}: {unusable.findings[0].sentence}") from None


def _of_packages(root: Path, release: Release) -> Iterator[tuple[str, Family]]:
    """What installed packages contribute by entry points: looked for where nothing else has a closed form."""
    from importlib.metadata import entry_points

    places = [
        (f"{each.dist.name if each.dist else each.name} (entry point {each.name})", each.value)
        for each in entry_points(group=ENTRY_POINTS)
    ]
    try:
        yield from Forms(root, "an installed package").families(places, release) if places else ()
    except SettingsError as error:
        raise Unusable(Finding("unknown-closed-form", str(error), "mend that package, or uninstall it")) from None


class Forms:
    """The process that has run what contributes; it ends with this one."""

    def __init__(self, root: Path, said: str) -> None:
        """:param said: what a message begins with, whoever is at fault."""
        self._root = root.resolve()
        self._of = said
        self._known: dict[str, Any] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._lost: Lost | None = None
        self._asked, self._spent = 0, 0.0

    def families(self, places: Sequence[tuple[str, str]], release: Release) -> Iterator[tuple[str, Family]]:
        """Who contributes, and what.

        :param places: of each its name, and the path of its file or the function of a package.
        :raises SettingsError: when one raises, or returns something else.
        """
        from pytest_bertsize.closed_forms.contributed.wire import family_read

        asked = {"root": str(self._root), "places": places, "release": [*release]}
        try:
            said = self._answer(asked)
            if "error" in said:
                raise SettingsError(printable(f"{self._of}: {said['origin']}: {said['error']}"))
            for at, (origin, family) in enumerate(said["families"]):
                yield str(origin), family_read(family, partial(self._ask, at, printable(str(origin))))
        except Lost as lost:
            raise SettingsError(f"{self._of}: the closed forms were not read: {lost}") from None
        except NONSENSE:
            raise SettingsError(
                f"{self._of}: the closed forms were not read: their process answered nonsense"
            ) from None

    def _ask(self, at: int, origin: str, read: Callable[[Any], Any], *call: Any) -> Any:
        """Call a function of a family, once for all that it is given.

        :param at: the family's place among all that are contributed.
        :param read: makes of the answer what the function returns.
        :raises Unusable: with what it raises.
        """
        key = json.dumps([at, call], default=str)
        try:
            if key not in self._known:
                said = self._answer({"family": at, "call": json.loads(key)[1]})
                if "error" in said:
                    raise _unusable(origin, str(said["error"]))
                self._known[key] = read(said["answer"])
            return self._known[key]
        except Lost as lost:
            raise _unusable(origin, str(lost)) from None
        except NONSENSE:
            raise _unusable(origin, "its process answered nonsense") from None

    def _answer(self, question: Mapping[str, Any]) -> Any:
        """:raises Lost: where there is none, and for all that is asked after that."""
        if self._lost:
            raise self._lost
        self._asked += 1
        began = monotonic()
        try:
            said = self._read(self._running(), {**question, "number": self._asked}, self._allowed())
        except Lost as lost:
            self._lost = lost
            raise
        finally:
            self._spent += monotonic() - began
        if said["number"] != self._asked:  # of a process that has forked, each would answer
            raise ValueError(said["number"])
        return said

    def _allowed(self) -> Allowed:
        left = ALLOWED.seconds + MORE_SECONDS * self._asked - self._spent
        if left <= 0:
            raise Lost(f"its {self._asked:,} answers took more than {ALLOWED.seconds:g} s")
        return ALLOWED._replace(seconds=ceil(left))

    @staticmethod
    def _read(process: subprocess.Popen[bytes], question: Mapping[str, Any], allowed: Allowed) -> Any:
        assert process.stdin is not None
        with contextlib.suppress(OSError):  # a process that is dead already is noticed where it is read
            process.stdin.write(framed(json.dumps(question).encode()))
            process.stdin.flush()
        return json.loads(line_of(process, allowed))

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            self._process = started([sys.executable, ISOLATION, "-m", MODULE], self._root)
            weakref.finalize(self, end, self._process)
        return self._process


def _unusable(origin: str, why: str) -> Unusable:
    return Unusable(
        Finding("unknown-closed-form", f"the closed form gives no count: {printable(why)}", MEND, file=origin)
    )
