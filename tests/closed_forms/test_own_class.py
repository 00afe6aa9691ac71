"""A class of a project's own: the closed form that its table puts together, against real modules of torch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from transformers import BertConfig, BertForMaskedLM

from pytest_bertsize.table.settings import SettingsError
from tests.support.own_classes import BERT, POOLER, TINY, bert, checked, errors, of, on_meta, passing

OUT = 'backbone = "bert"\nextra = [{ name = "out", linear = ["hidden_size", 2] }]\n'
KEY = 'backbone = "bert"\nextra = [{ name = "out", linear = ["hidden_size", "tags"] }]\n'
MASKED = 'architecture = "BertForMaskedLM"\nbackbone = "model.lm"\nextra = [{ name = "out", linear = [4, 2] }]\n'
TIED = """
backbone = "bert"
[[tool.bertsize.models.own.extra]]
name = "decoder"
linear = ["hidden_size", "vocab_size"]
tied = { weight = "bert.embeddings.word_embeddings.weight" }
"""


def linear(*sizes: int) -> nn.Module:
    return on_meta(nn.Linear, *sizes)


def with_out(outputs: int = 2, **options: bool) -> nn.Module:
    return of(bert=bert(**options), out=linear(4, outputs))


def masked_lm(**config: Any) -> nn.Module:
    with torch.device("meta"):
        held = BertForMaskedLM(BertConfig(**{**TINY, **config}))
    return of(model=of(lm=held), out=linear(4, 2))


def decoder(*, tied: bool, first: bool = False) -> nn.Module:
    held, out = bert(), linear(4, 11)
    if tied:
        out.weight = held.embeddings.word_embeddings.weight
    return of(decoder=out, bert=held) if first else of(bert=held, decoder=out)


NO_POOLER = "options = { add_pooling_layer = false }\n"
PASSING: dict[str, tuple[str, Callable[[], nn.Module], dict[str, int]]] = {
    "a backbone with its pooler": (OUT, with_out, {"total": BERT + POOLER + 10}),
    "without": (NO_POOLER + OUT, lambda: with_out(add_pooling_layer=False), {"total": BERT + 10}),
    "the backbone itself, at no attribute": ("", bert, {"total": BERT + POOLER}),
    "deep inside": (OUT.replace('"bert"', '"x.bert"'), lambda: of(x=of(bert=bert()), out=linear(4, 2)), {}),
    "ties inside a backbone": (MASKED, masked_lm, {"head.decoder": 11}),  # the bias; its matrix is that of the words
    "a tied extra": (TIED, lambda: decoder(tied=True), {"total": BERT + POOLER + 11}),
    "a tied extra that is assigned first": (TIED, lambda: decoder(tied=True, first=True), {}),
    "a size that is overridden": (f"overrides = {{ tags = 6 }}\n{KEY}", lambda: with_out(6), {"head.out": 30}),
}


@pytest.mark.parametrize("what", PASSING)
def test_what_the_table_says_is_what_the_class_has(tmp_path: Path, what: str) -> None:
    table, make, counts = PASSING[what]
    actual = passing(checked(tmp_path, table, make(), {**TINY, "tags": 5}))
    assert {name: actual[name] for name in counts} == counts


def test_a_class_without_a_backbone_is_its_extra_with_or_without_a_config(tmp_path: Path) -> None:
    table = 'extra = [{ name = "x", linear = [3, 2] }]\nbudget.total = { exact = 8 }'
    assert checked(tmp_path, table, of(x=linear(3, 2)), config=None).headline == "own: 8 parameters"
    table = 'extra = [{ name = "x", linear = ["width", "2*tags"] }]'
    assert errors(checked(tmp_path, table, of(x=linear(3, 10)), {"width": 3, "tags": 5})) == []


FAILING: dict[str, tuple[str, Callable[[], nn.Module], str]] = {
    "a tie that is lost": (
        MASKED,
        lambda: masked_lm(tie_word_embeddings=False),
        "decoder.bias is no longer tied to model.lm.cls.predictions.bias: +11",
    ),
    "another attribute": (
        OUT.replace('"bert"', '"encoder"'),
        with_out,
        f"encoder is now named bert, with the same shapes: {BERT + POOLER}",
    ),
    "said to be tied": (TIED, lambda: decoder(tied=False), "head.decoder 55, closed form 11 (+44)"),
    "not said to be tied": (
        TIED.replace("tied =", "bias = true #"),
        lambda: decoder(tied=True),
        "head.decoder 11, closed form 55 (-44)",
    ),
    "a tie to nothing": (
        TIED.replace("word_emb", "no_emb"),
        lambda: decoder(tied=True),
        "no_embeddings.weight: there is no such tensor",
    ),
    "more": (
        OUT,
        lambda: of(bert=bert(), out=linear(4, 2), more=linear(4, 2)),
        "unexpected is +10, and the closed form has none: more is new: 10 (weight 2×4, bias 2)",
    ),
    "another name": (
        OUT,
        lambda: of(bert=bert(), output=linear(4, 2)),
        "out is now named output, with the same shapes: 10",
    ),
    "another size": (OUT, lambda: with_out(3), "head.out 15, closed form 10 (+5)"),
    "another shape": (
        'backbone = "bert"\nextra = [{ name = "out", parameter = [6, 2] }]\n',
        lambda: of(bert=bert(), out=nn.Parameter(torch.empty(3, 4, device="meta"))),
        "out",
    ),
}


@pytest.mark.parametrize("what", FAILING)
def test_what_the_class_has_otherwise_fails(tmp_path: Path, what: str) -> None:
    table, make, said = FAILING[what]
    review = checked(tmp_path, table, make())
    assert review.verdict == "failed"
    assert said in " ".join([review.headline, *errors(review)])


# names and keys


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (
            '{ name = "out", linear = [4, 2] }, { name = "out", linear = [4, 2] }',
            '"out" has out.weight, and so has another extra',
        ),
        (
            '{ name = "out", linear = [4, 2] }, { name = "out.weight", parameter = [2, 4] }',
            '"out.weight" has out.weight, and so has another extra',
        ),
        (
            '{ name = "bert.pooler.dense", linear = [4, 4] }',
            '"bert.pooler.dense" has bert.pooler.dense.weight, and so has the backbone',
        ),
    ],
)
def test_a_tensor_that_is_described_twice_is_a_mistake(tmp_path: Path, extra: str, message: str) -> None:
    review = checked(tmp_path, f'backbone = "bert"\nextra = [{extra}]', with_out())
    assert errors(review) == [f"the extra {message}"]
    assert (review.errors[0].file, review.errors[0].line) == ("pyproject.toml", 6)


@pytest.mark.parametrize(
    ("place", "written", "component"),
    [
        ("embeddings", "", "embeddings"),
        ("embeddings.word_embeddings", "", "embeddings.word"),
        ("encoder.layer.0", "", "encoder"),
        ("encoder.layer.0", ', component = "encoder.adapter"', "encoder.adapter"),
        ("encoder.layer.0.attention.self", "", "encoder.attention"),
        ("pooler", "", "pooler"),
        ("", "", "head.bert"),
    ],
)
def test_a_module_that_is_added_inside_the_backbone_counts_where_it_stands_or_is_said_to(
    tmp_path: Path, place: str, written: str, component: str
) -> None:
    held = bert()
    held.get_submodule(place).add_module("adapter", linear(4, 2))
    path = ".".join(filter(None, ("bert", place, "adapter")))
    extra = f'extra = [{{ name = "{path}", linear = ["hidden_size", 2]{written} }}]'
    actual = passing(checked(tmp_path, f'backbone = "bert"\n{extra}', of(bert=held)))
    without = passing(checked(tmp_path, 'backbone = "bert"', of(bert=bert())))
    assert actual[component] - without.components.get(component, 0) == 10


@pytest.mark.parametrize("key", ["D", "r", "self", "sizes"])
def test_a_key_of_the_projects_own_may_have_any_name(tmp_path: Path, key: str) -> None:
    assert errors(checked(tmp_path, KEY.replace("tags", key), with_out(5), {**TINY, key: 5})) == []
    table = f'{KEY.replace("tags", key)}adapter = {{ r = 2, target_modules = ["query"] }}'
    expected = checked(tmp_path, table, with_out(5), {**TINY, key: 5}).expected
    assert expected is not None
    assert (expected["head.out"], expected["adapters.lora"]) == (4 * 5 + 5, 2 * 2 * (4 + 4)), "not the adapter's rank"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("5", 'tags is "5", which is not a whole number'),
        (5.0, "tags is 5.0, which is not a whole number"),
        (0, "tags is 0: a size is at least 1"),
        (None, 'an extra is sized by "tags", which is null in the config or missing'),
    ],
)
def test_a_key_that_sizes_an_extra_is_a_size(tmp_path: Path, value: object, message: str) -> None:
    review = checked(tmp_path, KEY, of(), {**TINY, "tags": value})
    assert errors(review) == [message]
    assert review.errors[0].file == ("pyproject.toml" if value is None else "config.json")


def test_a_key_that_the_config_does_not_have_is_a_mistake_with_the_nearest(tmp_path: Path) -> None:
    (found,) = checked(tmp_path, KEY.replace("tags", "hiden_size"), of()).errors
    assert found.message == 'the extra "out" is sized by "hiden_size", a key that the config does not have'
    assert (found.fix, found.line) == ("did you mean 'hidden_size'?", 6)


def test_a_frozen_module_is_compared_too(tmp_path: Path) -> None:
    frozen, module = 'frozen = ["bert.embeddings"]\n', with_out()
    assert "bert.embeddings now trains: 92" in " ".join(errors(checked(tmp_path, OUT + frozen, module)))
    module.bert.embeddings.requires_grad_(requires_grad=False)
    actual = passing(checked(tmp_path, OUT + frozen, module))
    assert actual.unique - actual.trainable == (11 + 7 + 3 + 2) * 4
    assert checked(tmp_path, OUT, module).verdict == "failed"


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
