"""``init`` says which file it leaves out, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import TINY
from tests.support.starting_projects import configs, lay, said

if TYPE_CHECKING:
    from pathlib import Path


def test_a_config_of_a_test_is_left_out(tmp_path: Path) -> None:
    lay(tmp_path, **{"config.json": TINY, "examples/tests/config.json": {**TINY, "num_hidden_layers": 2}})
    assert configs(tmp_path) == ["config.json"]
    assert "left out: examples/tests/config.json, of a test" in said(tmp_path)


HINTS: dict[str, tuple[dict[str, Any], str]] = {
    "sizes by words": (
        {"models/bert.json": {"emb_size": 8, "feedforward_size": 32, "heads_num": 2, "layers_num": 1}},
        (
            "models/bert.json has sizes under names of its own (emb_size, feedforward_size, heads_num, layers_num), no "
            "vocabulary and no model_type: declare what reads it by a factory, with this file as its config"
        ),
    ),
    "jsonnet": (
        {
            "ner.json": 'local layers = 2;\n{ "vocab": "bert", "layers": layers }\n',
            "b.json": 'local layers = 2;\n{ "x": "bert", "layers": layers }\n',
        },
        (
            "b.json:1: this is jsonnet, not JSON; write what it evaluates to into a file (jsonnet x.jsonnet > x.json), or "
            'name a function that evaluates it, as in config = "module:function" (and 1 more)'
        ),
    ),
    "a module that is missing": (
        {
            "out/modules.json": [
                {"idx": 0, "name": "0", "path": "0_T", "type": "sentence_transformers.models.Transformer"}
            ]
        },
        "out/0_T/config.json: there is no such file, which a Transformer has; write it, as it is saved",
    ),
}


@pytest.mark.parametrize("what", HINTS)
def test_what_cannot_be_declared_as_it_stands_is_told_with_its_file(what: str, tmp_path: Path) -> None:
    files, sentence = HINTS[what]
    assert f"by hand: {sentence}" in said(lay(tmp_path, **files))
