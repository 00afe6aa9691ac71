"""The source documents, as a user would run them: each example passes with its figures, and fails once it is changed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(pytester: pytest.Pytester, name: str, *arguments: str, **replaced: tuple[str, str]) -> pytest.RunResult:
    """Run the gate in an example that was copied out of this repository.

    :param replaced: a text that a file has once, and another in its place.
    """
    shutil.copytree(EXAMPLES / name, pytester.path, dirs_exist_ok=True)
    for file, (old, new) in replaced.items():
        text = Path(file).read_text("utf-8")
        assert text.count(old) == 1, f"{file} has {old!r} {text.count(old)} times"
        Path(file).write_text(text.replace(old, new), encoding="utf-8")
    return pytester.runpytest("--bert-budget", "--bert-budget-report=size.json", *arguments)


def models() -> dict[str, Any]:
    return {each["name"]: each for each in json.loads(Path("size.json").read_text("utf-8"))["models"]}


def counts(name: str) -> dict[str, int]:
    return {row["name"]: row["actual"] for row in models()[name]["components"]}


# that pass


SOURCE_B = {  # SOURCES B; a layer's figure times 24
    "embeddings.word": 21_635_072,
    "embeddings": 22_163_456,
    "encoder.attention": 24 * 4_198_400,
    "encoder.feed_forward": 24 * 8_393_728,
    "encoder.norm": 24 * (2_048 + 2_048),
    "encoder": 24 * 12_596_224,
    "total": 324_472_832,
}
SOURCE_C = {"embeddings": 23_837_184, "encoder": 85_054_464, "pooler": 590_592, "total": 109_482_240}
SOURCE_D = {"embeddings": 16_622_592, "encoder": 85_054_464, "head": 613_256, "total": 102_290_312}
SOURCE_E = {  # SOURCES E: what model.summary() lists
    "embeddings.word": 16_226_304,
    "embeddings.token_type": 1_536,
    "embeddings.position": 393_216,
    "embeddings.norm": 1_536,
    "encoder.attention": 12 * 2_362_368,
    "encoder.feed_forward": 12 * 4_722_432,
    "encoder.norm": 12 * (1_536 + 1_536),
    "head.dense_output": 1_538,
    "total": 101_678_594,
}
# 109,580,544: what is published for ColBERTv2, 109,482,240 of BERT-base and 768 × 128 of projection
COLBERT = {"head.projection": 98_304, "pooler": 590_592, "total": 109_580_544}
LORA = {"adapters.lora": 24 * 8 * (768 + 768), "adapters.modules_to_save": 1_538, "trainable": 294_912 + 1_538}


FIGURES: dict[str, dict[str, dict[str, int]]] = {
    "b-bert-large-chinese": {"bert-large-chinese": SOURCE_B},
    "c-bert-base-uncased": {
        "bert-base-uncased": {**SOURCE_C, "trainable": 109_482_240},
        "classifier": {"head": 1_538},
    },
    "e-bert4keras-classifier": {"classifier": SOURCE_E},
    "own-closed-form": {"colbert": COLBERT},
    "lora": {"classifier": LORA},
    "checkpoint": {},
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
    assert run(pytester, example).ret == pytest.ExitCode.OK
    for name, counted in FIGURES[example].items():
        assert counts(name).items() >= counted.items()


def test_d_bert_base_chinese_passes_tensor_by_tensor(pytester: pytest.Pytester) -> None:
    result = run(pytester, "d-bert-base-chinese", "-vv")
    assert result.ret == pytest.ExitCode.OK
    assert counts("bert-base-chinese").items() >= SOURCE_D.items()
    result.stdout.fnmatch_lines(["*query.weight (768, 768) ×12*7,077,888*", "*decoder.weight (21128, 768)*tied*="])


def test_the_tagger_passes_with_what_it_freezes(pytester: pytest.Pytester) -> None:
    assert run(pytester, "tagger").ret == pytest.ExitCode.OK
    found = counts("tagger")
    config = json.loads(Path("models/config.json").read_text("utf-8"))
    width, hidden, tags = config["char_dim"], config["lstm_hidden"], config["num_labels"]
    lstm = 2 * 4 * hidden * (config["hidden_size"] + width + hidden + 2)
    assert found["embeddings.characters"] == config["char_vocab_size"] * width + width * width * 3 + width
    assert found["head.lstm"] == lstm
    assert found["head.crf"] == tags * tags + 2 * tags == 99
    assert found["head"] == lstm + 4 * hidden + (2 * hidden + 1) * tags + 99
    frozen = sum(found[f"embeddings.{part}"] for part in ("word", "position", "token_type", "norm"))
    layers = found["encoder"]
    assert found["total"] - found["trainable"] == frozen + layers // 2


def test_the_deployment_passes_by_bytes_and_flops(pytester: pytest.Pytester) -> None:
    assert run(pytester, "deployment").ret == pytest.ExitCode.OK
    assert counts("encoder")["total"] == 109_482_240
    assert counts("exported")["total"] == 11_683_584
    measured = {name: {row["name"]: row["actual"] for row in each["measures"]} for name, each in models().items()}
    assert measured["encoder"]["bytes"] == 2 * 109_482_240
    assert measured["exported"]["bytes"] == 4 * 89_650_176  # ALBERT-base, unrolled


# that fail


def test_a_by_hand_fails_in_each_count_that_its_author_got_wrong(pytester: pytest.Pytester) -> None:
    result = run(pytester, "a-by-hand")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    # the right-hand column of SOURCES A
    forgotten = {"embeddings.norm": 1_536, "encoder.norm": 36_864, "pooler": 0, "head": 613_256}
    layers = {"encoder.attention": 28_348_416, "encoder.feed_forward": 56_669_184, "total": 102_290_312}
    assert counts("by-hand").items() >= {**forgotten, **layers}.items()
    result.stdout.fnmatch_lines(
        [
            "by-hand: total 102,290,312, limit 75,641,856 (+26,648,456); 3 more findings",
            "*one layer of it is 2,362,368, so 0 of 12 fit; to accept it, write*",
        ]
    )


BERT, PYPROJECT, SIZES = "released/config.json", "pyproject.toml", "acme/sizes.py"
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
    (
        "deployment",
        PYPROJECT,
        '"220MB", dtype = "float16"',
        '"220MB", dtype = "float32"',
        "encoder: bytes 437,928,960,",
    ),
    ("deployment", PYPROJECT, "seq_len = 128", "seq_len = 129", "encoder: flops "),
    ("deployment", PYPROJECT, 'count = "unrolled" }', 'count = "unrolled" }\nencoder = 0', "exported: encoder "),
]


@pytest.mark.long
@pytest.mark.parametrize(("example", "file", "old", "new", "headline"), CHANGED)
def test_an_example_that_says_something_else_in_one_place_fails_there(
    pytester: pytest.Pytester, example: str, file: str, old: str, new: str, headline: str
) -> None:
    assert run(pytester, example, **{file: (old, new)}).ret == pytest.ExitCode.TESTS_FAILED
    (failed,) = (each["headline"] for each in models().values() if each["verdict"] == "failed")
    assert failed.startswith(headline)


def test_every_example_has_a_test_here() -> None:
    text = Path(__file__).read_text("utf-8")
    assert [path.name for path in EXAMPLES.iterdir() if path.is_dir() and f'"{path.name}"' not in text] == []
