"""The blocks that a table describes a project's class by, each against torch's own module."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from pytest_bertsize.table.settings import SettingsError
from tests.support.formulas import assert_formulas_count
from tests.support.own_classes import bert, checked, errors, of, on_meta, passing


def listed(kind: type[nn.Module], count: int, *arguments: Any) -> nn.Module:
    return nn.ModuleList(on_meta(kind, *arguments) for _ in range(count))


def encoder_of(layers: int) -> nn.Module:
    with torch.device("meta"):
        return nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 6), layers, enable_nested_tensor=False)


BLOCKS = {
    "linear = [3, 2]": lambda: on_meta(nn.Linear, 3, 2),
    "linear = [3, 2], bias = false": lambda: on_meta(nn.Linear, 3, 2, bias=False),
    "embedding = [5, 3]": lambda: on_meta(nn.Embedding, 5, 3),
    "layer_norm = 5": lambda: on_meta(nn.LayerNorm, 5),
    "layer_norm = [5]": lambda: on_meta(nn.LayerNorm, 5),
    "parameter = 5": lambda: nn.Parameter(torch.empty(5, device="meta")),
    "parameter = [2, 3, 4]": lambda: nn.Parameter(torch.empty(2, 3, 4, device="meta")),
    "conv1d = [3, 2, 5]": lambda: on_meta(nn.Conv1d, 3, 2, 5),
    "conv1d = [3, 2, 5], bias = false": lambda: on_meta(nn.Conv1d, 3, 2, 5, bias=False),
    "lstm = [3, 2]": lambda: on_meta(nn.LSTM, 3, 2),
    "lstm = [3, 2], layers = 2, bidirectional = true, bias = false": lambda: on_meta(
        nn.LSTM, 3, 2, 2, bidirectional=True, bias=False
    ),
    'linear = ["hidden_size", "2*hidden_size + 16"]': lambda: on_meta(nn.Linear, 4, 24),
    'linear = ["hidden_size+hidden_size", "3 * intermediate_size"]': lambda: on_meta(nn.Linear, 8, 18),
    'linear = ["num_hidden_layers", "num_labels"]': lambda: on_meta(nn.Linear, 2, 2),
    "conv2d = [3, 2, 5]": lambda: on_meta(nn.Conv2d, 3, 2, 5),
    'conv2d = [3, 2, 5, "hidden_size"], bias = false': lambda: on_meta(nn.Conv2d, 3, 2, (5, 4), bias=False),
    'gru = ["hidden_size", 3], layers = 2, bidirectional = true': lambda: on_meta(nn.GRU, 4, 3, 2, bidirectional=True),
    'multihead_attention = "hidden_size"': lambda: on_meta(nn.MultiheadAttention, 4, 2),
    "multihead_attention = 4, bias = false": lambda: on_meta(nn.MultiheadAttention, 4, 2, bias=False),
    "layer_norm = 4, bias = false": lambda: on_meta(nn.LayerNorm, 4, bias=False),
    'rms_norm = "hidden_size"': lambda: on_meta(nn.RMSNorm, 4),
    'transformer_encoder_layer = ["hidden_size", "intermediate_size"]': lambda: on_meta(
        nn.TransformerEncoderLayer, 4, 2, 6
    ),
    'transformer_decoder_layer = [4, "2*hidden_size"], bias = false': lambda: on_meta(
        nn.TransformerDecoderLayer, 4, 2, 8, bias=False
    ),
    'linear = ["hidden_size", 2], count = 3': lambda: listed(nn.Linear, 3, 4, 2),
    'linear = ["hidden_size", 2], count = "num_hidden_layers"': lambda: listed(nn.Linear, 2, 4, 2),
    'multihead_attention = 4, count = "num_hidden_layers + 1"': lambda: listed(nn.MultiheadAttention, 3, 4, 2),
    "layers: transformer_encoder_layer = [4, 6], count = 2": lambda: encoder_of(2),
}


@pytest.mark.parametrize("written", BLOCKS)
def test_what_the_table_says_is_what_torch_builds_and_what_its_formula_comes_to(tmp_path: Path, written: str) -> None:
    place, _, block = written.rpartition(": ")
    table = f'backbone = "bert"\nextra = [{{ name = "{".".join(filter(None, ("x", place)))}", {block} }}]'
    review = checked(tmp_path, table, of(bert=bert(), x=BLOCKS[written]()))
    own = sum(parameter.numel() for parameter in of(x=BLOCKS[written]()).parameters())
    form = review.subject.form
    assert form is not None
    assert form["head.x"] == passing(review)["head.x"] == own
    assert_formulas_count(form)
    without = checked(tmp_path, table, of(bert=bert()))
    assert [(finding.kind, finding.component) for finding in without.errors] == [("off-closed-form", "head.x")]


def test_a_list_by_a_key_of_the_config_is_repeated_in_its_formula(tmp_path: Path) -> None:
    table = 'backbone = "bert"\nextra = [{ name = "x", linear = ["hidden_size", 2], count = "num_hidden_layers" }]'
    review = checked(tmp_path, table, of(bert=bert(), x=listed(nn.Linear, 3, 4, 2)))
    assert review.headline == "own: head.x 30, closed form 20 (+10)"
    assert "the closed form L·(2·D + 2) = 20" in errors(review)[0]


def test_a_norm_that_learns_nothing_counts_nothing(tmp_path: Path) -> None:
    table = 'backbone = "bert"\nextra = [{ name = "x", layer_norm = 4, elementwise_affine = false }]'
    norms = [on_meta(nn.LayerNorm, 4, elementwise_affine=learns) for learns in (False, True)]
    assert [errors(checked(tmp_path, table, of(bert=bert(), x=norm))) == [] for norm in norms] == [True, False]


def test_a_range_in_the_name_is_a_module_in_each_of_those_layers(tmp_path: Path) -> None:
    held = bert()
    table = """
        backbone = "bert"
        extra = [{ name = "bert.encoder.layer[1:].adapter", linear = ["hidden_size", 2], component = "encoder.adapter" }]
    """
    held.encoder.layer[1].add_module("adapter", on_meta(nn.Linear, 4, 2))
    actual = passing(checked(tmp_path, table, of(bert=held)))
    assert actual["encoder.adapter"] == 10
    held.encoder.layer[0].add_module("adapter", on_meta(nn.Linear, 4, 2))
    assert checked(tmp_path, table, of(bert=held)).headline.startswith("own: encoder 328, closed form 318 (+10)")


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ('name = "x", linear = [2, 3], count = 0', "count 0 is no size: write a number"),
        ('name = "x", linear = [2, 3], count = "2 x"', '"2 x" is no size: write a number'),
        ('name = "x", linear = [2, 3], count = true', "true is no size: write a number"),
        ('name = "x", conv2d = [2, 3]', "conv2d takes [in, out, height, width], and this has 2"),
        ('name = "x", rms_norm = 4, bias = false', "rms_norm has no argument bias: remove it"),
        ('name = "x", linear = [4, 2], count = 2, tied = { weight = "bert.x" }', "it is several modules"),
        ('name = "x[", linear = [4, 2]', "is not the path of a module"),
    ],
)
def test_what_no_block_can_be_told_is_a_mistake_of_the_table(tmp_path: Path, written: str, message: str) -> None:
    with pytest.raises(SettingsError) as raised:
        checked(tmp_path, f'backbone = "bert"\nextra = [{{ {written} }}]', of(bert=bert()))
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("written", "message", "fix"),
    [
        ('name = "x[:6]", linear = [4, 2]', "extra: the model has no x; it has bert", 'correct "extra"'),
        (
            'name = "x", linear = [4, 2], count = "vocab_size"',
            'the extra "x" is 2,000 modules, more than 1,000',
            "write as many as there are",
        ),
    ],
)
def test_a_list_that_is_none_is_a_mistake_with_a_way_out(tmp_path: Path, written: str, message: str, fix: str) -> None:
    config = {"model_type": "bert", "architectures": ["BertModel"], "vocab_size": 2000}
    review = checked(tmp_path, f'backbone = "bert"\nextra = [{{ {written} }}]', of(bert=bert()), config)
    (found,) = review.errors
    assert found.message == message
    assert fix in found.fix
    assert found.line == 6
