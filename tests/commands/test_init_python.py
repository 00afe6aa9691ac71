"""``init`` in projects whose models are in Python: what it proposes, that the gate passes it, and when it no longer does."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pytest
import tomli

from pytest_bertsize.builder.helper import Helper
from pytest_bertsize.builder.messages import NotBuilt
from pytest_bertsize.commands.console import FOUND, GOOD
from pytest_bertsize.commands.init.command import NOTHING
from pytest_bertsize.commands.init.python.code import Module, Origin
from pytest_bertsize.commands.init.python.made import Made
from pytest_bertsize.commands.init.python.plan import Plan
from pytest_bertsize.config.python_source import Source
from tests.conftest import TINY
from tests.support.starting_projects import holds, lay, proposed, said, started

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pytest_bertsize.builder.messages import Request

BASE = "109,482,240"
"""BertModel of bert-base-uncased."""

CLASSIFIES = """\
import argparse
from transformers import AutoModelForSequenceClassification

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model_name_or_path", default="bert-base-uncased")
    args = parser.parse_args()
    return AutoModelForSequenceClassification.from_pretrained(args.model_name_or_path, num_labels=3)

if __name__ == "__main__":
    main()
"""


# the library's classes


def test_a_published_model_that_an_option_names_is_proposed_as_what_the_call_makes(tmp_path: Path) -> None:
    lay(tmp_path, **{"train.py": CLASSIFIES})
    status, _out, _ = started(tmp_path, writes=True)
    assert status == GOOD
    written = (tmp_path / "pyproject.toml").read_text("utf-8")
    assert (
        "[tool.bertsize.models.bert-base-uncased]\n"
        'config = "train.py#AutoModelForSequenceClassification.from_pretrained"  # bert-base-uncased\n'
        'architecture = "BertForSequenceClassification"  # train.py:8 makes it\n'
        'budget.total = "110M"\n'
    ) in written
    assert holds(tmp_path)[0] == GOOD
    lay(tmp_path, **{"train.py": CLASSIFIES.replace("bert-base-uncased", "bert-large-uncased")})
    assert holds(tmp_path)[0] == FOUND


@pytest.mark.parametrize(
    ("files", "config", "architecture"),
    [
        (
            {"a.py": 'from transformers import BertModel\nNAME = "bert-base-uncased"\nm = BertModel.from_pretrained(NAME)\n'},
            "a.py#NAME",
            "BertModel",
        ),
        (
            {
                "model.py": "from torch import nn\nfrom transformers import AutoModel\n\n\nclass Tagger(nn.Module):\n"
                '    def __init__(self, name="distilbert-base-uncased"):\n        super().__init__()\n'
                "        self.bert = AutoModel.from_pretrained(name)\n"
            },
            "model.py#Tagger.__init__.name",
            "DistilBertModel",
        ),
        (
            {
                "args.py": "from dataclasses import dataclass\n@dataclass\nclass Args:\n    model_name: str = 'roberta-base'\n",
                "run.py": "from transformers import RobertaForMaskedLM\n\ndef f(args):\n"
                "    return RobertaForMaskedLM.from_pretrained(args.model_name)\n",
            },
            "args.py#Args.model_name",
            "RobertaForMaskedLM",
        ),
        (
            {
                "conf/model.yaml": "encoder:\n  name: bert-base-cased\n",
                "run.py": "from transformers import BertModel\n\ndef f(cfg):\n"
                "    return BertModel.from_pretrained(cfg.encoder.name)\n",
            },
            "conf/model.yaml#encoder.name",
            "BertModel",
        ),
        (
            {
                "run.sh": "python train.py --model bert-base-chinese --lr 3e-5\n",
                "train.py": "import argparse\nfrom transformers import BertForMaskedLM\np = argparse.ArgumentParser()\n"
                'p.add_argument("--model")\nargs = p.parse_args()\nm = BertForMaskedLM.from_pretrained(args.model)\n',
            },
            "run.sh#model",
            "BertForMaskedLM",
        ),
        (
            {
                "pretrain.py": "from transformers import RobertaConfig, RobertaForMaskedLM\n"
                "config = RobertaConfig(vocab_size=600, hidden_size=32, num_hidden_layers=2, num_attention_heads=2)\n"
                "model = RobertaForMaskedLM(config=config)\n"
            },
            "pretrain.py#RobertaConfig",
            "RobertaForMaskedLM",
        ),
        (
            {
                "t.py": "from transformers import BertConfig, BertForMaskedLM\n"
                'config = BertConfig.from_pretrained("bert-base-uncased", num_hidden_layers=6)\n'
                "model = BertForMaskedLM(config)\n"
            },
            "t.py#BertConfig.from_pretrained",
            "BertForMaskedLM",
        ),
        (
            {
                "t.py": "from transformers import AutoConfig, AutoModelForMaskedLM\n"
                'config = AutoConfig.from_pretrained("bert-base-uncased", num_hidden_layers=6)\n'
                "model = AutoModelForMaskedLM.from_config(config)\n"
            },
            "t.py#AutoConfig.from_pretrained",
            "BertForMaskedLM",
        ),
        (
            {
                "t.py": "from transformers import BertConfig, BertModel\n\nclass Trainer:\n    def __init__(self):\n"
                "        self.config = BertConfig(hidden_size=32, num_attention_heads=2)\n\n"
                "    def start(self):\n        self.model = BertModel(self.config)\n"
            },
            "t.py#BertConfig",
            "BertModel",
        ),
    ],
    ids=["constant", "default", "dataclass", "yaml", "shell", "config", "config by name", "from_config", "field"],
)  # fmt: skip
def test_where_the_name_or_the_sizes_are_written_is_what_the_table_names(
    tmp_path: Path, files: dict[str, str], config: str, architecture: str
) -> None:
    (table,) = proposed(lay(tmp_path, **files)).values()
    assert (table["config"], table["architecture"]) == (config, architecture)
    assert started(tmp_path, writes=True)[0] == GOOD
    assert holds(tmp_path)[0] == GOOD


BESIDE = """
from transformers import BertForTokenClassification, BertModel, RobertaForSequenceClassification

LABELS = read_labels()
tags = BertForTokenClassification.from_pretrained("bert-base-uncased", num_labels=len(LABELS))
plain = BertModel.from_pretrained("bert-base-uncased", add_pooling_layer=False)
four = RobertaForSequenceClassification.from_pretrained("roberta-base", num_labels=4)
"""


BESIDE_CLASSES = ("BertForTokenClassification", "BertModel", "RobertaForSequenceClassification")


def test_what_a_call_gives_beside_a_name_is_in_the_table_where_the_gate_does_not_read_it_there(tmp_path: Path) -> None:
    tables = {each["architecture"]: each for each in proposed(lay(tmp_path, **{"train.py": BESIDE})).values()}
    tags, plain, four = (tables[each] for each in BESIDE_CLASSES)
    assert (tags["overrides"], "head" in tags["budget"]) == ({"num_labels": 2}, False)
    assert plain["options"] == {"add_pooling_layer": False}
    assert "overrides" not in four  # the gate reads it
    assert started(tmp_path, writes=True)[0] == GOOD
    assert "# only a run can tell: write how many labels there are\n" in (tmp_path / "pyproject.toml").read_text()
    assert holds(tmp_path)[0] == GOOD
    (tmp_path / "train.py").write_text(BESIDE.replace("num_labels=4", "num_labels=4000"))
    assert holds(tmp_path)[0] == FOUND


@pytest.mark.parametrize("given", ["add_pooling_layer=False", "False"])
def test_an_argument_of_the_class_is_in_the_table_where_its_config_is_made_by_a_call(
    tmp_path: Path, given: str
) -> None:
    text = f"from transformers import BertConfig, BertModel\nmodel = BertModel(BertConfig(hidden_size=768), {given})\n"
    (table,) = proposed(lay(tmp_path, **{"train.py": text})).values()
    assert (table["config"], table["options"]) == ("train.py#BertConfig", {"add_pooling_layer": False})
    assert table["budget"]["pooler"] == 0
    assert started(tmp_path, writes=True)[0] == GOOD
    assert holds(tmp_path)[0] == GOOD


LATER = """
from transformers import AutoConfig, AutoModelForTokenClassification, BertModel, DistilBertModel, RobertaModel

NAME = "bert-base-cased"
config = AutoConfig.from_pretrained(NAME, num_labels=7)
config.num_hidden_layers = 13
tags = AutoModelForTokenClassification.from_pretrained(NAME, config=config)
read = BertModel.from_pretrained("bert-base-uncased")
read.resize_token_embeddings(30_600)
unread = RobertaModel.from_pretrained("roberta-base")
unread.resize_token_embeddings(len(tokenizer))
cut = DistilBertModel.from_pretrained("distilbert-base-uncased")
cut.transformer.layer = cut.transformer.layer[:3]
"""
"""What makes each is the call with all that is given to it and to its config, and not the name alone."""


def test_what_a_script_gives_a_config_or_a_model_is_counted_or_left_to_its_author(tmp_path: Path) -> None:
    tables = {each["architecture"]: each for each in proposed(lay(tmp_path, **{"train.py": LATER})).values()}
    assert {name: each["config"] for name, each in tables.items()} == {
        "BertForTokenClassification": "train.py#AutoModelForTokenClassification.from_pretrained",
        "BertModel": "train.py#BertModel.from_pretrained",
    }
    assert not any("overrides" in each for each in tables.values())
    assert [each for each in said(tmp_path) if each.startswith("by hand")] == [
        (
            "by hand: train.py:10 names roberta-base: train.py:11: vocab_size is given here, and known only to a run; "
            "write overrides = { vocab_size = … } with what the run has"
        ),
        (
            "by hand: train.py:12 names distilbert-base-uncased: train.py:13: what DistilBertModel.from_pretrained makes "
            "is changed later: cut.transformer.layer = cut.transformer.layer[:3]; have a function make the model, as it is "
            'after that: factory = "module:function"'
        ),
    ]
    assert started(tmp_path, writes=True)[0] == GOOD
    assert holds(tmp_path)[0] == GOOD
    for before, after in (("30_600", "60_600"), ("= 13", "= 24"), ("num_labels=7", "num_labels=7000")):
        (tmp_path / "train.py").write_text(LATER.replace(before, after))
        assert holds(tmp_path)[0] == FOUND


def test_what_is_given_where_the_name_is_from_another_file_is_in_the_table_or_left_to_its_author(
    tmp_path: Path,
) -> None:
    run = (
        "from transformers import BertModel\n\ndef main(args):\n    return BertModel.from_pretrained(args.model, {})\n"
    )
    options = 'import argparse\np = argparse.ArgumentParser()\np.add_argument("--model", default="bert-base-uncased")\n'
    (table,) = proposed(lay(tmp_path, **{"opt.py": options, "run.py": run.format("num_hidden_layers=3")})).values()
    assert (table["config"], table["overrides"]) == ("opt.py#model", {"num_hidden_layers": 3})
    lay(tmp_path, **{"run.py": run.format("num_hidden_layers=args.depth")})
    assert said(tmp_path)[0] == (
        "by hand: run.py:4 makes BertModel of bert-base-uncased, and gives it num_hidden_layers = args.depth, which only a "
        'run can tell: declare it by hand, with config = "opt.py#model" and overrides'
    )


SWEEP = {
    "net.py": """
from torch import nn
from transformers import AutoModel

class Net(nn.Module):
    def __init__(self, name="bert-base-uncased", width=196):
        super().__init__()
        self.bert = AutoModel.from_pretrained(name)
        self.out = nn.Linear(768, width)
""",
    "train.py": """
from net import Net

for width in [128, 384]:
    model = Net(name="bert-base-uncased", width=width)
""",
}


def test_a_default_that_stands_in_for_what_only_a_run_gives_is_said(tmp_path: Path) -> None:
    _, out, _ = started(lay(tmp_path, **SWEEP), helper=Helper())
    assert "# width = width is known only to a run (train.py:5): the default of Net stands in\n" in out


OWN_CLASS = """
import argparse
from torch import nn
from transformers import AutoConfig, BertModel, BertPreTrainedModel

parser = argparse.ArgumentParser()
parser.add_argument("--model", default="bert-base-uncased")
args = parser.parse_args([])

def depth():
    return 12

class Tagger(BertPreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.bert = BertModel(config)
        self.tags = nn.Linear(config.hidden_size, config.num_labels)

config = AutoConfig.from_pretrained(args.model, num_labels=7, num_hidden_layers=depth())
config.num_attention_heads = 8
model = Tagger.from_pretrained(args.model, config=config)
"""


def test_an_own_class_has_what_is_given_to_its_config_and_is_left_to_its_author_where_the_model_changes(
    tmp_path: Path,
) -> None:
    _, out, _ = started(lay(tmp_path, **{"train.py": OWN_CLASS}), helper=Helper())
    assert "overrides = { num_labels = 7, num_attention_heads = 8 }" in out
    assert "# num_hidden_layers = depth() is known only to a run (train.py:19): what the config says stands in\n" in out
    for more, why in (
        ("model.resize_token_embeddings(40_000)", "what it makes is changed later (train.py:22: model.resize_token_"),
        ("config.update(more)", "its config is changed later (train.py:22: config.update(more))"),
        ("if x:\n    config.num_labels = 3", "its config is changed later (train.py:23: config.num_labels = 3)"),
    ):
        lay(tmp_path, **{"train.py": f"{OWN_CLASS}{more}\n"})
        assert f"by hand: train.py:21: Tagger is made here, and {why}" in started(tmp_path, helper=Helper())[2]


def test_a_field_of_a_config_is_not_the_parameter_of_another_function(tmp_path: Path) -> None:
    files = {
        "train.py": "from transformers import AutoModelForMaskedLM\n\ndef train(config):\n"
        "    return AutoModelForMaskedLM.from_pretrained(config.teacher)\n",
        "other.py": "from transformers import AutoTokenizer\n\ndef words(teacher='bert-base-cased'):\n"
        "    return AutoTokenizer.from_pretrained(teacher)\n",
    }
    assert "BertForMaskedLM" not in started(lay(tmp_path, **files))[1]
    lay(tmp_path, **{"config.py": "class Config:\n    teacher: str = 'bert-base-uncased'\n"})
    found = {each["architecture"]: each["config"] for each in proposed(tmp_path).values()}
    assert found["BertForMaskedLM"] == "config.py#Config.teacher"


def test_a_name_that_the_call_says_is_not_said_to_be_unsaid(tmp_path: Path) -> None:
    lay(tmp_path, **{"a.py": "from transformers import AutoModel\nm = AutoModel.from_pretrained('acme/model-1')\n"})
    assert said(tmp_path)[0].startswith(
        "by hand: a.py:2 makes AutoModel of 'acme/model-1', whose config is not here: run hf download acme/model-1"
    )


def test_what_tests_and_a_tokenizer_name_is_no_model_of_the_project(tmp_path: Path) -> None:
    tokenizer = 'from transformers import BertTokenizer\nt = BertTokenizer.from_pretrained("bert-base-uncased")\n'
    lay(tmp_path, **{"data.py": tokenizer, "tests/test_model.py": CLASSIFIES})
    assert started(tmp_path)[:2] == (NOTHING, "")


def test_a_name_whose_config_is_not_here_is_told_with_its_line_and_the_command_that_fetches_it(tmp_path: Path) -> None:
    lay(tmp_path, **{"train.py": CLASSIFIES.replace("bert-base-uncased", "acme/legal-bert")})
    (line, _) = said(tmp_path)
    assert line.startswith(
        "by hand: train.py:6 names acme/legal-bert, whose config is not here: run hf download acme/legal-bert config.json"
    )


def test_what_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    lay(tmp_path, **{"train.py": CLASSIFIES, "old.py": "print 'two'\n", "odd.py": b"\xff\xfe\0"})
    assert [*proposed(tmp_path)] == ["bert-base-uncased"]


def test_a_second_time_what_python_names_is_declared(tmp_path: Path) -> None:
    lay(tmp_path, **{"train.py": CLASSIFIES})
    assert started(tmp_path, writes=True)[0] == GOOD
    status, out, err = started(tmp_path, writes=True)
    assert (status, out) == (GOOD, "")
    assert err == "nothing to add: pyproject.toml declares every config that was found and can be declared\n"


# the project's own classes

TAGGER = """\
from torch import nn
from transformers import BertModel, BertPreTrainedModel


class Tagger(BertPreTrainedModel):
    def __init__(self, config, args):
        super().__init__(config)
        self.bert = BertModel(config)
        self.width = nn.Linear(config.hidden_size, args.width)
        self.init_weights()
"""
TRAINS = """\
import argparse
from tagger.model import Tagger

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--name", default="bert-base-uncased")
    parser.add_argument("--width", type=int, default=16)
    args = parser.parse_args()
    model = Tagger.from_pretrained(args.name, args=args)
"""
OWN = {"tagger/__init__.py": "", "tagger/model.py": TAGGER, "train.py": TRAINS}


def test_a_class_of_the_project_is_made_by_a_function_from_the_scripts_own_options(tmp_path: Path) -> None:
    lay(tmp_path, **OWN)
    status, out, err = started(tmp_path, writes=True, helper=Helper())
    assert status == GOOD, err
    assert (tmp_path / "bertsize_models.py").read_text("utf-8") == (
        '"""The models of this project as pytest-bertsize builds them: shapes alone, no weights."""\n\n\n'
        "def tagger(config):\n"
        '    """Tagger, as train.py:9 makes it."""\n'
        "    from tagger.model import Tagger\n"
        "    from types import SimpleNamespace\n\n"
        "    args = SimpleNamespace(**config)\n"
        "    return Tagger(Tagger.config_class.from_pretrained(args.name), args=args)\n"
    )
    (table,) = tomli.loads((tmp_path / "pyproject.toml").read_text("utf-8"))["tool"]["bertsize"]["models"].values()
    assert table["factory"] == "bertsize_models:tagger"
    assert (table["config"], table["closed_form"]) == ("train.py", False)
    # 109,482,240 of BertModel and 768 * 16 + 16 beside it, and one percent at most above that
    assert table["budget"]["total"] == "110M"
    assert table["budget"]["width"] == "12.4K"
    assert "bertsize_models.py, a new file: 1 function makes what is this project's own" in out
    assert holds(tmp_path, Helper())[0] == GOOD


@pytest.mark.parametrize(
    ("before", "after"),
    [("default=16", "default=32"), ("bert-base-uncased", "bert-large-uncased")],
)
def test_what_grows_in_the_projects_own_files_is_red(tmp_path: Path, before: str, after: str) -> None:
    lay(tmp_path, **OWN)
    assert started(tmp_path, writes=True, helper=Helper())[0] == GOOD
    lay(tmp_path, **{"train.py": TRAINS.replace(before, after)})
    assert holds(tmp_path, Helper())[0] == FOUND


def test_what_would_be_written_is_shown_and_nothing_is_written(tmp_path: Path) -> None:
    lay(tmp_path, **OWN)
    _, out, _ = started(tmp_path, helper=Helper())
    assert out.startswith('# bertsize_models.py, a new file\n\n"""The models of this project')
    assert {path.name for path in tmp_path.iterdir()} == {"tagger", "train.py"}


def test_a_class_that_cannot_be_built_is_said_with_its_line_and_its_published_part_is_proposed(tmp_path: Path) -> None:
    broken = TAGGER.replace("args.width)", "args.depth)")
    lay(tmp_path, **{**OWN, "tagger/model.py": broken})
    status, out, err = started(tmp_path, helper=Helper())
    assert status == GOOD
    assert "by hand: tagger/model.py:5: Tagger, made at train.py:9: " in err
    assert "AttributeError: 'types.SimpleNamespace' object has no attribute 'depth' (tagger/model.py:9)" in err
    (table,) = tomli.loads(out)["tool"]["bertsize"]["models"].values()
    assert table["config"] == "train.py#name"


class Told(Helper):
    """A helper that builds nothing, and remembers what it was to build with."""

    def __init__(self) -> None:
        super().__init__()
        self.named: list[tuple[Path, str]] = []

    def build_with(self, python: Path, written: str) -> None:
        self.named.append((python, written))

    def ask(self, requests: Sequence[Request]) -> None:
        self.hub = [request.hub for request in requests]

    def result(self, name: str) -> NotBuilt:  # noqa: ARG002
        return NotBuilt("torch and transformers cannot be imported: ModuleNotFoundError: No module named 'torch'")

    def stop(self) -> None:
        pass


def test_where_nothing_can_be_built_it_says_what_to_install_or_to_name(tmp_path: Path) -> None:
    _, out, err = started(lay(tmp_path, **OWN), helper=Told())
    assert "factory" not in out
    assert (
        "by hand: tagger/model.py:5: Tagger, made at train.py:9: bertsize_models:tagger could not be built: torch and "
        "transformers cannot be imported: ModuleNotFoundError: No module named 'torch'; pip install "
        "'pytest-bertsize[build]', or name the project's own environment (python = \".venv/bin/python\" in "
        "[tool.bertsize]), and start init again\n"
    ) in err


@pytest.mark.parametrize("models", ["", '[tool.bertsize.models.a]\nconfig = "tiny.json"\nbudget.total = "1M"\n'])
def test_a_class_of_the_project_is_tried_where_and_with_what_the_table_says(tmp_path: Path, models: str) -> None:
    said = '[tool.bertsize]\npython = ".venv/bin/python"\nhub = { "acme/tiny" = "tiny.json" }\n'
    helper = Told()
    started(lay(tmp_path, **OWN, **{"pyproject.toml": said + models, "tiny.json": TINY}), helper=helper)
    assert helper.named == [(tmp_path / ".venv/bin/python", ".venv/bin/python")]
    assert [[*hub] for hub in helper.hub] == [["acme/tiny"]] * len(helper.hub)
    assert helper.hub


def test_what_a_class_with_a_function_makes_by_name_has_no_table_beside_it(tmp_path: Path) -> None:
    inside = TAGGER.replace("BertModel(config)", 'BertModel.from_pretrained("bert-base-uncased")')
    inside = inside.replace("BertPreTrainedModel):", "nn.Module):").replace(
        "super().__init__(config)", "super().__init__()"
    )
    inside = inside.replace("config, args", "labels").replace("config.hidden_size, args.width", "768, labels")
    inside = inside.replace("        self.init_weights()\n", "")
    script = "from tagger.model import Tagger\n\nmodel = Tagger(9)\n"
    lay(tmp_path, **{"tagger/__init__.py": "", "tagger/model.py": inside, "train.py": script})
    _, out, _ = started(tmp_path, helper=Helper())
    assert [*tomli.loads(out.partition("# pyproject.toml\n")[2])["tool"]["bertsize"]["models"]] == ["tagger"]


def test_without_a_build_a_class_of_the_project_is_not_proposed(tmp_path: Path) -> None:
    _, out, err = started(lay(tmp_path, **OWN))
    assert "factory" not in out
    assert "by hand: tagger/model.py:5: Tagger, made at train.py:9: it was not built; declare it by a factory" in err


def test_a_file_of_functions_that_is_there_is_left_alone(tmp_path: Path) -> None:
    lay(tmp_path, **OWN, **{"bertsize_models.py": "# mine\n"})
    _, _, err = started(tmp_path, writes=True, helper=Helper())
    assert (tmp_path / "bertsize_models.py").read_text("utf-8") == "# mine\n"
    assert "there is a bertsize_models.py already, to which a function can be added" in err


def test_what_a_script_imports_beside_its_model_need_not_be_installed(tmp_path: Path) -> None:
    logs = "import nowhere_logger\nfrom nowhere.metrics import f1\nfrom transformers import NoSuchOptimizer\n"
    lay(tmp_path, **{**OWN, "tagger/model.py": logs + TAGGER})
    started(tmp_path, writes=True, helper=Helper())
    assert holds(tmp_path, Helper())[0] == GOOD


def test_a_layer_of_what_is_not_installed_is_no_model(tmp_path: Path) -> None:
    layer = TAGGER.replace("from torch", "from nowhere import CRF\nfrom torch") + "        self.crf = CRF(3)\n"
    lay(tmp_path, **{**OWN, "tagger/model.py": layer})
    _, out, err = started(tmp_path, helper=Helper())
    assert "factory" not in out
    assert (
        "NotInstalled: nowhere.CRF is used, and is not installed where the model is built (tagger/model.py:12)" in err
    )


def test_what_stands_in_for_what_only_the_data_tells_is_said_in_the_function(tmp_path: Path) -> None:
    model = "from torch import nn\n\n\nclass BERT(nn.Module):\n    def __init__(self, vocab_size, hidden=8):\n"
    model += "        super().__init__()\n        self.words = nn.Embedding(vocab_size, hidden)\n"
    script = "from model import BERT\n\n\ndef main(vocab):\n    return BERT(len(vocab))\n"
    lay(tmp_path, **{"model.py": model, "train.py": script})
    _, out, _ = started(tmp_path, helper=Helper())
    assert (
        "    # vocab_size is known only to a run (train.py:5: len(vocab)): 30000 stands in\n    return BERT(30000)"
        in out
    )
    assert 'budget.total = "240K"' in out


def test_files_that_import_everything_of_each_other_are_each_looked_into_once(tmp_path: Path) -> None:
    star = {f"m{one}.py": "".join(f"from m{two} import *\n" for two in range(25) if two != one) for one in range(25)}
    status, _, err = started(
        lay(tmp_path, **{name: f"{text}class A(Zed): pass\na = A()\n" for name, text in star.items()})
    )
    assert status == NOTHING, err


def test_the_name_of_a_file_is_no_code_of_a_function_that_is_proposed() -> None:
    hostile = 'a"""+open("x","w").name+""".py'
    module = Module(hostile, Source.of("class Tagger: pass\n"))
    call = ast.Call(ast.Name("Tagger"), [], [], lineno=1)
    made = Made(module, call, Origin(module, "Tagger"), "Module", ())
    text = Plan("tagger", made, module, folders=['a"); import os; ("']).text
    (function,) = ast.parse(text).body
    assert isinstance(function, ast.FunctionDef)
    assert [type(each) for each in function.body] == [ast.Expr, ast.Expr]
    assert ast.get_docstring(function) == "Tagger, as the project makes it."
    assert "import os" not in [ast.unparse(each) for each in function.body]
