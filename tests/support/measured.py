"""Processes that are asked once and then killed, where coverage is measured: they get the time to say what they ran."""

from __future__ import annotations

import contextlib
import os
import subprocess
from time import monotonic, sleep
from typing import TYPE_CHECKING

import psutil

from pytest_bertsize.builder import own_process

if TYPE_CHECKING:
    import pytest

SECONDS = 3.0
"""That a process has to write it down; one that hangs is killed after them, as it is at once where nothing is measured."""
_end = own_process.end_process


def end_when_written(process: subprocess.Popen[bytes]) -> None:
    """Instead of ``own_process.end_process``, which kills who has answered before ``os._exit`` has saved."""
    found = psutil.Process(process.pid).children(recursive=True) if psutil.pid_exists(process.pid) else []
    if isinstance(process, subprocess.Popen):  # what a warm process has forked writes before it answers
        for stream in filter(None, (process.stdin, process.stdout)):
            with contextlib.suppress(OSError):
                stream.close()
        deadline = monotonic() + SECONDS
        while monotonic() < deadline and not _has_ended(process.pid):
            sleep(0.01)
    _end(process)
    for each in found:
        with contextlib.suppress(psutil.Error):
            each.kill()


def _has_ended(number: int) -> bool:
    """It stays a zombie, by whose number its group is still found."""
    with contextlib.suppress(ChildProcessError):
        return os.waitid(os.P_PID, number, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    return True


def patched(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(own_process, "end_process", end_when_written)
