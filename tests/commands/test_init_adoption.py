"""Whoever clones a repository has a gate after two commands, and sees a regression after a third."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import TINY
from tests.support.git_projects import repository
from tests.support.starting_projects import SAVED, changed, lay

INIT = ("-m", "pytest_bertsize", "init", "--write")
GATE = ("-m", "pytest", "--bert-budget", "--bert-budget-no-build")
PACKAGE = '[project]\nname = "acme"   # as in the packaging guide\nversion = "1.0"\n\n[tool.pytest.ini_options]\n'


def several_configs(root: Path) -> None:
    """A package with its sizes in ``configs``, a pyproject.toml, and what training has left behind."""
    project = repository(root)
    sizes = {"tiny": 101, "mini": 211, "small": 307}
    lay(root, **{f"configs/bert-{name}.json": {**TINY, "vocab_size": size} for name, size in sizes.items()})
    lay(root, **{f"runs/checkpoint-{step}/config.json": {**SAVED, "vocab_size": 307} for step in (500, 1000)})
    lay(root, **{"pyproject.toml": PACKAGE, "configs/deepspeed.json": {"zero": 2}})
    project.commit()


@pytest.mark.process
def test_from_an_unknown_repository_to_a_failure_for_a_regression_in_three_commands(tmp_path: Path) -> None:
    def types(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)

    several_configs(tmp_path)
    started = types("-X", "importtime", *INIT)
    assert (started.returncode, "bert-mini" in started.stdout) == (0, True), started.stderr
    loaded = {line.rpartition("|")[2].strip() for line in started.stderr.splitlines()}
    assert "pytest_bertsize.commands.init.command" in loaded
    assert not {"torch", "transformers", "sympy"} & loaded
    passed = types(*GATE)
    assert passed.returncode == 0, passed.stdout
    assert "one more layer" not in passed.stdout
    changed(tmp_path / "configs/bert-mini.json", vocab_size=400)
    failed = types(*GATE)
    assert (failed.returncode, "bert-mini: " in failed.stdout, "✗ embeddings" in failed.stdout) == (1, True, True)
