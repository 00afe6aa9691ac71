"""What a factory has and its table does not say is printed as rows that can be pasted."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from tests.support.own_classes import bert, checked, errors, of, on_meta


def transformer(layers: int) -> nn.Module:
    with torch.device("meta"):
        return nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 6), layers, enable_nested_tensor=False)


def custom() -> nn.Module:
    module = of(dense=on_meta(nn.Linear, 4, 3))
    module.scale = nn.Parameter(torch.empty(4, 5, device="meta"))
    return module


def scaled() -> nn.Module:
    module = of(proj=on_meta(nn.Linear, 4, 3))
    module.logit_scale = nn.Parameter(torch.ones([], device="meta"))
    return module


MODULES: dict[str, tuple[Callable[[], Any], str]] = {
    "linear": (lambda: on_meta(nn.Linear, 4, 2), '{ name = "x", linear = [4, 2] }'),
    "without bias": (lambda: on_meta(nn.Linear, 4, 2, bias=False), '{ name = "x", linear = [4, 2], bias = false }'),
    "embedding": (lambda: on_meta(nn.Embedding, 9, 4), '{ name = "x", embedding = [9, 4] }'),
    "norm": (lambda: on_meta(nn.LayerNorm, 4), '{ name = "x", layer_norm = 4 }'),
    "rms": (lambda: on_meta(nn.RMSNorm, 4), '{ name = "x", rms_norm = 4 }'),
    "conv1d": (lambda: on_meta(nn.Conv1d, 4, 2, 3), '{ name = "x", conv1d = [4, 2, 3] }'),
    "conv2d": (lambda: on_meta(nn.Conv2d, 4, 2, 3), '{ name = "x", conv2d = [4, 2, 3] }'),
    "oblong": (lambda: on_meta(nn.Conv2d, 4, 2, (3, 1)), '{ name = "x", conv2d = [4, 2, 3, 1] }'),
    "lstm": (
        lambda: on_meta(nn.LSTM, 4, 3, 2, bidirectional=True),
        '{ name = "x", lstm = [4, 3], layers = 2, bidirectional = true }',
    ),
    "gru": (lambda: on_meta(nn.GRU, 4, 3, bias=False), '{ name = "x", gru = [4, 3], bias = false }'),
    "attention": (lambda: on_meta(nn.MultiheadAttention, 4, 2), '{ name = "x", multihead_attention = 4 }'),
    "layers": (lambda: transformer(3), '{ name = "x.layers", transformer_encoder_layer = [4, 6], count = 3 }'),
    "list": (
        lambda: nn.ModuleList(on_meta(nn.Linear, 4, 2) for _ in range(6)),
        '{ name = "x", linear = [4, 2], count = 6 }',
    ),
    "different": (
        lambda: nn.ModuleList(on_meta(nn.Linear, 4, outputs) for outputs in (2, 3)),
        '{ name = "x.0", linear = [4, 2] }, { name = "x.1", linear = [4, 3] }',
    ),
    "a class of its own": (custom, '{ name = "x.scale", parameter = [4, 5] }, { name = "x.dense", linear = [4, 3] }'),
    "a temperature": (scaled, '{ name = "x.logit_scale", parameter = [] }, { name = "x.proj", linear = [4, 3] }'),
    "bilinear, of which there is no block": (
        lambda: on_meta(nn.Bilinear, 4, 3, 2),
        '{ name = "x.weight", parameter = [2, 4, 3] }, { name = "x.bias", parameter = 2 }',
    ),
}


@pytest.mark.parametrize("case", MODULES)
def test_the_rows_say_what_was_built_and_pasted_make_the_run_green(tmp_path: Path, case: str) -> None:
    make, rows = MODULES[case]
    review = checked(tmp_path, 'backbone = "bert"', of(bert=bert(), x=make()))
    (found,) = review.errors
    assert found.fix.endswith(f"mend the class, or write extra = [ {rows} ]")
    pasted = re.search(r"extra = \[.*\]", found.fix)
    assert pasted is not None
    assert errors(checked(tmp_path, f'backbone = "bert"\n{pasted[0]}', of(bert=bert(), x=make()))) == []


def test_a_table_that_has_rows_gets_the_others(tmp_path: Path) -> None:
    table = 'backbone = "bert"\nextra = [{ name = "out", linear = [4, 2] }]'
    review = checked(tmp_path, table, of(bert=bert(), out=on_meta(nn.Linear, 4, 2), more=on_meta(nn.Linear, 4, 2)))
    assert review.errors[0].fix.endswith('mend the class, or add to extra { name = "more", linear = [4, 2] }')


def test_a_tie_is_in_the_row_of_what_is_tied(tmp_path: Path) -> None:
    held, out = bert(), on_meta(nn.Linear, 4, 11)
    out.weight = held.embeddings.word_embeddings.weight
    review = checked(tmp_path, 'backbone = "bert"', of(bert=held, out=out))
    assert '{ name = "out.bias", parameter = 11 }' in review.errors[0].fix


def test_a_backbone_that_the_table_does_not_name_is_no_row_of_extra(tmp_path: Path) -> None:
    with torch.device("meta"):
        from transformers import BertConfig, BertModel

        deep = BertModel(BertConfig(hidden_size=4, num_attention_heads=2, num_hidden_layers=12, intermediate_size=6))
    review = checked(tmp_path, 'backbone = "other"', of(bert=deep))
    assert not any("{ name" in finding.fix for finding in review.errors)


def test_what_is_of_another_size_than_the_table_says_is_no_row_more(tmp_path: Path) -> None:
    table = 'backbone = "bert"\nextra = [{ name = "out", linear = [4, 2] }]'
    review = checked(tmp_path, table, of(bert=bert(), out=on_meta(nn.Linear, 4, 3)))
    assert review.errors[0].fix.endswith("say in the table what it has: extra, without, options, frozen")
