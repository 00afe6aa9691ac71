"""Tests of what prints paths pass wherever a checkout lies, and whatever its shell sets."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHELL = {"LC_ALL": "C", "TZ": "Pacific/Kiritimati", "COLUMNS": "40", "LINES": "5", "NO_COLOR": "1", "BUILD_NUMBER": "7"}
PRINT_PATHS = (
    "tests/commands/test_explain.py",
    "tests/commands/test_log.py",
    "tests/builder/test_another.py::test_a_python_that_is_too_old_says_so",
)
LENGTH = 150


@pytest.mark.process
def test_a_checkout_passes_at_a_long_path_with_a_space_and_an_umlaut() -> None:
    with tempfile.TemporaryDirectory() as start:
        checkout = Path(start, "ein Gerüst".ljust(LENGTH - len(start) - 1, "x"))
        for folder in ("tests", "examples"):
            shutil.copytree(ROOT / folder, checkout / folder, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", checkout)
        assert len(str(checkout)) >= LENGTH
        shell = {name: value for name, value in os.environ.items() if name != "HOME" and not name.startswith("COV")}
        # -P: the package is the installed one, as its helper's is
        command = [sys.executable, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", *PRINT_PATHS]
        done = subprocess.run(
            [*command, "-m", "not process and not tool and not long"],
            cwd=checkout,
            env=shell | SHELL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == pytest.ExitCode.OK, done.stdout[-4_000:]
