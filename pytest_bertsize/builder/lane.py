"""One process that builds, as the gate sees it: what it was given, what it says, the time and memory that it has."""

from __future__ import annotations

import json
import os
import selectors
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from secrets import token_hex
from time import monotonic
from typing import IO, TYPE_CHECKING, Any

from pytest_bertsize.builder.confined import LONGEST_ANSWER, MEGABYTE, framed
from pytest_bertsize.builder.messages import understood
from pytest_bertsize.builder.own_process import BETWEEN_LOOKS, Lost, kill, memory_of

if TYPE_CHECKING:
    from pytest_bertsize.builder.messages import Built, NotBuilt, Request

NONSENSE = (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError)
"""What reading a message raises that is none."""


@dataclass(frozen=True, slots=True)
class Task:
    """One model to build, and what it may take."""

    request: Request
    seconds: float
    memory: int
    secret: str = field(default_factory=lambda: token_hex(16))
    """By which the answer is known. A process has it only while it is at this model, and so has what it runs of the
    project's: it can answer neither for those after it nor for those that are built beside it."""

    def question(self) -> dict[str, Any]:
        return {**self.request.fields(), "name": self.secret, "memory": self.memory}


@dataclass(eq=False)
class Lane:
    """A process and the two pipes to it, by which it is asked for one model after the other, and answers in turn."""

    process: int
    questions: IO[bytes]
    answers: IO[bytes]
    importing: float = 0.0
    """Seconds that it has until it is ready; 0 from then on."""
    at_rest: int = 0
    """Bytes that it may have while it is at no model; 0: they are not watched."""
    tasks: list[Task] = field(default_factory=list)
    """Those that it was given and has not answered, in the order of its answers."""
    unwritten: bytearray = field(default_factory=bytearray)
    """More than the pipe holds."""
    _read: bytearray = field(default_factory=bytearray)
    _building: tuple[int, int] | None = None
    """The process that is at the model, and the bytes that it may have."""
    _since: float = 0.0
    _looked: float = 0.0

    def __post_init__(self) -> None:
        os.set_blocking(self.questions.fileno(), False)
        self.begin_to_wait()

    def begin_to_wait(self) -> None:
        """Its time runs from here, or from what it says next."""
        self._since = monotonic()

    def give(self, task: Task) -> None:
        self.tasks.append(task)
        self._ask(task.question())

    def _ask(self, question: Mapping[str, Any]) -> None:
        self.unwritten += framed(json.dumps(question).encode())
        self.write()

    def write(self) -> None:
        """As much as the pipe takes now."""
        try:
            while self.unwritten:
                del self.unwritten[: os.write(self.questions.fileno(), self.unwritten)]
        except BlockingIOError:
            pass
        except (OSError, ValueError):  # a process that is dead already is noticed where it is read
            self.unwritten.clear()

    def reply(self, question: Mapping[str, Any], seconds: float, descriptors: Sequence[int] = ()) -> Any:
        """Ask something of a process that is at no model, and wait for the answer.

        :param descriptors: that it is to have; its standard input has to be a socket then.
        :raises Lost, EOFError, ValueError: where it is silent, dead, or babbles.
        """
        self._ask(question)
        if descriptors:
            _give_descriptors(self.questions, descriptors)
        deadline = monotonic() + seconds
        while monotonic() < deadline:
            if speaking([self]):
                for message in self.messages():
                    return message
        raise Lost(f"the helper process said nothing within {seconds:g} s")

    def messages(self) -> Iterator[Any]:
        """What it has said, line by line.

        :raises Lost, EOFError, ValueError: where it says too much, has ended, or babbles.
        """
        chunk = os.read(self.answers.fileno(), 1 << 20)
        if not chunk:
            raise EOFError
        self._read += chunk
        if len(self._read) > LONGEST_ANSWER:
            raise Lost(f"the helper process answered more than {LONGEST_ANSWER:,} bytes")
        while b"\n" in self._read:
            line, _, self._read = self._read.partition(b"\n")
            self.begin_to_wait()
            yield json.loads(bytes(line))

    def answered(self, message: Mapping[str, Any]) -> tuple[Request, Built | NotBuilt]:
        """What became of the model that it is at.

        :raises ValueError, TypeError, KeyError: when the message is no answer to that.
        """
        self._building = None
        result = understood(message, self.tasks[0].secret)
        return self.tasks.pop(0).request, result

    def watch(self, message: Mapping[str, Any]) -> None:
        """What it says of its own memory is believed where it is less than what is seen now, which may be late."""
        task = self.tasks[0]
        if message["building"] != task.secret:
            raise ValueError(message)
        process = int(message["process"])
        self._building = process, min(int(message["memory"]), memory_of(process)) + task.memory

    def hold_to_limits(self) -> None:
        """:raises Lost: when it has been silent for too long, or has too much memory."""
        now = monotonic()
        if now - self._looked < BETWEEN_LOOKS:
            return
        self._looked = now
        seconds = self.importing or self.tasks[0].seconds
        if now - self._since >= seconds:
            what = "torch and transformers were not imported" if self.importing else "it was not built"
            raise Lost(f"{what} within {seconds:g} s")
        process, most = self._building or (self.process, self.at_rest)
        if most and memory_of(process) > most:
            raise Lost(f"it took more than {self._allowed():,} MB of memory")

    def _allowed(self) -> int:
        if not self._building:
            return self.at_rest // MEGABYTE
        task = self.tasks[0]
        return task.memory // (10**6 if task.request.memory else MEGABYTE)  # as the table writes it

    def close(self) -> None:
        """Ask for no more: a process that is at none ends by itself."""
        self.questions.close()

    def end(self) -> None:
        """Kill it and all that it has started."""
        if self.process:
            kill(self.process)
        self.questions.close()
        self.answers.close()


def speaking(lanes: Sequence[Lane]) -> list[Lane]:
    """Those that have said something, or ended; after the time between two looks where there are none.

    What no pipe has taken yet is written meanwhile.
    """
    with selectors.DefaultSelector() as selector:
        for lane in lanes:
            selector.register(lane.answers, selectors.EVENT_READ, lane)
            if lane.unwritten:
                selector.register(lane.questions, selectors.EVENT_WRITE, lane)
        found = [(key.data, events) for key, events in selector.select(BETWEEN_LOOKS)]
    for lane, events in found:
        if events & selectors.EVENT_WRITE:
            lane.write()
    return [lane for lane, events in found if events & selectors.EVENT_READ]


def _give_descriptors(stream: IO[bytes], descriptors: Sequence[int]) -> None:
    """Behind the question that they belong to, with a byte that is no other's."""
    import socket

    with socket.socket(fileno=os.dup(stream.fileno())) as connection:
        socket.send_fds(connection, [b"\0"], [*descriptors])
