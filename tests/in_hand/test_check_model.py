"""``check_model(model, "encoder")``: a model in hand against the table that declares it."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from transformers import BertConfig, BertModel

from pytest_bertsize import Review, check_model
from pytest_bertsize.base.lock import Locked, render_lock
from pytest_bertsize.builder.child.listing import take_inventory
from tests.conftest import TINY
from tests.in_hand.conftest import TABLE, Declare, make

LAYER = 49_896 // 3  # of TINY, whose sums are in tests/conftest.py


def fail(model: Any, *arguments: Any, **given: Any) -> str:
    """Return the report of a model that fails, as one line."""
    with pytest.raises(AssertionError) as failed:
        check_model(model, *arguments, **given)
    return " ".join(str(failed.value).split())


def test_a_model_that_is_what_its_table_declares_passes_and_nothing_is_built(
    declare: Declare, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("a process was started, or a model made")

    declare()
    model = make()
    monkeypatch.setattr(subprocess, "Popen", never)
    monkeypatch.setattr(os, "fork", never)
    monkeypatch.setattr(BertModel, "__init__", never)
    review = check_model(model, "encoder")
    assert isinstance(review, Review)
    assert (review.name, review.verdict) == ("encoder", "passed")
    assert review.actual is not None
    assert review.expected is not None
    assert review.actual["total"] == review.expected["total"] == 59_549
    assert review.model is model


def test_one_layer_more_fails_with_the_report_of_the_terminal_and_a_traceback_that_ends_at_the_call(
    declare: Declare,
) -> None:
    declare()
    with pytest.raises(AssertionError) as failed:
        check_model(make(num_hidden_layers=4), "encoder")
    said = " ".join(str(failed.value).split())
    assert "num_hidden_layers is 3 in config.json, and 4 in the config of the finished BertForMaskedLM" in said
    assert "config.json:8" in said
    assert f"encoder is +{LAYER:,} off the closed form" in said
    assert "over its limit of 60K (pyproject.toml:4)" in said
    assert "\x1b" not in said
    assert [Path(entry.path).name for entry in failed.traceback.filter(failed)] == [Path(__file__).name]


def untie(model: Any) -> None:
    model.cls.predictions.decoder.weight = nn.Parameter(torch.zeros(101, 48))


CHANGED: dict[str, tuple[Callable[[Any], object], list[str]]] = {
    "resized": (
        lambda model: model.resize_token_embeddings(103, mean_resizing=False),
        ["vocab_size is 101 in config.json, and 103 in the config of the finished BertForMaskedLM", "101 → 103"],
    ),
    "untied": (
        untie,
        [
            "decoder.weight is no longer tied to ",
            "→ tie what the class ties and nothing else (model.tie_weights(), or ",
        ],
    ),
    "hidden": (
        lambda model: setattr(model, "experts", [nn.Linear(3, 3)]),
        ["torch does not see these parameters: 12 in experts (list)"],
    ),
}


@pytest.mark.parametrize(("change", "says"), CHANGED.values(), ids=CHANGED)
def test_what_was_done_to_a_model_is_seen(declare: Declare, change: Callable[[Any], object], says: list[str]) -> None:
    declare(TABLE.replace("60K", "70K"))
    model = make()
    change(model)
    said = fail(model, "encoder")
    assert [each for each in says if each not in said] == []


def test_a_key_that_moves_no_count_is_told_too(declare: Declare) -> None:
    declare()
    said = fail(make(num_attention_heads=8), "encoder")
    assert "num_attention_heads is 4 in config.json, and 8 in the config of the finished BertForMaskedLM" in said


# frozen parameters


def test_what_is_frozen_counts_as_it_is(declare: Declare) -> None:
    declare()
    model = make()
    model.bert.embeddings.requires_grad_(requires_grad=False)
    review = check_model(model, "encoder", trainable="53K")
    assert review.actual is not None
    assert review.actual["trainable"] == 59_549 - 7_104
    said = fail(model, "encoder", trainable="50K")
    assert "trainable 52,445, limit 50,000 (+2,445)" in said
    assert 'to accept it, write "53K"' in said


TAGGER = """
[tool.bertsize.models.tagger]
factory = "tagger:build"
config = "config.json"
architecture = "BertModel"
backbone = "bert"
frozen = ["bert.embeddings"]
extra = [{ name = "classifier", linear = ["hidden_size", 9] }]
budget.total = "63K"
"""


class Tagger(nn.Module):  # type: ignore[misc]
    def __init__(self, *, labels: int = 9, **keys: Any) -> None:
        super().__init__()
        self.bert = BertModel(BertConfig(**{**TINY, **keys}))
        self.bert.embeddings.requires_grad_(requires_grad=False)
        self.classifier = nn.Linear(48, labels)


def test_a_class_of_the_project_is_held_to_its_own_table(declare: Declare) -> None:
    declare(TAGGER)
    assert check_model(Tagger(), "tagger").actual["head.classifier"] == 441  # type: ignore[index]
    assert "classifier: 9 → 10" in fail(Tagger(labels=10), "tagger")
    said = fail(Tagger(intermediate_size=70), "tagger")
    assert "intermediate_size is 72 in config.json, and 70 in the config of the finished BertModel" in said
    thawed = Tagger()
    thawed.bert.requires_grad_(requires_grad=True)
    assert "embeddings" in fail(thawed, "tagger")
    declare(TAGGER.replace("9]", '"num_labels"]'), {**TINY, "num_labels": 9})  # not those of its backbone
    assert check_model(Tagger(num_labels=2), "tagger").verdict == "passed"
    declare(TAGGER.replace('config = "config.json"\n', ""))  # the sizes are those of the model
    assert check_model(Tagger(vocab_size=100), "tagger").expected["embeddings.word"] == 4_800  # type: ignore[index]
    assert "limit 63,000" in fail(Tagger(vocab_size=300), "tagger")


# lock and limits


def test_a_strict_lock_holds_every_tensor(declare: Declare) -> None:
    folder = declare(TABLE.replace("60K", "1M").replace("[tool", '[tool.bertsize]\nlock = "bertsize.lock"\n\n[tool', 1))
    locked = Locked(take_inventory(make()).tensors)
    (folder / "bertsize.lock").write_text(render_lock({"encoder": locked}), encoding="utf-8")
    model = make()
    assert check_model(model, "encoder").locked.changes == ()  # type: ignore[union-attr]
    model.bert.pooler = nn.Linear(48, 48)
    assert "- it differs from bertsize.lock: bert.pooler is new" in fail(model, "encoder")
    table = (folder / "pyproject.toml").read_text("utf-8")
    (folder / "pyproject.toml").write_text(f'{table}lock = "strict"\n', encoding="utf-8")
    assert "✗ it differs from bertsize.lock: bert.pooler is new" in fail(model, "encoder")


def test_a_limit_of_the_call_tightens_the_budget(declare: Declare) -> None:
    declare()
    dotted: dict[str, Any] = {"encoder.norm": {"exact": 576}}
    assert check_model(make(), "encoder", head="3K", **dotted).verdict == "passed"
    said = fail(make(), "encoder", head=0)
    assert re.search(r"head 2,549, limit 0 .* \(\S*test_check_model\.py:\d+\)", said)
    with pytest.raises(
        ValueError, match=r"test_check_model\.py:\d+: check_model allows total up to 70,000, where .* 60,000"
    ):
        check_model(make(), "encoder", total="70K")


UNCHECKED = """
[tool.bertsize.models.encoder]
config = "config.json"
checkpoint = "nowhere.safetensors"
budget.total = "60K"
budget.flops = { max = "1G", seq_len = 8 }
budget.growth = "1%"
budget.already_over = "pass"
"""


def test_what_only_a_build_or_a_base_can_check_is_a_warning_each(declare: Declare) -> None:
    declare(UNCHECKED)
    review = check_model(make(), "encoder")
    warnings = [(each.line, each.message) for each in review.findings if each.severity == "warning"]
    assert [line for line, _ in warnings] == [6, 7, 8, 4]
    about = ("budget.flops", "budget.growth", "budget.already_over", "checkpoint")
    assert [message for _, message in warnings] == [f"{each} is not checked here" for each in about]


# where the table is


def test_the_table_is_the_nearest_from_the_working_folder_upwards_or_named_by_its_file_or_folder(
    declare: Declare, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = declare()
    inner = folder / "scripts" / "deep"
    inner.mkdir(parents=True)
    (folder / "scripts" / "pyproject.toml").write_text("[project]\nname = 'other'\n", encoding="utf-8")
    monkeypatch.chdir(inner)
    assert check_model(make(), "encoder").verdict == "passed"
    monkeypatch.chdir("/")
    assert check_model(make(), "encoder", table=folder / "pyproject.toml").verdict == "passed"
    assert check_model(make(), table=str(folder)).name == "encoder"  # the only one


def test_mistakes_of_the_caller_are_value_errors_that_say_what_to_write(declare: Declare, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"pyproject\.toml: there is no such file, so no model is declared; "):
        check_model(make(), "encoder")
    declare(TABLE.replace("bertsize", "bert-size"))
    with pytest.raises(ValueError, match=r"did you mean \[tool\.bertsize\]"):
        check_model(make(), "encoder")
    declare()
    cases: list[tuple[str, dict[str, Any], str]] = [
        ("encodr", {}, r'pyproject\.toml declares no model "encodr", only .*; did you mean .?encoder'),
        ("encoder", {"total": "much"}, r"total: 'much' is not a count of parameters"),
        ("encoder", {"flops": "1G"}, r"check_model cannot set flops: write budget\.flops in the table"),
        ("encoder", {"tabel": "pyproject.toml"}, "tabel: 'pyproject.toml' is not a"),
        ("encoder", {"options": {}}, "options and closed_form are for a model that no table declares"),
    ]
    for name, given, says in cases:
        with pytest.raises(ValueError, match=says):
            check_model(make(), name, **given)
    declare(TABLE.replace("60K", "6oK"))
    with pytest.raises(ValueError, match=r"^pyproject\.toml:4: tool\.bertsize\.models\.encoder\.budget\.total: "):
        check_model(make(), "encoder")


def test_a_mistake_in_the_config_is_the_models_failure(declare: Declare) -> None:
    declare(config={**TINY, "num_hiden_layers": 3})
    assert "num_hiden_layers" in fail(make(), "encoder")


# another class, or the same with another argument


def test_another_class_than_the_declared_is_named(declare: Declare) -> None:
    declare()
    for model, name in ((BertModel(BertConfig(**TINY)), "BertModel"), (Tagger(), "Tagger")):
        said = fail(model, "encoder")
        assert said.count(f"the model is of the class {name}, and the table declares BertForMaskedLM: pass one of") == 1


def test_an_argument_of_the_constructor_is_what_to_write(declare: Declare) -> None:
    declare(TABLE.replace("budget", 'architecture = "BertModel"\nbudget', 1))
    without = BertModel(BertConfig(**TINY), add_pooling_layer=False)
    said = "or with other options: write options in its table, or pass options to check_model"
    assert said in " ".join(fail(without, "encoder").split())
    assert check_model(without, options={"add_pooling_layer": False}).verdict == "passed"
