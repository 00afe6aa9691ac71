"""``init``: which classes and names of the hub it lists, each at a place where that very class is called."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_bertsize.commands.console import GOOD
from pytest_bertsize.commands.init.command import NOTHING
from tests.conftest import TINY
from tests.support.starting_projects import by_hand, configs, group, lay, left_out, started

TAGGER = """\
from torch import nn
from transformers import BertModel


class Tagger(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.bert = BertModel(config)
"""
HERE = "train.py:3 calls Tagger, a class of tagger.py:5"


def classes_of(root: Path) -> list[str]:
    """The places that make classes, without the commands that declare these."""
    return [line.partition(": bertsize init")[0] for line in group(root, "model classes")]


def names_of(root: Path) -> list[str]:
    return group(root, "names of the hub")


# how a class is imported


@pytest.mark.parametrize(
    ("files", "line"),
    [
        ({"tagger.py": TAGGER, "train.py": "from tagger import Tagger\n\nTagger(1)\n"}, HERE),
        ({"tagger.py": TAGGER, "train.py": "import tagger\n\ntagger.Tagger(1)\n"}, HERE),
        (
            {"tagger.py": TAGGER, "train.py": "from tagger import Tagger as T\n\nmodel = T(1)\n"},
            "train.py:3 calls T, the class Tagger of tagger.py:5",
        ),
        ({"tagger.py": TAGGER, "train.py": "from tagger import *\n\nTagger(1)\n"}, HERE),
        (
            {"tagger.py": TAGGER, "train.py": "from tagger import Tagger\n\nTagger.from_pretrained(x)\n"},
            "train.py:3 calls Tagger.from_pretrained, a class of tagger.py:5",
        ),
        (
            {"a/__init__.py": "", "a/tagger.py": TAGGER, "a/train.py": "from .tagger import Tagger\nTagger(1)\n"},
            "a/train.py:2 calls Tagger, a class of a/tagger.py:5",
        ),
        (
            {"a/__init__.py": "from .Tagger import Tagger\n", "a/Tagger.py": TAGGER, "b.py": "import a\na.Tagger(1)\n"},
            "b.py:2 calls Tagger, a class of a/Tagger.py:5",
        ),
        (
            {"a/t.py": TAGGER, "b/t.py": TAGGER, "b/run.py": "from t import Tagger\nTagger(1)\n"},
            "b/run.py:2 calls Tagger, a class of b/t.py:5",
        ),
        (
            {
                "t.py": "try:\n    from transformers import BertModel\nexcept ImportError:\n    from pytorch_transformers "
                "import BertModel\nm = BertModel(config)\n"
            },
            "t.py:5 calls BertModel, a class of transformers",
        ),
        (
            {
                "t.py": "import pytorch_lightning as pl\nfrom transformers import AutoModel\n\nclass A(pl.LightningModule):\n"
                "    def __init__(self, name):\n        self.bert = AutoModel.from_pretrained(name)\n\nA(1)\n"
            },
            "t.py:8 calls A, a class of t.py:4",
        ),
    ],
)
def test_a_class_is_listed_where_it_is_called_wherever_it_is_imported_from(
    tmp_path: Path, files: dict[str, str], line: str
) -> None:
    assert line in classes_of(lay(tmp_path, **files))


@pytest.mark.parametrize(
    "code",
    [
        "Tagger(1)\n",
        "from other import Tagger\nTagger(1)\n",
        "from tagger import Tagger\nTagger = make()\nTagger(1)\n",
        "from tagger import Tagger\ndef f(Tagger):\n    Tagger(1)\n",
        "from tagger import Tagger\n[Tagger(1) for Tagger in models]\n",
        "import tagger\ntagger.models.Tagger(1)\n",
        "if x:\n    from tagger import Tagger\nelse:\n    from other import Tagger\nTagger(1)\n",
        "from tagger import Tagger\nTagger.config(1)\n",
        "from tagger import Tagger\nprint('Tagger(1)', Tagger)\n",
    ],
)
def test_a_name_that_may_be_another_says_nothing(tmp_path: Path, code: str) -> None:
    lay(tmp_path, **{"tagger.py": TAGGER, "other.py": "Tagger = 1\n", "train.py": code})
    assert classes_of(tmp_path) == ["no call is found that makes Tagger (tagger.py:5)"]


# which classes


LAYERS = f"""{TAGGER}

class CRF(nn.Module):
    pass


class TagLoss(nn.Module):
    def __init__(self):
        self.teacher = BertModel(1)


class Whole(nn.Module):
    def __init__(self):
        self.tagger, self.crf = Tagger(1), CRF()


class Data:
    def __init__(self):
        self.model = BertModel(1)


CRF(), TagLoss(), Whole(), Data()
"""


def test_only_models_are_listed_that_hold_something_of_the_library_and_are_no_part_of_another(tmp_path: Path) -> None:
    assert classes_of(lay(tmp_path, **{"a.py": LAYERS})) == [
        "a.py:30 calls Whole, a class of a.py:20",
        "a.py:27 calls BertModel, a class of transformers",
    ]


def test_a_class_derives_and_holds_through_classes_and_functions_of_the_project(tmp_path: Path) -> None:
    base = "from torch import nn\nfrom make import encoder\nclass Base(nn.Module):\n    def __init__(self):\n        encoder()\n"
    make = "from transformers import BertModel\nCLASSES = {'bert': BertModel}\ndef encoder():\n    return CLASSES.get('bert')(1)\n"
    lay(
        tmp_path,
        **{"base.py": base, "make.py": make, "top.py": "from base import Base\nclass Top(Base): pass\nTop()\n"},
    )
    assert classes_of(tmp_path) == ["top.py:3 calls Top, a class of top.py:2"]


# names of the hub


def test_a_name_of_the_hub_is_listed_once_with_the_class_that_it_makes(tmp_path: Path) -> None:
    code = (
        "from transformers import AutoModel, AutoTokenizer, AutoConfig, TFBertModel\n"
        "AutoTokenizer.from_pretrained('bert-base-cased')\nAutoConfig.from_pretrained('bert-base-cased')\n"
        "TFBertModel.from_pretrained('bert-base-cased')\nAutoModel.from_pretrained('bert-base-uncased')\n"
        "AutoModel.from_pretrained(pretrained_model_name_or_path='acme/tiny')\n"
        "AutoModel.from_pretrained('bert-base-uncased')\nAutoModel.from_pretrained('configs/x')\n"
        "AutoModel.from_pretrained('output/model')\nAutoModel.from_pretrained('mine')\n"
    )
    assert names_of(lay(tmp_path, **{"a.py": code, "configs/x/config.json": TINY})) == [
        'a.py:5 calls AutoModel.from_pretrained("bert-base-uncased")',
        'a.py:6 calls AutoModel.from_pretrained("acme/tiny")',
    ]
    assert classes_of(tmp_path) == ["a.py:8 calls AutoModel.from_pretrained, a class of transformers"]


# how one is declared


def test_the_command_that_is_shown_declares_a_class(tmp_path: Path) -> None:
    train = "from model.tagger import Tagger\nfrom transformers import BertConfig\nmodel = Tagger(BertConfig())\n"
    lay(tmp_path, **{"src/model/tagger.py": TAGGER, "src/train.py": train})
    status, out, err = started(tmp_path)
    assert (status, out) == (NOTHING, "")
    assert "a class of src/model/tagger.py:5: bertsize init model.tagger:Tagger\n" in err
    assert "give it arguments by --kwargs, or name a function" in err


def test_a_class_in_another_folder_is_shown_with_what_imports_it(tmp_path: Path) -> None:
    lay(tmp_path, **{"code/tagger.py": TAGGER, "code/train.py": "from tagger import Tagger\nmodel = Tagger(3)\n"})
    err = started(tmp_path)[2]
    assert ': bertsize init tagger:Tagger (with pythonpath = ["code"] in pytest\'s options)\n' in err


# classes of the project, and configs


def test_configs_of_a_family_that_the_project_has_itself_are_lines(tmp_path: Path) -> None:
    own = "class BertModel: pass\n"
    lay(tmp_path, **{"config.json": TINY, "lib/xbert.py": own, "r/config.json": {**TINY, "model_type": "roberta", "architectures": ["RobertaModel"]}})  # fmt: skip
    assert configs(tmp_path) == ["r/config.json"]
    (line,) = by_hand(tmp_path)
    assert line.startswith("config.json: lib/xbert.py defines classes of the family bert: if this is for one of them, ")


@pytest.mark.parametrize(
    ("code", "is_certain"),
    [
        ("from transformers import BertForMaskedLM\n", True),
        ("from transformers import AutoModelForMaskedLM\n", True),
        ("import torch\n", True),
        ("from transformers import BertModel\n", False),
    ],
)
def test_a_class_that_no_python_names_is_not_what_runs(tmp_path: Path, code: str, *, is_certain: bool) -> None:
    lay(tmp_path, **{"config.json": TINY, "a.py": code, "sbert.json": {"model_type": "vit", "architectures": ["A"]}})
    assert (started(tmp_path)[0] == GOOD) is is_certain
    assert bool(by_hand(tmp_path)) is not is_certain


# what is read


def test_files_that_this_python_cannot_parse_are_counted_and_no_traceback(tmp_path: Path) -> None:
    head = b"import transformers\n"
    files = {
        "two.py": b"print 'x'\n",
        "nul.py": b"\0\n",
        "latin.py": b"x = '\xff'\n",
        "signs.py": b"x = " + b"-" * 100_000 + b"1\n",
        "dots.py": b"x = a" + b".b" * 50_000 + b"\n",
        "brackets.py": b"(" * 3_000 + b")" * 3_000 + b"\n",
    }
    lay(tmp_path, **{name: head + content for name, content in files.items()}, **{"ok.py": "x = '\\d'\n"})
    assert left_out(tmp_path) == ["brackets.py and 5 more, which this Python cannot parse"]
