"""Published models at full size, and published config files as they are: by the closed form and by the built class."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bertsize.builder.published import CATALOGUE, find_in
from tests.support.family_configs import Case, case, mismatch
from tests.support.formulas import value_of

if TYPE_CHECKING:
    from _pytest.mark.structures import ParameterSet

FOLDER = Path(__file__).parents[1] / "data"
PUBLISHED = [json.loads(line) for line in (FOLDER / "published-counts.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.parametrize("model", PUBLISHED, ids=[f"{each['model']}-{each['architecture']}" for each in PUBLISHED])
def test_a_published_model_has_its_published_size(model: dict[str, Any]) -> None:
    found = case(model["family"], model["architecture"], model["config"])
    assert found.closed_form().total == model["count"]
    assert mismatch(found) == ""


@pytest.mark.parametrize(
    "model", [each for each in PUBLISHED if "published" in each], ids=lambda each: str(each["model"])
)
def test_where_a_publisher_counts_something_else_it_is_said_what_to_the_parameter(model: dict[str, Any]) -> None:
    assert model["note"]
    assert model["published"] - model["count"] == value_of(model["difference"], {})


CONFIGS = [json.loads(line) for line in (FOLDER / "published-configs.jsonl").read_text("utf-8").splitlines()]
"""Whole config files as they lie in public repositories, saved by transformers 2 to 5."""

SAID = ("tie_word_embeddings", "tie_encoder_decoder", "max_position_embeddings", "return_scores")
"""Keys of these files that change nothing although a reader would think so: T5's ties, CANINE's positions, …"""


BASE = {
    "albert": "AlbertModel",
    "bert": "BertModel",
    "camembert": "CamembertModel",
    "deberta": "DebertaModel",
    "deberta-v2": "DebertaV2Model",
    "ernie": "ErnieModel",
    "layoutlm": "LayoutLMModel",
    "longformer": "LongformerModel",
    "rembert": "RemBertModel",
    "squeezebert": "SqueezeBertModel",
}
"""Of families whose published configs name no class."""


def of_file(config: dict[str, Any]) -> Case:
    """The model that a whole config file is of."""
    family = config["model_type"]
    architecture = config.get("architectures", [BASE.get(family)])[0]
    return case(family, architecture, {key: value for key, value in config.items() if key != "model_type"})


def first_of_each_class(configs: Mapping[str, dict[str, Any]]) -> list[ParameterSet]:
    """A model of full size takes its time to build: those of a class that was built before are a longer draw."""
    seen: set[str] = set()
    found = []
    for name, config in configs.items():
        model = of_file(config).architecture.name
        found.append(pytest.param(config, id=name, marks=pytest.mark.long if model in seen else ()))
        seen.add(model)
    return found


@pytest.mark.parametrize("found", CONFIGS, ids=[each["source"] for each in CONFIGS])
def test_a_published_config_is_read_without_a_needless_word(found: dict[str, Any]) -> None:
    said = [each.message for each in of_file(found["config"]).values().findings if each.kind == "ignored-key"]
    assert [message for message in said if not any(key in message.partition(" is ignored")[0] for key in SAID)] == []


@pytest.mark.parametrize("config", first_of_each_class({each["source"]: each["config"] for each in CONFIGS}))
def test_a_published_config_gives_what_is_built(config: dict[str, Any]) -> None:
    assert mismatch(of_file(config)) == ""


CATALOGUED: dict[str, dict[str, Any]] = json.loads(CATALOGUE.read_text("utf-8"))
"""What the package knows by names of the hub."""
COUNTED = [(find_in(CATALOGUED, each["model"]), each) for each in PUBLISHED]
COUNTED_BY_NAME = [(name, each) for name, each in COUNTED if name in CATALOGUED]


@pytest.mark.parametrize("name", CATALOGUED)
def test_a_config_of_the_catalogue_is_read_without_a_needless_word(name: str) -> None:
    said = [
        each.message for each in of_file(CATALOGUED[name]["config"]).values().findings if each.kind == "ignored-key"
    ]
    ignored = ("tie_word_embeddings", "embedding_size")  # of T5 and mT5, and of RemBERT: so they are published
    assert [message for message in said if not message.startswith(ignored)] == []


@pytest.mark.parametrize("config", first_of_each_class({name: each["config"] for name, each in CATALOGUED.items()}))
def test_a_config_of_the_catalogue_gives_what_is_built(config: dict[str, Any]) -> None:
    assert mismatch(of_file(config)) == ""


@pytest.mark.parametrize(
    ("name", "counted"), COUNTED_BY_NAME, ids=[f"{n}-{each['architecture']}" for n, each in COUNTED_BY_NAME]
)
def test_a_config_of_the_catalogue_has_the_published_count(name: str, counted: dict[str, Any]) -> None:
    """Of tests/data/published-counts.jsonl, where each has its source."""
    labels = {key: value for key, value in counted["config"].items() if key == "num_labels"}
    config = {**CATALOGUED[name]["config"], **labels}
    del config["model_type"]
    assert case(counted["family"], counted["architecture"], config).closed_form().total == counted["count"]


PLACE = re.compile(r"[\w.-]+/[\w.-]+@(?:[0-9a-f]{12}|v[\d.]+) \S.*")
"""A repository, a commit or a release of it, and a file."""
STATUSES = {"hub": {"revision"}, "publisher": set(), "unverified": {"copies"}}
"""With what each says more."""


@pytest.mark.parametrize("name", CATALOGUED)
def test_a_config_of_the_catalogue_says_its_publisher_and_how_it_is_known(name: str) -> None:
    said = CATALOGUED[name]
    assert set(said) == {"publisher", "status", "sources", "config", *STATUSES[said["status"]]}
    assert re.fullmatch(r"[\w.-]+/[\w.-]+", name), "a repository on the hub"
    assert said["publisher"]
    if said["status"] == "hub":
        assert re.fullmatch("[0-9a-f]{8,40}", said["revision"])
        assert re.fullmatch("config.json, git blob [0-9a-f]{8,40}", said["sources"][0])
    else:
        assert any(PLACE.fullmatch(source) for source in said["sources"])
    assert said.get("copies", 0) <= len(said["sources"])


def test_the_values_of_siblings_are_of_one_type() -> None:
    """A file that a library saved anew may have a list where the released one has a text."""
    types: dict[tuple[str, str], set[type]] = {}
    for config in (each["config"] for each in CATALOGUED.values()):
        for key, value in config.items():
            types.setdefault((config["model_type"], key), set()).add(type(value))
    assert {key: found for key, found in types.items() if len(found) > 1} == {}
