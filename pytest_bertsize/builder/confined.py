"""The sandbox that a process makes for itself before foreign code runs: no input, no output, no network."""

from __future__ import annotations

import contextlib
import errno
import gc
import io
import json
import os
import re
import signal
import struct
import sys
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, NoReturn

from pytest_bertsize.builder.messages import Frames, Why, send_frame

MEGABYTE = 1024 * 1024
MEMORY_ABOVE_IMPORT = 1024**3  # bytes of address space for foreign code, beside those for imports
LONGEST_SECRET = 128 * 1024  # characters; Linux has no longer variable
NETWORK = frozenset(  # audit events that Python raises before a process uses the network
    f"socket.{call}"
    for call in ["bind", "connect", "getaddrinfo", "getnameinfo", "gethostbyname", "gethostbyaddr", "sendmsg", "sendto"]
)
NO_DOWNLOAD = (
    "read a file of the project, download below check_model, or let the factory replace the function that downloads"
)
_PR_SET_DUMPABLE, _PR_SET_CHILD_SUBREAPER = 4, 36  # of linux/prctl.h
_ROUNDS = 1_000  # of ending processes that meanwhile start others
_SECRET = ("TOKEN", "KEY", "SECRET", "PASSWORD", "CREDENTIALS")  # ends of the names of variables
_SHORTEST_SECRET = 8  # characters; a shorter value occurs in many words
_SEEN: set[tuple[str, str]] = set()  # variables of the environment, before code of the project changes them and after


class Refused(Exception):
    """The error for anything that the sandbox or the helper process refuses, with a fix."""

    def __init__(self, message: str, fix: str = "", kind: Why = "other") -> None:
        super().__init__(message)
        self.fix, self.kind = fix, kind


class HandedOver(BaseException):
    """The exception that ends the project's code as soon as ``check_model`` has the model."""


REFUSED: list[Refused] = []  # refusals that fail a model even if its code catches the exception
CALLED: list[str | None] = []  # the name with which ``check_model`` ends running code; ``""``: any, ``None``: none
HANDED: list[tuple[str, Any]] = []  # name and model, as ``check_model`` got them when it ended the code


def refuse(refusal: Refused) -> NoReturn:
    REFUSED.append(refusal)
    raise refusal


def hand_over(name: str, model: Any) -> None:
    """:raises HandedOver: if ``check_model`` ends the running code when it gets this name."""
    if CALLED[-1] in {"", name}:
        HANDED.append((name, model))
        raise HandedOver


def refuse_the_network(event: str, arguments: tuple[Any, ...]) -> None:
    if event in NETWORK and not (event == "socket.sendmsg" and arguments[1] is None):  # to its connected peer
        refusal = Refused(f"it tried to use the network ({event})", NO_DOWNLOAD)
        if event == "socket.bind":  # libraries bind a socket to test for IPv6
            raise refusal
        refuse(refusal)


def answer_one_question(find_answer: Callable[[Any], object]) -> NoReturn:
    """Answer the question on standard input, and exit; the code that finds the answer has no pipe and no network."""
    keep_to_oneself()
    asked, answers = take_over_pipes()
    frame = Frames(asked).read()
    os.close(asked)
    cut_off()
    sys.addaudithook(refuse_the_network)
    sys.dont_write_bytecode = True
    answer = find_answer(json.loads(frame.content if frame else b"null"))
    end_below(os.getpid())
    send_frame(answers, "answer", 0, answer)
    os._exit(0)


def keep_to_oneself() -> None:
    """Keep other processes from this one's descriptors and memory, and adopt its orphans, for :func:`end_below`."""
    _SEEN.update(os.environ.items())
    if sys.platform.startswith("linux"):
        import ctypes

        for what, value in ((_PR_SET_DUMPABLE, 0), (_PR_SET_CHILD_SUBREAPER, 1)):
            ctypes.CDLL(None).prctl(what, *map(ctypes.c_ulong, (value, 0, 0, 0)))


def end_below(number: int, spared: Collection[int] = ()) -> None:
    """Kill the descendants of a process that adopts its orphans, but not its children in ``spared``; only on Linux."""
    for _ in range(_ROUNDS if sys.platform.startswith("linux") else 0):
        children: dict[int, list[int]] = {}
        for each in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):  # it has ended meanwhile
                state, parent, *_rest = each.read_bytes().rpartition(b")")[2].split()
                if state not in b"ZX":
                    children.setdefault(int(parent), []).append(int(each.parent.name))
        found = [each for each in children.get(number, []) if each not in spared]
        for process in found:  # the list grows meanwhile
            found += [each for each in children.get(process, []) if each not in spared]
        if not found:
            return
        for end in (signal.SIGSTOP, signal.SIGKILL):
            for process in found:
                with contextlib.suppress(OSError):  # it has ended, or is another user's
                    os.kill(process, end)


def take_over_pipes() -> tuple[int, int]:
    """Return standard input and output for questions and answers, and give foreign code neither."""
    answers, asked, nowhere = os.dup(1), os.dup(0), os.open(os.devnull, os.O_RDWR)
    for standard in range(3):
        os.dup2(nowhere, standard)
    return asked, answers


class LastLine(io.TextIOWrapper):
    """A standard error that keeps its last line, and discards all other text."""

    _end = "\n"

    def write(self, text: str) -> int:
        self._end = f"{self._end}{text}"[-LONGEST_SECRET:]
        return len(text)

    def read_last(self) -> str:
        """Return the last line without secrets, and without the name of the program before ``error:``."""
        whole = hide_secrets(self._end).splitlines()[1:]  # the first may be cut, a secret with it
        last = next((line.strip() for line in reversed(whole) if line.strip()), "")
        return str(last.partition(": error: ")[2] or last)


def close_all_but(kept: int) -> None:
    """Close all descriptors that a fork inherits, except ``kept`` and standard input, output and error."""
    for descriptor in [int(each.name) for each in Path("/dev/fd").iterdir()]:
        if descriptor > 2 and descriptor != kept:  # noqa: PLR2004
            with contextlib.suppress(OSError):  # the descriptor of the listing itself
                os.close(descriptor)


@contextlib.contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the garbage collector during imports, for a tenth of their time; their objects become its oldest."""
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


def hide_secrets(text: str) -> str:
    """Replace values of variables that end in ``TOKEN``, ``KEY`` and the like: as they are, by ``repr``, or folded."""
    _SEEN.update(os.environ.items())
    words = {
        form: f"(the value of {name} is left out)"
        for name, value in _SEEN
        if name.upper().endswith(_SECRET)
        for form in (value, repr(value)[1:-1], " ".join(value.split()))
        if len(form) >= _SHORTEST_SECRET
    }
    longest_first = sorted(words, key=len, reverse=True)
    return re.sub("|".join(map(re.escape, longest_first)) or "(?!)", lambda found: words[found[0]], text)


def describe_error(error: BaseException, root: str = "") -> str:
    """Return ``KeyError: 'size' (tagger/model.py:12)``, without secrets; the place is the last one below ``root``."""
    import traceback

    cause = error.__cause__ or error
    text, place = "", ""
    with contextlib.suppress(Exception):  # whatever an exception's own text raises
        text = " ".join(str(cause).split())
    if not isinstance(cause, Refused):
        text = f"{type(cause).__name__}{text and ': '}{text}"
    for frame in traceback.extract_tb(cause.__traceback__) if root else ():
        if frame.filename.startswith(f"{root}{os.sep}") and f"{os.sep}site-packages{os.sep}" not in frame.filename:
            place = f" ({os.path.relpath(frame.filename, root)}:{frame.lineno})"
    return f"{hide_secrets(text)}{place}"


def limit_memory(above: int = MEMORY_ABOVE_IMPORT) -> None:
    """Let the address space grow by at most ``above`` bytes, to refuse one large allocation; only on Linux."""
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


# no network for a process and for all that it starts: Linux refuses the sockets themselves, by a seccomp filter
#
# A hook of Python's sees neither a child process nor a library's own calls. A filter needs no privilege, and containers
# permit it, though mostly no network namespace; it lasts as long as the process, and its children inherit it.

# ``AUDIT_ARCH_*`` of linux/audit.h, and the number of the call ``socket(2)``, for each machine
_OF_THE_MACHINE = {"x86_64": (0xC000003E, 41), "aarch64": (0xC00000B7, 198)}
_IO_URING_SETUP = 425  # on every machine; through it sockets are made without a call of ``socket(2)``
_X32 = 0x40000000  # from here on, x86-64 has each of its calls under a second number
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06  # of linux/bpf_common.h: LD|W|ABS, JEQ|K, JGE|K, RET|K
_CALL, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16  # offsets in ``struct seccomp_data``, on a little-endian machine
_AF_UNIX, _AF_NETLINK = 1, 16  # within the machine; the latter asks the kernel, about its interfaces say
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS, _FILTER = 22, 38, 2  # of linux/prctl.h and linux/seccomp.h


def cut_off() -> None:
    """Let this process of one thread open sockets within the machine alone, if the system supports that."""
    if not sys.platform.startswith("linux") or os.uname().machine not in _OF_THE_MACHINE:
        return
    import ctypes

    architecture, socket_call = _OF_THE_MACHINE[os.uname().machine]
    steps = [  # each has an operation, the steps to skip if true, the steps if false, and a number
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 0, 9, architecture),  # another architecture has other numbers of calls
        (_LOAD, 0, 0, _CALL),
        (_AT_LEAST, 7, 0, _X32),
        (_EQUAL, 6, 0, _IO_URING_SETUP),
        (_EQUAL, 0, 4, socket_call),
        (_LOAD, 0, 0, _FIRST_ARGUMENT),
        (_EQUAL, 2, 0, _AF_UNIX),
        (_EQUAL, 1, 0, _AF_NETLINK),
        (_RETURN, 0, 0, _ERROR | errno.ENETDOWN),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _ERROR | errno.ENOSYS),
    ]
    held = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    filtered = struct.pack("HP", len(steps), ctypes.addressof(held))
    control = ctypes.CDLL(None).prctl
    if not control(_PR_SET_NO_NEW_PRIVS, *map(ctypes.c_ulong, (1, 0, 0, 0))):
        control(_PR_SET_SECCOMP, ctypes.c_ulong(_FILTER), ctypes.c_char_p(filtered))


def become_interpreter(python: str) -> None:
    """Replace this process by the helper process of another interpreter, a path whose symlink is not followed."""
    cut_off()
    try:
        os.execv(python, [python, "-I", str(Path(__file__).parent / "child" / "start.py")])  # noqa: S606
    except OSError as error:
        send_frame(1, "refused", 0, f"cannot be started: {error.strerror}")


if __name__ == "__main__":
    become_interpreter(sys.argv[1])
