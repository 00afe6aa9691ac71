"""Measure what the gate costs, and print it as Markdown: ``python benchmarks/speed.py``.

The gate over one model, and what it starts from, are measured in each round, in turn; the rest in the first. The import
of the model class, which all is divided by, is measured several times a round. Medians of the rounds decide.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import growth
import inside
import peers
from measuring import REFERENCE, Bound, Line, Samples, Table, megabytes, missed, run, surroundings, times
from projects import ARCHITECTURE, GATE, NO_BUILD, NO_TESTS, PYTEST, many, run_check, run_gate, write_project

if TYPE_CHECKING:
    from growth import Sizes

REMEMBER = "--bert-budget-cache=remembered"
IMPORT_LIBRARY = f"from transformers import {ARCHITECTURE}"

FLOOR = "import gc, os; gc.disable(); {}; os._exit(0)"
"""What no honest build can be faster than: the import, the collector paused and nothing tidied up."""
QUICK = "import json"
"""What stands for the import of the library and of torch at reduced size, where no ratio means anything."""
MOST = {
    "check 1": 0.70,
    f"no-build {growth.USUAL.most}": 0.20,
    "check no-build 1": 0.044,
    f"check no-build {growth.USUAL.most}": 0.12,
}
"""The most wall time, over that of the import of the model class."""
MOST_ABOVE = {
    "gate 1": ("floor", 0.08),
    "remembered 1": ("no-build 1", 0.0315),
    f"remembered {growth.USUAL.most}": (f"no-build {growth.USUAL.most}", 0.0315),
    "no-build 1": ("bare pytest", 0.038),
}
"""What each is measured from, and the most that it may add, over the import: 0.1 and 0.12 s where that takes 3.2.

To the floor, pytest's own start adds half of what the gate may add.
"""


Probes = list[Callable[[], object]]


def probes(samples: Samples, folder: Path, sizes: Sizes, *, quick: bool) -> tuple[Probes, Probes]:
    """Return what is measured in each round, in turn, and what in the first alone."""
    one = write_project(folder / "1", many(1))
    several: Probes = []
    if sizes.most > 1:
        project = write_project(folder / str(sizes.most), many(sizes.most))
        remember = partial(run, *GATE, REMEMBER, folder=project)  # so that it is remembered below
        several = [remember, *_gates(samples, project, str(sizes.most))]
    (folder / "empty").mkdir()
    imported, torch = (QUICK, QUICK) if quick else (IMPORT_LIBRARY, "import torch")
    library = partial(_run, samples, REFERENCE, "-c", imported)
    again: Probes = [] if quick else [library]
    each_round: Probes = [
        library,
        partial(_run, samples, "floor", "-c", FLOOR.format(imported)),
        partial(_bare_pytest, samples, folder / "empty"),
        *_gates(samples, one, "1"),
    ]
    once: Probes = [
        *again,
        partial(_run, samples, "torch", "-c", torch),
        *several,
        *again,
        partial(peers.measure_peers, samples, _config_alone(folder), quick=quick),
        *again,
        *growth.probes(samples, folder / "growth", sizes),
        partial(inside.import_plugins, samples),
        partial(inside.count_modules, samples, one),
        partial(inside.count_builds, samples, folder / "alike"),
        partial(inside.closed_forms, samples),
    ]
    return each_round, once


def _run(samples: Samples, what: str, *arguments: str) -> None:
    samples.note_run(what, run(*arguments))


def _bare_pytest(samples: Samples, folder: Path) -> None:
    process = run(*PYTEST, folder=folder, statuses=(NO_TESTS,))
    samples.note_run("bare pytest", process)


def _gates(samples: Samples, project: Path, count: str) -> Iterator[Callable[[], object]]:
    yield partial(run_gate, samples, f"gate {count}", project)
    yield partial(run_gate, samples, f"remembered {count}", project, REMEMBER)
    yield partial(run_check, samples, f"check {count}", project, "--no-cache")
    yield partial(run_gate, samples, f"no-build {count}", project, NO_BUILD)
    yield partial(run_check, samples, f"check no-build {count}", project, "--no-build")


def _config_alone(folder: Path) -> Path:
    """The config as the libraries' own readers want it: ``config.json``."""
    alone = folder / "alone"
    alone.mkdir()
    (alone / "config.json").write_text((folder / "1" / "model-0.json").read_text())
    return alone


# tables


def tables(samples: Samples, sizes: Sizes) -> list[Table]:
    columns = ("wall time, median (least)", "÷ import", "peak memory", "÷ import", "number")
    return [
        Table("the gate", columns, [*_surroundings(samples), *_gate_lines(samples, sizes)]),
        Table("what one would do instead", columns, list(peers.lines_of_peers(samples))),
        growth.table(samples, sizes),
        inside.idle_table(samples),
        Table("memory", ("peak", "÷ import"), list(_memory(samples, sizes))),
        inside.inside_table(samples),
    ]


def _surroundings(samples: Samples) -> Iterator[Line]:
    named = {
        REFERENCE: f"`{IMPORT_LIBRARY}`",
        "floor": "the same, `gc` disabled, left by `os._exit`: the floor",
        "torch": "`import torch`",
        "bare pytest": "`pytest`, no plugin, no tests",
    }
    return (Line(shown, (*peers.costs(samples, what), "")) for what, shown in named.items())


def _gate_lines(samples: Samples, sizes: Sizes) -> Iterator[Line]:
    commands = {
        "gate": "`pytest --bert-budget`",
        "remembered": "the same, of models that an earlier run built",
        "check": "`python -I -m pytest_bertsize check`",
        "no-build": f"`pytest --bert-budget {NO_BUILD}`",
        "check no-build": "`python -I -m pytest_bertsize check --no-build`",
    }
    for command, shown in commands.items():
        for count in sorted({1, sizes.most}):
            what = f"{command} {count}"
            models = "1 model" if count == 1 else f"{count:,} models"
            figures = (*peers.costs(samples, what), _number(samples.said[what], count))
            yield Line(f"{shown}, {models}", figures, _bound(samples, what))


def _bound(samples: Samples, what: str) -> Bound | None:
    if what in MOST_ABOVE:
        below, most = MOST_ABOVE[what]
        return Bound(samples.above(what, below), most, says=f"above {below} ÷ import")
    return Bound(samples.to_import(what), MOST[what]) if what in MOST else None


def _number(said: str, count: int) -> str:
    if count > 1:
        checked = re.search(r"\d+ checked, \d+ failed", said)
        return checked[0] if checked else "nothing ✗"
    found = re.search(rf"{ARCHITECTURE}\s+([\d,]+)", said)
    return peers.judged(int(found[1].replace(",", ""))) if found else "none ✗"


def _memory(samples: Samples, sizes: Sizes) -> Iterator[Line]:
    library = samples.median(f"{REFERENCE} peak")
    yield Line("the import", (megabytes(library), times(1)))
    for count in sorted({1, sizes.most}):
        for process, whose, most in (("helper", "the helper process", 1.10), ("own", "pytest's own process", 0.30)):
            models = "1 model" if count == 1 else f"{count:,} models"
            key = f"gate {count} {process}"
            ratio = samples.ratio(key, f"{REFERENCE} peak")
            what = f"{whose} in the full gate, {models}"
            yield Line(what, (megabytes(samples.median(key)), times(ratio)), Bound(ratio, most))


# the command


def measured(folder: Path, sizes: Sizes, rounds: int, *, quick: bool) -> Samples:
    samples = Samples()
    each_round, once = probes(samples, folder, sizes, quick=quick)
    if not quick:
        print("warming caches", file=sys.stderr)
        samples.rounds.append({})
        for probe in each_round:
            probe()
        samples.rounds.clear()
    for turn in range(rounds):
        print(f"round {turn + 1} of {rounds}", file=sys.stderr)
        samples.rounds.append({})
        for probe in (*each_round, *(() if turn else once)):
            probe()
    return samples


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure what the gate costs, and hold it to what it may cost.")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="to take the medians of (default: 5)")
    parser.add_argument(
        "--quick", action="store_true", help="one round at reduced size, to see that it works; holds counts, not ratios"
    )
    return parser.parse_args()


def main() -> int:
    given = arguments()
    sizes = growth.REDUCED if given.quick else growth.USUAL
    rounds = 1 if given.quick else max(1, given.rounds)
    with tempfile.TemporaryDirectory() as folder:
        samples = measured(Path(folder), sizes, rounds, quick=given.quick)
    found = tables(samples, sizes)
    reduced = f", at reduced size: these ratios mean nothing, {QUICK} is what is imported" if given.quick else ""
    imports = f"{REFERENCE} seconds"
    noise = f"its slowest import of the class took {samples.spread(imports):.0%} longer than its fastest"
    print(f"{surroundings()}; medians of {rounds} round{'s' if rounds > 1 else ''}{reduced}; {noise}", end="\n\n")
    print("\n\n".join(map(str, found)), peers.NOTE, sep="\n\n")
    misses = missed(found, only_counts=given.quick)
    for what in misses:
        print(f"MISSED: {what}", file=sys.stderr)
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())
