"""Several models by one table: which files a pattern means, and what each of them is called."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import tomlkit

from pytest_bertsize.base.commit_files import CommitFiles, Unreadable
from pytest_bertsize.table.globs import find_matches, find_matches_in
from pytest_bertsize.table.reading import Mistake
from pytest_bertsize.table.settings import SettingsError, parse
from tests.support.git_projects import repository

FILES = [
    *("config.json", "configs/a.json", "configs/b.json", "configs/B.json", "configs/c.yaml", "configs/.hidden.json"),
    *("configs/deep/er/d.json", "configs/[x].json", "models/en/config.json", "models/de/config.json"),
    *("models/node_modules/config.json", ".venv/configs/a.json"),
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    for file in FILES:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text("{}", encoding="utf-8")
    return folder


# which files

MEANT = {
    "configs/*.json": ["configs/B.json", "configs/[x].json", "configs/a.json", "configs/b.json"],
    "configs/[!a]*.json": ["configs/B.json", "configs/[x].json", "configs/b.json"],
    "configs/.*.json": ["configs/.hidden.json"],
    "models/*/config.json": ["models/de/config.json", "models/en/config.json"],
    "models/node_modules/*.json": ["models/node_modules/config.json"],
    "**/config.json": ["config.json", "models/de/config.json", "models/en/config.json"],
    "configs/deep/**": ["configs/deep/er/d.json"],
    ".venv/**/a.json": [".venv/configs/a.json"],
    "configs/*.toml": [],
    "configs/*": ["configs/B.json", "configs/[x].json", "configs/a.json", "configs/b.json", "configs/c.yaml"],
}


def matching_at(files: list[str], pattern: str) -> list[str]:
    def listed(folder: str) -> set[tuple[str, bool, bool]]:
        below = [file.removeprefix(folder) for file in files if file.startswith(folder)]
        return {(path.partition("/")[0], "/" in path, False) for path in below}

    return find_matches_in(listed, pattern)


@pytest.mark.parametrize("pattern", MEANT)
def test_a_pattern_means_files_in_the_folder_and_in_a_list_of_paths(root: Path, pattern: str) -> None:
    assert find_matches(root, pattern) == MEANT[pattern]
    assert matching_at(FILES, pattern) == MEANT[pattern]


def test_a_commit_that_cannot_be_read_is_no_empty_folder(tmp_path: Path) -> None:
    project = repository(tmp_path / "repository")
    project.commit()
    said = "the project's folder cannot be read"
    with CommitFiles(project.folder, "0" * 40) as files, pytest.raises(Unreadable, match=said):
        files.list_folder("")


def test_the_symlinks_of_a_commit_lead_where_those_of_the_folder_do(root: Path) -> None:
    project = repository(root)
    (root / "kept").mkdir()
    links = {"latest": "../configs", "round": "..", "nowhere": "../../x", "z.json": "../config.json"}
    for link, target in links.items():
        (root / "kept" / link).symlink_to(target)
    with CommitFiles(root, project.commit()) as files:
        for pattern in ("kept/latest/*.json", "kept/*/?.json", "kept/**/d.json", "kept/*", "**/config.json"):
            assert find_matches_in(files.list_folder, pattern) == find_matches(root, pattern) != [] or "**/d" in pattern


def test_a_star_leads_through_a_symlink_to_a_folder_and_two_stars_lead_through_none(root: Path) -> None:
    (root / "runs/42/best").mkdir(parents=True)
    (root / "runs/42/best/config.json").touch()
    (root / "kept").mkdir()
    (root / "kept/latest").symlink_to("../runs/42")
    assert find_matches(root, "kept/*/*/config.json") == ["kept/latest/best/config.json"]
    assert find_matches(root, "kept/latest/**/config.json") == ["kept/latest/best/config.json"]
    assert find_matches(root, "kept/**/config.json") == []
    (root / "configs/round").symlink_to(root / "configs")  # no way round in a circle
    assert find_matches(root, "configs/*/round/*.json") == find_matches(root, "configs/round/round/*.json") != []
    assert not [each for each in find_matches(root, "**/*.json") if "round" in each]


@pytest.mark.parametrize("pattern", ["/etc/*.json", "a/../*.json", "C:/*.json", "configs\\*.json", "configs/**.json"])
def test_a_pattern_that_leads_elsewhere_is_refused(root: Path, pattern: str) -> None:
    with pytest.raises(Mistake) as in_folder:
        find_matches(root, pattern)
    assert str(in_folder.value).startswith("write it relative to pyproject.toml, with / between folders")


def test_a_folder_that_cannot_be_read_is_no_empty_one(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = os.scandir

    def refusing(folder: Path) -> Any:
        if folder.name == "de":
            raise PermissionError(13, "Permission denied")
        return there(folder)

    monkeypatch.setattr(os, "scandir", refusing)
    with pytest.raises(Mistake, match='"models/de/" cannot be listed: Permission denied'):
        find_matches(root, "models/*/config.json")


# what they are called


def declare(models: dict[str, Any], *files: str) -> dict[str, Any]:
    """Return the models of these tables where every pattern means these files."""
    declared = {name: {"budget": "report-only", **table} for name, table in models.items()}
    text = tomlkit.dumps({"tool": {"bertsize": {"models": declared}}})
    return {**parse(text, Path("pyproject.toml"), lambda _: list(files)).models}


def test_a_pattern_is_a_model_for_every_file_in_their_order() -> None:
    table = {"config": "models/*/*.json#model.bert", "checkpoint": "w/{folder}/{stem}.bin"}
    files = ("models/en/base.json", "models/de/base.v2.json")
    found = declare({"{folder}-{stem}": table, "z": {"config": "z.json"}}, *files)
    assert [(name, model.table_key[-1], model.config, model.checkpoint) for name, model in found.items()] == [
        ("de-base.v2", "{folder}-{stem}", "models/de/base.v2.json#model.bert", "w/de/base.v2.bin"),
        ("en-base", "{folder}-{stem}", "models/en/base.json#model.bert", "w/en/base.bin"),
        ("z", "z", "z.json", None),
    ]


JSON, ALONE = {"config": "configs/*.json"}, {"config": "x.json"}
GIVES = '{} gives the model name "bert-{}", which another file or table gives too: '.format
REFUSED: list[tuple[dict[str, Any], list[str], str, str]] = [
    (
        {"bert": JSON},
        ["configs/a.json"],
        'config = "configs/*.json" can mean several files: for several models, write models."bert-{stem}"',
        "config",
    ),
    (
        {"bert-{stem}": ALONE},
        [],
        'config = "x.json" is one file, and the model\'s name has a placeholder: for',
        "config",
    ),
    ({"bert-{stem}": JSON}, [], 'config = "configs/*.json" matches no file, so nothing would be checked', "config"),
    ({"bert-{stem}": JSON}, ["a/x.json", "b/x.json"], GIVES('"b/x.json"', "x"), ""),
    ({"bert-a": ALONE, "bert-{stem}": JSON}, ["c/a.json"], GIVES('"c/a.json"', "a"), ""),
    ({"bert-{stem}": JSON, "bert-a": ALONE}, ["c/a.json"], GIVES('"c/a.json"', "a"), ""),
    ({"bert-{stme}": JSON}, ["configs/a.json"], "there is no placeholder {stme}: write {stem}", ""),
    (
        {"bert-{stem}": {**JSON, "tokenizer": "{x}.txt"}},
        ["c/a.json"],
        "there is no placeholder {x}: write",
        "tokenizer",
    ),
    ({"bert-{stem}": {**JSON, "adapter": "{folder}"}}, ["a.json"], '"a.json" is in no folder whose name', "adapter"),
]


@pytest.mark.parametrize(("models", "files", "message", "key"), REFUSED)
def test_a_table_that_declares_no_models_is_refused(
    models: dict[str, Any], files: list[str], message: str, key: str
) -> None:
    with pytest.raises(SettingsError) as bad:
        declare(models, *files)
    assert message in str(bad.value)
    declared = next(name for name in models if "{" in name or len(models) == 1)
    name = f'"{declared}"' if "{" in declared else declared
    assert f": tool.bertsize.models.{name}{key and f'.{key}'}: " in str(bad.value)
