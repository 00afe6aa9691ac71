"""A model by another name, or of a file that is spelt otherwise or has moved, is held to the limit that it had."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from pytest_bertsize.base.git import find_renames
from tests.support.git_projects import GitProject, repository

LOOSENED = "the limit of total was 90K at main and is 999K now"
PATTERN = '\n[tool.bertsize.models."enc-{stem}"]\nconfig = "configs/*.json"\nbudget.total = "90K"\n'


def declared(name: str, config: str, limit: str = "90K", more: str = "") -> str:
    return f'\n[tool.bertsize.models.{name}]\nconfig = {config}\nbudget.total = "{limit}"\n{more}'


def at_main(folder: Path, tiny: dict[str, Any], file: str, table: str) -> GitProject:
    found = repository(folder)
    found.write(file, tiny)
    found.declare(table)
    found.commit()
    found.git("switch", "--quiet", "--create", "change")
    return found


def is_held_as(project: GitProject, now: str, before: str) -> None:
    """Only that model is called otherwise at main, and its limit was looser there."""
    assert is_called(project) == {now: before}
    assert project.said(now)[0] == f"renamed: the table at main calls it {before}"
    (error,) = project.errors(now)
    assert LOOSENED in error


def is_called(project: GitProject) -> dict[str, str]:
    """Return what main calls the models of today."""
    return dict(baseline.became) if (baseline := project.baseline()) else {}


SPELLINGS = ["models/enc", "models/enc/config.json", "./models//enc", "models/enc/config.json#", "models/x/../enc"]


@pytest.mark.parametrize(("before", "after"), [*pairwise([*SPELLINGS, SPELLINGS[0]])])
def test_a_file_is_the_same_however_it_is_spelt(tmp_path: Path, tiny: dict[str, Any], before: str, after: str) -> None:
    project = at_main(tmp_path, tiny, "models/enc/config.json", declared("old", f'"{before}"'))
    project.write("models/enc/config.json", {**tiny, "num_hidden_layers": 2})
    project.declare(declared("new", f'"{after}"', "999K"))
    is_held_as(project, "new", "old")


def test_an_object_of_a_file_is_not_its_neighbour(tmp_path: Path, tiny: dict[str, Any]) -> None:
    project = at_main(
        tmp_path, {"a": tiny, "b": {**tiny, "vocab_size": 9}}, "train.json", declared("old", '"train.json#b"')
    )
    project.write("train.json", {"a": {**tiny, "vocab_size": 8}, "b": {**tiny, "vocab_size": 10}})
    project.declare(declared("a", '"train.json#a"') + declared("b", '"train.json#b"'))
    assert is_called(project) == {"b": "old"}


def test_two_models_of_one_file_are_told_by_how_they_are_built(tmp_path: Path, tiny: dict[str, Any]) -> None:
    small, large = (f"overrides = {{ num_hidden_layers = {count} }}\n" for count in (1, 4))
    both = declared("small", '"config.json"', "50K", small) + declared("large", '"config.json"', "999K", large)
    project = at_main(tmp_path, tiny, "config.json", both)
    project.declare(declared("b", '"./config.json"', "999K", large) + declared("a", '"./config.json"', "50K", small))
    assert is_called(project) == {"b": "large", "a": "small"}
    assert project.errors("a") == project.errors("b") == []


def test_a_file_that_moved_is_known_by_what_it_says(tmp_path: Path, tiny: dict[str, Any]) -> None:
    project = at_main(tmp_path, tiny, "a.json", declared("old", '"a.json"'))
    (tmp_path / "a.json").unlink()
    project.write("elsewhere/b.json", json.dumps(dict(reversed(tiny.items()))))  # on one line, in another order
    project.declare(declared("new", '"elsewhere/b.json"', "999K"))
    is_held_as(project, "new", "old")


def test_a_config_that_moved_into_the_table_is_known_by_what_it_says(tmp_path: Path, tiny: dict[str, Any]) -> None:
    project = at_main(tmp_path, tiny, "a.json", declared("old", '"a.json"'))
    inline = ", ".join(f"{key} = {json.dumps(value)}" for key, value in tiny.items())
    project.declare(declared("new", f"{{ {inline} }}"))
    assert is_called(project) == {"new": "old"}


def test_a_file_that_moved_and_changed_is_known_to_git(tmp_path: Path, tiny: dict[str, Any]) -> None:
    project = at_main(tmp_path / "repository/pack", tiny, "models/a.json", declared("old", '"models/a.json"'))
    project.git("mv", "models/a.json", "b.json")
    project.write("b.json", {**tiny, "num_hidden_layers": 4})
    project.declare(declared("new", '"b.json"', "999K"))
    project.commit()
    main = project.git("rev-parse", "main")
    assert find_renames(project.folder, main, ["models/a.json", "b.json"]) == {"b.json": "models/a.json"}
    is_held_as(project, "new", "old")


def test_a_name_stands_before_the_file_that_another_has_now(tmp_path: Path, tiny: dict[str, Any]) -> None:
    project = at_main(tmp_path, tiny, "a.json", declared("one", '"a.json"') + declared("two", '"b.json"'))
    project.write("b.json", {**tiny, "vocab_size": 9})
    project.commit()
    project.git("branch", "--force", "main")
    project.declare(declared("two", '"a.json"') + declared("one", '"b.json"'))
    assert is_called(project) == {"one": "one", "two": "two"}


def test_a_factory_is_known_by_its_name(tmp_path: Path, tiny: dict[str, Any]) -> None:
    table = '\n[tool.bertsize.models.{}]\nfactory = "acme:{}"\nclosed_form = false\nbudget.total = "90K"\n'
    project = at_main(tmp_path, tiny, "a.json", table.format("a", "build_a") + table.format("b", "build_b"))
    project.declare(table.format("c", "build_b") + table.format("d", "build_d"))
    assert is_called(project) == {"c": "b"}


def test_the_next_file_of_a_pattern_is_held_to_the_limit_of_the_last(tmp_path: Path, tiny: dict[str, Any]) -> None:
    project = at_main(tmp_path, tiny, "configs/2026-10.json", PATTERN)
    (tmp_path / "configs/2026-10.json").unlink()
    project.write("configs/2026-11.json", {key: value for key, value in tiny.items() if key != "type_vocab_size"})
    project.declare(PATTERN.replace("90K", "999K"))
    is_held_as(project, "enc-2026-11", "enc-2026-10")
    project.declare(PATTERN)
    assert project.errors("enc-2026-11") == []


def test_a_file_that_the_clone_lacks_is_still_the_file_that_is_meant(tmp_path: Path, tiny: dict[str, Any]) -> None:
    project = at_main(tmp_path, tiny, "models/enc/config.json", declared("old", '"models/enc"'))
    project.lose("main:models/enc/config.json")
    project.declare(declared("new", '"models/enc/config.json"', "999K"))
    loosened, lacks = project.errors("new")
    assert LOOSENED in loosened
    assert "cannot be read" in lacks
