"""``init``: which configs of a repository it is certain of, where it looks, and what it says of the rest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_bertsize.commands.console import FOUND, GOOD
from tests.conftest import TINY
from tests.support.git_projects import repository
from tests.support.starting_projects import GOOGLE, by_hand, configs, holds, lay, left_out, proposed, started

OTHER = {**TINY, "vocab_size": 99}
MODULES = [
    {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
    {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
    {"idx": 2, "name": "2", "path": "2_Dense", "type": "sentence_transformers.models.Dense"},
]
DENSE = {"in_features": TINY["hidden_size"], "out_features": 9, "bias": False}
LORA = {"peft_type": "LORA", "r": 8, "target_modules": ["query", "value"]}


# what is certain


def test_a_file_that_is_a_config_and_names_its_class_is_proposed_whatever_its_name(tmp_path: Path) -> None:
    text = "\n".join(f"{key}: {value}" for key, value in TINY.items())
    paths = ["a.yaml", "b.yml", "bert_config.json", "config.json", "configs/small.json", "models/encoder/config.json"]
    assert configs(lay(tmp_path, **{path: TINY if path.endswith("json") else text for path in paths})) == paths


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


QUESTIONS = "BertForQuestionAnswering"


@pytest.mark.parametrize(
    ("base", "task", "architecture"),
    [("base", "SEQ_CLS", None), ("base", "QUESTION_ANS", QUESTIONS), ("bert-base-uncased", "QUESTION_ANS", QUESTIONS)],
)
def test_an_adapter_is_proposed_on_a_base_that_is_known_as_the_class_that_it_is_for(
    tmp_path: Path, base: str, task: str, architecture: str | None
) -> None:
    config = {**TINY, "architectures": ["BertForSequenceClassification"]}
    adapter = {**LORA, "base_model_name_or_path": base, "task_type": task}
    table = proposed(lay(tmp_path, **{"base/config.json": config, "adapters/it/adapter_config.json": adapter}))["it"]
    assert (table["config"], table.get("architecture")) == (base, architecture)
    assert table["adapter"] == "adapters/it/adapter_config.json"
    assert {"total", "trainable", "adapters"} <= table["budget"].keys()
    assert started(tmp_path, writes=True)[0] == GOOD
    assert holds(tmp_path)[0] == GOOD
    assert started(tmp_path)[2].startswith("nothing to add")


@pytest.mark.parametrize("base", ["bert-base-uncased", "/home/me/base"])  # its number of labels, where it is
def test_an_adapter_of_which_something_is_unknown_is_a_line(tmp_path: Path, base: str) -> None:
    adapter = {**LORA, "base_model_name_or_path": base, "task_type": "SEQ_CLS", "auto_mapping": "none"}
    lay(tmp_path, **{"it/adapter_config.json": adapter, "it/config.json": TINY})
    assert started(tmp_path)[0] == FOUND
    (line,) = by_hand(tmp_path)
    how = 'declare it with config, architecture and adapter = "it/adapter_config.json"'
    assert line == f"it/adapter_config.json: its base model or its class is unknown: {how}"


# what is a line


def test_what_only_looks_like_a_config_is_left_alone_without_a_word(tmp_path: Path) -> None:
    arguments = {"model_type": "bert", "model_name_or_path": "out/mine", "hidden_size": 128, "seed": 1}
    sweep = {"model_type": {"value": "bert"}, "hidden_size": {"value": 768}}
    own = {"model": {"num_hiddens": 48, "num_blks": 3, "vocab_size": 101}}
    status, out, err = started(lay(tmp_path, **{"a.json": arguments, "b.json": sweep, "c.json": own, "d.json": [TINY]}))
    assert (status, out, err.partition(":")[0], err.count("\n")) == (FOUND, "", "ERROR", 1)


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (GOOGLE, ': neither a family nor a class is named: declare it with architecture, and with family = "bert"'),
        (
            {**TINY, "architectures": None},
            ": no class is named: declare it with architecture, the class that your code",
        ),
        ({**TINY, "architectures": ["A", "B"]}, ": several classes are named: declare it with architecture, the class"),
        (
            {**TINY, "architectures": ["MyTagger"]},
            ":2: there is no closed form for \"MyTagger\" in the family 'bert'; the nearest class is BertModel,",
        ),
        (
            {**TINY, "auto_map": {"AutoModel": "modeling.Own"}},
            ':13: the key "auto_map" is refused: it names code to run in place of the library\'s class; remove it',
        ),
        (
            '{"model_type": "bert", "hidden_size": 48,',
            ":1: not JSON: Expecting property name enclosed in double quotes",
        ),
    ],
)
def test_a_config_that_is_not_certain_or_cannot_be_used_is_a_line_with_the_reason(
    tmp_path: Path, content: Any, line: str
) -> None:
    lay(tmp_path, **{"config.json": content, "good/config.json": OTHER})
    assert configs(tmp_path) == ["good/config.json"]
    (said,) = by_hand(tmp_path)
    assert said.startswith(f"config.json{line}")


def test_a_model_that_would_fail_today_is_a_line_in_place_of_a_table(tmp_path: Path) -> None:
    vocabulary = "".join(f"token{number}\n" for number in range(200))
    lay(tmp_path, **{"config.json": TINY, "vocab.txt": vocabulary, "b/config.json": OTHER})
    assert configs(tmp_path) == ["b/config.json"]
    (line,) = by_hand(tmp_path)
    assert "vocab.txt 200 ids: the highest, 199, has no row" in line


# where it looks


def test_a_config_of_a_test_is_left_out(tmp_path: Path) -> None:
    folders = ("tests", "a/test/b", "testing", "x/fixtures")
    lay(tmp_path, **{"config.json": TINY, **{f"{folder}/config.json": OTHER for folder in folders}})
    left = "a/test/b/config.json and 3 more: init reads no tests, symlinks, other projects, large files or Python that"
    assert (configs(tmp_path), left_out(tmp_path)) == (["config.json"], [f"{left} this one cannot parse"])


def test_what_git_ignores_or_has_lost_is_not_looked_into_and_what_is_new_is(tmp_path: Path) -> None:
    project = repository(tmp_path)
    lay(
        tmp_path,
        **{".gitignore": "runs/\n", "config.json": TINY, **dict.fromkeys(("runs/a.json", "gone/a.json"), OTHER)},
    )
    project.commit()
    (tmp_path / "gone" / "a.json").unlink()
    lay(tmp_path, **{"new/config.json": {**TINY, "vocab_size": 98}})
    assert configs(tmp_path) == ["config.json", "new/config.json"]


def test_a_repository_in_the_project_is_left_to_itself(tmp_path: Path) -> None:
    project = repository(tmp_path)
    lay(tmp_path, **{"config.json": TINY})
    project.commit()
    repository(tmp_path / "other")
    lay(tmp_path, **{"other/config.json": OTHER})
    assert configs(tmp_path) == ["config.json"]


def test_symlinks_are_not_followed_and_one_that_is_called_a_config_is_told(tmp_path: Path) -> None:
    root = lay(tmp_path / "project", **{"config.json": TINY, "a/b.json": []})
    outside = lay(tmp_path / "other", **{"config.json": OTHER})
    (root / "folder").symlink_to(outside)
    (root / "loop").symlink_to("loop")
    (root / "a" / "config.json").symlink_to(outside / "config.json")
    assert configs(root) == ["config.json"]
    assert left_out(root)[0].startswith("a/config.json: init reads no tests, symlinks, ")
