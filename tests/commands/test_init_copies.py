"""``init``: which of several equal configs are declared, and what it says of the copies that training has left behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import TINY
from tests.support.starting_projects import SAVED, changed, configs, holds, lay, left_out, proposed, started


def test_copies_in_checkpoints_are_left_out_and_counted(tmp_path: Path) -> None:
    copies = {f"runs/ner/checkpoint-{step}/config.json": SAVED for step in (500, 1000)}
    lay(tmp_path, **{"models/bert/config.json": TINY, "out/config.json": SAVED, "out/optimizer.pt": b"x"}, **copies)
    assert configs(tmp_path) == ["models/bert/config.json"]
    assert left_out(tmp_path) == [
        "out/config.json and 2 more in a checkpoint folder, a copy of models/bert/config.json"
    ]


@pytest.mark.parametrize(
    "other", [{"num_hidden_layers": 4}, {"tie_word_embeddings": False}, {"architectures": ["BertModel"]}]
)
def test_a_checkpoint_of_another_size_switch_or_class_is_a_model_of_its_own(
    tmp_path: Path, other: dict[str, Any]
) -> None:
    lay(tmp_path, **{"config.json": TINY, "checkpoint-5/config.json": {**SAVED, **other}})
    assert configs(tmp_path) == ["config.json", "checkpoint-5/config.json"]


def test_configs_that_are_equal_today_are_each_declared_so_that_a_change_in_any_is_red(tmp_path: Path) -> None:
    services = [f"services/{name}/model/config.json" for name in ("chat", "search")]
    lay(tmp_path, **dict.fromkeys(services, TINY))
    assert {name: table["config"] for name, table in proposed(tmp_path).items()} == dict(
        zip(("chat", "search"), services, strict=True)
    )
    assert left_out(tmp_path) == []
    started(tmp_path, writes=True)
    for service in services:
        assert holds(tmp_path)[0] == 0
        changed(tmp_path / service, num_hidden_layers=4)
        assert holds(tmp_path)[0] == 1
        changed(tmp_path / service, num_hidden_layers=3)
