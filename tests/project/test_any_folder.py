"""The tests pass wherever a checkout lies and whatever its shell says of itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LONGEST = 150
SHELL = {"LC_ALL": "C", "TZ": "Pacific/Kiritimati", "COLUMNS": "40", "LINES": "5", "NO_COLOR": "1", "BUILD_NUMBER": "7"}
THAT_PRINT_PATHS = ("tests/commands/test_explain.py", "tests/commands/test_log.py", "tests/builder/test_another.py")


@pytest.mark.process
def test_at_a_long_path_with_a_space_and_an_umlaut_in_another_shell(tmp_path: Path) -> None:
    start = tmp_path / "Grüße aus der Werkstatt"
    checkout = start / ("a" * max(8, LONGEST - len(str(start)) - 1))
    for folder in ("pytest_bertsize", "tests", "examples"):
        shutil.copytree(ROOT / folder, checkout / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", checkout)
    own = {name: value for name, value in os.environ.items() if name != "HOME" and not name.startswith("COV")}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *THAT_PRINT_PATHS]
    marks = ["-m", "not process and not tool and not long"]
    done = subprocess.run(
        [*command, *marks], cwd=checkout, env={**own, **SHELL}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-4_000:]
    assert len(str(checkout)) >= LONGEST
