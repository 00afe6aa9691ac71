"""A class of a project's own: the closed form that its table puts together, against real modules of torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from transformers import BertConfig, BertForMaskedLM

from pytest_bertsize.builder.child.making import instantiate
from pytest_bertsize.builder.messages import Request
from pytest_bertsize.closed_forms import FAMILIES, blocks
from pytest_bertsize.closed_forms.blocks import Block, tensors
from pytest_bertsize.closed_forms.parts.variations import held_at
from pytest_bertsize.table.settings import SettingsError
from tests.support.family_configs import typical
from tests.support.own_classes import BERT, POOLER, TINY, bert, checked, errors, of, on_meta

# each block, against torch's


sizes = st.integers(1, 9)


def shapes(made: Block) -> list[tuple[str, tuple[int, ...]]]:
    return [(tensor.name, tensor.shape) for tensor in tensors(made)]


def shapes_of(module: nn.Module) -> list[tuple[str, tuple[int, ...]]]:
    return [(f"x.{name}", tuple(parameter.shape)) for name, parameter in module.named_parameters()]


@given(inputs=sizes, outputs=sizes, bias=st.booleans())
def test_a_linear_block_is_torchs(inputs: int, outputs: int, bias: bool) -> None:  # noqa: FBT001
    module = on_meta(nn.Linear, inputs, outputs, bias=bias)
    assert shapes(blocks.linear("x", inputs, outputs, bias=bias)) == shapes_of(module)


@given(rows=sizes, width=sizes)
def test_an_embedding_block_is_torchs(rows: int, width: int) -> None:
    assert shapes(blocks.embedding("x", rows, width)) == shapes_of(on_meta(nn.Embedding, rows, width))


@given(width=sizes)
def test_a_norm_block_is_torchs(width: int) -> None:
    assert shapes(blocks.layer_norm("x", width)) == shapes_of(on_meta(nn.LayerNorm, width))


@given(inputs=sizes, outputs=sizes, kernel=sizes, bias=st.booleans())
def test_a_convolution_block_is_torchs(inputs: int, outputs: int, kernel: int, bias: bool) -> None:  # noqa: FBT001
    module = on_meta(nn.Conv1d, inputs, outputs, kernel, bias=bias)
    assert shapes(blocks.conv1d("x", inputs, outputs, kernel, bias=bias)) == shapes_of(module)


@given(inputs=sizes, hidden=sizes, layers=st.integers(1, 4), bidirectional=st.booleans(), bias=st.booleans())
def test_an_lstm_block_is_torchs(inputs: int, hidden: int, layers: int, bidirectional: bool, bias: bool) -> None:  # noqa: FBT001
    module = on_meta(nn.LSTM, inputs, hidden, layers, bidirectional=bidirectional, bias=bias)
    made = blocks.lstm("x", inputs, hidden, layers=layers, bidirectional=bidirectional, bias=bias)
    assert sorted(shapes(made)) == sorted(shapes_of(module))


# blocks as the table says them


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
}


@pytest.mark.parametrize("written", BLOCKS)
def test_what_the_table_says_is_what_torch_builds(tmp_path: Path, written: str) -> None:
    table = f'backbone = "bert"\nextra = [{{ name = "x", {written} }}]'
    review = checked(tmp_path, table, of(bert=bert(), x=BLOCKS[written]()))
    assert errors(review) == []
    assert review.expected is not None
    assert review.actual is not None
    assert review.expected.unique == review.actual.unique > BERT + POOLER


@pytest.mark.parametrize("written", BLOCKS)
def test_what_the_table_says_and_the_class_has_not_fails(tmp_path: Path, written: str) -> None:
    table = f'backbone = "bert"\nextra = [{{ name = "x", {written} }}]'
    review = checked(tmp_path, table, of(bert=bert()))
    assert [finding.kind for finding in review.errors] == ["off-closed-form"]
    assert review.errors[0].component == "head.x"


def test_a_class_without_a_backbone_nor_a_config_is_its_extra(tmp_path: Path) -> None:
    table = 'extra = [{ name = "x", linear = [3, 2] }]\nbudget.total = { exact = 8 }'
    review = checked(tmp_path, table, of(x=on_meta(nn.Linear, 3, 2)), config=None)
    assert review.headline == "own: 8 parameters"


def test_what_is_only_extra_may_be_sized_by_any_key_of_a_config(tmp_path: Path) -> None:
    table = 'extra = [{ name = "x", linear = ["width", "2*tags"] }]'
    review = checked(tmp_path, table, of(x=on_meta(nn.Linear, 3, 10)), {"width": 3, "tags": 5})
    assert errors(review) == []


# the backbone


@pytest.mark.parametrize("options", [{}, {"add_pooling_layer": False}], ids=["with pooler", "without"])
def test_the_backbone_is_built_by_its_options(tmp_path: Path, options: dict[str, bool]) -> None:
    told = "options = { add_pooling_layer = false }" if options else ""
    head = 'extra = [{ name = "out", linear = ["hidden_size", 2] }]'
    table = f'backbone = "bert"\n{told}\n{head}'
    review = checked(tmp_path, table, of(bert=bert(**options), out=on_meta(nn.Linear, 4, 2)))
    assert errors(review) == []
    assert review.actual is not None
    assert review.actual.unique == BERT + (0 if options else POOLER) + 10


def test_a_factory_that_returns_the_backbone_itself_needs_no_attribute(tmp_path: Path) -> None:
    assert errors(checked(tmp_path, "", bert())) == []


def test_a_backbone_may_be_deep_inside(tmp_path: Path) -> None:
    module = of(model=of(bert=bert()), out=on_meta(nn.Linear, 4, 2))
    table = 'backbone = "model.bert"\nextra = [{ name = "out", linear = [4, 2] }]'
    assert errors(checked(tmp_path, table, module)) == []


FAMILY_NAMES = ("bert", "roberta", "distilbert", "albert", "electra", "modernbert", "t5", "gpt2", "xlnet", "funnel")


@pytest.mark.parametrize("family", FAMILY_NAMES)
@pytest.mark.parametrize("path", ["encoder", "model.encoder"])
def test_any_familys_class_may_be_the_backbone(tmp_path: Path, family: str, path: str) -> None:
    case = typical(family, FAMILIES[family].architectures[0].name)[0]
    name = case.architecture.name
    held = instantiate(Request("", family, name, dict(case.config), dict(case.options)))
    out = on_meta(nn.Linear, 3, 2)
    module = of(encoder=held, out=out) if path == "encoder" else of(model=of(encoder=held), out=out)
    options = "".join(f"options.{option} = {str(value).lower()}\n" for option, value in case.options.items())
    table = f'backbone = "{path}"\nextra = [{{ name = "out", linear = [3, 2] }}]\n{options}'
    config = {**case.config, "model_type": family, "architectures": [name]}
    assert errors(checked(tmp_path, table, module, config)) == []


MASKED = 'architecture = "BertForMaskedLM"\nbackbone = "model.lm"\nextra = [{ name = "out", linear = [4, 2] }]\n'


def masked_lm(**config: Any) -> nn.Module:
    with torch.device("meta"):
        held = BertForMaskedLM(BertConfig(**{**TINY, **config}))
    return of(model=of(lm=held), out=on_meta(nn.Linear, 4, 2))


def test_ties_inside_a_backbone_are_ties_where_it_is_held(tmp_path: Path) -> None:
    review = checked(tmp_path, MASKED, masked_lm())
    assert errors(review) == []
    assert review.actual is not None
    assert review.actual["head.decoder"] == 11  # the bias; its matrix is that of the embeddings
    assert review.actual.stored == review.actual.unique + 11 * 4 + 11


def test_a_tie_that_is_lost_inside_a_backbone_fails(tmp_path: Path) -> None:
    review = checked(tmp_path, MASKED, masked_lm(tie_word_embeddings=False))
    assert review.verdict == "failed"
    assert "own: head.decoder 66, closed form 11 (+55)" in review.headline


def test_moving_a_module_moves_what_its_ties_name() -> None:
    inner = blocks.block(
        "", blocks.embedding("words", 3, 2), blocks.tied(blocks.linear("out", 2, 3), weight="words.weight")
    )
    moved = {tensor.name: tensor.tied_to for tensor in tensors(held_at("a.b", inner))}
    assert moved == {"a.b.words.weight": None, "a.b.out.weight": "a.b.words.weight", "a.b.out.bias": None}
    assert held_at("", inner) is inner


def test_a_backbone_at_another_attribute_fails_and_says_where_it_is(tmp_path: Path) -> None:
    table = 'backbone = "encoder"\nextra = [{ name = "out", linear = [4, 2] }]'
    review = checked(tmp_path, table, of(bert=bert(), out=on_meta(nn.Linear, 4, 2)))
    assert review.verdict == "failed"
    (said,) = errors(review)
    assert said.endswith(f": encoder is bert now, of the same shapes: {BERT + POOLER}")


# tied extras


TIED = """
backbone = "bert"
[[tool.bertsize.models.own.extra]]
name = "decoder"
linear = ["hidden_size", "vocab_size"]
tied = { weight = "bert.embeddings.word_embeddings.weight" }
"""


def decoder(*, tied: bool, first: bool = False) -> nn.Module:
    held, out = bert(), on_meta(nn.Linear, 4, 11)
    if tied:
        out.weight = held.embeddings.word_embeddings.weight
    return of(decoder=out, bert=held) if first else of(bert=held, decoder=out)


def test_a_tied_extra_counts_once(tmp_path: Path) -> None:
    review = checked(tmp_path, TIED, decoder(tied=True))
    assert errors(review) == []
    assert review.actual is not None
    assert review.actual.unique == BERT + POOLER + 11


def test_an_extra_that_is_said_to_be_tied_and_is_not_fails(tmp_path: Path) -> None:
    assert checked(tmp_path, TIED, decoder(tied=False)).headline == "own: head.decoder 55, closed form 11 (+44)"


def test_an_extra_that_is_tied_and_not_said_to_be_fails(tmp_path: Path) -> None:
    table = TIED.replace("tied =", "bias = true #")
    assert checked(tmp_path, table, decoder(tied=True)).headline == "own: head.decoder 11, closed form 55 (-44)"


def test_who_owns_a_tied_tensor_does_not_depend_on_what_is_assigned_first(tmp_path: Path) -> None:
    assert errors(checked(tmp_path, TIED, decoder(tied=True, first=True))) == []


def test_a_tie_to_a_tensor_that_is_not_there_fails(tmp_path: Path) -> None:
    table = TIED.replace("word_embeddings", "no_embeddings")
    assert checked(tmp_path, table, decoder(tied=True)).verdict == "failed"


# names and keys


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (
            '{ name = "out", linear = [4, 2] }, { name = "out", linear = [4, 2] }',
            'the extra "out" has out.weight, and so has another extra',
        ),
        (
            '{ name = "out", linear = [4, 2] }, { name = "out.weight", parameter = [2, 4] }',
            'the extra "out.weight" has out.weight, and so has another extra',
        ),
        (
            '{ name = "bert.pooler.dense", linear = [4, 4] }',
            'the extra "bert.pooler.dense" has bert.pooler.dense.weight, and so has the backbone',
        ),
    ],
)
def test_a_tensor_that_is_described_twice_is_a_mistake(tmp_path: Path, extra: str, message: str) -> None:
    module = of(bert=bert(), out=on_meta(nn.Linear, 4, 2))
    review = checked(tmp_path, f'backbone = "bert"\nextra = [{extra}]', module)
    assert errors(review) == [message]
    assert (review.errors[0].file, review.errors[0].line) == ("pyproject.toml", 6)


def test_a_module_that_is_added_inside_the_backbone_is_an_extra_by_its_path(tmp_path: Path) -> None:
    held = bert()
    held.encoder.layer[0].add_module("adapter", on_meta(nn.Linear, 4, 2))
    extra = 'extra = [{ name = "bert.encoder.layer.0.adapter", linear = ["hidden_size", 2], component = "encoder.adapter" }]'
    review = checked(tmp_path, f'backbone = "bert"\n{extra}', of(bert=held))
    assert errors(review) == []
    assert review.actual is not None
    assert review.actual["encoder.adapter"] == 10


@pytest.mark.parametrize("key", ["D", "V", "r", "L_", "lstm_hidden", "self", "sizes", "known"])
def test_a_key_of_the_projects_own_may_have_any_name(tmp_path: Path, key: str) -> None:
    table = f'backbone = "bert"\nextra = [{{ name = "out", linear = ["hidden_size", "{key}"] }}]'
    module = of(bert=bert(), out=on_meta(nn.Linear, 4, 5))
    assert errors(checked(tmp_path, table, module, {**TINY, key: 5})) == []


def test_a_key_by_the_name_of_an_adapters_rank_is_another_number(tmp_path: Path) -> None:
    table = """
        backbone = "bert"
        adapter = { r = 2, target_modules = ["query"] }
        extra = [{ name = "out", linear = ["hidden_size", "r"] }]
    """
    review = checked(tmp_path, table, of(bert=bert(), out=on_meta(nn.Linear, 4, 5)), {**TINY, "r": 5})
    assert review.expected is not None
    assert review.expected["head.out"] == 4 * 5 + 5
    assert review.expected["adapters.lora"] == 2 * 2 * (4 + 4)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("5", 'tags is "5", which is not a whole number'),
        (5.0, "tags is 5.0, which is not a whole number"),
        (True, "tags is true, which is not a whole number"),
        (0, "tags is 0: a size is at least 1"),
        (-5, "tags is -5: a size is at least 1"),
        ([5], "tags is [5], which is not a whole number"),
    ],
)
def test_a_key_that_sizes_an_extra_is_a_size(tmp_path: Path, value: object, message: str) -> None:
    table = 'backbone = "bert"\nextra = [{ name = "out", linear = ["hidden_size", "tags"] }]'
    review = checked(tmp_path, table, of(), {**TINY, "tags": value})
    assert errors(review) == [message]
    assert review.errors[0].file == "config.json"


def test_a_key_that_the_config_does_not_have_is_a_mistake_with_the_nearest(tmp_path: Path) -> None:
    table = 'backbone = "bert"\nextra = [{ name = "out", linear = ["hiden_size", 2] }]'
    review = checked(tmp_path, table, of())
    (found,) = review.errors
    assert found.message == 'the extra "out" is sized by "hiden_size", a key that the config does not have'
    assert found.fix == "did you mean 'hidden_size'?"
    assert found.line == 6


@pytest.mark.parametrize(
    "labels", [{"num_labels": 3}, {"id2label": {"0": "a", "1": "b", "2": "c"}}], ids=["number", "names"]
)
def test_labels_are_those_of_the_config(tmp_path: Path, labels: dict[str, Any]) -> None:
    table = 'backbone = "bert"\nextra = [{ name = "out", linear = ["hidden_size", "num_labels"] }]'
    module = of(bert=bert(), out=on_meta(nn.Linear, 4, 3))
    assert errors(checked(tmp_path, table, module, {**TINY, **labels})) == []


def test_a_key_that_is_null_sizes_nothing(tmp_path: Path) -> None:
    table = 'backbone = "bert"\nextra = [{ name = "out", linear = ["hidden_size", "tags"] }]'
    review = checked(tmp_path, table, of(), {**TINY, "tags": None})
    assert errors(review) == ['an extra is sized by "tags", which is null in the config, or left out']


def test_an_override_sizes_an_extra_as_well(tmp_path: Path) -> None:
    table = 'backbone = "bert"\noverrides = { tags = 6 }\nextra = [{ name = "out", linear = ["hidden_size", "tags"] }]'
    module = of(bert=bert(), out=on_meta(nn.Linear, 4, 6))
    assert errors(checked(tmp_path, table, module, {**TINY, "tags": 5})) == []


# what the class has and the table does not say


OUT = 'backbone = "bert"\nextra = [{ name = "out", linear = ["hidden_size", 2] }]\n'


def test_a_module_that_the_table_does_not_name_is_pointed_out(tmp_path: Path) -> None:
    module = of(bert=bert(), out=on_meta(nn.Linear, 4, 2), more=on_meta(nn.Linear, 4, 2))
    review = checked(tmp_path, OUT, module)
    assert review.headline.startswith("own: unexpected 10, closed form 0 (+10)")
    assert "more is new: 10 (weight 2×4, bias 2)" in errors(review)[0]


def test_a_module_that_is_called_otherwise_is_pointed_out(tmp_path: Path) -> None:
    review = checked(tmp_path, OUT, of(bert=bert(), output=on_meta(nn.Linear, 4, 2)))
    assert [(finding.component, finding.kind) for finding in review.errors] == [("total", "off-closed-form")]
    assert "out is output now, of the same shapes: 10" in errors(review)[0]


def test_a_module_of_another_size_is_pointed_out_with_its_component(tmp_path: Path) -> None:
    review = checked(tmp_path, OUT, of(bert=bert(), out=on_meta(nn.Linear, 4, 3)))
    assert review.headline == "own: head.out 15, closed form 10 (+5)"


def test_a_module_of_the_same_count_and_another_shape_is_pointed_out(tmp_path: Path) -> None:
    table = 'backbone = "bert"\nextra = [{ name = "out", parameter = [6, 2] }]\n'
    module = of(bert=bert(), out=nn.Parameter(torch.empty(3, 4, device="meta")))
    assert checked(tmp_path, table, module).verdict == "failed"


# what does not train


def test_a_frozen_module_is_compared_too(tmp_path: Path) -> None:
    frozen, module = 'frozen = ["bert.embeddings"]\n', of(bert=bert(), out=on_meta(nn.Linear, 4, 2))
    assert "bert.embeddings is trained now: 92" in " ".join(errors(checked(tmp_path, OUT + frozen, module)))
    module.bert.embeddings.requires_grad_(requires_grad=False)
    review = checked(tmp_path, OUT + frozen, module)
    assert errors(review) == []
    assert review.actual is not None
    assert review.actual.unique - review.actual.trainable == (11 + 7 + 3 + 2) * 4
    assert checked(tmp_path, OUT, module).verdict == "failed"


def test_the_headline_of_what_does_not_train_says_so(tmp_path: Path) -> None:
    module = of(bert=bert(), out=on_meta(nn.Linear, 4, 2))
    module.bert.embeddings.word_embeddings.requires_grad_(requires_grad=False)
    headline = checked(tmp_path, OUT, module).headline
    assert "(0)" not in headline
    assert "bert.embeddings.word_embeddings is frozen now: 44" in headline


# what would be said and not be looked at


@pytest.mark.parametrize(
    "said",
    [
        'extra = [{ name = "x", linear = [1, 2] }]',
        'backbone = "bert"',
        'frozen = ["bert"]',
        "options = { add_pooling_layer = false }",
        'tokenizer = "nowhere.json"',
    ],
)
def test_what_only_a_closed_form_looks_at_is_a_mistake_without_one(tmp_path: Path, said: str) -> None:
    try:
        said_of_it = errors(checked(tmp_path, f"closed_form = false\n{said}", of(bert=bert())))
    except SettingsError as error:
        said_of_it = [str(error)]
    assert said.partition(" ")[0] in " ".join(said_of_it)
