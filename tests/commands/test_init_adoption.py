"""From a repository that has never heard of us to a red report for a planted regression: three commands at most.

Each layout is one of those that public repositories have. The commands are the real ones, in processes of their own.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from tests.conftest import TINY
from tests.support.git_projects import repository
from tests.support.starting_projects import GOOGLE, SAVED, changed, lay

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MOST_COMMANDS = 3
INIT = ("-m", "pytest_bertsize", "init", "--write")
GATE = ("-m", "pytest", "--bert-budget", "--bert-budget-no-build")
CARD = "---\nlicense: apache-2.0\npipeline_tag: fill-mask\n---\n# A tiny BERT\n"
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 238196\n"
TEST = "def test_it_works(): assert 1 + 1 == 2\n"
TRAINING = {
    "seed": 42,
    "trainer": {"learning_rate": 5e-5, "max_steps": 1_000, "num_layers_to_freeze": 2},
    "model": {"name": "ranker", "bert_config": {**TINY, "architectures": ["BertModel"], "vocab_size": 307}},
}
IN_YAML = "seed: 42\ndata: {max_seq_length: 128}\nmodel:\n" + "".join(
    f"  {key}: {value}\n" for key, value in {**TINY, "vocab_size": 211}.items()
)


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
    lay(root, **{"config.json": SAVED, "model.safetensors": POINTER, "vocab.txt": vocabulary, "README.md": CARD})
    lay(root, **{"tokenizer_config.json": {"do_lower_case": True, "model_max_length": 40}})
    project.commit()


def several_configs(root: Path) -> None:
    """A package with its sizes in ``configs``, a pyproject.toml, and what training has left behind."""
    project = repository(root)
    lay(root, **{f"configs/bert-{name}.json": {**TINY, "vocab_size": size} for name, size in SIZES.items()})
    saved = {**SAVED, "vocab_size": SIZES["small"]}
    lay(root, **{f"runs/ner/checkpoint-{step}/config.json": saved for step in (500, 1000, 1500)})
    lay(root, **{"pyproject.toml": PACKAGE, "tests/test_package.py": TEST, "configs/deepspeed.json": {"zero": 2}})
    project.commit()


SIZES = {"tiny": 101, "mini": 211, "small": 307}
PACKAGE = """\
[build-system]
requires = ["hatchling"]   # as in the packaging guide
build-backend = "hatchling.build"

[project]
name = "acme"
version = "1.0"

[tool.pytest.ini_options]
testpaths = ["tests"]
"""


def training_files(root: Path) -> None:
    """A research project of 2021: setup.py, setup.cfg, configs inside of what its scripts read, no pyproject.toml."""
    project = repository(root)
    lay(
        root,
        **{"experiments/tagger/model.json": TINY, "experiments/train.json": TRAINING, "experiments/mlm.yaml": IN_YAML},
    )
    lay(root, **{"setup.py": "from setuptools import setup\nsetup()\n", "tests/test_train.py": TEST})
    lay(root, **{"setup.cfg": "[metadata]\nname = acme\n\n[tool:pytest]\ntestpaths = tests\naddopts = -rA\n"})
    project.commit()


def googles_release(root: Path) -> None:
    """As Google published BERT: bert_config.json and a TensorFlow checkpoint, with a script that trains on it."""
    files = {f"bert_model.ckpt.{name}": b"x" for name in ("index", "meta", "data-00000-of-00001")}
    lay(root, **{f"uncased_tiny/{name}": content for name, content in files.items()})
    lay(root, **{"uncased_tiny/bert_config.json": GOOGLE, "run.sh": "python train.py --model_type bert\n"})


def a_package_in_a_monorepo(root: Path) -> None:
    """The clone's root has settings of pytest, and this folder is a package in it."""
    lay(root.parent, **{"pytest.ini": "[pytest]\naddopts = --strict-markers\n"})
    lay(root, **{"acme/resources/config.json": TINY, "acme/__init__.py": ""})


DEEPER = {"num_hidden_layers": 4}
LARGER = {"vocab_size": 400}
ALIAS = {"num_hidden_layers": 4, "max_position_embeddings": 1, "vocab_size": 20}
"""A layer more, and 5,900 parameters less beside it: a layer has 16,632."""


@pytest.mark.parametrize(
    ("lays", "config", "name", "change", "component"),
    [
        (one_released_model, "config.json", "bert", DEEPER, "encoder"),
        (training_files, "experiments/tagger/model.json", "tagger", DEEPER, "encoder"),
        *(
            pytest.param(*each, marks=pytest.mark.process)
            for each in (
                (several_configs, "configs/bert-mini.json", "bert-mini", LARGER, "embeddings"),
                (googles_release, "uncased_tiny/bert_config.json", "uncased_tiny", ALIAS, "encoder"),
                (a_package_in_a_monorepo, "acme/resources/config.json", "acme", LARGER, "embeddings"),
            )
        ),
    ],
)
def test_from_an_unknown_repository_to_a_red_report_for_a_regression(
    lays: Callable[[Path], None], config: str, name: str, change: dict[str, int], component: str, desk: AtTheDesk
) -> None:
    lays(desk.folder)
    started = desk.types(*INIT)
    assert (started.returncode, name in started.stdout) == (0, True), started.stderr
    green = desk.types(*GATE)
    assert green.returncode == 0, green.stdout
    assert "one more layer" not in green.stdout
    changed(desk.folder / config, **change)
    red = desk.types(*GATE)
    assert red.returncode == 1
    assert f"{name}: " in red.stdout
    assert f"✗ {component}" in red.stdout
    assert len(desk.typed) <= MOST_COMMANDS


def test_a_regression_in_a_training_file_is_red_as_well(desk: AtTheDesk) -> None:
    training_files(desk.folder)
    assert desk.types(*INIT).stdout == (
        "pyproject.toml, a new file: 3 models declared (mlm, bert, tagger)\nnext: pytest --bert-budget pyproject.toml\n"
    )
    file = desk.folder / "experiments" / "mlm.yaml"
    file.write_text(file.read_text("utf-8").replace("num_hidden_layers: 3", "num_hidden_layers: 4"), encoding="utf-8")
    red = desk.types(*GATE)
    assert red.returncode == 1
    assert "mlm: " in red.stdout
    assert "✗ encoder" in red.stdout
    assert "3 configured, 3 checked, 1 failed" in red.stdout
    assert "PASSED tests/test_train.py::test_it_works" in red.stdout  # by the settings in setup.cfg, which still hold


def test_nothing_is_written_until_it_is_asked_for(desk: AtTheDesk) -> None:
    one_released_model(desk.folder)
    printed = desk.types("-m", "pytest_bertsize", "init")
    assert printed.returncode == 0
    assert not (desk.folder / "pyproject.toml").exists()
    assert desk.types(*INIT).returncode == 0
    assert (desk.folder / "pyproject.toml").read_text("utf-8") == printed.stdout


def test_a_project_elsewhere_is_named(desk: AtTheDesk, tmp_path: Path) -> None:
    several_configs(desk.folder)
    elsewhere = AtTheDesk(tmp_path)
    started = elsewhere.types(*INIT, "--project", "clone")
    assert started.returncode == 0
    assert started.stdout.endswith("next: bertsize check --project clone\n")
    assert (desk.folder / "pyproject.toml").read_text("utf-8").startswith(PACKAGE)
    assert not (tmp_path / "pyproject.toml").exists()


def test_what_was_left_out_is_told_apart_from_the_tables(desk: AtTheDesk) -> None:
    several_configs(desk.folder)
    printed = desk.types("-m", "pytest_bertsize", "init")
    assert "left out" not in printed.stdout
    assert printed.stderr.splitlines()[0] == (
        "left out: runs/ner/checkpoint-1000/config.json and 2 more, copies of configs/bert-small.json in checkpoint folders"
    )


def test_a_repository_without_a_model_says_what_to_write(desk: AtTheDesk) -> None:
    lay(desk.folder, **{"README.md": "# nothing"})
    done = desk.types(*INIT)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(
        "ERROR: no config.json, bert_config.json, JSON or YAML file of a known family was found"
    )
    assert not (desk.folder / "pyproject.toml").exists()


def test_it_is_started_without_torch(desk: AtTheDesk) -> None:
    several_configs(desk.folder)
    loaded = desk.types("-X", "importtime", *INIT).stderr
    assert "pytest_bertsize.commands.init.command" in loaded
    assert not {"torch", "transformers", "sympy"} & {line.rpartition("|")[2].strip() for line in loaded.splitlines()}
