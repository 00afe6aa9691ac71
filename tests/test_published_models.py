"""Published models at full size: each has the count that its source gives, by the closed form and by the built class."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import sympy

from tests.family_configs import case, mismatch

PUBLISHED = [
    json.loads(line) for line in (Path(__file__).parent / "published-counts.jsonl").read_text("utf-8").splitlines()
]


@pytest.mark.parametrize("model", PUBLISHED, ids=[f"{each['model']}-{each['architecture']}" for each in PUBLISHED])
def test_a_published_model_has_its_published_size(model: dict[str, Any]) -> None:
    found = case(model["family"], model["architecture"], model["config"])
    assert found.closed_form().total == model["count"]
    assert mismatch(found) == ""


def test_there_are_many_from_many_families_each_with_a_source() -> None:
    assert len({model["model"] for model in PUBLISHED}) >= 50
    assert len({model["family"] for model in PUBLISHED}) >= 15
    assert all(model["source"] for model in PUBLISHED)


@pytest.mark.parametrize(
    "model", [each for each in PUBLISHED if "published" in each], ids=lambda each: str(each["model"])
)
def test_where_a_publisher_counts_something_else_it_is_said_what_to_the_parameter(model: dict[str, Any]) -> None:
    assert model["note"]
    assert model["published"] - model["count"] == sympy.sympify(model["difference"])
