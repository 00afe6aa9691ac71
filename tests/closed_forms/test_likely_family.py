"""Which family a config without model_type is probably of: the one that reads what it says."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_bertsize.closed_forms.derive import family_name
from pytest_bertsize.closed_forms.registry import Registry
from pytest_bertsize.config.model_config import config_at
from pytest_bertsize.findings import Unusable
from pytest_bertsize.table.limits import Budget
from pytest_bertsize.table.model import Model

GOOGLES: dict[str, Any] = {"vocab_size": 9, "hidden_size": 4, "num_hidden_layers": 1, "num_attention_heads": 1}
GOOGLES |= {"intermediate_size": 8, "max_position_embeddings": 8, "type_vocab_size": 2}


@pytest.mark.parametrize(
    ("keys", "families"),
    [
        ({}, '"bert"'),
        ({"hidden_dropout_prob": 0.1, "seed": 1}, '"bert"'),
        ({"position_buckets": 256}, '"deberta-v2"'),
        ({"num_hidden_groups": 1, "inner_group_num": 1, "embedding_size": 2}, '"albert"'),
        ({"embedding_size": 2, "trigram_input": True, "num_hidden_groups": 1}, '"albert", or "mobilebert"'),
        ({"architectures": ["RobertaModel"]}, '"roberta"'),
    ],
)
def test_the_hint_names_the_families_that_read_the_most_keys(keys: dict[str, Any], families: str) -> None:
    model = Model(name="m", config="x.json", budget=Budget(), table_key=("tool",))
    with pytest.raises(Unusable) as unusable:
        family_name(model, config_at({**GOOGLES, **keys}, "x.json"), Registry())
    assert [finding.fix for finding in unusable.value.findings] == [f"write family = {families}"]
