"""``init``: what a proposed model is called, which limits it gets, and which of several equal configs are declared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tomli

from pytest_bertsize.closed_forms.derive import choose, derive
from pytest_bertsize.closed_forms.registry import Registry
from pytest_bertsize.closed_forms.what_if import Variants, find_insensitive_budget
from pytest_bertsize.commands.console import FOUND, GOOD
from pytest_bertsize.commands.init.configs import list_limits, make_name, write_limit_above
from pytest_bertsize.config.model_config import config_at
from pytest_bertsize.quantity import parse_count
from pytest_bertsize.table.limits import Budget, Limit
from pytest_bertsize.table.model import Model
from tests.conftest import TINY
from tests.support.family_configs import PAIRS, sample
from tests.support.starting_projects import SAVED, changed, configs, holds, lay, left_out, proposed, started

# names


@pytest.mark.parametrize(
    ("reference", "name"),
    [
        ("config.json", "deberta"),
        ("models/encoder/config.json", "encoder"),
        ("encoder/config/config.json", "encoder"),
        ("configs/bert-small.json", "bert-small"),
        ("configs/v1.5.json", "v1.5"),
        ("my model (final)/config.json", "my-model-final"),
        ("модели/кодер/config.json", "кодер"),
        ("{stem}/config.json", "stem"),
        (f"{'n' * 300}/config.json", "n" * 100),
    ],
)
def test_a_model_is_called_after_its_folder_its_file_or_its_family(reference: str, name: str) -> None:
    assert make_name(reference, "deberta", ()) == name


@pytest.mark.parametrize("path", ['a "b"/config.json', "{stem}.json", "back\\slash.json", "new\nline.json"])
def test_names_and_paths_with_odd_letters_are_read_back(tmp_path: Path, path: str) -> None:
    (table,) = proposed(lay(tmp_path, **{path: TINY})).values()
    assert table["config"] == path
    assert started(tmp_path, writes=True)[0] == GOOD
    assert holds(tmp_path)[0] == GOOD


# limits: they hold today's model and no larger one


@pytest.mark.parametrize(
    ("before", "after", "part"),
    [
        ("BertModel", "BertForPreTraining", "head"),
        ("BertForTokenClassification", "BertForSequenceClassification", "pooler"),
    ],
)
def test_a_part_that_only_other_classes_of_the_family_have_is_kept_out(
    tmp_path: Path, before: str, after: str, part: str
) -> None:
    lay(tmp_path, **{"config.json": {**TINY, "architectures": [before]}})
    assert started(tmp_path, writes=True)[0] == GOOD
    assert f"budget.{part} = 0\n" in (tmp_path / "pyproject.toml").read_text("utf-8")
    assert holds(tmp_path)[0] == GOOD
    changed(tmp_path / "config.json", architectures=[after])
    status, report = holds(tmp_path)
    assert (status, f"✗ {part} " in report) == (FOUND, True)


@pytest.mark.parametrize(
    "family", ["albert", "bert", "deberta-v2", "encoder-decoder", "funnel", "modernbert", "t5", "xlm"]
)
def test_a_proposed_budget_holds_the_model_and_not_one_with_a_layer_more(family: str) -> None:
    """Of one stack of layers, of layers that share weights, of two stacks, of blocks of layers."""
    architecture = dict(PAIRS)[family]
    for case in sample(family, architecture)[:4]:
        assert_tight({"model_type": family, "architectures": [architecture], **case.config})


@pytest.mark.parametrize(
    ("count", "too_much", "limit"),
    [
        (109_482_240, None, '"110M"'),
        (100_001, 100_500, '"100.1K"'),
        (100_001, 100_100, '"100.01K"'),
        (100_001, 100_010, "100_001"),
        (999, None, "999"),
    ],
)
def test_a_limit_has_as_many_digits_as_keep_it_below_one_more_layer(
    count: int, too_much: int | None, limit: str
) -> None:
    assert write_limit_above(count, too_much) == limit


def assert_tight(data: dict[str, Any]) -> None:
    """Every limit lets today's count pass, is at most one percent above it, and below that of one more layer."""
    model, config = Model(config="config.json", budget=Budget()), config_at(data, "config.json")
    derivation = derive(model, config, choose(model, config, Registry()))
    form, variants = derivation.form, Variants(derivation)
    limits = {component: parse_count(tomli.loads(f"a = {limit}")["a"]) for component, limit in list_limits(derivation)}
    parts = [name for name in derivation.family.component_names(form.dims) if "." not in name]
    assert limits.keys() == {"total", *parts}
    for component, limit in limits.items():
        assert form[component] <= limit <= form[component] * 1.01 + 1
    for size in variants.sizes.values():
        deeper = variants.varied(**{size.key: variants.now(size.key) + 1}) if size.repeats else None
        for component, limit in limits.items() if deeper else ():
            assert deeper is not None
            assert deeper[component] <= form[component] or deeper[component] > limit
    held = tuple(Limit(component, None, limit, limit, "pyproject.toml") for component, limit in limits.items())
    assert find_insensitive_budget(derivation, held) == []


# copies that training has left behind


def test_copies_in_checkpoints_are_left_out_and_counted(tmp_path: Path) -> None:
    copies = {f"runs/ner/checkpoint-{step}/config.json": SAVED for step in (500, 1000)}
    lay(tmp_path, **{"models/bert/config.json": TINY}, **copies)
    assert configs(tmp_path) == ["models/bert/config.json"]
    assert left_out(tmp_path) == [
        "runs/ner/checkpoint-1000/config.json and 1 more in a checkpoint folder, a copy of models/bert/config.json"
    ]


@pytest.mark.parametrize(
    "other", [{"num_hidden_layers": 4}, {"tie_word_embeddings": False}, {"architectures": ["BertModel"]}]
)
def test_a_checkpoint_of_another_size_switch_or_class_is_a_model_of_its_own(
    tmp_path: Path, other: dict[str, Any]
) -> None:
    lay(tmp_path, **{"config.json": TINY, "checkpoint-5/config.json": {**SAVED, **other}})
    assert configs(tmp_path) == ["config.json", "checkpoint-5/config.json"]


def test_configs_that_are_equal_today_are_each_declared_so_that_a_change_in_any_is_red(tmp_path: Path) -> None:
    services = {name: f"services/{name}/model/config.json" for name in ("chat", "search")}
    lay(tmp_path, **dict.fromkeys(services.values(), TINY))
    assert {name: table["config"] for name, table in proposed(tmp_path).items()} == services
    assert left_out(tmp_path) == []
    started(tmp_path, writes=True)
    for service in services.values():
        assert holds(tmp_path)[0] == GOOD
        changed(tmp_path / service, num_hidden_layers=4)
        assert holds(tmp_path)[0] == FOUND
        changed(tmp_path / service, num_hidden_layers=3)
