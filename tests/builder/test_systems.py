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

from pytest_bertsize.builder import own_process
from pytest_bertsize.builder.messages import Allowed
from pytest_bertsize.builder.own_process import Lost, answer_of, end_process, start_process

if TYPE_CHECKING:
    from tests.conftest import Project

pytestmark = pytest.mark.process


MEGABYTE = 1024 * 1024
TABLE = """
[tool.bertsize.models.encoder]
config = "config.json"
budget.total = "60K"
[tool.bertsize.models.made]
config = "made:config"
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
    assert done.stderr == ""
    return done.stdout


def test_what_needs_no_build_needs_nothing_that_windows_has_not_and_a_build_ends_in_one_sentence(
    project: Project, tiny: dict[str, Any]
) -> None:
    """A config of a function and an expression of an adapter are asked of processes, which are not blocked there."""
    project(TABLE, made=f"def config(): return {json.dumps(tiny)}")
    checks = ("check --no-build --report size.json --report size.html", "check")
    said = on_windows(*checks, "explain config.json", "diff config.json config.json")
    assert re.findall(r"^exit (\d)$", said, re.MULTILINE) == ["0", "1", "0", "0"]
    unbuilt, built, explained, _, _ = said.split("\nexit ")
    assert "3 configured, 3 checked, 0 failed; not compared with a build" in unbuilt
    assert json.loads(Path("size.json").read_text("utf-8"))["complete"] is True
    assert (
        "models are not built on Windows\n  → check it without a build there "
        "(--no-build), or build it on Linux, WSL or macOS"
    ) in built
    assert "59,549" in explained
    Path("pyproject.toml").write_text("[project]\nname = 'a'\n", "utf-8")
    assert on_windows("init --write").endswith("exit 0\n")
    assert "tool.bertsize.models" in Path("pyproject.toml").read_text("utf-8")


# one question to a process, where a pipe cannot be waited for


ALLOWED = Allowed(seconds=20.0, memory=512 * MEGABYTE, answer=1000)


def test_a_process_is_asked_on_windows_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_process, "WINDOWS", True)
    (tmp_path / "made.py").write_text("def config(): return {'a': 1}")
    asked = {"root": str(tmp_path), "reference": "made:config", "inner": [], "paths": []}
    assert answer_of("pytest_bertsize.config.by_code", asked, tmp_path, ALLOWED) == {"config": {"a": 1}, "odd": {}}


def test_one_that_does_not_answer_there_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_process, "WINDOWS", True)
    (tmp_path / "made.py").write_text("import os, time\ndef sleeps(): time.sleep(60)\ndef leaves(): os._exit(3)")
    for name, allowed, says in (
        ("sleeps", Allowed(1.0, 0, 0), "it was not done within 1 s"),
        ("leaves", ALLOWED, "its process ended early, with status 3"),
    ):
        with pytest.raises(Lost, match=says):
            answer_of(
                "pytest_bertsize.config.by_code",
                {"root": str(tmp_path), "reference": f"made:{name}", "inner": [], "paths": []},
                tmp_path,
                allowed,
            )


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
