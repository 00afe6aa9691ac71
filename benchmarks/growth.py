"""How time and memory grow with models, layers and labels, plain and under pytest-xdist."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from measuring import REFERENCE, Bound, Line, Samples, Table, added, is_installed, megabytes, seconds, shape, slope
from projects import (
    NO_BUILD,
    deep,
    labelled,
    many,
    run_check,
    run_gate,
    run_log,
    write_changed,
    write_history,
    write_project,
)

TWO_WORKERS = ("-p", "xdist", "-n", "2")
MOST_OF_A_BASE = 0.0031
"""What a base may add for one model, over the import of the model class: 10 ms where that takes 3.2 s."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes to measure; the smallest of each comes first."""

    models: Sequence[int]
    models_built: Sequence[int]
    layers: Sequence[int]
    labels: Sequence[int]
    most: int = 100
    """Models in the project that stands for many, with and without a build."""
    commits: Sequence[int] = (1, 100, 1_000)
    builds_all: bool = True
    """Whether deep models and those of many labels are built too, and many models under ``-n 2``."""


USUAL = Sizes((1, 10, 100, 1_000), (1, 10, 100), (12, 96, 1_000), (2, 100_000, 1_000_000))
REDUCED = Sizes((1, 3), (1,), (12, 24), (2, 1_000, 1_000_000), most=1, commits=(1, 3), builds_all=False)


@dataclass(frozen=True, slots=True)
class Series:
    """One line: the same at several sizes."""

    what: str
    unit: str
    sizes: Sequence[int]
    models: Callable[[int], Mapping[str, Mapping[str, object]]]
    options: tuple[str, ...] = ()
    most: float | None = None
    """The most that the largest size that passes may take, over the smallest."""
    memory_of: str = "own"

    def key(self, size: int) -> str:
        """``gate 1`` and its kin are measured elsewhere too: once is enough."""
        built = "no-build" if NO_BUILD in self.options else "gate"
        workers = " -n 2" if "-n" in self.options else ""
        if self.unit == "model" or self.models(size) == many(1):
            return f"{built}{workers} {size if self.unit == 'model' else 1}"
        return f"{built}{workers} {self.unit} {size}"


def series(sizes: Sizes) -> list[Series]:
    fast = (NO_BUILD,)
    found = [
        Series("models, no build", "model", sizes.models, many, fast, most=10),
        Series("models, full", "model", sizes.models_built, many, most=3),
        Series("layers, no build", "layer", sizes.layers, deep, fast, most=1.25),
        Series("layers, full", "layer", sizes.layers, deep, memory_of="helper"),
        Series("labels, no build", "label", sizes.labels, labelled, fast, most=1.25),
        Series("labels, full", "label", sizes.labels, labelled, memory_of="helper"),
    ]
    return [each for each in found if sizes.builds_all or each.unit == "model" or each.options]


def probes(samples: Samples, folder: Path, sizes: Sizes) -> Iterator[Callable[[], object]]:
    """Each process of the table, once."""
    folder.mkdir()

    def project(one: Series, size: int) -> Path:
        path = folder / f"{one.unit}-{size}"
        return path if path.exists() else write_project(path, one.models(size))

    keys: set[str] = {"gate 1", f"gate {sizes.most}", "no-build 1", f"no-build {sizes.most}"}
    for one in series(sizes):
        for size in one.sizes:
            if one.key(size) not in keys:
                keys.add(one.key(size))
                yield partial(run_gate, samples, one.key(size), project(one, size), *one.options, may_fail=True)
    changed = write_changed(folder / "changed", sizes.most)
    for base in ("none", "HEAD^"):
        yield partial(run_check, samples, f"base {base}", changed, "--no-build", "--base", base)
    for count in sizes.commits:
        yield partial(run_log, samples, f"log {count}", write_history(folder / f"commits-{count}", count))
    if is_installed("xdist") and sizes.builds_all:
        everything = project(series(sizes)[0], sizes.most)
        yield partial(run_gate, samples, "gate -n 2", everything, *TWO_WORKERS)
        yield partial(run_gate, samples, "no-build -n 2", everything, *TWO_WORKERS, NO_BUILD)


def table(samples: Samples, sizes: Sizes) -> Table:
    lines = [*(_line(samples, one) for one in series(sizes)), _base(samples, sizes), _log(samples, sizes.commits)]
    columns = ("wall time by size", "one more", "grows", "memory of one more")
    return Table("growth", columns, [*lines, *_workers(samples, sizes)])


def _line(samples: Samples, one: Series) -> Line:
    """Those sizes count that passed; what is refused says so."""
    passed = [size for size in one.sizes if not samples.statuses[one.key(size)]]
    shown = [
        f"{size:,}: {seconds(samples.median(f'{one.key(size)} seconds'))}{'' if size in passed else ' (refused)'}"
        for size in one.sizes
    ]
    if passed in ([], [one.sizes[0]]):
        return Line(one.what, (" · ".join(shown), "", "", ""))
    first, last = one.key(passed[0]), one.key(passed[-1])
    time = [samples.median(f"{one.key(size)} seconds") for size in passed]
    memory = [samples.median(f"{one.key(size)} {one.memory_of}") for size in passed]
    whose = {"own": "pytest", "helper": "helper"}[one.memory_of]
    figures = (
        " · ".join(shown),
        added(slope(passed, time) * 1e3, "ms"),
        shape(passed, time),
        f"{added(slope(passed, memory) / 1e3, 'kB')} ({whose})",
    )
    ratio = samples.ratio(f"{last} seconds", f"{first} seconds")
    return Line(one.what, figures, Bound(ratio, one.most, says="last ÷ first") if one.most else None)


def _base(samples: Samples, sizes: Sizes) -> Line:
    """Models that have all changed since the base, beside the same without one."""
    without, based = (samples.median(f"base {base} seconds") for base in ("none", "HEAD^"))
    figures = (f"none: {seconds(without)} · HEAD^: {seconds(based)}", added((based - without) / sizes.most * 1e3, "ms"))
    share = (based - without) / samples.median(f"{REFERENCE} seconds")
    bound = Bound(share, MOST_OF_A_BASE * sizes.most, says="added ÷ import")
    return Line(f"`check --no-build --base`, {sizes.most:,} models", (*figures, "", ""), bound)


def _log(samples: Samples, commits: Sequence[int]) -> Line:
    """Commits that change a model, each of them another size."""
    time = [samples.median(f"log {count} seconds") for count in commits]
    shown = " · ".join(f"{count:,}: {seconds(each)}" for count, each in zip(commits, time, strict=True))
    figures = (shown, added(slope(commits, time) * 1e3, "ms"), shape(commits, time), "")
    bound = Bound(samples.to_import(f"log {commits[-1]}"), 1, says="last ÷ import")
    return Line("commits, `bertsize log`", figures, bound)


def _workers(samples: Samples, sizes: Sizes) -> Iterator[Line]:
    for what, plain in (("gate -n 2", "gate"), ("no-build -n 2", "no-build")):
        name = f"{sizes.most:,} models under `-n 2`, {'full' if plain == 'gate' else 'no build'}"
        if not samples.has(f"{what} seconds"):
            yield Line(name, ("pytest-xdist is not installed, or left out at reduced size", "", "", ""))
            continue
        both = f"{seconds(samples.median(f'{what} seconds'))}"
        ratio = samples.ratio(f"{what} seconds", f"{plain} {sizes.most} seconds")
        own, child = (megabytes(samples.median(f"{what} {each}")) for each in ("own", "helper"))
        yield Line(name, (both, "", f"{ratio:.2f} × one process", f"controller {own}, largest child {child}"))
