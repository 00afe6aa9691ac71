"""A project whose gate passes, the same with a layer too many, and runs of both beside other plugins."""

from __future__ import annotations

import json
import re
import subprocess
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.conftest import TINY
from tests.support.warm_helper import command

if TYPE_CHECKING:
    from tests.support.warm_helper import Warm

TABLE = """
    [tool.pytest.ini_options]
    minversion = "8.2"
    [tool.bertsize.models.layered]
    config = "config.json"
    budget.encoder = { exact = 49_896 }
    [tool.bertsize.models.plain]
    config = "config.json"
    architecture = "BertModel"
    overrides = { num_hidden_layers = 3 }
    budget.total = "60K"
    """
"""The encoder's budget is that of three layers; what the second model is does not depend on the config's layers."""
TESTS = """
    import pytest
    from covered import reached
    @pytest.mark.bert_budget("layered")
    def test_marked(): pass
    def test_other(): assert reached(1) == 2
    @pytest.mark.parametrize("number", range(4))
    def test_of_many(number): pass
"""
COVERED = "def reached(number):\n    return number + 1\ndef never_reached(number):\n    return number - 1\n"
LAYERS = {"passes": 3, "fails": 4}
GATE = ("--bert-budget", "--bert-budget-report=size.json")
NO_BUILD = (*GATE, "--bert-budget-no-build")


def lay(verdict: str, **files: str) -> None:
    Path("config.json").write_text(json.dumps({**TINY, "num_hidden_layers": LAYERS[verdict]}))
    Path("pyproject.toml").write_text(textwrap.dedent(TABLE))
    for name, text in {"test_it": TESTS, "covered": COVERED, **files}.items():
        Path(f"{name}.py").write_text(textwrap.dedent(text))


@dataclass(frozen=True)
class Told:
    status: int
    report: bytes
    text: str

    @property
    def models(self) -> dict[str, str]:
        return {model["name"]: model["verdict"] for model in json.loads(self.report)["models"]}

    @property
    def counted(self) -> list[tuple[str, ...]]:
        """What the terminal says of how many models were checked; it should do so once."""
        return re.findall(r"(\d+) configured, (\d+) checked, (\d+) failed", self.text)

    def tests(self, outcome: str) -> int:
        """How many tests the last line says to have ended so."""
        found = re.search(rf"(\d+) {outcome}\b", self.text.strip().splitlines()[-1])
        return int(found[1]) if found else 0


def alone(warm: Warm, *arguments: str) -> Told:
    line = command(warm, "-m", "pytest", "-p", "no:cacheprovider", *arguments)
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    return Told(done.returncode, take_report(), done.stdout + done.stderr)


def inside(pytester: pytest.Pytester, *arguments: str) -> Told:
    result = pytester.runpytest(*arguments)
    return Told(result.ret, take_report(), f"{result.stdout}\n{result.stderr}")


def take_report() -> bytes:
    """Return the report, and remove it: the next run has to write its own."""
    path = Path("size.json")
    report = path.read_bytes() if path.exists() else b""
    path.unlink(missing_ok=True)
    return report


def is_as_alone(told: Told, plain: Told, verdict: str) -> None:
    passes = verdict == "passes"
    assert plain.status == (pytest.ExitCode.OK if passes else pytest.ExitCode.TESTS_FAILED)
    assert plain.counted == [("2", "2", "0" if passes else "1")]
    assert plain.models == {"layered": "passed" if passes else "failed", "plain": "passed"}
    assert (told.report, told.status, told.counted) == (plain.report, plain.status, plain.counted)
    assert "NOT CHECKED" not in told.text
    assert "INTERNALERROR" not in told.text
