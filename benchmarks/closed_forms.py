"""Hold every closed form against what transformers builds, a thousand configs for each family.

    python -m benchmarks.closed_forms [--configs 1000] [--processes 2] [FAMILY ...]

Draws configs over every field that counts, unusual sizes and each boolean both ways, compares tensor by tensor (name,
shape, tie, trainable), and prints a table of mismatches as Markdown. Exit status 1 where there is one.
"""

from __future__ import annotations

import argparse
import logging
import math
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from time import perf_counter

import torch
import transformers
from hypothesis import HealthCheck, Phase, given, seed, settings

from pytest_bertsize.closed_forms import FAMILIES
from tests.support.family_configs import Case, cases, mismatch


@dataclass(frozen=True)
class Row:
    """The comparison of one family."""

    family: str
    architectures: int
    configs: int
    tensors: int
    mismatches: list[str]
    seconds: float

    def __str__(self) -> str:
        counts = f"{self.architectures} | {self.configs:,} | {self.tensors:,} | {len(self.mismatches)}"
        return f"| {self.family} | {counts} | {self.seconds:.0f} |"


def main() -> int:
    options = arguments()
    unknown = [name for name in options.families if name not in FAMILIES]
    if unknown:
        sys.exit(f"there is no family {', '.join(unknown)}; there are {', '.join(FAMILIES)}")
    names = options.families or list(FAMILIES)
    print(f"transformers {transformers.__version__}, torch {torch.__version__}, Python {sys.version.split()[0]}\n")
    print("| family | architectures | configs | tensors compared | mismatches | seconds |")
    print("|---|--:|--:|--:|--:|--:|", flush=True)
    rows = []
    with ProcessPoolExecutor(options.processes) as pool:
        for row in pool.map(examine, names, repeat(options.configs), repeat(options.seed)):
            rows.append(row)
            print(row, flush=True)
    wrong = [f"{row.family}: {each}" for row in rows for each in row.mismatches]
    sums = (sum(getattr(row, of) for row in rows) for of in ("architectures", "configs", "tensors"))
    architectures, configs, tensors = sums
    print(Row(f"{len(rows)} families", architectures, configs, tensors, wrong, sum(row.seconds for row in rows)))
    print("", *wrong[:20], sep="\n")
    return 1 if wrong or not all(row.configs >= options.configs for row in rows) else 0


def examine(family: str, configs: int, number: int) -> Row:
    """Compare ``configs`` configs, shared out among the family's architectures."""
    logging.disable(logging.WARNING)
    began = perf_counter()
    architectures = [architecture.name for architecture in FAMILIES[family].architectures]
    each = math.ceil(configs / len(architectures))
    compared: list[int] = []
    mismatches: list[str] = []
    for architecture in architectures:
        _compare(family, architecture, each, number, compared, mismatches)
    return Row(family, len(architectures), len(compared), sum(compared), mismatches, perf_counter() - began)


def _compare(
    family: str, architecture: str, configs: int, number: int, compared: list[int], mismatches: list[str]
) -> None:
    quiet = settings(
        max_examples=configs,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )

    @seed(number)
    @quiet
    @given(cases(family, architecture))
    def compare(case: Case) -> None:
        if found := _difference(case):
            mismatches.append(f"{architecture} {dict(case.config)} {dict(case.options)}: {found}")
        compared.append(case.closed_form().tensor_count)

    compare()


def _difference(case: Case) -> str:
    try:
        return mismatch(case)
    except Exception as error:  # noqa: BLE001  (a class that refuses what the closed form takes is a mismatch too)
        return f"{type(error).__name__}: {error}"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="closed forms against what transformers builds")
    parser.add_argument("families", nargs="*", metavar="FAMILY", help="model_type; all of them unless given")
    parser.add_argument("--configs", type=int, default=1_000, help="for each family (default: 1000)")
    parser.add_argument("--processes", type=int, default=2, help="families at a time (default: 2)")
    parser.add_argument("--seed", type=int, default=20181011, help="of the draw (default: the day BERT was published)")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
