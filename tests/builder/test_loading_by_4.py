"""What transformers 4 makes of a file's names when it loads them, asked of a class of the release that is there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pytest_bertsize.builder.child.loading import find_rows_of_4

TINY = {
    "vocab_size": 9,
    "hidden_size": 4,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 4,
    "max_position_embeddings": 8,
}


@pytest.fixture
def loaded() -> Callable[..., dict[str, str | None]]:
    """Return the name that each of a file is loaded as; ``None`` where it is left out."""
    import transformers

    def load(architecture: str, *names: str, skip: str = "") -> dict[str, str | None]:
        model_class: Any = getattr(transformers, architecture)
        model = model_class(model_class.config_class(**TINY))
        model._keys_to_ignore_on_load_unexpected = [skip] if skip else None
        return {name: new for name, new, _ in find_rows_of_4(model, [(name, (4,)) for name in names])}

    return load


def test_a_base_model_takes_the_prefix_of_a_class_with_a_head_off(loaded: Callable[..., Any]) -> None:
    words = "embeddings.word_embeddings.weight"
    assert loaded("BertModel", f"bert.{words}") == {f"bert.{words}": words}
    assert loaded("BertModel", words) == {words: words}


def test_a_class_with_a_head_puts_the_prefix_on_what_has_none(loaded: Callable[..., Any]) -> None:
    words = "embeddings.word_embeddings.weight"
    assert loaded("BertForMaskedLM", words) == {words: f"bert.{words}"}


def test_names_of_tensorflow_are_those_of_a_norm(loaded: Callable[..., Any]) -> None:
    found = loaded("BertModel", "embeddings.LayerNorm.gamma", "embeddings.LayerNorm.beta", "beta")
    assert found == {
        "embeddings.LayerNorm.gamma": "embeddings.LayerNorm.weight",
        "embeddings.LayerNorm.beta": "embeddings.LayerNorm.bias",
        "beta": "beta",
    }


def test_what_the_class_skips_is_left_out_and_what_nobody_knows_keeps_its_name(loaded: Callable[..., Any]) -> None:
    found = loaded("BertModel", "pooler.old", "embeddings.position_ids", skip="position_ids")
    assert found == {"pooler.old": "pooler.old", "embeddings.position_ids": None}
