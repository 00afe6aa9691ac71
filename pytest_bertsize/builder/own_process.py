"""One question to a process of its own, and its one answer: in a time, in a memory, without standard input."""

from __future__ import annotations

import contextlib
import json
import os
import re
import selectors
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_bertsize.builder.confined import MEGABYTE, cause_of_death

if TYPE_CHECKING:
    import psutil

WINDOWS = sys.platform == "win32"
CONTAINER = Path("/sys/fs/cgroup")
"""Where a container finds what it is given; at home, this is the root of all groups, which has no limits."""
BETWEEN_LOOKS = 0.05
"""Seconds between two looks at the memory of the process."""
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
    """Of a process that may import the library: it asks no hub and looks for no GPU."""
    return {**os.environ, **_ENVIRONMENT}


class Lost(Exception):
    """There is no answer; the message is the rest of a sentence: ``it was not done within 30 s``."""


class Allowed(NamedTuple):
    """What the process may take before it is killed."""

    seconds: float
    memory: int
    """Bytes; not watched on Windows."""
    answer: int
    """Bytes."""


def answer_of(module: str, question: Mapping[str, Any], folder: Path | None, allowed: Allowed) -> Any:
    """Run one of our own modules, give it one line of JSON, and read one.

    :param folder: where it runs; ``None``: where its parent does.
    :raises Lost: when the process is dead, silent or babbling.
    """
    process = started([sys.executable, ISOLATION, "-m", module], folder)
    try:
        assert process.stdin is not None
        with contextlib.suppress(OSError):  # a process that is dead already is noticed where it is read
            process.stdin.write(json.dumps(question).encode() + b"\n")
            process.stdin.close()
        return json.loads(line_of(process, allowed))
    except ValueError:
        raise Lost("its process answered nonsense") from None
    finally:
        end(process)


def started(command: Sequence[str], folder: Path | None = None) -> subprocess.Popen[bytes]:
    """A process that leads a group of its own, by which :func:`end` finds what it has started in turn.

    Its standard input is a socket where there are such, by which it can be given descriptors.
    """
    if WINDOWS:
        return _started(command, folder, subprocess.PIPE)
    import socket

    ours, theirs = socket.socketpair()
    with ours, theirs:
        process = _started(command, folder, theirs.fileno())
        process.stdin = os.fdopen(ours.detach(), "wb")
    return process


def _started(command: Sequence[str], folder: Path | None, asked: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603  (our own module, by our own interpreter)
        list(command),
        cwd=folder,
        stdin=asked,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment(),
        start_new_session=True,
    )


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and all that it has started: by their parents, and by the group those whose parent has ended."""
    kill(process.pid)
    with contextlib.suppress(ProcessLookupError, PermissionError, AttributeError):  # Windows has no groups
        os.killpg(process.pid, signal.SIGKILL)
    for stream in (process.stdin, process.stdout):
        if stream:
            with contextlib.suppress(OSError):
                stream.close()
    process.wait()


def kill(number: int) -> None:
    """A process, and all that have come of it and whose parents are still there."""
    kill_each(family(number))


def family(number: int) -> list[psutil.Process]:
    """The process of a number first; none where that has ended."""
    import psutil

    found: list[psutil.Process] = []
    with contextlib.suppress(psutil.Error):
        found = [psutil.Process(number), *psutil.Process(number).children(recursive=True)]
    return found


def kill_each(processes: Iterable[psutil.Process]) -> None:
    for each in processes:
        with contextlib.suppress(Exception):  # it has ended, or is not ours to end
            each.kill()


def line_of(process: subprocess.Popen[bytes], allowed: Allowed) -> bytes:
    if WINDOWS:
        return _line_on_windows(process, allowed)
    assert process.stdout is not None
    deadline = monotonic() + allowed.seconds
    found = bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while b"\n" not in found:
            while not selector.select(min(BETWEEN_LOOKS, max(0.0, deadline - monotonic()))):
                if monotonic() >= deadline:
                    raise Lost(f"it was not done within {allowed.seconds:g} s")
                if memory_of(process.pid) > allowed.memory:
                    raise Lost(f"it took more than {allowed.memory // MEGABYTE:,} MB of memory")
            chunk = os.read(process.stdout.fileno(), 1 << 20)
            if not chunk:
                raise Lost(cause_of_death(process.wait()))
            found += chunk
            if len(found) > allowed.answer:
                raise Lost(f"its process answered more than {allowed.answer:,} bytes")
    return bytes(found.partition(b"\n")[0])


def _line_on_windows(process: subprocess.Popen[bytes], allowed: Allowed) -> bytes:
    """There, nobody can wait for a pipe and look at the memory as well."""
    process.stdin = None  # which is closed already
    try:
        found, _ = process.communicate(timeout=allowed.seconds)
    except subprocess.TimeoutExpired:
        raise Lost(f"it was not done within {allowed.seconds:g} s") from None
    if b"\n" not in found:
        raise Lost(cause_of_death(process.wait()))
    return found.partition(b"\n")[0]


def memory_of(number: int) -> int:
    """The bytes of memory that a process has, 0 where there is none of that number any more."""
    import psutil

    try:
        return int(psutil.Process(number).memory_info().rss)
    except psutil.Error:
        return 0


def free_memory() -> int:
    """The bytes of memory that the system could give away now, of its container where that is the less."""
    import psutil

    free = int(psutil.virtual_memory().available)
    most = _of_container("memory.max")
    if not most.isdecimal():
        return free
    taken = int(_of_container("memory.current"))
    given_back = re.search(r"(?m)^inactive_file ([0-9]+)$", _of_container("memory.stat"))
    return max(0, min(free, int(most) - taken + (int(given_back[1]) if given_back else 0)))


def free_cores() -> int:
    """How many this process may run on at a time, in whole cores: those of its container where these are the fewer."""
    assert sys.platform == "linux"  # the others do not say
    most = len(os.sched_getaffinity(0))
    quota, _, period = _of_container("cpu.max").partition(" ")
    return min(most, max(1, int(quota) // int(period))) if quota.isdecimal() else most


def _of_container(name: str) -> str:
    """What Linux says that a container, or another control group of version 2, is given; empty where there is none.

    Source: ``Documentation/admin-guide/cgroup-v2.rst`` of the kernel, "CPU Interface Files", "Memory Interface Files".
    """
    try:
        return (CONTAINER / name).read_text("ascii").strip()
    except OSError:
        return ""
