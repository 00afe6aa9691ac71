"""A class with several backbones, each of its own config: a bi-encoder, ELECTRA's generator and discriminator."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import nn
from transformers import BertConfig, BertModel, ElectraConfig, ElectraForMaskedLM, ElectraForPreTraining

from pytest_bertsize.table.settings import SettingsError
from tests.support.formulas import assert_formulas_count
from tests.support.own_classes import BERT, POOLER, TINY, concluded, errors, examined, of, on_meta, passing

if TYPE_CHECKING:
    from pytest_bertsize.review.examine import Subject
    from pytest_bertsize.review.review import Review

DEEP = {**TINY, "num_hidden_layers": 3}
LAYER = 154
"""4·20 + 58 + 2·8."""
TWO = 'backbone = { question_model = "q.json", ctx_model = "c.json" }\n'
SAME = 'backbone = { question_model = "q.json", ctx_model = "q.json" }\n'
ELECTRA = {**TINY, "model_type": "electra", "embedding_size": 3}
PAIR = 'backbone = { generator = "g.json", discriminator = "d.json" }\n'
SHARED = 'tied = { "generator.electra.embeddings" = "discriminator.electra.embeddings" }\n'


def subject(folder: Path, table: str, **configs: dict[str, Any]) -> Subject:
    for name, config in {"q": TINY, "c": DEEP, **configs}.items():
        (folder / f"{name}.json").write_text(json.dumps(config))
    budget = "" if "budget" in table else 'budget = "report-only"\n'
    return examined(folder, f'[tool.bertsize.models.own]\nfactory = "own:build"\n{budget}{table}')


def checked(folder: Path, table: str, module: nn.Module, **configs: dict[str, Any]) -> Review:
    return concluded(subject(folder, table, **configs), lambda _: module)


def bert(config: dict[str, Any], **options: Any) -> nn.Module:
    with torch.device("meta"):
        return BertModel(BertConfig(**config), **options)


def electra(*, tied: bool) -> nn.Module:
    with torch.device("meta"):
        generator = ElectraForMaskedLM(ElectraConfig(**GENERATOR))
        discriminator = ElectraForPreTraining(ElectraConfig(**ELECTRA))
    if tied:
        generator.electra.embeddings = discriminator.electra.embeddings
        generator.tie_weights()
    return of(generator=generator, discriminator=discriminator)


GENERATOR = {**ELECTRA, "num_hidden_layers": 1}
SIDES: dict[str, dict[str, Any]] = {
    "g": {**GENERATOR, "architectures": ["ElectraForMaskedLM"]},
    "d": {**ELECTRA, "architectures": ["ElectraForPreTraining"]},
}


def test_each_backbone_counts_by_its_own_config_under_its_own_name(tmp_path: Path) -> None:
    review = checked(tmp_path, TWO, of(question_model=bert(TINY), ctx_model=bert(DEEP)))
    actual = passing(review)
    assert actual["question_model"] == BERT + POOLER
    assert actual["ctx_model"] == BERT + POOLER + LAYER
    assert actual["ctx_model.encoder"] == 3 * LAYER
    assert review.subject.family == "bert"
    assert review.subject.reference == "q.json, c.json"


def test_a_tower_that_grows_is_told_by_its_name(tmp_path: Path) -> None:
    review = checked(tmp_path, TWO, of(question_model=bert(DEEP), ctx_model=bert(DEEP)))
    said = [(each.component, each.actual, each.expected) for each in review.errors]
    assert ("question_model.encoder", 462, 308) in said


def test_an_extra_is_sized_by_a_key_of_one_of_them(tmp_path: Path) -> None:
    table = f'{TWO}extra = [{{ name = "proj", linear = ["question_model.hidden_size", "ctx_model.shared_size"] }}]'
    module = of(question_model=bert(TINY), ctx_model=bert(DEEP), proj=on_meta(nn.Linear, 4, 5))
    assert errors(checked(tmp_path, table, module, c={**DEEP, "shared_size": 5})) == []
    (found,) = checked(tmp_path, table, module).errors
    assert found.message == 'the extra "proj" is sized by "ctx_model.shared_size", a key that the config does not have'


def test_options_and_classes_are_those_of_each_backbone_that_has_them(tmp_path: Path) -> None:
    module = of(question_model=bert(TINY, add_pooling_layer=False), ctx_model=bert(DEEP, add_pooling_layer=False))
    assert errors(checked(tmp_path, f"{TWO}options = {{ add_pooling_layer = false }}", module)) == []
    classes = 'architecture = { generator = "ElectraForMaskedLM", discriminator = "ElectraForPreTraining" }\n'
    assert errors(checked(tmp_path, PAIR + classes, electra(tied=False), g=GENERATOR, d=ELECTRA)) == []


# shared


def test_one_module_under_two_names_counts_once_and_the_report_says_so(tmp_path: Path) -> None:
    held = bert(TINY)
    table = f'{SAME}tied = {{ ctx_model = "question_model" }}'
    review = checked(tmp_path, table, of(question_model=held, ctx_model=held))
    actual = passing(review)
    assert actual.unique == BERT + POOLER
    assert [each.message for each in review.findings] == ["ctx_model is tied to question_model, and is counted with it"]
    other_way_round = of(ctx_model=held, question_model=held)
    assert errors(checked(tmp_path, table, other_way_round)) == []


def test_one_module_that_is_said_to_be_two_fails_with_what_to_write_and_two_that_are_said_to_be_one_fail(
    tmp_path: Path,
) -> None:
    held = bert(TINY)
    (found,) = checked(tmp_path, SAME, of(question_model=held, ctx_model=held)).errors
    assert (found.component, found.expected, found.actual) == ("ctx_model", BERT + POOLER, 0)
    assert "ctx_model is now tied to question_model" in found.message
    assert found.fix == 'write tied = { ctx_model = "question_model" }, or correct the class'
    two = of(question_model=held, ctx_model=bert(TINY))
    review = checked(tmp_path, f'{SAME}tied = {{ ctx_model = "question_model" }}', two)
    assert (review.verdict, review.actual and review.actual.unique) == ("failed", 2 * (BERT + POOLER))


@pytest.mark.parametrize("tied", [True, False])
def test_electras_two_models_share_their_embeddings_where_the_table_says_so(tmp_path: Path, *, tied: bool) -> None:
    for said in (True, False):
        review = checked(tmp_path, PAIR + (SHARED if said else ""), electra(tied=tied), **SIDES)
        assert (errors(review) == []) == (tied == said)
    assert review.actual is not None
    shared = (11 + 7 + 3 + 2) * 3
    assert review.actual.stored - review.actual.unique == 11 * 3 + (shared if tied else 0)  # its own head in any case


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ('{ ctx_model = "question_mdel" }', 'tied: the model has no question_mdel; did you mean "question_model"?'),
        (
            '{ ctx_model = "question_model" }',
            (
                "tied: ctx_model has ctx_model.encoder.layer.2.attention.self.query.weight, "
                "but the model has no question_model.encoder.layer.2.attention.self.query.weight"
            ),
        ),
        (
            '{ "ctx_model.embeddings.word_embeddings" = "question_model.embeddings.position_embeddings" }',
            (
                "tied: ctx_model.embeddings.word_embeddings.weight is (11, 4) and "
                "question_model.embeddings.position_embeddings.weight (7, 4): they cannot be tied"
            ),
        ),
        (
            '{ "ctx_model.encoder.layer[:2]" = "question_model" }',
            "tied: ctx_model.encoder.layer[:2] names 2 modules; name one",
        ),
    ],
)
def test_what_cannot_be_one_is_a_mistake(tmp_path: Path, said: str, message: str) -> None:
    (found,) = checked(tmp_path, f"{TWO}tied = {said}", of()).errors
    assert found.message == message
    assert (found.kind, found.file, found.line) == ("config-invalid", "pyproject.toml", 5)


def test_layers_that_are_left_are_numbered_in_each_backbone_alone(tmp_path: Path) -> None:
    question, context = bert(TINY), bert(DEEP)
    del question.encoder.layer[:1], context.encoder.layer[:2]
    left = 'without = ["question_model.encoder.layer[:1]", "ctx_model.encoder.layer[:2]"]'
    review = checked(tmp_path, f"{TWO}{left}", of(question_model=question, ctx_model=context))
    assert passing(review).unique == 2 * (BERT + POOLER - LAYER)


# what moved, what it comes to


@pytest.mark.parametrize("table", [TWO, f'{SAME}tied = {{ ctx_model = "question_model" }}', PAIR + SHARED])
def test_formulas_come_to_what_is_counted_in_each_of_their_ways(tmp_path: Path, table: str) -> None:
    form = subject(tmp_path, table, **SIDES).form
    assert form is not None
    assert_formulas_count(form)


def test_the_factory_is_given_the_configs_by_attribute_with_what_the_table_overrides(tmp_path: Path) -> None:
    found = subject(tmp_path, f"{TWO}overrides = {{ ctx_model = {{ vocab_size = 13 }} }}")
    assert found.request is not None
    assert found.request.config == {"question_model": TINY, "ctx_model": {**DEEP, "vocab_size": 13}}
    assert found.form is not None
    assert found.form["ctx_model.embeddings.word"] == 13 * 4


# mistakes


NOWHERE = 'backbone = { a = "q.json", b = "nowhere.json" }'
NOT_ONE = "\"other\" is not a backbone of this model: use the names of the key 'backbone'"


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("backbone = {}", "an empty table has no effect"),
        ("backbone = { a = 3 }", "3 is not a string"),
        (f'{TWO}architecture = {{ other = "BertModel" }}', NOT_ONE),
        (f'{TWO}architecture = {{ ctx_model = "" }}', "an empty string has no effect"),
        (f'{TWO}adapter = {{ r = 2, target_modules = ["query"] }}', "adapter is for one model"),
        (f'{TWO}checkpoint = "model.safetensors"', "checkpoint is for one model"),
        (f'{TWO}tokenizer = "vocab.txt"', "tokenizer is for one model"),
        (f'{TWO}budget.flops = {{ max = "1G", seq_len = 8 }}', "budget.flops is for a forward pass of one model"),
        (f"{TWO}overrides = {{ vocab_size = 3 }}", "overrides.vocab_size names no part of the model"),
        (f"{TWO}overrides = {{ ctx_model = 3 }}", "overrides.ctx_model is 3"),
        (NOWHERE, "there is no such file"),
    ],
)
def test_what_several_backbones_cannot_have_is_refused_with_a_sentence(
    tmp_path: Path, table: str, message: str
) -> None:
    try:
        said = errors(subject(tmp_path, table))
    except SettingsError as error:
        said = [str(error)]
    assert [message in each for each in said] == [True]


def test_a_budget_may_name_the_parts_of_each_tower(tmp_path: Path) -> None:
    table = f'{TWO}budget."ctx_model.encoder" = 400\nbudget.question_model = {{ exact = 420 }}\n'
    found = subject(tmp_path, table)
    names = found.component_names
    assert {"ctx_model.encoder", "question_model.pooler", "question_model.embeddings.word"} <= {*names}
    inside = [name.rpartition(".")[2] for name in names if name.startswith("ctx_model.embeddings.")]
    assert inside == ["word", "position", "token_type", "norm"]  # in the family's order, whatever the hash seed
