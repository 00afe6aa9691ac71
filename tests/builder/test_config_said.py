"""What the helper asks a config object: the values of keys, as far as they can be said, and whether its class has a key."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_bertsize.builder.child.making import read_config_values
from pytest_bertsize.builder.messages import ConfigSaid, Request

WRITTEN: dict[str, Any] = {"hidden_size": 12, "num_attention_heads": 3}


def said(*asked: str, unknown: tuple[str, ...] = (), family: str = "bert", **config: Any) -> ConfigSaid:
    names = {"bert": "BertModel", "distilbert": "DistilBertModel", "encoder-decoder": "EncoderDecoderModel"}
    found = read_config_values(Request("", family, names[family], config, {}, asked=asked, unknown=unknown))
    assert json.loads(json.dumps(found.said)) == found.said
    return found


def test_it_says_what_is_written_and_what_is_not() -> None:
    found = said("hidden_size", "intermediate_size", "hidden_act", "is_decoder", **WRITTEN).said
    assert found == {"hidden_size": 12, "intermediate_size": 3072, "hidden_act": "gelu", "is_decoder": False}


def test_it_says_a_key_of_an_object() -> None:
    sides: dict[str, Any] = {"encoder": {"model_type": "bert", **WRITTEN}, "decoder": {"model_type": "bert"}}
    assert said(
        "encoder.hidden_size", "decoder.hidden_size", "decoder.nothing", family="encoder-decoder", **sides
    ).said == {"encoder.hidden_size": 12, "decoder.hidden_size": 768}


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ([1, "a", None, [True]], [1, "a", None, [True]]),
        ((1, 2), [1, 2]),
        (0.5, 0.5),
        (float("nan"), "a float"),
        (10**30, 10**30),
        (object(), "a object"),
        ({"a": 1}, {"a": 1}),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_value_that_no_closed_form_takes_is_said_by_its_kind(value: object, shown: object) -> None:
    assert said("anything", anything=value).said == {"anything": shown}


def test_a_key_is_read_that_the_class_has_and_not_each_config() -> None:
    unknown = ("vocab_size", "favourite_colour", "num_labels", "problem_type", "save_pretrained")
    assert said(unknown=unknown).read == ("vocab_size",)
    assert said(unknown=("num_hidden_layers",), family="distilbert").read == ("num_hidden_layers",)


def test_a_key_of_an_object_is_read_by_the_class_of_that_object() -> None:
    sides: dict[str, Any] = {"encoder": {"model_type": "bert"}, "decoder": {"model_type": "bert"}}
    unknown = ("vocab_size", "encoder.vocab_size", "encoder.colour", "middle.vocab_size")
    assert said(unknown=unknown, family="encoder-decoder", **sides).read == ("encoder.vocab_size",)
