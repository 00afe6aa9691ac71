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
    "accelerate's `init_empty_weights()`, and the sum": "118,537,744 ✗",
}
"""bert-base-chinese, its tied decoder counted once; where the tie breaks, 21,128·768 + 21,128 more."""
TABLES = (
    "the gate",
    "what one would do instead",
    "growth",
    "import of a plugin, pytest being loaded",
    "memory",
    "inside",
)


@pytest.fixture
def printed() -> str:
    command = [sys.executable, "benchmarks/speed.py", "--quick"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.mark.tool
def test_at_reduced_size_every_line_is_printed_and_every_count_holds(printed: str, subtests: pytest.Subtests) -> None:
    blocks = [block for block in printed.split("\n\n") if block.startswith("|")]
    tables = dict(map(table_of, blocks))
    with subtests.test("machine and versions stand above the tables"):
        assert re.match(MACHINE, printed)
    with subtests.test("every table is there, and has lines"):
        assert tuple(tables) == TABLES
        assert all(tables.values())
    with subtests.test("every line has a cell for each column"):
        assert [len({line.count("|") for line in block.splitlines()}) for block in blocks] == [1] * len(TABLES)
    with subtests.test("each number is said to be right or wrong"):
        number = {what: cells[4] for title in TABLES[:2] for what, cells in tables[title].items()}
        assert {what: said for what, said in number.items() if said.endswith(("✓", "✗"))} == NUMBERS
    with subtests.test("a peer without a number says why"):
        without = {cells[4] for what, cells in tables["what one would do instead"].items() if what not in NUMBERS}
        assert without <= {"left out at reduced size", "torchinfo is not installed", "fvcore is not installed"}
    with subtests.test("several models are all checked"):
        several = [cells[4] for what, cells in tables["the gate"].items() if what.endswith("3 models")]
        assert several == ["3 checked, 0 failed"] * 5
    with subtests.test("a size that is refused says so"):
        for what in ("labels, no build", "labels, full"):
            assert re.fullmatch(
                r"2: [^()]+ · 100,000: [^()]+ · 1,000,000: [^()]+ \(refused\)", tables["growth"][what][0]
            )
    with subtests.test("models of one config are built once"):
        assert tables["inside"]["builds for 3 models of one config"][0] == "1"
    with subtests.test("without a build neither torch nor transformers is loaded"):
        assert tables["inside"]["of torch, transformers, numpy and sympy among them"][0] == "0"
    with subtests.test("the plugin brings no module along but its package and itself"):
        assert tables["import of a plugin, pytest being loaded"]["`import pytest_bertsize.plugin`"][2] == "2"


def table_of(block: str) -> tuple[str, dict[str, list[str]]]:
    """The title, and from the first cell of each line to the cells behind it."""
    head, _, *lines = ([cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines())
    return head[0], {first: rest for first, *rest in lines}
