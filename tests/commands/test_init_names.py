"""``init``: what a model is called, and that names and paths of any letters are read back from the table."""

from __future__ import annotations

import io
import tomllib
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_bertsize.commands import console
from pytest_bertsize.commands.console import GOOD
from pytest_bertsize.commands.init.command import start
from pytest_bertsize.commands.init.naming import model_name
from pytest_bertsize.table import toml
from tests.conftest import TINY
from tests.support.starting_projects import holds, lay, proposed, started

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("reference", "name"),
    [
        ("config.json", "deberta"),
        ("bert_config.json", "bert"),
        ("models/encoder/config.json", "encoder"),
        ("encoder/config/config.json", "encoder"),
        ("configs/bert-small.json", "bert-small"),
        ("configs/v1.5.json", "v1.5"),
        ("train.json#model.bert_config", "bert"),
        ("experiments/ner.yaml#model.config", "ner"),
        ("train.yaml#model", "deberta"),
        ("conf/model/bert.yaml#model.config", "bert"),
        ("configs/base.json", "base"),
        ("ner.yaml#base", "ner"),
        ("my model (final)/config.json", "my-model-final"),
        ("модели/кодер/config.json", "кодер"),
        ('say "hi"/config.json', "say-hi"),
        ("{stem}/config.json", "stem"),
        ("--x/config.json", "x"),
        (f"{'n' * 300}/config.json", "n" * 100),
    ],
)
def test_a_model_is_called_after_its_folder_its_file_or_its_family(reference: str, name: str) -> None:
    assert model_name(reference, "deberta", ()) == name


def test_no_two_models_have_one_name(tmp_path: Path) -> None:
    variants = {f"{folder}/bert/config.json": {**TINY, "vocab_size": 90 + n} for n, folder in enumerate("ab")}
    more = {"d/bert.json": {**TINY, "vocab_size": 80}, "d/bert.yaml": f"vocab_size: 70\n{yaml_of(TINY)}"}
    lay(tmp_path, **variants, **more)
    assert {name: table["config"] for name, table in proposed(tmp_path).items()} == {
        "bert": "d/bert.json",
        "d-bert": "d/bert.yaml",
        "a-bert": "a/bert/config.json",
        "b-bert": "b/bert/config.json",
    }


def test_sizes_that_are_called_base_and_large_are_called_so() -> None:
    names: list[str] = []
    for size in ("base", "large", "small"):
        names.append(model_name(f"configs/{size}.json", "bert", names))
    assert names == ["base", "large", "small"]


@pytest.mark.parametrize(
    ("reference", "name"),
    [
        ("conf/model/bert.yaml#model.config", "model-bert"),
        ("ner/bert.yaml#params", "ner-bert"),
        ("bert.yaml#model", "bert-2"),
        ("bert.yaml#student.config", "student"),
    ],
)
def test_a_second_model_of_a_name_is_told_apart_by_its_folders_and_not_by_keys_that_say_nothing(
    reference: str, name: str
) -> None:
    assert model_name(reference, "deberta", {"bert"}) == name


def test_where_nothing_else_tells_them_apart_a_number_does() -> None:
    assert model_name("config.json", "bert", {"bert", "bert-2"}) == "bert-3"


def yaml_of(config: dict[str, Any]) -> str:
    return "".join(f"{key}: {value}\n" for key, value in config.items() if key != "vocab_size")


@pytest.mark.parametrize(
    "path",
    [
        'a "b"/config.json',
        "a.b/c.d.json",
        "ключ/config.json",
        "a b.json",
        "it's.json",
        "tab\there.json",
        "{stem}.json",
        "\x7f.json",
        "back\\slash.json",
        "new\nline.json",
        "😀.json",
    ],
)
def test_names_and_paths_with_odd_letters_are_read_back(tmp_path: Path, path: str) -> None:
    lay(tmp_path, **{path: TINY})
    (table,) = proposed(tmp_path).values()
    assert table["config"] == path
    assert started(tmp_path, writes=True)[0] == GOOD
    assert holds(tmp_path)[0] == console.GOOD


@given(st.text())
def test_so_is_any_text_as_a_string_and_as_a_key_in_ascii_too(text: str) -> None:
    written = f"{toml.key(text)} = {toml.quoted(text)}\n"
    assert tomllib.loads(written) == {text: text}
    assert tomllib.loads(toml.in_ascii(written)) == {text: text}


@pytest.mark.parametrize("key", ['a "b"', "ключ", "a b", "#", "new\nline", "\x7f"])
def test_so_are_keys_of_a_training_file(tmp_path: Path, key: str) -> None:
    lay(tmp_path, **{"train.json": {key: {"model": TINY}}})
    assert [table["config"] for table in proposed(tmp_path).values()] == [f"train.json#{key}.model"]
    assert started(tmp_path, writes=True)[0] == GOOD
    assert holds(tmp_path)[0] == console.GOOD


def test_an_output_that_cannot_show_a_name_gets_toml_all_the_same(tmp_path: Path) -> None:
    lay(tmp_path, **{"clé ключ😀/config.json": TINY})
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, "ascii")
    assert start(tmp_path, out, io.StringIO()) == GOOD
    models = tomllib.loads(raw.getvalue().decode("ascii"))["tool"]["bertsize"]["models"]
    assert [table["config"] for table in models.values()] == ["clé ключ😀/config.json"]
