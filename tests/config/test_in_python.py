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


LATER = 'SIZE = 32\nSIZES = {"hidden_size": SIZE}\nMODEL = "bert-base-uncased"\n'


@pytest.mark.parametrize(
    "code",
    [
        "SIZE *= 2",
        "SIZE, OTHER = 64, 2",
        "def main():\n    global SIZE\n    SIZE = 64",
        "match 1:\n    case 1:\n        SIZE = 64",
        "for SIZE in (1, 2):\n    pass",
        "if (SIZE := 64):\n    pass",
        "from large import *",
        "from large import SIZE",
        'SIZES["hidden_size"] = 64',
        "SIZES.update(hidden_size=64)",
        "def main():\n    SIZES.clear()",
    ],
)
def test_what_the_file_changes_later_is_known_only_to_a_run(code: str) -> None:
    with pytest.raises(Unusable, match="what SIZES says is known only to a run"):
        said("SIZES", f"{LATER}{code}\n")
    assert said("MODEL", f"{LATER}MODEL_2 = 'x'\n") == "bert-base-uncased"


def test_a_local_variable_of_the_same_name_is_another() -> None:
    assert said("SIZES", f"{LATER}def main():\n    SIZES = {{}}\n    SIZES['hidden_size'] = 64\n") == {
        "hidden_size": 32
    }


@pytest.mark.parametrize(
    "body",
    [
        "    if True:\n        hidden_size = 64",
        "    hidden_size: int",
        "    def __init__(self):\n        self.hidden_size = 32\n        self.hidden_size *= 2",
        "    hidden_size: int = 32\n    def __post_init__(self):\n        self.hidden_size = 64",
        "    def __init__(self, hidden_size=32):\n        self.hidden_size = hidden_size\nmake = Sizes(64)",
    ],
)
def test_a_field_that_its_class_or_a_call_sets_again_is_known_only_to_a_run(body: str) -> None:
    with pytest.raises(Unusable, match="what Sizes says is known only to a run"):
        said("Sizes", f"class Sizes:\n    model_type = 'bert'\n{body}\n")


@pytest.mark.parametrize("call", ["Sizes(hidden_size=64)", "Sizes(**x)", "Sizes(64)"])
def test_a_field_that_a_call_fills_is_known_only_to_a_run(call: str) -> None:
    text = "@dataclass\nclass Sizes:\n    hidden_size: int = 32\n"
    assert said("Sizes", f"{text}s = Sizes()\n") == {"hidden_size": 32}
    with pytest.raises(Unusable, match="what Sizes says is known only to a run"):
        said("Sizes", f"{text}s = {call}\n")


def test_a_class_has_the_fields_of_its_bases_and_of_one_that_stands_elsewhere_nobody_knows_them() -> None:
    text = "class Small:\n    layers = 2\n    width = 32\nclass Large(Small):\n    layers = 24\n"
    assert said("Large", text) == {"layers": 24, "width": 32}
    with pytest.raises(Unusable, match="only to a run: Other"):
        said("Large", "from x import Other\nclass Large(Other):\n    layers = 24\n")


def test_an_option_that_the_script_sets_again_or_converts_itself_is_known_only_to_a_run() -> None:
    add = 'parser.add_argument("--name", default="bert-base-uncased"{})\nargs = parser.parse_args()\n'
    for text in (add.format("") + 'args.name = "x"\n', add.format(", type=lambda s: s.upper()")):
        with pytest.raises(Unusable, match="what name says is known only to a run"):
            said("name", text)
    assert said("", add.format("") + 'args.name = "x"\n', whole=False) == {}


BY_KEY = {
    "in a function": "c = BertConfig(hidden_size=32)\ndef main():\n    c.num_hidden_layers = 24\n",
    "a field": "class M:\n    def __init__(self):\n        self.c = BertConfig(hidden_size=32)\n"
    "    def grow(self):\n        self.c.num_hidden_layers = 24\n",
    "in an if": "c = BertConfig(hidden_size=32)\nif x:\n    c.num_hidden_layers = 24\n",
    "in a loop": "c = BertConfig(hidden_size=32)\nfor _ in x:\n    c.num_hidden_layers = 24\n",
    "twice": "c = BertConfig(hidden_size=32)\nc.num_hidden_layers = 3\nc.num_hidden_layers = 24\n",
    "more than it is": "c = BertConfig(hidden_size=32)\nc.num_hidden_layers += 24\n",
    "too late": "c = BertConfig(hidden_size=32)\nm = BertModel(c)\nc.num_hidden_layers = 24\n",
    "by what a run has": "c = BertConfig(hidden_size=32)\nc.num_hidden_layers = len(x)\n",
    "another name": "c = BertConfig(hidden_size=32)\nd = c\nd.num_hidden_layers = 24\n",
    "one of two": "c = BertConfig(hidden_size=32)\nc = other(c)\nc.num_hidden_layers = 24\n",
    "one of several": "c, name = BertConfig(hidden_size=32), 'x'\nc.num_hidden_layers = 24\n",
    "what is returned with others": "def make():\n    return BertConfig(hidden_size=32), 1\nc, n = make()\nc.num_hidden_layers = 24\n",
    "each of a loop": "for c in (BertConfig(hidden_size=32), d):\n    c.num_hidden_layers = 24\n",
    "in a dict": "cs = {'bert': BertConfig(hidden_size=32)}\ncs['bert'].num_hidden_layers = 24\n",
    "its dict": "c = BertConfig(hidden_size=32)\nc.__dict__.update(num_hidden_layers=x)\n",
    "its vars": "c = BertConfig(hidden_size=32)\nvars(c).update({'num_hidden_layers': x})\n",
    "a choice": "c = BertConfig(hidden_size=32) if x else None\nc.num_hidden_layers = 24\n",
    "a copy": "d = copy.deepcopy(BertConfig(hidden_size=32))\nd.num_hidden_layers = 24\n",
    "a walrus": "if (c := BertConfig(hidden_size=32)):\n    c.num_hidden_layers = 24\n",
    "a parameter": "def grow(c):\n    c.num_hidden_layers = 24\nM(grow(BertConfig(hidden_size=32)))\n",
    "a parameter by name": "def grow(*, c):\n    c.num_hidden_layers = 24\nd = BertConfig(hidden_size=32)\ngrow(c=d)\n",
    "a method": "class M:\n    def grow(self, c):\n        c.num_hidden_layers = 4\nM().grow(BertConfig(hidden_size=32))\n",
    "an own class": "class M:\n    def __init__(self, c):\n        c.num_hidden_layers = 4\nM(BertConfig(hidden_size=32))\n",
    "what is returned": "def make():\n    return BertConfig(hidden_size=32)\nc = make()\nc.num_hidden_layers = 24\n",
}


@pytest.mark.parametrize("text", BY_KEY.values(), ids=BY_KEY)
def test_a_key_that_the_file_may_give_a_config_later_is_known_only_to_a_run(text: str) -> None:
    found = in_python.parse(text.encode(), "train.py", "BertConfig")
    assert isinstance(found, ModelConfig)
    assert found.why_unknown("num_hidden_layers") == (
        "num_hidden_layers is given here, and known only to a run",
        "write overrides = { num_hidden_layers = … } with what the run has",
    )


BY_ANY = {
    "setattr of any": "c = BertConfig(hidden_size=32)\nfor k in KEYS:\n    setattr(c, k, 1)\n",
    "update by any": "c = BertConfig(hidden_size=32)\nc.update(MORE)\n",
    "update by stars": "c = BertConfig(hidden_size=32)\nc.update(**MORE)\n",
    "an entry of its dict": "c = BertConfig(hidden_size=32)\nvars(c)[k] = 24\n",
}


@pytest.mark.parametrize("text", BY_ANY.values(), ids=BY_ANY)
def test_a_config_of_which_any_key_may_change_is_known_only_to_a_run(text: str) -> None:
    with pytest.raises(Unusable, match="what BertConfig says is known only to a run"):
        said("BertConfig", text)


@pytest.mark.parametrize(
    "statement",
    [
        "c.num_hidden_layers = 24",
        "c.num_hidden_layers: int = 2 * 12",
        "setattr(c, 'num_hidden_layers', 24)",
        "c.update({'num_hidden_layers': 24})",
        "c.update(num_hidden_layers=24)",
    ],
)
def test_a_key_that_the_next_lines_give_a_config_counts(statement: str) -> None:
    text = f"c = BertConfig(hidden_size=32, num_hidden_layers=2)\n{statement}\nm = BertModel(c)\n"
    assert said("BertConfig", text) == {"model_type": "bert", "hidden_size": 32, "num_hidden_layers": 24}
    assert said("c", text) == said("BertConfig", text)


def test_each_of_two_configs_has_what_is_given_to_it_and_its_own_name() -> None:
    text = "large = BertConfig(num_hidden_layers=24)\nsmall = BertConfig(num_hidden_layers=24)\nsmall.num_hidden_layers = 4\n"
    assert said("large", text)["num_hidden_layers"] == 24
    assert said("small", text)["num_hidden_layers"] == 4
    with pytest.raises(Unusable, match="BertConfig stands there 2 times, and says not the same"):
        said("BertConfig", text)


@pytest.mark.parametrize(
    "text",
    [
        "t = BertModel.from_pretrained('x')\ns = BertModel.from_pretrained('x', num_hidden_layers=6)\n",
        "def a():\n    n = 'x'\n    return BertModel.from_pretrained(n)\ndef b():\n    n = 'y'\n    return BertModel.from_pretrained(n)\n",
        "t = BertModel.from_pretrained('x')\ns = BertModel.from_pretrained('x')\ns.resize_token_embeddings(9)\n",
    ],
)
def test_calls_of_one_class_that_make_two_models_are_not_one_place(text: str) -> None:
    with pytest.raises(Unusable, match="stands there 2 times, and says not the same"):
        said("BertModel.from_pretrained", text)


@pytest.mark.parametrize(
    "statement",
    [
        "m.classifier = nn.Linear(768, 9)",
        "m.bert.encoder.layer = m.bert.encoder.layer[:6]",
        "m.bert.pooler = None",
        "m.bert.embeddings.word_embeddings = nn.Embedding(31000, 768)",
        "m.bert.encoder.layer[3] = Other()",
        "del m.bert.encoder.layer[6:]",
        "m.prune_heads({0: [1]})",
        "m.bert.set_input_embeddings(e)",
        "m.to(device).resize_position_embeddings(1024)",
    ],
)
def test_a_model_whose_modules_change_later_is_known_only_to_a_run(statement: str) -> None:
    with pytest.raises(Unusable) as refused:
        said("BertModel.from_pretrained", f"m = BertModel.from_pretrained('x').to(device)\n{statement}\n")
    (finding,) = refused.value.findings
    assert finding.message.startswith("what BertModel.from_pretrained makes is changed later: ")
    assert finding.fix == 'have a function make the model, as it is after that: factory = "module:function"'


@pytest.mark.parametrize(
    "statement",
    [
        "m.config.num_labels = len(x)",
        "m.config.id2label = labels",
        "m.num_labels = 3",
        "m.loss = nn.CrossEntropyLoss()",
        "m.eval().to(device)",
        "m.label_map = labels",
        "del m",
        "m.encoder_name = name",
        "m.encoder.gradient_checkpointing = True",
    ],
)
def test_what_changes_no_module_leaves_a_model_as_it_is(statement: str) -> None:
    assert said("BertModel.from_pretrained", f"m = BertModel.from_pretrained('x')\n{statement}\n") == "x"


NET = (
    "class Net:\n    def __init__(self, layers=12):\n        self.m = BertModel(BertConfig(num_hidden_layers=layers))\n"
)
ARGS = "p = argparse.ArgumentParser()\np.add_argument('--layers', type=int, default=12)\n{}c = BertConfig(num_hidden_layers=args.layers)\n"
PARSED = "args = p.parse_args()\n"
OTHERWISE = {
    "an heir": f"{NET}class Small(Net): pass\nSmall(layers=4)\n",
    "super": f"{NET}class Small(Net):\n    def __init__(self):\n        super().__init__(layers=4)\n",
    "super of super": f"{NET}class A(Net): pass\nclass B(A):\n    def __init__(self):\n        super().__init__(4)\n",
    "cls": f"{NET}    @classmethod\n    def small(cls):\n        return cls(layers=4)\n",
    "partial": f"{NET}make = functools.partial(Net, layers=4)\n",
    "setattr": ARGS.format(f"{PARSED}setattr(args, 'layers', 4)\n"),
    "setattr of any": ARGS.format(f"{PARSED}for k in x:\n    setattr(args, k, 4)\n"),
    "vars": ARGS.format(f"{PARSED}vars(args).update(layers=4)\n"),
    "vars by any": ARGS.format(f"{PARSED}vars(args).update(x)\n"),
    "its dict": ARGS.format(PARSED + "args.__dict__.update({'layers': 4})\n"),
    "parsed from a list": ARGS.format("args = p.parse_args(['--layers', '4'])\n"),
    "defaults of any": ARGS.format(f"p.set_defaults(**x)\n{PARSED}"),
    "a comprehension": "layers = 12\nms = [BertConfig(num_hidden_layers=layers) for layers in (2, 4)]\n",
    "a lambda": "layers = 12\nm = lambda layers=4: BertConfig(num_hidden_layers=layers)\n",
    "an outer name": "class M:\n    layers = 12\n    def make(self):\n        return BertConfig(num_hidden_layers=layers)\n",
}


@pytest.mark.parametrize("text", OTHERWISE.values(), ids=OTHERWISE)
def test_a_name_that_may_have_another_value_where_it_is_used_is_known_only_to_a_run(text: str) -> None:
    with pytest.raises(Unusable, match="what BertConfig says is known only to a run"):
        said("BertConfig", text)


@pytest.mark.parametrize(
    ("before", "layers", "value"),
    [
        ("", "args.layers", 12),
        ("SIZES = {'small': {'layers': 4}}\n", "SIZES['small']['layers']", 4),
        ("DEPTHS = [2, 4]\n", "DEPTHS[-1]", 4),
        ("LABELS = ['O', 'B']\n", "len(LABELS) + 1", 3),
        ("", "int(9 / 2)", 4),
        ("layers = 2\nclass M:\n    layers = 12\n    def make(self):\n", "layers", 2),
        ("class Other:\n    def __init__(self):\n        super().__init__(4)\n", "args.layers", 12),
    ],
)
def test_what_a_file_writes_down_is_read(before: str, layers: str, value: int) -> None:
    indent = "        " if before.endswith("(self):\n") and "M" in before else ""
    options = "p.add_argument('--layers', default=12)\nargs = p.parse_args()\n" if "args" in layers else ""
    text = f"{options}{before}{indent}c = BertConfig(num_hidden_layers={layers})\n"
    assert said("BertConfig", text)["num_hidden_layers"] == value


def test_dicts_and_texts_are_put_together() -> None:
    text = "BASE = {'hidden_size': 32, 'layers': 2}\nSMALL = {**BASE, 'layers': 4}\nSIZE = 'base'\nNAME = f'bert-{SIZE}-uncased'\n"
    assert said("SMALL", text) == {"hidden_size": 32, "layers": 4}
    assert said("NAME", text) == "bert-base-uncased"
    for unread in (
        "{**MORE}",
        "SIZES['x']",
        "[1][3]",
        "{'a': 1}['b']",
        "f'{1.5}'",
        "f'{SIZE:>9}'",
        "len(3)",
        "max(1, 2)",
    ):
        with pytest.raises(Unusable, match="known only to a run"):
            said("X", f"SIZE = 'x'\nX = {unread}\n")


UNCHANGED = {
    "another": "c = BertConfig(hidden_size=32)\nd = Other()\nd.num_hidden_layers = 24\n",
    "a local one": "c = BertConfig(hidden_size=32)\ndef main(c):\n    c.num_hidden_layers = 24\n",
    "another field": "class M:\n    def __init__(self):\n        self.c = BertConfig(hidden_size=32)\n        self.d.num_labels = 4\n",
    "the field of another": "class M:\n    def __init__(self):\n        self.c = BertConfig(hidden_size=32)\n"
    "class N:\n    def grow(self):\n        self.c.num_labels = 4\n",
    "of its model": "c = BertConfig(hidden_size=32)\nm = M(c)\nm.config.num_labels = 4\n",
    "no size": "c = BertConfig(hidden_size=32)\nc.output_hidden_states = True\nc.hidden_dropout_prob = 0.2\nc.layer_norm_eps = 1\n",
    "no size, otherwise": "c = BertConfig(hidden_size=32)\nc.update({'use_cache': False})\nsetattr(c, 'use_cache', False)\n",
    "a dict": "c = BertConfig(hidden_size=32)\nd = {}\nd.update(c=c)\n",
    "itself": "c = BertConfig(hidden_size=32)\nc = c\ndef f(c):\n    return f(c)\nf(c)\n",
}


@pytest.mark.parametrize("text", UNCHANGED.values(), ids=UNCHANGED)
def test_what_else_the_file_changes_leaves_a_config_as_it_is(text: str) -> None:
    assert said("BertConfig", text) == {"model_type": "bert", "hidden_size": 32}


def test_a_call_has_what_two_stars_give_and_what_only_its_place_names_is_refused() -> None:
    base = "BASE = dict(num_hidden_layers=24)\n"
    found = said("BertConfig", f"{base}BertConfig(**BASE, hidden_size=32)\n")
    assert found == {"model_type": "bert", "num_hidden_layers": 24, "hidden_size": 32}
    for text in (
        "BertConfig(1000, 32)\n",
        "hidden = 32\ndef make(hidden):\n    return BertConfig(hidden_size=hidden)\n",
        "def make(hidden=32):\n    return BertConfig(hidden_size=hidden)\nmake(64)\n",
    ):
        with pytest.raises(Unusable, match="what BertConfig says is known only to a run"):
            said("BertConfig", text)


def test_what_a_call_gives_beside_a_name_counts(tmp_path: Path) -> None:
    table = '[tool.bertsize.models.m]\nconfig = "t.py#BertConfig.from_pretrained"\narchitecture = "BertModel"\n'
    files = {"pyproject.toml": f'{table}budget = "report-only"\n'}

    def total(layers: str) -> Any:
        call = f'c = BertConfig.from_pretrained("bert-base-uncased", num_hidden_layers={layers}, cache_dir=x)\n'
        settings = load(lay(tmp_path, **files, **{"t.py": call}) / "pyproject.toml")
        return conclude_unbuilt(examine(settings.models["m"], settings, Registry()), settings)

    base, layer = 109_482_240, 7_087_872  # Devlin et al. 2018: BERT-base, and one of its layers
    assert total("24").expected.unique == base + 12 * layer
    (error,) = total("depth()").errors
    assert (error.file, error.line, error.fix) == (
        "t.py",
        1,
        "write overrides = { num_hidden_layers = … } with what the run has",
    )


BASE, LAYER, POOLER = 109_482_240, 7_087_872, 590_592
"""BERT-base of Devlin et al. 2018, one of its layers, and 768² + 768."""
LABEL = 769
"""768 weights and a bias."""


def checked_call(tmp_path: Path, text: str, table: str = "", kind: str = "BertModel") -> Any:
    place, kind = (kind, "BertModel") if kind.endswith("Config") else (f"{kind}.from_pretrained", kind)
    said = (
        f'[tool.bertsize.models.m]\nconfig = "t.py#{place}"\narchitecture = "{kind}"\n{table}budget = "report-only"\n'
    )
    settings = load(lay(tmp_path, **{"pyproject.toml": said, "t.py": text}) / "pyproject.toml")
    return conclude_unbuilt(examine(settings.models["m"], settings, Registry()), settings)


@pytest.mark.parametrize(
    ("text", "layers"),
    [
        ("SIZE = dict(num_hidden_layers=3)\nm = BertModel.from_pretrained('bert-base-uncased', **SIZE)\n", 3),
        ("m = BertModel.from_pretrained('bert-base-uncased', config=BertConfig(num_hidden_layers=2))\n", 2),
        ("c = BertConfig(num_hidden_layers=2)\nm = BertModel.from_pretrained('bert-base-uncased', config=c)\n", 2),
        (
            """
def f():
    c = AutoConfig.from_pretrained("bert-base-uncased", num_hidden_layers=4)
    return BertModel.from_pretrained("bert-base-uncased", config=c, num_labels=7)
""",
            4,
        ),
        ("m = BertModel.from_pretrained('bert-base-uncased', config=None)\n", 12),
        (
            """
c = AutoConfig.from_pretrained("bert-base-uncased")
c.num_hidden_layers = 5
m = BertModel.from_pretrained("bert-base-uncased", config=c)
""",
            5,
        ),
    ],
)
def test_a_call_counts_by_what_two_stars_and_its_config_give(tmp_path: Path, text: str, layers: int) -> None:
    assert checked_call(tmp_path, text).expected.unique == BASE + (layers - 12) * LAYER


@pytest.mark.parametrize(
    "given",
    ["**more", "config=config", "config=self.config", "config=make()", "config=changed", "num_hidden_layers=x, **more"],
)
def test_a_config_that_only_a_run_knows_is_red_beside_a_name(tmp_path: Path, given: str) -> None:
    text = (
        f"changed = BertConfig()\nchanged.update(more)\nm = BertModel.from_pretrained('bert-base-uncased', {given})\n"
    )
    (error,) = checked_call(tmp_path, text).errors
    assert "is known only to a run" in error.message
    assert (error.file, error.line) == ("t.py", 2 if given == "config=changed" else 3)


@pytest.mark.parametrize(
    ("given", "labels"),
    [
        ("num_labels=5", 5),
        ("id2label={0: 'a', 1: 'b', 2: 'c'}", 3),
        ("id2label={0: 'a', 1: 'b', 2: 'c'}, label2id={'a': 0, 'b': 1, 'c': 2}, problem_type='x'", 3),
    ],
)
def test_labels_that_a_call_gives_are_counted(tmp_path: Path, given: str, labels: int) -> None:
    kind = "BertForTokenClassification"
    found = checked_call(tmp_path, f"m = {kind}.from_pretrained('bert-base-uncased', {given})\n", kind=kind)
    assert (found.expected.unique, found.errors) == (BASE - POOLER + labels * LABEL, ())


def test_labels_that_only_a_run_counts_are_red_until_the_table_says_them(tmp_path: Path) -> None:
    kind = "BertForTokenClassification"
    text = f"m = {kind}.from_pretrained('bert-base-uncased', num_labels=len(LABELS))\n"
    (error,) = checked_call(tmp_path, text, kind=kind).errors
    assert error.sentence == (
        "t.py:1: num_labels is given here, and known only to a run; "
        "write overrides = { num_labels = … } with what the run has"
    )
    told = checked_call(tmp_path, text, "overrides = { num_labels = 4 }\n", kind)
    assert (told.expected.unique, told.errors) == (BASE - POOLER + 4 * LABEL, ())


RESIZED = {
    "a name": "m = {}\nm.resize_token_embeddings({})\n",
    "a field": "class M:\n    def __init__(self):\n        self.m = {}\n        self.m.resize_token_embeddings(new_num_tokens={}, mean_resizing=False)\n",
}
RESIZED_PERHAPS = {
    "a name, in a function": "m = {}\ndef grow(model):\n    model.resize_token_embeddings({})\ngrow(m)\n",
    "a part": "m = {}\nm.bert.resize_token_embeddings({})\n",
    "what is returned": "def make():\n    return {}\nm = make()\nm.resize_token_embeddings({})\n",
    "what is returned with others": "def make():\n    return {}, 1\nm, n = make()\nm.resize_token_embeddings({})\n",
    "in an if": "m = {}\nif x:\n    m.resize_token_embeddings({})\n",
    "if so": "m = {}\nm.resize_token_embeddings({}) if x else None\n",
    "and so": "m = {}\nx and m.resize_token_embeddings({})\n",
    "twice": "m = {}\nm.resize_token_embeddings(9)\nm.resize_token_embeddings({})\n",
    "moved": "m = {}.to(device)\nm.resize_token_embeddings({})\n",
    "moved by name": "m = {}\nm = m.to(device)\nm.resize_token_embeddings({})\n",
    "compiled": "m = torch.compile({})\nm.resize_token_embeddings({})\n",
    "in a dict": "ms = {{'a': {}}}\nms['a'].resize_token_embeddings({})\n",
    "in a loop": "q, p = {}, other\nfor m in (q, p):\n    m.resize_token_embeddings({})\n",
}
UNKNOWN = (
    "vocab_size is given here, and known only to a run; write overrides = { vocab_size = … } with what the run has"
)


def resized(tmp_path: Path, text: str, made: str, tokens: str, table: str = "") -> Any:
    before = "" if "from_pretrained" in made else "config = BertConfig()\n"
    kind = "BertConfig" if before else "BertModel"
    return checked_call(tmp_path, before + text.format(made, tokens), table, kind)


@pytest.mark.parametrize("made", ["BertModel.from_pretrained('bert-base-uncased')", "BertModel(config)"])
@pytest.mark.parametrize("text", RESIZED.values(), ids=RESIZED)
def test_a_vocabulary_that_is_given_later_counts(tmp_path: Path, text: str, made: str) -> None:
    found = resized(tmp_path, text, made, "30_600")
    assert (found.expected.unique, found.errors) == (BASE + 78 * 768, ())


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        *((text, "len(tokenizer)") for text in RESIZED.values()),
        (RESIZED["a name"], "30_600, pad_to_multiple_of=64"),
        *((text, "30_600") for text in RESIZED_PERHAPS.values()),
    ],
)
@pytest.mark.parametrize("made", ["BertModel.from_pretrained('bert-base-uncased')", "BertModel(config)"])
def test_a_vocabulary_that_only_a_run_knows_is_red_until_the_table_says_it(
    tmp_path: Path, text: str, tokens: str, made: str
) -> None:
    (error,) = resized(tmp_path, text, made, tokens).errors
    assert error.sentence.partition(": ")[2] == UNKNOWN
    told = resized(tmp_path, text, made, tokens, "overrides = { vocab_size = 30_600 }\n")
    assert (told.expected.unique, told.errors) == (BASE + 78 * 768, ())


def test_embeddings_of_another_model_or_that_are_asked_for_resize_nothing(tmp_path: Path) -> None:
    text = "m = BertModel.from_pretrained('bert-base-uncased')\nother.resize_token_embeddings(9)\nm.resize_token_embeddings()\n"
    assert checked_call(tmp_path, text).expected.unique == BASE


@pytest.mark.parametrize("given", ["id2label=labels", "num_labels=len(x), id2label=labels, label2id=ids"])
def test_labels_are_asked_for_once_by_whatever_keys_a_call_gives_them(tmp_path: Path, given: str) -> None:
    kind = "BertForTokenClassification"
    text = f"m = {kind}.from_pretrained('bert-base-uncased', {given})\n"
    (error,) = checked_call(tmp_path, text, kind=kind).errors
    assert error.fix == "write overrides = { num_labels = … } with what the run has"
    assert checked_call(tmp_path, text, "overrides = { num_labels = 4 }\n", kind).errors == ()


@pytest.mark.parametrize(
    ("given", "table", "says"),
    [
        ("False", "", "= false, and the table true; write options = { add_pooling_layer = false }"),
        ("False", "options = { add_pooling_layer = false }\n", ""),
        ("True", "", ""),
        ("True", "options = { add_pooling_layer = false }\n", "= true, and the table false; write"),
        ("x", "", "= what only a run can tell, and the table true; write options = { add_pooling_layer = true }"),
        ("x", "options = { add_pooling_layer = false }\n", ""),
    ],
)
def test_the_table_says_what_a_call_gives_its_class(tmp_path: Path, given: str, table: str, says: str) -> None:
    text = f"m = BertModel.from_pretrained('bert-base-uncased', add_pooling_layer={given})\n"
    errors = checked_call(tmp_path, text, table).errors
    assert [says in each.sentence for each in errors] == ([True] if says else [])


@pytest.mark.parametrize(
    "text",
    [
        "A = [1] * 1\n" + "A0 = [1, 1]\n" + "".join(f"A{i + 1} = [{f'A{i}, ' * 30}]\n" for i in range(8)) + "C = A8\n",
        "A0 = 'x' * 1\nA0 = '"
        + "x" * 3000
        + "'\n"
        + "".join(f"A{i + 1} = A{i} + A{i}\n" for i in range(9))
        + "C = A9\n",
        "C = " + "+".join(["1"] * 900) + "\n",
        "C = {'x': 0x" + "f" * 50_000 + "}\n",
    ],
)
def test_what_grows_beyond_a_config_is_refused_at_once(text: str) -> None:
    with pytest.raises(Unusable, match=r"without a run|only to a run"):
        said("C", text)
