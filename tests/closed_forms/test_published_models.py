"""Published models at full size, and published config files as they are: by the closed form and by the built class."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pytest_bertsize.builder.published import CATALOGUE, find_in
from pytest_bertsize.closed_forms import FAMILIES
from tests.support.family_configs import Case, case, mismatch
from tests.support.formulas import value_of

FOLDER = Path(__file__).parents[1] / "data"
PUBLISHED = [json.loads(line) for line in (FOLDER / "published-counts.jsonl").read_text("utf-8").splitlines()]
CONFIGS = [json.loads(line) for line in (FOLDER / "published-configs.jsonl").read_text("utf-8").splitlines()]
"""Whole config files as they lie in public repositories, saved by transformers 2 to 5."""
CATALOGUED: dict[str, dict[str, Any]] = json.loads(CATALOGUE.read_text("utf-8"))
"""What the package knows by names of the hub."""
BASE = {"bert": "Bert", "camembert": "Camembert", "deberta": "Deberta", "deberta-v2": "DebertaV2", "ernie": "Ernie"}
BASE |= {"albert": "Albert", "layoutlm": "LayoutLM", "longformer": "Longformer", "rembert": "RemBert"}
BASE |= {"squeezebert": "SqueezeBert"}
"""Of families whose published configs name no class: the beginning of the name of its body."""


def of_file(config: dict[str, Any]) -> Case:
    """The model that a whole config file is of."""
    family = config["model_type"]
    (architecture,) = config.get("architectures", [f"{BASE.get(family)}Model"])
    return case(family, architecture, {key: value for key, value in config.items() if key != "model_type"})


FILES = {each["source"]: of_file(each["config"]) for each in CONFIGS}
FILES |= {name: of_file(each["config"]) for name, each in CATALOGUED.items()}
MODELS = FILES | {
    f"{each['model']}-{each['architecture']}": case(each["family"], each["architecture"], each["config"])
    for each in PUBLISHED
}
FIRST = {found.architecture.name: name for name, found in reversed(MODELS.items())}.values()


@pytest.mark.parametrize("again", [False, pytest.param(True, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    "family", [name for name in FAMILIES if any(each.family.name == name for each in MODELS.values())]
)
def test_a_published_model_is_what_is_built(family: str, again: bool) -> None:  # noqa: FBT001
    """A model of full size takes its time to build: the first of each class is built, and in a longer run each whole file."""
    names = {each["source"] for each in CONFIGS} - {*FIRST} if again else FIRST
    built = [name for name in names if MODELS[name].family.name == family]
    assert {name: wrong for name in built if (wrong := mismatch(MODELS[name]))} == {}


@pytest.mark.parametrize("family", sorted({each["family"] for each in PUBLISHED}))
def test_a_published_model_has_its_published_size_also_by_its_name_in_the_catalogue(family: str) -> None:
    for each in (each for each in PUBLISHED if each["family"] == family):
        name, config = find_in(CATALOGUED, each["model"]), each["config"]
        configs = [config]
        if name in CATALOGUED:
            labels = {key: value for key, value in config.items() if key == "num_labels"}
            configs.append({**CATALOGUED[name]["config"], **labels})
            del configs[-1]["model_type"]
        totals = [case(family, each["architecture"], config).closed_form().total for config in configs]
        assert totals == [each["count"]] * len(configs), each["model"]
        if "published" in each:
            assert each["note"], "where a publisher counts something else, a note says what"
            assert each["published"] - each["count"] == value_of(each["difference"], {}), each["model"]


SAID = ("tie_word_embeddings", "tie_encoder_decoder", "max_position_embeddings", "return_scores", "embedding_size")
"""Keys of these files that change nothing although a reader would think so: T5's ties, CANINE's positions, …"""


def test_a_published_config_is_read_without_a_needless_word() -> None:
    for name, found in FILES.items():
        for each in found.values().findings:
            assert each.kind != "ignored-key" or any(key in each.message.partition(" is ignored")[0] for key in SAID), (
                name
            )


PLACE = re.compile(r"[\w.-]+/[\w.-]+@(?:[0-9a-f]{12}|v[\d.]+) \S.*")
"""A repository, a commit or a release of it, and a file."""
STATUSES = {"hub": {"revision"}, "publisher": set(), "unverified": {"copies"}}
"""With what each says more."""


def test_a_config_of_the_catalogue_says_its_publisher_and_how_it_is_known() -> None:
    for name, said in CATALOGUED.items():
        assert set(said) == {"publisher", "status", "sources", "config", *STATUSES[said["status"]]}, name
        assert re.fullmatch(r"[\w.-]+/[\w.-]+", name), "a repository on the hub"
        assert said["publisher"], name
        if said["status"] == "hub":
            assert re.fullmatch("[0-9a-f]{8,40}", said["revision"]), name
            assert re.fullmatch("config.json, git blob [0-9a-f]{8,40}", said["sources"][0]), name
        else:
            assert any(PLACE.fullmatch(source) for source in said["sources"]), name
        assert said.get("copies", 0) <= len(said["sources"]), name
