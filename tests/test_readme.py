"""The README tells the truth: its lists, its table and its report are those of the code."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from pytest_bertsize.closed_forms import FAMILIES
from pytest_bertsize.findings import Kind
from pytest_bertsize.settings import load

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")


def test_the_architectures_are_those_of_the_registry() -> None:
    rows = [
        f"| `{family.name}` | {', '.join(f'`{each.name}`' for each in family.architectures)} |"
        for family in FAMILIES.values()
    ]
    table = README.split("<!-- generated from the registry")[1].split("\n\n")[0].splitlines()[3:]
    assert table == rows


def test_the_finding_kinds_are_those_of_the_code() -> None:
    sentence = README.split("Finding kinds: ")[1].split(".")[0]
    assert re.findall(r"`([\w-]+)`", sentence) == list(get_args(Kind))


def test_the_table_can_be_copied(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(README.split("```toml\n")[1].split("```")[0], encoding="utf-8")
    model = load(tmp_path / "pyproject.toml").models["encoder"]
    assert [limit.component for limit in model.limits] == ["total", "embeddings", "encoder.attention", "pooler"]


def test_the_report_is_what_the_example_prints(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "examples" / "a-by-hand", pytester.path, dirs_exist_ok=True)
    monkeypatch.setenv("COLUMNS", "80")
    printed = pytester.runpytest_subprocess("--bert-budget").stdout.str()
    assert README.split("```text\n")[1].split("```")[0] in printed


def test_ci_runs_the_readmes_own_commands() -> None:
    commands = [line.removeprefix("$ ") for line in README.splitlines() if line.startswith("$ python3")]
    script = (ROOT / ".ci" / "run").read_text("utf-8").splitlines()
    assert len(commands) == 2
    assert set(commands) <= set(script)
