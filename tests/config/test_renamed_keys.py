"""``keys = { num_blks = "num_hidden_layers" }``: training files with names of their own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_bertsize.config.model_config import rename_keys
from pytest_bertsize.config.text_files import parse_json
from pytest_bertsize.findings import Unusable

if TYPE_CHECKING:
    from pytest_bertsize.config.model_config import ModelConfig

FILE = """{
  "train": {
    "num_blks": 12,
    "dim": 768,
    "encoder": {
      "heads": 12,
      "drop": 0.1
    },
    "a.b": 1
  }
}
"""


def config(text: str = FILE, inner: str = "train") -> ModelConfig:
    return parse_json(text.encode(), "train.json", inner)


def refused(keys: dict[str, str], found: ModelConfig | None = None) -> list[tuple[str, str, tuple[str, ...] | None]]:
    with pytest.raises(Unusable) as unusable:
        rename_keys(found or config(), keys)
    assert {each.kind for each in unusable.value.findings} == {"config-invalid"}
    return [(each.message, each.fix, each.table_key) for each in unusable.value.findings]


def test_a_config_has_its_own_names_and_the_values_of_the_file() -> None:
    found = rename_keys(config(), {"num_blks": "num_hidden_layers", "dim": "hidden_size"})
    rest = {"encoder": {"heads": 12, "drop": 0.1}, "a.b": 1}
    assert found.data == {"num_hidden_layers": 12, "hidden_size": 768, **rest}
    assert found.as_written == config().data
    assert (found.reference, found.sha256) == ("train.json#train", config().sha256)


def test_a_renamed_key_stands_where_the_file_has_its_own() -> None:
    found = rename_keys(config(), {"num_blks": "num_hidden_layers", "encoder": "inner"})
    assert found.line("num_hidden_layers") == 3
    assert found.line("dim") == 4
    assert found.line("inner", "heads") == 6
    assert found.line("num_blks") == 3
    assert found.line("vocab_size") is None


def test_dots_lead_into_an_object_of_which_the_rest_stays() -> None:
    found = rename_keys(config(), {"encoder.heads": "num_attention_heads"})
    assert found.data["num_attention_heads"] == 12
    assert found.data["encoder"] == {"drop": 0.1}
    assert found.line("num_attention_heads") == 6
    assert found.say_name_in_file("num_attention_heads") == " (in the file, num_attention_heads is encoder.heads)"


def test_an_alias_that_the_file_lacks_is_refused() -> None:
    assert refused({"num_blk": "num_hidden_layers", "encoder.head": "n", "zzz": "z", "dim.x": "y"}) == [
        ("keys names num_blk, which is not in train.json#train", 'did you mean num_blks = "num_hidden_layers"?', ("keys", "num_blk")),
        ("keys names encoder.head, which is not in train.json#train", 'did you mean encoder.heads = "n"?', ("keys", "encoder.head")),
        ("keys names zzz, which is not in train.json#train", "write the name that the file has", ("keys", "zzz")),
        ("keys names dim.x, which is not in train.json#train", 'did you mean dim = "y"?', ("keys", "dim.x")),
    ]  # fmt: skip


def test_a_file_that_has_both_names_is_refused() -> None:
    message = "num_blks stands for dim, and train.json#train has both, on line 4"
    fix = "remove num_blks from keys, or one of them from the file"
    assert refused({"num_blks": "dim"}) == [(message, fix, ("keys", "num_blks"))]


def test_two_names_for_one_key_are_refused() -> None:
    message = "keys names both num_blks and dim for num_hidden_layers"
    keys = {"num_blks": "num_hidden_layers", "dim": "num_hidden_layers"}
    assert refused(keys) == [(message, "keep one of them", ("keys", "dim"))]


@pytest.mark.parametrize("keys", [{"encoder": "a", "encoder.heads": "b"}, {"encoder.heads": "b", "encoder": "a"}])
def test_an_object_and_a_part_of_it_are_refused(keys: dict[str, str]) -> None:
    message = "keys names both encoder and encoder.heads, which is a part of it"
    assert refused(keys) == [(message, "keep one of them", ("keys", "encoder.heads"))]


NAMES = st.sampled_from("abcdef")


@given(st.dictionaries(NAMES, st.integers(), max_size=6), st.dictionaries(NAMES, NAMES, max_size=4))
def test_renaming_loses_and_invents_no_value(data: dict[str, int], keys: dict[str, str]) -> None:
    found = config(json.dumps(data), "")
    try:
        after = rename_keys(found, keys)
    except Unusable:
        return
    assert {keys.get(key, key): value for key, value in data.items()} == after.data
    assert all(after.line(keys.get(key, key)) == found.line(key) for key in data)
