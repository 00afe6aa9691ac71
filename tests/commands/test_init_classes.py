"""``init``: which classes of the project and which models of the library it lists."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_bertsize.commands.console import FOUND, GOOD
from tests.conftest import TINY
from tests.support.starting_projects import by_hand, configs, group, lay, left_out, started

NOT_READ = "init reads no tests, symlinks, other projects, large files or Python that this one cannot parse"
TAGGER = """\
from torch import nn
from transformers import BertModel


class Tagger(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.bert = BertModel(config)
"""


def classes_of(root: Path) -> list[str]:
    return group(root, "model classes")


# which classes


LIGHTNING = """\
import pytorch_lightning as pl
import transformers as hf

class A(pl.LightningModule):
    def __init__(self, name):
        self.bert = hf.AutoModel.from_pretrained(name)
"""


@pytest.mark.parametrize(
    ("file", "code", "line"),
    [
        ("tagger.py", TAGGER, "tagger.py:5 defines Tagger: bertsize init tagger:Tagger"),
        ("src/a/tagger.py", TAGGER, "src/a/tagger.py:5 defines Tagger: bertsize init a.tagger:Tagger"),
        ("acme/__init__.py", TAGGER, "acme/__init__.py:5 defines Tagger: bertsize init acme:Tagger"),
        ("two words.py", TAGGER, "two words.py:5 defines Tagger"),
        ("t.py", LIGHTNING, "t.py:4 defines A: bertsize init t:A"),
        (
            *("t.py", "from pytorch_transformers import BertModel as B\nclass A(B): pass\n"),
            "t.py:2 defines A: bertsize init t:A",
        ),
    ],
)
def test_a_class_that_holds_or_is_a_model_of_the_library_is_listed_with_the_command_that_declares_it(
    tmp_path: Path, file: str, code: str, line: str
) -> None:
    status, out, err = started(lay(tmp_path, **{file: code}))
    assert (status, out) == (FOUND, "")
    assert classes_of(tmp_path) == [line]
    assert 'if a script makes the model, call check_model(model, "NAME") in the script' in err


LAYERS = f"""{TAGGER}

class CRF(nn.Module):
    pass


class Whole(nn.Module):
    def __init__(self):
        self.tagger, self.crf = Tagger(1), CRF()


class Data:
    def __init__(self):
        self.model = BertModel(1)


class Rows(Dataset):
    def __init__(self):
        self.model = BertModel(2)
"""


def test_a_class_without_one_and_a_part_of_another_are_not_listed(tmp_path: Path) -> None:
    assert classes_of(lay(tmp_path, **{"a.py": LAYERS})) == ["a.py:15 defines Whole: bertsize init a:Whole"]
    assert group(tmp_path, "models of the library") == ["a.py:22 makes BertModel"]
    lay(tmp_path, **{"a.py": TAGGER + "        Other(self)\nclass Other(nn.Module):\n    made_by = Tagger\n"})
    assert len(classes_of(tmp_path)) == 2  # each a part of the other


def test_a_class_derives_and_holds_through_classes_and_functions_of_the_project(tmp_path: Path) -> None:
    base = "from torch import nn\nfrom make import encoder\nclass Base(nn.Module):\n    def __init__(self):\n        encoder()\n"
    make = "from transformers import BertModel\ndef encoder():\n    return BertModel(1)\n"
    top = "from base import Base  # pretrained\nclass Top(Base): pass\n"
    assert classes_of(lay(tmp_path, **{"base.py": base, "make.py": make, "top.py": top})) == [
        "top.py:2 defines Top: bertsize init top:Top"
    ]


# models of the library


def test_a_model_of_the_library_is_listed_once_with_what_it_is_loaded_from(tmp_path: Path) -> None:
    code = (
        "from transformers import AutoModel, AutoTokenizer, AutoConfig, DataCollatorForSeq2Seq, TFBertModel\n"
        "import mine, transformers\nmine.OwnModel()\nDataCollatorForSeq2Seq()\ntransformers.BertTokenizer('a')\n"
        "AutoTokenizer.from_pretrained('bert-base-cased')\nAutoConfig.from_pretrained('bert-base-cased')\n"
        "TFBertModel.from_pretrained('bert-base-cased')\nAutoModel.from_pretrained('bert-base-uncased')\n"
        "AutoModel.from_pretrained('bert-base-uncased')\nAutoModel.from_pretrained(path, 'a')\n"
    )
    lay(tmp_path, **{"a.py": code, "configs/x/config.json": TINY})
    assert group(tmp_path, "models of the library") == [
        'a.py:9 makes AutoModel of "bert-base-uncased"',
        "a.py:11 makes AutoModel",
    ]


# classes of the project, and configs


def test_configs_of_a_family_that_the_project_has_itself_are_lines(tmp_path: Path) -> None:
    own = "class BertModel: pass\n"
    lay(tmp_path, **{"config.json": TINY, "lib/xbert.py": own, "r/config.json": {**TINY, "model_type": "roberta", "architectures": ["RobertaModel"]}})  # fmt: skip
    assert configs(tmp_path) == ["r/config.json"]
    (line,) = by_hand(tmp_path)
    assert line.startswith(
        "config.json: lib/xbert.py defines classes of the family bert: if this config is for one of them, "
    )


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
    assert left_out(tmp_path) == [f"brackets.py and 5 more: {NOT_READ}"]
