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
    ("keys", "reference", "family"),
    [
        ({}, "bert_config.json", ["bert"]),
        ({"hidden_dropout_prob": 0.1, "seed": 1}, "x.json", ["bert"]),
        ({"position_buckets": 256}, "x.json", ["deberta-v2"]),
        ({"share_att_key": True, "relative_attention": True, "pos_att_type": "p2c|c2p"}, "x.json", ["deberta-v2"]),
        ({"num_hidden_groups": 1, "inner_group_num": 1, "embedding_size": 2}, "x.json", ["albert"]),
        ({"attention_window": [512]}, "x.json", ["longformer"]),
        ({"embedding_size": 2}, "configs/electra.json", ["electra"]),
        ({"embedding_size": 2}, "configs/mobilebert.json", ["mobilebert"]),
        ({}, "configs/roberta_base.json", ["roberta"]),
    ],
)
def test_the_family_is_the_one_that_reads_its_keys(keys: dict[str, Any], reference: str, family: list[str]) -> None:
    assert Registry().likely({**GOOGLES, **keys}, reference) == family


def test_of_several_that_read_as_much_bert_is_none_that_does_not() -> None:
    likely = Registry().likely({**GOOGLES, "embedding_size": 2})
    assert (likely[:2], "bert" in likely) == (["albert", "electra"], False)


@pytest.mark.parametrize(
    ("keys", "family"), [({"position_buckets": 256}, "deberta-v2"), ({"architectures": ["RobertaModel"]}, "roberta")]
)
def test_the_hint_names_that_family(keys: dict[str, Any], family: str) -> None:
    model = Model(name="m", config="x.json", budget=Budget(), table_key=("tool",))
    with pytest.raises(Unusable) as unusable:
        family_name(model, config_at({**GOOGLES, **keys}, "x.json"), Registry())
    assert [finding.fix for finding in unusable.value.findings] == [f'write family = "{family}"']
