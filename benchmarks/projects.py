"""Projects to run the gate over, and the commands that do."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

from measuring import Run, Samples, in_bytes, run

ARCHITECTURE = "BertForMaskedLM"
RIGHT = 102_290_312
"""Parameters of CHINESE, its tied decoder counted once: by hand, as examples/a-by-hand ends."""

CHINESE: dict[str, object] = {
    "model_type": "bert",
    "architectures": [ARCHITECTURE],
    "vocab_size": 21_128,
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3_072,
    "max_position_embeddings": 512,
    "type_vocab_size": 2,
    "hidden_act": "gelu",
    "pad_token_id": 0,
}
"""bert-base-chinese: BERT-base with a vocabulary of 21,128."""

AUTHOR = "-c user.name=A -c user.email=a@example.org"
NOTE_PEAKS = """
import atexit, json, pathlib, resource

def pytest_configure(config):
    if not hasattr(config, "workerinput"):
        atexit.register(note_peaks)  # when the helper process is gone

def note_peaks():
    peaks = [resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    pathlib.Path("peaks.json").write_text(json.dumps(peaks))
"""
"""A conftest.py that notes the peak memory of pytest's own process and of its largest child, the helper process."""


def many(count: int) -> dict[str, dict[str, object]]:
    """Models of different sizes: none is built for another."""
    return {f"model-{number}": CHINESE | {"vocab_size": 21_128 + number} for number in range(count)}


def alike(count: int) -> dict[str, dict[str, object]]:
    return {f"model-{number}": CHINESE for number in range(count)}


def deep(layers: int) -> dict[str, dict[str, object]]:
    return {"deep": CHINESE | {"num_hidden_layers": layers}}


def labelled(labels: int) -> dict[str, dict[str, object]]:
    return {"labelled": CHINESE | {"architectures": ["BertForSequenceClassification"], "num_labels": labels}}


def write_project(folder: Path, models: Mapping[str, Mapping[str, object]]) -> Path:
    """A project that declares ``models``, name → config."""
    folder.mkdir()
    (folder / "conftest.py").write_text(NOTE_PEAKS)
    table = ["[tool.pytest.ini_options]", 'minversion = "8.2"']
    for name, config in models.items():
        (folder / f"{name}.json").write_text(json.dumps(config))
        table += [f"[tool.bertsize.models.{name}]", f'config = "{name}.json"', 'budget.total = "30B"']
    (folder / "pyproject.toml").write_text("\n".join(table))
    return folder


def write_changed(folder: Path, count: int) -> Path:
    """A project each of whose models has a layer more than in the commit before the last."""
    write_project(folder, many(count))
    _git(folder, "init -q -b main", "add -A", f"{AUTHOR} commit -q -m twelve")
    for name, config in many(count).items():
        (folder / f"{name}.json").write_text(json.dumps(config | {"num_hidden_layers": 13}))
    _git(folder, f"{AUTHOR} commit -q -a -m thirteen")
    return folder


def write_history(folder: Path, commits: int) -> Path:
    """A project whose model has another size in each commit."""
    write_project(folder, many(1))
    ((name, config),) = many(1).items()
    table = (folder / "pyproject.toml").read_text()
    parts = []
    for number in range(commits):
        files = {f"{name}.json": json.dumps(config | {"vocab_size": 21_128 + number})}
        parts.append(f"commit refs/heads/main\ncommitter A <a@example.org> {10**9 + number} +0000\ndata 1\nx\n")
        for path, text in (files if number else {**files, "pyproject.toml": table}).items():
            parts.append(f"M 644 inline {path}\ndata {len(text.encode())}\n{text}\n")
    _git(folder, "init -q -b main", "fast-import --quiet", "reset -q --hard", said="".join(parts))
    return folder


def _git(folder: Path, *commands: str, said: str = "") -> None:
    for command in commands:
        git = ["git", *command.split()]
        subprocess.run(git, cwd=folder, input=said, text=True, check=True)


def run_log(samples: Samples, what: str, project: Path) -> None:
    samples.note_run(what, run("-I", "-m", "pytest_bertsize", "log", folder=project))


def run_gate(samples: Samples, what: str, project: Path, *options: str, may_fail: bool = False) -> Run:
    """The gate under pytest, without any other plugin; notes time, and memory process by process."""
    process = run(*GATE, *options, folder=project, statuses=(0, 1) if may_fail else (0,))
    samples.note_run(what, process)
    own, helper = json.loads((project / "peaks.json").read_text())
    samples.note(f"{what} own", in_bytes(own))
    samples.note(f"{what} helper", in_bytes(helper))
    return process


def run_check(samples: Samples, what: str, project: Path, *options: str) -> None:
    samples.note_run(what, run("-I", "-m", "pytest_bertsize", "check", *options, folder=project))


PYTEST = ("-m", "pytest", "-p", "no:cacheprovider")
NO_TESTS = 5
"""pytest's exit status where it found none."""
GATE = (*PYTEST, "-p", "pytest_bertsize.plugin", "--bert-budget")
NO_BUILD = "--bert-budget-no-build"
