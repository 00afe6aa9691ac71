"""The helper process as the gate sees it: its limits, its requests and its answers. The gate never imports torch."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from pytest_bertsize.builder.answers import read_content
from pytest_bertsize.builder.confined import MEGABYTE
from pytest_bertsize.builder.messages import Built, Frame, NotBuilt, Request, exceed_limit, explain_death
from pytest_bertsize.builder.own_process import (
    BETWEEN_LOOKS,
    ISOLATION,
    WINDOWS,
    Child,
    Lost,
    end_family,
    memory_of,
    start_process,
)
from pytest_bertsize.wording import printable

if TYPE_CHECKING:
    from pytest_bertsize.builder.memory import Memory

CORES = min(8, len(os.sched_getaffinity(0))) if sys.platform == "linux" else 1  # forks of macOS may crash

INSTALL = (
    "pip install 'pytest-bertsize[build]', name the project's own environment (python = \".venv/bin/python\" in "
    "[tool.bertsize]), or check budgets by the closed form alone (bertsize check --no-build)"
)


class Limits(Struct, frozen=True):
    """The most seconds, and bytes of memory, that the helper process and its forks may take before they are killed."""

    importing: float = 120.0
    building: float = 30.0  # one model
    memory: int = 160 * MEGABYTE  # one model, beside the memory for the import of its class
    own_memory: int = 1024 * MEGABYTE  # one model of a factory, with the libraries that the factory imports meanwhile
    on_cpu: int = 2048 * MEGABYTE  # one model whose parameters have values
    another: int = 4096 * MEGABYTE  # another interpreter's helper process, without its forks; torch needs a tenth

    def find_memory(self, request: Request) -> int:
        """Return the most bytes of memory that the build of a requested model may take."""
        usual = self.own_memory if request.factory else self.memory
        return request.memory or (self.on_cpu if request.device == "cpu" else usual)


class Task(Struct):
    """One model that waits for its build, or that a fork is building."""

    request: Request
    since: float = 0.0  # the start of the clock; 0 while it waits
    process: int = 0  # the fork, as soon as it is known
    most_memory: int = 0  # bytes, as soon as its imports are done


class Helper(Struct, eq=False):
    """The helper process of one run. :meth:`start` and :meth:`ask` return at once; :meth:`result` waits.

    It forks for each model; a fork that dies, hangs or sends an unreadable answer fails its model. If the process is
    lost, its current model fails, and another process builds the rest.
    """

    limits: Limits = Limits()
    command: Sequence[str] = (sys.executable, ISOLATION, "-m", "pytest_bertsize.builder.child")
    versions: dict[str, str] = {}  # of torch and transformers, once they are imported
    memory: Memory | None = None  # of builds of earlier runs
    _child: Child | None = None
    _is_ready: bool = False  # true once all is imported
    _numbers: dict[str, int] = {}  # the number of each model's build, by the model's name
    _tasks: dict[int, Task] = {}
    _results: dict[int, Built | NotBuilt] = {}
    _at_once: int = CORES
    _since: float = 0.0
    _looked: float = 0.0
    _python: str = ""  # another interpreter that builds, as the table names it

    def build_with(self, python: Path, written: str) -> None:
        """Build with another interpreter, by an absolute path whose symlink is kept; call this before :meth:`ask`."""
        self.stop()
        self.command = (sys.executable, ISOLATION, "-m", "pytest_bertsize.builder.confined", str(python))
        self._python = printable(written)

    def start(self) -> None:
        """Start the helper process, unless it runs already; do nothing on Windows."""
        if not (self._child or WINDOWS):
            self._child = Child(start_process(self.command), "the helper process")
            self._is_ready, self._since = False, monotonic()

    def ask(self, requests: Sequence[Request]) -> None:
        """Request models, by names that no earlier request has; if no model has to be built, end the helper process.

        Requests that differ in their names alone share one build. A factory that several requests share has to return
        the model: a call of ``check_model`` does not end it.
        """
        groups: dict[str, list[Request]] = {}
        for request in requests:
            by_name = request.declared if request.command else None
            asked = json.dumps(request._replace(name="", declared=by_name))  # in order, as a factory gets it
            groups.setdefault(asked, []).append(request)
        remembered: Mapping[str, str] = {}
        for number, (request, *others) in enumerate(groups.values(), len(self._numbers)):
            self._numbers.update({each.name: number for each in (request, *others)})
            if self.memory and (found := self.memory.recall(request, self.command)):
                self._results[number], remembered = found
            else:
                self._tasks[number] = Task(request._replace(declared=None) if others else request)
        if not self._tasks:
            self.versions.update(remembered)
        if WINDOWS or not self._tasks:
            fix = "check it without a build there (--no-build), or build it on Linux, WSL or macOS"
            self._fail_all(NotBuilt("models are not built on Windows", fix, "elsewhere"))
        else:
            self._hand_out()

    def result(self, name: str) -> Built | NotBuilt:
        """Wait until the model requested by this name is built or has failed, and return the result."""
        if self._child and self._child.parent != os.getpid():
            self.stop()  # this is a fork of the run: some plugins run each test in one
        if (number := self._numbers.get(name)) is None:
            return NotBuilt("it was never asked for")
        self._restart_clocks()
        while number not in self._results:
            try:
                self._advance(self._hand_out())
            except Lost as lost:
                self._replace_process(lost.why)
        return self._results[number]

    def stop(self) -> None:
        """Kill the helper process; unfinished models wait for another process."""
        if self._child:
            self._child.end()
        self._tasks = {number: Task(task.request) for number, task in self._tasks.items()}
        self._child = None

    def _hand_out(self) -> Child:
        """Send the helper process as many models as it may build at once, and return the process."""
        self.start()
        assert self._child
        for number, task in [*self._tasks.items()][: self._at_once]:  # the first ones are those that are being built
            if not task.since:
                task.since = monotonic()
                memory = self.limits.find_memory(task.request)
                self._child.send("build", number, task.request._replace(memory=memory, closed_form=""))
        return self._child

    def _restart_clocks(self) -> None:
        """Restart all time limits: the time in which nobody read frames does not count."""
        self._since = monotonic()
        for task in self._find_building().values():
            task.since = self._since

    def _find_building(self) -> dict[int, Task]:
        return {number: task for number, task in self._tasks.items() if task.since}

    def _advance(self, child: Child) -> None:
        """Listen for a moment, and check the limits of the processes."""
        if frame := child.read():
            try:
                self._take_frame(frame)
            except (ValueError, RecursionError):
                raise child.lose() from None
        if (now := monotonic()) - self._looked >= BETWEEN_LOOKS and child is self._child:
            self._looked = now
            self._check_limits(child, now)

    def _take_frame(self, frame: Frame) -> None:
        """Record the report of the helper process or a fork; ignore a report on a model that was given up."""
        content, task = read_content(frame), self._tasks.get(frame.number)
        if frame.kind == "ready":
            self.versions.update(content)
            self._is_ready = True
            self._restart_clocks()
        elif frame.kind in {"failed", "refused"}:
            explain = self._explain_import if frame.kind == "failed" else self._explain_interpreter
            self._fail_all(explain(printable(content)))
        elif task:
            task.since = monotonic()
            if frame.kind == "forked":
                task.process = content
            elif frame.kind == "begun":  # the smaller one counts: its own figure or ours
                task.most_memory = min(content, memory_of(task.process)) + self.limits.find_memory(task.request)
            else:
                self._results[frame.number] = self._conclude(frame.kind, content, task.request)
                del self._tasks[frame.number]

    def _conclude(self, kind: str, content: Any, request: Request) -> Built | NotBuilt:
        process = "the process of the project's code" if request.runs_own_code else "the process that builds it"
        if kind == "died":
            return explain_death(content, process)
        if kind == "nonsense":
            return NotBuilt(f"{process} sent an unreadable answer")
        if isinstance(content, NotBuilt):
            return self._explain_import(content.reason) if content.kind == "no-transformers" else content
        built: Built = self.memory.keep(request, self.command, content, self.versions) if self.memory else content
        return built._replace(loaded=())

    def _explain_import(self, error: str) -> NotBuilt:
        by, fix = "", INSTALL
        if self._python:
            by, fix = f" by {self._python}", f"install them there: {self._python} -m pip install torch transformers"
        return NotBuilt(f"torch and transformers cannot be imported{by}: {error}", fix, "elsewhere")

    def _explain_interpreter(self, problem: str) -> NotBuilt:
        fix = 'name a Python of 3.9 or newer that has torch, as in python = ".venv/bin/python"'
        return NotBuilt(f"{self._python} {problem}", fix, "elsewhere")

    def _check_limits(self, child: Child, now: float) -> None:
        if self._python:
            child.check_memory(self.limits.another)
        if not self._is_ready:
            if now - self._since >= self.limits.importing:
                slow = f"torch and transformers were not imported within {self.limits.importing:g} s"
                raise Lost(NotBuilt(slow, "run it again on a less busy machine", "elsewhere"))
            return
        for number, task in self._find_building().items():
            seconds = task.request.seconds or self.limits.building
            if now - task.since >= seconds:
                why = exceed_limit(task.request, f"it was not built within {seconds:g} s", "time")
            elif task.most_memory and memory_of(task.process) > task.most_memory:
                unit = 10**6 if task.request.memory else MEGABYTE  # as the table writes it
                most = self.limits.find_memory(task.request) // unit
                why = exceed_limit(task.request, f"it took more than {most:,} MB of memory", "memory")
            else:
                continue
            if not task.process:
                raise Lost(why)
            end_family(task.process)
            self._results[number] = why
            del self._tasks[number]

    def _replace_process(self, why: NotBuilt) -> None:
        """Fail the model during whose build the process was lost, and build the rest in another process.

        If several were being built, the culprit is unknown: they are built again, one after the other. A process that
        never became ready is not started again.
        """
        if not self.versions:
            other = self._explain_interpreter(f"does not run as a Python interpreter: {why.reason}")
            self._fail_all(other if self._python else why)
            return
        if len(building := self._find_building()) == 1:
            (number,) = building
            self._results[number] = why
            del self._tasks[number]
        self._at_once = 1
        self.stop()

    def _fail_all(self, why: NotBuilt) -> None:
        self._results.update(dict.fromkeys(self._tasks, why))
        self._tasks = {}
        self.stop()
