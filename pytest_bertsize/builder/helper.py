"""The parent's side of building: one helper process per run, its limits and its answers. It never imports torch."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_bertsize.builder.confined import MEGABYTE, NOT_IMPORTED, cause_of_death
from pytest_bertsize.builder.lane import NONSENSE, Lane, Task, speaking
from pytest_bertsize.builder.messages import Built, NotBuilt, Request
from pytest_bertsize.builder.own_process import ISOLATION, WINDOWS, Lost, end, free_cores, free_memory, started
from pytest_bertsize.wording import printable

NOT_ON_WINDOWS = "check it there without a build (--no-build), and with one on Linux, WSL or macOS"
WORTH_A_FORK = 16
"""Models that a builder has to have, or its fork costs more than it saves."""
AHEAD = 4
"""Models that a process is given before it has answered: nobody may listen to it for a while."""
NAME_ANOTHER = 'name a Python of 3.9 or newer that has torch, as in python = ".venv/bin/python"'


@dataclass(frozen=True, slots=True)
class Limits:
    """What the helper may take before it is killed."""

    importing: float = 120.0
    """Seconds."""
    building: float = 30.0
    """Seconds for one model, from the last answer on."""
    memory: int = 80 * MEGABYTE
    """Bytes for one model, on top of what its class took to import."""
    own_memory: int = 1024 * MEGABYTE
    """The same for a model that a function of the project builds, which may import what it likes."""
    on_cpu: int = 2048 * MEGABYTE
    """The same for a model whose parameters have values."""
    another: int = 4096 * MEGABYTE
    """Bytes for another interpreter than ours while it is at no model; an import of torch takes a tenth."""

    def of(self, request: Request) -> int:
        """Bytes of memory for one model."""
        usual = self.own_memory if request.factory else self.memory
        return request.memory or (self.on_cpu if request.device == "cpu" else usual)


@dataclass
class Helper:
    """The helper process of one run. :meth:`start` and :meth:`ask` return at once; :meth:`result` waits.

    Few models it builds itself; where there are many, it forks builders, which share what it has imported. One that
    dies, hangs or answers nonsense fails the model that it was at, and another one builds the rest.
    """

    limits: Limits = field(default_factory=Limits)
    command: Sequence[str] = (sys.executable, ISOLATION, "-m", "pytest_bertsize.builder.child")
    versions: dict[str, str] = field(default_factory=dict)
    _process: subprocess.Popen[bytes] | None = None
    _lanes: list[Lane] = field(default_factory=list)
    """The helper process first, and then its builders."""
    _builders: int = 1
    """How many processes are to build; where it is one, that is the helper process itself."""
    _open: dict[str, Request] = field(default_factory=dict)
    """What has no result yet."""
    _waiting: deque[Request] = field(default_factory=deque)
    """Those of them that no process was given."""
    _results: dict[str, Built | NotBuilt] = field(default_factory=dict)
    _built_as: dict[str, str] = field(default_factory=dict)
    """Each model by the name of the first that is built from the same: one build does for all of them."""
    _started_by: int = 0
    """The process whose child the helper is; a fork of it has the same pipes, and may not read them."""
    _inherited: tuple[object, ...] = ()
    _another: str = ""
    """Another interpreter that builds, by the name that it has in the table."""

    def build_with(self, python: Path, written: str) -> None:
        """Build with another interpreter than this process has; before anything is asked for.

        :param python: its path, absolute.
        :param written: what messages call it.
        """
        from pytest_bertsize.builder import another

        self.stop()
        self.command, self._another = another.command(python), printable(written)

    def ask(self, requests: Sequence[Request]) -> None:
        """Say which models to build; once in a helper's life. Where there is none, the process ends."""
        first: dict[str, str] = {}
        for request in requests:
            said = json.dumps({**request.fields(), "name": ""})  # in the order that a factory is given
            self._built_as[request.name] = first.setdefault(said, request.name)
        self._open = {request.name: request for request in requests if self._built_as[request.name] == request.name}
        self._builders = builders_for([*self._open.values()], self.limits)
        if WINDOWS:
            self._give_up("models are not built on Windows", NOT_ON_WINDOWS)
        elif self._open:
            self._send()
        else:
            self.stop()

    def result(self, name: str) -> Built | NotBuilt:
        """What became of one model that was asked for; waits until it is known."""
        name = self._built_as.get(name, name)
        if self._is_inherited():
            self._begin_anew(name)
        for lane in self._lanes:
            lane.begin_to_wait()
        while name not in self._results:
            if name not in self._open:
                return NotBuilt("it was never asked for")
            self._go_on()
        return self._results[name]

    def stop(self) -> None:
        """End the processes, whatever they are doing."""
        if self._is_inherited():
            self._leave()
        elif self._process is not None:
            for builder in self._lanes[1:]:
                builder.end()
            end(self._process)
            self._process, self._lanes = None, []

    def _is_inherited(self) -> bool:
        """Whether this is a fork of the process that started the helper, as of a plugin that runs each test in one."""
        return self._process is not None and self._started_by != os.getpid()

    def _begin_anew(self, name: str) -> None:
        """Another helper builds the models that are still to come."""
        self._leave()
        if name in self._open:
            self._open = {name: self._open[name], **self._open}
            self._send()

    def _leave(self) -> None:
        """To the process that it belongs to: it is not ours to wait for."""
        self._inherited = self._process, *self._lanes
        self._process, self._lanes = None, []

    def start(self) -> None:
        """Start the process, which imports torch and transformers whatever it will be asked for; not on Windows."""
        if self._process is not None or WINDOWS:
            return
        self._process = started(self.command)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        pipes = self._process.stdin, self._process.stdout
        self._lanes = [Lane(self._process.pid, *pipes, self.limits.importing, self._at_rest)]
        self._started_by = os.getpid()

    @property
    def _at_rest(self) -> int:
        """Bytes that a process may have while it is at no model; 0: ours are not watched."""
        return self.limits.another if self._another else 0

    def _send(self) -> None:
        """Have all that has no result built."""
        self.start()
        self._waiting = deque(self._open.values())
        self._deal()

    def _deal(self) -> None:
        """Give each process that builds so many models that it has enough while nobody listens to it."""
        if self._builders > 1 and self._lanes and self._lanes[0].importing:  # it forks before it knows of any
            return
        for lane in self._lanes[1:] or self._lanes:
            while self._waiting and len(lane.tasks) < AHEAD:
                request = self._waiting.popleft()
                lane.give(Task(request, request.seconds or self.limits.building, self.limits.of(request)))
        if not self._open:
            for lane in self._lanes:
                lane.close()

    def _go_on(self) -> None:
        """Hear what the processes say, for a moment, and move on accordingly."""
        if not self._lanes:
            return self._give_up("the helper process is gone")
        busy = [lane for lane in self._lanes if lane.importing or lane.tasks]
        heard = speaking(busy)
        for lane in busy:
            if lane not in self._lanes:  # lost with another
                continue
            try:
                if lane in heard:
                    for message in lane.messages():
                        self._take(lane, message)
                else:
                    lane.hold_to_limits()
            except EOFError:
                self._lose(lane, self._cause_of_death(lane))
            except Lost as lost:
                self._lose(lane, str(lost))
            except NONSENSE:
                self._lose(lane, "the helper process answered nonsense")
        return self._deal()

    def _take(self, lane: Lane, message: Any) -> None:
        if "name" in message:
            request, result = lane.answered(message)
            self._results[request.name] = self._with_way_out(result)
            del self._open[request.name]
            self._deal()
        elif "ready" in message:
            lane.importing = 0.0
            self.versions.update((str(name), str(version)) for name, version in message["ready"].items())
            if self._builders > 1 and message.get("forks") is True:
                self._fork()
            self._deal()
        elif "failed" in message:
            self._give_up(f"{NOT_IMPORTED}: {printable(str(message['failed']))}")
        elif "refused" in message:
            self._give_up(f"{self._another} {printable(str(message['refused']))}", NAME_ANOTHER)
        else:
            lane.watch(message)

    def _fork(self) -> None:
        """Have the helper process fork as many builders as there are to be; where it can none, another builds alone."""
        helper, *builders = self._lanes
        with contextlib.suppress(EOFError, Lost, OSError, *NONSENSE):
            while len(builders) < self._builders:
                builders.append(forked(helper, self.limits.building))
        self._lanes = [helper, *builders]
        if not builders:
            self._builders = 1
            self._begin_again()

    def _begin_again(self) -> None:
        self.stop()
        if self._open:
            self._send()

    def _cause_of_death(self, lane: Lane) -> str:
        """Of a builder, its parent knows it."""
        assert self._process is not None
        helper = self._lanes[0]
        try:
            if lane is not helper:
                status = int(helper.reply({"ended": lane.process}, self.limits.building)["ended"])
                return cause_of_death(status, "the helper process")
        except (Lost, *NONSENSE):
            return "the helper process answered nonsense"
        except EOFError:  # which died with it
            pass
        return cause_of_death(self._process.wait(), "the helper process")

    def _with_way_out(self, result: Built | NotBuilt) -> Built | NotBuilt:
        """With what to write where another environment lacks torch or transformers."""
        if not (self._another and isinstance(result, NotBuilt) and result.reason.startswith(NOT_IMPORTED)):
            return result
        where = f"{NOT_IMPORTED} by {self._another}"
        install = f"install them there: {self._another} -m pip install torch transformers"
        return NotBuilt(result.reason.replace(NOT_IMPORTED, where, 1), install)

    def _lose(self, lane: Lane, reason: str) -> None:
        """The model at hand is lost with its process; the rest get a new one, unless the first never came up."""
        if lane not in self._lanes:  # all is given up already
            return None
        if not self.versions and self._another:
            return self._give_up(f"{self._another} does not run as Python does: {reason}", NAME_ANOTHER)
        if not self.versions:
            return self._give_up(reason)
        for task in lane.tasks[:1]:
            self._results[task.request.name] = NotBuilt(reason)
            del self._open[task.request.name]
        self._waiting.extendleft(task.request for task in reversed(lane.tasks[1:]))
        if lane is self._lanes[0]:
            return self._begin_again()
        lane.end()
        self._lanes.remove(lane)
        if self._waiting:
            self._fork()
        return None

    def _give_up(self, reason: str, fix: str = "") -> None:
        result = self._with_way_out(NotBuilt(reason, fix))
        self._results.update((name, result) for name in self._open)
        self._open.clear()
        self._waiting.clear()
        self.stop()


def builders_for(requests: Sequence[Request], limits: Limits) -> int:
    """How many processes build these: no more than have a core each, enough to do, and room for the largest model.

    On Linux; elsewhere one: Python warns of forks on macOS, whose own libraries may crash in them.
    """
    if sys.platform != "linux":
        return 1
    most = min(free_cores(), len(requests) // WORTH_A_FORK)
    if most <= 1:
        return 1
    return max(1, min(most, free_memory() // max(limits.of(each) for each in requests)))


def forked(helper: Lane, seconds: float) -> Lane:
    """A builder, which the helper process forks from itself.

    :raises Lost, EOFError, OSError, ValueError: where it does not.
    """
    (asked, asking), (answers, answering) = os.pipe(), os.pipe()
    builder = Lane(0, os.fdopen(asking, "wb"), os.fdopen(answers, "rb"), at_rest=helper.at_rest)
    try:
        builder.process = int(helper.reply({"builder": True}, seconds, (asked, answering))["builder"])
    except BaseException:
        builder.end()
        raise
    finally:
        os.close(asked)
        os.close(answering)
    return builder
