"""Weights that a model has once and uses more than once: unique, stored and unrolled totals, and how they are shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.family_configs import case

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms import ClosedForm
    from tests.conftest import Project

PUBLISHED = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data" / "published-counts.jsonl").read_text("utf-8").splitlines()
]
LAYER = 7_087_872
"""Of BERT-base and of ALBERT-base alike: 4·768² + 2·768·3072 + 9·768 + 3072."""


def published(model: str, architecture: str, **changes: Any) -> ClosedForm:
    """The closed form of a published model, which ``test_published_models.py`` holds against the library."""
    found = next(each for each in PUBLISHED if (each["model"], each["architecture"]) == (model, architecture))
    return case(found["family"], architecture, {**found["config"], **changes}).closed_form()


def test_albert_has_one_layer_for_each_group_and_goes_through_twelve() -> None:
    albert, groups = (published("albert-base-v2", "AlbertModel", num_hidden_groups=n) for n in (1, 4))
    assert (albert.total, albert.stored, albert.unrolled) == (11_683_584, 11_683_584, 11_683_584 + 11 * LAYER)
    assert (groups.total, groups.unrolled) == (11_683_584 + 3 * LAYER, albert.unrolled)


def test_funnels_repeats_are_passes_through_layers_that_are_there_once() -> None:
    sizes = {"d_model": 768, "n_head": 12, "d_head": 64, "d_inner": 3072, "num_decoder_layers": 2}
    plain, again = (
        case("funnel", "FunnelBaseModel", {**sizes, "block_sizes": [6, 3, 3], "block_repeats": repeats}).closed_form()
        for repeats in ([1, 1, 1], [1, 2, 2])
    )
    assert plain.total == again.total == plain.unrolled
    assert again.unrolled == plain.total + 6 * plain.components["encoder"] // 12


def test_t5_writes_one_matrix_four_times_and_bart_three_times() -> None:
    t5, words = published("t5-small", "T5ForConditionalGeneration"), 50265 * 768
    assert (t5.total, t5.stored) == (60_506_624, 60_506_624 + 3 * 32128 * 512)
    bart = published("facebook/bart-base", "BartModel")
    assert (bart.total, bart.stored) == (139_420_416, 139_420_416 + 2 * words)
    assert published("facebook/bart-base", "BartModel", tie_word_embeddings=False).total == bart.stored


TABLE = '[tool.bertsize.models.encoder]\nconfig = "config.json"\nbudget = "report-only"\n'


@pytest.mark.long
def test_the_table_says_what_a_counter_would_that_writes_shared_weights_out(project: Project) -> None:
    sizes = {
        "vocab_size": 101,
        "embedding_size": 6,
        "hidden_size": 48,
        "num_attention_heads": 4,
        "num_hidden_layers": 3,
    }
    config = {"model_type": "albert", "architectures": ["AlbertForMaskedLM"], **sizes, "intermediate_size": 72}
    result = project(TABLE, config).runpytest("--bert-budget", "-v")
    form = case("albert", "AlbertForMaskedLM", config).closed_form()
    layer = 4 * 48 * 48 + 2 * 48 * 72 + 9 * 48 + 72
    assert (form.stored - form.total, form.unrolled - form.stored) == (101 * 6 + 101, 2 * layer)
    said = [f"  (with ties written out {form.stored:,})", f"  (with shared layers unrolled {form.unrolled:,})"]
    result.stdout.fnmatch_lines(said)
