"""Processes of our own: how they start and end, what they take, and one question to one of them."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_bertsize.builder.confined import MEGABYTE
from pytest_bertsize.builder.messages import Frame, Frames, TooLong, encode_frame, explain_death

if TYPE_CHECKING:
    import psutil

WINDOWS = sys.platform == "win32"
BETWEEN_LOOKS = 0.05  # seconds between two looks at the memory of a process
ISOLATION = "-I" if sys.flags.isolated else "-P"
"""It never finds modules in the current folder, and nothing by the environment where its parent does not."""
_ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    "CUDA_VISIBLE_DEVICES": "",
    "TOKENIZERS_PARALLELISM": "false",
    "PYTHONOPTIMIZE": "",  # without docstrings, transformers cannot be imported
}


def environment() -> dict[str, str]:
    """Return that of a process that may import the library: it asks no hub and looks for no GPU."""
    return {**os.environ, **_ENVIRONMENT}


class Lost(Exception):
    """There is no answer; the message is the rest of a sentence: ``it was not done within 30 s``."""


class Allowed(NamedTuple):
    """The time and memory that the process may take, and the length of its answer."""

    seconds: float
    memory: int  # bytes; not watched on Windows
    answer: int  # bytes


def answer_of(module: str, question: Mapping[str, Any], folder: Path | None, allowed: Allowed) -> Any:
    """Run one of our own modules that :func:`~pytest_bertsize.builder.confined.answer_one_question`.

    :param folder: where it runs; ``None``: where its parent does.
    :raises Lost: when the process is dead, silent or babbling.
    """
    process = start_process([sys.executable, ISOLATION, "-m", module], folder)
    try:
        return json.loads(_read_answer(process, encode_frame("ask", 0, question), allowed).content)
    except subprocess.TimeoutExpired:
        raise Lost(f"it was not done within {allowed.seconds:g} s") from None
    except EOFError:
        raise Lost(explain_death(process.wait(), "its process").reason) from None
    except TooLong:
        raise Lost(f"its process answered more than {allowed.answer:,} bytes") from None
    except ValueError:
        raise Lost("its process answered nonsense") from None
    finally:
        end_process(process)


def _read_answer(process: subprocess.Popen[bytes], question: bytes, allowed: Allowed) -> Frame:
    if WINDOWS:  # there, nobody can wait for a pipe and look at the memory as well
        said, _ = process.communicate(question, timeout=allowed.seconds)
        if not said:
            raise EOFError
        return Frame("answer", 0, said.partition(b"\n")[2])
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(OSError):  # a process that is dead already is noticed where it is read
        process.stdin.write(question)
        process.stdin.close()
    os.set_blocking(process.stdout.fileno(), False)
    frames, deadline = Frames(process.stdout.fileno(), allowed.answer), monotonic() + allowed.seconds
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while True:
            if selector.select(min(BETWEEN_LOOKS, max(0.0, deadline - monotonic()))) and (frame := frames.read()):
                return frame
            if monotonic() >= deadline:
                raise subprocess.TimeoutExpired("", allowed.seconds)
            if memory_of(process.pid) > allowed.memory:
                raise Lost(f"it took more than {allowed.memory // MEGABYTE:,} MB of memory")


def start_process(command: Sequence[str], folder: Path | None = None) -> subprocess.Popen[bytes]:
    """Start a process that leads a group of its own, by which :func:`end_process` finds what it has started in turn."""
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
    """Kill a process and all that it has started: by their parents, and by the group those whose parent has ended."""
    kill_each(family(process.pid))
    with contextlib.suppress(ProcessLookupError, PermissionError, AttributeError):  # Windows has no groups
        os.killpg(process.pid, signal.SIGKILL)
    for stream in (process.stdin, process.stdout):
        if stream:
            with contextlib.suppress(OSError):
                stream.close()
    process.wait()


def family(number: int) -> list[psutil.Process]:
    """Return a process and all that have come of it and whose parents are still there; none where it has ended."""
    import psutil

    found: list[psutil.Process] = []
    with contextlib.suppress(psutil.Error):
        found = [psutil.Process(number), *psutil.Process(number).children(recursive=True)]
    return found


def kill_each(processes: Iterable[psutil.Process]) -> None:
    for each in processes:
        with contextlib.suppress(Exception):  # it has ended, or is not ours to end
            each.kill()


def memory_of(number: int) -> int:
    """Return the bytes of memory that a process has, 0 where there is none of that number any more."""
    import psutil

    try:
        return int(psutil.Process(number).memory_info().rss)
    except psutil.Error:
        return 0
