"""Configs that cannot be checked: one sentence each, with file, line and a way out, and the other models still checked."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

Project = Callable[..., pytest.Pytester]

TINY = {
    "model_type": "bert",
    "architectures": ["BertForMaskedLM"],
    "vocab_size": 101,
    "hidden_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 72,
    "max_position_embeddings": 40,
    "type_vocab_size": 5,
}
GOOGLE = {key: value for key, value in TINY.items() if key not in {"model_type", "architectures"}}
REMOVED = object()


@dataclass(frozen=True)
class Bad:
    """A config file and what its model's headline says."""

    config: object
    """JSON to be, or text, or bytes, as they are written."""
    headline: str
    table: str = ""


def changed(**keys: object) -> dict[str, object]:
    return {key: value for key, value in {**TINY, **keys}.items() if value is not REMOVED}


CASES = {
    "missing": Bad(
        None,
        "configs/missing.json: there is no such file; write the path of the model's config.json, relative to pyproject.toml",
    ),
    "malformed": Bad('{\n"vocab_size": 101,\n}', "configs/malformed.json:3: not JSON: *; correct the file"),
    "empty": Bad("", "configs/empty.json:1: not JSON: Expecting value at column 1; correct the file"),
    "list": Bad([TINY], "configs/list.json: the file holds a list, not an object; name a model's config"),
    "latin-1": Bad(
        '{\n"name": "café"}'.encode("latin-1"), "configs/latin-1.json:2: byte 14 is not UTF-8; save the file as UTF-8"
    ),
    "bom": Bad(
        b"\xef\xbb\xbf{}",
        "configs/bom.json: the file starts with a byte order mark, which transformers refuses; save it as UTF-8 without BOM",
    ),
    "lfs": Bad(
        "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
        "configs/lfs.json: this is a git-LFS pointer, not the config; run git lfs pull",
    ),
    "twice": Bad(
        '{\n"hidden_size": 48,\n"hidden_size": 96}',
        'configs/twice.json:3: the key "hidden_size" stands there twice in one object; keep one of them',
    ),
    "nan": Bad('{"layer_norm_eps": NaN}', "configs/nan.json: not JSON: NaN is not a number; correct the file"),
    "text-size": Bad(
        changed(hidden_size="48"),
        'configs/text-size.json:5: hidden_size is "48", which is not a whole number; write one, as in 768',
    ),
    "float-size": Bad(
        changed(vocab_size=101.0),
        "configs/float-size.json:4: vocab_size is 101.0, which is not a whole number; write one, as in 30522",
    ),
    "true-size": Bad(
        changed(num_hidden_layers=True),
        "configs/true-size.json:6: num_hidden_layers is true, which is not a whole number; write one, as in 12",
    ),
    "null-size": Bad(
        changed(type_vocab_size=None),
        "configs/null-size.json:10: type_vocab_size is null, which is not a whole number; write one, as in 2",
    ),
    "zero": Bad(
        changed(num_hidden_layers=0),
        "configs/zero.json:6: num_hidden_layers is 0: a size is at least 1; write one, as in 12",
    ),
    "negative": Bad(
        changed(num_attention_heads=-4),
        "configs/negative.json:7: num_attention_heads is -4: a size is at least 1; write one, as in 12",
    ),
    "indivisible": Bad(
        changed(hidden_size=50),
        "configs/indivisible.json:5: hidden_size 50 is not a multiple of num_attention_heads 4; write a multiple of 4",
    ),
    "misspelt": Bad(
        changed(num_hiden_layers=48),
        'configs/misspelt.json:11: "num_hiden_layers" is not a key of this family and would be ignored; write "num_hidden_layers"',
    ),
    "alias": Bad(
        changed(num_hidden_layers=REMOVED, n_layers=48),
        'configs/alias.json:10: "n_layers" is not a key of this family and would be ignored; write "num_hidden_layers"',
    ),
    "unknown-activation": Bad(
        changed(hidden_act="gleu"),
        "configs/unknown-activation.json:11: hidden_act is \"gleu\", which transformers does not know; did you mean 'gelu'?",
    ),
    "cross-attention": Bad(
        changed(add_cross_attention=True),
        "configs/cross-attention.json:11: add_cross_attention is true without is_decoder: the class refuses that; "
        'write "is_decoder": true',
    ),
    "auto-map": Bad(
        changed(auto_map={"AutoModel": "evil.Model"}),
        'configs/auto-map.json:11: the key "auto_map" is refused: it names code to run in place of the library\'s class; remove it',
    ),
    "attribute-map": Bad(
        changed(attribute_map={"num_hidden_layers": "vocab_size"}),
        'configs/attribute-map.json:11: the key "attribute_map" is refused: it renames the keys of the file*; remove it',
    ),
    "unknown-family": Bad(
        changed(model_type="brt"),
        "configs/unknown-family.json:2: there is no closed form for the family \"brt\"; the nearest is 'bert'; "
        "correct the name, contribute one (hook pytest_bertsize_closed_forms), or write closed_form = false to hold it to "
        "its budget alone",
    ),
    "unknown-class": Bad(
        changed(architectures=["BertForMaskedML"]),
        "configs/unknown-class.json:3: there is no closed form for \"BertForMaskedML\" in the family 'bert'; "
        "what comes nearest is BertForMaskedLM; "
        "correct the name, contribute one (hook pytest_bertsize_closed_forms), or write closed_form = false to hold it to "
        "its budget alone",
    ),
    "other-familys-class": Bad(
        changed(architectures=["RobertaModel"]),
        "configs/other-familys-class.json:3: \"RobertaModel\" is of the family 'roberta', and the config of 'bert'; "
        "did you mean 'BertModel'?",
    ),
    "two-classes": Bad(
        changed(architectures=["BertModel", "BertForMaskedLM"]),
        "pyproject.toml:*: configs/two-classes.json names 2 architectures, and neither does the table; "
        'write architecture = "BertModel", for example',
    ),
    "no-class": Bad(
        changed(architectures=REMOVED),
        "pyproject.toml:*: configs/no-class.json names no architecture, and neither does the table; "
        'write architecture = "BertModel", for example',
    ),
    "google-without-family": Bad(
        GOOGLE,
        "pyproject.toml:*: configs/google-without-family.json has no model_type, as is usual for Google's bert_config.json; "
        'write family = "bert"',
        'architecture = "BertModel"',
    ),
    "google-incomplete": Bad(
        {key: value for key, value in GOOGLE.items() if key != "type_vocab_size"},
        "configs/google-incomplete.json: the key type_vocab_size is missing, and a file without model_type has to be "
        'complete; write "type_vocab_size": 2, if that is meant',
        'family = "bert"\narchitecture = "BertModel"',
    ),
    "two-families": Bad(
        TINY,
        'pyproject.toml:*: family is "roberta", and configs/two-families.json says model_type "bert"; '
        "remove family from the table",
        'family = "roberta"',
    ),
    "unknown-option": Bad(
        TINY,
        "pyproject.toml:*: options.add_pooling_layer: BertForMaskedLM has no such constructor argument; "
        "remove it: BertForMaskedLM takes none",
        "options = { add_pooling_layer = false }",
    ),
    "unknown-override": Bad(
        TINY,
        "pyproject.toml:*: overrides.vocab_sizes changes nothing in this family; did you mean vocab_size?",
        "overrides = { vocab_sizes = 7 }",
    ),
    "absurdly-wide": Bad(
        changed(hidden_size=10**9),
        "configs/absurdly-wide.json: by the closed form this is 13,000,000,610,000,000,317 parameters, more than 10,000,000,000,000; "
        "correct its sizes",
    ),
    "absurdly-deep": Bad(
        changed(num_hidden_layers=1_001),
        "configs/absurdly-deep.json:6: num_hidden_layers is 1,001: more than 1,000 layers are not built; "
        "write the number of layers that the model has",
    ),
    "nowhere": Bad(
        TINY,
        'configs/nowhere.json: there is no model in the file; at that place there is "model_type", "architectures", *',
        'config = "configs/nowhere.json#model.bert"',
    ),
}


def test_each_bad_model_fails_with_one_sentence_and_the_good_one_is_checked(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = ['[tool.bertsize.models.good]\nconfig = "configs/good.json"\nbudget = "report-only"\n']
    configs = Path("configs")
    configs.mkdir()
    for name, bad in {"good": Bad(TINY, ""), **CASES}.items():
        if isinstance(bad.config, bytes):
            (configs / f"{name}.json").write_bytes(bad.config)
        elif bad.config is not None:
            text = (
                bad.config
                if isinstance(bad.config, str)
                else json.dumps(bad.config, indent=1).replace("[\n  ", "[").replace("\n ]", "]")
            )
            (configs / f"{name}.json").write_text(text, encoding="utf-8")
        if bad.headline:
            config = "" if "config =" in bad.table else f'config = "configs/{name}.json"\n'
            tables.append(f'[tool.bertsize.models.{name}]\n{config}{bad.table}\nbudget = "report-only"\n')
    monkeypatch.setenv("COLUMNS", "400")
    result = project("\n".join(tables)).runpytest("--bert-budget", "--bert-budget-report=size.json")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(passed=1, failed=len(CASES))
    result.stdout.no_fnmatch_line("*Traceback*")
    found = {model["name"]: model["headline"] for model in json.loads(Path("size.json").read_text("utf-8"))["models"]}
    wrong = {name: found[name] for name, bad in CASES.items() if not _matches(found[name], f"{name}: {bad.headline}")}
    assert wrong == {}


def _matches(text: str, pattern: str) -> bool:
    from fnmatch import fnmatchcase

    return fnmatchcase(text, pattern.replace("[", "[[]").replace("?", "[?]"))


@pytest.mark.parametrize(
    ("files", "headline"),
    [
        ([], "configs: the folder holds neither config.json nor bert_config.json; name the file itself"),
        (
            ["config.json", "bert_config.json"],
            'configs: the folder holds both config.json and bert_config.json; name one: config = "configs/config.json"',
        ),
    ],
)
def test_a_folder_without_one_config_fails(
    project: Project, files: list[str], headline: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("configs").mkdir()
    for file in files:
        (Path("configs") / file).write_text(json.dumps(TINY))
    monkeypatch.setenv("COLUMNS", "200")
    result = project('[tool.bertsize.models.a]\nconfig = "configs"\nbudget.total = "1M"\n').runpytest("--bert-budget")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines([f"a: {headline}"])


@pytest.mark.parametrize(
    ("file", "reference"), [("config.json", "configs"), ("bert_config.json", "configs/bert_config.json")]
)
def test_a_folder_and_a_file_of_google_are_read(project: Project, file: str, reference: str) -> None:
    Path("configs").mkdir()
    (Path("configs") / file).write_text(json.dumps(GOOGLE))
    table = f'[tool.bertsize.models.a]\nconfig = "{reference}"\nfamily = "bert"\narchitecture = "BertModel"\nbudget.total = "1M"\n'
    assert project(table).runpytest("--bert-budget").ret == pytest.ExitCode.OK


def test_a_nested_config_is_read(project: Project) -> None:
    Path("train.json").write_text(json.dumps({"lr": 1, "model": {"bert_config": TINY}}))
    table = '[tool.bertsize.models.a]\nconfig = "train.json#model.bert_config"\nbudget.total = { exact = 59_549 }\n'
    result = project(table).runpytest("--bert-budget")
    assert result.ret == pytest.ExitCode.OK


def test_a_file_that_is_missing_is_never_asked_of_a_hub(project: Project) -> None:
    table = '[tool.bertsize.models.a]\nconfig = "google-bert/bert-base-uncased"\nbudget.total = "1M"\n'
    result = project(table).runpytest("--bert-budget")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["a: google-bert/bert-base-uncased: there is no such file; *"])
