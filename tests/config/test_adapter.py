"""PEFT's ``adapter_config.json`` and the table that says the same: what counts, what does not, what is a mistake."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import peft
import pytest
from peft.utils.constants import TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING

from pytest_bertsize.builder.child.lora import adapt
from pytest_bertsize.closed_forms import FAMILIES
from pytest_bertsize.config.adapter import (
    COUNTED,
    INERT,
    KNOWN,
    REFUSED,
    WITHOUT_CLOSED_FORM,
    Adapter,
    in_file,
    parse,
)
from pytest_bertsize.config.peft_methods import TARGETS
from pytest_bertsize.config.source import read_file as read
from pytest_bertsize.findings import Finding, Unusable
from tests.closed_forms.test_lora import built_module
from tests.support.family_configs import typical

PLAIN: dict[str, Any] = {"r": 8, "target_modules": ["query", "value"]}


def findings(closed_form: bool = True, family: str = "", **data: Any) -> tuple[Finding, ...]:  # noqa: FBT001, FBT002
    with pytest.raises(Unusable) as raised:
        parse({**PLAIN, **data}, family=family, closed_form=closed_form)
    return raised.value.findings


def mistake(**data: Any) -> tuple[str, str, str]:
    (finding,) = findings(**data)
    return finding.kind, finding.message, finding.fix


# what it says


def test_a_table_needs_no_more_than_its_targets() -> None:
    assert parse({"target_modules": ["query"]}) == Adapter(8, ("query",))


def test_everything_that_counts_is_read() -> None:
    assert parse(
        {
            "r": 4,
            "target_modules": r".*\.(query|value)",
            "exclude_modules": ["crossattention"],
            "modules_to_save": ["classifier"],
            "bias": "lora_only",
            "use_dora": True,
            "rank_pattern": {"query": 16},
            "task_type": "SEQ_CLS",
        }
    ) == Adapter(
        4,
        r".*\.(query|value)",
        ("crossattention",),
        ("classifier",),
        "lora_only",
        use_dora=True,
        rank_pattern={"query": 16},
        task_type="SEQ_CLS",
    )


def test_all_linear_is_read_in_any_case() -> None:
    assert parse({"target_modules": "All-Linear"}).target_modules == "all-linear"


def test_the_file_that_peft_saves_is_read_as_it_stands(tmp_path: Path) -> None:
    said = {"r": 4, "target_modules": ["query"], "task_type": "SEQ_CLS", "rank_pattern": {"query": 3}, "lora_alpha": 99}
    trained: Any = adapt(built_module(typical("bert", "BertModel")[0]), said)
    trained.peft_config["default"].inference_mode = True
    trained.peft_config["default"].save_pretrained(str(tmp_path))
    config = read(tmp_path, "adapter_config.json")
    assert set(config.data) >= {"auto_mapping", "peft_version", "inference_mode", "lora_alpha", "megatron_core"}
    assert parse(config.data, place=in_file(config)) == Adapter(
        4, ("query",), modules_to_save=("classifier", "score"), rank_pattern={"query": 3}, task_type="SEQ_CLS"
    )


def test_every_field_of_peft_s_is_known() -> None:
    fields = {each.name for each in dataclasses.fields(peft.LoraConfig)}
    assert fields == KNOWN
    assert len(KNOWN) == len([*COUNTED, *INERT, *WITHOUT_CLOSED_FORM, *REFUSED])


@pytest.mark.parametrize(
    "inert",
    [
        {"lora_alpha": 99},
        {"lora_dropout": 0.5},
        {"use_rslora": True},
        {"alpha_pattern": {"query": 3}},
        {"fan_in_fan_out": True},
        {"qalora_group_size": 3},
        {"alora_invocation_tokens": [1]},
        {"base_model_name_or_path": "x/y"},
        {"revision": "abc"},
        {"peft_version": "9"},
        {"auto_mapping": {"base_model_class": "BertModel"}},
        {"init_lora_weights": "gaussian"},
        {"init_lora_weights": False},
        {"init_lora_weights": True},
    ],
)
def test_what_changes_nothing_is_silent_and_never_given_to_peft(inert: dict[str, Any]) -> None:
    assert parse({**PLAIN, **inert}).for_build == parse(PLAIN).for_build
    assert listed(r=2, **inert) == listed(r=2)  # no wider than the layers are


def listed(**data: Any) -> list[tuple[str, tuple[int, ...], bool]]:
    model = built_module(typical("bert", "BertModel")[0])
    trained = adapt(model, {"target_modules": ["query"], **data})
    return [(name, tuple(p.shape), p.requires_grad) for name, p in trained.named_parameters()]


def test_what_is_built_is_in_training_whatever_the_file_says() -> None:
    frozen = listed(inference_mode=True)
    assert not any(trainable for _, _, trainable in frozen)
    adapter = parse({**PLAIN, "inference_mode": True})
    assert any(trainable for _, _, trainable in listed(**adapter.for_build))


def test_what_older_releases_of_peft_have_not_is_handed_over_only_where_it_is_said() -> None:
    """PEFT 0.13 is the last that transformers 4.40 can import, and 0.14 the first with these."""
    of_newer = {"exclude_modules": ["crossattention"], "lora_bias": True}
    assert not of_newer.keys() & parse(PLAIN).for_build.keys()
    assert of_newer.items() <= parse({**PLAIN, **of_newer}).for_build.items()


def test_what_is_built_is_what_json_can_carry() -> None:
    adapter = parse({**PLAIN, "rank_pattern": {"query": 3}, "modules_to_save": ["classifier"]})
    assert json.loads(json.dumps(adapter.for_build)) == adapter.for_build


def test_peft_s_own_targets_are_known_for_each_family_that_it_has() -> None:
    theirs = {name: tuple(TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING.get(name, ())) for name in FAMILIES}
    assert {name: names for name, names in theirs.items() if names} == TARGETS


# mistakes


@pytest.mark.parametrize(
    ("data", "kind", "message", "fix"),
    [
        (
            {"lora_dopout": 0.1},
            "config-invalid",
            'the key "lora_dopout" is none of LoRA\'s in PEFT',
            "did you mean lora_dropout?",
        ),
        ({"zzz": 1}, "config-invalid", 'the key "zzz" is none of LoRA\'s in PEFT', "remove it"),
        ({"r": 0}, "config-invalid", "r is 0, which is no rank", "write a whole number from 1 on, as in 8"),
        ({"r": True}, "config-invalid", "r is true, which is no rank", "write a whole number from 1 on, as in 8"),
        ({"r": "8"}, "config-invalid", 'r is "8", which is no rank', "write a whole number from 1 on, as in 8"),
        (
            {"r": 10**9},
            "config-refused",
            "r is 1,000,000,000, more than 1,000,000",
            "write the rank that the adapter has",
        ),
        ({"bias": "lora"}, "config-invalid", 'bias is "lora", which PEFT does not know', "did you mean 'lora_only'?"),
        (
            {"bias": True},
            "config-invalid",
            "bias is true, which PEFT does not know",
            "write one of none, all, lora_only",
        ),
        (
            {"task_type": "SEQ_CLASS"},
            "config-invalid",
            'task_type is "SEQ_CLASS", which PEFT does not know',
            "did you mean 'SEQ_CLS'?",
        ),
        ({"use_dora": "yes"}, "config-invalid", 'use_dora is "yes", not true or false', "write true or false"),
        (
            {"modules_to_save": "classifier"},
            "config-invalid",
            'modules_to_save is "classifier", not a list of module names',
            'write a list, as in ["classifier"]',
        ),
        (
            {"target_modules": ["query", 3]},
            "config-invalid",
            "target_modules has 3, which is no module's name",
            'write a list, as in ["query", "value"]',
        ),
        (
            {"target_modules": 3},
            "config-invalid",
            "target_modules is 3, not a list of module names",
            'write a list, as in ["query", "value"]',
        ),
        (
            {"modules_to_save": ["(a+)+"]},
            "config-invalid",
            'modules_to_save has "(a+)+", which is no module\'s name',
            'write a list, as in ["classifier"]',
        ),
        (
            {"target_modules": "(query"},
            "config-invalid",
            'target_modules: the regular expression "(query" is none: missing ), unterminated subpattern at position 0',
            "write the ends of the names as a list",
        ),
        (
            {"rank_pattern": {"(?i)query": 3}},
            "config-invalid",
            (
                'rank_pattern: the regular expression "(?i)query" is none: global flags not at the start of the '
                "expression at position 8"
            ),
            "write the end of a module's name",
        ),
        (
            {"exclude_modules": "a" * 1_001},
            "config-refused",
            f'exclude_modules: the regular expression "{"a" * 198}… has 1,001 characters, more than 1,000',
            "write the ends of the names as a list",
        ),
        (
            {"rank_pattern": {"query": 0}},
            "config-invalid",
            'the rank of "query" is 0, which is no rank',
            "write a whole number from 1 on, as in 8",
        ),
        (
            {"rank_pattern": ["query"]},
            "config-invalid",
            'rank_pattern is ["query"], not an object of module names and their ranks',
            'write { "output.dense" = 16 }, for example',
        ),
        (
            {"use_dora": True, "lora_bias": True},
            "config-invalid",
            "lora_bias is true beside use_dora: PEFT refuses that",
            "write false for one of them",
        ),
        (
            {"peft_type": "IA3", "feedforward_modules": []},
            "unknown-closed-form",
            "there is no closed form for peft_type IA3",
            "write closed_form = false to hold the model to its budget alone",
        ),
        (
            {"megatron_config": {"a": 1}, "megatron_core": "os"},
            "config-refused",
            "megatron_config makes PEFT import the module that megatron_core names",
            "remove it: it says how to train, not what",
        ),
    ],
)
def test_a_mistake_is_said_with_what_to_write(data: dict[str, Any], kind: str, message: str, fix: str) -> None:
    assert mistake(**data) == (kind, message, fix)


@pytest.mark.parametrize("nothing", [None, []])
def test_targets_have_to_be_named(nothing: Any) -> None:
    (finding,) = findings(target_modules=nothing)
    assert finding.message == "target_modules names no module"
    assert finding.fix == "name the modules that get an adapter"


def test_targets_that_are_left_out_are_those_that_peft_takes_for_the_family() -> None:
    found = parse({"r": 8}, family="bert")
    assert (found.target_modules, found.targets_of) == (("query", "value"), "bert")
    assert parse({"r": 8, "target_modules": ["query"]}, family="bert").targets_of == ""


def test_without_a_closed_form_peft_is_asked_for_its_targets() -> None:
    assert parse({"r": 8}, family="bloom", closed_form=False).for_build["target_modules"] is None


@pytest.mark.parametrize(
    ("data", "message", "fix"),
    [
        (
            {"layers_to_transform": "0"},
            'layers_to_transform is "0", neither an index of a layer nor a list of them',
            "write a list, as in [0, 1, 2]",
        ),
        (
            {"layers_to_transform": [True]},
            "layers_to_transform is [true], neither an index of a layer nor a list of them",
            "write a list, as in [0, 1, 2]",
        ),
        (
            {"layers_to_transform": [0], "layers_pattern": "(a+)+"},
            'layers_pattern is "(a+)+", neither the name of a list of layers nor a list of names',
            'write the last part of its name, as in "layer"',
        ),
        (
            {"layers_pattern": "layer"},
            "layers_pattern says which list layers_to_transform counts in, and there is none",
            "write layers_to_transform too, or leave it out",
        ),
        (
            {"layers_to_transform": [0], "target_modules": ".*query"},
            'layers_to_transform stands beside target_modules = ".*query": PEFT refuses that',
            "write a list of targets, or leave it out",
        ),
    ],
)
def test_layers_that_say_nothing_are_a_mistake(data: dict[str, Any], message: str, fix: str) -> None:
    (finding,) = findings(**data)
    assert (finding.message, finding.fix) == (message, fix)


def test_all_mistakes_are_said_at_once() -> None:
    assert len(findings(r=0, bias="some", zzz=1)) == 3


def test_a_mistake_in_the_table_is_on_its_key() -> None:
    assert findings(r=0)[0].table_key == ("adapter", "r")


def test_a_mistake_in_a_file_is_on_its_line(tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_text('{\n  "target_modules": ["query"],\n  "r": 0\n}', "utf-8")
    config = read(tmp_path, "adapter_config.json")
    with pytest.raises(Unusable) as raised:
        parse(config.data, place=in_file(config))
    assert raised.value.findings[0].place == "adapter_config.json:3"


# without a closed form


@pytest.mark.parametrize(
    ("key", "value", "because"),
    [
        ("layer_replication", [[0, 1]], ""),
        ("trainable_token_indices", [3], ""),
        ("target_parameters", ["query.weight"], ""),
        ("ensure_weight_tying", True, ""),
        ("kasa_config", {"beta": 1}, ""),
        ("init_lora_weights", "mica", ", which freezes lora_B"),
        ("init_lora_weights", "MiCA", ", which freezes lora_B"),
        ("init_lora_weights", "eva", ", which chooses ranks by the training data"),
    ],
)
def test_what_has_no_closed_form_is_said_or_passed_on(key: str, value: Any, because: str) -> None:
    (finding,) = findings(**{key: value})
    assert finding.kind == "unknown-closed-form"
    assert finding.message == f"there is no closed form for {key} = {json.dumps(value)}{because}"
    assert finding.fix.startswith("write closed_form = false")
    assert parse({**PLAIN, key: value}, closed_form=False).for_build[key] == value


def test_another_method_is_given_to_peft_without_what_says_how_it_starts() -> None:
    data = {"peft_type": "PROMPT_TUNING", "num_virtual_tokens": 4, "inference_mode": True}
    data |= {"prompt_tuning_init": "TEXT", "tokenizer_name_or_path": "somebody/somewhere"}
    found = parse(data, closed_form=False)
    assert found.for_build == {"peft_type": "PROMPT_TUNING", "num_virtual_tokens": 4}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"peft_type": "XLORA", "adapters": {"a": "/etc"}}, 'peft_type is "XLORA", which is not known here'),
        ({"peft_type": 3}, "peft_type is 3, which is not known here"),
        (
            {"peft_type": "ADALORA", "megatron_config": {}, "megatron_core": "os"},
            "megatron_config makes PEFT import the module that megatron_core names",
        ),
        (
            {"peft_type": "PROMPT_TUNING", "num_virtual_tokens": 10**9},
            "num_virtual_tokens is 1000000000, more than 10,000,000",
        ),
    ],
)
def test_a_method_that_peft_would_run_code_or_open_files_for_is_refused(data: dict[str, Any], message: str) -> None:
    with pytest.raises(Unusable) as raised:
        parse(data, closed_form=False)
    assert [finding.message for finding in raised.value.findings] == [message]


def test_eva_that_has_chosen_its_ranks_is_counted_by_them() -> None:
    chosen = parse({**PLAIN, "init_lora_weights": "eva", "rank_pattern": {"query": 3}})
    assert chosen.rank_pattern == {"query": 3}
    assert "init_lora_weights" not in chosen.for_build


@pytest.mark.parametrize("start", ["Pissa", "pissa_niter_", "pissa_niter_4_niter_5", "gausian", 7, ["olora"], ""])
def test_a_start_that_peft_does_not_know_is_a_mistake(start: Any) -> None:
    (finding,) = findings(init_lora_weights=start)
    assert finding.message == f"init_lora_weights is {json.dumps(start)}, which PEFT does not know"


@pytest.mark.parametrize("start", ["gaussian", "olora", None])
def test_a_bias_goes_with_no_start_but_the_usual_one(start: str | None) -> None:
    (finding,) = findings(lora_bias=True, init_lora_weights=start)
    assert finding.message == f"lora_bias is true beside init_lora_weights = {json.dumps(start)}: PEFT refuses that"
    assert parse({**PLAIN, "lora_bias": True, "init_lora_weights": False}).lora_bias


@pytest.mark.parametrize("neutral", [None, False, [], {}])
def test_a_key_that_says_nothing_is_silent(neutral: Any) -> None:
    said = dict.fromkeys(WITHOUT_CLOSED_FORM, neutral)
    assert parse({**PLAIN, **said}) == parse(PLAIN)


# untrusted


@pytest.mark.parametrize(
    "pattern", [r"(\w+\.)*query", ".*" * 5 + "query", "(a|query)" * 9, r"(?!.*vision).*query", r".*(.)\1.*"]
)
def test_any_pattern_that_peft_matches_is_taken(pattern: str) -> None:
    """How long it takes is known with a model's names alone: tests/config/test_patterns.py."""
    assert parse({**PLAIN, "target_modules": pattern}).target_modules == pattern


@pytest.mark.parametrize(
    "pattern",
    [
        r".*decoder.*(SelfAttention|EncDecAttention).*(q|v)$",
        r"bert\.encoder\.layer\.(6|7|8|9|10|11)\.attention\.self\.(query|value)",
        r".*\.layer\.\d+\.attention\.(self\.(query|key|value)|output\.dense)",
    ],
)
def test_patterns_that_people_write_are_taken(pattern: str) -> None:
    assert parse({**PLAIN, "target_modules": pattern}).target_modules == pattern
    assert re.compile(pattern)


def test_a_flag_begins_an_expression_that_is_matched_with_whole_names() -> None:
    """PEFT puts something before the keys of rank_pattern, and nothing before the others."""
    assert parse({**PLAIN, "target_modules": "(?x) .* query  # and no other"}).target_modules
    assert parse({**PLAIN, "exclude_modules": "(?i).*LAYER.*"}).exclude_modules
