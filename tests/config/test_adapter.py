"""PEFT's ``adapter_config.json`` and the table that says the same: what counts, what does not, what is a mistake."""

from __future__ import annotations

import dataclasses
import json
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import peft
import pytest
from msgspec.structs import replace
from peft.utils.constants import TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING

from pytest_bertsize.builder.child.making import adapt
from pytest_bertsize.closed_forms import FAMILIES
from pytest_bertsize.config.adapter import (
    COUNTED,
    INERT,
    KNOWN,
    REFUSED,
    SAID_BESIDE,
    TARGETS,
    WITHOUT_CLOSED_FORM,
    Adapter,
    parse,
)
from pytest_bertsize.config.source import read_file as read
from pytest_bertsize.findings import Unusable
from tests.closed_forms.test_lora import built_module
from tests.support.family_configs import typical

PLAIN: dict[str, Any] = {"r": 8, "target_modules": ["query", "value"]}


# what it says


def test_everything_that_counts_is_read() -> None:
    data = {"r": 4, "target_modules": r".*\.(query|value)", "exclude_modules": ["crossattention"], "use_dora": True}
    data |= {"modules_to_save": ["classifier"], "bias": "lora_only", "rank_pattern": {"query": 16}}
    expected = Adapter(4, r".*\.(query|value)", ("crossattention",), ("classifier",), "lora_only", use_dora=True)
    ranked = replace(expected, rank_pattern={"query": 16}, task_type="SEQ_CLS")
    assert parse({**data, "task_type": "SEQ_CLS"}) == ranked
    layers = parse({**PLAIN, "layers_to_transform": 3, "layers_pattern": "layer"})
    assert (layers.layers_to_transform, layers.layers_pattern) == ((3,), ("layer",))


def test_the_file_that_peft_saves_is_read_as_it_stands(tmp_path: Path) -> None:
    said = {"r": 4, "target_modules": ["query"], "task_type": "SEQ_CLS", "rank_pattern": {"query": 3}, "lora_alpha": 99}
    trained: Any = adapt(built_module(typical("bert", "BertModel")[0]), said)
    trained.peft_config["default"].inference_mode = True
    trained.peft_config["default"].save_pretrained(str(tmp_path))
    config = read(tmp_path, "adapter_config.json")
    assert set(config.data) >= {"auto_mapping", "peft_version", "inference_mode", "lora_alpha", "megatron_core"}
    assert parse(config.data, file=config) == Adapter(
        4, ("query",), modules_to_save=("classifier", "score"), rank_pattern={"query": 3}, task_type="SEQ_CLS"
    )


def test_every_field_and_every_default_target_of_peft_is_known() -> None:
    fields = {each.name for each in dataclasses.fields(peft.LoraConfig)}
    assert fields == KNOWN
    assert len(KNOWN) == len([*COUNTED, *SAID_BESIDE, *INERT, *WITHOUT_CLOSED_FORM, REFUSED])
    theirs = {name: tuple(TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING.get(name, ())) for name in FAMILIES}
    assert {name: names for name, names in theirs.items() if names} == TARGETS


def test_what_changes_nothing_is_silent_and_never_given_to_peft() -> None:
    silent: list[dict[str, Any]] = [{key: 99} for key in sorted(INERT)]
    for inert in [*silent, *({"init_lora_weights": start} for start in ("gaussian", False, True))]:
        assert parse({**PLAIN, **inert}).for_build == parse(PLAIN).for_build, inert
    assert parse({**PLAIN, "lora_bias": True, "init_lora_weights": False}).lora_bias


def listed(**data: Any) -> list[tuple[str, tuple[int, ...], bool]]:
    model = built_module(typical("bert", "BertModel")[0])
    trained = adapt(model, {"target_modules": ["query"], **data})
    return [(name, tuple(p.shape), p.requires_grad) for name, p in trained.named_parameters()]


def test_what_changes_nothing_changes_nothing_in_peft_and_what_is_built_is_in_training() -> None:
    inert = {"lora_alpha": 99, "lora_dropout": 0.5, "use_rslora": True, "alpha_pattern": {"query": 3}}
    inert |= {"fan_in_fan_out": True, "base_model_name_or_path": "x/y", "init_lora_weights": "gaussian"}
    assert listed(r=2, **inert) == listed(r=2)  # no wider than the layers are
    assert not any(trainable for _, _, trainable in listed(inference_mode=True))
    adapter = parse({**PLAIN, "inference_mode": True})
    assert any(trainable for _, _, trainable in listed(**adapter.for_build))


# mistakes

MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"lora_dopout": 0.1}, 'PEFT\'s LoRA has no key "lora_dopout"'),
    ({"r": 0}, "r: 0 is not a number from 1 to 1,000,000"),
    ({"r": 1_000_001}, "r: 1000001 is not a number from 1 to 1,000,000"),
    ({"r": None}, "r: null is not a whole number"),
    ({"init_lora_weights": "gausian"}, 'init_lora_weights is "gausian", which PEFT does not know'),
    ({"init_lora_weights": "pissa_niter_x"}, 'init_lora_weights is "pissa_niter_x", which PEFT does not know'),
    ({"bias": "lora"}, 'bias: "lora" is not one of "none", "all", "lora_only"'),
    ({"task_type": "SEQ_CLASS"}, 'task_type: "SEQ_CLASS" is not one of "SEQ_CLS", *'),
    ({"use_dora": "yes"}, 'use_dora: "yes" is not true or false'),
    ({"modules_to_save": "classifier"}, 'modules_to_save: "classifier" is not a list'),
    ({"modules_to_save": ["(a+)+"]}, 'modules_to_save: "(a+)+" is not the name of a module'),
    ({"target_modules": 3}, "target_modules: 3 is neither a string nor a list"),
    ({"target_modules": []}, "target_modules names no module"),
    ({"exclude_modules": "a" * 1_001}, "exclude_modules: * is a pattern of more than 1,000 characters"),
    ({"target_modules": "(query"}, 'target_modules: "(query" is not a regular expression: missing ), unterm*'),
    ({"rank_pattern": {"(?i)query": 3}}, "rank_pattern: *(?i)query* is not a regular expression: global *"),
    ({"rank_pattern": {"query": 0}}, "rank_pattern: 0 is not a number from 1 to 1,000,000"),
    ({"layers_to_transform": -1}, "layers_to_transform: -1 is not a number from 0 to 1,000,000"),
    ({"layers_to_transform": [0], "layers_pattern": "(a+)+"}, 'layers_pattern: "(a+)+" is not the name of a list of *'),
]
OTHER_METHODS: list[tuple[dict[str, Any], str]] = [
    ({"peft_type": "XLORA", "adapters": {"a": "/etc"}}, 'peft_type is "XLORA", which is not known here'),
    ({"peft_type": 3}, "peft_type is 3, which is not known here"),
    ({"peft_type": "ADALORA", "megatron_config": {}}, "megatron_config makes PEFT import the module that megatron_c*"),
    (
        {"peft_type": "PROMPT_TUNING", "num_virtual_tokens": 10**9},
        "num_virtual_tokens is 1000000000, more than 10,000,000",
    ),
]
KIND = {"megatron_config": "config-refused", "num_virtual_tokens": "config-refused"}


@pytest.mark.parametrize(
    ("data", "closed_form", "message"),
    [
        *((PLAIN | data, True, message) for data, message in MISTAKES),
        *((data, False, message) for data, message in OTHER_METHODS),
    ],
)
def test_a_mistake_is_an_error(data: dict[str, Any], closed_form: bool, message: str) -> None:  # noqa: FBT001
    with pytest.raises(Unusable) as raised:
        parse(data, closed_form=closed_form)
    (finding,) = raised.value.findings
    assert (finding.kind, finding.severity) == (KIND.get(message.split(maxsplit=1)[0], "config-invalid"), "error")
    assert fnmatchcase(finding.message, message.replace("[", "[[]").replace("?", "[?]")), finding.message
    assert finding.fix


def test_targets_that_are_left_out_are_those_that_peft_takes_for_the_family() -> None:
    found = parse({"r": 8}, family="bert")
    assert (found.target_modules, found.targets_of) == (("query", "value"), "bert")
    assert parse({"r": 8, "target_modules": ["query"]}, family="bert").targets_of == ""
    asked = parse({"r": 8}, family="bloom", closed_form=False)
    assert asked.for_build == {"r": 8, "bias": "none", "inference_mode": False}


def test_a_mistake_in_a_file_is_on_its_line(tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_text('{\n  "target_modules": ["query"],\n  "r": 0\n}', "utf-8")
    config = read(tmp_path, "adapter_config.json")
    with pytest.raises(Unusable) as raised:
        parse(config.data, file=config)
    assert raised.value.findings[0].place == "adapter_config.json:3"


# without a closed form


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("layer_replication", [[0, 1]]),
        ("ensure_weight_tying", True),
        *(("init_lora_weights", w) for w in ("mica", "eva")),
    ],
)
def test_what_has_no_closed_form_is_said_or_passed_on(key: str, value: Any) -> None:
    with pytest.raises(Unusable) as raised:
        parse({**PLAIN, key: value})
    (finding,) = raised.value.findings
    assert finding.kind == "unknown-closed-form"
    assert finding.message == f"there is no closed form for {key} = {json.dumps(value)}"
    assert finding.fix.startswith("write closed_form = false")
    assert parse({**PLAIN, key: value}, closed_form=False).for_build[key] == value
    if value == "eva":  # which has chosen its ranks
        chosen = parse({**PLAIN, key: value, "rank_pattern": {"query": 3}})
        assert (chosen.rank_pattern, key in chosen.for_build) == ({"query": 3}, False)


def test_another_method_has_no_closed_form_and_is_given_to_peft_without_what_says_how_it_starts() -> None:
    data = {"peft_type": "PROMPT_TUNING", "num_virtual_tokens": 4, "inference_mode": True}
    data |= {"prompt_tuning_init": "TEXT", "tokenizer_name_or_path": "somebody/somewhere"}
    found = parse(data, closed_form=False)
    assert found.for_build == {"peft_type": "PROMPT_TUNING", "num_virtual_tokens": 4}
    with pytest.raises(Unusable) as raised:
        parse(data)
    assert [finding.kind for finding in raised.value.findings] == ["unknown-closed-form"]
