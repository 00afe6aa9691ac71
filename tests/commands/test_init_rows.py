"""What a class has beside its backbone, as rows of ``extra``, and why a class has no closed form."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from transformers import BertPreTrainedModel, RoFormerConfig, RoFormerModel, ViltConfig, ViltModel

from pytest_bertsize.builder.child.listing import take_inventory
from pytest_bertsize.closed_forms.registry import Registry
from pytest_bertsize.commands.init.own_class import Discovery, Draft
from pytest_bertsize.commands.init.project import read_project
from pytest_bertsize.commands.init.rows import propose_rows
from tests.support.own_classes import bert, checked, errors, of, on_meta


def transformer() -> nn.Module:
    with torch.device("meta"):
        return nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 6), 3, enable_nested_tensor=False)


def prompts() -> nn.Module:
    module = of(prompts=nn.ParameterList(torch.empty(2, 4, device="meta") for _ in range(3)))
    module.last = nn.Parameter(torch.empty(4, device="meta"))
    return module


def custom(*shape: int) -> nn.Module:
    module = of(dense=linear(4, 3))
    module.scale = nn.Parameter(torch.ones(shape, device="meta"))
    return module


def linear(*sizes: int, **named: Any) -> nn.Module:
    return on_meta(nn.Linear, *sizes, **named)


def listed(make: Callable[[], nn.Module], number: int) -> nn.Module:
    return nn.ModuleList(make() for _ in range(number))


def of_lists() -> nn.Module:
    return listed(lambda: nn.Sequential(linear(4, 2), linear(4, 2)), 3)


MODULES: list[tuple[Callable[[], Any], str]] = [
    (lambda: linear(4, 2), '{ name = "x", linear = [4, 2] }'),
    (lambda: linear(4, 2, bias=False), '{ name = "x", linear = [4, 2], bias = false }'),
    (lambda: on_meta(nn.Embedding, 9, 4), '{ name = "x", embedding = [9, 4] }'),
    (lambda: on_meta(nn.LayerNorm, 4), '{ name = "x", layer_norm = 4 }'),
    (lambda: on_meta(nn.RMSNorm, 4), '{ name = "x", rms_norm = 4 }'),
    (lambda: on_meta(nn.Conv1d, 4, 2, 3), '{ name = "x", conv1d = [4, 2, 3] }'),
    (lambda: on_meta(nn.Conv2d, 4, 2, 3), '{ name = "x", conv2d = [4, 2, 3] }'),
    (lambda: on_meta(nn.Conv2d, 4, 2, (3, 1)), '{ name = "x", conv2d = [4, 2, 3, 1] }'),
    (
        lambda: on_meta(nn.LSTM, 4, 3, 2, bidirectional=True),
        '{ name = "x", lstm = [4, 3], layers = 2, bidirectional = true }',
    ),
    (lambda: on_meta(nn.GRU, 4, 3, bias=False), '{ name = "x", gru = [4, 3], bias = false }'),
    (lambda: on_meta(nn.MultiheadAttention, 4, 2), '{ name = "x", multihead_attention = 4 }'),
    (transformer, '{ name = "x.layers", transformer_encoder_layer = [4, 6], count = 3 }'),
    (lambda: listed(lambda: linear(4, 2), 6), '{ name = "x", linear = [4, 2], count = 6 }'),
    (
        lambda: listed(lambda: custom(4, 5), 3),
        '{ name = "x.*.scale", parameter = [4, 5], count = 3 }, { name = "x.*.dense", linear = [4, 3], count = 3 }',
    ),
    (of_lists, '{ name = "x.*.0", linear = [4, 2], count = 3 }, { name = "x.*.1", linear = [4, 2], count = 3 }'),
    (
        lambda: nn.ModuleList([linear(4, 2), linear(4, 3)]),
        '{ name = "x.0", linear = [4, 2] }, { name = "x.1", linear = [4, 3] }',
    ),
    (prompts, '{ name = "x.last", parameter = 4 }, { name = "x.prompts", parameter = [2, 4], count = 3 }'),
    (lambda: custom(4, 5), '{ name = "x.scale", parameter = [4, 5] }, { name = "x.dense", linear = [4, 3] }'),
    (custom, '{ name = "x.scale", parameter = [] }, { name = "x.dense", linear = [4, 3] }'),  # as a temperature
    (  # of which there is no block
        lambda: on_meta(nn.Bilinear, 4, 3, 2),
        '{ name = "x.weight", parameter = [2, 4, 3] }, { name = "x.bias", parameter = 2 }',
    ),
]


@pytest.mark.parametrize(("make", "rows"), MODULES)
def test_the_rows_say_what_was_built_and_describe_it(tmp_path: Path, make: Callable[[], Any], rows: str) -> None:
    held, made = bert(), make()
    whole = take_inventory(of(bert=held, x=made), own=True)
    found = propose_rows([each for each in whole.tensors if each.name.startswith("x.")], whole.kinds)
    assert ", ".join(map(str, found)) == rows
    assert errors(checked(tmp_path, f'backbone = "bert"\nextra = [{rows}]', of(bert=held, x=made))) == []


def test_a_tie_is_in_the_row_of_what_is_tied() -> None:
    held, out = bert(), linear(4, 11)
    out.weight = held.embeddings.word_embeddings.weight
    whole = take_inventory(of(bert=held, out=out), own=True)
    (row,) = propose_rows([each for each in whole.tensors if each.name.startswith("out.")], whole.kinds)
    assert row.tied == {"weight": "bert.embeddings.word_embeddings.weight"}


# why there is none


def many() -> nn.Module:
    return of(**{f"x{index}": linear(index + 1, 2) for index in range(41)})


class Wrapped(BertPreTrainedModel):  # type: ignore[misc]
    """A class of the project that derives from one without modules."""

    def __init__(self, **modules: nn.Module) -> None:
        super().__init__(bert().config)
        for name, module in modules.items():
            self.add_module(name, module)


def vilt(*, known: bool = False) -> nn.Module:
    """A model of the library without a closed form: 8 rows for its layers, 10 of embeddings, norm and pooler.

    :param known: whether it has nothing more, so that these rows suffice.
    """
    sizes = {"hidden_size": 4, "num_attention_heads": 2, "intermediate_size": 6, "image_size": 4, "patch_size": 2}
    model = ViltModel(ViltConfig(vocab_size=11, num_hidden_layers=6, **sizes))
    model.add_module("rest", nn.Module() if known else many())
    return model


def blank() -> nn.Module:
    module = nn.Module()
    module.add_module("my bert", bert())
    return module


def discover(root: Path, make: Callable[[], nn.Module], config: str = "") -> Discovery:
    with torch.device("meta"):
        built = take_inventory(make(), own=True)
    return Discovery(read_project(root), Registry(), built, Draft("own", "own:build", {}, config))


UNLIKE = "BertModel and extra do not describe it"


@pytest.mark.parametrize(
    ("make", "comment", "problem"),
    [
        (many, "no class of a known family is in it", ""),
        (
            lambda: of(bert=bert(), rest=many()),
            UNLIKE,
            "unexpected is +1,804, and the closed form has none: rest is new: 1,804 (82 tensors)",
        ),
        (
            lambda: Wrapped(bert=bert(), image=vilt()),
            UNLIKE,
            "unexpected is +3,060, and the closed form has none: image is new: 3,060 (192 tensors)",
        ),
        (vilt, "no class of a known family is in it", ""),
        (blank, UNLIKE, "no table can name its modules"),
    ],
)
def test_a_class_that_no_table_describes_is_told_why(
    tmp_path: Path, make: Callable[[], nn.Module], comment: str, problem: str
) -> None:
    found = discover(tmp_path, make)
    assert f"closed_form = false  # {comment}\n" in str(found.run())
    assert found.problem == problem


def test_a_model_of_the_library_that_few_rows_describe_is_no_problem(tmp_path: Path) -> None:
    found = discover(tmp_path, lambda: of(bert=bert(), image=vilt(known=True)))
    assert len(found.run().extra) == 18
    assert not found.problem


def test_what_the_library_freezes_itself_is_not_in_the_table(tmp_path: Path) -> None:
    sizes = {"hidden_size": 8, "embedding_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = RoFormerConfig(vocab_size=11, intermediate_size=6, max_position_embeddings=7, **sizes)
    found = discover(tmp_path, lambda: of(former=RoFormerModel(config)))
    assert (found.run().backbones, found.run().frozen) == ({"former": "RoFormerModel"}, [])


def test_a_config_of_another_family_is_the_problem_and_no_tensor(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text('{"model_type": "roberta"}')
    found = discover(tmp_path, lambda: of(bert=bert(), image=vilt()), "other.json")
    found.run()
    assert found.problem.startswith("there is no closed form for \"BertModel\" in the family 'roberta'")
