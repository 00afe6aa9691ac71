"""What transformers 4 makes of a file's names when it loads them, asked of a class of the release that is there."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_bertsize.builder.child.loading import find_rows_of_4

TINY = {"vocab_size": 9, "hidden_size": 4, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 4}
WORDS = "embeddings.word_embeddings.weight"
NORM = "embeddings.LayerNorm"
LOADED: dict[str, tuple[str, dict[str, str | None]]] = {
    "a base model takes the prefix of a class with a head off": ("BertModel", {f"bert.{WORDS}": WORDS}),
    "or has none to take off": ("BertModel", {WORDS: WORDS}),
    "a class with a head puts the prefix on what has none": ("BertForMaskedLM", {WORDS: f"bert.{WORDS}"}),
    "names of TensorFlow are those of a norm": (
        "BertModel",
        {f"{NORM}.gamma": f"{NORM}.weight", f"{NORM}.beta": f"{NORM}.bias", "beta": "beta"},
    ),
    "what the class skips is left out and what nobody knows keeps its name": (
        "BertModel",
        {"pooler.old": "pooler.old", "embeddings.position_ids": None},
    ),
}
"""The name that each of a file is loaded as; ``None`` where it is left out."""


@pytest.mark.parametrize(("architecture", "names"), LOADED.values(), ids=LOADED)
def test_a_name_of_a_file_is_loaded_as(architecture: str, names: dict[str, str | None]) -> None:
    import transformers

    model_class: Any = getattr(transformers, architecture)
    model = model_class(model_class.config_class(**TINY))
    model._keys_to_ignore_on_load_unexpected = ["position_ids"]
    assert {name: new for name, new, _ in find_rows_of_4(model, [(name, (4,)) for name in names])} == names
