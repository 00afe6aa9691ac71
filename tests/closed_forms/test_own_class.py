"""A class of a project's own: the closed form that its table puts together, against real modules of torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from transformers import BertConfig, BertForMaskedLM

from pytest_bertsize.builder.child.making import instantiate
from pytest_bertsize.builder.messages import Request
from pytest_bertsize.closed_forms import FAMILIES
from pytest_bertsize.table.settings import SettingsError
from tests.support.family_configs import typical
from tests.support.own_classes import BERT, POOLER, TINY, bert, checked, errors, of, on_meta, passing


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
    actual = passing(checked(tmp_path, table, of(bert=bert(**options), out=on_meta(nn.Linear, 4, 2))))
    assert actual.unique == BERT + (0 if options else POOLER) + 10


def test_a_factory_that_returns_the_backbone_itself_needs_no_attribute(tmp_path: Path) -> None:
    assert errors(checked(tmp_path, "", bert())) == []


def test_a_backbone_may_be_deep_inside(tmp_path: Path) -> None:
    module = of(model=of(bert=bert()), out=on_meta(nn.Linear, 4, 2))
    table = 'backbone = "model.bert"\nextra = [{ name = "out", linear = [4, 2] }]'
    assert errors(checked(tmp_path, table, module)) == []


FAMILY_NAMES = ("bert", "roberta", "distilbert", "albert", "electra", "modernbert", "t5", "gpt2", "xlnet", "funnel")


@pytest.mark.parametrize("family", FAMILY_NAMES)
def test_any_familys_class_may_be_the_backbone(tmp_path: Path, family: str) -> None:
    case = typical(family, FAMILIES[family].architectures[0].name)[0]
    name = case.architecture.name
    held = instantiate(Request("", family, name, dict(case.config), dict(case.options)))
    options = "".join(f"options.{option} = {str(value).lower()}\n" for option, value in case.options.items())
    table = f'backbone = "encoder"\nextra = [{{ name = "out", linear = [3, 2] }}]\n{options}'
    config = {**case.config, "model_type": family, "architectures": [name]}
    assert errors(checked(tmp_path, table, of(encoder=held, out=on_meta(nn.Linear, 3, 2)), config)) == []


MASKED = 'architecture = "BertForMaskedLM"\nbackbone = "model.lm"\nextra = [{ name = "out", linear = [4, 2] }]\n'


def masked_lm(**config: Any) -> nn.Module:
    with torch.device("meta"):
        held = BertForMaskedLM(BertConfig(**{**TINY, **config}))
    return of(model=of(lm=held), out=on_meta(nn.Linear, 4, 2))


def test_ties_inside_a_backbone_are_ties_where_it_is_held(tmp_path: Path) -> None:
    actual = passing(checked(tmp_path, MASKED, masked_lm()))
    assert actual["head.decoder"] == 11  # the bias; its matrix is that of the embeddings
    assert actual.stored == actual.unique + 11 * 4 + 11


def test_a_tie_that_is_lost_inside_a_backbone_fails(tmp_path: Path) -> None:
    review = checked(tmp_path, MASKED, masked_lm(tie_word_embeddings=False))
    assert review.verdict == "failed"
    assert ("head.decoder", 66, 11) in [(each.component, each.actual, each.expected) for each in review.errors]


def test_a_backbone_at_another_attribute_fails_and_says_where_it_is(tmp_path: Path) -> None:
    table = 'backbone = "encoder"\nextra = [{ name = "out", linear = [4, 2] }]'
    review = checked(tmp_path, table, of(bert=bert(), out=on_meta(nn.Linear, 4, 2)))
    assert review.verdict == "failed"
    (said,) = errors(review)
    assert said.endswith(f": encoder is now named bert, with the same shapes: {BERT + POOLER}")


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
    actual = passing(checked(tmp_path, TIED, decoder(tied=True)))
    assert actual.unique == BERT + POOLER + 11


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
    actual = passing(checked(tmp_path, f'backbone = "bert"\n{extra}', of(bert=held)))
    assert actual["encoder.adapter"] == 10


@pytest.mark.parametrize(
    ("place", "component"),
    [
        ("embeddings", "embeddings"),
        ("embeddings.word_embeddings", "embeddings.word"),
        ("encoder.layer.0", "encoder"),
        ("encoder.layer.0.attention.self", "encoder.attention"),
        ("pooler", "pooler"),
        ("", "head.bert"),
    ],
)
def test_a_module_that_is_added_inside_the_backbone_counts_where_it_stands(
    tmp_path: Path, place: str, component: str
) -> None:
    held = bert()
    held.get_submodule(place).add_module("adapter", on_meta(nn.Linear, 4, 2))
    path = ".".join(filter(None, ("bert", place, "adapter")))
    extra = f'extra = [{{ name = "{path}", linear = ["hidden_size", 2] }}]'
    actual = passing(checked(tmp_path, f'backbone = "bert"\n{extra}', of(bert=held)))
    without = passing(checked(tmp_path, 'backbone = "bert"', of(bert=bert())))
    assert actual[component] - (0 if component == "head.bert" else without[component]) == 10


@pytest.mark.parametrize("key", ["D", "r", "self", "sizes"])
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
        (0, "tags is 0: a size is at least 1"),
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


def test_a_key_that_is_null_sizes_nothing(tmp_path: Path) -> None:
    table = 'backbone = "bert"\nextra = [{ name = "out", linear = ["hidden_size", "tags"] }]'
    review = checked(tmp_path, table, of(), {**TINY, "tags": None})
    assert errors(review) == ['an extra is sized by "tags", which is null in the config or missing']


def test_an_override_sizes_an_extra_as_well(tmp_path: Path) -> None:
    table = 'backbone = "bert"\noverrides = { tags = 6 }\nextra = [{ name = "out", linear = ["hidden_size", "tags"] }]'
    module = of(bert=bert(), out=on_meta(nn.Linear, 4, 6))
    assert errors(checked(tmp_path, table, module, {**TINY, "tags": 5})) == []


# what the class has and the table does not say


OUT = 'backbone = "bert"\nextra = [{ name = "out", linear = ["hidden_size", 2] }]\n'


def test_a_module_that_the_table_does_not_name_is_pointed_out(tmp_path: Path) -> None:
    module = of(bert=bert(), out=on_meta(nn.Linear, 4, 2), more=on_meta(nn.Linear, 4, 2))
    review = checked(tmp_path, OUT, module)
    off = "own: unexpected is +10, and the closed form has none: more is new: 10 (weight 2×4, bias 2)"
    assert review.headline.startswith(off)


def test_a_module_that_is_called_otherwise_is_pointed_out(tmp_path: Path) -> None:
    review = checked(tmp_path, OUT, of(bert=bert(), output=on_meta(nn.Linear, 4, 2)))
    assert [(finding.component, finding.kind) for finding in review.errors] == [("total", "off-closed-form")]
    assert "out is now named output, with the same shapes: 10" in errors(review)[0]


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
    assert "bert.embeddings now trains: 92" in " ".join(errors(checked(tmp_path, OUT + frozen, module)))
    module.bert.embeddings.requires_grad_(requires_grad=False)
    actual = passing(checked(tmp_path, OUT + frozen, module))
    assert actual.unique - actual.trainable == (11 + 7 + 3 + 2) * 4
    assert checked(tmp_path, OUT, module).verdict == "failed"


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
