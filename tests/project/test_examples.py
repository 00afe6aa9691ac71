"""The source documents, as a user would run them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(pytester: pytest.Pytester, name: str, *arguments: str) -> pytest.RunResult:
    """Copy an example out of this repository and run the gate in it."""
    shutil.copytree(EXAMPLES / name, pytester.path, dirs_exist_ok=True)
    return pytester.runpytest("--bert-budget", "--bert-budget-report=size.json", *arguments)


def counts(name: str) -> dict[str, int]:
    model = next(each for each in json.loads(Path("size.json").read_text("utf-8"))["models"] if each["name"] == name)
    return {row["name"]: row["actual"] for row in model["components"]}


def test_a_by_hand_fails_and_says_what_its_author_forgot(pytester: pytest.Pytester) -> None:
    result = run(pytester, "a-by-hand")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    # the right-hand column of SOURCES A
    assert (
        counts("by-hand").items()
        >= {
            "encoder.attention": 28_348_416,
            "encoder.feed_forward": 56_669_184,
            "embeddings.norm": 1_536,
            "encoder.norm": 36_864,
            "pooler": 0,
            "head": 613_256,
            "total": 102_290_312,
        }.items()
    )
    result.stdout.fnmatch_lines(
        [
            "by-hand: total 102,290,312, limit 75,641,856 (+26,648,456); 3 more findings",
            "  → that is one layer without its biases: ×12 is 28,311,552, and the biases are",
            "  → that is without the biases, which are 46,080",
            "  → that leaves out head.decoder 21,128, head.transform 592,128",
        ]
    )


def test_b_bert_large_chinese_passes_layer_by_layer(pytester: pytest.Pytester) -> None:
    assert run(pytester, "b-bert-large-chinese").ret == pytest.ExitCode.OK
    # SOURCES B; a layer's figure times 24
    assert (
        counts("bert-large-chinese").items()
        >= {
            "embeddings.word": 21_635_072,
            "embeddings": 22_163_456,
            "encoder.attention": 24 * 4_198_400,
            "encoder.feed_forward": 24 * 8_393_728,
            "encoder.norm": 24 * (2_048 + 2_048),
            "encoder": 24 * 12_596_224,
            "total": 324_472_832,
        }.items()
    )


def test_c_bert_base_uncased_passes_with_its_pooler_apart(pytester: pytest.Pytester) -> None:
    assert run(pytester, "c-bert-base-uncased").ret == pytest.ExitCode.OK
    # SOURCES C
    assert (
        counts("bert-base-uncased").items()
        >= {
            "embeddings": 23_837_184,
            "encoder": 85_054_464,
            "pooler": 590_592,
            "total": 109_482_240,
            "trainable": 109_482_240,
        }.items()
    )
    assert counts("classifier")["head"] == 1_538


def test_d_bert_base_chinese_passes_tensor_by_tensor(pytester: pytest.Pytester) -> None:
    result = run(pytester, "d-bert-base-chinese", "-vv")
    assert result.ret == pytest.ExitCode.OK
    # SOURCES D
    assert (
        counts("bert-base-chinese").items()
        >= {
            "embeddings": 16_622_592,
            "encoder": 85_054_464,
            "head": 613_256,
            "total": 102_290_312,
        }.items()
    )
    result.stdout.fnmatch_lines(["*query.weight (768, 768) ×12*7,077,888*", "*decoder.weight (21128, 768)*tied*="])


def test_a_class_of_the_projects_own_is_held_to_its_own_closed_form(pytester: pytest.Pytester) -> None:
    assert run(pytester, "own-closed-form").ret == pytest.ExitCode.OK
    # 109,580,544: what is published for ColBERTv2, 109,482,240 of BERT-base and 768 × 128 of projection
    assert counts("colbert").items() >= {"head.projection": 98_304, "pooler": 590_592, "total": 109_580_544}.items()


def changed(file: str, old: str, new: str) -> None:
    """Change one place of one file of the example that was copied here."""
    text = Path(file).read_text("utf-8")
    assert text.count(old) == 1, f"{file} has {old!r} {text.count(old)} times"
    Path(file).write_text(text.replace(old, new), encoding="utf-8")


def broken(pytester: pytest.Pytester, name: str, file: str, old: str, new: str) -> dict[str, str]:
    """The headlines of an example's models that fail once it says something else in one place."""
    shutil.copytree(EXAMPLES / name, pytester.path, dirs_exist_ok=True)
    changed(file, old, new)
    result = pytester.runpytest("--bert-budget", "--bert-budget-report=size.json")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    models = json.loads(Path("size.json").read_text("utf-8"))["models"]
    return {each["name"]: each["headline"] for each in models if each["verdict"] == "failed"}


def test_e_bert4keras_classifier_passes_line_by_line(pytester: pytest.Pytester) -> None:
    assert run(pytester, "e-bert4keras-classifier").ret == pytest.ExitCode.OK
    # SOURCES E: what model.summary() lists
    assert (
        counts("classifier").items()
        >= {
            "embeddings.word": 16_226_304,
            "embeddings.token_type": 1_536,
            "embeddings.position": 393_216,
            "embeddings.norm": 1_536,
            "encoder.attention": 12 * 2_362_368,
            "encoder.feed_forward": 12 * 4_722_432,
            "encoder.norm": 12 * (1_536 + 1_536),
            "head.dense_output": 1_538,
            "total": 101_678_594,
        }.items()
    )


def test_e_bert4keras_classifier_with_its_pooler_fails(pytester: pytest.Pytester) -> None:
    said = broken(pytester, "e-bert4keras-classifier", "classifier.py", ", add_pooling_layer=False", "")
    assert said["classifier"].startswith("classifier: total 102,269,186, limit 101,678,594 (+590,592)")


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


def test_a_tagger_that_trains_one_layer_more_fails(pytester: pytest.Pytester) -> None:
    said = broken(pytester, "tagger", "tagger/model.py", "layer[:6]", "layer[:5]")
    assert list(said) == ["tagger"]


def test_a_tagger_without_its_second_direction_fails(pytester: pytest.Pytester) -> None:
    said = broken(pytester, "tagger", "tagger/model.py", "bidirectional=True, ", "")
    assert said["tagger"].startswith("tagger: head.lstm ")


def test_the_training_files_pass_wherever_their_configs_live(pytester: pytest.Pytester) -> None:
    assert run(pytester, "training-files").ret == pytest.ExitCode.OK
    models = json.loads(Path("size.json").read_text("utf-8"))["models"]
    assert {each["name"]: each["totals"]["actual"] for each in models} == {
        "bert-mini": 11_170_560,  # Turc et al. 2019
        "bert-tiny": 4_385_920,
        "trained": 4_364_348,
        "computed": 28_763_648,
        "probe": 62_688,
    }


@pytest.mark.parametrize(
    ("file", "old", "new", "failed"),
    [
        ("train.yaml", "num_blks: 2", "num_blks: 20", "trained"),
        ("acme/sizes.py", "512", "1024", "computed"),
        ("pyproject.toml", "vocab_size = 1000", "vocab_size = 10000", "probe"),
    ],
)
def test_a_training_file_that_says_more_fails(
    pytester: pytest.Pytester, file: str, old: str, new: str, failed: str
) -> None:
    assert list(broken(pytester, "training-files", file, old, new)) == [failed]


def test_lora_passes_by_what_it_trains(pytester: pytest.Pytester) -> None:
    assert run(pytester, "lora").ret == pytest.ExitCode.OK
    found = counts("classifier")
    assert found["adapters.lora"] == 24 * 8 * (768 + 768)
    assert found["adapters.modules_to_save"] == 1_538
    assert found["trainable"] == 294_912 + 1_538


def test_lora_of_another_rank_fails(pytester: pytest.Pytester) -> None:
    said = broken(pytester, "lora", "adapters/adapter_config.json", '"r": 8', '"r": 16')
    assert said["classifier"].startswith("classifier: total 110,075,140, limit 110,000,000 (+75,140)")


def test_the_checkpoint_passes_against_its_config_and_its_tokenizer(pytester: pytest.Pytester) -> None:
    assert run(pytester, "checkpoint").ret == pytest.ExitCode.OK


@pytest.mark.parametrize(
    ("old", "new"),
    [('"vocab_size": 64', '"vocab_size": 65'), ('"intermediate_size": ', '"intermediate_size": 1')],
)
def test_a_checkpoint_of_another_config_fails(pytester: pytest.Pytester, old: str, new: str) -> None:
    said = broken(pytester, "checkpoint", "released/config.json", old, new)
    assert list(said) == ["released"]


def test_the_deployment_passes_by_bytes_and_flops(pytester: pytest.Pytester) -> None:
    assert run(pytester, "deployment").ret == pytest.ExitCode.OK
    assert counts("encoder")["total"] == 109_482_240
    assert counts("exported")["total"] == 11_683_584
    models = json.loads(Path("size.json").read_text("utf-8"))["models"]
    measured = {each["name"]: {row["name"]: row["actual"] for row in each["measures"]} for each in models}
    assert measured["encoder"]["bytes"] == 2 * 109_482_240
    assert measured["exported"]["bytes"] == 4 * 89_650_176  # ALBERT-base, unrolled


@pytest.mark.parametrize(
    ("old", "new", "headline"),
    [
        ('"220MB", dtype = "float16"', '"220MB", dtype = "float32"', "encoder: bytes 437,928,960,"),
        ("seq_len = 128", "seq_len = 129", "encoder: flops "),
        ('count = "unrolled" }', 'count = "unrolled" }\nhead = 0\nencoder = 0', "exported: encoder "),
    ],
)
def test_a_deployment_that_takes_more_fails(pytester: pytest.Pytester, old: str, new: str, headline: str) -> None:
    (said,) = broken(pytester, "deployment", "pyproject.toml", old, new).values()
    assert said.startswith(headline)


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.iterdir() if path.is_dir()))
def test_every_example_has_a_test_here(name: str) -> None:
    assert f'"{name}"' in Path(__file__).read_text("utf-8")
