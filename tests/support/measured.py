"""Let processes that are asked once and then killed write down what they ran, where coverage is measured."""

from __future__ import annotations

import contextlib
import subprocess
from time import monotonic, sleep

import psutil

from pytest_bertsize.builder import own_process

SECONDS = 3.0
"""That a process has for it; one that hangs is killed after them, as it is at once where nothing is measured."""
_end = own_process.end_process


def end_when_written(process: subprocess.Popen[bytes]) -> None:
    """Instead of ``own_process.end_process``, which kills who has answered before ``os._exit`` has saved."""
    family: list[psutil.Process] = []
    with contextlib.suppress(psutil.Error):
        first = psutil.Process(process.pid)
        family = first.children(recursive=True)
        if isinstance(process, subprocess.Popen):  # what a warm process has forked writes before it answers
            for stream in filter(None, (process.stdin, process.stdout)):
                with contextlib.suppress(OSError):
                    stream.close()
            deadline = monotonic() + SECONDS
            while monotonic() < deadline and first.status() != psutil.STATUS_ZOMBIE:
                sleep(0.01)
    _end(process)
    for each in family:
        with contextlib.suppress(psutil.Error):
            each.kill()
