"""Helper processes that are forked from one that has imported torch and transformers, instead of importing them each.

One warm process serves a test session (a worker, under xdist). It starts where the first helper is wanted, imports what
the real helper imports and BERT's classes, and listens on a socket. For each helper it forks a process that takes over
the pipes, the folder and the environment it is given, and runs the real helper's ``main``: the same protocol, limits,
audit hooks and ways to end. Inside the tests' own process :func:`started` takes the place of ``own_process.start_process``;
a run in a process of its own has it where it is started by :func:`command`, and a line of a shell by :func:`programs`.

What such a run does not prove: that the command starts (``-P``, ``-I``, ``-m``), what the import costs in time and
memory, what happens where it fails, and what the environment changes in it. Where a variable differs that an
interpreter, torch or transformers read as they start, the real command is run. Tests whose subject is the process ask
for ``cold_helper``.
"""

from __future__ import annotations

import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from pytest_bertsize.builder import own_process
from pytest_bertsize.builder.helper import Helper
from tests.support import warm_process

READ_AT_START = re.compile("PYTHON|LD_|MALLOC_|OMP_|MKL_|TORCH|PYTORCH|CUDA|TRANSFORMERS_|HF_|HUGGING|TOKENIZERS")


def read_at_start(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if READ_AT_START.match(name)}


@dataclass
class Warm:
    path: str
    imported: dict[str, str] = field(default_factory=lambda: read_at_start(own_process.environment()))
    """The variables that it was started with."""
    process: subprocess.Popen[bytes] | None = None

    def socket(self) -> str:
        """Its path, from when on it is listened to."""
        if self.process is None:
            with socket.socket(socket.AF_UNIX) as listening:
                listening.bind(self.path)
                listening.listen()
                self.process = subprocess.Popen(
                    [sys.executable, "-P", warm_process.__file__, str(listening.fileno())],
                    stdin=subprocess.PIPE,  # which closes with this process, however it ends
                    env=own_process.environment(),
                    pass_fds=[listening.fileno()],
                    start_new_session=True,
                )
        return self.path

    def script(self) -> list[str]:
        """Return the script that has helpers forked; nothing where a real helper would import something else."""
        serves = read_at_start(own_process.environment()) == self.imported
        return [warm_process.__file__, self.socket()] if serves else []

    def stop(self) -> None:
        if self.process is not None:
            assert self.process.stdin
            self.process.stdin.close()
            self.process.wait()


def started(warm: Warm, command: Sequence[str], folder: Path | None = None) -> subprocess.Popen[bytes]:
    """Start a process instead of ``own_process.start_process``: the helper is forked where it may be."""
    if command != Helper().command or not (script := warm.script()):
        return own_process.start_process(command, folder)
    return cast("subprocess.Popen[bytes]", warm_process.fork(script[1]))


def command(warm: Warm, *arguments: str, flags: Sequence[str] = ()) -> list[str]:
    """Return ``python -m MODULE ...``, whose helper is forked where it may be."""
    return [sys.executable, *flags, *warm.script(), *arguments]


PYTHON = """#!/bin/sh
flags=
case "$1" in -I|-P) flags=$1; shift;; esac
case "$1 $2" in
"-m pytest"|"-m pytest_bertsize") exec {python} $flags {warm} "$@";;
*) exec {python} $flags "$@";;
esac
"""


def programs(warm: Warm, folder: Path) -> Path:
    """Write a ``python``, a ``pytest`` and a ``bertsize``, whose helpers are forked where they may be, to the folder."""
    python = PYTHON.format(python=shlex.quote(sys.executable), warm=shlex.join(warm.script()))
    module = f'#!/bin/sh\nexec {shlex.quote(str(folder / "python"))} -P -m {{}} "$@"\n'
    scripts = {"python": python, "pytest": module.format("pytest"), "bertsize": module.format("pytest_bertsize")}
    for name, script in scripts.items():
        (folder / name).write_text(script, encoding="utf-8")
        (folder / name).chmod(0o755)
    return folder
