"""The gate's side of building: the helper process of one run, its limits and its answers. It never imports torch."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from time import monotonic
from typing import Any

from pytest_bertsize.builder.confined import MEGABYTE
from pytest_bertsize.builder.messages import (
    Built,
    Frame,
    Frames,
    NotBuilt,
    Request,
    TooLong,
    Why,
    encode_frame,
    explain_death,
)
from pytest_bertsize.builder.own_process import (
    BETWEEN_LOOKS,
    ISOLATION,
    WINDOWS,
    end_process,
    family,
    kill_each,
    memory_of,
    start_process,
)
from pytest_bertsize.wording import printable

THE_HELPER = "the helper process"
CORES = min(8, len(os.sched_getaffinity(0))) if sys.platform == "linux" else 1
"""Forks side by side; elsewhere one after the other, since libraries of macOS may crash in them."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Time and memory that the helper may take before it is killed."""

    importing: float = 120.0  # seconds
    building: float = 30.0  # seconds for one model
    memory: int = 160 * MEGABYTE  # bytes for one model, on top of what its class took to import
    own_memory: int = 1024 * MEGABYTE
    """The same for a model that a function of the project builds, which may import what it likes."""
    on_cpu: int = 2048 * MEGABYTE  # the same for a model whose parameters have values
    another: int = 4096 * MEGABYTE
    """Bytes for another interpreter than ours, without its forks; an import of torch takes a tenth."""

    def find_memory(self, request: Request) -> int:
        """Return the bytes of memory for one model."""
        usual = self.own_memory if request.factory else self.memory
        return request.memory or (self.on_cpu if request.device == "cpu" else usual)


@dataclass
class Task:
    """One model that a fork is building."""

    request: Request
    since: float
    process: int = 0  # the fork, from when on it is known
    most_memory: int = 0  # bytes, from when on it has imported what it builds with


class State(Enum):
    """The life of a helper process, from top to bottom; one that is lost is stopped, and another one is started."""

    STOPPED = "no process"
    IMPORTING = "it imports torch and transformers"
    READY = "it forks for each model"


class Lost(Exception):
    """The process cannot go on."""

    def __init__(self, why: NotBuilt) -> None:
        self.why = why


@dataclass
class Helper:
    """The helper process of one run. :meth:`start` and :meth:`ask` return at once; :meth:`result` waits.

    It forks for each model. A fork that dies, hangs or answers nonsense fails its model; so does a model that the
    helper process itself is lost at, and another one builds the rest.
    """

    limits: Limits = field(default_factory=Limits)
    command: Sequence[str] = (sys.executable, ISOLATION, "-m", "pytest_bertsize.builder.child")
    versions: dict[str, str] = field(default_factory=dict)
    state: State = State.STOPPED
    _process: subprocess.Popen[bytes] | None = None
    _answers: Frames | None = None
    _unwritten: bytearray = field(default_factory=bytearray)  # questions that the pipe has not taken yet
    _numbers: dict[str, int] = field(default_factory=dict)
    """The number of each model; those that are built from the same have the same, and one build does for all."""
    _waiting: dict[int, Request] = field(default_factory=dict)
    _tasks: dict[int, Task] = field(default_factory=dict)
    _results: dict[int, Built | NotBuilt] = field(default_factory=dict)
    _at_once: int = CORES
    _since: float = 0.0
    _looked: float = 0.0
    _started_by: int = 0
    """The process whose child the helper is; a fork of it has the same pipes, and may not read them."""
    _inherited: list[object] = field(default_factory=list)
    _python: str = ""  # another interpreter that builds, by the name that it has in the table

    def build_with(self, python: Path, written: str) -> None:
        """Build with another interpreter than this process has; before anything is asked for.

        :param python: its path, absolute; a symlink is not followed, by which Python knows a virtual environment.
        :param written: its name in messages.
        """
        self.stop()
        self.command = (sys.executable, ISOLATION, "-m", "pytest_bertsize.builder.offline", str(python))
        self._python = printable(written)

    def start(self) -> None:
        """Start the process, which imports torch and transformers whatever it will be asked for; not on Windows."""
        if self.state is not State.STOPPED or WINDOWS:
            return
        self._process = process = start_process(self.command)
        assert process.stdin is not None
        assert process.stdout is not None
        for stream in (process.stdin, process.stdout):
            os.set_blocking(stream.fileno(), False)
        self._answers, self._started_by, self._since = Frames(process.stdout.fileno()), os.getpid(), monotonic()
        self.state = State.IMPORTING

    def ask(self, requests: Sequence[Request]) -> None:
        """Have models built; once in a helper's life. Where there is none, the process ends."""
        first: dict[str, int] = {}
        for number, request in enumerate(requests):
            asked = json.dumps(request._replace(name=""))  # in the order that a factory is given
            self._numbers[request.name] = first.setdefault(asked, number)
        self._waiting = {number: requests[number] for number in first.values()}
        if WINDOWS:
            self._fail_all(NotBuilt(Why.ON_WINDOWS))
        elif self._waiting:
            self._send_questions()
        else:
            self.stop()

    def result(self, name: str) -> Built | NotBuilt:
        """Wait until it is known what became of one model that was asked for."""
        number = self._numbers.get(name, -1)
        if self.state is not State.STOPPED and self._started_by != os.getpid():
            self.stop()  # this is a fork of the run, as of a plugin that runs each test in one
        self._listen_anew()
        while number not in self._results:
            if number in self._waiting and not self._tasks:
                self._waiting = {number: self._waiting[number], **self._waiting}
            elif number not in self._tasks and number not in self._waiting:
                return NotBuilt(Why.NEVER_ASKED)
            self._advance()
        return self._results[number]

    def stop(self) -> None:
        """End the process, whatever it is doing; what it was building waits for another one."""
        if self._process is not None and self._started_by == os.getpid():
            end_process(self._process)
        elif self._process is not None:  # it belongs to the run that this is a fork of, and nobody here may wait for it
            self._inherited += [self._process]
        self._waiting = {**{number: task.request for number, task in self._tasks.items()}, **self._waiting}
        self._tasks, self._unwritten = {}, bytearray()
        self._process, self.state = None, State.STOPPED

    def _advance(self) -> None:
        """Send what is to be built, listen for a moment, and hold the processes to their limits."""
        try:
            self._send_questions()
            self._read_answers()
            if (now := monotonic()) - self._looked >= BETWEEN_LOOKS and self.state is not State.STOPPED:
                self._looked = now
                self._check_limits(now)
        except Lost as lost:
            self._replace_process(lost.why)

    def _send_questions(self) -> None:
        self.start()
        assert self._process is not None
        assert self._process.stdin is not None
        while self._waiting and len(self._tasks) < self._at_once:
            number = next(iter(self._waiting))
            request = self._waiting.pop(number)
            self._tasks[number] = Task(request, monotonic())
            asked = request._replace(memory=self.limits.find_memory(request))
            self._unwritten += encode_frame("build", number, asked)
        try:
            while self._unwritten:
                del self._unwritten[: os.write(self._process.stdin.fileno(), self._unwritten)]
        except BlockingIOError:
            pass
        except (OSError, ValueError):  # a process that is dead already is noticed where it is read
            self._unwritten.clear()
        if not self._waiting and not self._tasks:
            with contextlib.suppress(OSError):
                self._process.stdin.close()

    def _read_answers(self) -> None:
        assert self._process is not None
        assert self._answers is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)  # type: ignore[arg-type]
            if self._unwritten:
                selector.register(self._process.stdin, selectors.EVENT_WRITE)  # type: ignore[arg-type]
            selector.select(BETWEEN_LOOKS)
        try:
            while self.state is not State.STOPPED and (frame := self._answers.read()):
                self._take_frame(frame)
        except EOFError:
            kill_each(family(self._process.pid))  # one that has ended keeps its own status
            raise Lost(explain_death(self._process.wait(), THE_HELPER)) from None
        except TooLong:
            raise Lost(NotBuilt(Why.NONSENSE, f"{THE_HELPER} answered too much")) from None
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise Lost(NotBuilt(Why.NONSENSE, f"{THE_HELPER} answered nonsense")) from None

    def _take_frame(self, frame: Frame) -> None:
        """Note how far the process has come, or the fork of a model that was not given up meanwhile."""
        content: Any = None if frame.kind == "answer" else json.loads(frame.content)
        task = self._tasks.get(frame.number)
        if frame.kind == "ready":
            self.versions.update((str(name), str(version)) for name, version in content.items())
            self.state = State.READY
            self._listen_anew()
        elif frame.kind in {"failed", "refused"}:
            why = Why.NO_TORCH if frame.kind == "failed" else Why.NO_PYTHON
            self._fail_all(NotBuilt(why, printable(content), python=self._python))
        elif task:
            task.since = monotonic()
            if frame.kind == "forked":
                task.process = int(content)
            elif frame.kind == "begun":  # what it says of its memory counts where it is less than what is seen
                task.most_memory = min(int(content), memory_of(task.process)) + self.limits.find_memory(task.request)
            else:
                self._results[frame.number] = self._read_result(frame, task.request)
                del self._tasks[frame.number]

    def _read_result(self, frame: Frame, request: Request) -> Built | NotBuilt:
        from pytest_bertsize.builder.failures import read_answer

        process = "the process of the project's code" if request.runs_own_code else "the process that builds it"
        if frame.kind == "died":
            return explain_death(int(frame.content), process)
        if frame.kind == "nonsense":
            return NotBuilt(Why.NONSENSE, f"{process} answered nonsense")
        if frame.kind != "answer":
            raise ValueError(frame.kind)
        result = read_answer(frame.content)
        if isinstance(result, NotBuilt) and result.kind is Why.NO_TORCH:
            return result._replace(python=self._python)
        return result

    def _listen_anew(self) -> None:
        """Start the clocks: nobody has listened meanwhile."""
        self._since = monotonic()
        for task in self._tasks.values():
            task.since = self._since

    def _check_limits(self, now: float) -> None:
        assert self._process is not None
        if self.state is State.IMPORTING and now - self._since >= self.limits.importing:
            raise Lost(NotBuilt(Why.SLOW_IMPORT, limit=self.limits.importing))
        if self._python and memory_of(self._process.pid) > self.limits.another:
            raise Lost(NotBuilt(Why.MEMORY, limit=self.limits.another // MEGABYTE))
        for number, task in [*self._tasks.items()] if self.state is State.READY else ():
            seconds = task.request.seconds or self.limits.building
            if now - task.since >= seconds:
                why = NotBuilt(Why.TIME, limit=seconds)
            elif task.most_memory and memory_of(task.process) > task.most_memory:
                unit = 10**6 if task.request.memory else MEGABYTE  # as the table writes it
                why = NotBuilt(Why.MEMORY, limit=self.limits.find_memory(task.request) // unit)
            else:
                continue
            if not task.process:
                raise Lost(why)
            kill_each(family(task.process))
            self._results[number] = why
            del self._tasks[number]

    def _replace_process(self, why: NotBuilt) -> None:
        """Fail the model that the process was lost at, and have another one build the rest.

        Of several at once nobody knows which it was: they are built one after the other. A process that never came up
        is not started again.
        """
        if not self.versions:
            detail = f"does not run as Python does: {why.reason}"
            return self._fail_all(NotBuilt(Why.NO_PYTHON, detail, python=self._python) if self._python else why)
        if len(self._tasks) == 1:
            self._results[self._tasks.popitem()[0]] = why
        self._at_once = 1
        self.stop()
        return None

    def _fail_all(self, why: NotBuilt) -> None:
        self._results.update(dict.fromkeys([*self._tasks, *self._waiting], why))
        self._tasks, self._waiting = {}, {}
        self.stop()
