"""``[tool.bertsize]``: what the table may say, and that every mistake in it is told at once, with file, line and key."""

from __future__ import annotations

import hashlib
import json
import os
import re
import textwrap
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

from pytest_bertsize.table.model import AsBytes, Build, Extra, Limit, LockFile, Model, Training
from pytest_bertsize.table.settings import (
    PLUGINS,
    NothingDeclared,
    Settings,
    SettingsError,
    limits_from,
    load,
    load_without_models,
    parse,
    parse_apart,
    tables_of_models,
)

EXAMPLE = 'write, for example, [tool.bertsize.models.encoder] with config = "config.json" and budget.total = "110M"'
NOTHING = "no model is declared, so nothing would be checked; "
NO_BUDGET = 'the model has no budget: write budget.total = "110M", or budget = "report-only"'
NO_CONFIG = 'the model has no config: write config = "path/to/config.json"'
NO_COUNT = (
    " is not a count of parameters: write a whole number, or a string such as '110M' or '1.2B' "
    "(K, M, B, T are powers of 1,000)"
)
KEYS = (
    "unknown key; there are factory, config, keys, ignored, family, architecture, overrides, options, backbone, extra, without, "
    "tied, frozen, adapter, checkpoint, tokenizer, build, closed_form, components, reason, budget"
)
NAME = "a model's name is its test id: letters, digits and . _ - + @, at most 100 of them"
MODEL = ("tool", "bertsize", "models", "encoder")


@pytest.fixture
def pyproject(tmp_path: Path) -> Path:
    return tmp_path / "pyproject.toml"


def write(path: Path, text: str) -> Path:
    path.write_bytes(textwrap.dedent(text).lstrip("\n").encode())
    return path


def model(path: Path, *lines: str) -> Model:
    """The model that a table of these lines declares."""
    return load(write(path, "\n".join(["[tool.bertsize.models.encoder]", *lines]))).models["encoder"]


def limit(path: Path, *lines: str) -> Limit:
    (only,) = model(path, 'config = "config.json"', *lines).limits
    return only


def mistakes(path: Path) -> str:
    with pytest.raises(SettingsError) as error:
        load(path)
    return str(error.value)


def mistakes_in(path: Path, *lines: str) -> str:
    """What is said about a model of these lines; line 3 of the file is the first of them."""
    return mistakes(write(path, "\n".join(["[tool.bertsize.models.encoder]", 'config = "config.json"', *lines])))


def at(line: int, key: str, sentence: str) -> str:
    return f"pyproject.toml:{line}: tool.bertsize.models.{key}: {sentence}"


# what a model may say


def test_a_model_says_what_is_built_from_which_config_and_what_it_may_cost(pyproject: Path) -> None:
    said = model(
        pyproject,
        'config = "models/encoder/config.json"',
        'family = "bert"',
        'architecture = "BertForMaskedLM"',
        "overrides = { vocab_size = 21128, num_labels = 18 }",
        "options = { add_pooling_layer = false }",
        'budget.total = "103M"',
    )
    assert said == Model(
        name="encoder",
        config="models/encoder/config.json",
        family="bert",
        architecture="BertForMaskedLM",
        overrides={"vocab_size": 21128, "num_labels": 18},
        options={"add_pooling_layer": False},
        limits=(Limit("total", None, 103_000_000, "103M", "pyproject.toml", table_key=(*MODEL, "budget", "total")),),
        table_key=MODEL,
    )


@pytest.mark.parametrize("said", [None, "logfire-plugin"])
def test_plugins_of_pydantic_are_what_they_were_when_the_table_is_read(
    pyproject: Path, monkeypatch: pytest.MonkeyPatch, said: str | None
) -> None:
    assert PLUGINS == "PYDANTIC_DISABLE_PLUGINS"  # as pydantic calls it
    monkeypatch.delenv(PLUGINS, raising=False)
    if said:
        monkeypatch.setenv(PLUGINS, said)
    model(pyproject, 'config = "config.json"', 'budget.total = "110M"')
    assert os.environ.get(PLUGINS) == said
    with pytest.raises(SettingsError):
        model(pyproject, 'config = "config.json"')
    assert os.environ.get(PLUGINS) == said


def test_all_but_config_and_budget_may_be_left_out(pyproject: Path) -> None:
    said = model(pyproject, 'config = "config.json"', "budget.total = 1")
    assert (said.family, said.architecture, said.overrides, said.options) == (None, None, {}, {})


def test_models_keep_the_order_in_which_they_are_declared(pyproject: Path) -> None:
    tables = (f'[tool.bertsize.models.{name}]\nconfig = "c.json"\nbudget.total = 1\n' for name in "zay")
    settings = load(write(pyproject, "".join(tables)))
    assert settings.names == ("z", "a", "y")
    assert [each.name for each in settings.models.values()] == ["z", "a", "y"]


def test_the_parsed_table_is_not_shown_beside_its_text(pyproject: Path) -> None:
    assert "table=" not in repr(load(write(pyproject, '[tool.bertsize.models.e]\nconfig = "c"\nbudget.total = 1\n')))


def test_a_limit_need_have_no_line_and_no_key() -> None:
    limit = Limit("total", None, 1, 1, "test_size.py")
    assert (limit.line, limit.table_key) == (None, None)


def test_settings_know_their_root_their_file_and_the_line_of_a_key(pyproject: Path) -> None:
    text = '[project]\nname = "x"\n[tool.bertsize.models.encoder]\nconfig = "c.json"\nbudget.total = 1\n'
    settings = load(write(pyproject, text))
    assert settings == Settings(pyproject, text, settings.models)
    assert (settings.root, settings.file) == (pyproject.parent, "pyproject.toml")
    assert [settings.line(key) for key in (MODEL, (*MODEL, "budget", "total"), ("tool", "no"))] == [3, 5, 3]


def test_a_key_of_the_whole_table_has_a_place_for_messages(pyproject: Path) -> None:
    settings = load(write(pyproject, 'tool.bertsize.models.e = { config = "c.json", budget = "report-only" }\n'))
    assert settings.place("models") == "pyproject.toml:1: tool.bertsize.models"
    assert Settings(pyproject, "", {}).place("lock") == "pyproject.toml"


EVERYTHING = """
[tool.bertsize.models.plain]
config = "c.json"
family = "bert"
architecture = "BertModel"
overrides = { vocab_size = 7 }
options = { add_pooling_layer = false }
keys = { width = "hidden_size" }
ignored = ["name"]
checkpoint = "model.safetensors"
tokenizer = "vocab.txt"
adapter = "adapter.json"
build = { seconds = 9, memory = "1GB", device = "cpu" }
budget = { total = 1, already_over = "pass" }
[tool.bertsize.models.inline]
config = { model_type = "bert" }
budget = { total = 1, already_over = "fail" }
[tool.bertsize.models.made]
factory = "m:f"
config = "c.json"
backbone = "bert"
tied = { "out.weight" = "bert.embeddings.word_embeddings.weight" }
without = ["pooler"]
frozen = ["bert.encoder.layer[:6]"]
extra = [{ name = "top.out", linear = ["hidden_size", 2], bias = false }]
budget.total = 1
[tool.bertsize.models.two]
factory = "m:f"
backbone = { a = "a.json", b = "b.json" }
architecture = { b = "BertModel" }
budget.total = 1
[tool.bertsize.models.unknown]
factory = "m:f"
closed_form = false
reason = "ADR-3"
components = { "my.head" = "out", rest = ["a", "b"] }
budget = "report-only"
"""


def test_what_a_table_says_of_a_model_is_what_the_model_is(pyproject: Path) -> None:
    models = parse(EVERYTHING, pyproject).models

    def limits(name: str) -> tuple[Limit, ...]:
        return models[name].limits

    def key(name: str) -> tuple[str, ...]:
        return ("tool", "bertsize", "models", name)

    plain = Model(
        "plain", "c.json", "bert", "BertModel", {"vocab_size": 7}, {"add_pooling_layer": False}, limits("plain"), ()
    )
    inline = Model(
        "inline", "pyproject.toml#tool.bertsize.models.inline.config", None, None, {}, {}, limits("inline"), ()
    )
    made = Model("made", "c.json", None, None, {}, {}, limits("made"), (), factory="m:f", backbone="bert")
    two = Model("two", "", None, None, {}, {}, limits("two"), (), factory="m:f", classes={"b": "BertModel"})
    unknown = Model("unknown", "", None, None, {}, {}, (), (), factory="m:f", closed_form=False, reason="ADR-3")
    assert [*models.values()] == [
        replace(
            plain,
            table_key=key("plain"),
            keys={"width": "hidden_size"},
            ignored=("name",),
            checkpoint="model.safetensors",
            tokenizer="vocab.txt",
            adapter="adapter.json",
            build=Build(9, 1_000_000_000, "cpu"),
            passes_already_over=True,
        ),
        replace(inline, table_key=key("inline"), inline={"model_type": "bert"}),
        replace(
            made,
            table_key=key("made"),
            tied={"out.weight": "bert.embeddings.word_embeddings.weight"},
            without=("pooler",),
            frozen=("bert.encoder.layer[:6]",),
            extra=(Extra("top.out", "linear", ("hidden_size", 2), "head.top", {"bias": False}),),
        ),
        replace(two, table_key=key("two"), backbones={"a": "a.json", "b": "b.json"}),
        replace(unknown, table_key=key("unknown"), components={"my.head": ("out",), "rest": ("a", "b")}),
    ]
    assert {name: [each.component for each in limits(name)] for name in models} == {
        "plain": ["total"],
        "inline": ["total"],
        "made": ["total"],
        "two": ["total"],
        "unknown": [],
    }


def test_models_of_one_pattern_have_one_table_and_one_limit(pyproject: Path) -> None:
    for stem in ("large", "small"):
        (pyproject.parent / f"{stem}.json").write_text("{}")
    lines = ['[tool.bertsize.models."bert-{stem}"]', 'config = "*.json"', "budget.total = 1"]
    lines += ["[tool.bertsize.models.alone]", 'config = "large.json"', "budget = { total = 2, pooler = 0 }"]
    settings = load(write(pyproject, "\n".join(lines)))
    pattern, alone = (("tool", "bertsize", "models", name) for name in ("bert-{stem}", "alone"))
    assert settings.names == ("bert-large", "bert-small", "alone")
    assert settings.declared_by(pattern) == ["bert-large", "bert-small"]
    assert settings.declared_by(alone) == ["alone"]
    assert settings.patterns == {"bert-large": "bert-{stem}", "bert-small": "bert-{stem}"}
    keys = [(*pattern, "budget", "total"), (*alone, "budget", "total"), (*alone, "budget", "pooler")]
    assert {key: limit.maximum for key, limit in settings.limits.items()} == dict(zip(keys, (1, 2, 0), strict=True))


def test_what_a_table_says_of_all_models_is_known(pyproject: Path) -> None:
    said = """
        [tool.bertsize]
        closed_forms = ["sizes/forms.toml"]
        hub = { "a/b" = "c.json" }
        lock = { file = "bertsize.lock", strict = true }
        removed = { old = "ADR-14" }
        transformers = "4.57"
        """
    settings = load(write(pyproject, f"{said}[tool.bertsize.models.e]\nconfig = 'c'\nbudget = 'report-only'\n"))
    assert (settings.closed_forms, settings.hub) == (("sizes/forms.toml",), {"a/b": "c.json"})
    assert (settings.lock, settings.removed) == (LockFile("bertsize.lock", strict=True), {"old": "ADR-14"})
    assert (settings.transformers, settings.interpreter) == ("4.57", None)


def test_limits_of_a_marker_stand_at_no_key_of_the_table(pyproject: Path) -> None:
    marked = Model("m", "c", None, None, {}, {}, limits_from({"total": 1}, file="test_size.py"), ())
    assert Settings(pyproject, "", {"m": marked}).limits == {}


def test_settings_of_another_table_that_mean_the_same_are_equal(pyproject: Path) -> None:
    assert Settings(pyproject, "", {}, {"models": {}}) == Settings(pyproject, "", {}, {})
    assert Settings(pyproject, "", {}).real_root == pyproject.parent.resolve()


def test_the_table_has_one_hash_however_it_is_laid_out(pyproject: Path) -> None:
    inner = '"budget": {"total": 1}, "config": "c", "overrides": {"since": "2026-11-21"}'
    expected = hashlib.sha256(f'{{"models": {{"e": {{{inner}}}}}}}'.encode()).hexdigest()
    header, rest = "[tool.bertsize.models.e]\n", "overrides.since = 2026-11-21\n"
    for lines in ('config = "c"\nbudget.total = 1\n', 'budget = { total = 1 }  # enough\nconfig = "c"\n'):
        assert load(write(pyproject, f"{header}{lines}{rest}")).table_sha256 == expected
    other = load(write(pyproject, f'{header}config = "c"\nbudget.total = 2\n{rest}'))
    assert other.table_sha256 != expected


def test_a_model_can_be_held_to_its_budget_alone(pyproject: Path) -> None:
    lines = ('config = "config.json"', "budget.total = 1")
    assert model(pyproject, *lines).closed_form is True
    assert model(pyproject, *lines, "closed_form = false").closed_form is False


@pytest.mark.parametrize(
    ("lines", "name", "limits"),
    [
        (["[tool.bertsize]", 'models.encoder = { config = "c", budget = { total = 1 } }'], "encoder", 1),
        (["[tool.bertsize.models]", 'encoder.config = "c"', "encoder.budget.total = 1"], "encoder", 1),
        (['tool.bertsize.models.encoder.config = "c"', "tool.bertsize.models.encoder.budget.total = 1"], "encoder", 1),
        (
            ["[tool.bertsize.models.encoder.budget]", "total = 1", "[tool.bertsize.models.encoder]", 'config = "c"'],
            "encoder",
            1,
        ),
        (['[tool.bertsize.models."v1.5"]', 'config = "c"', "budget.total = 1", "budget.pooler = 0"], "v1.5", 2),
    ],
    ids=["inline", "dotted", "no header", "budget first", "quoted name"],
)
def test_any_layout_that_toml_has_will_do(pyproject: Path, lines: list[str], name: str, limits: int) -> None:
    (said,) = load(write(pyproject, "\n".join(lines))).models.values()
    assert (said.name, said.config, len(said.limits)) == (name, "c", limits)


@pytest.mark.parametrize(
    "name",
    ["encoder", "bert-base_v1.5+fr@2", "e", "x" * 99, "x" * 100, "é", "模型"],
    ids=["word", "signs", "letter", "99", "100", "é", "Chinese"],
)
def test_a_models_name_is_a_test_id(pyproject: Path, name: str) -> None:
    settings = load(write(pyproject, f'[tool.bertsize.models."{name}"]\nconfig = "c"\nbudget.total = 1\n'))
    assert settings.names == (name,)


@pytest.mark.parametrize(
    "name", ["", "a b", "a::b", "a/b", "a[b]", "-a", ".a", "x" * 101], ids=lambda name: name[:4] or "empty"
)
def test_a_name_that_is_no_test_id_is_refused(pyproject: Path, name: str) -> None:
    write(pyproject, f'[project]\n[tool.bertsize.models."{name}"]\nconfig = "c"\nbudget.total = 1\n')
    shown = name if name == "-a" else json.dumps(name).replace("::", r":\x3a")
    assert mistakes(pyproject) == at(2, shown, NAME)


# the budget


@pytest.mark.parametrize(
    ("line", "component", "minimum", "maximum", "cell"),
    [
        ('budget.total = "103M"', "total", None, 103_000_000, "103M"),
        ("budget.total = 102_290_312", "total", None, 102_290_312, "102,290,312"),  # SOURCES D
        ('budget.total = "102_290_312"', "total", None, 102_290_312, "102_290_312"),
        ("budget.pooler = 0", "pooler", None, 0, "0"),
        ("budget.trainable = '1.2B'", "trainable", None, 1_200_000_000, "1.2B"),
        ('budget.embeddings = { max = "17M" }', "embeddings", None, 17_000_000, "17M"),
        ('budget.head = { min = "1M" }', "head", 1_000_000, None, "≥1M"),
        ("budget.head = { min = 0 }", "head", 0, None, "≥0"),
        (
            'budget."encoder.attention" = { max = "29M", min = "28M" }',
            "encoder.attention",
            28_000_000,
            29_000_000,
            "28M-29M",
        ),
        ("budget.encoder = { min = 5000, max = 7000 }", "encoder", 5_000, 7_000, "5,000-7,000"),
        ('budget.encoder = { min = "1K", max = 1000 }', "encoder", 1_000, 1_000, "=1,000"),
        ("budget.pooler = { exact = 0 }", "pooler", 0, 0, "=0"),
        # SOURCES C: the embeddings of bert-base-uncased
        ("budget.embeddings = { exact = 23_837_184 }", "embeddings", 23_837_184, 23_837_184, "=23,837,184"),
        ('budget.total = { exact = "103M" }', "total", 103_000_000, 103_000_000, "=103M"),
        ('budget.total.max = "103M"', "total", None, 103_000_000, "103M"),
    ],
)
def test_a_limit_is_the_most_that_passes_or_a_range_or_exact(
    pyproject: Path, line: str, component: str, minimum: int | None, maximum: int | None, cell: str
) -> None:
    found = limit(pyproject, line)
    assert (found.component, found.minimum, found.maximum, str(found)) == (component, minimum, maximum, cell)
    assert found.is_exact == cell.startswith("=")
    assert found.table_key == (*MODEL, "budget", component)


@pytest.mark.parametrize(("low", "high"), [(999, 1_000), (1_000, 1_000)])
def test_a_minimum_up_to_the_maximum_is_a_range(pyproject: Path, low: int, high: int) -> None:
    found = limit(pyproject, f"budget.total = {{ min = {low}, max = {high} }}")
    assert (found.minimum, found.maximum, found.is_exact) == (low, high, low == high)


def test_a_minimum_above_the_maximum_is_refused(pyproject: Path) -> None:
    assert mistakes_in(pyproject, 'budget.total = { min = 1_001, max = "1K" }') == at(
        3, "encoder.budget.total", "min 1,001 is more than max 1,000: no model can pass"
    )


@pytest.mark.parametrize(
    ("part", "whole"), [("encoder.attention", "encoder"), ("encoder.attention", "total"), ("head", "total")]
)
def test_a_part_that_has_to_be_larger_than_its_whole_may_be_is_refused(pyproject: Path, part: str, whole: str) -> None:
    budget = (f'budget."{part}" = {{ min = 1_001 }}', f"budget.{whole} = 1_000")
    assert mistakes_in(pyproject, *budget) == at(
        3,
        "encoder.budget",
        f'"{part}" is to be at least 1,001, and "{whole}", which contains it, at most 1,000: no model can pass',
    )


@pytest.mark.parametrize(
    "budget",
    [
        ['budget."encoder.attention" = { min = 1_000 }', "budget.encoder = 1_000"],
        ["budget.encoder = { min = 1_000 }", "budget.total = 1_000"],
        ["budget.encoder = { min = 1_001 }", 'budget."encoder.attention" = 1_000'],
        ["budget.encoder = { min = 1_001 }", "budget.head = 1_000"],
        ["budget.total = { min = 1_001 }", "budget.encoder = 1_000"],
    ],
    ids=["all of its component", "all of the model", "larger than a part", "larger than another", "the total"],
)
def test_a_part_may_be_as_large_as_its_whole_and_a_whole_larger_than_a_part(pyproject: Path, budget: list[str]) -> None:
    assert len(model(pyproject, 'config = "config.json"', *budget).limits) == 2


@pytest.mark.parametrize("beside", ["max = 1", "min = 1", "min = 1, max = 1"])
def test_exact_stands_alone(pyproject: Path, beside: str) -> None:
    assert mistakes_in(pyproject, f"budget.total = {{ exact = 1, {beside} }}") == at(
        3, "encoder.budget.total", "exact stands alone: remove min and max"
    )


@pytest.mark.parametrize(
    ("line", "bounds"),
    [
        ('budget.total = "29M"', (None, "29M")),
        ('budget.total = { max = "29M" }', (None, "29M")),
        ("budget.total = { min = 28 }", (28, None)),
        ('budget.total = { max = "29M", min = 28 }', (28, "29M")),
        ('budget.total = { exact = "29M" }', ("29M", "29M")),
    ],
)
def test_the_bounds_of_a_limit_are_kept_as_they_are_written(
    pyproject: Path, line: str, bounds: tuple[object, object]
) -> None:
    assert limit(pyproject, line).bounds == bounds


def test_limits_keep_the_order_in_which_they_are_written(pyproject: Path) -> None:
    lines = ("budget.total = 3", "budget.pooler = 1", 'budget."encoder.norm" = 2')
    said = model(pyproject, 'config = "config.json"', *lines)
    assert [(each.component, each.maximum) for each in said.limits] == [
        ("total", 3),
        ("pooler", 1),
        ("encoder.norm", 2),
    ]


def test_a_report_only_model_has_no_limit(pyproject: Path) -> None:
    assert model(pyproject, 'config = "config.json"', 'budget = "report-only"').limits == ()


def test_a_model_without_a_budget_is_refused(pyproject: Path) -> None:
    assert mistakes_in(pyproject) == at(1, "encoder.budget", NO_BUDGET)


def test_a_model_without_a_config_is_refused(pyproject: Path) -> None:
    write(pyproject, "[project]\n\n[tool.bertsize.models.encoder]\nbudget.total = 1\n")
    assert mistakes(pyproject) == at(3, "encoder.config", NO_CONFIG)


@pytest.mark.parametrize("line", ["budget = {}", "[tool.bertsize.models.encoder.budget]"])
def test_an_empty_budget_is_refused(pyproject: Path, line: str) -> None:
    assert mistakes_in(pyproject, line) == at(
        3,
        "encoder.budget",
        'an empty budget holds nothing: write budget.total = "110M", or budget = "report-only"',
    )


def test_an_empty_limit_is_refused(pyproject: Path) -> None:
    assert mistakes_in(pyproject, "budget.total = {}") == at(
        3, "encoder.budget.total", 'an empty limit holds nothing: write a count, or { max = "29M", min = "28M" }'
    )


@pytest.mark.parametrize(("written", "shown"), [('"110M"', '"110M"'), ("110_000_000", "110000000")])
def test_a_count_that_is_the_whole_budget_belongs_to_the_total(pyproject: Path, written: str, shown: str) -> None:
    assert mistakes_in(pyproject, f"budget = {written}") == at(
        3, "encoder.budget", f'{shown} is not a budget: write budget.total = {shown}, or budget = "report-only"'
    )


@pytest.mark.parametrize(
    ("written", "shown"), [('"report_only"', '"report_only"'), ('["a"]', '["a"]'), ("true", "true"), ("1.5", "1.5")]
)
def test_what_is_no_count_is_not_proposed_as_one(pyproject: Path, written: str, shown: str) -> None:
    assert mistakes_in(pyproject, f"budget = {written}") == at(
        3, "encoder.budget", f'{shown} is not a budget: write budget.total = "110M", or budget = "report-only"'
    )


NO_COUNTS = {
    "float": ("1.5", f"1.5{NO_COUNT}"),
    "whole float": ("110e6", f"110000000.0{NO_COUNT}"),
    "infinity": ("inf", f"inf{NO_COUNT}"),
    "list": ("[1]", f"[1]{NO_COUNT}"),
    "negative": ("-1", "-1 is negative: a count of parameters never is"),
    "unit of bytes": ('"110MB"', f"'110MB'{NO_COUNT}; did you mean '110M'?"),
    "space": ('"110 m"', f"'110 m'{NO_COUNT}; did you mean '110M'?"),
    "empty": ('""', f"''{NO_COUNT}"),
    "fraction": ('"1.2345678M"', "'1.2345678M' is not a whole number of parameters: 1234567.8"),
    "too large": (
        "1_000_000_000_000_001",
        "1000000000000001 is more than any model has: the largest count is 1,000,000,000,000,000",
    ),
}


@pytest.mark.parametrize(("written", "sentence"), NO_COUNTS.values(), ids=NO_COUNTS)
@pytest.mark.parametrize("bound", ["min", "max", "exact"])
def test_a_bound_that_is_no_count_is_refused(pyproject: Path, bound: str, written: str, sentence: str) -> None:
    found = mistakes_in(pyproject, f"budget.total = {{ {bound} = {written} }}")
    assert found == at(3, f"encoder.budget.total.{bound}", sentence)


@pytest.mark.parametrize(("written", "sentence"), NO_COUNTS.values(), ids=NO_COUNTS)
def test_a_limit_that_is_no_count_is_named_by_the_key_that_the_author_wrote(
    pyproject: Path, written: str, sentence: str
) -> None:
    assert mistakes_in(pyproject, f"budget.total = {written}") == at(3, "encoder.budget.total", sentence)


@pytest.mark.parametrize(
    ("line", "component"),
    [
        ("budget.encoder.attention = 1", "encoder.attention"),
        ('budget.encoder.attention = { max = "29M" }', "encoder.attention"),
        ("budget.encoder = { attention = 1 }", "encoder.attention"),
        ("budget.encoder = { max = 1, attention = 1 }", "encoder.attention"),
        ("budget.embeddings.norm.max = 1", "embeddings.norm"),
        ("budget.head.decoder = 1", "head.decoder"),
    ],
)
def test_a_dotted_component_has_to_be_quoted(pyproject: Path, line: str, component: str) -> None:
    assert mistakes_in(pyproject, line) == at(
        3,
        f"encoder.budget.{component}",
        f'unknown key; a limit has min, max or exact. To limit the component, write budget."{component}" = …',
    )


@pytest.mark.parametrize(("key", "meant"), [("maxx", "max"), ("mim", "min"), ("exat", "exact"), ("Max", "max")])
def test_a_misspelt_bound_is_recognised(pyproject: Path, key: str, meant: str) -> None:
    assert mistakes_in(pyproject, f"budget.total = {{ {key} = 1 }}") == at(
        3, f"encoder.budget.total.{key}", f"unknown key; did you mean '{meant}'?"
    )


# keys that do not go together


def test_options_of_a_factory_whose_class_has_no_closed_form_are_given_to_nobody(pyproject: Path) -> None:
    lines = ['factory = "m:f"', "closed_form = false", "options = { add_pooling_layer = true }", "budget.total = 1"]
    assert mistakes_in(pyproject, *lines) == at(
        5, "encoder.options", "a factory is not given them, and closed_form = false compares nothing with them"
    )


def test_of_several_backbones_each_has_its_own_config(pyproject: Path) -> None:
    lines = ['factory = "m:f"', 'backbone = { a = "a.json", b = "b.json" }', "budget.total = 1"]
    assert mistakes_in(pyproject, *lines) == at(
        2, "encoder.config", "each backbone has a config of its own: remove config"
    )


def test_a_class_is_that_of_a_backbone_which_there_is(pyproject: Path) -> None:
    lines = ['factory = "m:f"', 'architecture = { b = "BertModel" }', 'backbone = "a"', "budget.total = 1"]
    assert mistakes_in(pyproject, *lines) == at(
        4, "encoder.architecture", '"b" is no backbone of this model: name those of backbone'
    )


# unknown keys and wrong types


@pytest.mark.parametrize(
    ("key", "sentence"),
    [
        ("architecure", "unknown key; did you mean 'architecture'?"),
        ("override", "unknown key; did you mean 'overrides'?"),
        ("Config", "unknown key; did you mean 'config'?"),
        ("budgets", "unknown key; did you mean 'budget'?"),
        ("foo", KEYS),
    ],
)
def test_an_unknown_key_of_a_model_is_refused_with_what_was_meant(pyproject: Path, key: str, sentence: str) -> None:
    found = mistakes_in(pyproject, "budget.total = 1", f'{key} = "x"')
    assert found == at(4, f"encoder.{key}", sentence)


@pytest.mark.parametrize(
    ("line", "key", "sentence"),
    [
        ("family = 3", "family", "3 is not a string"),
        ('architecture = ["BertModel"]', "architecture", '["BertModel"] is not a string'),
        ('architecture = ""', "architecture", "an empty string says nothing"),
        ("overrides = 3", "overrides", "3 is not a table"),
        ('options = "x"', "options", '"x" is not a table'),
        ("options = { add_pooling_layer = 0 }", "options.add_pooling_layer", "0 is not true or false"),
        ('options.add_pooling_layer = "no"', "options.add_pooling_layer", '"no" is not true or false'),
    ],
)
def test_a_value_of_another_type_is_refused(pyproject: Path, line: str, key: str, sentence: str) -> None:
    assert mistakes_in(pyproject, "budget.total = 1", line) == at(4, f"encoder.{key}", sentence)


@pytest.mark.parametrize("key", ["family", "architecture"])
@pytest.mark.parametrize("name", ["Bert Model", "transformers.BertModel", "3", "é", "x" * 101])
def test_families_and_architectures_are_names(pyproject: Path, key: str, name: str) -> None:
    found = mistakes_in(pyproject, "budget.total = 1", f'{key} = "{name}"')
    assert found == at(4, f"encoder.{key}", f'"{name}" is no name: letters, digits and _ -, at most 100 of them')


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("3", "3 is not a string, nor a table"),
        ('""', "an empty string says nothing"),
        ("{}", "an empty table says nothing"),
    ],
)
def test_a_config_is_named_by_a_string(pyproject: Path, value: str, sentence: str) -> None:
    write(pyproject, f"[tool.bertsize.models.encoder]\nbudget.total = 1\nconfig = {value}\n")
    assert mistakes(pyproject) == at(3, "encoder.config", sentence)


def test_a_model_is_a_table(pyproject: Path) -> None:
    write(pyproject, '[project]\n[tool.bertsize.models]\nencoder = "config.json"\n')
    assert mistakes(pyproject) == at(3, "encoder", '"config.json" is not a table')


def test_models_are_a_table_not_an_array_of_tables(pyproject: Path) -> None:
    write(pyproject, '[project]\nname = "x"\n[[tool.bertsize.models]]\nconfig = "c"\n')
    assert mistakes(pyproject) == 'pyproject.toml:3: tool.bertsize.models: [{"config": "c"}] is not a table'


def test_all_mistakes_are_told_at_once_in_the_order_of_the_file(pyproject: Path) -> None:
    write(
        pyproject,
        """
        [project]
        name = "x"

        [tool.bertsize.models.encoder]
        config = ""
        architecure = "BertModel"
        options.add_pooling_layer = 1
        budget.encoder.attention = 1
        budget.pooler = { min = 2, max = 1 }
        budget.head = { exact = "1 M" }

        [tool.bertsize.models.tagger]
        family = 3
        foo = 1

        [tool.bertsize.models."a b"]
        config = "c"
        budget = "report-only"
        """,
    )
    assert mistakes(pyproject).splitlines() == [
        "11 mistakes in [tool.bertsize]",
        at(5, "encoder.config", "an empty string says nothing"),
        at(6, "encoder.architecure", "unknown key; did you mean 'architecture'?"),
        at(7, "encoder.options.add_pooling_layer", "1 is not true or false"),
        at(
            8,
            "encoder.budget.encoder.attention",
            'unknown key; a limit has min, max or exact. To limit the component, write budget."encoder.attention" = …',
        ),
        at(9, "encoder.budget.pooler", "min 2 is more than max 1: no model can pass"),
        at(10, "encoder.budget.head.exact", f"'1 M'{NO_COUNT}; did you mean '1M'?"),
        at(12, "tagger.budget", NO_BUDGET),
        at(12, "tagger.config", NO_CONFIG),
        at(13, "tagger.family", "3 is not a string"),
        at(14, "tagger.foo", KEYS),
        at(16, '"a b"', NAME),
    ]


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        (["[tool.bertsize.models]", 'encoder.config = "c"', 'encoder.family = "bert"'], 3),
        (["[tool.bertsize]", 'models.encoder.config = "c"', 'models.encoder.family = "bert"'], 3),
        (["[tool.bertsize.models]", 'encoder = { config = "c" }'], 3),
        (["[tool.bertsize.models.encoder.overrides]", "[tool.bertsize.models.encoder]", 'config = "c"'], 3),
    ],
    ids=["dotted", "dotted twice", "inline", "sub-table first"],
)
def test_a_missing_key_is_placed_where_its_table_begins_in_any_layout(
    pyproject: Path, lines: list[str], line: int
) -> None:
    write(pyproject, "\n".join(["[project]", *lines]))
    assert mistakes(pyproject) == at(line, "encoder.budget", NO_BUDGET)


# no table at all


@pytest.mark.parametrize("text", ["", '[project]\nname = "x"\n', "[tool.ruff]\nline-length = 120\n", "tool = 1\n"])
def test_without_a_table_nothing_would_be_checked(pyproject: Path, text: str) -> None:
    assert mistakes(write(pyproject, text)) == f"{pyproject}: {NOTHING}{EXAMPLE}"


@pytest.mark.parametrize(
    "text",
    [
        "[tool.bertsize]\n",
        "[tool.bertsize.models]\n",
        "[tool.bertsize]\nmodels = {}\n",
        "[tool]\nbertsize = 3\n",
        "[[tool.bertsize]]\nmodels = 1\n",
        '[tool.bertsize]\npython = ".venv/bin/python"\n',
        '[tool.bertsize]\nhub = { "a/b" = "c.json" }\n[tool.bertsize.models]\n',
    ],
    ids=["empty", "empty models", "empty inline models", "number", "array of tables", "python alone", "hub alone"],
)
def test_with_an_empty_table_nothing_would_be_checked(pyproject: Path, text: str) -> None:
    expected = f"{pyproject}: [tool.bertsize] declares no model, so nothing would be checked; {EXAMPLE}"
    assert mistakes(write(pyproject, text)) == expected


@pytest.mark.parametrize("name", ["bert-size", "bert_size", "BertSize", "bertsizes", "pytest-bertsize", "bert_budget"])
def test_a_table_of_nearly_the_right_name_is_recognised(pyproject: Path, name: str) -> None:
    write(pyproject, f'[tool.{name}.models.encoder]\nconfig = "c"\nbudget.total = 1\n')
    expected = f"{pyproject}: {NOTHING}did you mean [tool.bertsize] where it says [tool.{name}]?"
    assert mistakes(pyproject) == expected


@pytest.mark.parametrize(
    ("text", "misspelt"), [("", False), ("[tool.bertsize]\n", False), ("[tool.bert-size]\n", True)]
)
def test_whether_a_table_was_meant_is_known(pyproject: Path, text: str, *, misspelt: bool) -> None:
    with pytest.raises(NothingDeclared) as nothing:
        load(write(pyproject, text))
    assert nothing.value.misspelt is misspelt


@pytest.mark.parametrize("name", ["bertsize", "tools.bertsize", "tol.bertsize", "brtsz", "Tool.Bertsize"])
def test_a_table_of_nearly_the_right_name_is_recognised_outside_of_tool(pyproject: Path, name: str) -> None:
    write(pyproject, f'[{name}.models.encoder]\nconfig = "c"\nbudget.total = 1\n')
    expected = f"{pyproject}: {NOTHING}did you mean [tool.bertsize] where it says [{name}]?"
    assert mistakes(pyproject) == expected


def test_models_in_the_singular_are_recognised(pyproject: Path) -> None:
    write(pyproject, '[project]\n[tool.bertsize.model.encoder]\nconfig = "c"\nbudget.total = 1\n')
    meant = "did you mean [tool.bertsize.models] where it says [tool.bertsize.model]?"
    assert mistakes(pyproject).splitlines() == [
        "2 mistakes in [tool.bertsize]",
        "pyproject.toml:2: tool.bertsize.model: unknown key; did you mean 'models'?",
        f"pyproject.toml:2: tool.bertsize.models: no model is declared; {meant}; {EXAMPLE}",
    ]


def test_other_keys_beside_the_models_are_refused(pyproject: Path) -> None:
    write(pyproject, '[tool.bertsize]\nstrict = true\n[tool.bertsize.models.e]\nconfig = "c"\nbudget.total = 1\n')
    assert (
        mistakes(pyproject)
        == "pyproject.toml:2: tool.bertsize.strict: unknown key; there are models, closed_forms, hub, lock, python, removed, transformers"
    )


# no file that can be read


def test_a_missing_file_declares_no_model(pyproject: Path) -> None:
    assert mistakes(pyproject) == f"{pyproject}: there is no such file, so no model is declared; {EXAMPLE}"


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    assert mistakes(tmp_path) == f"{tmp_path}: this is not a regular file"


def test_a_file_of_a_mebibyte_is_the_largest_that_is_read(pyproject: Path) -> None:
    table = '[tool.bertsize.models.encoder]\nconfig = "c"\nbudget.total = 1\n'
    write(pyproject, table + "\n" * (1024 * 1024 - len(table)))
    assert load(pyproject).names == ("encoder",)
    write(pyproject, table + "\n" * (1024 * 1024 + 1 - len(table)))
    assert mistakes(pyproject) == f"{pyproject}: the file is larger than 1,048,576 bytes"


def test_of_a_larger_file_no_more_is_read_than_tells_that_it_is(pyproject: Path) -> None:
    with write(pyproject, "").open("r+b") as stream:
        stream.truncate(64 * 1024 * 1024)
    tracemalloc.start()
    try:
        assert mistakes(pyproject) == f"{pyproject}: the file is larger than 1,048,576 bytes"
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 4 * 1024 * 1024


def test_a_byte_order_mark_is_called_by_its_name(pyproject: Path) -> None:
    pyproject.write_bytes(b"\xef\xbb\xbf[tool.bertsize]\n")
    assert (
        mistakes(pyproject) == f"{pyproject}: it begins with a byte order mark, which no TOML has; save it without one"
    )


def test_a_symlink_that_leads_nowhere_is_called_one(pyproject: Path) -> None:
    pyproject.symlink_to("gone.toml")
    assert mistakes(pyproject) == f"{pyproject}: it is a symlink that leads nowhere"


def test_a_file_that_is_not_utf_8_is_refused(pyproject: Path) -> None:
    pyproject.write_bytes('name = "é"'.encode("latin-1"))
    assert mistakes(pyproject) == (
        f"{pyproject}: cannot be read: 'utf-8' codec can't decode byte 0xe9 in position 8: invalid continuation byte"
    )


@pytest.mark.parametrize(
    ("text", "place", "what"),
    [
        ("[project]\nname = \n", ":2", "Invalid value at column 8"),
        ("[project\n", ":1", "Expected ']' at the end of a table declaration at column 9"),
        ("a = 1\na = 2\n", ":2", "Cannot overwrite a value at column 6"),
        ("a = " + "[" * 5_000, "", "TOML inline arrays/tables are nested more than the allowed N levels"),
    ],
    ids=["no value", "no bracket", "key twice", "too deep"],
)
def test_what_is_not_toml_is_refused_at_its_line(pyproject: Path, text: str, place: str, what: str) -> None:
    found = re.sub(r"allowed \d+ levels", "allowed N levels", mistakes(write(pyproject, text)))  # tomli's own limit
    assert found == f"pyproject.toml{place}: not TOML: {what}"


@pytest.mark.parametrize(("part", "dot"), [("a", "."), ("a-b", " . "), ('"a"', "\t.\t"), ("'a'", ".")])
def test_a_key_of_a_hundred_parts_is_the_longest_that_is_read(pyproject: Path, part: str, dot: str) -> None:
    pyproject.write_text(f"\n[project]\n{dot.join([part] * 100)} = 1\nb = 1\nc = 1\n")
    assert mistakes(pyproject) == f"{pyproject}: {NOTHING}{EXAMPLE}"
    pyproject.write_text(f"\n[project]\n{dot.join([part] * 101)} = 1\nb = 1\nc = 1\n")
    assert mistakes(pyproject) == "pyproject.toml:3: a key of more than 100 parts"


def test_a_number_that_python_does_not_read_is_refused(pyproject: Path) -> None:
    assert mistakes(write(pyproject, f"a = {'9' * 5_000}\n")) == (
        "pyproject.toml: not TOML: a number of thousands of digits"
    )


@pytest.mark.parametrize(
    ("said", "key"),
    [
        ("overrides.id2label = 0x{}", "overrides.id2label"),
        ("overrides = {{ id2label = {{ 0 = [1, 0x{}] }} }}", "overrides.id2label.0.1"),
        ("config.id2label = 0b{}", "config.id2label"),
        ("budget.total = 0x{}", "budget.total"),
        ("nonsense = 0o{}", "nonsense"),
    ],
)
def test_a_number_that_python_reads_and_cannot_write_is_refused_at_its_key(
    pyproject: Path, said: str, key: str
) -> None:
    """Of 0x…, whose length nothing limits; what is read is hashed, and handed to a process, as JSON."""
    write(pyproject, f"\n[tool.bertsize.models.encoder]\n{said.format('1' + '0' * 14_000)}\n")
    message = "a number of thousands of digits; write the number that is meant"
    assert mistakes(pyproject) == f"pyproject.toml:2: tool.bertsize.models.encoder.{key}: {message}"


# whether there is a table at all


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("[tool.bertsize]\n", []),
        ("[tool]\nbertsize = 3\n", []),
        ("[tool.bertsize]\nmodels = 3\n", []),
        ("[tool.bertsize.models.e]\nx = 1\n[tool.bertsize.models.f]\n", ["e", "f"]),
    ],
)
def test_a_table_right_or_wrong_has_tables_of_models(pyproject: Path, text: str, names: list[str]) -> None:
    found = tables_of_models(write(pyproject, text))
    assert found is not None
    assert [*found] == names


@pytest.mark.parametrize("text", ["", "[tool.ruff]\n", "bertsize = 3\n", 'tool = "bertsize"\n', "[tool.bertsize\n"])
def test_what_has_no_table_that_can_be_read_has_none_of_models(pyproject: Path, text: str) -> None:
    assert tables_of_models(write(pyproject, text)) is None


# without all of its models, and each by itself


PATTERN = '[tool.bertsize.models."bert-{stem}"]\nconfig = "*.json"\nbudget.total = 1\n'


def found(pattern: str) -> list[str]:
    return ["a.json", "b.json"] if pattern == "*.json" else []


def test_the_files_of_a_pattern_are_those_of_the_revision_that_is_asked_about(pyproject: Path) -> None:
    assert parse(PATTERN, pyproject, found).names == ("bert-a", "bert-b")
    with pytest.raises(SettingsError, match=r"^pyproject\.toml:2: tool\.bertsize\.models\."):
        parse(PATTERN, pyproject)


def test_a_name_that_no_pattern_fills_is_told_at_the_model(pyproject: Path) -> None:
    text = '[tool.bertsize.models."bert-{stem}"]\nconfig = "a.json"\nbudget.total = 1\n'
    with pytest.raises(
        SettingsError, match=r'^pyproject\.toml:1: tool\.bertsize\.models\."bert-\{stem\}": the name has'
    ):
        parse(text, pyproject, found)


@pytest.mark.parametrize("models", ["", "[tool.bertsize.models]\n", "[tool.bertsize.models.e]\nconfg = 3\n"])
def test_what_a_table_says_of_all_models_can_be_read_before_it_declares_one(pyproject: Path, models: str) -> None:
    settings = load_without_models(write(pyproject, f'[tool.bertsize]\nhub = {{ "a/b" = "c.json" }}\n{models}'))
    assert (settings.hub, settings.models, settings.table) == ({"a/b": "c.json"}, {}, {"hub": {"a/b": "c.json"}})
    assert (settings.path, settings.line(("tool", "bertsize", "hub"))) == (pyproject, 2)


@pytest.mark.parametrize("text", ["", "tool = 3\n", "[tool]\nbertsize = 3\n", "[project]\n"])
def test_a_file_without_a_table_says_nothing_of_all_models(pyproject: Path, text: str) -> None:
    settings = load_without_models(write(pyproject, text))
    assert (settings.hub, settings.models, settings.table) == ({}, {}, {})


def test_a_mistake_in_what_it_says_of_all_models_is_told(pyproject: Path) -> None:
    with pytest.raises(SettingsError, match=r"^pyproject\.toml:2: tool\.bertsize\.lock: "):
        load_without_models(write(pyproject, "[tool.bertsize]\nlock = 3\n"))


@pytest.mark.parametrize("read", [load_without_models, lambda path: parse_apart(path.read_text(), path, found)])
def test_what_is_no_toml_is_told_with_its_file(pyproject: Path, read: Callable[[Path], object]) -> None:
    with pytest.raises(SettingsError, match=r"^pyproject\.toml:1: not TOML: "):
        read(write(pyproject, "[tool.bertsize\n"))


APART = """
[tool.bertsize]
hub = { "a/b" = "c.json" }
[tool.bertsize.models.good]
config = "c.json"
budget.total = 1
[tool.bertsize.models.bad]
confg = "c.json"
budget.totl = { mx = 1 }
[tool.bertsize.models.loose]
config = "c.json"
[tool.bertsize.models]
number = 3
"""


def test_each_model_can_be_read_by_itself(pyproject: Path) -> None:
    apart = parse_apart(APART + PATTERN, pyproject, found)
    assert [*apart.models] == ["good", "bert-a", "bert-b"]
    assert apart.models["good"].limits[0].maximum == 1
    assert sorted(apart.wrong) == ["bad", "loose", "number"]
    assert apart.wrong["bad"].startswith("3 mistakes in [tool.bertsize] pyproject.toml:7: tool.bertsize.models.bad")
    assert apart.wrong["loose"] == f"pyproject.toml:10: tool.bertsize.models.loose.budget: {NO_BUDGET}"
    assert apart.table["hub"] == {"a/b": "c.json"}


def test_what_a_model_counts_can_be_read_without_its_budget(pyproject: Path) -> None:
    apart = parse_apart(APART, pyproject, found, limits=False)
    assert {name: model.limits for name, model in apart.models.items()} == {"good": (), "loose": ()}
    assert sorted(apart.wrong) == ["bad", "number"]


@pytest.mark.parametrize("text", ["", "[tool.bertsize]\nmodels = 3\n", "[tool.bertsize\n"])
def test_without_tables_of_models_there_is_nothing_to_tell_apart(pyproject: Path, text: str) -> None:
    with pytest.raises(SettingsError, match=r"^[^ ]*pyproject\.toml:"):
        parse_apart(text, pyproject, found)


# limits from elsewhere: a marker's keywords


def test_limits_can_be_read_from_a_markers_keywords() -> None:
    written = MappingProxyType({"pooler": 0, "head": "1M", "encoder": {"min": 1, "max": 2}})
    assert limits_from(written, file="tests/test_size.py", line=7) == (
        Limit("pooler", None, 0, 0, "tests/test_size.py", 7),
        Limit("head", None, 1_000_000, "1M", "tests/test_size.py", 7),
        Limit("encoder", 1, 2, {"min": 1, "max": 2}, "tests/test_size.py", 7),
    )


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (1.5, f"1.5{NO_COUNT}"),
        (True, f"True{NO_COUNT}"),
        (None, f"None{NO_COUNT}"),
        ({"max": None}, f"None{NO_COUNT}"),
        ("1MB", f"'1MB'{NO_COUNT}; did you mean '1M'?"),
        (-1, "-1 is negative: a count of parameters never is"),
        ({}, 'an empty limit holds nothing: write a count, or { max = "29M", min = "28M" }'),
        ({"exact": 1, "max": 1}, "exact stands alone: remove min and max"),
        ({"min": 2, "max": 1}, "min 2 is more than max 1: no model can pass"),
    ],
    ids=repr,
)
def test_a_bad_limit_of_a_marker_is_told_with_file_line_and_component(value: object, sentence: str) -> None:
    with pytest.raises(SettingsError) as error:
        limits_from({"total": 1, "pooler": value}, file="tests/test_size.py", line=7)
    assert str(error.value) == f"tests/test_size.py:7: pooler: {sentence}"


@pytest.mark.parametrize(
    ("component", "cannot"),
    [("flops", "limit FLOPs"), ("growth", "limit growth"), ("already_over", "let anything pass")],
)
def test_what_only_the_table_may_say_is_refused_of_a_marker(component: str, cannot: str) -> None:
    with pytest.raises(SettingsError) as error:
        limits_from({component: 1}, file="test_size.py", line=7)
    says = f"a marker cannot {cannot}: write budget.{component} in the table"
    assert str(error.value) == f"test_size.py:7: {component}: {says}"


def test_a_marker_may_limit_bytes_and_what_training_keeps() -> None:
    marked = {"bytes": {"max": "1MB", "dtype": "int8"}, "training_bytes": "4MB"}
    size, training = limits_from(marked, file="test_size.py", line=7)
    assert (size.maximum, size.measure) == (1_000_000, AsBytes("int8", "unique"))
    assert (training.maximum, training.measure) == (4_000_000, Training(None, None))


@pytest.mark.parametrize(
    ("component", "limit", "says"),
    [
        ("pooler", {"maxx": 1}, "unknown key; did you mean 'max'?"),
        ("bytes", {"dtypee": "int8"}, "unknown key; did you mean 'dtype'?"),
        ("total", {"head": 1}, "unknown key; a limit has min, max or exact"),
        ("byte", "4kk", f"'4kk'{NO_COUNT}; or did you mean 'bytes'?"),
    ],
)
def test_a_markers_mistake_is_told_with_what_was_meant(component: str, limit: object, says: str) -> None:
    with pytest.raises(SettingsError) as error:
        limits_from({component: limit}, file="tests/test_size.py", line=7)
    assert str(error.value) == f"tests/test_size.py:7: {component}: {says}"


@pytest.mark.parametrize("text", ["# " + "x" * 1_000_000, f'note = "{"-" * 1_000_000}"', "# " + "a." * 400_000])
def test_a_megabyte_on_one_line_is_read(pyproject: Path, text: str) -> None:
    """Where the time for it grew with the square of its length, this test would take half an hour."""
    write(pyproject, f"{text}\n[tool.bertsize.models.a]\nconfig = 'c'\nbudget.total = 1\n")
    if "a.a" in text:
        assert mistakes(pyproject) == "pyproject.toml:1: a key of more than 100 parts"
    else:
        assert load(pyproject).names == ("a",)


@pytest.mark.parametrize(
    ("budget", "whole"),
    [
        ('{ "encoder.attention" = { min = 10 }, encoder = 5, total = 5 }', "encoder"),
        ('{ "encoder.attention" = { min = 10 }, total = 5 }', "total"),
        ("{ trainable = { min = 10 }, total = 5 }", "total"),
        ('{ "encoder.attention" = { exact = 10 }, encoder = { max = 9, min = 1 } }', "encoder"),
    ],
)
def test_a_part_that_has_to_be_larger_than_its_whole_is_refused(pyproject: Path, budget: str, whole: str) -> None:
    write(pyproject, f'[project]\n[tool.bertsize.models.encoder]\nconfig = "c"\nbudget = {budget}\n')
    found = mistakes(pyproject)
    assert f'to be at least 10, and "{whole}", which contains it, at most ' in found
    assert found.endswith("no model can pass")


@pytest.mark.parametrize("budget", ['{ "encoder.attention" = { min = 5 }, encoder = 5, total = 5 }', "{ total = 5 }"])
def test_a_part_as_large_as_its_whole_is_none_of_our_business(pyproject: Path, budget: str) -> None:
    write(pyproject, f'[tool.bertsize.models.encoder]\nconfig = "c"\nbudget = {budget}\n')
    assert load(pyproject).names == ("encoder",)
