"""Whoever clones a repository has a gate after two commands, and sees a regression after a third."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.conftest import TINY
from tests.support.git_projects import repository
from tests.support.starting_projects import SAVED, changed, lay

INIT = ("-m", "pytest_bertsize", "init", "--write")
GATE = ("-m", "pytest", "--bert-budget", "--bert-budget-no-build")
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 238196\n"
PACKAGE = '[project]\nname = "acme"   # as in the packaging guide\nversion = "1.0"\n\n[tool.pytest.ini_options]\n'


@dataclass
class AtTheDesk:
    """Somebody who types commands in a folder, and how many it took."""

    folder: Path
    typed: list[str] = field(default_factory=list)

    def types(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        self.typed.append(" ".join(arguments))
        return subprocess.run(
            [sys.executable, *arguments], cwd=self.folder, capture_output=True, text=True, check=False
        )


@pytest.fixture
def desk(tmp_path: Path) -> AtTheDesk:
    return AtTheDesk(tmp_path / "clone")


def one_released_model(root: Path) -> None:
    """As on the Hugging Face Hub: config, weights as a pointer, tokenizer, model card."""
    project = repository(root)
    vocabulary = "".join(f"[unused{number}]\n" for number in range(TINY["vocab_size"]))
    lay(
        root, **{"config.json": SAVED, "model.safetensors": POINTER, "vocab.txt": vocabulary, "README.md": "# A BERT\n"}
    )
    project.commit()


def several_configs(root: Path) -> None:
    """A package with its sizes in ``configs``, a pyproject.toml, and what training has left behind."""
    project = repository(root)
    sizes = {"tiny": 101, "mini": 211, "small": 307}
    lay(root, **{f"configs/bert-{name}.json": {**TINY, "vocab_size": size} for name, size in sizes.items()})
    lay(root, **{f"runs/checkpoint-{step}/config.json": {**SAVED, "vocab_size": 307} for step in (500, 1000)})
    lay(root, **{"pyproject.toml": PACKAGE, "configs/deepspeed.json": {"zero": 2}})
    project.commit()


def settings_elsewhere(root: Path) -> None:
    """A research project of 2021: setup.cfg, no pyproject.toml."""
    lay(root, **{"experiments/tagger/model.json": TINY, "tests/test_it.py": "def test_it_works(): pass\n"})
    lay(root, **{"setup.cfg": "[metadata]\nname = acme\n\n[tool:pytest]\ntestpaths = tests\naddopts = -rA\n"})


@pytest.mark.parametrize(
    ("lays", "config", "name", "change", "component"),
    [
        (one_released_model, "config.json", "bert", {"num_hidden_layers": 4}, "encoder"),
        pytest.param(
            *(several_configs, "configs/bert-mini.json", "bert-mini", {"vocab_size": 400}, "embeddings"),
            marks=pytest.mark.process,
        ),
        pytest.param(
            *(settings_elsewhere, "experiments/tagger/model.json", "tagger", {"num_hidden_layers": 4}, "encoder"),
            marks=pytest.mark.process,
        ),
    ],
)
def test_from_an_unknown_repository_to_a_failure_for_a_regression(
    lays: Callable[[Path], None], config: str, name: str, change: dict[str, int], component: str, desk: AtTheDesk
) -> None:
    lays(desk.folder)
    started = desk.types(*INIT)
    assert (started.returncode, name in started.stdout) == (0, True), started.stderr
    passed = desk.types(*GATE)
    assert passed.returncode == 0, passed.stdout
    assert "one more layer" not in passed.stdout
    changed(desk.folder / config, **change)
    failed = desk.types(*GATE)
    assert failed.returncode == 1
    assert f"{name}: " in failed.stdout
    assert f"✗ {component}" in failed.stdout
    assert len(desk.typed) == 3


def test_a_package_in_a_monorepo_is_refused_until_it_is_named(desk: AtTheDesk) -> None:
    lay(desk.folder.parent, **{"pytest.ini": "[pytest]\naddopts = --strict-markers\n"})
    lay(desk.folder, **{"acme/config.json": TINY})
    refused = desk.types(*INIT)
    assert (refused.returncode, refused.stdout, (desk.folder / "pyproject.toml").exists()) == (2, "", False)
    assert desk.types(*INIT, "--project", ".").returncode == 0
    assert (desk.folder / "pyproject.toml").exists()


def test_it_is_started_without_torch(desk: AtTheDesk) -> None:
    several_configs(desk.folder)
    loaded = desk.types("-X", "importtime", *INIT).stderr
    assert "pytest_bertsize.commands.init.command" in loaded
    assert not {"torch", "transformers", "sympy"} & {line.rpartition("|")[2].strip() for line in loaded.splitlines()}
