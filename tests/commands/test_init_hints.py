"""``init`` proposes nothing for what is not run, and says of what it leaves which file and which line it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_bertsize.commands.init.command import NOTHING
from tests.conftest import TINY
from tests.support.starting_projects import lay, proposed, said, started

if TYPE_CHECKING:
    from pathlib import Path

ALBERT = "from transformers import AlbertPreTrainedModel\n\n\nclass Ranker(AlbertPreTrainedModel):\n    pass\n"
ASKS = "import argparse\nfrom transformers import BertModel\np = argparse.ArgumentParser()\n"
LOADS = "args = p.parse_args()\nmodel = {made}.from_pretrained(args.model)\n"
SIZED = {key: value for key, value in TINY.items() if key not in {"model_type", "architectures"}}


def test_an_option_that_has_to_be_given_is_not_what_another_script_has_for_its_own(tmp_path: Path) -> None:
    required = f'{ASKS}p.add_argument("--model", default=None, required=True)\n{LOADS.format(made="BertModel")}'
    said_there = f'{ASKS}p.add_argument("--model", default="bert-base-cased")\n{LOADS.format(made="BertModel")}'
    lay(tmp_path, **{"answer.py": required, "train.py": said_there})
    (table,) = proposed(tmp_path).values()
    assert table["config"] == "train.py#model"
    assert "answer.py:6 makes BertModel of args.model, and no file says which" in started(tmp_path)[2]


def test_a_class_of_albert_is_not_made_of_a_berts_name(tmp_path: Path) -> None:
    script = f'{ASKS}from ranker import Ranker\np.add_argument("--model", default="bert-base-cased")\n'
    lay(tmp_path, **{"ranker.py": ALBERT, "train.py": script + LOADS.format(made="Ranker")})
    _, out, err = started(tmp_path)
    assert "train.py:7: Ranker is made here, and args.model names no published model, nor a file of the project" in err
    assert "Ranker" not in out


def test_a_name_that_is_a_default_of_a_class_is_that_of_the_script_that_trains_it(tmp_path: Path) -> None:
    holds_one = "class Match:\n    def __init__(self, model_name='bert-base-cased'):\n        self.name = model_name\n"
    trains = 'import argparse\np = argparse.ArgumentParser()\np.add_argument("--model", default="bert-base-cased")\n'
    lay(tmp_path, **{"acme/match.py": holds_one, "examples/training.py": trains})
    (table,) = proposed(tmp_path).values()
    assert table["config"] == "examples/training.py#model"


def test_a_config_that_names_no_class_is_of_none_of_the_librarys_where_nothing_imports_it(tmp_path: Path) -> None:
    own = "from torch import nn\n\n\nclass Encoder(nn.Module):\n    pass\n\n\nmodel = Encoder()\n"
    lay(tmp_path, **{"own.py": own, "config/sizes.json": SIZED})
    status, _, err = started(tmp_path)
    assert status == NOTHING
    assert (
        "config/sizes.json has a BERT's sizes and names no class, and no file of Python here imports transformers: "
        "declare what reads it by a factory" in err
    )


def test_a_config_of_a_test_is_left_out_and_a_project_may_be_in_one_folder_of_examples(tmp_path: Path) -> None:
    script = f'{ASKS}model = BertModel.from_pretrained("bert-base-cased")\n'
    lay(tmp_path, **{"examples/lm/train.py": script, "examples/tests/config.json": TINY})
    (table,) = proposed(tmp_path).values()
    assert table["config"] == "examples/lm/train.py#BertModel.from_pretrained"
    assert "left out: examples/tests/config.json, of a test" in started(tmp_path)[2]


HINTS: dict[str, tuple[dict[str, Any], str]] = {
    "sizes by words": (
        {"models/bert.json": {"emb_size": 8, "feedforward_size": 32, "heads_num": 2, "layers_num": 1}},
        (
            "models/bert.json has sizes under names of its own (emb_size, feedforward_size, heads_num, layers_num), no "
            "vocabulary and no model_type: declare what reads it by a factory, with this file as its config"
        ),
    ),
    "a class that ends in a CRF": (
        {"model.py": "from torch import nn\n\n\nclass BertCRF(nn.Module):\n    pass\n"},
        "model.py:4 defines BertCRF, and no call that makes it can be followed: declare it by a factory",
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
    "a name of README": (
        {"README.md": "    python train.py --bert_model neuralmind/bert-base-portuguese-cased\n"},
        (
            "README.md:1 names neuralmind/bert-base-portuguese-cased, whose config is not here: run hf download "
            "neuralmind/bert-base-portuguese-cased config.json --local-dir configs/bert-base-portuguese-cased, commit the "
            'file, and write hub = { "neuralmind/bert-base-portuguese-cased" = '
            '"configs/bert-base-portuguese-cased/config.json" } in [tool.bertsize]'
        ),
    ),
}


@pytest.mark.parametrize("what", HINTS)
def test_what_cannot_be_declared_as_it_stands_is_told_with_its_file(what: str, tmp_path: Path) -> None:
    files, sentence = HINTS[what]
    assert f"by hand: {sentence}" in said(lay(tmp_path, **files))


def test_a_word_that_is_no_whole_name_of_the_hub_is_not_taken_for_one(tmp_path: Path) -> None:
    lay(tmp_path, **{"train/bert-base.yaml": "name: bert-base\nsteps: 3\n"})
    lay(tmp_path, **{"README.md": "    python train.py --bert_model path-to/bert_uncased --model your/bert-base-x\n"})
    assert not [line for line in said(tmp_path) if " names " in line]


def test_of_many_calls_that_nothing_names_the_first_are_said_and_the_rest_counted(tmp_path: Path) -> None:
    calls = "".join(f"m{each} = BertModel.from_pretrained(given_{each})\n" for each in range(9))
    _, _, err = started(lay(tmp_path, **{"answer.py": f"from transformers import BertModel\n{calls}"}))
    assert [f"BertModel of given_{each}," in err for each in range(9)] == [True] * 6 + [False] * 3
    assert "and 3 such calls more" in err
