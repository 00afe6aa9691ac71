"""``bertsize init MODULE:CALLABLE``: the table of a class of the project's own, found in what its code builds."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bertsize.__main__ import main, make_parser
from pytest_bertsize.builder.helper import Helper
from pytest_bertsize.builder.messages import Request
from pytest_bertsize.closed_forms.shapes import Wish as Sizes
from pytest_bertsize.commands.accept import accept
from pytest_bertsize.commands.check import check
from pytest_bertsize.commands.console import FOUND, GOOD, MISTAKEN
from pytest_bertsize.commands.fit import fit
from pytest_bertsize.commands.init.factory import Wish, _name_after, declare
from pytest_bertsize.commands.init.own_class import Variation, _write_size, name_modules
from pytest_bertsize.commands.init.project import read_project
from pytest_bertsize.commands.named_model import Named
from pytest_bertsize.table.settings import SettingsError, load, parse
from tests.support.git_projects import git, repository

if TYPE_CHECKING:
    from pytest_bertsize.table.model import Model

OWN = """
import torch
from torch import nn
from transformers import BertConfig, BertModel, BertPreTrainedModel

SIZES = dict(vocab_size=101, hidden_size=48, num_hidden_layers=4, num_attention_heads=4, intermediate_size=72,
             max_position_embeddings=40, type_vocab_size=5)

class Tagger(nn.Module):
    def __init__(self, labels, width=16, num_labels=3):
        super().__init__()
        self.bert = BertModel(BertConfig(**SIZES), add_pooling_layer=False)
        self.bert.resize_token_embeddings(103)
        self.lstm = nn.LSTM(self.bert.config.hidden_size, width, bidirectional=True)
        self.out = nn.Linear(2 * width + self.bert.config.hidden_size + 1, labels)
        self.low = nn.Linear(8, num_labels)

def build_tagger(labels=9, num_labels=3): return Tagger(labels, num_labels=num_labels)

class Half(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = BertModel(BertConfig(**SIZES))
        self.enc.encoder.layer = self.enc.encoder.layer[:2]
        self.enc.embeddings.position_embeddings = nn.Embedding(77, 48)
        self.enc.pooler = None
        self.enc.encoder.layer[0].requires_grad_(False)
        self.heads = nn.ModuleList([nn.Linear(48, 5) for _ in range(len(self.enc.encoder.layer))])
        self.words = nn.Linear(48, 101, bias=False)
        self.words.weight = self.enc.embeddings.word_embeddings.weight

class Named(nn.Module):
    def __init__(self):
        super().__init__()
        bert = BertModel(BertConfig(**SIZES), add_pooling_layer=False)
        self.words, self.bert, self.layers = bert.embeddings, bert, bert.encoder
        self.words.requires_grad_(False)

class Deep(nn.Module):
    def __init__(self, labels=9):
        super().__init__()
        self.base_model = nn.Module()
        self.base_model.model = BertModel(BertConfig(**SIZES))

class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = self.d = BertModel(BertConfig(**SIZES), add_pooling_layer=False)

class Row(nn.Sequential):
    def __init__(self):
        q, d = (BertModel(BertConfig(**SIZES), add_pooling_layer=False) for _ in range(2))
        super().__init__(q, d, nn.Linear(q.config.hidden_size, 5))

class Inside(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.d = (nn.ModuleDict({"model": BertModel(BertConfig(**SIZES))}) for _ in range(2))

class Loaded(nn.Module):
    def __init__(self, name):
        super().__init__()
        self.bert = BertModel.from_pretrained(name)

class Derived(BertPreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.bert = BertModel(config, add_pooling_layer=False)
        self.out = nn.Linear(config.hidden_size, config.num_labels)
        self.post_init()

def derived(): return Derived(BertConfig(**SIZES, num_labels=7, name_or_path="acme/a"))

if __name__ == "__main__":
    from peft import LoraConfig, get_peft_model
    from pytest_bertsize import check_model
    check_model(get_peft_model(derived(), LoraConfig(r=2, target_modules=["query"])), "adapted")

class Untied(BertPreTrainedModel):
    def __init__(self):
        super().__init__(BertConfig(**SIZES))
        self.bert, self.words = BertModel(self.config), nn.Linear(48, 101)
        self.init_weights()
    def get_output_embeddings(self): return self.words

class Plain(nn.Module):
    def __init__(self, more=0):
        super().__init__()
        self.table = nn.Embedding(100, 8)
        self.out = nn.Linear(8, 3 + more)
        self.out.bias.requires_grad_(False)

class Valued(Plain):
    def __init__(self): super().__init__(int(torch.ones(2).sum().item()))

class Broken(nn.Module):
    def __init__(self, config): pass
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "own.py").write_text(OWN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def init(root: Path, factory: str, **wish: Any) -> tuple[int, str, str]:
    """Return the status of init, and what it prints."""
    out, err = io.StringIO(), io.StringIO()
    return declare(root, Wish(f"own:{factory}", **wish), Helper(), out, err), out.getvalue(), err.getvalue()


def written(root: Path, factory: str, **wish: Any) -> Model:
    """Return the model that init has written, once the gate has passed it, without a warning."""
    status, _, err = init(root, factory, writes=True, **wish)
    assert status == GOOD, err
    out = io.StringIO()
    assert check(root, Helper(), out=out, err=out) == GOOD, out.getvalue()
    (model,) = load(root / "pyproject.toml").models.values()
    return model


def rows(model: Model) -> dict[str, str]:
    return {each.name: str(each) for each in model.extra}


# what is found


def test_the_table_and_the_lock_are_written_and_the_first_run_passes(root: Path) -> None:
    kwargs = {"labels": 9, "num_labels": 3}
    model = written(root, "build_tagger", kwargs=kwargs)
    assert (model.name, model.factory, model.kwargs) == ("tagger", "own:build_tagger", kwargs)
    assert (model.architecture, model.backbone, model.options) == ("BertModel", "bert", {"add_pooling_layer": False})
    assert rows(model) == {
        "lstm": "lstm lstm['hidden_size', 16] bidirectional=True",
        "out": "out linear['hidden_size + 33', 9]",
        "low": "low linear[8, 3]",
    }
    text = (root / "pyproject.toml").read_text()
    assert '{ name = "out", linear = ["hidden_size + 33", "labels"] },' in text
    assert '{ name = "low", linear = [8, "num_labels"] },' in text  # the argument, not the config's, which is 2
    assert model.lock == "strict"
    assert "[models.tagger.sizes]" in (root / "bertsize.lock").read_text()


def test_what_is_printed_is_what_would_be_written_and_ends_with_the_command_that_writes_it(root: Path) -> None:
    kwargs = {"labels": 3, "num_labels": 5}
    status, out, err = init(root, "Tagger", name="mine", kwargs=kwargs)
    assert status == GOOD
    assert not (root / "pyproject.toml").exists()
    assert err.splitlines()[-1] == (
        "nothing is written; this writes the table and its lock: "
        'bertsize init own:Tagger --name mine --kwargs \'{"labels": 3, "num_labels": 5}\' --write'
    )
    assert "building it 8 times more," in err  # the vocabulary, 103, is no part of 81, the largest size
    assert "- extra reads num_labels from kwargs, and not from the config\n" in err
    init(root, "Tagger", name="mine", kwargs=kwargs, writes=True)
    assert (root / "pyproject.toml").read_text().endswith(out)


def test_what_a_class_deletes_replaces_freezes_and_shares_is_said(root: Path) -> None:
    model = written(root, "Half")
    assert model.without == ("enc.embeddings.position_embeddings", "enc.encoder.layer[2:]")
    assert model.frozen == ("enc.encoder.layer.0",)
    assert rows(model) == {
        "enc.embeddings.position_embeddings": "enc.embeddings.position_embeddings embedding[77, 48]",
        "heads": "heads linear[48, 5] count=2",
    }
    assert [each.component for each in model.extra] == ["embeddings.position", ""]  # of the heads the default
    assert "trainable" in {limit.component for limit in model.limits}


def test_a_part_of_a_backbone_with_a_name_of_its_own_is_frozen_by_that_of_the_backbone(root: Path) -> None:
    model = written(root, "Named")
    assert (model.backbone, model.frozen, model.tied) == ("bert", ("bert.embeddings",), {})


def test_a_backbone_has_the_path_that_peft_gives_one_and_is_not_adapted(root: Path) -> None:
    assert written(root, "Deep").backbone == "base_model.model"


def test_backbones_that_are_one_are_tied(root: Path) -> None:
    model = written(root, "Pair")
    assert (model.backbones, model.tied) == ({"q": "", "d": ""}, {"d": "q"})


def test_limits_descend_to_the_parts_of_each_backbone_and_say_nothing_twice(root: Path) -> None:
    limits = [limit.component for limit in written(root, "Inside").limits]
    parts = ("embeddings", "encoder", "encoder.attention", "pooler")
    assert limits == ["total", "q", "d", *(f"{each}.model.{part}" for each in "qd" for part in parts)]


def test_backbones_that_are_two_are_not_and_numbers_name_modules(root: Path) -> None:
    model = written(root, "Row")
    assert (model.backbones, model.tied, rows(model)) == ({"0": "", "1": ""}, {}, {"2": "2 linear['0.hidden_size', 5]"})


def test_a_class_that_derives_from_the_library_has_its_sizes_by_the_keys_of_the_config(root: Path) -> None:
    assert rows(written(root, "derived")) == {"out": "out linear['hidden_size', 'num_labels']"}
    assert 'architecture = "BertModel"\n' in (root / "pyproject.toml").read_text()  # no name, which another may follow


def test_a_config_is_handed_over_and_named(root: Path) -> None:
    (root / "small.json").write_text(
        '{"model_type": "bert", "vocab_size": 101, "hidden_size": 48, "num_attention_heads": 4, "num_hidden_layers": 1}'
    )
    model = written(root, "Derived", config="small.json")
    assert (model.name, model.config) == ("derived", "small.json")
    assert rows(model) == {"out": "out linear['hidden_size', 'num_labels']"}


def test_a_config_without_a_model_type_gets_the_family_of_what_is_built(root: Path) -> None:
    sizes = eval(OWN.partition("SIZES = ")[2].partition("\n\n")[0])  # noqa: S307  (of this file)
    (root / "bert_config.json").write_text(json.dumps(sizes))
    assert written(root, "Derived", config="bert_config.json").family == "bert"


def test_the_table_of_a_declared_model_is_written_anew_and_keeps_what_init_does_not_find(root: Path) -> None:
    command = written(root, "Row").init_command
    assert command == "bertsize init own:Row --name row"
    file, out_of_check = root / "pyproject.toml", io.StringIO()
    before = file.read_text().replace("budget.pooler = 0\n", 'budget.pooler = 0  # ours\nreason = "as agreed"\n')
    file.write_text(before := f"{before}\n[tool.other]\nkey = 1\n")
    code = OWN.replace("nn.Linear(q.config.hidden_size, 5))", "nn.Linear(q.config.hidden_size, 70, bias=False))")
    (root / "src" / "own.py").write_text(code, encoding="utf-8")
    status, _, err = init(root, "Row", name="row")
    assert (status, file.read_text()) == (GOOD, before)
    assert err.endswith(f"its lock in place of those that pyproject.toml has: {command} --write\n")
    status, out, _ = init(root, "Row", name="row", writes=True)
    assert (status, 'next: bertsize accept row --reason "…", which raises' in out) == (GOOD, True)
    *rows_before, rows_after = (line for line in file.read_text().splitlines() if line not in before.splitlines())
    assert (rows_before, rows_after) == ([], '    { name = "2", linear = ["0.hidden_size", 70], bias = false },')
    assert check(root, Helper(), out=out_of_check, err=out_of_check) == FOUND
    assert "head is 3,360" in " ".join(out_of_check.getvalue().split())  # 48·70, over the limit of the head that was


def test_a_table_is_written_anew_for_the_model_that_its_other_keys_make(root: Path) -> None:
    (root / "small.json").write_text(
        '{"model_type": "bert", "vocab_size": 101, "hidden_size": 48, "num_attention_heads": 4, "num_hidden_layers": 2}'
    )
    written(root, "Derived", config="small.json")
    file = root / "pyproject.toml"
    file.write_text(file.read_text().replace('config = "', 'overrides = { num_hidden_layers = 1 }\nconfig = "'))
    assert written(root, "Derived", config="small.json", name="derived").overrides == {"num_hidden_layers": 1}
    assert '"bert.encoder.layer.0.output.dense.bias"' in (root / "bertsize.lock").read_text()


def test_a_table_whose_class_has_no_closed_form_any_more_says_so(root: Path) -> None:
    written(root, "Row")
    code = OWN.replace(
        "super().__init__(q, d, nn.Linear(q.config.hidden_size, 5))", "super().__init__(nn.Linear(3, 5))"
    )
    (root / "src" / "own.py").write_text(code, encoding="utf-8")
    assert init(root, "Row", writes=True)[0] == GOOD
    assert "closed_form = false  # no class of a known family is in it\n" in (root / "pyproject.toml").read_text()
    assert not load(root / "pyproject.toml").models["row"].closed_form


@pytest.mark.parametrize(
    "keys",
    [
        'adapter = { peft_type = "LORA", r = 4, target_modules = ["query"] }',
        'backbone = { q = "a.json", d = "b.json" }',
    ],
)
def test_a_table_that_no_command_writes_is_left_alone(root: Path, keys: str) -> None:
    table = f'[tool.bertsize.models.pair]\nfactory = "own:Pair"\narchitecture = "BertModel"\n{keys}\n'
    (root / "pyproject.toml").write_text(f'{table}budget = "report-only"\n')
    (model,) = load(root / "pyproject.toml").models.values()
    assert not model.init_command
    status, _, err = init(root, "Pair", writes=True)
    assert (status, err.endswith('declares another "pair" already: give another name (--name)\n')) == (
        MISTAKEN,
        True,
    )


def test_shapes_of_a_model_that_makes_its_own_config_are_no_overrides(root: Path) -> None:
    written(root, "build_tagger")
    out = fit(Named("tagger"), "90K", None, Sizes(multiple=8))
    assert re.search(r'\n 1  "\w+": \d+', out)
    assert "overrides = " not in out
    assert "to write into the config that own:build_tagger makes" in " ".join(out.split())


def test_limits_of_components_that_are_gone_are_replaced_and_accepted_with_a_reason(root: Path) -> None:
    written(root, "Row")  # of two backbones, "0" and "1"
    repository(root).commit()
    code = OWN.replace("super().__init__(q, d, nn.Linear", "super().__init__(q, nn.Identity(), nn.Linear")
    (root / "src" / "own.py").write_text(code, encoding="utf-8")
    status, out, _ = init(root, "Row", name="row", writes=True)
    assert status == GOOD
    assert "its limits are unchanged, but for 0, 0.embeddings, " in out
    assert 'next: bertsize accept row --reason "…"' in out
    assert accept(root, Helper(), ["row"], "one encoder", out=io.StringIO()) == GOOD
    assert check(root, Helper(), base="HEAD", out=io.StringIO()) == GOOD
    limits = {limit.component for limit in load(root / "pyproject.toml").models["row"].limits}
    assert {"total", "encoder", "embeddings"} <= limits
    assert not {"0", "1", "0.encoder"} & limits


def test_a_class_of_no_known_family_is_held_to_its_lock_and_budget(root: Path) -> None:
    model = written(root, "Plain")
    assert (model.closed_form, model.lock) == (False, "strict")
    assert [limit.component for limit in model.limits] == ["total", "trainable", "table"]
    (root / "src" / "own.py").write_text(OWN.replace("3 + more", "4 + more"), encoding="utf-8")
    out = io.StringIO()
    assert check(root, Helper(), out=out, err=out) == FOUND
    assert "it differs from bertsize.lock: out" in " ".join(out.getvalue().split())


def test_what_a_command_adapts_has_the_name_that_its_script_gives_it_and_is_compared_with_its_lock(root: Path) -> None:
    out, err = io.StringIO(), io.StringIO()
    assert declare(root, Wish("python src/own.py", "other"), Helper(), out, err) == FOUND
    assert "called with 'adapted' and not with the table's 'other', and the code went on" in " ".join(
        err.getvalue().split()
    )
    assert declare(root, Wish("python src/own.py", writes=True), Helper(), out, err) == GOOD
    assert "pyproject.toml declares adapted" in out.getvalue()
    assert "compared with its lock and its budget alone: PEFT has adapted it; declare its base" in " ".join(
        err.getvalue().split()
    )
    assert check(root, Helper(), out=out, err=out) == GOOD, out.getvalue()


def test_a_class_that_asks_for_values_is_built_on_the_cpu(root: Path) -> None:
    assert written(root, "Valued").build.device == "cpu"


# the file that there is


X = 'factory = "a:b"\nclosed_form = false\nbudget = "report-only"\n'
DOTTED = "".join(f"bertsize.models.x.{line}\n" for line in X.splitlines())
PLAIN = f'[tool.bertsize.models.plain]\n{X}lock = "strict"\n'
IN_A_TEXT = '[project]\ndescription = """\n[tool.bertsize]\n"""\n'


@pytest.mark.parametrize(
    "before",
    [
        '[project]\nname = "x"\n',
        f"[tool.bertsize]  # ours\n\n[tool.bertsize.models.x]\n{X}",
        f"[tool.bertsize.models.x]\n{X}",
        '[tool.bertsize]\nlock = { file = "bertsize.lock", strict = false }\n',
        '[tool.pytest.ini_options]\r\npythonpath = ["src"]\r\n',
        '[project]\nname = "x"\n[tool.bertsize]',
        "[ tool . bertsize ]\r\n",
        f"[tool]\n{DOTTED}[other]\n",
        "".join(f"tool.{line}\n" for line in DOTTED.splitlines()),
        '[tool]\nbertsize.hub = { "a/b" = "b.json" }',
        '[tool]\nbertsize.lock = "bertsize.lock"\n',
        f"{IN_A_TEXT}[tool.bertsize.models.x]\n{X}",
        f"{IN_A_TEXT}[tool.bertsize]\n",
    ],
)
def test_a_lock_is_named_wherever_the_table_has_its_keys_and_what_stands_in_the_file_stays(
    tmp_path: Path, before: str
) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_bytes(before.encode())
    project = read_project(tmp_path)
    after = project.add_tables([PLAIN], "" if "lock" in before else "bertsize.lock")
    rest = iter(after.splitlines())
    assert [line for line in before.splitlines() if line not in rest] == []
    assert ("\r\n" in before) == ("\r\n" in after) == ("\n" not in after.replace("\r\n", ""))
    settings = parse(after, file)
    assert (settings.lock and settings.lock.file, settings.models["plain"].lock) == ("bertsize.lock", "strict")
    assert {*settings.models} == {"plain", *(["x"] if "a:b" in before else [])}


def test_a_table_in_braces_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.bertsize]\nmodels = {}\n")
    with pytest.raises(SettingsError, match=r"then run this again$"):
        read_project(tmp_path).add_tables([PLAIN], "bertsize.lock")


def test_nothing_is_written_where_the_lock_cannot_be(root: Path) -> None:
    before = '[tool.bertsize]\nlock = "no-such-folder/bertsize.lock"\n'
    (root / "pyproject.toml").write_text(before)
    status, _, err = init(root, "Plain", writes=True)
    assert (status, "nothing was changed" in err) == (MISTAKEN, True)
    assert (root / "pyproject.toml").read_text() == before


@pytest.mark.parametrize("is_there", [True, False])
def test_a_declared_model_gets_the_lock_that_its_table_lacks(root: Path, *, is_there: bool) -> None:
    written(root, "Plain")
    file, lock = root / "pyproject.toml", root / "bertsize.lock"
    file.write_text(re.sub("\\[tool.bertsize\\]\n.*\n|lock = .*\n", "", file.read_text()))
    if not is_there:
        lock.unlink()
    assert written(root, "Plain", name="plain").lock == "strict"
    settings = load(file)
    assert settings.lock
    assert settings.lock.file == lock.name


def test_the_name_of_another_model_is_refused(root: Path) -> None:
    written(root, "Plain")
    before = (root / "pyproject.toml").read_bytes()
    status, out, err = init(root, "Plain", writes=True, kwargs={"more": 1})
    assert (status, out) == (MISTAKEN, "")
    assert (
        'declares another "plain" already: give another name (--name), or --name plain, which rewrites that table'
    ) in " ".join(err.split())
    assert (root / "pyproject.toml").read_bytes() == before


def test_the_table_of_a_model_that_is_named_gets_another_factory(root: Path) -> None:
    written(root, "Plain", kwargs={"more": 2})
    model = written(root, "Valued", name="plain")
    assert (model.factory, model.kwargs, model.build.device) == ("own:Valued", {}, "cpu")


# what cannot be built


def test_a_class_that_needs_arguments_is_told_with_its_signature_and_a_function_to_paste(root: Path) -> None:
    status, out, err = init(root, "Broken", writes=True)
    assert (status, out) == (FOUND, "")
    assert (
        "own:Broken(config) is called with no argument: missing a required argument: 'config'; give it --config or --kwargs"
        in err
    )
    assert "def build_broken():\n      from own import Broken\n" in err
    assert err.endswith("bertsize init bertsize_models:build_broken\n")
    assert not (root / "pyproject.toml").exists()


def test_a_model_that_a_run_would_fail_is_not_declared(root: Path) -> None:
    status, out, err = init(root, "Untied", writes=True)
    assert (status, out) == (MISTAKEN, "")
    assert "own:Untied is built, and would fail: Untied.get_output_embeddings ties words.weight" in " ".join(
        err.split()
    )
    assert not (root / "pyproject.toml").exists()


@pytest.mark.parametrize(
    ("factory", "kwargs", "said"),
    [
        ("Missing", {}, "the module own has no Missing; correct the name"),
        ("Plain", {"x": 1}, "unexpected keyword argument 'x'; correct --kwargs, or name a function"),
    ],
)
def test_what_fails_otherwise_is_told_without_a_function_to_paste(
    root: Path, factory: str, kwargs: dict[str, int], said: str
) -> None:
    status, out, err = init(root, factory, kwargs=kwargs)
    assert (status, out) == (FOUND, "")
    assert said in err
    assert ("bertsize_models" in err) == ("is called with" in err)


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        (Wish("own"), '"own" does not name a function: name "module:function"'),
        (Wish("own:Plain", "a b"), "a model's name is its test id"),
        (
            Wish("own:Plain", kwargs={"more": {"a": [None]}}),
            'more is {"a": [null]}, and TOML has no null; leave it out, or name a function of the project that passes it',
        ),
        (Wish("own:Plain", kwargs={"a b": 1}), '--kwargs: "a b" is not the name of an argument'),
        (Wish("own:Plain", is_named=False), "this folder is part of the project in .."),
    ],
)
def test_names_that_are_none_and_a_part_of_another_project_are_refused(root: Path, wish: Wish, said: str) -> None:
    (root / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    part = root / "part"
    part.mkdir()
    os.chdir(part)
    err = io.StringIO()
    assert declare(part, wish, Helper(), err, err) == MISTAKEN
    assert said in err.getvalue()
    assert "pyproject.toml:" not in err.getvalue()


def test_a_lock_that_git_ignores_is_told_and_elsewhere_the_command_that_reads_the_table_there(root: Path) -> None:
    repository(root).write(".gitignore", "*.lock\n")
    os.chdir(root / "src")
    _, out, err = init(root, "Plain", writes=True)
    assert out.endswith("next: bertsize check --project .., and commit both files\n")
    said = " ".join(err.split())
    assert "git ignores bertsize.lock, which has to be committed: add !bertsize.lock to .gitignore" in said


LACKS = "{}, so a checkout lacks it: "
TO_COMMIT = "commit a copy of the config as configs/{}.json, and write {}"
COPIED = "--write copies it to configs/loaded.json"
IGNORED, OUTSIDE = {"kwargs": {"name": "out"}}, {"kwargs": {"name": "../out"}}


@pytest.mark.parametrize(
    ("wish", "hub", "said"),
    [
        (IGNORED, "", LACKS.format("git ignores out") + COPIED),
        (IGNORED, 'out = "small.json"', ""),
        (OUTSIDE, "", LACKS.format("../out is outside the project") + COPIED),
        (OUTSIDE, '"../out" = "small.json"', ""),
        (
            {"kwargs": {"name": "acme/a"}},
            '"acme/a" = "out/config.json"',
            LACKS.format("git ignores out/config.json")
            + TO_COMMIT.format("loaded", 'hub = { "acme/a" = "configs/loaded.json" }'),
        ),
        (
            {"config": "out"},
            "",
            LACKS.format("git ignores out") + TO_COMMIT.format("derived", 'config = "configs/derived.json"'),
        ),
    ],
)
def test_a_config_that_no_checkout_has_is_told_with_what_to_write(
    root: Path, wish: dict[str, Any], hub: str, said: str
) -> None:
    repository(root).write(".gitignore", "out/\n")
    small = '{"model_type": "bert", "architectures": ["BertModel"], "num_hidden_layers": 1}'
    for file in ("out/config.json", "small.json", "../out/config.json"):
        (root / file).parent.mkdir(exist_ok=True)
        (root / file).write_text(small)
    (root / "pyproject.toml").write_text(f"[tool.bertsize]\nhub = {{ {hub} }}\n")
    status, _, err = init(root, "Derived" if "config" in wish else "Loaded", **wish)
    assert status == GOOD
    assert said in " ".join(err.split())
    assert ("a checkout lacks it" in err) == bool(said)


@pytest.mark.parametrize("name", ["out", "../elsewhere"])
def test_a_config_that_no_checkout_has_is_copied_and_counts_without_the_original(root: Path, name: str) -> None:
    repository(root).write(".gitignore", "out/\n")
    (root / name).mkdir(exist_ok=True)
    small = '{"model_type": "bert", "architectures": ["BertModel"], "num_hidden_layers": 1}'
    (root / name / "config.json").write_text(small)
    status, out, _ = init(root, "Loaded", kwargs={"name": name}, writes=True)
    assert (status, (root / "configs" / "loaded.json").read_text()) == (GOOD, small)
    assert out.endswith("and commit both files and configs/loaded.json\n")
    shutil.rmtree(root / name)
    assert check(root, Helper(), out=io.StringIO()) == GOOD


def test_a_config_elsewhere_in_the_repository_is_in_every_checkout(root: Path) -> None:
    repository(root).write(
        "out/config.json", '{"model_type": "bert", "architectures": ["BertModel"], "num_hidden_layers": 1}'
    )
    part = root / "part"
    part.mkdir()
    shutil.copytree(root / "src", part / "src")
    status, _, err = init(part, "Loaded", kwargs={"name": "../out"})
    assert status == GOOD
    assert "a checkout lacks it" not in err


@pytest.mark.process  # whose surroundings are not those of the warm one
def test_a_config_of_the_hub_cache_is_copied_into_the_project(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = tmp_path / "hub" / "models--acme--tiny" / "snapshots" / ("0" * 40)
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text('{"model_type": "bert", "num_hidden_layers": 1}')
    (snapshot.parents[1] / "refs").mkdir()
    (snapshot.parents[1] / "refs" / "main").write_text("0" * 40)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    said = "the hub cache, revision 000000000000, which CI lacks: --write copies it to configs/acme/tiny/config.json"
    for writes in (False, True):
        status, out, err = init(root, "Loaded", kwargs={"name": "acme/tiny"}, writes=writes)
        assert (status, (root / "configs").exists()) == (GOOD, writes)
        assert said in " ".join(err.split())
    assert out.endswith("and commit both files and configs/acme/tiny/config.json\n")
    shutil.rmtree(tmp_path / "hub")
    assert check(root, Helper(), out=io.StringIO()) == GOOD


def test_another_release_than_the_project_pins_is_said(root: Path) -> None:
    (root / "requirements.txt").write_text("torch\ntransformers==4.2.1\n")
    assert "- requirements.txt pins transformers 4.2.1, but 5." in init(root, "Plain")[2]


def test_a_release_that_a_folder_above_in_the_repository_pins_is_said(root: Path) -> None:
    git(root, "init", "--quiet")
    (root / "requirements.txt").write_text("transformers==4.2.1\n")
    (root / "part").mkdir()
    (root / "src").rename(root / "part" / "src")
    assert "- ../requirements.txt pins transformers 4.2.1, but 5." in init(root / "part", "Plain")[2]


@pytest.mark.parametrize(
    ("factory", "name"),
    [
        ("acme.models:build_NERTagger", "ner_tagger"),
        ("acme.models:Bert2CNN1D", "bert2cnn1d"),
        ("acme.models:get_BertCRF", "bert_crf"),
        ("python acme/train.py --width 64", "train"),
        ("acme:build_", "model"),
    ],
)
def test_a_model_is_named_after_what_makes_it(factory: str, name: str) -> None:
    assert _name_after(factory) == name


# paths and sizes


NAMES = ["a.layer.0.w", "a.layer.0.b", "a.layer.1.w", "a.layer.2.w", "a.layer.norm.w", "a.top.w", "b.w"]


@pytest.mark.parametrize(
    ("chosen", "named"),
    [
        (["b.w"], ["b"]),
        (["a.layer.0.w"], ["a.layer.0.w"]),
        (["a.layer.0.w", "a.layer.0.b", "a.layer.1.w"], ["a.layer[:2]"]),
        (["a.layer.1.w", "a.layer.2.w"], ["a.layer[1:]"]),
        (["a.layer.1.w"], ["a.layer.1"]),
        (["a.layer.1.w", "a.layer.2.w", "a.layer.norm.w", "a.top.w"], ["a.layer[1:]", "a.layer.norm", "a.top"]),
        (["a.layer.0.w", "a.layer.0.b", "a.layer.2.w"], ["a.layer.0", "a.layer.2"]),
        ([name for name in NAMES if name.startswith("a")], ["a"]),
        (NAMES, ["a", "b"]),
        ([], []),
    ],
)
def test_modules_are_named_that_hold_these_tensors_and_no_others(chosen: list[str], named: list[str]) -> None:
    assert name_modules(chosen, NAMES) == named


ANY = Request("x", "", "", {}, {})
WIDTH, LABELS = Variation("hidden_size", 48, 96, ANY), Variation("labels", 9, 10, ANY)
OF_CONFIG = Variation("num_labels", 9, 10, ANY._replace(varied=(("num_labels", 9, 10),)))


@pytest.mark.parametrize(
    ("size", "others", "wanted"),
    [
        (48, [(WIDTH, 96), (LABELS, 48)], "hidden_size"),
        (48, [(WIDTH, 48)], 48),  # another 48
        (112, [(WIDTH, 208)], "2*hidden_size + 16"),
        (57, [(WIDTH, 105), (LABELS, 58)], "hidden_size + labels"),
        (9, [(OF_CONFIG, 10), (LABELS, 10)], "num_labels"),  # which the argument makes
        (24, [(WIDTH, 48)], 24),  # half of it, which is no sum
        (40, [(WIDTH, 88)], 40),  # eight less
        (48, [(WIDTH, 24)], 48),
    ],
)
def test_a_size_is_a_sum_of_the_keys_that_it_follows(
    size: int, others: list[tuple[Variation, int | str]], wanted: int | str
) -> None:
    assert _write_size(size, others) == wanted


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (
            ["init", "python", "train.py", "--width", "3"],
            "init: error: put the command in quotes: 'python train.py --w",
        ),
        (
            ["fit", "cls", "--totla", "35M"],
            "fit: error: unrecognized arguments: --totla 35M; did you mean '--total'?\n",
        ),
        (["explain", "cls", "--report", "a.json"], "explain: error: unrecognized arguments: --report a.json\n"),
        (["chekc"], "did you mean 'check'?\n"),
        (
            ["init", "a:b", "--kwargs", "labels=9"],
            """'labels=9' is not a JSON object: write '{"labels": 9}', for example\n""",
        ),
    ],
)
def test_a_command_line_with_a_slip_names_what_was_meant(
    typed: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        make_parser().parse_args(typed)
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("option", [["--config", "configs/cls"], ["--name", "cls"], ["--kwargs", '{"labels": 9}']])
def test_an_option_for_one_class_needs_that_class(option: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", *option]) == MISTAKEN
    assert capsys.readouterr() == (
        "",
        f"ERROR: {option[0]} is for one class or function: name it, as in module:function\n",
    )
