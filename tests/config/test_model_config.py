"""An untrusted config file: found inside the project, or refused in one sentence; what it says, and where it says it.

What is wrong with a JSON text is held by tests/bad_input/configs-*.toml.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from pytest_bertsize import files
from pytest_bertsize.builder.published import LARGEST
from pytest_bertsize.config.json_and_toml import parse_json
from pytest_bertsize.config.model_config import ModelConfig, not_plain, rename_keys
from pytest_bertsize.config.source import read_file as read
from pytest_bertsize.findings import Finding, Unusable


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The project; what lies beside it is outside."""
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def write(path: Path, content: str | bytes = '{"vocab_size": 30522}') -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refused(root: Path, reference: str = "config.json") -> Finding:
    with pytest.raises(Unusable) as unusable:
        read(root, reference)
    (finding,) = unusable.value.findings
    assert (finding.severity, bool(finding.message), bool(finding.fix)) == ("error", True, True)
    return finding


# which file


def test_a_file_is_read_as_it_stands(root: Path) -> None:
    text = '{\n  "vocab_size": 30522,\n  "name": "é"\n}\n'
    write(root / "models/config.json", text)
    config = read(root, "models/config.json")
    assert config.data == config.as_written == config.flat == {"vocab_size": 30522, "name": "é"}
    assert (config.file, config.key_path, config.reference) == ("models/config.json", (), "models/config.json")
    assert config.sha256 == hashlib.sha256(text.encode()).hexdigest()
    assert [config.line(key) for key in ("vocab_size", "name", "num_labels")] == [2, 3, None]


@pytest.mark.parametrize("name", ["config.json", "bert_config.json"])
def test_a_folder_stands_for_the_one_config_in_it(root: Path, name: str) -> None:
    write(root / "models" / name)
    write(root / "models/vocab.json", "not read")
    for reference in ("models", "models/", "./models", "models/../models", "models#"):
        config = read(root, reference)
        assert config.data == {"vocab_size": 30522}
        assert Path(os.path.normpath(config.file)) == Path("models", name)


def test_a_project_is_read_by_absolute_paths_and_through_symlinks(root: Path) -> None:
    write(root / "shared/config.json")
    (root / "config.json").symlink_to("shared/config.json")
    (root / "shared/again").symlink_to(".")
    (root.parent / "link").symlink_to(root)
    assert read(root, ".").file == "config.json"
    assert read(root, str(root / "shared/config.json")).file == "shared/config.json"
    assert read(root.parent / "link", "config.json").file == "config.json"
    assert read(root, "shared/again/again").data == {"vocab_size": 30522}


@pytest.mark.parametrize(
    ("there", "reference", "message"),
    [
        (["config.json", "bert_config.json"], "models", "the folder holds both config.json and bert_config.json"),
        (["x"], "models/x/config.json", "the file cannot be read: Not a directory"),
        ([], "a\0b.json", "the path cannot be followed: embedded null byte"),
    ],
)
def test_what_is_no_file_is_refused(root: Path, there: list[str], reference: str, message: str) -> None:
    for name in there:
        write(root / "models" / name)
    finding = refused(root, reference)
    assert (finding.kind, finding.message) == ("config-invalid", message)
    assert not there[1:] or finding.fix == "name one of them: models/config.json"


def test_what_lies_outside_the_project_is_refused(root: Path) -> None:
    secret = write(root.parent / "config.json")
    (root / "models").mkdir()
    (root / "folder").mkdir()
    (root / "link.json").symlink_to(secret)
    (root / "linked").symlink_to(write(root.parent / "elsewhere/config.json").parent)
    (root / "folder/config.json").symlink_to(secret)
    outside = ("../config.json", "models/../../config.json", "../missing.json", "..", str(secret))
    for reference in (*outside, "link.json", "linked", "folder"):
        finding = refused(root, reference)
        assert (finding.kind, finding.message) == ("config-refused", "the config lies outside the project"), reference


def test_a_loop_of_symlinks_and_a_named_pipe_are_refused(root: Path) -> None:
    (root / "loop").symlink_to("loop")
    (root / "there").symlink_to("back")
    (root / "back").symlink_to("there")
    # Python 3.11 to 3.13 say where they met the loop, each in its own words
    said = r"the (path cannot be followed|file cannot be read): .*[Ss]ym(link loop|bolic links).*"
    for reference in ("loop", "loop/config.json", "there"):
        assert re.fullmatch(said, refused(root, reference).message)
    os.mkfifo(root / "config.json")
    assert refused(root).message == "this is not a regular file"


def test_a_symlink_that_takes_the_place_of_the_file_is_not_followed(root: Path) -> None:
    (root / "config.json").symlink_to(write(root.parent / "secret.json"))
    with pytest.raises(OSError, match="symbolic links"):
        files.open_as_it_is(str(root / "config.json"), os.O_RDONLY)


# how much of it


def test_a_file_of_a_mebibyte_is_the_largest_that_is_read(root: Path) -> None:
    for size in (LARGEST - 1, LARGEST, LARGEST + 1):
        write(root / "config.json", json.dumps({"a": "x" * (size - len('{"a": ""}'))}))
        if size <= LARGEST:
            assert read(root, "config.json").data
    assert refused(root).message == "the file is larger than 1,048,576 bytes"


def _nested(depth: int) -> dict[str, object]:
    value: dict[str, object] = {}
    for _ in range(depth - 1):
        value = {"a": value}
    return value


NOT_PLAIN: dict[str, tuple[Any, tuple[str, ...], str]] = {
    "infinity": (float("-inf"), (), "it is -inf, which JSON cannot hold"),
    "digits": ({"a": [1, 1 << 14_280]}, ("a",), "a is a number with thousands of digits"),
    "tuple": ({"a": (1, 2)}, ("a",), "a is (1, 2), which JSON cannot hold"),
    "first": ({"a": 1, "b": {1, 2}, "c": b"x"}, ("b",), "b is {1, 2}, which JSON cannot hold"),
    "lists": ({"a": [[]] * 19_999}, ("a",), "more than 20,000 objects and lists"),
    "depth": (_nested(65), ("a",) * 64, "nested more than 64 deep"),
}


@pytest.mark.parametrize("name", NOT_PLAIN)
def test_what_no_config_says_is_not_plain(root: Path, name: str) -> None:
    value, path, message = NOT_PLAIN[name]
    found = not_plain(value)
    assert found
    assert (found.path, found.message) == (path, message)
    if name in {"lists", "depth"}:  # which a file of JSON can say
        write(root / "config.json", json.dumps(value))
        assert refused(root).message == message


def test_a_key_that_stands_twice_in_one_object_is_refused_at_the_second(root: Path) -> None:
    for text, key, line in (
        ('{"": 1,\n"": 2}', "", 2),
        ('{"x": [{"a": 0},\n{"a": 1,\n"a": 2}]}', "a", 3),
        ('{\n\t"a":{"b":1,\n\t"b" : 2}}', "b", 3),
        ('{"x": "\\ud83d\\ude00",\n"b": 1, "b": 2}', "b", None),  # which YAML has not
    ):
        write(root / "config.json", text)
        finding = refused(root)
        assert (finding.line, finding.message) == (line, f'one object has the key "{key}" twice')


# an object inside the file


NESTED = '{"lr": 1, "model": {"bert_config": {\n"x": {}}, "list": [{}], "text": "x", "none": null, "one": 1}}'


def test_the_keys_behind_the_hash_lead_to_an_object(root: Path) -> None:
    write(root / "models/config.json", NESTED)
    config = read(root, "models#model.bert_config")
    assert (config.data, config.key_path, config.line("x")) == ({"x": {}}, ("model", "bert_config"), 2)
    assert config.reference == "models/config.json#model.bert_config"


# TOML

TRAINING = "started = 2024-01-01\n[model]\nhidden_size = 768\neps = 1e-12\nattention.heads = 12\n"


def test_an_object_of_a_toml_file_is_read_whatever_else_stands_there(root: Path) -> None:
    write(root / "train.toml", TRAINING)
    config = read(root, "train.toml#model")
    assert config.data == {"hidden_size": 768, "eps": 1e-12, "attention": {"heads": 12}}
    assert [config.line("hidden_size"), config.line("attention", "heads"), config.line("vocab_size")] == [3, 5, 2]
    assert (refused(root, "train.toml").line, refused(root, "train.toml#modle").line) == (1, None)
    write(root / "train.toml", "a = 1\na = 2")
    assert refused(root, "train.toml").message == "not TOML: Cannot overwrite a value"
    write(root / "train.toml", f"a = {'[' * 100_000}")
    assert refused(root, "train.toml").message.startswith("not TOML: ")


# names of the file's own: keys = { num_blks = "num_hidden_layers" }

FILE = """{
  "train": {
    "num_blks": 12,
    "dim": 768,
    "encoder": {
      "heads": 12, "drop": 0.1
    }
  }
}
"""


def training(text: str = FILE, inner: str = "train") -> ModelConfig:
    return parse_json(text.encode(), "train.json", inner)


def test_a_config_has_its_own_names_the_values_of_the_file_and_its_lines() -> None:
    found = rename_keys(training(), {"num_blks": "num_hidden_layers", "encoder": "inner"})
    assert found.data == {"num_hidden_layers": 12, "dim": 768, "inner": {"heads": 12, "drop": 0.1}}
    assert found.as_written == training().data
    assert (found.reference, found.sha256) == ("train.json#train", training().sha256)
    assert found.inner("inner", {}).line("heads") == 6
    lines = {("num_hidden_layers",): 3, ("dim",): 4, ("inner", "heads"): 6, ("num_blks",): 3, ("vocab_size",): 2}
    assert {path: found.line(*path) for path in lines} == lines


def test_dots_lead_into_an_object_of_which_the_rest_stays() -> None:
    found = rename_keys(training(), {"encoder.heads": "num_attention_heads"})
    assert found.data == {"num_blks": 12, "dim": 768, "encoder": {"drop": 0.1}, "num_attention_heads": 12}
    assert found.line("num_attention_heads") == 6
    assert found.say_name_in_file("num_attention_heads") == " (in the file, num_attention_heads is encoder.heads)"


ABSENT = '"keys" has "{}", which train.json#train has not, or another of "keys" has already'.format
WRITE, KEEP = "write the name that the file has", "keep one of them"
ALSO = '{} stands for {}, which train.json#train or another of "keys" has too'.format


@pytest.mark.parametrize(
    ("keys", "refusals"),
    [
        ({"zzz": "z", "dim.x": "y"}, [(ABSENT("zzz"), WRITE, "zzz"), (ABSENT("dim.x"), WRITE, "dim.x")]),
        ({"num_blks": "dim"}, [(ALSO("num_blks", "dim"), KEEP, "num_blks")]),
        ({"num_blks": "L", "dim": "L"}, [(ALSO(key, "L"), KEEP, key) for key in ("num_blks", "dim")]),
        ({"encoder": "a", "encoder.heads": "b"}, [(ABSENT("encoder.heads"), WRITE, "encoder.heads")]),
    ],
    ids=["not in the file", "both names", "two names for one", "a part"],
)
def test_a_key_that_cannot_be_renamed_is_refused(keys: dict[str, str], refusals: list[tuple[str, str, str]]) -> None:
    with pytest.raises(Unusable) as unusable:
        rename_keys(training(), keys)
    assert {each.kind for each in unusable.value.findings} == {"config-invalid"}
    found = [(each.message, each.fix, each.table_key) for each in unusable.value.findings]
    assert found == [(message, fix, ("keys", key)) for message, fix, key in refusals]
