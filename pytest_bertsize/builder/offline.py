"""No network for a process and for all that it starts: Linux refuses the sockets themselves, by a seccomp filter.

A hook of Python's sees neither a child process nor a library's own calls. A filter needs no privilege and is permitted
in containers, where a network namespace mostly is not; it stays until the process ends, and its children have it too.

``python -m pytest_bertsize.builder.offline PYTHON`` becomes the helper process of another interpreter, a program that a
table names: it has no network from its first instruction on.
"""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import struct
import sys
from pathlib import Path

_OF_THE_MACHINE = {"x86_64": (0xC000003E, 41), "aarch64": (0xC00000B7, 198)}
"""``AUDIT_ARCH_*`` of linux/audit.h, and the number of ``socket(2)`` there."""
_IO_URING_SETUP = 425  # on every machine; through it sockets are made without a call of ``socket(2)``
_X32 = 0x40000000  # from here on, x86-64 has each of its calls under a second number

_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
"""``BPF_LD|W|ABS``, ``BPF_JMP|JEQ|K``, ``BPF_JMP|JGE|K`` and ``BPF_RET|K`` of linux/bpf_common.h."""
_CALL, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
"""Where they stand in ``struct seccomp_data`` of linux/seccomp.h, of a little-endian machine."""
_AF_NETLINK = 16  # what the kernel itself is asked by, about its interfaces for example
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS, _FILTER = 22, 38, 2  # of linux/prctl.h and linux/seccomp.h


def cut_off() -> bool:
    """Let this process, which has one thread, open no socket but those within the machine.

    :returns: whether the system can; where it cannot, Python's own hook is all that there is.
    """
    if not sys.platform.startswith("linux") or os.uname().machine not in _OF_THE_MACHINE:
        return False
    program = _program(*_OF_THE_MACHINE[os.uname().machine])
    held = ctypes.create_string_buffer(program)
    filtered = struct.pack("HP", len(program) // 8, ctypes.addressof(held))
    control = ctypes.CDLL(None).prctl
    said = (ctypes.c_ulong(1), ctypes.c_ulong(0), ctypes.c_ulong(0), ctypes.c_ulong(0))
    if control(_PR_SET_NO_NEW_PRIVS, *said):
        return False
    return bool(control(_PR_SET_SECCOMP, ctypes.c_ulong(_FILTER), ctypes.c_char_p(filtered)) == 0)


def _program(architecture: int, socket_call: int) -> bytes:
    """The filter: of each step what it does, how many to skip where that holds and where not, and its number."""
    steps = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 0, 9, architecture),  # the calls of another one have other numbers
        (_LOAD, 0, 0, _CALL),
        (_AT_LEAST, 7, 0, _X32),
        (_EQUAL, 6, 0, _IO_URING_SETUP),
        (_EQUAL, 0, 4, socket_call),
        (_LOAD, 0, 0, _FIRST_ARGUMENT),
        (_EQUAL, 2, 0, socket.AF_UNIX),
        (_EQUAL, 1, 0, _AF_NETLINK),
        (_RETURN, 0, 0, _ERROR | errno.ENETDOWN),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _ERROR | errno.ENOSYS),
    ]
    return b"".join(struct.pack("HBBI", *step) for step in steps)


def main() -> None:
    """Start the helper process by another interpreter; a symlink is not followed, by which it knows its environment."""
    python = sys.argv[1]
    cut_off()
    try:
        os.execv(python, [python, "-I", str(Path(__file__).parent / "child" / "start.py")])  # noqa: S606
    except OSError as error:
        from pytest_bertsize.builder.messages import send_frame

        send_frame(1, "refused", 0, f"cannot be started: {error.strerror}")


if __name__ == "__main__":
    main()
