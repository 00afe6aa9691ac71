"""Processes, what they took, and the lines of a table that say so."""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from time import perf_counter

REFERENCE = "import"
"""The sample that others are divided by: the bare import of the model class, several times a round."""
PACKAGES = ("torch", "transformers", "pytest", "pytest-xdist", "pytest-cov", "torchinfo", "fvcore", "accelerate")
OF_THE_RUN = ("GITHUB_", "CI_", "GITLAB_CI", "PYTEST_", "COVERAGE_", "PYTHONDONTWRITEBYTECODE")
"""Variables that would change what is measured: CI gives the gate a base, and compiled modules have to be kept."""
FLAT = 0.10
"""What is added over all sizes, of what the smallest takes, up to which growth is called flat."""
FINE = 0.1
"""A bound below this is printed to three places."""
STEEPER = 2.0
"""The slope of the last step over that of the steps before, from which growth is called steeper than linear."""

ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(OF_THE_RUN)} | {
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"
}


@dataclass(frozen=True, slots=True)
class Run:
    """One process: wall seconds, peak memory in bytes of it or its largest child, and what it printed."""

    seconds: float
    peak: int
    output: str
    errors: str
    status: int


def run(*arguments: str, folder: Path | None = None, statuses: Collection[int] = (0,)) -> Run:
    """Run this interpreter.

    :param statuses: those that are expected; none for any.
    :raises SystemExit: for any other; its figures would mean nothing.
    """
    with tempfile.TemporaryFile("w+") as errors:
        start = perf_counter()
        process = subprocess.Popen(
            [sys.executable, *arguments], cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=errors, text=True
        )
        assert process.stdout
        with process.stdout:
            output = process.stdout.read()
        _, waited, usage = os.wait4(process.pid, 0)
        seconds = perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(waited)
        errors.seek(0)
        said = errors.read()
    if statuses and process.returncode not in statuses:
        raise SystemExit(f"{' '.join(arguments)} ended with status {process.returncode}\n{output}\n{said}")
    return Run(seconds, in_bytes(usage.ru_maxrss), output, said, process.returncode)


def in_bytes(maxrss: int) -> int:
    """``ru_maxrss`` is in bytes on macOS, in KiB elsewhere."""
    return maxrss if sys.platform == "darwin" else maxrss * 1024


def seconds_of(action: Callable[[], object]) -> float:
    start = perf_counter()
    action()
    return perf_counter() - start


def is_installed(module: str) -> bool:
    return find_spec(module) is not None


@dataclass
class Samples:
    """Every sample, round by round, and the last thing that each process printed."""

    rounds: list[dict[str, list[float]]] = field(default_factory=list)
    said: dict[str, str] = field(default_factory=dict)
    statuses: dict[str, int] = field(default_factory=dict)

    def note(self, what: str, value: float) -> None:
        self.rounds[-1].setdefault(what, []).append(value)

    def note_run(self, what: str, process: Run) -> None:
        self.note(f"{what} seconds", process.seconds)
        self.note(f"{what} peak", process.peak)
        self.said[what] = process.output
        self.statuses[what] = process.status

    def has(self, what: str) -> bool:
        return any(what in each for each in self.rounds)

    def median(self, what: str) -> float:
        return statistics.median(row[0] for row in self._by_round(what))

    def least(self, what: str) -> float:
        return min(min(each[what]) for each in self.rounds if what in each)

    def spread(self, what: str) -> float:
        """Return by how much the largest sample exceeds the smallest, as a share of the smallest."""
        return max(max(each[what]) for each in self.rounds if what in each) / self.least(what) - 1

    def ratio(self, what: str, to: str) -> float:
        """Each round's by itself, as a busy machine slows down both sides; then the median of the rounds."""
        return statistics.median(one / other for one, other in self._by_round(what, to))

    def above(self, what: str, below: str) -> float:
        """Return by how much one takes longer than another, over the import of the model class."""
        rounds = self._by_round(*(f"{each} seconds" for each in (what, below, REFERENCE)))
        return statistics.median((one - other) / reference for one, other, reference in rounds)

    def to_import(self, what: str, of: str = "seconds") -> float:
        return self.ratio(f"{what} {of}", f"{REFERENCE} {of}")

    def _by_round(self, *whats: str) -> Iterator[list[float]]:
        """Yield the median of each, for each round that has all of them."""
        rounds = (each for each in self.rounds if each.keys() >= {*whats})
        return ([statistics.median(each[what]) for what in whats] for each in rounds)


@dataclass(frozen=True, slots=True)
class Bound:
    """The most that a ratio or a count may be."""

    measured: float
    most: float
    is_count: bool = False
    says: str = ""

    @property
    def is_held(self) -> bool:
        return self.measured <= self.most

    def __str__(self) -> str:
        places = 2 if self.most >= FINE else 3
        shown = f"{self.most:,.0f}" if self.is_count else f"{self.most:.{places}f} ×"
        what = f"{self.says} {self.measured:.{places}f} " if self.says else ""
        return f"{what}≤ {shown} {'ok' if self.is_held else 'MISSED'}"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a table: what, its figures as text, and its bound."""

    what: str
    figures: Sequence[str]
    bound: Bound | None = None

    def __str__(self) -> str:
        return "| " + " | ".join((self.what, *self.figures, str(self.bound or ""))) + " |"


@dataclass(frozen=True, slots=True)
class Table:
    """Lines of one kind."""

    title: str
    columns: Sequence[str]
    lines: Sequence[Line]

    def __str__(self) -> str:
        head = "| " + " | ".join((self.title, *self.columns, "bound")) + " |"
        rule = "|---|" + "--:|" * len(self.columns) + "---|"
        return "\n".join((head, rule, *map(str, self.lines)))


def missed(tables: Sequence[Table], *, only_counts: bool) -> list[str]:
    """The lines whose bound is not held."""
    return [
        line.what
        for table in tables
        for line in table.lines
        if line.bound and not line.bound.is_held and (line.bound.is_count or not only_counts)
    ]


def seconds(value: float) -> str:
    return f"{value:.2f} s" if value >= 1 else f"{value * 1e3:.0f} ms"


def megabytes(value: float) -> str:
    return f"{value / 1e6:,.0f} MB"


def times(value: float) -> str:
    return f"{value:.2f} ×"


def added(value: float, unit: str) -> str:
    """Return what one more costs; nothing where the noise is larger."""
    return f"{value:,.3g} {unit}" if value > 0 else f"0 {unit}"


def slope(sizes: Sequence[int], values: Sequence[float]) -> float:
    """Return what one more adds: least squares."""
    return statistics.linear_regression(sizes, values).slope


def shape(sizes: Sequence[int], values: Sequence[float]) -> str:
    """Name how values grow with sizes: flat, linear or steeper than linear."""
    smallest, before_last, last = values[0], values[-2], values[-1]
    if last - smallest <= FLAT * smallest:
        return "flat"
    if before_last - smallest <= FLAT * smallest:
        return "at most linear" if last / before_last <= sizes[-1] / sizes[-2] else "steeper than linear"
    slopes = [(b - a) / (n - m) for (m, a), (n, b) in pairwise(zip(sizes, values, strict=True))]
    earlier = (before_last - smallest) / (sizes[-2] - sizes[0])
    return "linear" if slopes[-1] <= STEEPER * earlier else "steeper than linear"


def surroundings() -> str:
    """When, on which machine, and with which versions."""
    versions = ", ".join(f"{name} {found}" for name in PACKAGES if (found := _version(name)))
    machine = f"{_processor()}, {os.cpu_count()} cores, {_memory()}, {platform.system()} {platform.release()}"
    return f"{datetime.now(UTC):%Y-%m-%d}: {machine}; Python {platform.python_version()}, {versions}"


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    described = Path("/proc/cpuinfo")
    lines = described.read_text().splitlines() if described.exists() else []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or platform.machine()


def _memory() -> str:
    return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 1024**3:.0f} GiB"
