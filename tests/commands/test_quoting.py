"""``explain`` and ``diff`` for other documents, and of whatever the table takes."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_bertsize import __version__
from tests.conftest import TINY
from tests.support.git_projects import LAYER, repository

if TYPE_CHECKING:
    from tests.commands.conftest import Bertsize
    from tests.support.git_projects import GitProject

BERT = {**TINY, "architectures": ["BertModel"]}
EMBEDDINGS, POOLER = 7_104, 48 * 48 + 48
ENCODER = 3 * LAYER
TOTAL = EMBEDDINGS + ENCODER + POOLER


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "config.json").write_text(json.dumps(BERT), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def made(project: Path, monkeypatch: pytest.MonkeyPatch) -> GitProject:
    """A repository of the config, entered; nothing is committed."""
    found = repository(project / "repository")
    found.write("config.json", BERT)
    monkeypatch.chdir(found.folder)
    return found


def test_json_has_all_that_repeats_it(project: Path, bertsize: Bertsize) -> None:
    said = bertsize.json("explain", "config.json")
    counts = {row["name"]: row["parameters"] for row in said["components"]}
    assert (counts["embeddings"], counts["encoder"], counts["pooler"]) == (EMBEDDINGS, ENCODER, POOLER)
    assert (said["total"], counts["total"], said["architecture"]) == (TOTAL, TOTAL, "BertModel")
    assert said["symbols"]["D"] == {"key": "hidden_size", "value": 48}
    assert said["config_sha256"] == hashlib.sha256((project / "config.json").read_bytes()).hexdigest()
    assert said["versions"]["pytest_bertsize"] == __version__
    (pooler,) = (row for row in said["components"] if row["name"] == "pooler")
    assert (pooler["formula"], pooler["latex"]) == ("D² + D", "D^{2} + D")


def test_markdown_is_what_a_model_card_can_quote(project: Path, bertsize: Bertsize) -> None:
    lines = bertsize.printed("explain", "config.json", "--format", "md").splitlines()
    digest = hashlib.sha256((project / "config.json").read_bytes()).hexdigest()
    assert lines[0] == f"**BertModel**: {TOTAL:,} parameters"
    assert f"| `pooler` | D² + D | {POOLER:,} |" in lines
    assert "| D | `hidden_size` | 48 |" in lines
    assert not any("num_attention_heads" in line for line in lines), "which is in no formula"
    assert lines[-1].startswith(f"config.json (sha256 {digest}); pytest-bertsize {__version__}, transformers ")


def test_names_of_the_files_own_are_given_by_keys(project: Path, bertsize: Bertsize) -> None:
    own = {("width" if key == "hidden_size" else key): value for key, value in BERT.items()}
    (project / "own.json").write_text(json.dumps({"model": own}), encoding="utf-8")
    assert bertsize.json("explain", "own.json#model", "--keys", "width=hidden_size")["total"] == TOTAL


def test_a_revision_has_its_own_file(made: GitProject, monkeypatch: pytest.MonkeyPatch, bertsize: Bertsize) -> None:
    made.commit()
    made.write("config.json", {**BERT, "vocab_size": 102})
    said = bertsize.json("diff", "HEAD:config.json", "config.json")
    assert [model["total"] for model in said["models"]] == [TOTAL, TOTAL + 48]
    (row,) = (row for row in said["components"] if row["name"] == "embeddings.word")
    assert (row["parameters"], row["changes"]) == ([101 * 48, 102 * 48], [0, 48])
    assert [each[-1] for each in said["explanations"]] == ["net +48"]
    assert bertsize.refused("explain", "HEAD:none.json") == (
        "ERROR: none.json is not a file at HEAD; write its path from the current folder, or the name of a declared model\n"
    )
    made.write("models/config.json", BERT)
    made.commit()
    assert {bertsize.json("explain", f"HEAD:models{end}")["total"] for end in ("", "/", "/config.json")} == {TOTAL}
    assert "git knows no revision" in bertsize.refused("explain", "nowhere:config/config.json")
    (made.folder / "sub" / "below").mkdir(parents=True)
    monkeypatch.chdir(made.folder / "sub" / "below")
    assert bertsize.json("explain", "HEAD:../../models/config.json")["total"] == TOTAL
    assert "is not a file at HEAD; write its path" in bertsize.refused("explain", "HEAD:../models/config.json")
    monkeypatch.chdir(made.folder)
    assert "is not in a git repository" in bertsize.refused("explain", "HEAD:../config.json")


def test_a_revision_has_its_own_table(made: GitProject, bertsize: Bertsize) -> None:
    table = '[tool.bertsize.models.encoder]\nconfig = "config.json"\noverrides = {{ num_hidden_layers = {layers} }}\n'
    for layers in (2, 5):
        made.write("pyproject.toml", table.format(layers=layers) + 'budget = "report-only"\n')
        made.commit()
    for named in ("HEAD~1:pyproject.toml::encoder", "HEAD~1:encoder"):
        assert bertsize.json("explain", named)["total"] == TOTAL - LAYER
    assert bertsize.json("explain", "encoder")["total"] == TOTAL + 2 * LAYER
    assert bertsize.refused("explain", "HEAD:pyproject.toml::encodr") == (
        "ERROR: pyproject.toml at HEAD declares no model \"encodr\"; did you mean 'encoder'?\n"
    )
    for named in ("HEAD:encoder", "encoder"):
        said = bertsize.refused("explain", named, "--family", "bert")
        assert said.startswith(f"ERROR: {named} is a declared model: its table has the ")
    assert "git knows no revision" in bertsize.refused("explain", "nowhere:pyproject.toml::encoder")


def test_what_may_be_a_module_of_the_folder_is_no_revision(made: GitProject, bertsize: Bertsize) -> None:
    made.write("pyproject.toml", '[tool.bertsize.models.small]\nconfig = "config.json"\nbudget = "report-only"\n')
    made.commit()
    made.write("main.py", f"small = {dict(BERT, num_hidden_layers=2)!r}")
    assert bertsize.json("explain", "main:small")["total"] == TOTAL - LAYER
    (made.folder / "main.py").unlink()
    assert bertsize.json("explain", "main:small")["total"] == TOTAL
