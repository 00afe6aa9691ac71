"""A config by a name of the hub: where it is looked for, in which order, and what is said of a name that nothing has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bertsize.base.commit_files import CommitFiles
from pytest_bertsize.base.project_at_commit import AtCommit, Missing
from pytest_bertsize.config.source import of_hub, read
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.table.limits import Budget
from pytest_bertsize.table.model import Model
from pytest_bertsize.table.settings import Settings
from tests.support.git_projects import repository

if TYPE_CHECKING:
    from pytest_bertsize.config.model_config import ModelConfig

SMALL = {"model_type": "bert", "hidden_size": 384}
COMMIT = "86b5e0934494bd15c9632b12f734a8a67f723594"


def settings(root: Path, hub: dict[str, str] | None = None) -> Settings:
    return Settings(root / "pyproject.toml", "", {}, hub=hub or {})


def by_name(root: Path, name: str, hub: dict[str, str] | None = None) -> ModelConfig:
    return read(
        Model(name="m", config=name, budget=Budget(), table_key=("tool", "bertsize", "models", "m")),
        settings(root, hub),
    )


def write(path: Path, data: dict[str, Any] = SMALL) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data), "utf-8")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A hub cache of its own, with nothing in it."""
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.mark.parametrize("name", ["bert-base-uncased", "google-bert/bert-base-uncased"])
def test_the_catalogue_has_it_with_its_source(name: str, tmp_path: Path) -> None:
    config = by_name(tmp_path, name)
    assert (config.reference, config.data["vocab_size"]) == (name, 30522)
    assert config.origin == (
        "the catalogue (lukyanchikov/NLP@3394c6b601ee bert-base-uncased/config.json; "
        "hlky/dinoml_v2@17a45a5be9d3 agents/plans/transformers/bert/report.md)"
    )


def test_the_tables_own_comes_before_the_catalogue(tmp_path: Path) -> None:
    write(tmp_path / "configs" / "x.json")
    config = by_name(tmp_path, "bert-base-uncased", {"google-bert/bert-base-uncased": "configs/x.json"})
    assert config.data == SMALL
    assert (config.file, config.origin) == ("configs/x.json", "configs/x.json, as hub in [tool.bertsize] says")
    assert config.line("hidden_size") == 1


def test_a_file_or_folder_of_the_project_comes_before_all(tmp_path: Path) -> None:
    write(tmp_path / "bert-base-uncased" / "config.json")
    config = by_name(tmp_path, "bert-base-uncased", {"bert-base-uncased": "nowhere.json"})
    assert (config.data, config.origin) == (SMALL, "")


def test_the_cache_comes_last_and_says_its_revision(tmp_path: Path, cache: Path) -> None:
    for name in ("acme--x", "google-bert--bert-base-uncased"):
        write(cache / f"models--{name}" / "snapshots" / COMMIT / "config.json")
        (cache / f"models--{name}" / "refs").mkdir()
        (cache / f"models--{name}" / "refs" / "main").write_text(COMMIT, "utf-8")
    config = by_name(tmp_path, "acme/x")
    assert (config.data, config.origin) == (SMALL, "the hub cache, revision 86b5e0934494")
    assert by_name(tmp_path, "bert-base-uncased").data["hidden_size"] == 768


def refused(root: Path, name: str) -> Finding:
    with pytest.raises(Unusable) as unusable:
        by_name(root, name)
    (finding,) = unusable.value.findings
    return finding


def test_of_a_name_that_nothing_has_it_is_said_how_to_fetch_one_file(tmp_path: Path) -> None:
    assert refused(tmp_path, "acme/x").sentence == (
        '"acme/x" is no file, and no config that the catalogue or the hub cache has; run hf download acme/x '
        "config.json --local-dir configs/x, commit the file, and write "
        'hub = { "acme/x" = "configs/x/config.json" } in [tool.bertsize]'
    )


def test_the_helper_is_told_what_the_table_maps_and_what_it_cannot(tmp_path: Path) -> None:
    write(tmp_path / "configs" / "x.json")
    assert of_hub(settings(tmp_path, {"acme/x": "configs/x.json", "acme/y": "../y.json"})) == {
        "acme/x": {"config": SMALL, "file": "configs/x.json", "folder": str(tmp_path / "configs")},
        "acme/y": {"error": "../y.json: the config lies outside the project; copy it into the project"},
    }


def test_at_the_base_it_is_the_bases_own_table_that_says_what_a_name_means(tmp_path: Path) -> None:
    project = repository(tmp_path / "project")
    write(project.folder / "old.json")
    commit = project.commit()
    (project.folder / "old.json").unlink()
    declared = Model(name="m", config="acme/x", budget=Budget(), table_key=("tool", "bertsize", "models", "m"))
    with CommitFiles(project.folder, commit) as files:
        reader = AtCommit(files, "main", {"acme/x": "old.json", "acme/y": "gone.json"})
        found = read(declared, settings(project.folder), reader)
        assert (found.data, found.file) == (SMALL, "old.json at main")
        for name in ("acme/y", "acme/z"):
            declared = Model(name="m", config=name, budget=Budget(), table_key=("tool", "bertsize", "models", "m"))
            with pytest.raises(Missing, match="is no file at main"):
                read(declared, settings(project.folder), reader)
