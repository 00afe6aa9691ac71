"""``init``: what a model is called, and that names and paths of any letters are read back from the table."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_bertsize.commands import console
from pytest_bertsize.commands.console import GOOD
from pytest_bertsize.commands.init.proposal import make_name
from tests.conftest import TINY
from tests.support.starting_projects import holds, lay, proposed, started


@pytest.mark.parametrize(
    ("reference", "name"),
    [
        ("config.json", "deberta"),
        ("models/encoder/config.json", "encoder"),
        ("encoder/config/config.json", "encoder"),
        ("configs/bert-small.json", "bert-small"),
        ("configs/v1.5.json", "v1.5"),
        ("my model (final)/config.json", "my-model-final"),
        ("модели/кодер/config.json", "кодер"),
        ("{stem}/config.json", "stem"),
        (f"{'n' * 300}/config.json", "n" * 100),
    ],
)
def test_a_model_is_called_after_its_folder_its_file_or_its_family(reference: str, name: str) -> None:
    assert make_name(reference, "deberta", ()) == name


@pytest.mark.parametrize(
    "path",
    [
        'a "b"/config.json',
        "{stem}.json",
        "back\\slash.json",
        "new\nline.json",
    ],
)
def test_names_and_paths_with_odd_letters_are_read_back(tmp_path: Path, path: str) -> None:
    lay(tmp_path, **{path: TINY})
    (table,) = proposed(tmp_path).values()
    assert table["config"] == path
    assert started(tmp_path, writes=True)[0] == GOOD
    assert holds(tmp_path)[0] == console.GOOD
