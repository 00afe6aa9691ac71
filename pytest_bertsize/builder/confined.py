"""What a process that runs foreign code does to itself: answers apart from output, no input, no network, a memory."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import sys
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

MEGABYTE = 1024 * 1024
LONGEST_ANSWER = 16 * MEGABYTE
"""Bytes; a model of 1,000 layers answers in 2 MB."""
MEMORY_ABOVE_IMPORT = 1024**3
"""Bytes of address space that foreign code may take on top of what the imports took."""
_CALLS = ("bind", "connect", "getaddrinfo", "getnameinfo", "gethostbyname", "gethostbyaddr", "sendmsg", "sendto")
NETWORK = frozenset(f"socket.{call}" for call in _CALLS)
"""What Python announces before a process reaches for another machine."""

NOT_IMPORTED = "torch and transformers cannot be imported"
"""How a reason begins that is no model's."""


class Refused(Exception):
    """Something that is not done: what is wrong and, behind a semicolon, what to do about it."""

    def __init__(self, sentence: str) -> None:
        message, _, self.fix = sentence.partition("; ")
        super().__init__(message)


class NetworkRefused(Refused):
    """An attempt to reach another machine."""


def question() -> Any:
    """What is asked for on standard input, which is closed then."""
    asked = json.loads(sys.stdin.buffer.readline() or b"null")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    return asked


def questions(asked: int) -> Iterator[Any]:
    """What is asked for on a descriptor, one after the other: how many bytes, on a line, and as many of JSON.

    Nothing is read before it is asked for: what a fork is not to know is not in this process yet.
    """
    while length := b"".join(iter(lambda: os.read(asked, 1).strip(), b"")):
        said = bytearray()
        while len(said) < int(length):
            said += os.read(asked, int(length) - len(said)) or b"\0" * int(length)  # cut off: no JSON
        yield json.loads(said)


def framed(said: bytes) -> bytes:
    """As :func:`questions` reads it."""
    return b"%d\n%b\n" % (len(said) + 1, said)


def keep_to_oneself() -> None:
    """Let no other process of this user open what this one has open, nor look into its memory."""
    if sys.platform.startswith("linux"):
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, *(ctypes.c_ulong(0) for _ in range(4)))


_PR_SET_DUMPABLE = 4
"""Of linux/prctl.h."""


def close_all_but(*kept: int) -> None:
    """Close what a fork has from the process that it was, but for standard input, output and error."""
    for descriptor in [int(each.name) for each in Path("/dev/fd").iterdir()]:
        if descriptor > 2 and descriptor not in kept:  # noqa: PLR2004
            with contextlib.suppress(OSError):  # the list of them was one
                os.close(descriptor)


def leave_no_bytecode() -> None:
    """Of the project's modules: it would be read for a file that is changed within the same second, and is as long."""
    sys.dont_write_bytecode = True


@contextlib.contextmanager
def collector_paused() -> Iterator[None]:
    """What is imported stays, and looking through it for garbage again and again takes a tenth of the time.

    It is put with what is old, as if the collector had looked through it twice, unless somebody has frozen something.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            if not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            gc.enable()


def take_over_descriptors() -> int:
    """Keep standard output for the answers; whatever foreign code prints goes nowhere."""
    answers = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    return answers


def take_over_input() -> int:
    """Keep standard input for the questions; foreign code has nothing to read."""
    asked = os.dup(0)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    return asked


def answer(descriptor: int, message: Mapping[str, Any]) -> None:
    remaining = memoryview(json.dumps(message).encode() + b"\n")
    while remaining:
        remaining = remaining[os.write(descriptor, remaining) :]


REFUSED: list[Refused] = []
"""What fails a model even where its code catches the exception."""
WENT_ON = "and the code caught that and went on"


def refuse(refusal: Refused) -> NoReturn:
    REFUSED.append(refusal)
    raise refusal


def refuse_the_network(event: str, arguments: tuple[Any, ...]) -> None:
    if event in NETWORK and not (event == "socket.sendmsg" and arguments[1] is None):  # to whom it is connected
        refusal = NetworkRefused(f"it reached for the network ({event})")
        if event == "socket.bind":  # libraries find out by it whether there is IPv6
            raise refusal
        refuse(refusal)


def in_words(error: BaseException, root: str = "") -> str:
    """``KeyError: 'hidden_size' (tagger/model.py:12)``; of our own refusals the sentence alone.

    :param root: the project's folder, whose line is named that it came from; ``""`` where no code of it was run.
    """
    cause = error.__cause__ or error
    place = place_in(cause, root) if root else ""
    if isinstance(cause, Refused):
        return f"{cause}{place}"
    text = " ".join(_text(cause).split())
    return f"{type(cause).__name__}: {text}{place}" if text else f"{type(cause).__name__}{place}"


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001  (whatever an exception's own text raises)
        return ""


def place_in(error: BaseException, root: str) -> str:
    """The project's own line at which it was raised."""
    files = [(each.filename, each.lineno) for each in traceback.extract_tb((error.__cause__ or error).__traceback__)]
    inside = [each for each in files if each[0].startswith(f"{root}{os.sep}") and not _is_installed(each[0])]
    return f" ({os.path.relpath(inside[-1][0], root)}:{inside[-1][1]})" if inside else ""


def _is_installed(file: str) -> bool:
    return f"{os.sep}site-packages{os.sep}" in file


def cause_of_death(status: int, process: str = "its process") -> str:
    if status < 0:
        return f"{process} was killed by {signal.Signals(-status).name}"
    return f"{process} ended early, with status {status}"


def most_memory() -> int:
    """The most bytes of memory that this process has had."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def limit_memory(above: int = MEMORY_ABOVE_IMPORT) -> None:
    """Cap the address space, counted from what the process has now; a system without ``/proc`` is left as it is.

    Where :mod:`~pytest_bertsize.builder.own_process` looks again and again, this refuses what is too much at once.
    """
    if not sys.platform.startswith("linux"):
        return
    import resource

    try:
        with open("/proc/self/statm", encoding="ascii") as stream:  # noqa: PTH123  (procfs, not a path of ours)
            now = int(stream.read().split()[0]) * resource.getpagesize()
    except OSError:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = now + above
    resource.setrlimit(resource.RLIMIT_AS, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))
