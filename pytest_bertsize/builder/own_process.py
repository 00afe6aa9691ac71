"""Start and end processes of our own, watch their memory, and ask one of them a question."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import Any

from pytest_bertsize.builder.confined import MEGABYTE, end_below
from pytest_bertsize.builder.messages import (
    LONGEST_ANSWER,
    Frame,
    Frames,
    NotBuilt,
    TooLong,
    encode_frame,
    explain_death,
)

WINDOWS = sys.platform == "win32"
BETWEEN_LOOKS = 0.05  # seconds between two looks at the memory of a process
ISOLATION = "-I" if sys.flags.isolated else "-P"  # keeps the current folder off sys.path
_ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    "CUDA_VISIBLE_DEVICES": "",
    "TOKENIZERS_PARALLELISM": "false",
    "PYTHONOPTIMIZE": "",  # without docstrings, transformers cannot be imported
}


def environment() -> dict[str, str]:
    """Return environment variables for a process that may import transformers: it uses no hub and sees no GPU."""
    return {**os.environ, **_ENVIRONMENT}


class Lost(Exception):
    """The error for a process that failed; its message is the rest of a sentence: ``it was not done within 30 s``."""

    def __init__(self, why: NotBuilt) -> None:
        super().__init__(why.reason)
        self.why = why


class Child:
    """A process of our own, and the frames to it and from it; no call waits longer than a moment."""

    def __init__(self, process: subprocess.Popen[bytes], name: str, longest: int = LONGEST_ANSWER) -> None:
        """:param longest: the most bytes of an answer."""
        assert process.stdin is not None
        assert process.stdout is not None
        self.process, self.started = process, monotonic()
        self._name, self._longest = name, longest
        self._questions, self._answers = process.stdin.fileno(), process.stdout.fileno()
        self._frames = Frames(self._answers, longest)
        self._unwritten = bytearray()  # bytes that the pipe has not taken yet
        self.parent = os.getpid()  # a fork of this process must not read from the pipes
        for descriptor in (self._questions, self._answers):
            os.set_blocking(descriptor, False)

    def send(self, kind: str, number: int, message: object) -> None:
        self._unwritten += encode_frame(kind, number, message)
        self._write()

    def read(self) -> Frame | None:
        """Return the next frame, or ``None`` if none arrives in a moment; raise :class:`Lost` for death or nonsense."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._answers, selectors.EVENT_READ)
            if self._unwritten:
                selector.register(self._questions, selectors.EVENT_WRITE)
            selector.select(BETWEEN_LOOKS)
        self._write()
        try:
            return self._frames.read()
        except EOFError:
            end_family(self.process.pid)  # one that has ended keeps its own status
            raise Lost(explain_death(self.process.wait(), self._name)) from None
        except TooLong:
            raise self.lose(f"answered more than {self._longest:,} bytes") from None
        except ValueError:
            raise self.lose() from None

    def _write(self) -> None:
        try:
            while self._unwritten:
                del self._unwritten[: os.write(self._questions, self._unwritten)]
        except BlockingIOError:
            pass
        except OSError:  # :meth:`read` notices a process that is dead already
            self._unwritten.clear()

    def lose(self, deed: str = "sent an unreadable answer") -> Lost:
        return Lost(NotBuilt(f"{self._name} {deed}"))

    def check_memory(self, most: int) -> None:
        """:raises Lost: if the process takes more than ``most`` bytes of memory."""
        if memory_of(self.process.pid) > most:
            raise Lost(NotBuilt(f"it took more than {most // MEGABYTE:,} MB of memory"))

    def end(self) -> None:
        """Kill the process; in a fork of its parent, only mark it as ended, because a fork cannot wait for it."""
        if self.parent == os.getpid():
            end_process(self.process)
        else:
            self.process.returncode = 0


def answer_of(
    module: str, question: Mapping[str, Any], folder: Path, *, seconds: float, memory: int, longest: int
) -> Any:
    """Run a module that calls ``answer_one_question``, and return its answer; raise :class:`Lost` without one.

    :param memory: the most bytes of memory of its process; ``longest`` those of its answer.
    """
    if WINDOWS:
        raise Lost(NotBuilt("code of the project is not run on Windows"))
    child = Child(start_process([sys.executable, ISOLATION, "-m", module], folder), "its process", longest)
    try:
        child.send("ask", 0, question)
        while (frame := child.read()) is None:
            if monotonic() - child.started >= seconds:
                raise Lost(NotBuilt(f"it was not done within {seconds:g} s"))
            child.check_memory(memory)
        return json.loads(frame.content)
    except ValueError:
        raise child.lose() from None
    finally:
        child.end()


def start_process(command: Sequence[str], folder: Path | None = None) -> subprocess.Popen[bytes]:
    """Start a process as the leader of a new process group, by which :func:`end_process` finds its children."""
    return subprocess.Popen(  # noqa: S603  (our own module, by our own interpreter)
        list(command),
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment(),
        start_new_session=True,
    )


def end_process(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and its descendants; the process group still finds a descendant whose parent has exited."""
    end_family(process.pid)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    for stream in filter(None, (process.stdin, process.stdout)):
        with contextlib.suppress(OSError):
            stream.close()
    process.wait()


def end_family(number: int) -> None:
    """Kill a process and its descendants; without ``/proc``, only descendants whose parents still run."""
    import psutil

    with contextlib.suppress(psutil.Error):  # it has ended
        first = psutil.Process(number)
        first.suspend()
        end_below(number)
        for each in [first, *first.children(recursive=True)]:
            with contextlib.suppress(psutil.Error):  # it has ended, or is not ours to end
                each.kill()


def memory_of(number: int) -> int:
    """Return the bytes of memory of a process, 0 if it has exited."""
    import psutil

    try:
        return int(psutil.Process(number).memory_info().rss)
    except psutil.Error:
        return 0
