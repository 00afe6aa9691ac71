"""``init``: which configs of a repository it is certain of, where it looks, and what it says of the rest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_bertsize.commands.console import GOOD
from pytest_bertsize.commands.init.command import NOTHING
from tests.conftest import TINY
from tests.support.git_projects import repository
from tests.support.starting_projects import (
    GOOGLE,
    by_hand,
    configs,
    holds,
    lay,
    left_out,
    proposed,
    started,
)

OTHER = {**TINY, "vocab_size": 99}
MODULES = [
    {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
    {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
    {"idx": 2, "name": "2", "path": "2_Dense", "type": "sentence_transformers.models.Dense"},
]
DENSE = {"in_features": TINY["hidden_size"], "out_features": 9, "bias": False}
LORA = {"peft_type": "LORA", "r": 8, "target_modules": ["query", "value"]}


# what is certain


@pytest.mark.parametrize(
    "path",
    ["config.json", "bert_config.json", "models/encoder/config.json", "configs/small.json", "a.yaml", "b.yml"],
)
def test_a_file_that_is_a_config_and_names_its_class_is_proposed_whatever_its_name(tmp_path: Path, path: str) -> None:
    text = "\n".join(f"{key}: {value}" for key, value in TINY.items())
    assert configs(lay(tmp_path, **{path: TINY if path.endswith("json") else text})) == [path]


@pytest.mark.parametrize("folder", ["sbert", "."])
def test_a_folder_of_several_modules_is_one_model(tmp_path: Path, folder: str) -> None:
    saved = {
        "modules.json": MODULES,
        "config.json": {**TINY, "architectures": ["BertModel"]},
        "2_Dense/config.json": DENSE,
    }
    (table,) = proposed(lay(tmp_path, **{f"{folder}/{name}": each for name, each in saved.items()})).values()
    assert table["config"] == folder
    assert table["budget"]["head"] == TINY["hidden_size"] * 9


def test_a_folder_of_modules_that_cannot_be_counted_is_a_line_and_no_part_of_it_proposed(tmp_path: Path) -> None:
    modules = [{**MODULES[0], "path": "0_T"}, {"name": "1", "path": "1_X", "type": "mine.Head"}]
    lay(tmp_path, **{"sbert/modules.json": modules, "sbert/0_T/config.json": TINY, "good/config.json": OTHER})
    assert configs(tmp_path) == ["good/config.json"]
    (line,) = by_hand(tmp_path)
    assert line.startswith('sbert/modules.json: module "1_X" is of type "mine.Head"')
    assert 'config = "sbert/0_T/config.json"' in line


@pytest.mark.parametrize(
    ("adapter", "config", "architecture"),
    [
        ({"base_model_name_or_path": "base", "task_type": "SEQ_CLS"}, "base", None),
        ({"base_model_name_or_path": "base", "task_type": "QUESTION_ANS"}, "base", "BertForQuestionAnswering"),
        (
            {"base_model_name_or_path": "bert-base-uncased", "task_type": "QUESTION_ANS"},
            "bert-base-uncased",
            "BertForQuestionAnswering",
        ),
    ],
)
def test_an_adapter_is_proposed_on_a_base_that_is_known_as_the_class_that_it_is_for(
    tmp_path: Path, adapter: dict[str, Any], config: str, architecture: str | None
) -> None:
    base = {**TINY, "architectures": ["BertForSequenceClassification"]}
    lay(tmp_path, **{"base/config.json": base, "adapters/it/adapter_config.json": {**LORA, **adapter}})
    table = proposed(tmp_path)["it"]
    assert (table["config"], table.get("architecture")) == (config, architecture)
    assert table["adapter"] == "adapters/it/adapter_config.json"
    assert {"total", "trainable", "adapters"} <= table["budget"].keys()
    assert started(tmp_path, writes=True)[0] == GOOD
    assert holds(tmp_path)[0] == GOOD
    assert started(tmp_path)[2].startswith("nothing to add")


@pytest.mark.parametrize(
    ("adapter", "why"),
    [
        (
            {"base_model_name_or_path": "bert-base-uncased", "task_type": "SEQ_CLS"},
            (
                "its class and its number of labels are unknown: declare it with config = "
                '"bert-base-uncased", architecture = "BertForSequenceClassification", overrides = { num_labels = … } and '
                'adapter = "it/adapter_config.json"'
            ),
        ),
        (
            {"base_model_name_or_path": "/home/me/base"},
            (
                'its base model, "/home/me/base", is neither in the project nor in the catalogue: declare it with config, '
                "architecture and adapter"
            ),
        ),
    ],
)
def test_an_adapter_of_which_something_is_unknown_is_a_line(tmp_path: Path, adapter: dict[str, Any], why: str) -> None:
    lay(tmp_path, **{"it/adapter_config.json": {**LORA, **adapter}, "it/config.json": TINY})
    assert started(tmp_path)[0] == NOTHING
    (line,) = by_hand(tmp_path)
    assert line.partition(": ")[2] == why


# what is a line


@pytest.mark.parametrize(
    "content",
    [
        {"model_type": "bert", "model_name_or_path": "out/mine", "max_seq_length": 128, "seed": 1},
        {"model_type": {"value": "bert"}, "hidden_size": {"value": 768}},
        {"model": {"num_hiddens": 48, "num_blks": 3, "vocab_size": 101}},
        [TINY],
    ],
)
def test_what_only_looks_like_a_config_is_left_alone_without_a_word(tmp_path: Path, content: Any) -> None:
    status, out, err = started(lay(tmp_path, **{"args.json": content}))
    assert (status, out, err.partition(":")[0], err.count("\n")) == (NOTHING, "", "ERROR", 1)


YOURS = "the class that your code builds"


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (
            GOOGLE,
            'config.json: neither a family nor a class is named: declare it with architecture, and with family = "bert"',
        ),
        (
            {**TINY, "architectures": None},
            f"config.json: no class is named: declare it with architecture, {YOURS}",
        ),
        (
            {"train": {"bert": TINY}},
            (
                "config.json#train.bert: a config of the family bert inside a file: if your code builds it, declare it by this "
                "place"
            ),
        ),
        (
            {**TINY, "architectures": ["MyTagger"]},
            "config.json:2: there is no closed form for \"MyTagger\" in the family 'bert'; the nearest class is BertModel,",
        ),
        (
            {**TINY, "auto_map": {"AutoModel": "modeling.Own"}},
            (
                'config.json:13: the key "auto_map" is refused: it names code to run in place of the library\'s class; '
                "remove it"
            ),
        ),
        (
            '{"model_type": "bert", "hidden_size": 48,',
            "config.json:1: not JSON: Expecting property name enclosed in double quotes at column 42; correct the file",
        ),
    ],
)
def test_a_config_that_is_not_certain_or_cannot_be_used_is_a_line_with_the_reason(
    tmp_path: Path, content: Any, line: str
) -> None:
    lay(tmp_path, **{"config.json": content, "good/config.json": OTHER})
    assert configs(tmp_path) == ["good/config.json"]
    (said,) = by_hand(tmp_path)
    assert said.startswith(line)


def test_a_model_that_would_fail_today_is_a_line_in_place_of_a_table(tmp_path: Path) -> None:
    vocabulary = "".join(f"token{number}\n" for number in range(200))
    lay(tmp_path, **{"config.json": TINY, "vocab.txt": vocabulary, "b/config.json": OTHER})
    assert configs(tmp_path) == ["b/config.json"]
    (line,) = by_hand(tmp_path)
    assert "vocab.txt 200 ids: the highest, 199, has no row" in line


# where it looks


@pytest.mark.parametrize("folder", ["tests", "a/test/b", "testing", "x/fixtures"])
def test_a_config_of_a_test_is_left_out(tmp_path: Path, folder: str) -> None:
    lay(tmp_path, **{"config.json": TINY, f"{folder}/config.json": OTHER})
    assert (configs(tmp_path), left_out(tmp_path)) == (["config.json"], [f"{folder}/config.json, of tests"])


def test_what_git_ignores_or_has_lost_is_not_looked_into_and_what_is_new_is(tmp_path: Path) -> None:
    project = repository(tmp_path)
    lay(
        tmp_path, **{".gitignore": "runs/\n", "config.json": TINY, "runs/config.json": OTHER, "gone/config.json": OTHER}
    )
    project.commit()
    (tmp_path / "gone" / "config.json").unlink()
    lay(tmp_path, **{"new/config.json": {**TINY, "vocab_size": 98}})
    assert configs(tmp_path) == ["config.json", "new/config.json"]


def test_a_repository_in_the_project_is_left_to_itself(tmp_path: Path) -> None:
    project = repository(tmp_path)
    lay(tmp_path, **{"config.json": TINY})
    project.commit()
    repository(tmp_path / "other")
    lay(tmp_path, **{"other/config.json": OTHER})
    assert configs(tmp_path) == ["config.json"]
    assert left_out(tmp_path) == ["other/, a repository of its own"]


def test_symlinks_are_not_followed_and_one_that_is_called_a_config_is_told(tmp_path: Path) -> None:
    root = lay(tmp_path / "project", **{"config.json": TINY, "a/b.json": []})
    outside = lay(tmp_path / "other", **{"config.json": OTHER})
    (root / "folder").symlink_to(outside)
    (root / "loop").symlink_to("loop")
    (root / "a" / "config.json").symlink_to(outside / "config.json")
    assert configs(root) == ["config.json"]
    assert left_out(root) == ["a/config.json, which is a symlink"]
