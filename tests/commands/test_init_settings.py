"""``init`` follows settings that hydra composes, functions that make a model, and parameters of a class that is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bertsize.builder.helper import Helper
from pytest_bertsize.commands.console import FOUND, GOOD
from tests.support.starting_projects import holds, lay, said, started

if TYPE_CHECKING:
    from pathlib import Path

ENCODERS = """\
from torch import nn
from transformers import BertModel


class BertEncoder(BertModel):
    def __init__(self, config, width=0):
        super().__init__(config)
        self.projected = nn.Linear(config.hidden_size, width) if width else None

    @classmethod
    def made(cls, name, width=0, **more):
        return cls.from_pretrained(name, width=width, **more)


class BiEncoder(nn.Module):
    def __init__(self, question, passage):
        super().__init__()
        self.question, self.passage = question.to("cuda"), passage


class Reader(nn.Module):
    def __init__(self, encoder, width):
        super().__init__()
        self.encoder, self.answers = encoder, nn.Linear(width, 2)


def components(cfg, **more):
    width = cfg.encoder.width if hasattr(cfg.encoder, "width") else 0
    question = BertEncoder.made(cfg.encoder.name, width=width, **more)
    passage = BertEncoder.made(cfg.encoder.name, width=width, **more)
    return BiEncoder(question, passage)


def reader(cfg):
    encoder = BertEncoder.made(cfg.encoder.name)
    width = encoder.config.hidden_size
    return Reader(encoder, width)
"""
TRAINS = """\
import hydra
from models import components, reader


@hydra.main(config_path="conf", config_name="train")
def main(cfg):
    return components(cfg), reader(cfg)
"""
OMEGACONF = """\
from types import SimpleNamespace


class OmegaConf:
    def create(value):
        return SimpleNamespace(**{k: OmegaConf.create(v) for k, v in value.items()}) if isinstance(value, dict) else value
"""
"""As much of it as is needed here."""
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


def test_a_bi_encoder_is_made_of_what_hydra_composes_and_a_key_that_changes_is_seen(tmp_path: Path) -> None:
    files = {
        "omegaconf.py": OMEGACONF,
        "models.py": ENCODERS,
        "train.py": TRAINS,
        "conf/train.yaml": "defaults:\n  - encoder: bert\n  - _self_\nhydra:\n  run:\n    dir: ${now:%Y}\nimpl:\n  _vars: 1\n",
        "conf/encoder/bert.yaml": "name: bert-base-uncased\nwidth: 0\n",
    }
    assert started(lay(tmp_path, **files), writes=True, helper=Helper())[0] == GOOD
    written = (tmp_path / "pyproject.toml").read_text("utf-8")
    assert 'config = "conf/train.yaml"' in written
    assert 'budget.total = "219M"' in written  # two of BERT's 109,482,240
    assert "budget.answers = 1_538" in written.replace('"1.54K"', "1_538")  # 768 * 2 + 2
    lay(tmp_path, **{"conf/encoder/bert.yaml": "name: bert-base-uncased\nwidth: 768\n"})
    status, out = holds(tmp_path, Helper())
    assert status == FOUND
    assert "220,145,664" in out  # 218,964,480 and 2 * (768 * 768 + 768)


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
