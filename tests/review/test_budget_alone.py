"""A model without a closed form: compared with its budget alone, which every report says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_bertsize.builder.helper import Helper
from pytest_bertsize.closed_forms.registry import Registry
from pytest_bertsize.commands.console import FOUND
from pytest_bertsize.review.examine import examine
from pytest_bertsize.table.settings import load
from tests.support.git_projects import GitProject

SIZES = {"vocab_size": 64, "hidden_size": 32, "attention_head_size": 16, "num_attention_heads": 2}
REFORMER = {
    "architectures": ["ReformerModel"],
    "model_type": "reformer",
    **SIZES,
    "feed_forward_size": 48,
    "attn_layers": ["local", "lsh"],
    "axial_pos_shape": [4, 8],
    "axial_pos_embds_dim": [8, 24],
    "max_position_embeddings": 32,
    "attn_implementation": "eager",
}
"""A family of transformers that there is no closed form for."""
TABLE = """
    [tool.bertsize.models.{name}]
    config = "{name}.json"
    closed_form = false
    budget = {{ {limits} }}
    """


def declared(folder: Path, **models: tuple[dict[str, Any], str]) -> GitProject:
    """A project of models, each a config and the limits of its budget."""
    found = GitProject(folder)
    for name, (config, _) in models.items():
        found.write(f"{name}.json", config)
    found.declare("".join(TABLE.format(name=name, limits=limits) for name, (_, limits) in models.items()))
    return found


def test_the_budget_is_held_and_every_report_says_that_nothing_else_is(tmp_path: Path) -> None:
    project = declared(tmp_path, small=(REFORMER, 'total = "20K"'), large=(REFORMER, "encoder = 9, total = 10"))
    status, said = project.check("size.json", helper=Helper(), base=None, verbosity=1)
    assert status == FOUND
    assert "total 16,128, limit 10 (+16,118)" in said
    assert said.count("ReformerModel is compared only with its budget: closed_form = false (pyproject.toml:") == 2
    assert "2 configured, 2 checked, 1 failed; 2 without a closed form, compared with the budget alone" in said
    assert "vs formula" not in said
    model, _ = json.loads((tmp_path / "size.json").read_text("utf-8"))["models"]
    assert model["closed_form"] is False
    assert model["totals"]["expected"] is None
    assert {row["expected"] for row in model["components"]} == {None}
    assert sum(row["actual"] for row in model["components"] if "." not in row["name"]) == 2 * model["totals"]["actual"]


def test_a_component_or_class_that_there_is_not_fails_its_model(tmp_path: Path) -> None:
    nothing = {**REFORMER, "architectures": ["ReformerForNothing"]}
    project = declared(tmp_path, heat=(REFORMER, "heat = 9"), nothing=(nothing, "total = 1"))
    status, said = project.check(helper=Helper(), base=None)
    assert status == FOUND
    assert 'the budget names the component "heat", which no reformer model has' in said
    measures = "total, trainable, bytes, flops, training_bytes, growth"
    assert f"a budget can name {measures}, embeddings, embeddings.word_embeddings" in said
    assert "could not be built: transformers" in said
    assert "has no model class ReformerForNothing → install a version of transformers that has it" in said


def test_it_is_a_warning_where_there_is_a_closed_form_after_all(tmp_path: Path, tiny: dict[str, Any]) -> None:
    _, warning = examined(declared(tmp_path, x=(tiny, 'total = "60K"')))
    assert warning == (
        "there is a closed form for BertForMaskedLM, and closed_form = false turns it off; remove closed_form = false"
    )


@pytest.mark.parametrize("key", ["auto_map", "__class__"])
def test_a_key_that_steers_the_library_is_refused_here_too(tmp_path: Path, key: str) -> None:
    (error,) = examined(declared(tmp_path, x=({**REFORMER, key: {}}, "total = 1")))
    assert f'the key "{key}" is refused' in error


def examined(project: GitProject) -> list[str]:
    settings = load(project.folder / "pyproject.toml")
    return [each.sentence for each in examine(settings.models["x"], settings, Registry()).findings]
