"""Another interpreter than the gate's own to build with: how a helper process is started by it.

It is a program that a table names, so it has no network from its first instruction on: this module is run by the
gate's own interpreter, refuses itself the sockets (:mod:`~pytest_bertsize.builder.offline`), and becomes the other one.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pytest_bertsize.builder.confined import answer
from pytest_bertsize.builder.offline import cut_off
from pytest_bertsize.builder.own_process import ISOLATION

START = Path(__file__).parent / "child" / "start.py"


def command(python: Path) -> tuple[str, ...]:
    """What starts the helper process by another interpreter.

    :param python: its path, absolute; a symlink is not followed, by which Python knows a virtual environment.
    """
    return sys.executable, ISOLATION, "-m", "pytest_bertsize.builder.another", str(python)


def main() -> None:
    python = sys.argv[1]
    cut_off()
    try:
        os.execv(python, [python, "-I", str(START)])  # noqa: S606  (no shell is what is wanted)
    except OSError as error:
        answer(1, {"refused": f"cannot be started: {error.strerror}"})


if __name__ == "__main__":
    main()
