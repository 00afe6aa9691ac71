"""Other systems than this one, as far as it can stand in for them: Windows builds nothing, and does all the rest."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from pytest_bertsize.builder.own_process import end_process, start_process

if TYPE_CHECKING:
    from tests.conftest import Project

pytestmark = pytest.mark.process


TABLE = """
[tool.bertsize.models.encoder]
config = "config.json"
budget.total = "60K"
[tool.bertsize.models.adapted]
config = "config.json"
adapter = { r = 4, target_modules = ".*(query|value)" }
budget.total = "65K"
"""
AS_ON_WINDOWS = """
    import os, psutil, shutil, signal, subprocess, sys, tempfile  # which have what this system has
    for name in ("resource", "fcntl", "termios", "pty", "grp", "pwd", "torch", "transformers"):
        sys.modules[name] = None
    for name in (
        "fork", "killpg", "getpgid", "setsid", "getuid", "geteuid", "getgid", "uname", "sysconf", "chown", "fchmod",
        "O_NOFOLLOW", "O_NONBLOCK", "O_TMPFILE", "O_DIRECTORY",
    ):
        if hasattr(os, name):
            delattr(os, name)
    for name in ("SIGKILL", "SIGALRM", "SIGCHLD", "alarm", "set_wakeup_fd"):
        if hasattr(signal, name):
            delattr(signal, name)
    from pytest_bertsize.builder import own_process
    own_process.WINDOWS = True  # sys.platform has a say in what Python itself imports
    from pytest_bertsize.__main__ import main
    for command in sys.argv[1:]:
        print("exit", int(main(command.split())))
"""
"""What Windows has not (Python's documentation says of each of them "Availability: Unix"), blocked."""


def on_windows(*commands: str) -> str:
    """Return what the commands say and exit with, one after another in one process."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(AS_ON_WINDOWS), *commands],
        env={**os.environ, "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return f"{done.stdout}{done.stderr}"


def test_what_needs_no_build_needs_nothing_that_windows_has_not_and_a_build_ends_in_one_sentence(
    project: Project, tiny: dict[str, Any]
) -> None:
    project(TABLE, made=f"def config(): return {json.dumps(tiny)}")
    checks = ("check --no-build --report size.json --report size.html", "check")
    said = on_windows(*checks, "explain config.json", "diff config.json config.json", "explain made:config")
    assert re.findall(r"^exit (\d)$", said, re.MULTILINE) == ["0", "1", "0", "0", "2"]
    unbuilt, built, explained, *_, by_code = said.split("\nexit ")
    assert "2 configured, 2 checked, 0 failed; not compared with a build" in unbuilt
    assert json.loads(Path("size.json").read_text("utf-8"))["complete"] is True
    assert (
        "models are not built on Windows\n  → check it without a build there "
        "(--no-build), or build it on Linux, WSL or macOS"
    ) in built
    assert "59,549" in explained
    assert "code of the project is not run on Windows" in by_code
    Path("pyproject.toml").write_text("[project]\nname = 'a'\n", "utf-8")
    assert "exit 0\n" in on_windows("init --write")
    assert "tool.bertsize.models" in Path("pyproject.toml").read_text("utf-8")


# memory and processes, wherever psutil knows them


SLEEPS = "[sys.executable, '-c', 'import time; time.sleep(60)']"
CHILD = f"print(subprocess.Popen({SLEEPS}{{how}}).pid, flush=True)"
ORPHAN = f"subprocess.run([sys.executable, '-c', {f'import subprocess, sys; {CHILD}'.format(how='')!r}])"


@pytest.mark.parametrize(
    "starts",
    [CHILD.format(how=""), CHILD.format(how=", start_new_session=True"), ORPHAN],
    ids=["in its group", "in a group of its own", "of its group, by a parent that has gone"],
)
def test_what_a_process_has_started_ends_with_it(starts: str) -> None:
    """Nobody finds an orphan by its parents any more."""
    process = start_process([sys.executable, "-c", f"import subprocess, sys, time\n{starts}\ntime.sleep(60)"])
    assert process.stdout
    child = psutil.Process(int(process.stdout.readline()))
    end_process(process)
    assert psutil.wait_procs([child], timeout=10)[1] == []
