"""``init``: which of several equal configs are declared, and what it says of the copies that training has left behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conftest import TINY
from tests.support.git_projects import repository
from tests.support.starting_projects import GOOGLE, SAVED, changed, configs, holds, lay, proposed, said, started

if TYPE_CHECKING:
    from pathlib import Path


def test_copies_in_checkpoints_are_left_out_and_counted(tmp_path: Path) -> None:
    copies = {f"runs/ner/checkpoint-{step}/config.json": SAVED for step in (500, 1000)}
    lay(tmp_path, **{"models/bert/config.json": TINY, "out/config.json": SAVED, "out/optimizer.pt": b"x"}, **copies)
    assert configs(tmp_path) == ["models/bert/config.json"]
    assert said(tmp_path) == [
        "left out: out/config.json and 2 more, copies of models/bert/config.json in checkpoint folders"
    ]


@pytest.mark.parametrize(
    "beside",
    [
        *(
            "model.safetensors",
            "model-00001-of-00002.safetensors",
            "pytorch_model.bin",
            "trainer_state.json",
            "tf_model.h5",
        ),
        *("optimizer.pt", "training_args.bin", "bert_model.ckpt.index", "rng_state_0.pth", "flax_model.msgpack"),
    ],
)
def test_a_folder_with_weights_or_the_state_of_a_trainer_holds_copies(tmp_path: Path, beside: str) -> None:
    lay(tmp_path, **{"z/deep/down/config.json": TINY, "a/config.json": SAVED, f"a/{beside}": b"{}"})
    assert configs(tmp_path) == ["z/deep/down/config.json"]


def test_a_copy_to_which_a_trainer_has_added_the_defaults_is_a_copy(tmp_path: Path) -> None:
    short = {key: value for key, value in TINY.items() if key != "type_vocab_size"}
    saved = {**TINY, "type_vocab_size": 2, "use_cache": True, "hidden_dropout_prob": 0.3}
    lay(tmp_path, **{"config.json": short, "checkpoint-5/config.json": saved})
    assert configs(tmp_path) == ["config.json"]
    assert said(tmp_path) == ["left out: checkpoint-5/config.json, a copy of config.json in a checkpoint folder"]


def test_a_checkpoint_of_another_size_is_a_model_of_its_own(tmp_path: Path) -> None:
    lay(tmp_path, **{"config.json": TINY, "checkpoint-5/config.json": {**SAVED, "num_hidden_layers": 4}})
    assert configs(tmp_path) == ["config.json", "checkpoint-5/config.json"]


def test_so_is_one_with_another_switch(tmp_path: Path) -> None:
    lay(tmp_path, **{"config.json": TINY, "checkpoint-5/config.json": {**SAVED, "tie_word_embeddings": False}})
    assert configs(tmp_path) == ["config.json", "checkpoint-5/config.json"]


def test_so_is_one_of_another_class(tmp_path: Path) -> None:
    lay(tmp_path, **{"config.json": TINY, "checkpoint-5/config.json": {**SAVED, "architectures": ["BertModel"]}})
    assert configs(tmp_path) == ["config.json", "checkpoint-5/config.json"]


def test_the_class_that_checkpoints_name_is_that_of_a_config_that_names_none(tmp_path: Path) -> None:
    saved = {**SAVED, "architectures": ["BertForMaskedLM"]}
    lay(tmp_path, **{"bert_config.json": GOOGLE, "checkpoint-5/config.json": saved})
    (table,) = proposed(tmp_path).values()
    assert (table["config"], table["architecture"]) == ("bert_config.json", "BertForMaskedLM")
    assert 'architecture = "BertForMaskedLM"  # as checkpoint-5/config.json says' in started(tmp_path)[1]


def test_every_released_model_is_a_model_though_it_is_equal_to_another(tmp_path: Path) -> None:
    other = {**TINY, "vocab_size": 99}
    files = {f"{name}/model.safetensors": b"x" for name in "abc"}
    lay(tmp_path, **{"a/config.json": TINY, "b/config.json": other, "c/config.json": TINY}, **files)
    assert configs(tmp_path) == ["a/config.json", "b/config.json", "c/config.json"]
    assert said(tmp_path) == []


def test_the_steps_of_a_run_are_copies_of_what_it_has_saved_at_its_end(tmp_path: Path) -> None:
    steps = {f"a/checkpoint-{step}/config.json": SAVED for step in (500, 1000)}
    lay(tmp_path, **{"a/config.json": SAVED, "a/model.safetensors": b"x"}, **steps)
    assert configs(tmp_path) == ["a/config.json"]
    assert said(tmp_path) == [
        "left out: a/checkpoint-1000/config.json and 1 more, copies of a/config.json in checkpoint folders"
    ]


def test_of_every_run_that_is_all_there_is_one_step_is_declared(tmp_path: Path) -> None:
    lay(tmp_path, **{f"{run}/checkpoint-{step}/config.json": SAVED for step in (500, 600) for run in "ab"})
    assert configs(tmp_path) == ["a/checkpoint-500/config.json", "b/checkpoint-500/config.json"]
    assert said(tmp_path) == [
        f"left out: {run}/checkpoint-600/config.json, a copy of {run}/checkpoint-500/config.json in a checkpoint folder"
        for run in "ab"
    ]


def test_configs_that_are_equal_today_are_each_declared_so_that_a_change_in_any_is_red(tmp_path: Path) -> None:
    services = [f"services/{name}/model/config.json" for name in ("chat", "search")]
    lay(tmp_path, **dict.fromkeys(services, TINY))
    assert {name: table["config"] for name, table in proposed(tmp_path).items()} == dict(
        zip(("chat", "search"), services, strict=True)
    )
    assert said(tmp_path) == []
    started(tmp_path, writes=True)
    for service in services:
        assert holds(tmp_path)[0] == 0
        changed(tmp_path / service, num_hidden_layers=4)
        assert holds(tmp_path)[0] == 1
        changed(tmp_path / service, num_hidden_layers=3)


def test_a_file_that_git_does_not_track_does_not_stand_for_one_that_it_does(tmp_path: Path) -> None:
    project = repository(tmp_path)
    lay(tmp_path, **{"configs/bert_mlm.json": TINY})
    project.commit()
    lay(tmp_path, **{"archive/config.json": TINY})
    assert configs(tmp_path) == ["archive/config.json", "configs/bert_mlm.json"]
    assert said(tmp_path) == []


def test_configs_of_one_size_that_say_something_else_are_two(tmp_path: Path) -> None:
    lay(tmp_path, **{"a.json": TINY, "b.json": {**TINY, "hidden_dropout_prob": 0.3}})
    assert configs(tmp_path) == ["a.json", "b.json"]


def test_a_mistake_that_is_copied_into_checkpoints_is_told_once(tmp_path: Path) -> None:
    bad = {**TINY, "hidden_size": 50}
    lay(tmp_path, **{"config.json": bad, "checkpoint-5/config.json": bad})
    assert [line for line in said(tmp_path) if line.startswith("by hand")] == [
        "by hand: config.json:7: hidden_size 50 is not a multiple of num_attention_heads 4; write a multiple of 4"
    ]
