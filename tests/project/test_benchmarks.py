"""``benchmarks/speed.py`` at reduced size: it works, and what it counts (rather than times) is held."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MACHINE = r"20\d\d-\d\d-\d\d: .+, \d+ cores, \d+ GiB, .+; Python 3\.\d+\.\d+, torch .+, transformers .+, pytest .+"
RIGHT = "102,290,312 ✓"
"""bert-base-chinese, its tied decoder counted once."""


@pytest.mark.tool
def test_at_reduced_size_every_line_is_printed_and_every_count_holds(subtests: pytest.Subtests) -> None:
    command = [sys.executable, "benchmarks/speed.py", "--quick"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    blocks = [block.splitlines() for block in ended.stdout.split("\n\n") if block.startswith("|")]
    tables = [[[cell.strip() for cell in line.strip("|").split("|")] for line in lines] for lines in blocks]
    gate, instead, growth, imports, memory, inside = ({row[0]: row[1:] for row in rows[2:]} for rows in tables)
    with subtests.test("machine and versions stand above the tables, and each table has lines of as many cells"):
        assert re.match(MACHINE, ended.stdout)
        assert memory
        assert [len({len(row) for row in rows}) for rows in tables] == [1] * 6
    with subtests.test("each number is said to be right, and a peer without one says why"):
        numbers = [cells[4] for cells in (*gate.values(), *instead.values()) if cells[4].endswith(("✓", "✗"))]
        assert numbers == [RIGHT] * 6
        without = {cells[4] for cells in instead.values()} - {RIGHT}
        assert without <= {"left out at reduced size", "torchinfo is not installed", "fvcore is not installed"}
    with subtests.test("models of one config are built once, and a refused size says so"):
        assert inside["builds for 3 models of one config"][0] == "1"
        refused = r"2: [^()]+ · 1,000: [^()]+ · 1,000,000: [^()]+ \(refused\)"
        assert re.fullmatch(refused, growth["labels, no build"][0])
    with subtests.test("without a build no library is loaded, and the plugin brings its package and itself alone"):
        assert inside["of torch, transformers, numpy and sympy among them"][0] == "0"
        assert imports["`import pytest_bertsize.plugin`"][2] == "2"
