"""The README tells the truth: its lists, its table and its report are those of the code."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import get_args

import pytest

from pytest_bertsize.byte_sizes import NAMED
from pytest_bertsize.closed_forms import FAMILIES
from pytest_bertsize.findings import Kind
from pytest_bertsize.settings import load
from tests.conftest import BERT_BASE
from tests.git_projects import committed

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")


def test_the_architectures_are_those_of_the_registry() -> None:
    rows = [
        f"| `{family.name}` | {', '.join(f'`{each.name}`' for each in family.architectures)} |"
        for family in FAMILIES.values()
    ]
    table = README.split("<!-- generated from the registry")[1].split("\n\n")[0].splitlines()[3:]
    assert table == rows


def test_the_named_limits_are_those_of_the_code() -> None:
    rows = [f'| `"{each.name}"` | {each.bytes:,} | [{each.what}]({each.source_url}) |' for each in NAMED.values()]
    table = README.split("<!-- generated from byte_sizes.py")[1].split("\n\n")[0].splitlines()[3:]
    assert table == rows


ONE_MODEL = '[tool.bertsize.models.one]\nconfig = "config.json"\n'
REPORT_ONLY = 'budget = "report-only"\n'


@pytest.mark.parametrize(
    ("section", "before", "after"),
    [
        ("A class of your own", "", REPORT_ONLY),
        ("Adapters", ONE_MODEL, ""),
        ("Checkpoints and tokenizers", ONE_MODEL, REPORT_ONLY),
        ("Bytes and FLOPs", ONE_MODEL, ""),
    ],
)
def test_what_a_section_shows_is_a_table(tmp_path: Path, section: str, before: str, after: str) -> None:
    block = README.split(f"\n## {section}\n")[1].split("```toml\n")[1].split("```")[0]
    (tmp_path / "pyproject.toml").write_text(before + block + after, encoding="utf-8")
    assert len(load(tmp_path / "pyproject.toml").models) == 1


def test_the_class_of_your_own_is_that_of_the_example() -> None:
    block = README.split("\n## A class of your own\n")[1].split("```toml\n")[1].split("```")[0]
    example = (ROOT / "examples" / "e-bert4keras-classifier" / "pyproject.toml").read_text("utf-8")
    assert block in example


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


def test_what_a_reviewer_is_told_is_what_the_gate_prints(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """bert-base-uncased with 10 layers of 960 units."""
    monkeypatch.setenv("COLUMNS", "80")
    table = """
        [tool.bertsize.models.mlm]
        config = "config.json"
        budget.total = "110M"
        budget.embeddings = "25M"
        budget.encoder = "86M"
        """
    project = committed(pytester.path / "project", BERT_BASE, table)
    project.write("config.json", {**BERT_BASE, "num_hidden_layers": 10, "hidden_size": 960})
    project.write("conftest.py", "")
    commit = project.git("rev-parse", "main")
    printed = pytester.runpytest_subprocess("--rootdir=project", "project", "--bert-budget", "--bert-budget-base=main")
    block = next(text for text in README.split("```text\n") if text.startswith("→ against main")).split("```")[0]
    assert block.replace("5e8c26154c", commit[:10]) in printed.stdout.str()


def test_ci_runs_the_readmes_own_commands() -> None:
    commands = [line.removeprefix("$ ") for line in README.splitlines() if line.startswith("$ python3")]
    script = (ROOT / ".ci" / "run").read_text("utf-8").splitlines()
    assert len(commands) == 2
    assert set(commands) <= set(script)


def test_the_contributed_closed_form_is_the_examples() -> None:
    block = README.split("### Contribute one")[1].split("```python\n")[1].split("```")[0]
    example = (ROOT / "examples" / "own-closed-form" / "conftest.py").read_text("utf-8")
    assert example.partition('"""\n\n')[2] == block


def test_an_ignored_key_is_reported_in_these_words(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    published = (
        json.loads(line) for line in (ROOT / "tests" / "published-counts.jsonl").read_text("utf-8").splitlines()
    )
    flan = next(model for model in published if model["model"] == "google/flan-t5-base")
    config = {
        "architectures": [flan["architecture"]],
        "model_type": "t5",
        **flan["config"],
        "tie_word_embeddings": False,
    }
    Path("flan-t5-base.json").write_text(json.dumps(config, indent=1), encoding="utf-8")
    table = '[tool.bertsize.models.flan-t5-base]\nconfig = "flan-t5-base.json"\nbudget = "report-only"\n'
    Path("pyproject.toml").write_text(f"[tool.pytest]\n{table}", encoding="utf-8")
    block = next(text for text in README.split("```text\n") if text.startswith("! flan-t5-base")).split("```")[0]
    assert block in pytester.runpytest("--bert-budget").stdout.str()


def test_the_models_that_are_held_at_full_size_are_as_many_as_it_says() -> None:
    lines = (ROOT / "tests" / "published-counts.jsonl").read_text("utf-8").splitlines()
    count = len({json.loads(line)["model"] for line in lines})
    assert f"{count} published models at full size" in " ".join(README.split())
