"""``init`` follows what a model is made of through a project: to callers, other files, labels, and local folders."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import tomli

from pytest_bertsize.builder.helper import Helper
from pytest_bertsize.commands.console import FOUND, GOOD
from tests.support.starting_projects import holds, lay, proposed, started

if TYPE_CHECKING:
    from pathlib import Path

TAGGER = """\
from torch import nn
from transformers import BertForTokenClassification


class Tagger(BertForTokenClassification):
    pass


class Reads:
    def get_labels(self):
        return ["O", "B", "I"]


def main(args):
    labels = Reads().get_labels()
    num_labels = len(labels) + 1
    return Tagger.from_pretrained("bert-base-cased", num_labels=num_labels)
"""
TRAINED = """\
from torch import nn


class BERT(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.bert = nn.Linear(width, width)


class Language(nn.Module):
    def __init__(self, bert, words):
        super().__init__()
        self.bert, self.words = bert, nn.Linear(2, words)
"""
TRAINER = """\
from models import Language


class Trainer:
    def __init__(self, bert, words):
        self.bert = bert
        self.model = Language(self.bert, words)
"""
STARTS = """\
import argparse
from models import BERT
from trainer import Trainer


def train():
    parser = argparse.ArgumentParser()
    parser.add_argument("--width", type=int, default=4)
    args = parser.parse_args()
    bert = BERT(4 * args.width)
    return Trainer(bert, args.width + 1)
"""


def test_the_labels_that_the_project_says_are_asked_for_where_the_model_is_built(tmp_path: Path) -> None:
    lay(tmp_path, **{"run_ner.py": TAGGER})
    assert started(tmp_path, writes=True, helper=Helper())[0] == GOOD
    written = (tmp_path / "bertsize_models.py").read_text("utf-8")
    assert "{**config, 'num_labels': (len(Reads().get_labels()) + 1)}" in written
    (table,) = tomli.loads((tmp_path / "pyproject.toml").read_text("utf-8"))["tool"]["bertsize"]["models"].values()
    assert table["budget"]["classifier"] == "3.08K"  # 768 * 4 + 4 = 3,076
    lay(tmp_path, **{"run_ner.py": TAGGER.replace('"I"', '"I", "E"')})
    assert holds(tmp_path, Helper())[0] == FOUND


def test_an_argument_is_followed_through_the_caller_and_what_is_a_part_has_no_table_of_its_own(tmp_path: Path) -> None:
    lay(tmp_path, **{"models.py": TRAINED, "trainer.py": TRAINER, "start.py": STARTS})
    _, out, err = started(tmp_path, helper=Helper())
    assert "    return Language(BERT((4 * args.width)), (args.width + 1))\n" in out, err
    assert 'config = "start.py"' in out
    assert "budget.total = 287" in out  # 16 * 16 + 16 of BERT, and 2 * 5 + 5
    assert "def bert(" not in out


def test_the_script_is_meant_whose_options_the_class_reads_not_the_one_that_loads_it_again(tmp_path: Path) -> None:
    model = "from torch import nn\n\n\nclass BERT(nn.Module):\n    def __init__(self, args):\n"
    model += "        super().__init__()\n        self.words = nn.Linear(args.width, args.width)\n"
    script = "import argparse\nfrom model import BERT\np = argparse.ArgumentParser()\n"
    makes = "args = p.parse_args()\nmodel = BERT(args)\n"
    trains = script + 'p.add_argument("--width", type=int, default=8)\n' + makes
    lay(
        tmp_path,
        **{"model.py": model, "a_predict.py": f'{script}p.add_argument("--file")\n{makes}', "train.py": trains},
    )
    _, out, err = started(tmp_path, helper=Helper())
    assert 'config = "train.py"' in out, err
    assert "budget.total = 72" in out  # 8 * 8 + 8


def test_what_a_class_reads_by_subscripts_tells_the_script_as_well(tmp_path: Path) -> None:
    model = "from torch import nn\n\n\nclass BERT(nn.Module):\n    def __init__(self, params):\n"
    model += "        super().__init__()\n        self.words = nn.Linear(params['width'], params['width'])\n"
    script = "import argparse\nfrom model import BERT\np = argparse.ArgumentParser()\n"
    makes = "args = p.parse_args()\nparams = args.__dict__\nmodel = BERT(params)\n"
    trains = script + 'p.add_argument("--width", type=int, default=8)\n' + makes
    lay(tmp_path, **{"model.py": model, "a_run.py": f'{script}p.add_argument("--file")\n{makes}', "train.py": trains})
    _, out, err = started(tmp_path, helper=Helper())
    assert 'config = "train.py"' in out, err
    assert "budget.total = 72" in out  # 8 * 8 + 8


def test_a_class_of_the_library_is_made_by_the_options_of_another_file(tmp_path: Path) -> None:
    flags = "from absl import flags\n\n\ndef define():\n    flags.DEFINE_integer(name='width', default=32, help='')\n"
    run = "from absl import flags\nfrom transformers import BertConfig\nfrom making import make\nFLAGS = flags.FLAGS\n"
    run += "\n\ndef main():\n    config = BertConfig(vocab_size=100, hidden_size=FLAGS.width, num_attention_heads=2)\n"
    making = "from transformers import BertForMaskedLM\n\n\ndef make(kind, config):\n    if kind == 'mlm':\n"
    making += "        model = BertForMaskedLM\n    return model(config=config)\n"
    lay(tmp_path, **{"flags.py": flags, "run.py": f"{run}    return make('mlm', config)\n", "making.py": making})
    _, out, err = started(tmp_path, helper=Helper())
    size = "vocab_size=100, hidden_size=args.width, num_attention_heads=2"
    assert f"    return BertForMaskedLM(BertConfig({size}))\n" in out, err
    assert 'config = "flags.py"' in out


CLASSES = """\
import argparse
from torch import nn
from transformers import BertConfig, BertPreTrainedModel, BertTokenizer, RobertaConfig, RobertaPreTrainedModel

NAMES = {"base": "roberta-base"}


class BertTagger(BertPreTrainedModel):
    def __init__(self, config, tags):
        super().__init__(config)
        self.head = nn.Linear(config.hidden_size, tags)


class RobertaTagger(RobertaPreTrainedModel):
    def __init__(self, config, tags, *, twice=False, **more):
        super().__init__(config)
        self.head = nn.Linear(config.hidden_size + more["extra"], 2 * tags if twice else tags)


MODEL_CLASSES = {"bert": (BertConfig, BertTagger, BertTokenizer), "roberta": (RobertaConfig, RobertaTagger, None)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model_type", default="roberta")
    parser.add_argument("--tags", type=int, default=7)
    args = parser.parse_args()
    config_class, model_class, _ = MODEL_CLASSES[args.model_type]
    config = config_class.from_pretrained(NAMES["base"], hidden_act="relu", cache_dir=None)
    return model_class.from_pretrained(NAMES["base"], args.tags, twice=True, config=config, extra=2)
"""


def test_a_class_that_a_table_of_classes_names_is_that_of_the_usual_type(tmp_path: Path) -> None:
    _, out, err = started(lay(tmp_path, **{"run_ner.py": CLASSES}), helper=Helper())
    assert "RobertaTagger(" in out, err
    assert "BertTagger" not in out.replace("RobertaTagger", "")
    assert "tags=args.tags, twice=True, extra=2" in out
    assert 'budget.head = "10.8K"' in out  # (768 + 2) * 14 + 14 = 10,794


WIDE = """\
from torch import nn


class BERT(nn.Module):
    def __init__(self, width, depth=2):
        super().__init__()
        self.words = nn.Linear(width, depth)


def main():
    return BERT({arguments})
"""


def test_an_argument_that_only_a_run_knows_is_left_out_where_it_has_a_default(tmp_path: Path) -> None:
    _, out, err = started(
        lay(tmp_path, **{"model.py": WIDE.format(arguments="width=8, depth=open('x')")}), helper=Helper()
    )
    assert "    return BERT(width=8)\n" in out, err
    assert "budget.total = 18" in out  # 8 * 2 + 2


@pytest.mark.parametrize(
    ("arguments", "unknown"),
    [("*open('x')", "*open('x')"), ("**open('x')", "**open('x')"), ("width=open('x')", "open('x')")],
)
def test_one_that_has_none_is_named_with_its_place(tmp_path: Path, arguments: str, unknown: str) -> None:
    lay(tmp_path, **{"model.py": WIDE.format(arguments=arguments)})
    err = started(tmp_path)[2]
    assert f"{unknown} is known only to a run" in err


def test_a_config_call_in_a_caller_is_the_part_of_a_class_that_cannot_be_made(tmp_path: Path) -> None:
    model = "from torch import nn\nfrom transformers import BertModel\n\n\nclass Midi(nn.Module):\n"
    model += (
        "    def __init__(self, config, words):\n        super().__init__()\n        self.bert = BertModel(config)\n"
    )
    script = "import pickle\nfrom model import Midi\nfrom transformers import BertConfig\n\n\ndef main():\n"
    script += "    config = BertConfig(vocab_size=100, hidden_size=32, num_attention_heads=2)\n"
    script += (
        "    with open('words', 'rb') as file:\n        words = pickle.load(file)\n    return Midi(config, words)\n"
    )
    (table,) = proposed(lay(tmp_path, **{"model.py": model, "main.py": script})).values()
    assert (table["config"], table["architecture"]) == ("main.py#BertConfig", "BertModel")


def test_a_registered_class_is_made_by_its_own_config_class(tmp_path: Path) -> None:
    model = "from torch import nn\nfrom acme.registry import register\n\n\nclass Config:\n"
    model += "    def __init__(self, width=8):\n        self.width = width\n\n\n@register('mlm')\nclass BertForProteins(nn.Module):\n"
    model += "    config_class = Config\n\n    def __init__(self, config):\n        super().__init__()\n"
    model += "        self.words = nn.Linear(config.width, config.width)\n"
    registry = "def register(name):\n    return lambda made: made\n"
    lay(tmp_path, **{"acme/__init__.py": "", "acme/registry.py": registry, "acme/model.py": model})
    _, out, err = started(tmp_path, helper=Helper())
    assert "    return BertForProteins(BertForProteins.config_class())\n" in out, err
    assert "budget.total = 72" in out  # 8 * 8 + 8


def test_a_local_folder_that_a_setting_names_is_the_config_of_the_projects_own_class(tmp_path: Path) -> None:
    config = {"vocab_size": 100, "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "lstm_size": 16}
    model = "from transformers.modeling_bert import *\n\n\nclass Tagger(BertPreTrainedModel):\n"
    model += (
        "    def __init__(self, config):\n        super().__init__(config)\n        self.bert = BertModel(config)\n"
    )
    model += "        self.lstm = nn.LSTM(32, config.lstm_size)\n        self.init_weights()\n"
    script = "import settings\nfrom model import Tagger\n\n\ndef run():\n"
    files = {
        **{f"pretrained/{name}/config.json": json.dumps(config) for name in ("a-bert", "large-bert")},
        "settings.py": "import os\nfolder = os.getcwd() + '/pretrained/large-bert/'\n",
        "model.py": model,
        "run.py": f"{script}    return Tagger.from_pretrained(settings.folder)\n",
    }
    _, out, err = started(lay(tmp_path, **files), helper=Helper())
    assert 'config = "pretrained/large-bert/config.json"' in out, err
    assert "pretrained/large-bert/config.json has a BERT's sizes" not in err
    assert "pretrained/a-bert/config.json has a BERT's sizes" in err
    assert 'budget.lstm = "3.20K"' in out  # 4 * 16 * (32 + 16) + 2 * 4 * 16


NET = """
from torch import nn
from transformers import BertModel


class Scratch(nn.Module):
    def __init__(self, config, extra=32):
        super().__init__()
        self.bert = BertModel(config)
        self.out = nn.Linear(config.hidden_size, extra)
"""
SIZES = "vocab_size=80, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64"
SCRATCH = f"""
from transformers import BertConfig
from net import Scratch

EXTRA = 7


def scratch():
    config = BertConfig({SIZES})
    return Scratch(config, extra=EXTRA)
"""


def test_numbers_that_a_function_has_from_a_call_are_said_with_their_places(tmp_path: Path) -> None:
    _, out, err = started(lay(tmp_path, **{"net.py": NET, "train.py": SCRATCH}), helper=Helper())
    assert f"    return Scratch(BertConfig({SIZES}), extra=7)\n" in out, err
    said = SIZES.replace("=", " = ")
    assert f"    # copied from train.py:9, to be changed here as there: {said}\n" in out
    assert "    # copied from train.py:5, to be changed here as there: extra = 7\n" in out


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        (
            "    return Scratch",
            "    config.num_hidden_layers = 2\n    return Scratch",
            "what BertConfig makes is changed later (train.py:10: config.num_hidden_layers = 2)",
        ),
        ("BertConfig(", "BertConfig(**MORE, ", "**MORE is known only to a run (train.py:9)"),
    ],
)
def test_a_config_that_the_script_changes_or_fills_by_stars_is_left_to_a_factory(
    tmp_path: Path, before: str, after: str, why: str
) -> None:
    lay(tmp_path, **{"net.py": NET, "train.py": SCRATCH.replace(before, after)})
    _, out, err = started(tmp_path, helper=Helper())
    assert "Scratch(" not in out
    assert why in err
