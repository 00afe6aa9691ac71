"""``init`` follows functions that make a model, and parameters of a class that is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bertsize.builder.helper import Helper
from tests.support.starting_projects import lay, said, started

if TYPE_CHECKING:
    from pathlib import Path

BUILDS = """\
import argparse
from transformers import AutoModelForMaskedLM, BertConfig


def build_model_and_data(args):
    options = {"hidden_size": args.width, "num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 100}
    model = AutoModelForMaskedLM.from_config(BertConfig(intermediate_size=4 * args.width, **options))
    return None, model


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--width", type=int, default=32)
    args = parser.parse_args()
    return build_model_and_data(args)
"""
KNOWN = """\
from dataclasses import dataclass
from torch import nn
from transformers import AutoModel


@dataclass
class Settings:
    name: str = ""
    width: int = 128


class Ranker(nn.Module):
    def __init__(self, name, settings):
        super().__init__()
        self.bert = AutoModel.from_pretrained(name)
        self.projected = nn.Linear(768, settings.width, bias=False)


def train(settings: Settings, data):
    settings.name = settings.name or "bert-base-uncased"
    return Ranker(settings.name, settings)
"""


def test_a_function_that_makes_the_model_is_called_with_the_options_of_the_script(tmp_path: Path) -> None:
    _, out, err = started(lay(tmp_path, **{"train.py": BUILDS}), helper=Helper())
    assert "    return build_model_and_data(args)[1]\n" in out, err
    assert 'config = "train.py"' in out
    assert 'budget.total = "33.7K"' in out  # 19,712 embeddings, 12,704 of a layer, 1,056 + 64 + 100 of the head


def test_a_parameter_of_a_known_class_is_made_by_its_defaults(tmp_path: Path) -> None:
    _, out, err = started(lay(tmp_path, **{"ranker.py": KNOWN}), helper=Helper())
    assert "    return Ranker((Settings().name or 'bert-base-uncased'), Settings())\n" in out, err
    assert 'budget.projected = "98.4K"' in out  # 768 * 128 = 98,304


def test_what_a_function_lacks_is_told_with_its_place(tmp_path: Path) -> None:
    files = {"train.py": BUILDS.replace("return build_model_and_data(args)", "return build_model_and_data(open('x'))")}
    (line,) = [each for each in said(lay(tmp_path, **files)) if "build_model_and_data" in each] or [""]
    assert line == ""  # nothing is built here, and nothing is called
    err = started(tmp_path, helper=Helper())[2]
    assert "train.py:15: build_model_and_data is called here, and open('x') is known only to a run (train.py:15)" in err
