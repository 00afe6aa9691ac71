"""An untrusted config file: read from inside the project or refused in one sentence, whatever it holds."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_bertsize import files
from pytest_bertsize.config.model_config import LARGEST, ModelConfig, listed_in, made, not_plain
from pytest_bertsize.config.source import read_file as read
from pytest_bertsize.findings import Finding, Unusable

OUTSIDE = ("config-refused", "the config lies outside the project", "copy it into the project")
NO_FILE = "there is no such file"
WRITE_A_PATH = "write the path of the model's config.json, relative to pyproject.toml"
NOT_A_CONFIG = "name a model's config"


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
    assert finding.severity == "error"
    return finding


def told(finding: Finding) -> tuple[str, str, str]:
    return finding.place, finding.message, finding.fix


# which file


def test_a_file_is_read_as_it_stands(root: Path) -> None:
    text = '{\n  "vocab_size": 30522,\n  "name": "é"\n}\n'
    write(root / "models/config.json", text)
    config = read(root, "models/config.json")
    assert config.data == {"vocab_size": 30522, "name": "é"}
    assert (config.file, config.key_path, config.reference) == ("models/config.json", (), "models/config.json")
    assert (config.text, config.sha256) == (text, hashlib.sha256(text.encode()).hexdigest())
    assert not any((config.origin, config.primary, config.modules, config.ignored, config.named_at("name")))
    assert (config.as_written, config.flat, config.is_shared) == (config.data, config.data, False)


@pytest.mark.parametrize("reference", ["models", "models/", "./models", "models/../models"])
@pytest.mark.parametrize("name", ["config.json", "bert_config.json"])
def test_a_folder_stands_for_the_one_config_in_it(root: Path, reference: str, name: str) -> None:
    write(root / "models" / name)
    write(root / "models/vocab.json", "not read")
    config = read(root, reference)
    assert config.data == {"vocab_size": 30522}
    assert Path(os.path.normpath(config.file)) == Path("models", name)


def test_the_project_itself_can_be_the_folder(root: Path) -> None:
    write(root / "config.json")
    assert read(root, ".").file == "config.json"


def test_an_absolute_path_inside_the_project_is_shown_relative_to_it(root: Path) -> None:
    assert read(root, str(write(root / "models/config.json"))).file == "models/config.json"


def test_a_folder_with_both_names_is_ambiguous(root: Path) -> None:
    write(root / "models/config.json")
    write(root / "models/bert_config.json")
    finding = refused(root, "models")
    assert finding.kind == "config-invalid"
    assert told(finding) == (
        "models",
        "the folder holds both config.json and bert_config.json",
        'name one: config = "models/config.json"',
    )


def test_a_folder_with_neither_name_is_refused(root: Path) -> None:
    write(root / "models/train.json")
    assert told(refused(root, "models")) == (
        "models",
        "the folder holds neither config.json nor bert_config.json",
        "name the file itself",
    )


@pytest.mark.parametrize("reference", ["missing.json", "missing/config.json", "google-bert/bert-base-uncased.json"])
def test_a_missing_file_is_missing_and_never_asked_of_a_hub(root: Path, reference: str) -> None:
    assert told(refused(root, reference)) == (reference, NO_FILE, WRITE_A_PATH)


def test_a_file_is_no_folder(root: Path) -> None:
    write(root / "models")
    assert told(refused(root, "models/config.json")) == (
        "models/config.json",
        "the file cannot be read: Not a directory",
        "make it readable",
    )


# not outside the project


@pytest.mark.parametrize("reference", ["../config.json", "models/../../config.json", "../missing.json", ".."])
def test_a_path_that_climbs_out_of_the_project_is_refused(root: Path, reference: str) -> None:
    write(root.parent / "config.json")
    (root / "models").mkdir()
    finding = refused(root, reference)
    assert (finding.kind, finding.message, finding.fix) == OUTSIDE
    assert finding.place == reference


def test_an_absolute_path_outside_the_project_is_refused(root: Path) -> None:
    reference = str(write(root.parent / "config.json"))
    finding = refused(root, reference)
    assert (finding.kind, finding.message, finding.fix, finding.place) == (*OUTSIDE, reference)


def test_a_symlink_that_leads_out_of_the_project_is_refused(root: Path) -> None:
    (root / "config.json").symlink_to(write(root.parent / "secret.json"))
    finding = refused(root)
    assert (finding.kind, finding.message, finding.fix, finding.place) == (*OUTSIDE, "config.json")


def test_a_folder_that_is_a_symlink_out_of_the_project_is_refused(root: Path) -> None:
    write(root.parent / "elsewhere/config.json")
    (root / "models").symlink_to(root.parent / "elsewhere")
    for reference in ("models", "models/config.json"):
        finding = refused(root, reference)
        assert (finding.kind, finding.message, finding.fix, finding.place) == (*OUTSIDE, reference)


def test_a_folder_whose_config_is_a_symlink_out_of_the_project_is_refused(root: Path) -> None:
    (root / "models").mkdir()
    (root / "models/config.json").symlink_to(write(root.parent / "secret.json"))
    finding = refused(root, "models")
    assert (finding.kind, finding.message, finding.fix) == OUTSIDE


def test_a_symlink_within_the_project_is_followed(root: Path) -> None:
    write(root / "shared/config.json")
    (root / "config.json").symlink_to("shared/config.json")
    config = read(root, "config.json")
    assert (config.file, config.data) == ("config.json", {"vocab_size": 30522})


def test_a_project_that_is_itself_reached_through_a_symlink_is_read(root: Path) -> None:
    write(root / "config.json")
    (root.parent / "link").symlink_to(root)
    assert read(root.parent / "link", "config.json").file == "config.json"


# not a file that can be read


@pytest.mark.parametrize("reference", ["loop", "loop/config.json", "there"])
def test_a_loop_of_symlinks_is_refused(root: Path, reference: str) -> None:
    (root / "loop").symlink_to("loop")
    (root / "there").symlink_to("back")
    (root / "back").symlink_to("there")
    finding = refused(root, reference)
    assert finding.place == reference
    # Python 3.11 to 3.13 say where they met the loop, each in its own words
    assert re.fullmatch(
        r"the (path cannot be followed|file cannot be read): .*[Ss]ym(link loop|bolic links).*", finding.message
    )
    assert finding.fix in {"write the path of a file", "make it readable"}


def test_a_folder_that_holds_itself_is_no_obstacle(root: Path) -> None:
    write(root / "models/config.json")
    (root / "models/models").symlink_to(".")
    assert read(root, "models/models/models").data == {"vocab_size": 30522}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_named_pipe_is_refused_and_does_not_hold_the_run_up(root: Path) -> None:
    os.mkfifo(root / "config.json")
    assert told(refused(root)) == ("config.json", "this is not a regular file", "name a file")


def test_a_symlink_that_takes_the_place_of_the_file_is_not_followed(root: Path) -> None:
    (root / "config.json").symlink_to(write(root.parent / "secret.json"))
    with pytest.raises(OSError, match="symbolic links"):
        files.open_as_it_is(str(root / "config.json"), os.O_RDONLY)


def test_a_file_is_read_where_the_system_has_neither_pipes_nor_symlinks(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "O_NONBLOCK")
    monkeypatch.delattr(os, "O_NOFOLLOW")
    write(root / "config.json")
    assert read(root, "config.json").data == {"vocab_size": 30522}


def test_a_nul_byte_in_the_path_is_refused_and_shown(root: Path) -> None:
    assert told(refused(root, "a\0b.json")) == (
        "a\\x00b.json",
        "the path cannot be followed: embedded null byte",
        "write the path of a file",
    )


def test_a_line_break_in_a_path_is_shown_on_one_line(root: Path) -> None:
    assert told(refused(root, "a\nb.json")) == ("a\\nb.json", NO_FILE, WRITE_A_PATH)


def test_a_name_that_is_too_long_is_refused_and_shortened(root: Path) -> None:
    finding = refused(root, "x" * 300)
    assert finding.place == f"{'x' * 199}…"
    assert finding.message == "the path cannot be followed: File name too long"
    assert finding.fix == "write the path of a file"


def test_a_file_of_a_mebibyte_is_the_largest_that_is_read(root: Path) -> None:
    frame = len('{"a": ""}')
    for size in (LARGEST - 1, LARGEST):
        write(root / "config.json", json.dumps({"a": "x" * (size - frame)}))
        assert (root / "config.json").stat().st_size == size
        assert len(read(root, "config.json").text) == size
    write(root / "config.json", json.dumps({"a": "x" * (LARGEST + 1 - frame)}))
    assert told(refused(root)) == (
        "config.json",
        "the file is larger than 1,048,576 bytes",
        "name the config.json of one model",
    )


def test_of_a_larger_file_no_more_is_read_than_tells_that_it_is(root: Path) -> None:
    with write(root / "config.json").open("r+b") as stream:
        stream.truncate(64 * LARGEST)
    tracemalloc.start()
    try:
        assert refused(root).message == "the file is larger than 1,048,576 bytes"
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 4 * LARGEST


# not JSON, or not quite


ENCODINGS = {
    "latin-1": ('\n{"a": "é"\n}'.encode("latin-1"), "config.json:2", "byte 8 is not UTF-8", "save the file as UTF-8"),
    "utf-16": ("{}".encode("utf-16"), "config.json", "the file is UTF-16", "save it as UTF-8"),
    "utf-16 of the other order": (
        "\ufeff{}".encode("utf-16-be"),
        "config.json",
        "the file is UTF-16",
        "save it as UTF-8",
    ),
    "zip archive": (
        b"PK\x03\x04\x00\x00",
        "config.json",
        "this is a zip archive, as torch.save writes it",
        "name the model's config.json",
    ),
    "pickle": (
        b"\x80\x02}q\x00.",
        "config.json",
        "this is a pickle, which is never loaded",
        "name the model's config.json",
    ),
    "surrogate": (b'{"a": "\xed\xa0\x80"}', "config.json:1", "byte 7 is not UTF-8", "save the file as UTF-8"),
    "byte order mark": (
        b"\xef\xbb\xbf{}",
        "config.json",
        "the file starts with a byte order mark, which transformers refuses",
        "save it as UTF-8 without BOM",
    ),
    "git-LFS pointer": (
        b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 570\n",
        "config.json",
        "this is a git-LFS pointer, not the config",
        "run git lfs pull",
    ),
}


@pytest.mark.parametrize(("content", "place", "message", "fix"), ENCODINGS.values(), ids=ENCODINGS)
def test_bytes_that_are_not_plain_utf_8_are_refused(
    root: Path, content: bytes, place: str, message: str, fix: str
) -> None:
    write(root / "config.json", content)
    assert told(refused(root)) == (place, message, fix)


MALFORMED = {
    "no value": ('{\n"a": 1,\n"b"}', 3, "Expecting ':' delimiter at column 4"),
    "a word of its own": ('{"a": yes}', 1, "Expecting value at column 7"),
    "never closed": ('{\n"a": 1\n', 3, "Expecting ',' delimiter at column 1"),
    "two objects": ('{"a": 1}\n{"a": 1}', 2, "Extra data at column 1"),
    "a list at the top, and more": ("[a]\nb", 1, "Expecting value at column 2"),
}


@pytest.mark.parametrize(("text", "line", "what"), MALFORMED.values(), ids=MALFORMED)
def test_what_is_not_json_is_refused_at_its_line(root: Path, text: str, line: int, what: str) -> None:
    write(root / "config.json", text)
    assert told(refused(root)) == (f"config.json:{line}", f"not JSON: {what}", "correct the file")


INI = ("this is an INI file, not JSON", "write the model's sizes as a JSON object")
YAML = ("this is YAML, not JSON", "give it a name that ends with .yaml")
PYTHON = ("this is a Python dict, not JSON", "write it with json.dump")
PYTHON_FILE = (
    "this is a Python file, not JSON",
    'name what is in it: a dict, a class or a function, as in config = "module:NAME"',
)
TOML = ("this is TOML, not JSON", "give it a name that ends with .toml")
JSONNET = (
    "this is jsonnet, not JSON",
    (
        "write what it evaluates to into a file (jsonnet x.jsonnet > x.json), or name a function that evaluates it, as in "
        'config = "module:function"'
    ),
)
COMMENT = ("not JSON: it has a comment", "remove it")
WEB_PAGE = ("this is a web page, not the config", "download the file itself")
INSTEAD = {
    "INI": ("[model]\nhidden_size = 768\n", 1, INI),
    "INI with comments": ("; BERT\n# base\n\n[model sizes]\n\n; width\nhidden-size=768\n", 1, INI),
    "TOML": ('[model]\nhidden_act = "gelu"\nhidden_size = 768\n', 1, TOML),
    "TOML with a table in a table": ("[model.bert]\nhidden_size = 768\n", 1, TOML),
    "TOML without a table": ("hidden_size = 30_522\n", 1, TOML),
    "jsonnet": ("// BERT\nlocal size = 768;\n{ hidden_size: size }", 1, JSONNET),
    "jsonnet with an import": ('{"model": import "base.libsonnet"}', 1, JSONNET),
    "a function of jsonnet": ('{"hidden_size": std.parseInt("768")}', 1, JSONNET),
    "a Python file": ("import os\n\nhidden_size = 768\n", 1, PYTHON_FILE),
    "a Python file with a docstring": ('"""Sizes."""\nhidden_size = 768\n', 1, PYTHON_FILE),
    "a Python file with a class": ("# sizes\nclass Config:\n    hidden_size = 768\n", 1, PYTHON_FILE),
    "YAML": ("hidden_size: 768\nnum_hidden_layers: 12\n", 1, YAML),
    "YAML with a marker": ("# BERT\n---\nmodel:\n  hidden_size: 768\n", 1, YAML),
    "a dict's repr": ("{'hidden_size': 768}", 1, PYTHON),
    "a dict with one quote changed": ("{\"hidden_size\": 768,\n 'vocab_size': 30522}", 2, PYTHON),
    "a dict's True": ('{\n"is_decoder": True}', 2, PYTHON),
    "a dict's None": ('{"pad_token_id": None}', 1, PYTHON),
    "an assignment": ("config = {\n'hidden_size': 768}", 1, PYTHON),
    "a call": ("CONFIG = dict(hidden_size=768)", 1, PYTHON),
    "a comment of JavaScript": ('{\n// width\n"hidden_size": 768}', 2, COMMENT),
    "a comment over lines": ('/* BERT */ {"hidden_size": 768}', 1, COMMENT),
    "a comment of Python": ('# BERT\n{"hidden_size": 768}', 1, COMMENT),
    "a web page": ("\n<!DOCTYPE html><html>", 2, WEB_PAGE),
    "an error of a store": ('<?xml version="1.0"?><Error/>', 1, WEB_PAGE),
}


@pytest.mark.parametrize(("text", "line", "said"), INSTEAD.values(), ids=INSTEAD)
def test_what_stands_there_in_place_of_json_is_called_by_its_name(
    root: Path, text: str, line: int, said: tuple[str, str]
) -> None:
    write(root / "config.json", text)
    assert told(refused(root)) == (f"config.json:{line}", *said)


@pytest.mark.parametrize("text", ["", " \n\t"])
def test_an_empty_file_is_refused(root: Path, text: str) -> None:
    write(root / "config.json", text)
    assert told(refused(root)) == ("config.json", "the file is empty", "write the model's config")


@pytest.mark.parametrize("digits", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
def test_a_number_that_json_does_not_have_is_refused_at_its_line(root: Path, digits: str) -> None:
    write(root / "config.json", f'{{"note": "{digits}",\n"layer_norm_eps": {digits}}}')
    assert told(refused(root)) == ("config.json:2", f"not JSON: {digits} is not a number", "correct the file")


def test_a_number_that_python_does_not_read_is_refused(root: Path) -> None:
    write(root / "config.json", f'{{"vocab_size": {"9" * 5_000}}}')
    assert told(refused(root)) == ("config.json", "not JSON: a number of thousands of digits", "correct the file")


# how much of it


def keys(count: int) -> str:
    return "{" + ", ".join(f'"{index}": 0' for index in range(count)) + "}"


@pytest.mark.parametrize(
    "around", ["{}", '{{"a": {}}}', '{{"a": [1, {}]}}', '{{"a": {{"b": {}}}}}', '{{"a": {}, "b": []}}']
)
def test_two_thousand_keys_are_the_most_that_an_object_may_have(root: Path, around: str) -> None:
    write(root / "config.json", around.format(keys(2_000)))
    assert read(root, "config.json").data
    write(root / "config.json", around.format(keys(2_001)))
    message = "an object has 2,001 keys, more than 2,000"
    assert told(refused(root)) == ("config.json", message, "name one model's config")


@pytest.mark.parametrize("around", ["{{{}: 0}}", '{{"a": {{{}: 0}}}}', '{{"a": [{{{}: 0}}]}}'])
def test_two_hundred_characters_are_the_longest_key(root: Path, around: str) -> None:
    write(root / "config.json", around.format(f'"{"k" * 200}"'))
    assert read(root, "config.json").data
    write(root / "config.json", around.format(f'"{"k" * 201}"'))
    assert told(refused(root)) == (
        "config.json",
        'the key "kkkkkkkkkkkkkkkkkkkk" and so on has 201 characters, more than 200',
        "remove it",
    )


def test_labels_may_be_many_and_long(root: Path) -> None:
    write(root / "config.json", f'{{"id2label": {keys(3_000)}, "label2id": {{"{"k" * 1_000}": 0}}}}')
    assert len(read(root, "config.json").data["id2label"]) == 3_000  # type: ignore[arg-type]


def test_twenty_thousand_objects_and_lists_are_the_most(root: Path) -> None:
    text = '{{"a": "[[{{{{", "b": [{}]}}'
    write(root / "config.json", text.format(", ".join(["[]"] * 19_998)))  # and the two around them
    assert read(root, "config.json").data
    write(root / "config.json", text.format(", ".join(["[]"] * 19_999)))
    message = "not JSON: more than 20,000 objects and lists"
    assert told(refused(root)) == ("config.json", message, "correct the file")


def test_of_too_many_objects_and_lists_only_the_first_are_looked_at(root: Path) -> None:
    write(root / "config.json", f"[{'[], ' * 20_000}{'[' * 65}")
    message = "not JSON: more than 20,000 objects and lists"
    assert told(refused(root)) == ("config.json", message, "correct the file")


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_sixty_four_levels_are_the_deepest_that_are_read(root: Path, opening: str) -> None:
    closing = "]" if opening == "[" else "}"

    def nested(depth: int) -> Path:  # the outer object is the first level
        return write(root / "config.json", f'{{"a": {opening * (depth - 1)}1{closing * (depth - 1)}}}')

    for depth in (63, 64):
        nested(depth)
        assert list(read(root, "config.json").data) == ["a"]
    nested(65)
    assert told(refused(root)) == ("config.json", "not JSON: nested more than 64 deep", "correct the file")


def test_a_hundred_thousand_levels_are_refused_like_sixty_five(root: Path) -> None:
    write(root / "config.json", "[" * 100_000)
    assert told(refused(root)) == ("config.json", "not JSON: nested more than 64 deep", "correct the file")


@pytest.mark.parametrize("brackets", ["[" * 65, "{" * 65, '\\"' + "[" * 65], ids=["square", "curly", "quote"])
def test_brackets_inside_a_string_are_no_levels(root: Path, brackets: str) -> None:
    write(root / "config.json", f'{{"name": "{brackets}"}}')
    assert read(root, "config.json").data == {"name": brackets.replace('\\"', '"')}


def test_brackets_behind_an_escaped_line_break_are_inside_the_string_still(root: Path) -> None:
    write(root / "config.json", '{"name": "\\\n' + "[" * 65 + '"}')
    assert told(refused(root)) == ("config.json:1", "not JSON: Invalid \\escape at column 11", "correct the file")


def test_closing_brackets_inside_a_string_do_not_hide_levels(root: Path) -> None:
    write(root / "config.json", f'{{"name": "{"]" * 100}", "a": {"[" * 64}{"]" * 64}}}')
    assert told(refused(root)) == ("config.json", "not JSON: nested more than 64 deep", "correct the file")


REPEATED = {
    "a key": ('{"a": 1,\n"a": 1}', "a", 2),
    "with another between": ('{"a": 1,\n"b": 2,\n"a": 3}', "a", 3),
    "through an escape": ('{"vocab_size": 1,\n"\\u0076ocab_size": 2}', "vocab_size", 2),
    "both through escapes": ('{"\\u0061": 1,\n"\\u0061": 2}', "a", 2),
    "an empty key": ('{"": 1,\n"": 2}', "", 2),
    "in an object below": ('{"x": {\n"a": 1,\n"a": 2}}', "a", 3),
    "below, and once above": ('{"a": 0,\n"x": {\n"a": 1,\n"a": 2}}', "a", 4),
    "in an object of a list": ('{"x": [{"a": 0},\n{"a": 1,\n"a": 2}]}', "a", 3),
}


@pytest.mark.parametrize(("text", "key", "line"), REPEATED.values(), ids=REPEATED)
def test_a_key_that_stands_twice_in_one_object_is_refused_at_the_second(
    root: Path, text: str, key: str, line: int
) -> None:
    write(root / "config.json", text)
    assert told(refused(root)) == (
        f"config.json:{line}",
        f'the key "{key}" stands there twice in one object',
        "keep one of them",
    )


def test_a_repeated_key_far_down_in_the_file_is_refused_without_its_line(root: Path) -> None:
    texts = ", ".join(['""'] * 50_000)
    write(root / "config.json", f'{{"a": [{texts}],\n"b": 1, "b": 2}}')
    message = 'the key "b" stands there twice in one object'
    assert told(refused(root)) == ("config.json", message, "keep one of them")


def test_of_two_repeated_keys_the_one_that_is_named_is_the_one_whose_line_is_told(root: Path) -> None:
    write(root / "config.json", '{"outer": 1,\n"outer": 2,\n"x": {"inner": 1,\n"inner": 2}}')
    place, message, _ = told(refused(root))
    line = {"outer": 2, "inner": 4}[message.split('"')[1]]
    assert place == f"config.json:{line}"
    assert message.endswith("stands there twice in one object")


def test_the_same_key_in_two_objects_is_no_repetition(root: Path) -> None:
    write(root / "config.json", '{"a": {"a": 1}, "b": [{"a": 2}, {"a": 3}]}')
    assert read(root, "config.json").data == {"a": {"a": 1}, "b": [{"a": 2}, {"a": 3}]}


KINDS = {
    "a list": "[{}]",
    "a string": '"x"',
    "a number": "1.5",
    "true or false": "true",
    "null": "null",
}


@pytest.mark.parametrize(("kind", "text"), KINDS.items(), ids=KINDS)
def test_a_file_that_holds_no_object_is_refused(root: Path, kind: str, text: str) -> None:
    write(root / "config.json", text)
    assert told(refused(root)) == ("config.json", f"the file holds {kind}, not an object", NOT_A_CONFIG)


# an object inside the file


def test_the_keys_behind_the_hash_lead_to_an_object(root: Path) -> None:
    write(root / "train.json", '{"lr": 1,\n"vocab_size": 1,\n"model": {"bert_config": {\n"vocab_size": 30522}}}')
    config = read(root, "train.json#model.bert_config")
    assert config.data == {"vocab_size": 30522}
    assert (config.file, config.key_path) == ("train.json", ("model", "bert_config"))
    assert config.reference == "train.json#model.bert_config"
    assert config.line("vocab_size") == 4


def test_a_folder_can_have_keys_behind_it(root: Path) -> None:
    write(root / "models/config.json", '{"text_config": {"vocab_size": 7}}')
    assert read(root, "models#text_config").reference == "models/config.json#text_config"


@pytest.mark.parametrize("reference", ["config.json", "config.json#"])
def test_without_keys_the_whole_file_is_meant(root: Path, reference: str) -> None:
    write(root / "config.json")
    config = read(root, reference)
    assert (config.reference, config.key_path) == ("config.json", ())


NESTED = '{"lr": 1, "model": {"bert_config": {}, "list": [{}], "text": "x", "none": null, "yes": true, "one": 1}}'
INSIDE = '"bert_config", "list", "text", "none", "yes", "one"'


@pytest.mark.parametrize(
    ("keys", "missing", "there"),
    [
        ("bert", "bert", '"lr", "model"'),
        ("bert.vocab_size", "bert", '"lr", "model"'),
        ("model.bert", "model.bert", INSIDE),
        ("model..bert_config", "model.", INSIDE),
        ("model.text.x", "model.text.x", "no object"),
        ("model.list.0", "model.list.0", "no object"),
        ("model.bert_config.x", "model.bert_config.x", "an empty object"),
    ],
)
def test_a_key_that_is_not_in_the_file_is_named_with_those_that_are(
    root: Path, keys: str, missing: str, there: str
) -> None:
    write(root / "train.json", NESTED)
    assert told(refused(root, f"train.json#{keys}")) == (
        "train.json",
        f"there is no {missing} in the file; at that place there is {there}",
        "correct what follows the #",
    )


def test_at_most_twelve_of_the_keys_are_named(root: Path) -> None:
    write(root / "train.json", json.dumps(dict.fromkeys("abcdefghijklmn")))
    assert refused(root, "train.json#model").message == (
        "there is no model in the file; at that place there is "
        '"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"'
    )


@pytest.mark.parametrize(
    ("key", "kind"),
    [("list", "a list"), ("none", "null"), ("yes", "true or false"), ("one", "a number")],
)
def test_what_the_keys_lead_to_has_to_be_an_object(root: Path, key: str, kind: str) -> None:
    write(root / "train.json", NESTED)
    assert told(refused(root, f"train.json#model.{key}")) == (
        "train.json",
        f"model.{key} is {kind}, not an object",
        NOT_A_CONFIG,
    )


def test_a_string_that_the_keys_lead_to_has_to_name_a_config(root: Path) -> None:
    write(root / "train.json", json.dumps({"model": {"name": "acme/encoder"}}))
    assert told(refused(root, "train.json#model.name"))[1] == (
        'train.json#model.name is "acme/encoder": "acme/encoder" is no file of the project, and no config that the '
        "catalogue or the hub cache has"
    )


# what the object says of itself


def of(text: str) -> ModelConfig:
    return ModelConfig("config.json", (), json.loads(text), text, "")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("{}", ()),
        ('{"architectures": null}', ()),
        ('{"architectures": []}', ()),
        ('{"architectures": ["BertModel"]}', ("BertModel",)),
        ('{"architectures": ["BertModel", "BertForMaskedLM"]}', ("BertModel", "BertForMaskedLM")),
    ],
)
def test_the_architectures_are_a_list_of_names(text: str, names: tuple[str, ...]) -> None:
    assert of(text).architectures == names


@pytest.mark.parametrize("value", ['"BertModel"', '["BertModel", 1]', "3", '{"0": "BertModel"}', "[null]", '""', "{}"])
def test_architectures_of_another_type_are_refused_at_their_line(value: str) -> None:
    with pytest.raises(Unusable) as unusable:
        _ = of(f'{{\n"architectures": {value}}}').architectures
    (finding,) = unusable.value.findings
    assert told(finding) == ("config.json:2", f"architectures is {value}", 'write a list, as in ["BertModel"]')
    assert finding.kind == "config-invalid"


def test_the_model_type_is_what_the_object_says_whatever_that_is() -> None:
    assert [of(text).model_type for text in ("{}", '{"model_type": "bert"}', '{"model_type": 3}')] == [None, "bert", 3]


def test_a_key_has_the_line_on_which_it_stands_and_a_missing_one_has_none() -> None:
    config = of('{\n"hidden_size": 768,\n"vocab_size": 30522}')
    assert [config.line(key) for key in ("hidden_size", "vocab_size", "num_labels")] == [2, 3, None]


# where a key stands, where other code reads the file


RENAMED = replace(
    of('{"model": {\n"num_blks": 3,\n"inner": {\n"dim": 48}}}'),
    key_path=("model",),
    data={"num_hidden_layers": 3, "inner": {"hidden_size": 48}, "vocab_size": 7},
    by_own_names={"num_blks": 3, "inner": {"dim": 48}, "vocab_size": 7},
    names_in_file={
        ("model", "num_hidden_layers"): ("model", "num_blks"),
        ("model", "inner", "hidden_size"): ("model", "inner", "dim"),
        ("model", "inner"): ("model", "inner"),
    },
)


def test_a_key_by_another_name_has_the_place_and_the_name_that_it_has_in_the_file() -> None:
    keys = (("num_hidden_layers",), ("inner", "hidden_size"), ("inner", "bias"), ("vocab_size",))
    assert [RENAMED.line(*key) for key in keys] == [2, 4, None, None]
    assert [RENAMED.written_as(*key) for key in keys] == ["num_blks", "inner.dim", "inner.bias", "vocab_size"]
    assert RENAMED.said_as("num_hidden_layers") == " (in the file, num_hidden_layers is num_blks)"
    assert RENAMED.said_as("vocab_size") == ""


def test_an_object_that_stands_elsewhere_in_the_file_takes_its_keys_along() -> None:
    whole = replace(of('{"args": {"vocab_size": 7}}'), names_in_file={("args",): ("train", "args")})
    assert whole.written_as("args", "vocab_size") == "train.args.vocab_size"
    assert whole.written_as() == ""


def test_what_other_code_reads_is_an_object_in_a_file_or_one_by_names_of_its_own() -> None:
    plain = of('{"vocab_size": 7}')
    assert not plain.is_shared
    assert plain.as_written == plain.data
    assert RENAMED.as_written == {"num_blks": 3, "inner": {"dim": 48}, "vocab_size": 7}
    assert replace(plain, key_path=("model",)).is_shared
    assert replace(plain, by_own_names={}).is_shared


def test_an_object_below_a_key_is_a_config_of_the_same_file_by_the_librarys_names() -> None:
    inner = RENAMED.inner("inner", {"hidden_size": 48})
    assert (inner.file, inner.key_path, inner.data) == ("config.json", ("model", "inner"), {"hidden_size": 48})
    assert inner.as_written == {"hidden_size": 48}
    assert inner.line("hidden_size") == 4
    assert inner.reference == "config.json#model.inner"


def test_a_refusal_says_the_name_in_the_file_and_stands_at_its_line() -> None:
    with pytest.raises(Unusable) as unusable:
        RENAMED.refuse("num_hidden_layers", "num_hidden_layers is 3", "write 2", "ignored-key")
    (finding,) = unusable.value.findings
    message = "num_hidden_layers is 3 (in the file, num_hidden_layers is num_blks)"
    assert (*told(finding), finding.kind) == ("config.json:2", message, "write 2", "ignored-key")


def test_what_is_no_json_says_its_lines_itself() -> None:
    def line_of(key: tuple[str, ...]) -> int | None:
        return 12 if key == ("model", "vocab_size") else None

    config = replace(of('{\n"vocab_size": 7}'), key_path=("model",), line_of=line_of)
    assert (config.line("vocab_size"), config.line("hidden_size")) == (12, None)


def test_why_a_value_cannot_be_told_is_known_of_its_key_and_of_what_holds_it() -> None:
    why = ("is what env says", "write a number")
    config = replace(of("{}"), unknown={("model", "inner", "hidden_size"): why})
    assert config.why_unknown("model", "inner", "hidden_size") == why
    assert config.why_unknown("model") == why
    assert config.why_unknown("model", "vocab_size") is None


def test_a_config_that_stands_in_no_file_has_no_lines() -> None:
    config = made({"model": {"vocab_size": 7}, "a": 1}, "models.py", "model")
    assert (config.file, config.key_path, config.data) == ("models.py", ("model",), {"vocab_size": 7})
    assert config.text == '{"a": 1, "model": {"vocab_size": 7}}'
    assert config.sha256 == hashlib.sha256(config.text.encode()).hexdigest()
    assert config.line("vocab_size") is None
    assert made({"b": 1}, "models.py").key_path == ()


def test_one_of_several_backbones_is_the_whole_and_the_others_have_their_names_before_their_keys() -> None:
    query = of('{"vocab_size": 7, "dtype": "float16", "torch_dtype": "float16"}')
    context = of('{"vocab_size": 9, "dtype": "float16", "torch_dtype": "float32", "quantization_config": {"bits": 4}}')
    assert query.flat == query.data
    whole = replace(of("{}"), parts={"query": query, "context": context}, primary="query", whole="dpr")
    assert whole.reference == "dpr"
    assert whole.flat == {
        "vocab_size": 7,
        "dtype": "float16",
        "torch_dtype": "float16",
        "context.vocab_size": 9,
        "context.dtype": "float16",
        "context.torch_dtype": "float32",
        "context.quantization_config": {"bits": 4},
    }


@pytest.mark.parametrize("key", ["dtype", "torch_dtype", "quantization_config"])
def test_what_all_backbones_say_of_how_they_are_stored_is_said_of_the_whole(key: str) -> None:
    one, other, third = (of(json.dumps({key: value})) for value in ("int8", "int8", "float32"))
    both = replace(of("{}"), parts={"query": one, "context": other})
    assert both.flat == {f"query.{key}": "int8", f"context.{key}": "int8", key: "int8"}
    assert key not in replace(both, parts={"query": one, "context": third}).flat


# what is no JSON file, and what is no object


@pytest.mark.parametrize(
    ("value", "path", "message", "fix"),
    [
        ({"a": {"b": float("nan")}}, ("a", "b"), "a.b is nan, which is no number", "write a number"),
        (float("-inf"), (), "it is -inf, which is no number", "write a number"),
        ({"a": [1, 1 << 14_280]}, ("a",), "a is a number of thousands of digits", "write a number"),
        ({"a": (1, 2)}, ("a",), "a is (1, 2), which JSON cannot say", "write it as a string"),
        ({"a": 1, "b": {1, 2}, "c": b"x"}, ("b",), "b is {1, 2}, which JSON cannot say", "write it as a string"),
        (
            {"a": {"b" * 201: 1}},
            ("a", "b" * 201),
            'the key "bbbbbbbbbbbbbbbbbbbb" and so on has 201 characters, more than 200',
            "remove it",
        ),
        (
            {"a": dict.fromkeys(map(str, range(2_001)))},
            ("a",),
            "an object has 2,001 keys, more than 2,000",
            "name one model's config",
        ),
        (
            {"a": [[]] * 19_999},
            ("a",),
            "more than 20,000 objects and lists",
            "name one model's config",
        ),
    ],
    ids=["nan", "infinity", "digits", "tuple", "the first of several", "long key", "many keys", "many lists"],
)
def test_what_code_says_is_a_config_only_if_json_could_say_it(
    value: object, path: tuple[str, ...], message: str, fix: str
) -> None:
    assert not_plain(value) == (path, message, fix)


def test_what_json_can_say_is_plain() -> None:
    labels = {str(label): "x" for label in range(2_001)}
    assert not_plain({"a": [1, 1.5, "x", None, True, {"b": []}], "c": (1 << 14_280) - 1, "id2label": labels}) is None
    assert not_plain({"a": [[]] * 19_998}) is None


def test_sixty_four_levels_are_the_deepest_that_are_plain() -> None:
    def nested(depth: int) -> dict[str, object]:
        value: dict[str, object] = {}
        for _ in range(depth - 1):
            value = {"a": value}
        return value

    assert not_plain(nested(64)) is None
    assert not_plain(nested(65)) == (("a",) * 64, "nested more than 64 deep", "name one model's config")


def test_a_file_of_modules_is_a_list() -> None:
    assert listed_in(b'[{"idx": 0}, 1]', "modules.json") == [{"idx": 0}, 1]
    for content, message, fix in (
        (b'{"idx": 0}', "the file holds an object, not a list", "write a list of modules, as it is saved"),
        (b"", "the file is empty", "write the model's config"),
        (b"\xff", "byte 0 is not UTF-8", "save the file as UTF-8"),
    ):
        with pytest.raises(Unusable) as unusable:
            listed_in(content, "modules.json")
        (finding,) = unusable.value.findings
        assert (finding.file, finding.message, finding.fix) == ("modules.json", message, fix)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False, allow_infinity=False),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    )
)
def test_any_object_that_json_can_write_is_read_back(tmp_path_factory: pytest.TempPathFactory, value: object) -> None:
    root = tmp_path_factory.mktemp("project")
    write(root / "config.json", json.dumps({"value": value}))
    assert read(root, "config.json").data == {"value": value}
