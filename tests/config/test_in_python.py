"""A config, or the name of a published one, at a place in a Python file or a shell script: read, and nothing is run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_bertsize.closed_forms.registry import Registry
from pytest_bertsize.config import in_python, in_shell
from pytest_bertsize.config.model_config import ModelConfig
from pytest_bertsize.findings import Unusable
from pytest_bertsize.review.check import conclude_unbuilt, examine
from pytest_bertsize.table.settings import load
from tests.support.starting_projects import lay

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = """
import argparse
from dataclasses import dataclass, field
from absl import flags
from transformers import AutoModel, BertConfig

WIDTH = 4 * 16
MODEL = "bert-base-uncased"
PATHS = {"bert": "bert-base-cased", "distilbert": "distilbert-base-uncased"}
flags.DEFINE_integer(name="depth", default=3, help="layers")

@dataclass
class Arguments:
    name: str = field(default="roberta-base", metadata={"help": "which"})
    hidden: int = WIDTH

class Settings:
    def __init__(self, layers=2, path="bert-large-uncased"):
        self.layers = layers
        self.path = path

def build(model_name="bert-base-chinese"):
    other = "albert-base-v2"
    config = BertConfig(hidden_size=WIDTH, num_hidden_layers=flags.FLAGS.depth if False else 2, vocab_size=args.vocab)
    return AutoModel.from_pretrained("distilroberta-base")

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-m", "--model-name", default="bert-base-multilingual-cased")
    parser.add_argument("--vocab", type=int, default="99")
    parser.add_argument("--lower", action="store_true")
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
"""


def said(inner: str, text: str = SCRIPT, *, whole: bool = True) -> Any:
    found = in_python.parse(text.encode(), "train.py", inner, whole=whole)
    return found.data if isinstance(found, ModelConfig) else found


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("MODEL", "bert-base-uncased"),
        ("PATHS.distilbert", "distilbert-base-uncased"),
        ("Arguments.name", "roberta-base"),
        ("Settings.path", "bert-large-uncased"),
        ("Settings.__init__.path", "bert-large-uncased"),
        ("build.model_name", "bert-base-chinese"),
        ("build.other", "albert-base-v2"),
        ("AutoModel.from_pretrained", "distilroberta-base"),
        ("model_name", "bert-base-multilingual-cased"),
    ],
)
def test_a_name_stands_in_a_constant_a_dict_a_field_a_default_an_option_or_a_call(place: str, name: str) -> None:
    assert said(place) == name


def test_a_class_a_dict_and_all_options_are_objects() -> None:
    assert said("Arguments") == {"name": "roberta-base", "hidden": 64}
    assert said("Settings") == {"layers": 2, "path": "bert-large-uncased"}
    assert said("PATHS") == {"bert": "bert-base-cased", "distilbert": "distilbert-base-uncased"}
    assert said("") == {"depth": 3, "model_name": "bert-base-multilingual-cased", "vocab": 99, "lower": False}


def test_the_arguments_of_a_call_follow_constants_and_options() -> None:
    text = SCRIPT.replace("flags.FLAGS.depth if False else 2", "FLAGS.depth")
    assert said("BertConfig", text) == {
        "model_type": "bert",
        "hidden_size": 64,
        "num_hidden_layers": 3,
        "vocab_size": 99,
    }


def test_what_only_a_run_can_tell_is_no_config_and_is_left_to_a_function_that_is_given_the_rest() -> None:
    with pytest.raises(Unusable) as refused:
        said("BertConfig")
    assert str(refused.value.findings[0].sentence) == (
        "train.py:24: what BertConfig says is known only to a run: flags.FLAGS.depth if False else 2; write the value "
        'there, or have a function make the config: config = "module:function"'
    )
    with pytest.raises(Unusable):
        said("BertConfig", whole=False)
    fields = "import os\nclass Arguments:\n    width = 64\n    home = os.environ['HOME']\n"
    assert said("Arguments", fields, whole=False) == {"width": 64}
    with pytest.raises(Unusable, match=r"known only to a run: os\.environ\['HOME'\]"):
        said("Arguments", fields)


@pytest.mark.parametrize(
    ("text", "place", "sentence"),
    [
        (SCRIPT, "MODLE", "train.py: there is no MODLE in the file; did you mean 'MODEL'?"),
        (
            'A = "x"\ndef f():\n    b = "y"\n    b = "z"\n',
            "f.b",
            ("train.py:3: f.b stands there 2 times, and says not the same (lines 3, 4); give what is meant a name of its "
            "own, and write that behind the #"),
        ),
        ("WIDTH = 768\n", "WIDTH", "train.py:1: WIDTH is 768, neither a config nor the name of one; name a place that is"),
        ("print 'two'\n", "A", ("train.py:1: not Python: Missing parentheses in call to 'print'. Did you mean print(...)?; "
         "correct the file")),
    ],
)  # fmt: skip
def test_a_place_that_says_nothing_is_refused_by_name(text: str, place: str, sentence: str) -> None:
    with pytest.raises(Unusable) as refused:
        said(place, text)
    assert refused.value.findings[0].sentence == sentence


def test_nothing_of_the_file_is_run(tmp_path: Path) -> None:
    mark = tmp_path / "run"
    assert said("MODEL", f'open({str(mark)!r}, "w")\nMODEL = "bert-base-uncased"\n') == "bert-base-uncased"
    assert not mark.exists()


def test_a_shell_script_gives_options_and_sets_variables() -> None:
    script = (
        b'NAME="bert-base-cased"\n# --model-name x\npython train.py \\\n  --model-name=bert-base-uncased --lr 3e-5\n'
    )
    assert in_shell.parse(script, "run.sh", "model_name") == "bert-base-uncased"
    assert in_shell.parse(script, "run.sh", "NAME") == "bert-base-cased"
    with pytest.raises(Unusable, match=r"there is no option model in the file"):
        in_shell.parse(script, "run.sh", "model")


def total(root: Path, config: str, more: str = "") -> int:
    """What a table of ``bert`` with this config counts to by its closed form."""
    table = f'[tool.bertsize.models.m]\nconfig = "{config}"\narchitecture = "BertModel"\nbudget = "report-only"\n{more}'
    settings = load(lay(root, **{"pyproject.toml": table}) / "pyproject.toml")
    review = conclude_unbuilt(examine(settings.models["m"], settings, Registry()), settings)
    assert review.expected, review.errors
    return review.expected.unique


BASE, LARGE = 109_482_240, 335_141_888
"""BertModel of bert-base-uncased and of bert-large-uncased, as built by transformers (docs/explanation/counting.md)."""


@pytest.mark.parametrize(
    ("file", "text", "place"),
    [
        ("train.py", 'MODEL = "bert-base-uncased"\n', "MODEL"),
        ("conf/encoder.yaml", "encoder:\n  model: bert-base-uncased\n", "encoder.model"),
        ("conf/encoder.json", '{"model": "bert-base-uncased"}', "model"),
        ("run.sh", "python train.py --model bert-base-uncased\n", "model"),
    ],
)
def test_a_table_whose_config_is_a_place_that_names_a_published_one_follows_it(
    tmp_path: Path, file: str, text: str, place: str
) -> None:
    lay(tmp_path, **{file: text})
    assert total(tmp_path, f"{file}#{place}") == BASE
    lay(tmp_path, **{file: text.replace("base", "large")})
    assert total(tmp_path, f"{file}#{place}") == LARGE


def test_a_name_that_nothing_has_is_told_with_its_place(tmp_path: Path) -> None:
    table = '[tool.bertsize.models.m]\nconfig = "train.py#MODEL"\nbudget = "report-only"\n'
    lay(tmp_path, **{"pyproject.toml": table, "train.py": 'MODEL = "acme/nowhere"\n'})
    settings = load(tmp_path / "pyproject.toml")
    (finding,) = examine(settings.models["m"], settings, Registry()).review.errors
    assert finding.message.startswith('train.py#MODEL is "acme/nowhere": "acme/nowhere" is no file of the project')
    assert "hf download acme/nowhere config.json" in finding.fix
