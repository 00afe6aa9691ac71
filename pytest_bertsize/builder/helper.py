"""The parent's side of building: one helper process per run, its limits and its answers. It never imports torch."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import sys
from dataclasses import asdict, dataclass, field, replace
from secrets import token_hex
from threading import Thread
from time import monotonic
from typing import IO, TYPE_CHECKING, Any

from pytest_bertsize.builder.confined import LONGEST_ANSWER, MEGABYTE, NOT_IMPORTED, cause_of_death, framed
from pytest_bertsize.builder.messages import Built, NotBuilt, Request, understood
from pytest_bertsize.builder.own_process import (
    BETWEEN_LOOKS,
    ISOLATION,
    WINDOWS,
    end,
    memory_of,
    started,
)
from pytest_bertsize.wording import printable

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Sequence
    from pathlib import Path


NOT_ON_WINDOWS = "check it there without a build (--no-build), and with one on Linux, WSL or macOS"
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

    A helper that dies, hangs or answers nonsense fails the model that it was at, and another one builds the rest.
    """

    limits: Limits = field(default_factory=Limits)
    command: Sequence[str] = (sys.executable, ISOLATION, "-m", "pytest_bertsize.builder.child")
    versions: dict[str, str] = field(default_factory=dict)
    _process: subprocess.Popen[bytes] | None = None
    _pending: list[Request] = field(default_factory=list)
    _secrets: list[str] = field(default_factory=list)
    """By which the answer about each of these is known. The process has a secret only while it is at that model, and so
    has what it runs of the project's: it cannot answer for those after it."""
    _results: dict[str, Built | NotBuilt] = field(default_factory=dict)
    _buffer: bytearray = field(default_factory=bytearray)
    _built_as: dict[str, str] = field(default_factory=dict)
    """Each model by the name of the first that is built from the same: one build does for all of them."""
    _importing: bool = True
    _started_by: int = 0
    """The process whose child the helper is; a fork of it has the same pipes, and may not read them."""
    _inherited: subprocess.Popen[bytes] | None = None
    _watched: tuple[int, int] | None = None
    """The process that is building, and the bytes that it may have; ``None`` where ours is importing."""
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
            said = json.dumps(asdict(replace(request, name="")))  # in the order that a factory is given
            self._built_as[request.name] = first.setdefault(said, request.name)
        self._pending = [request for request in requests if self._built_as[request.name] == request.name]
        if WINDOWS:
            self._give_up("models are not built on Windows", NOT_ON_WINDOWS)
        elif self._pending:
            self._send()
        else:
            self.stop()

    def result(self, name: str) -> Built | NotBuilt:
        """What became of one model that was asked for; waits until it is known."""
        name = self._built_as.get(name, name)
        if self._is_inherited():
            self._begin_anew(name)
        while name not in self._results:
            if name not in {request.name for request in self._pending}:
                return NotBuilt("it was never asked for")
            self._next_answer()
        return self._results[name]

    def stop(self) -> None:
        """End the process, whatever it is doing."""
        if self._process is None:
            return
        if not self._is_inherited():
            end(self._process)
        self._process = None

    def _is_inherited(self) -> bool:
        """Whether this is a fork of the process that started the helper, as of a plugin that runs each test in one."""
        return self._process is not None and self._started_by != os.getpid()

    def _begin_anew(self, name: str) -> None:
        """Leave the helper to the process that it belongs to; another builds the models that are still to come."""
        self._inherited, self._process = self._process, None  # it is not ours to wait for
        self._pending.sort(key=lambda request: request.name != name)
        if any(request.name == name for request in self._pending):
            self._send()

    def start(self) -> None:
        """Start the process, which imports torch and transformers whatever it will be asked for; not on Windows."""
        if self._process is not None or WINDOWS:
            return
        self._buffer.clear()
        self._importing = True
        self._process = started(self.command)
        self._watched = self._at_rest()
        self._started_by = os.getpid()

    def _send(self) -> None:
        """Hand the requests over; more than a pipe holds wait in a thread until the process has imported."""
        self.start()
        assert self._process is not None
        assert self._process.stdin is not None
        self._secrets = [token_hex(16) for _ in self._pending]
        pairs = zip(self._pending, self._secrets, strict=True)
        named = (replace(each, name=secret, memory=self.limits.of(each)) for each, secret in pairs)
        content = b"".join(framed(json.dumps(asdict(each)).encode()) for each in named)
        Thread(target=_write, args=(self._process.stdin, content), daemon=True).start()

    def _next_answer(self) -> None:
        """Read one message, and move on accordingly."""
        try:
            message = self._message()
            if "name" in message:
                self._watched = self._at_rest()
                self._results[self._pending[0].name] = self._with_way_out(understood(message, self._secrets[0]))
                self._pending.pop(0)
                self._secrets.pop(0)
            elif "ready" in message:
                self._importing = False
                self.versions.update((str(name), str(version)) for name, version in message["ready"].items())
            elif "failed" in message:
                self._give_up(f"{NOT_IMPORTED}: {printable(str(message['failed']))}")
            elif "refused" in message:
                self._give_up(f"{self._another} {printable(str(message['refused']))}", NAME_ANOTHER)
            else:
                self._watched = self._to_watch(message)
        except _HelperLost as lost:
            self._lose(str(lost))
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
            self._lose("the helper process answered nonsense")

    def _to_watch(self, message: Any) -> tuple[int, int]:
        """What it says of its own memory is believed where it is less than what is seen now, which may be late."""
        if message["building"] != self._secrets[0]:
            raise ValueError(message)
        process = int(message["process"])
        memory = min(int(message["memory"]), memory_of(process))
        return process, memory + self.limits.of(self._pending[0])

    def _at_rest(self) -> tuple[int, int] | None:
        return (self._process.pid, self.limits.another) if self._another and self._process else None

    def _with_way_out(self, result: Built | NotBuilt) -> Built | NotBuilt:
        """With what to write where another environment lacks torch or transformers."""
        if not (self._another and isinstance(result, NotBuilt) and result.reason.startswith(NOT_IMPORTED)):
            return result
        where = f"{NOT_IMPORTED} by {self._another}"
        install = f"install them there: {self._another} -m pip install torch transformers"
        return NotBuilt(result.reason.replace(NOT_IMPORTED, where, 1), install)

    def _lose(self, reason: str) -> None:
        """The model at hand is lost with its helper; the rest get a new one, unless it never came up."""
        self.stop()
        if not self.versions and self._another:
            return self._give_up(f"{self._another} does not run as Python does: {reason}", NAME_ANOTHER)
        if not self.versions:
            return self._give_up(reason)
        self._results[self._pending.pop(0).name] = NotBuilt(reason)
        if self._pending:
            self._send()
        return None

    def _give_up(self, reason: str, fix: str = "") -> None:
        result = self._with_way_out(NotBuilt(reason, fix))
        self._results.update((request.name, result) for request in self._pending)
        self._pending.clear()
        self.stop()

    def _message(self) -> Any:
        """The next line of the helper, or the reason why there is none."""
        building = self._pending[0].seconds or self.limits.building
        seconds = self.limits.importing if self._importing else building
        deadline = monotonic() + seconds
        while b"\n" not in self._buffer:
            self._read_some(deadline, seconds)
        line, _, rest = self._buffer.partition(b"\n")
        self._buffer = bytearray(rest)
        return json.loads(bytes(line))

    def _read_some(self, deadline: float, seconds: float) -> None:
        if self._process is None or self._process.stdout is None:
            raise _HelperLost("the helper process is gone")
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while not selector.select(min(BETWEEN_LOOKS, max(0.0, deadline - monotonic()))):
                if monotonic() >= deadline:
                    what = "torch and transformers were not imported" if self._importing else "it was not built"
                    raise _HelperLost(f"{what} within {seconds:g} s")
                if self._watched and memory_of(self._watched[0]) > self._watched[1]:
                    raise self._over_memory()
        chunk = os.read(self._process.stdout.fileno(), 1 << 20)
        if not chunk:
            raise _HelperLost(cause_of_death(self._process.wait(), "the helper process"))
        self._buffer += chunk
        if len(self._buffer) > LONGEST_ANSWER:
            raise _HelperLost(f"the helper process answered more than {LONGEST_ANSWER:,} bytes")

    def _over_memory(self) -> _HelperLost:
        if self._watched == self._at_rest():
            return _HelperLost(f"it took more than {self.limits.another // MEGABYTE:,} MB of memory")
        request = self._pending[0]
        most = self.limits.of(request)
        said = most // (10**6 if request.memory else MEGABYTE)  # as the table writes it
        return _HelperLost(f"it took more than {said:,} MB of memory")


def _write(stream: IO[bytes], content: bytes) -> None:
    with contextlib.suppress(OSError, ValueError):  # a process that is dead already is noticed where it is read
        stream.write(content)
        stream.close()


class _HelperLost(Exception):
    """The helper process is dead, silent or babbling."""
