"""``benchmarks/speed.py`` at reduced size: it works, and what it counts (rather than times) is held."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MACHINE = r"20\d\d-\d\d-\d\d: .+, \d+ cores, \d+ GiB, .+; Python 3\.\d+\.\d+, torch .+, transformers .+, pytest .+"
NUMBERS = {
    "`pytest --bert-budget`, 1 model": "102,290,312 ✓",
    "the same, of models that an earlier run built, 1 model": "102,290,312 ✓",
    "`python -I -m pytest_bertsize check`, 1 model": "102,290,312 ✓",
    "`pytest --bert-budget --bert-budget-no-build`, 1 model": "102,290,312 ✓",
    "`python -I -m pytest_bertsize check --no-build`, 1 model": "102,290,312 ✓",
    "the same under `torch.device('meta')`": "102,290,312 ✓",
}
"""bert-base-chinese, its tied decoder counted once."""
TABLES = ["the gate", "what one would do instead", "growth", "import of a plugin, pytest being loaded"]
TABLES += ["memory", "inside"]


@pytest.mark.tool
def test_at_reduced_size_every_line_is_printed_and_every_count_holds(subtests: pytest.Subtests) -> None:
    command = [sys.executable, "benchmarks/speed.py", "--quick"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    blocks = [block for block in ended.stdout.split("\n\n") if block.startswith("|")]
    tables = dict(map(table_of, blocks))
    gate, instead = tables["the gate"], tables["what one would do instead"]
    with subtests.test("machine and versions stand above the tables, and each table has lines of as many cells"):
        assert re.match(MACHINE, ended.stdout)
        assert [*tables] == TABLES
        assert all(tables.values())
        assert [len({line.count("|") for line in block.splitlines()}) for block in blocks] == [1] * len(TABLES)
    with subtests.test("each number is said to be right or wrong, and a peer without one says why"):
        number = {what: cells[4] for what, cells in {**gate, **instead}.items()}
        assert {what: said for what, said in number.items() if said.endswith(("✓", "✗"))} == NUMBERS
        without = {cells[4] for what, cells in instead.items() if what not in NUMBERS}
        assert without <= {"left out at reduced size", "torchinfo is not installed", "fvcore is not installed"}
    with subtests.test("models of one config are built once, and a refused size says so"):
        assert tables["inside"]["builds for 3 models of one config"][0] == "1"
        refused = r"2: [^()]+ · 1,000: [^()]+ · 1,000,000: [^()]+ \(refused\)"
        assert re.fullmatch(refused, tables["growth"]["labels, no build"][0])
    with subtests.test("without a build no library is loaded, and the plugin brings its package and itself alone"):
        assert tables["inside"]["of torch, transformers, numpy and sympy among them"][0] == "0"
        assert tables["import of a plugin, pytest being loaded"]["`import pytest_bertsize.plugin`"][2] == "2"


def table_of(block: str) -> tuple[str, dict[str, list[str]]]:
    """The title, and from the first cell of each line to the cells behind it."""
    head, _, *lines = ([cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines())
    return head[0], {first: rest for first, *rest in lines}
