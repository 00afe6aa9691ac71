"""Measure what the gate costs, and hold it to what it may cost: ``python benchmarks/speed.py [--repeat N]``.

Everything is measured once a round, in turn, so that a busy machine slows down both sides of a ratio; medians decide.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from pytest_bertsize.build.helper import Helper
from pytest_bertsize.check import Subject, conclude, examine
from pytest_bertsize.closed_forms import FAMILIES, ClosedForm, Family
from pytest_bertsize.closed_forms.dims import Dims
from pytest_bertsize.closed_forms.registry import Registry
from pytest_bertsize.model_config import ModelConfig
from pytest_bertsize.settings import Settings, load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias

    from pytest_bertsize.build.messages import Built, NotBuilt

    Samples: TypeAlias = Iterator[tuple[str, float]]

ARCHITECTURE = "BertForMaskedLM"
MANY = 100
"""Models in the project that declares many."""
IMPORTS = 5
"""Imports of the plugin in a round, each in a process of its own."""
PAIRS = 8
"""BERT-base and BERT-large in a round, built in turn by one helper process."""

BASE = {
    "model_type": "bert",
    "architectures": [ARCHITECTURE],
    "vocab_size": 30_522,
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3_072,
    "max_position_embeddings": 512,
    "type_vocab_size": 2,
    "hidden_act": "gelu",
    "pad_token_id": 0,
}
"""bert-base-uncased."""
LARGE = BASE | {"hidden_size": 1_024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4_096}
"""bert-large-uncased."""

IMPORT_PLUGIN = """
import pytest
from time import process_time
start = process_time()
import pytest_bertsize.plugin
print(process_time() - start)
"""
IMPORT_LIBRARY = f"from transformers import {ARCHITECTURE}"

ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""Compiled modules are kept, as they are wherever a package is installed: else every process compiles them anew."""

NOTE_PEAKS = """
import json, pathlib, resource, pytest

@pytest.hookimpl(tryfirst=True)  # cleanups run last in, first out: this one when the helper process is gone
def pytest_configure(config):
    config.add_cleanup(note_peaks)

def note_peaks():
    peaks = [resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    pathlib.Path("peaks.json").write_text(json.dumps(peaks))
"""
"""A conftest.py that notes the peak memory of pytest's own process and of its largest child, the helper process."""


# projects


def write_project(folder: Path, models: dict[str, dict[str, object]]) -> Path:
    """A project that declares ``models``, name → config."""
    folder.mkdir()
    (folder / "conftest.py").write_text(NOTE_PEAKS)
    table = ["[tool.pytest]"]
    for name, config in models.items():
        (folder / f"{name}.json").write_text(json.dumps(config))
        table += [f"[tool.bertsize.models.{name}]", f'config = "{name}.json"', 'budget.total = "3B"']
    (folder / "pyproject.toml").write_text("\n".join(table))
    return folder


# processes


@dataclass(frozen=True, slots=True)
class Run:
    """What one process took: wall seconds, peak memory in bytes, and what it printed."""

    seconds: float
    peak: int
    output: str


def run(*arguments: str, folder: Path | None = None) -> Run:
    """Run this interpreter.

    :raises SystemExit: when it fails; its figures would mean nothing.
    """
    start = perf_counter()
    process = subprocess.Popen(
        [sys.executable, *arguments], cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    with process.stdout:
        output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(arguments)} ended with status {process.returncode}\n{output}")
    return Run(seconds, in_bytes(usage.ru_maxrss), output)


def in_bytes(maxrss: int) -> int:
    """``ru_maxrss`` is in bytes on macOS, in KiB elsewhere."""
    return maxrss if sys.platform == "darwin" else maxrss * 1024


def run_gate(project: Path) -> Run:
    return run("-m", "pytest", "-p", "no:cacheprovider", "--bert-budget", folder=project)


# samples: what was measured, and how many seconds or bytes it took


def import_of_plugin() -> Samples:
    for _ in range(IMPORTS):
        yield "plugin import", float(run("-c", IMPORT_PLUGIN).output)


def import_of_library() -> Samples:
    library = run("-c", IMPORT_LIBRARY)
    yield "library import", library.seconds
    yield "library peak", library.peak


def gate_over_one(project: Path) -> Samples:
    yield "gate over one", run_gate(project).seconds
    own, helper = json.loads((project / "peaks.json").read_text())
    yield "pytest peak", in_bytes(own)
    yield "helper peak", in_bytes(helper)


def gate_over_many(project: Path) -> Samples:
    yield "gate over many", run_gate(project).seconds


def builds(subjects: dict[str, Subject], settings: Settings) -> Samples:
    """From one answer of a helper process to the next, and what this side does for the same model."""
    helper = Helper()
    try:
        for name, built, seconds in answers(helper, subjects):
            yield f"{name} built", seconds
            yield f"{name} reviewed", seconds_of(partial(review, name, built, settings))
    finally:
        helper.stop()


def answers(helper: Helper, subjects: dict[str, Subject]) -> list[tuple[str, Built | NotBuilt, float]]:
    """Which model, what was built, and how long after the answer before it; the first, a warm-up, is left out."""
    asked = [
        (name, replace(subject.request, name=f"{name}-{turn}"))
        for turn in range(PAIRS)
        for name, subject in subjects.items()
        if subject.request
    ]
    helper.ask([request for _, request in asked])
    answered = [(name, helper.result(request.name), perf_counter()) for name, request in asked]
    return [(name, built, now - before) for (_, _, before), (name, built, now) in pairwise(answered)]


def review(name: str, built: Built | NotBuilt, settings: Settings) -> None:
    reviewed = conclude(examine(settings.models[name], settings, Registry()), built, settings)
    assert reviewed.verdict == "passed", reviewed.headline


def counting(forms: list[ClosedForm]) -> Samples:
    """The slowest of all closed forms, each counted afresh."""
    yield "closed form", max(seconds_of(partial(count, form)) for form in forms)


def count(form: ClosedForm) -> int:
    return ClosedForm(form.architecture, form.dims).total


def deepest() -> list[ClosedForm]:
    """Every architecture of every family, a thousand layers deep."""
    return [
        ClosedForm(architecture, Dims(values.sizes, {**values.switches, **architecture.options}))
        for family in FAMILIES.values()
        for architecture in family.architectures
        for values in [family.resolve(a_thousand_layers(family), {}, architecture)]
    ]


def a_thousand_layers(family: Family) -> ModelConfig:
    """The library's defaults, but for the depth; what has no default is BERT's."""
    depth = {size.key: 1_000 for size in family.keys.sizes if size.repeats and size.default is not None}
    sides = {side: {"model_type": "bert", "num_hidden_layers": 1_000} for side in ("encoder", "decoder")}
    words = {"vocab_size": 30522} if family.name == "esm" else {}
    data = {"model_type": family.name, **words, **(sides if family.name == "encoder-decoder" else depth)}
    return ModelConfig("config.json", (), data, json.dumps(data), "")


def seconds_of(action: Callable[[], object]) -> float:
    start = perf_counter()
    action()
    return perf_counter() - start


# bounds


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table."""

    what: str
    measured: float
    bound: float
    unit: str

    @property
    def is_within(self) -> bool:
        return self.measured <= self.bound

    def __str__(self) -> str:
        measured, bound = (f"{value:,.2f} {self.unit}" for value in (self.measured, self.bound))
        return f"{self.what:<60} {measured:>11} {bound:>11}  {'ok' if self.is_within else 'MISSED'}"


def figures(median: dict[str, float]) -> list[Figure]:
    large = sum(median[f"large {step}"] - median[f"base {step}"] for step in ("built", "reviewed"))
    many = median["gate over many"] - median["gate over one"]
    wall = median["gate over one"] / median["library import"]
    peak = median["helper peak"] / median["library peak"]
    return [
        Figure("import of the plugin where pytest is loaded", median["plugin import"] * 1e3, 1, "ms"),
        Figure(f"gate over BERT-base ÷ import of {ARCHITECTURE}, wall time", wall, 0.75, "×"),
        Figure("its helper process ÷ the same import, peak memory", peak, 1.10, "×"),
        Figure("its pytest process, peak memory", median["pytest peak"] / 1e6, 80, "MB"),
        Figure("BERT-large rather than BERT-base, built and reviewed", large * 1e3, 20, "ms"),
        Figure(f"gate over {MANY} models rather than one, wall time", many, 2, "s"),
        Figure("the slowest of all closed forms, 1,000 layers deep, counted", median["closed form"] * 1e3, 1, "ms"),
    ]


# the command


def probes(folder: Path) -> list[Callable[[], Samples]]:
    one = write_project(folder / "one", {"base": BASE})
    many = write_project(folder / "many", {f"base-{number}": BASE for number in range(MANY)})
    settings = load(write_project(folder / "sizes", {"base": BASE, "large": LARGE}) / "pyproject.toml")
    subjects = {name: examine(model, settings, Registry()) for name, model in settings.models.items()}
    return [
        import_of_plugin,
        import_of_library,
        partial(gate_over_one, one),
        partial(gate_over_many, many),
        partial(builds, subjects, settings),
        partial(counting, deepest()),
    ]


def medians(folder: Path, rounds: int) -> dict[str, float]:
    """Of every sample; the round before the first warms caches and does not count."""
    samples: dict[str, list[float]] = {}
    every = probes(folder)
    for turn in range(rounds + 1):
        print(f"round {turn} of {rounds}", file=sys.stderr)
        for what, value in (sample for probe in every for sample in probe()):
            samples.setdefault(what, []).extend([value] if turn else [])
    return {what: statistics.median(values) for what, values in samples.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure what the gate costs, and hold it to what it may cost.")
    parser.add_argument("--repeat", type=int, default=5, metavar="N", help="rounds to take the medians of (default: 5)")
    with tempfile.TemporaryDirectory() as folder:
        median = medians(Path(folder), max(1, parser.parse_args().repeat))
    table = figures(median)
    print(f"{'what':<60} {'measured':>11} {'bound':>11}  ok?", *table, "", "medians:", *raw(median), sep="\n")
    return 0 if all(figure.is_within for figure in table) else 1


def raw(median: dict[str, float]) -> Iterator[str]:
    """The medians behind the table."""
    for what, value in median.items():
        shown = f"{value / 1e6:,.1f} MB" if what.endswith("peak") else f"{value * 1e3:,.3f} ms"
        yield f"  {what:<16} {shown:>14}"


if __name__ == "__main__":
    sys.exit(main())
