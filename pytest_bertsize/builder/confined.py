"""The cage that a process with foreign code makes around itself: no input, no output but the answer, no network."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

from pytest_bertsize.builder.messages import Frames, Why, send_frame
from pytest_bertsize.builder.offline import cut_off

MEGABYTE = 1024 * 1024
MEMORY_ABOVE_IMPORT = 1024**3  # bytes of address space that foreign code may take on top of what the imports took
_CALLS = ("bind", "connect", "getaddrinfo", "getnameinfo", "gethostbyname", "gethostbyaddr", "sendmsg", "sendto")
NETWORK = frozenset(f"socket.{call}" for call in _CALLS)
"""Events that Python announces before a process reaches for another machine."""
_PR_SET_DUMPABLE = 4  # of linux/prctl.h


class Refused(Exception):
    """Something that is not done, and what to do about it."""

    def __init__(self, message: str, fix: str = "", why: Why = Why.RAISED) -> None:
        super().__init__(message)
        self.fix, self.why = fix, why


class NetworkRefused(Refused):
    """An attempt to reach another machine."""


REFUSED: list[Refused] = []  # refusals that fail a model even where its code catches the exception


def refuse(refusal: Refused) -> NoReturn:
    REFUSED.append(refusal)
    raise refusal


def refuse_the_network(event: str, arguments: tuple[Any, ...]) -> None:
    if event in NETWORK and not (event == "socket.sendmsg" and arguments[1] is None):  # to whom it is connected
        refusal = NetworkRefused(f"it reached for the network ({event})")
        if event == "socket.bind":  # libraries find out by it whether there is IPv6
            raise refusal
        refuse(refusal)


def answer_one_question(find_answer: Callable[[Any], object]) -> NoReturn:
    """Answer the question on standard input, and end; the code that finds the answer has neither pipe, nor network."""
    keep_to_oneself()
    answers, asked = take_over_output(), take_over_input()
    frame = Frames(asked).read()
    os.close(asked)
    cut_off()
    sys.addaudithook(refuse_the_network)
    sys.dont_write_bytecode = True
    send_frame(answers, "answer", 0, find_answer(json.loads(frame.content if frame else b"null")))
    os._exit(0)


def keep_to_oneself() -> None:
    """Let no other process of this user open what this one has open, nor look into its memory."""
    if sys.platform.startswith("linux"):
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, *(ctypes.c_ulong(0) for _ in range(4)))


def take_over_output() -> int:
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


def close_all_but(kept: int) -> None:
    """Close what a fork has from the process that it was, but for standard input, output and error."""
    for descriptor in [int(each.name) for each in Path("/dev/fd").iterdir()]:
        if descriptor > 2 and descriptor != kept:  # noqa: PLR2004
            with contextlib.suppress(OSError):  # the list of them was one
                os.close(descriptor)


@contextlib.contextmanager
def collector_paused() -> Iterator[None]:
    """Import without the garbage collector: what is imported stays, and looking through it takes a tenth of the time.

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


def describe_error(error: BaseException, root: str = "") -> str:
    """``KeyError: 'hidden_size' (tagger/model.py:12)``; of our own refusals the sentence alone.

    :param root: the project's folder, whose line is named that it came from; ``""`` where no code of it was run.
    """
    cause = error.__cause__ or error
    place = find_place(cause, root) if root else ""
    if isinstance(cause, Refused):
        return f"{cause}{place}"
    try:
        text = " ".join(["", *str(cause).split()])
    except Exception:  # noqa: BLE001  (whatever an exception's own text raises)
        text = ""
    return f"{type(cause).__name__}{text and ':'}{text}{place}"


def find_place(error: BaseException, root: str) -> str:
    """Return the project's own line at which it was raised: `` (own.py:7)``."""
    inside = [
        f" ({os.path.relpath(frame.filename, root)}:{frame.lineno})"
        for frame in traceback.extract_tb((error.__cause__ or error).__traceback__)
        if frame.filename.startswith(f"{root}{os.sep}") and f"{os.sep}site-packages{os.sep}" not in frame.filename
    ]
    return inside[-1] if inside else ""


def limit_memory(above: int = MEMORY_ABOVE_IMPORT) -> None:
    """Cap the address space, counted from what the process has now; a system without ``/proc`` is left as it is.

    Where :mod:`~pytest_bertsize.builder.own_process` looks again and again, this refuses what is too much at once.
    """
    if not sys.platform.startswith("linux"):
        return
    import resource

    try:
        now = int(Path("/proc/self/statm").read_text("ascii").split()[0]) * resource.getpagesize()
    except OSError:
        return
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    most = now + above if hard == resource.RLIM_INFINITY else min(now + above, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))
