"""Ways in which Python says a size and runs another: a script that checks what it trains sees each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_bertsize import check_model
from tests.conftest import TINY
from tests.in_hand.test_check_model import fail

if TYPE_CHECKING:
    from tests.in_hand.conftest import Declare

BEGIN = f"""
import argparse, copy, operator
from types import SimpleNamespace
from transformers import BertConfig, BertForMaskedLM
SIZES = {TINY!r}
parser = argparse.ArgumentParser()
parser.add_argument("--layers", type=int, default=SIZES["num_hidden_layers"])
"""
MAKE = "\nmodel = BertForMaskedLM(BertConfig(**SIZES))\n"
AS_DECLARED = f"{BEGIN}SIZES['num_hidden_layers'] = parser.parse_args([]).layers{MAKE}"

WAYS = {
    "another line of arguments": "SIZES['num_hidden_layers'] = parser.parse_args(args='--layers 4'.split()).layers",
    "a namespace that has it already": (
        "SIZES['num_hidden_layers'] = parser.parse_args([], namespace=argparse.Namespace(layers=4)).layers"
    ),
    "another name of the dict": "chosen = SIZES\nchosen['num_hidden_layers'] = 4",
    "a method of the dict's class": "dict.update(SIZES, num_hidden_layers=4)",
    "the module's own names": "globals()['SIZES'] |= {'num_hidden_layers': 4}",
    "another script": "exec('SIZES[\"num_hidden_layers\"] = 4')",
    "a loop that multiplies": "for size in (SIZES,):\n    size['num_hidden_layers'] += 1",
    "a class of the same name": (
        "class BertConfig(BertConfig):\n"
        "    def __init__(self, **keys):\n        super().__init__(**{**keys, 'num_hidden_layers': 4})"
    ),
    "a decorator": (
        "def deep(function):\n    return lambda: function(4)\n@deep\ndef make(layers=3):\n    return layers\n"
        "SIZES['num_hidden_layers'] = make()"
    ),
}
AFTER = {
    "a config that a holder has": "state = SimpleNamespace(config=model.config)\nstate.config.num_hidden_layers = 4",
    "layers that are appended": "model.bert.encoder.layer.append(copy.deepcopy(model.bert.encoder.layer[0]))",
    "rows that are added": "model.resize_token_embeddings(103, mean_resizing=False)",
    "a layer that is dropped": "del model.bert.encoder.layer[-1]",
    "another module in place of one": (
        "from torch import nn\nmodel.cls.predictions.transform.dense = nn.Linear(48, 48, bias=False)"
    ),
}


def run(script: str) -> object:
    """Run a script as far as its last line, which checks the model that it has made."""
    names: dict[str, object] = {}
    exec(compile(script, "train.py", "exec"), names)  # noqa: S102  (the script that trains)
    return names["model"]


def test_the_script_as_it_is_declared_passes(declare: Declare) -> None:
    declare()
    assert check_model(run(AS_DECLARED), "encoder").verdict == "passed"


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_size_that_code_changes_before_the_model_is_made_is_seen(declare: Declare, way: str) -> None:
    declare()
    assert "num_hidden_layers is 3 in config.json, and 4 in the config" in fail(run(f"{BEGIN}{way}{MAKE}"), "encoder")


@pytest.mark.parametrize("way", AFTER.values(), ids=AFTER)
def test_what_code_does_to_the_model_it_has_made_is_seen(declare: Declare, way: str) -> None:
    declare()
    assert fail(run(f"{BEGIN}{MAKE}{way}\n"), "encoder").startswith("encoder: ")
