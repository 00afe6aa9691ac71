"""The source documents, as a user would run them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


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
            "    word              16,226,304          = =16,226,304 *",
            "✗   attention ×12     28,348,416          =  =2,359,296   -26M  >9x *",
            "    norm ×12              36,864          =     =36,864      0 100% *",
            "✗   feed_forward ×12  56,669,184          = =56,623,104 -46.1K 101% *",
            "  pooler                       0          =          =0      0   0%",
            "✗ head                   613,256          =          =0  -614K  >9x *",
            "  → that is one layer without its biases: ×12 is 28,311,552, and the biases are",
            "    36,864",
            "  → that is without the biases, which are 46,080",
            "  → that leaves out head.decoder 21,128, head.transform 592,128",
            "    encoder.attention +25,989,120, encoder.feed_forward +46,080, head +613,256",
        ],
        consecutive=False,
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


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.iterdir() if path.is_dir()))
def test_every_example_has_a_test_here(name: str) -> None:
    assert f'"{name}"' in Path(__file__).read_text("utf-8")
