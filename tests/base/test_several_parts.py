"""A model of several parts against a base: each part's files are read there, and a key is told with its part."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.git_projects import LAYER, committed

MODULES = [
    {"name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
    {"name": "1", "path": "1_Dense", "type": "sentence_transformers.models.Dense"},
]
TWO = """
    [tool.bertsize.models.fits]
    factory = "own:build"
    backbone = { one = "config.json", other = "other.json" }
    budget = "report-only"
    """


def test_a_dense_that_grows_is_told_by_its_key(tmp_path: Path, tiny: dict[str, Any]) -> None:
    table = '[tool.bertsize.models.fits]\nconfig = "."\nbudget = "report-only"\n'
    project = committed(tmp_path / "project", tiny)
    project.declare(table)
    project.write("modules.json", json.dumps(MODULES))
    project.write("1_Dense/config.json", {"in_features": 48, "out_features": 4})
    project.commit()
    project.write("1_Dense/config.json", {"in_features": 48, "out_features": 5})
    comparison = project.review(asked="HEAD").comparison
    assert comparison is not None
    (row,) = comparison.moved
    assert (row.key, dict(row.own)) == ("1_Dense.out_features", {"head.1_Dense": 49})
    assert comparison.said == ()


def test_a_backbone_that_grows_is_told_by_its_key(tmp_path: Path, tiny: dict[str, Any]) -> None:
    project = committed(tmp_path / "project", tiny, TWO)
    project.write("other.json", tiny)
    project.commit()
    project.write("other.json", {**tiny, "num_hidden_layers": 4})
    comparison = project.review(asked="HEAD").comparison
    assert comparison is not None
    (row,) = comparison.moved
    assert (row.key, row.before, row.after, row.total) == ("other.num_hidden_layers", "3", "4", LAYER)
    assert {name.partition(".")[0] for name in row.own} == {"other"}


def test_a_backbone_that_is_not_there_at_the_base_leaves_nothing_to_compare_with(
    tmp_path: Path, tiny: dict[str, Any]
) -> None:
    project = committed(tmp_path / "project", tiny, TWO)
    project.write("other.json", tiny)
    comparison = project.review().comparison
    assert comparison is not None
    assert comparison.inventory is None
    assert comparison.said == ("at main it cannot be counted: other.json is no file",)
