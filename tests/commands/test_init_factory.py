"""``bertsize init MODULE:CALLABLE``: the table of a class of the project's own, found in what its code builds."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import tomli

from pytest_bertsize.__main__ import main
from pytest_bertsize.builder.helper import Helper, Limits
from pytest_bertsize.builder.messages import Request
from pytest_bertsize.closed_forms.shapes import Wish as Sizes
from pytest_bertsize.commands.accept import accept
from pytest_bertsize.commands.check import check
from pytest_bertsize.commands.console import FOUND, GOOD, MISTAKEN
from pytest_bertsize.commands.fit import fit
from pytest_bertsize.commands.init.factory import _name_after, declare
from pytest_bertsize.commands.init.own_class import Draft, Variation, _write_size, name_modules
from pytest_bertsize.commands.init.project import read_project
from pytest_bertsize.inventory import Inventory, Tensor
from pytest_bertsize.table.limits import Budget
from pytest_bertsize.table.model import Model
from pytest_bertsize.table.settings import load, parse
from tests.conftest import TINY
from tests.support.git_projects import repository
from tests.support.starting_projects import GOOGLE

OWN = (
    f"SIZES = { ({**GOOGLE, 'num_hidden_layers': 4}) }"
    """
import torch
from torch import nn
from transformers import BertConfig, BertModel, BertPreTrainedModel

def bert(**options): return BertModel(BertConfig(**SIZES), **options)
def poolless(): return bert(add_pooling_layer=False)

class Module(nn.Module):
    def __init__(self, *arguments, **named):
        super().__init__()
        self.add(*arguments, **named)

class Tagger(Module):
    def add(self, labels, width=16, num_labels=3):
        self.bert = poolless()
        self.bert.resize_token_embeddings(103)
        self.lstm = nn.LSTM(self.bert.config.hidden_size, width, bidirectional=True)
        self.out = nn.Linear(2 * width + self.bert.config.hidden_size + 1, labels)
        self.low = nn.Linear(8, num_labels)

class Half(Module):
    def add(self):
        self.enc = bert()
        self.enc.encoder.layer = self.enc.encoder.layer[:2]
        self.enc.embeddings.position_embeddings = nn.Embedding(77, 48)
        self.enc.pooler = None
        self.enc.encoder.layer[0].requires_grad_(False)
        self.heads = nn.ModuleList([nn.Linear(48, 5) for _ in range(len(self.enc.encoder.layer))])
        self.words = nn.Linear(48, 101, bias=False)
        self.words.weight = self.enc.embeddings.word_embeddings.weight

class Renamed(Module):
    def add(self):
        bert = poolless()
        self.words, self.bert, self.layers = bert.embeddings, bert, bert.encoder
        self.words.requires_grad_(False)

class Pair(Module):
    def add(self): self.q = self.d = poolless()

class Row(nn.Sequential):
    def __init__(self):
        q, d = poolless(), poolless()
        super().__init__(q, d, nn.Linear(q.config.hidden_size, 5))

class Inside(Module):  # under the path that PEFT gives a model
    def add(self): self.q, self.base_model = (nn.ModuleDict({"model": bert()}) for _ in range(2))

class Loaded(Module):
    def add(self, name): self.bert = BertModel.from_pretrained(name)

class Derived(BertPreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.bert = BertModel(config, add_pooling_layer=False)
        self.out = nn.Linear(config.hidden_size, config.num_labels)
        self.post_init()

def derived(): return Derived(BertConfig(**SIZES, num_labels=7, name_or_path="acme/a"))

class Untied(BertPreTrainedModel):
    def __init__(self):
        super().__init__(BertConfig(**SIZES))
        self.bert, self.words = BertModel(self.config), nn.Linear(48, 101)
        self.post_init()
    def get_output_embeddings(self): return self.words

class Plain(nn.Module):
    def __init__(self, more=0):
        super().__init__()
        self.table = nn.Embedding(100, 8)
        self.out = nn.Linear(8, 3 + more)
        self.out.bias.requires_grad_(False)

class Valued(Plain):
    def __init__(self): super().__init__(int(torch.ones(2).sum().item()))

class Reader(Plain):
    def __init__(self):
        read = b"x" * 1_200_000_000
        super().__init__(len(read[:1]))

class Listed(Module):
    def add(self):
        self.bert = poolless()
        self.heads = [nn.Linear(48, 5)]

class Even(Module):
    def add(self, width):
        if width % 2: raise ValueError("odd")
        self.bert, self.out = poolless(), nn.Linear(width, 3)

class Broken(nn.Module):
    def __init__(self, config): pass

if __name__ == "__main__":
    from pytest_bertsize import check_model
    adapted = derived()
    adapted.out = nn.ModuleDict({"base_layer": nn.Linear(48, 7)})  # as PEFT calls what it adapts
    adapted.rest = nn.ModuleList(nn.Linear(width, 1) for width in range(1, 42))  # more than 40 rows
    check_model(adapted, "adapted")
"""
)
SMALL = json.dumps({**TINY, "architectures": ["BertModel"]})


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "own.py").write_text(OWN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def change(root: Path, before: str, after: str) -> None:
    """Change the project's code."""
    assert before in OWN
    (root / "src" / "own.py").write_text(OWN.replace(before, after), encoding="utf-8")


def init(root: Path, factory: str, *, writes: bool = False, **wish: Any) -> tuple[int, str, str]:
    """Return the status of init, the tables that it prints, and on one line what it says of them."""
    out, err = io.StringIO(), io.StringIO()
    given = {"name": "", "factory": factory if " " in factory else f"own:{factory}", "kwargs": {}, **wish}
    status = declare(root, Draft(**given), Helper(), out, err, writes=writes)
    return status, out.getvalue(), " ".join(err.getvalue().split())


def written(root: Path, factory: str, **wish: Any) -> Model:
    """Return the model whose table init has written."""
    status, _, said = init(root, factory, writes=True, **wish)
    assert status == GOOD, said
    return [*load(root / "pyproject.toml").models.values()][-1]


def checked(root: Path, **options: Any) -> tuple[int, str]:
    """Return what the gate says."""
    out = io.StringIO()
    return check(root, Helper(), out=out, err=out, **options), " ".join(out.getvalue().split())


# what is found


def test_the_table_that_is_printed_is_written_with_its_lock_and_the_first_run_passes(root: Path) -> None:
    wish: dict[str, Any] = {"name": "mine", "kwargs": {"labels": 3, "num_labels": 5}}
    status, out, said = init(root, "Tagger", **wish)
    assert (status, (root / "pyproject.toml").exists()) == (GOOD, False)
    assert said.endswith(
        "nothing is written; this writes the table and its lock: "
        'bertsize init own:Tagger --name mine --kwargs \'{"labels": 3, "num_labels": 5}\' --write'
    )
    assert "building it 8 times more," in said  # the vocabulary, 103, is no part of 81, the largest size
    assert tables(out)["mine"] == {
        "kwargs": wish["kwargs"],
        "backbone": "bert",
        "options": {"add_pooling_layer": False},
        "extra": [
            {"name": "lstm", "lstm": ["hidden_size", 16], "bidirectional": True},
            {"name": "out", "linear": ["hidden_size + 33", "labels"]},
            {"name": "low", "linear": [8, "num_labels"]},  # the argument, not the config's, which is 2
        ],
    }
    written(root, "Tagger", **wish)
    assert (root / "pyproject.toml").read_text().endswith(out)
    assert "[models.mine.sizes]" in (root / "bertsize.lock").read_text()
    assert checked(root)[0] == GOOD


def tables(text: str) -> dict[str, dict[str, Any]]:
    """Return the tables of models without their budgets, and without what all of them have."""
    models = tomli.loads(text)["tool"]["bertsize"]["models"]
    assert {(each["lock"], each.get("architecture", "BertModel")) for each in models.values()} == {
        ("strict", "BertModel")
    }
    left = {"budget", "lock", "factory", "architecture"}
    return {name: {key: each[key] for key in each if key not in left} for name, each in models.items()}


TABLES = """
[half]
backbone = "enc"
options = { add_pooling_layer = false }
without = ["enc.embeddings.position_embeddings", "enc.encoder.layer[2:]"]
frozen = ["enc.encoder.layer.0"]
extra = [
    { name = "enc.embeddings.position_embeddings", embedding = [77, 48], component = "embeddings.position" },
    { name = "heads", linear = [48, 5], count = 2 },
]
[renamed]
backbone = "bert"
options = { add_pooling_layer = false }
frozen = ["bert.embeddings"]
[pair]
backbone = ["q", "d"]
options = { add_pooling_layer = false }
tied = { d = "q" }
[row]
backbone = ["0", "1"]
options = { add_pooling_layer = false }
extra = [{ name = "2", linear = ["0.hidden_size", 5] }]
[inside]
backbone = ["q.model", "base_model.model"]
[derived] # without a name of the hub, which another may follow
backbone = "bert"
options = { add_pooling_layer = false }
extra = [{ name = "out", linear = ["hidden_size", "num_labels"] }]
[plain]
closed_form = false
[valued]
closed_form = false
build = { device = "cpu" }
[reader]
closed_form = false
build = { memory = "4GB" }
[nameless]
config = "bert_config.json"
family = "bert"
backbone = "bert"
options = { add_pooling_layer = false }
extra = [{ name = "out", linear = [48, 2] }]
"""


def test_a_build_that_takes_longer_gets_its_seconds(root: Path) -> None:
    (root / "slow.py").write_text(
        "import time\nfrom torch import nn\ndef build(): time.sleep(1.5); return nn.Linear(3, 2)"
    )
    out, short = io.StringIO(), Helper(limits=Limits(building=0.5))
    assert declare(root, Draft("", "slow:build", {}), short, out, out) == GOOD, out.getvalue()
    again = "building it once more with build = { seconds = 120 }, because it was not built within 0.5 s"
    assert again in " ".join(out.getvalue().split())
    assert "\nbuild = { seconds = 120 }\n" in out.getvalue()


@pytest.mark.long
def test_each_kind_of_class_gets_its_table_and_the_first_run_passes_them_all(root: Path) -> None:
    (root / "bert_config.json").write_text(json.dumps(GOOGLE))
    for factory in ("Half", "Renamed", "Pair", "Row", "Inside", "derived", "Plain", "Valued", "Reader"):
        written(root, factory)
    written(root, "Derived", name="nameless", config="bert_config.json")
    text = (root / "pyproject.toml").read_text()
    assert tables(text) == tomli.loads(TABLES)
    models = load(root / "pyproject.toml").models
    limits = {name: [limit.component for limit in model.limits] for name, model in models.items()}
    parts = ("embeddings", "encoder", "encoder.attention", "pooler")
    backbones = ("q", "base_model")
    assert limits["inside"] == ["total", *backbones, *(f"{each}.model.{part}" for each in backbones for part in parts)]
    assert limits["plain"] == ["total", "trainable", "table"]
    assert "trainable" in limits["half"]
    assert [each.component for each in models["half"].extra] == ["embeddings.position", ""]  # of the heads the default
    assert checked(root)[0] == GOOD


@pytest.mark.long
def test_the_table_of_a_declared_model_is_written_anew_and_keeps_what_init_does_not_find(root: Path) -> None:
    command = written(root, "Row").init_command
    assert command == "bertsize init own:Row --name row"
    file = root / "pyproject.toml"
    before = file.read_text().replace("budget.pooler = 0\n", 'budget.pooler = 0  # ours\nreason = "as agreed"\n')
    file.write_text(before := f"{before}\n[tool.other]\nkey = 1\n")
    change(root, "hidden_size, 5))", "hidden_size, 70, bias=False))")
    status, _, said = init(root, "Row", name="row")
    assert (status, file.read_text()) == (GOOD, before)
    assert said.endswith(f"its lock in place of those that pyproject.toml has: {command} --write")
    status, out, _ = init(root, "Row", name="row", writes=True)
    assert (status, 'next: bertsize accept row --reason "…", which raises' in out) == (GOOD, True)
    added = [line for line in file.read_text().splitlines() if line not in before.splitlines()]
    assert added == ['    { name = "2", linear = ["0.hidden_size", 70], bias = false },']
    status, said = checked(root)
    assert (status, "head is 3,360" in said) == (FOUND, True)  # 48·70, over the limit of the head that was


def test_parameters_that_torch_does_not_see_are_told_and_the_lock_has_them(root: Path) -> None:
    status, _, said = init(root, "Listed", writes=True)
    told = "torch does not see these parameters: 245 in heads (list)"
    register = "assign each to self in the constructor: a tensor as a Parameter, modules in a ModuleList or ModuleDict"
    assert (status, f"{told}; {register}" in said) == (GOOD, True)
    assert checked(root)[0] == GOOD
    change(root, "self.heads = [nn.Linear(48, 5)]", "self.heads = [nn.Linear(48, 6)]")
    status, said = checked(root)
    fix = f'{register}; if nothing shall train them, accept it: bertsize accept --reason "…"'
    other = "1 of 6, 1 of 6×48, where the lock has 1 of 5, 1 of 5×48"
    assert (status, f"294 in heads (list): {other} → {fix}" in said) == (FOUND, True)
    assert accept(root, Helper(), ["listed"], "one label more", out=io.StringIO()) == GOOD
    assert '[models.listed.hidden]\nheads = ["1 of 6", "1 of 6×48"]\n' in (root / "bertsize.lock").read_text()
    assert checked(root)[0] == GOOD
    change(root, "self.heads = [nn.Linear(48, 5)]", "self.heads = [nn.Linear(147, 2, bias=False)]")  # as many numbers
    assert (checked(root)[0], "294 in heads" in checked(root)[1]) == (FOUND, True)
    change(root, "self.heads = [nn.Linear(48, 5)]", "self.heads = []")
    status, said = checked(root)
    gone = "the lock has parameters in heads that torch does not see, and the model has none there"
    assert (status, f'{gone} → if that is intended, accept it: bertsize accept --reason "…"' in said) == (FOUND, True)


@pytest.mark.long
def test_a_table_is_written_anew_for_the_model_that_its_other_keys_make(root: Path) -> None:
    (root / "small.json").write_text(SMALL)
    written(root, "Derived", config="small.json")
    file = root / "pyproject.toml"
    file.write_text(file.read_text().replace('config = "', 'overrides = { num_hidden_layers = 1 }\nconfig = "'))
    assert written(root, "Derived", config="small.json", name="derived").overrides == {"num_hidden_layers": 1}
    assert '"bert.encoder.layer.0.output.dense.bias"' in (root / "bertsize.lock").read_text()
    assert checked(root)[0] == GOOD


def test_a_table_whose_class_has_no_closed_form_any_more_says_so(root: Path) -> None:
    written(root, "derived")
    change(
        root, "def derived(): return Derived(BertConfig(", "def derived(): return nn.Linear(3, 5)\nunused = dict(dict("
    )
    written(root, "derived")
    assert "closed_form = false  # no class of a known family is in it\n" in (root / "pyproject.toml").read_text()
    assert not load(root / "pyproject.toml").models["derived"].closed_form


@pytest.mark.parametrize(
    "keys", ['adapter = { r = 4, target_modules = ["query"] }', 'backbone = { q = "a.json", d = "b.json" }']
)
def test_a_table_that_no_command_writes_is_left_alone(root: Path, keys: str) -> None:
    table = f'[tool.bertsize.models.pair]\nfactory = "own:Pair"\narchitecture = "BertModel"\n{keys}\n'
    (root / "pyproject.toml").write_text(f'{table}budget = "report-only"\n')
    (model,) = load(root / "pyproject.toml").models.values()
    assert not model.init_command
    status, _, said = init(root, "Pair", writes=True)
    assert (status, said[-59:]) == (MISTAKEN, 'declares another "pair" already: give another name (--name)')


def test_shapes_of_a_model_that_makes_its_own_config_are_no_overrides(root: Path) -> None:
    written(root, "derived")
    out = fit(Model(config="derived", budget=Budget()), "90K", None, Sizes(multiple=8))
    assert re.search(r'\n 1  "\w+": \d+', out)
    assert "overrides = " not in out
    assert "to write into the config that own:derived makes" in " ".join(out.split())


@pytest.mark.long
def test_limits_of_components_that_are_gone_are_replaced_and_accepted_with_a_reason(root: Path) -> None:
    written(root, "Row")  # of two backbones, "0" and "1"
    repository(root).commit()
    change(root, "super().__init__(q, d, nn.Linear", "super().__init__(q, nn.Identity(), nn.Linear")
    status, out, _ = init(root, "Row", name="row", writes=True)
    assert status == GOOD
    assert "its limits are unchanged, but for 0, 1, 0.embeddings, " in out
    assert 'next: bertsize accept row --reason "…"' in out
    assert accept(root, Helper(), ["row"], "one encoder", out=io.StringIO()) == GOOD
    assert checked(root, base="HEAD")[0] == GOOD
    limits = {limit.component for limit in load(root / "pyproject.toml").models["row"].limits}
    assert {"total", "encoder", "embeddings"} <= limits
    assert not {"0", "1", "0.encoder"} & limits


def test_what_a_command_hands_over_has_the_name_that_its_script_gives_it(root: Path) -> None:
    status, _, said = init(root, "python src/own.py", name="other")
    assert status == FOUND
    assert 'ended without check_model(model, "other")' in said
    status, out, said = init(root, "python src/own.py", writes=True)
    assert (status, "pyproject.toml declares adapted" in out) == (GOOD, True)
    assert "compared with its lock and its budget alone: " in said
    assert checked(root)[0] == GOOD


# the file that there is


X = 'factory = "a:b"\nclosed_form = false\nbudget = "report-only"\n'
DOTTED = "".join(f"bertsize.models.x.{line}\n" for line in X.splitlines())
PLAIN = f'[tool.bertsize.models.plain]\n{X}lock = "strict"\n'
IN_A_TEXT = '[project]\ndescription = """\n[tool.bertsize]\n"""\n'


@pytest.mark.parametrize(
    "before",
    [
        '[project]\nname = "x"\n',
        f"[tool.bertsize.models.x]\n{X}",
        '[tool.bertsize]\nlock = { file = "bertsize.lock", strict = false }\n',
        '[tool.pytest.ini_options]\r\npythonpath = ["src"]\r\n',
        "[ tool . bertsize ]\r\n",
        f"[tool]\n{DOTTED}[other]\n",
        "".join(f"tool.{line}\n" for line in DOTTED.splitlines()),
        '[tool]\nbertsize.hub = { "a/b" = "b.json" }',
        f"{IN_A_TEXT}[tool.bertsize.models.x]\n{X}",
    ],
)
def test_a_lock_is_named_wherever_the_table_has_its_keys_and_what_stands_in_the_file_stays(
    tmp_path: Path, before: str
) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_bytes(before.encode())
    project = read_project(tmp_path)
    after = project.add_tables([PLAIN], {} if "lock" in before else {"lock": '"bertsize.lock"'})
    rest = iter(after.splitlines())
    assert [line for line in before.splitlines() if line not in rest] == []
    assert ("\r\n" in before) == ("\r\n" in after) == ("\n" not in after.replace("\r\n", ""))
    settings = parse(after, file)
    assert (settings.lock and settings.lock.file, settings.models["plain"].lock) == ("bertsize.lock", "strict")
    assert {*settings.models} == {"plain", *(["x"] if "a:b" in before else [])}


def test_nothing_is_written_where_the_lock_cannot_be(root: Path) -> None:
    before = '[tool.bertsize]\nlock = "no-such-folder/bertsize.lock"\n'
    (root / "pyproject.toml").write_text(before)
    status, _, said = init(root, "Plain", writes=True)
    assert (status, "nothing was changed" in said) == (MISTAKEN, True)
    assert (root / "pyproject.toml").read_text() == before


@pytest.mark.parametrize("is_there", [True, False])
def test_a_declared_model_gets_the_lock_that_its_table_lacks(root: Path, *, is_there: bool) -> None:
    written(root, "Plain")
    file, lock = root / "pyproject.toml", root / "bertsize.lock"
    file.write_text(re.sub("\\[tool.bertsize\\]\n.*\n|lock = .*\n", "", file.read_text()))
    if not is_there:
        lock.unlink()
    assert written(root, "Plain", name="plain").lock == "strict"
    assert (settings := load(file)).lock
    assert settings.lock.file == lock.name
    assert checked(root)[0] == GOOD


def test_the_name_of_another_model_is_refused(root: Path) -> None:
    written(root, "Plain")
    before = (root / "pyproject.toml").read_bytes()
    status, out, said = init(root, "Plain", writes=True, kwargs={"more": 1})
    assert (status, out) == (MISTAKEN, "")
    assert 'another "plain" already: give another name (--name), or --name plain, which rewrites that table' in said
    assert (root / "pyproject.toml").read_bytes() == before


def test_the_table_of_a_model_that_is_named_gets_another_factory(root: Path) -> None:
    written(root, "Plain", kwargs={"more": 2})
    model = written(root, "Valued", name="plain")
    assert (model.factory, model.kwargs, model.build.device) == ("own:Valued", {}, "cpu")


# what cannot be built


def test_a_trial_build_that_fails_is_told_where_a_key_was_looked_for(root: Path) -> None:
    status, out, said = init(root, "Even", kwargs={"width": 16})
    assert (status, "linear = [16, 3]" in out) == (GOOD, True)
    why = "a key for them may be missing, as a trial build failed with width = 17: ValueError: odd"
    assert f"- out: sizes are written as numbers, and {why}" in said


def test_a_class_that_needs_arguments_is_told_with_its_signature_and_a_function_to_paste(root: Path) -> None:
    status, out, said = init(root, "Broken", writes=True)
    assert (status, out) == (FOUND, "")
    assert "own:Broken(config) is called with no argument: missing a required argument: 'config'; give it --c" in said
    assert "a function build_broken in bertsize_models.py that returns Broken(…) with your script's arguments" in said
    assert said.endswith("bertsize init bertsize_models:build_broken")
    assert not (root / "pyproject.toml").exists()


@pytest.mark.parametrize(
    ("factory", "kwargs", "status", "wrong"),
    [
        ("Missing", {}, FOUND, "the module own (src/own.py) has no Missing; correct the name"),
        ("Plain", {"x": 1}, FOUND, "unexpected keyword argument 'x'; correct --kwargs, or write a"),
        ("Untied", {}, MISTAKEN, "own:Untied is built, and would fail: Untied.get_output_embeddings ties words.weight"),
    ],
)
def test_what_fails_otherwise_is_told_and_not_declared(
    root: Path, factory: str, kwargs: dict[str, int], status: int, wrong: str
) -> None:
    found, out, said = init(root, factory, kwargs=kwargs, writes=True)
    assert (found, out) == (status, "")
    assert wrong in said
    assert ("bertsize_models" in said) == ("is called with" in said)
    assert not (root / "pyproject.toml").exists()


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        (Draft("", "own", {}), '"own" does not name a function: name "module:function"'),
        (Draft("a b", "own:Plain", {}), "a model's name is its test id"),
        (Draft("", "own:Plain", {"more": {"a": [None]}}), '{"more": {"a": [null]}} has a null, which TOML lacks; '),
        (Draft("", "own:Plain", {"a b": 1}), '--kwargs: "a b" is not the name of an argument'),
        (Draft("", "own:Plain", {}), "this folder is part of the project in .."),
    ],
)
def test_names_that_are_none_and_a_part_of_another_project_are_refused(root: Path, wish: Draft, said: str) -> None:
    (root / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    part = root / "part"
    part.mkdir()
    os.chdir(part)
    err = io.StringIO()
    assert declare(part, wish, Helper(), err, err, is_named="part of" not in said) == MISTAKEN
    assert said in err.getvalue()
    assert "pyproject.toml:" not in err.getvalue()


def test_a_lock_that_git_ignores_is_told_and_elsewhere_the_command_that_reads_the_table_there(root: Path) -> None:
    repository(root).write(".gitignore", "*.lock\n")
    os.chdir(root / "src")
    _, out, said = init(root, "Plain", writes=True)
    assert out.endswith("next: bertsize check --project .., and commit both files\n")
    told = "a checkout lacks it, as git ignores it; commit it (git add --force bertsize.lock)"
    assert f"- bertsize.lock: {told}" in said


OURS = '[tool.bertsize.hub]\n"x/y" = "small.json"  # ours\n'


@pytest.mark.parametrize(("name", "before"), [("out", OURS), ("../elsewhere", "")])
def test_a_config_that_no_checkout_has_is_copied_and_counts_without_the_original(
    root: Path, name: str, before: str
) -> None:
    (root / "pyproject.toml").write_text(before)
    repository(root).write(".gitignore", "out/\n")
    (root / name).mkdir(exist_ok=True)
    (root / name / "config.json").write_text(SMALL)
    status, out, _ = init(root, "Loaded", kwargs={"name": name}, writes=True)
    assert (status, (root / "configs" / "loaded.json").read_text()) == (GOOD, SMALL)
    assert out.endswith("and commit both files, configs/loaded.json\n")
    assert (root / "pyproject.toml").read_text().startswith(before)
    shutil.rmtree(root / name)
    assert checked(root)[0] == GOOD


def test_a_config_elsewhere_in_the_repository_is_in_a_checkout_once_it_is_committed(root: Path) -> None:
    outer = repository(root)
    outer.write("out/config.json", SMALL)
    part = root / "part"
    part.mkdir()
    shutil.copytree(root / "src", part / "src")
    lacks = "its folder, which a checkout lacks, as git does not track it yet: commit ../out/config.json"
    assert lacks in init(part, "Loaded", kwargs={"name": "../out"})[2]
    outer.commit()
    status, _, said = init(part, "Loaded", kwargs={"name": "../out"})
    assert (status, "which a checkout lacks" in said) == (GOOD, False)


def test_a_config_of_the_table_that_git_does_not_track_is_told(root: Path) -> None:
    repository(root).write("small.json", SMALL)
    told = "- small.json: a checkout lacks it, as git does not track it yet; commit it (git add small.json)"
    assert told in init(root, "Derived", config="small.json")[2]


@pytest.mark.parametrize(
    ("factory", "name"),
    [
        ("acme.models:build_BertCrf", "bert_crf"),
        ("a:BERTMultiLabelClassifier", "bert_multi_label_classifier"),
        ("python acme/train.py --width 64", "train"),
    ],
)
def test_a_model_is_named_after_its_function_class_or_script(factory: str, name: str) -> None:
    assert _name_after(factory) == name


# paths and sizes


@pytest.mark.parametrize(
    ("chosen", "named"),
    [
        ("a.layer.0 a.layer.1", ["a.layer[:2]"]),
        ("a.layer.1", ["a.layer.1"]),
        ("a.layer.1 a.layer.2 a.layer.norm a.top", ["a.layer[1:]", "a.layer.norm", "a.top"]),
        ("a.layer.0 a.layer.2", ["a.layer.0", "a.layer.2"]),
        ("a.layer.0.w a.layer.1.w", ["a.layer[0:2].w"]),
        ("a.layer", ["a.layer"]),
    ],
)
def test_modules_are_named_that_hold_these_tensors_and_no_others(chosen: str, named: list[str]) -> None:
    names = [f"a.layer.{index}.{each}" for index in range(3) for each in "wb"]
    names += ["a.layer.norm.w", "a.top.w", "a.top.b", "b.w"]
    inside = tuple(f"{path}." for path in chosen.split())
    known = Inventory(tuple(Tensor(name, (4,), "") for name in names))
    assert name_modules([name for name in names if f"{name}.".startswith(inside)], known) == named


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
    ("typed", "wrong"),
    [
        ("init python train.py --width 3", "init: error: put the command in quotes: 'python train.py --width 3'\n"),
        ("fit cls --totla 3M", "fit: error: unrecognized arguments: --totla 3M\n"),
        ("explain a --keys width", "'width' is not NAME=KEY: write num_blks=num_hidden_layers, for example\n"),
        (
            "explain a --keys =hidden_size",
            "'=hidden_size' is not NAME=KEY: write num_blks=num_hidden_layers, for example\n",
        ),
        ("explain a --option a=0", "'a=0' is not NAME=BOOL: write add_pooling_layer=false, for example\n"),
        ("init a:b --kwargs labels=9", """'labels=9' is not a JSON object: write '{"labels": 9}', for example\n"""),
        ("accept", "accept: error: the following arguments are required: --reason\n"),
        ("init --config configs/cls", "ERROR: --config is for one class or function: name it, as in module:function\n"),
        ("init --name cls", "ERROR: --name is for one class or function: name it, as in module:function\n"),
        (
            'init --kwargs {"labels":9}',
            "ERROR: --kwargs is for one class or function: name it, as in module:function\n",
        ),
    ],
)
def test_a_command_line_with_a_slip_names_what_was_meant(
    typed: str, wrong: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        sys.exit(main(typed.split()))
    printed = capsys.readouterr()
    assert (left.value.code, printed.out) == (MISTAKEN, "")
    assert printed.err.endswith(wrong)
