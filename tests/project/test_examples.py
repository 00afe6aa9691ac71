"""The source documents, as a user would run them: each example has its figures, and fails once it is changed.

Their tables have the figures of each source as exact limits; here are the totals, and what no table says exactly.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(pytester: pytest.Pytester, name: str, file: str = "", old: str = "", new: str = "") -> dict[str, Any]:
    """Run the gate in a copy of an example, in which a file has another text; return the report of each model."""
    shutil.copytree(EXAMPLES / name, pytester.path, dirs_exist_ok=True)
    if file:
        text = Path(file).read_text("utf-8")
        assert text.count(old) == 1
        Path(file).write_text(text.replace(old, new), encoding="utf-8")
    status = pytester.runpytest("--bert-budget", "--bert-budget-report=size.json").ret
    models = {each["name"]: each for each in json.loads(Path("size.json").read_text("utf-8"))["models"]}
    assert status == any(each["verdict"] == "failed" for each in models.values())
    return models


def counts(model: dict[str, Any]) -> dict[str, int]:
    return {row["name"]: row["actual"] for row in (*model["components"], *model["measures"])}


LSTM, CHARACTERS = 2 * 4 * 256 * (768 + 32 + 256 + 2), 100 * 32 + 32 * 32 * 3 + 32
HEAD = LSTM + 4 * 256 + (2 * 256 + 1) * 9 + 9 * 9 + 2 * 9
FIGURES: dict[str, dict[str, dict[str, int]]] = {
    "b-bert-large-chinese": {"bert-large-chinese": {"total": 324_472_832}},  # SOURCES B
    "c-bert-base-uncased": {"bert-base-uncased": {"total": 109_482_240}, "classifier": {"head": 1_538}},  # SOURCES C
    "d-bert-base-chinese": {"bert-base-chinese": {"total": 102_290_312}},  # SOURCES D
    "e-bert4keras-classifier": {"classifier": {"total": 101_678_594}},  # SOURCES E: what model.summary() lists
    # what is published for ColBERTv2: 109,482,240 of BERT-base, and 768 × 128 of projection
    "own-closed-form": {"colbert": {"head.projection": 98_304, "total": 109_580_544}},
    "lora": {"classifier": {"trainable": 24 * 8 * (768 + 768) + 1_538}},
    "checkpoint": {},
    "tagger": {
        "tagger": {
            "head.lstm": LSTM,
            "head": HEAD,
            "embeddings.characters": CHARACTERS,
            "trainable": 85_054_464 // 2 + CHARACTERS + HEAD,  # the upper layers of BERT-base
        }
    },
    "deployment": {
        "encoder": {"total": 109_482_240, "bytes": 2 * 109_482_240},
        "exported": {"total": 11_683_584, "bytes": 4 * 89_650_176},  # ALBERT-base, unrolled
    },
    "training-script": {"tagger": {"total": 59_881, "head": 297}},
    "training-files": {
        "bert-mini": {"total": 11_170_560},  # Turc et al. 2019
        "bert-tiny": {"total": 4_385_920},
        "trained": {"total": 4_364_348},
        "computed": {"total": 28_763_648},
        "probe": {"total": 62_688},
    },
}


@pytest.mark.parametrize("example", FIGURES)
def test_an_example_passes_with_the_figures_of_its_source(pytester: pytest.Pytester, example: str) -> None:
    models = run(pytester, example)
    assert {each["verdict"] for each in models.values()} == {"passed"}
    for name, counted in FIGURES[example].items():
        assert counts(models[name]).items() >= counted.items()


def test_a_by_hand_fails_in_each_count_that_its_author_got_wrong(pytester: pytest.Pytester) -> None:
    (model,) = run(pytester, "a-by-hand").values()
    assert model["headline"] == "by-hand: total 102,290,312, limit 75,641,856 (+26,648,456); 3 more findings"
    wrong = {row["name"]: row["actual"] for row in model["components"] if row["failed"]}
    # the right-hand column of SOURCES A
    layers = {"encoder.attention": 28_348_416, "encoder.feed_forward": 56_669_184}
    assert wrong == {**layers, "head": 613_256, "total": 102_290_312}


BERT, PYPROJECT, SIZES = "released/config.json", "pyproject.toml", "acme/sizes.py"
FLOAT16 = '"220MB", dtype = "float16"'
CHANGED = [
    (
        "e-bert4keras-classifier",
        "classifier.py",
        ", add_pooling_layer=False",
        "",
        "classifier: unexpected is +590,592, ",
    ),
    ("tagger", "tagger/model.py", "layer[:6]", "layer[:5]", "tagger: "),
    ("tagger", "tagger/model.py", "bidirectional=True, ", "", "tagger: head.lstm "),
    ("training-files", "train.yaml", "num_blks: 2", "num_blks: 20", "trained: "),
    ("training-files", SIZES, "512", "1024", "computed: "),
    ("training-files", PYPROJECT, "vocab_size = 1000", "vocab_size = 10000", "probe: "),
    ("lora", "adapters/adapter_config.json", '"r": 8', '"r": 16', "classifier: total 110,075,140, limit 110,000,000 "),
    ("checkpoint", BERT, '"vocab_size": 64', '"vocab_size": 65', "released: "),
    ("deployment", PYPROJECT, FLOAT16, FLOAT16.replace("16", "32"), "encoder: bytes 437,928,960,"),
    ("deployment", PYPROJECT, "seq_len = 128", "seq_len = 129", "encoder: flops "),
    ("deployment", PYPROJECT, 'count = "unrolled" }', 'count = "unrolled" }\nencoder = 0', "exported: encoder "),
]


@pytest.mark.long
@pytest.mark.parametrize(("example", "file", "old", "new", "headline"), CHANGED)
def test_an_example_that_says_something_else_in_one_place_fails_there(
    pytester: pytest.Pytester, example: str, file: str, old: str, new: str, headline: str
) -> None:
    models = run(pytester, example, file, old, new)
    (failed,) = (each["headline"] for each in models.values() if each["verdict"] == "failed")
    assert failed.startswith(headline)


def test_every_example_has_a_test_here() -> None:
    assert {path.name for path in EXAMPLES.iterdir() if path.is_dir()} == {"a-by-hand", *FIGURES}
