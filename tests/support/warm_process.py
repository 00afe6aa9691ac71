"""The warm process (see warm_helper.py), and how a helper is asked of it.

As a script: ``FD`` is the warm process itself, listening there; ``SOCKET -m MODULE ...`` runs that module, whose helpers
come from there. Nothing of ours is imported before that module imports it: pytest rewrites only what it imports itself.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import runpy
import selectors
import signal
import socket
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any


@dataclass
class Forked:
    """A forked helper, as far as one of ``subprocess`` is used."""

    pid: int
    stdin: IO[bytes]
    stdout: IO[bytes]
    connection: io.RawIOBase
    returncode: int | None = None

    def wait(self) -> int:
        if self.returncode is None:
            self.returncode = int(self.connection.readline() or -signal.SIGKILL)  # it died with the warm process
            self.connection.close()
        return self.returncode


def fork(path: str) -> Forked:
    """A helper process, from the warm process that listens at ``path``."""
    from pytest_bertsize.builder.own_process import environment

    (questions, stdin), (stdout, answers) = (each.detach() for each in socket.socketpair()), os.pipe()
    given = {"folder": str(Path.cwd()), "environment": environment()}
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        socket.send_fds(connection, [b"\0"], [questions, answers])
        connection.sendall(json.dumps(given).encode() + b"\n")
        reading = connection.makefile("rb", buffering=0)
    os.close(questions)
    os.close(answers)
    pid = int(reading.readline())
    return Forked(pid, open(stdin, "wb"), open(stdout, "rb"), reading)  # noqa: PTH123  (pipes)


# the warm process


def serve(listening: socket.socket) -> None:
    """Fork a helper for each connection, until standard input ends."""
    gc.disable()
    from transformers import BertForMaskedLM

    from pytest_bertsize.builder.child.__main__ import main

    assert BertForMaskedLM
    gc.freeze()
    ended, ending = socket.socketpair()
    ending.setblocking(False)  # noqa: FBT003  (as Python asks for)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(ending.fileno())
    connections: dict[int, socket.socket] = {}
    with selectors.DefaultSelector() as selector:
        for each in (listening, ended, sys.stdin):
            selector.register(each, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is sys.stdin:
                    os._exit(0)
                elif key.fileobj is ended:
                    ended.recv(1024)
                    _say_who_ended(connections)
                else:
                    connection, _ = listening.accept()
                    pid = _forked(connection, main)
                    connections[pid] = connection


def _forked(connection: socket.socket, main: Any) -> int:
    _, (questions, answers), *_ = socket.recv_fds(connection, 1, 2)
    with connection.makefile("rb") as reading:
        given = json.loads(reading.readline())
    pid = os.fork()
    if pid:
        os.close(questions)
        os.close(answers)
        return pid
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        connection.sendall(f"{os.getpid()}\n".encode())
        for number, descriptor in enumerate((questions, answers, os.open(os.devnull, os.O_WRONLY))):
            os.dup2(descriptor, number)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        os.environ.clear()
        os.environ.update(given["environment"])
        os.chdir(given["folder"])
        _measured()
        main()
    finally:
        os._exit(1)


def _measured() -> None:
    """Where coverage is measured, write down what was run before each answer: who has asked kills the process then."""
    if "coverage" not in sys.modules:
        return
    from coverage import Coverage

    from pytest_bertsize.builder.child import __main__ as child

    send = vars(child)["send_frame"]

    def saving(*arguments: Any) -> None:
        with contextlib.suppress(Exception):  # a fork may have closed the file
            if current := Coverage.current():
                current.save()
        send(*arguments)

    vars(child)["send_frame"] = saving


def _say_who_ended(connections: dict[int, socket.socket]) -> None:
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            with connections.pop(ended[0]) as connection, contextlib.suppress(OSError):
                connection.sendall(f"{os.waitstatus_to_exitcode(ended[1])}\n".encode())


# a run with such helpers


def _patch(path: str) -> None:
    from pytest_bertsize.builder import helper

    vars(helper)["start_process"] = lambda _: fork(path)


def main() -> None:
    where, *line = sys.argv[1:]
    if not line:
        serve(socket.socket(fileno=int(where)))
    if not sys.flags.safe_path:
        sys.path[0] = str(Path.cwd())  # as -m has it
    _, module, *sys.argv[1:] = line
    if module == "pytest":
        import pytest

        class Forking:
            def pytest_plugin_registered(self, plugin_name: str) -> None:
                if plugin_name == "bertsize":  # which is imported by now
                    _patch(where)

        sys.exit(pytest.main(plugins=[Forking()]))
    _patch(where)
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
