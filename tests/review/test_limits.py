"""What a count by hand usually forgets, recognised from its number: SOURCES A, and its list at the end."""

from __future__ import annotations

import pytest

from tests.support.bert_reviews import only, reviewed


@pytest.mark.parametrize(
    ("component", "claim", "forgot"),
    [
        (
            "encoder.attention",
            2_359_296,
            "that is one layer without its biases: ×12 is 28,311,552, and the biases are 36,864",
        ),
        ("encoder.attention", 2_362_368, "that is one layer: ×12 is 28,348,416"),
        ("encoder.feed_forward", 56_623_104, "that is without the biases, which are 46,080"),
        ("encoder.attention", 118_537_744, "to accept it, write exact = 28_348_416"),
        ("head.decoder", 0, "to accept it, write exact = 21_128"),
        ("trainable", 102_290_312 - 613_256, "to accept it, write exact = 102_290_312"),
        ("head", 0, "that leaves out head.decoder 21,128, head.transform 592,128"),
        ("total", 102_290_312 - 613_256, "that is without the head, which is 613,256"),
        ("total", 102_290_312 - 393_216, "that is without the embeddings.position, which is 393,216"),
        ("total", 118_537_744, "that counts tied tensors twice, 16,247,432 too many"),
        ("total", 102_290_311, "to accept it, write exact = 102_290_312"),
    ],
)
def test_a_usual_mistake_is_recognised_from_its_number(component: str, claim: int, forgot: str) -> None:
    assert only(reviewed(**{component: {"exact": claim}})).fix == forgot


def test_a_total_that_is_the_sum_of_wrong_parts_is_off_by_as_much() -> None:
    parts = {"embeddings": {"exact": 16_622_592}, "encoder": {"exact": 85_054_464}, "head": {"exact": 600_000}}
    found = reviewed(**parts, total={"exact": 16_622_592 + 85_054_464 + 600_000})
    assert found.errors[-1].fix == "that is the sum of the other limits, and off by as much as they are: head +13,256"


def test_the_sum_of_the_other_limits_names_each_part_that_is_off() -> None:
    parts = {
        "embeddings": {"exact": 16_000_000},
        "encoder": {"exact": 85_054_464},
        "head": {"exact": 600_000},
        "pooler": 0,
    }
    found = reviewed(**parts, total={"exact": 16_000_000 + 85_054_464 + 600_000})
    assert found.errors[-1].fix == (
        "that is the sum of the other limits, and off by as much as they are: embeddings +622,592, head +13,256"
    )


def test_the_sum_of_parts_that_hold_explains_nothing() -> None:
    found = only(reviewed(embeddings={"exact": 16_622_592}, head={"exact": 613_256}, total={"exact": 17_235_848}))
    assert found.fix == "to accept it, write exact = 102_290_312"


def test_a_repeated_component_that_is_too_small_says_nothing_of_layers() -> None:
    assert only(reviewed(encoder={"min": "86M"})).fix == 'to accept it, write min = "85M"'
    assert only(reviewed(encoder={"min": "86M", "max": "90M"})).fix == 'to accept it, write min = "85M"'


def test_a_repeated_component_says_how_many_layers_its_limit_affords() -> None:
    # 7,087,872 a layer: SOURCES E
    found = only(reviewed(encoder="80M"))
    assert found.fix == 'one layer of it is 7,087,872, so 11 of 12 fit; to accept it, write "86M"'
