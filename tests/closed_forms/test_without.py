"""What a project's class has deleted of its backbone, or put something else in its place."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn
from transformers import BertConfig, BertForMaskedLM, BertModel

from tests.support.formulas import assert_formulas_count
from tests.support.own_classes import BERT, POOLER, TINY, bert, checked, errors, of, on_meta, passing

LAYER = 154
"""4·20 + 58 + 2·8: attention, feed-forward and norms."""
SIX = {**TINY, "num_hidden_layers": 6}
IDS = dict.fromkeys(("pad_token_id", "bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id"), 1)


def six() -> nn.Module:
    with torch.device("meta"):
        return BertModel(BertConfig(**SIX))


def test_layers_that_the_class_keeps_are_told(tmp_path: Path) -> None:
    review = checked(tmp_path, 'backbone = "bert"\nwithout = ["bert.encoder.layer[3:]"]', of(bert=six()), SIX)
    assert review.verdict == "failed"
    assert "bert.encoder.layer[3:6] are new: 3 × 154 = 462, like the other 3" in " ".join(errors(review))


@pytest.mark.parametrize(("written", "left"), [("[3:]", 3), ("[:3]", 3), ("[1]", 5), ("[-2:]", 4), ("[1:5]", 2)])
def test_what_is_left_of_a_list_is_numbered_as_torch_does(tmp_path: Path, written: str, left: int) -> None:
    held = six()
    exec(f"del held.encoder.layer{written}", {"held": held})  # noqa: S102
    table = f'backbone = "bert"\nwithout = ["bert.encoder.layer{written}"]'
    assert passing(checked(tmp_path, table, of(bert=held), SIX)).unique == BERT + POOLER + (left - 2) * LAYER


def test_a_part_of_some_layers_leaves_the_list_as_it_is_numbered(tmp_path: Path) -> None:
    held = six()
    for layer in held.encoder.layer[4:]:
        layer.attention = nn.Identity()
    table = 'backbone = "bert"\nwithout = ["bert.encoder.layer[4:].attention"]'
    review = checked(tmp_path, table, of(bert=held), SIX)
    assert errors(review) == []
    assert "L" not in str(review.subject.form.formulas()["encoder"])  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "written",
    ["embeddings.position", "bert.embeddings.position_embeddings", "bert.embeddings.position_embeddings.weight"],
)
def test_a_component_a_module_and_a_tensor_are_each_a_part(tmp_path: Path, written: str) -> None:
    held = bert()
    del held.embeddings.position_embeddings
    actual = passing(checked(tmp_path, f'backbone = "bert"\nwithout = ["{written}"]', of(bert=held)))
    assert actual.unique == BERT + POOLER - 7 * 4


def test_what_takes_the_place_of_a_module_is_an_extra_by_its_name(tmp_path: Path) -> None:
    held = bert()
    held.pooler = on_meta(nn.Linear, 4, 3)
    table = """
        backbone = "bert"
        without = ["bert.pooler"]
        extra = [{ name = "bert.pooler", linear = ["hidden_size", 3], component = "pooler" }]
    """
    actual = passing(checked(tmp_path, table, of(bert=held)))
    assert actual["pooler"] == 4 * 3 + 3


def test_who_shared_a_tensor_that_is_gone_has_one_of_its_own(tmp_path: Path) -> None:
    with torch.device("meta"):
        held = BertForMaskedLM(BertConfig(**TINY))
    del held.bert.embeddings.word_embeddings
    table = 'architecture = "BertForMaskedLM"\nbackbone = "lm"\nwithout = ["embeddings.word"]'
    review = checked(tmp_path, table, of(lm=held))
    assert review.expected is not None
    assert review.expected["embeddings.word"] == 0
    assert review.expected["head.decoder"] == 11 * 4 + 11
    stays = checked(tmp_path, table.replace("word", "position"), of(lm=held)).expected
    assert stays is not None
    assert (stays["embeddings.word"], stays["head.decoder"]) == (11 * 4, 11)


def test_what_does_not_train_is_named_as_the_class_has_it(tmp_path: Path) -> None:
    held = six()
    del held.encoder.layer[:4]
    held.encoder.layer.requires_grad_(requires_grad=False)
    table = 'backbone = "bert"\nwithout = ["bert.encoder.layer[:4]"]\nfrozen = ["bert.encoder.layer[:2]"]'
    assert errors(checked(tmp_path, table, of(bert=held), SIX)) == []


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("bert.poler", 'the model has no bert.poler; did you mean "bert.pooler"?'),
        ("embeddings.positon", 'the model has no embeddings; did you mean "bert.embeddings"?'),
        ("bert.encoder.layer[2:]", '"bert.encoder.layer[2:]" names no layer: bert.encoder.layer has 2 layers'),
        ("bert", "nothing is left of the backbone"),
        ("total", "the model has no total; it has bert"),
    ],
)
def test_what_is_not_there_cannot_be_left_out(tmp_path: Path, written: str, message: str) -> None:
    review = checked(tmp_path, f'backbone = "bert"\nwithout = ["{written}"]', of(bert=bert()))
    (found,) = review.errors
    assert found.message == f"without: {message}"
    assert (found.file, found.line) == ("pyproject.toml", 6)


@pytest.mark.parametrize("family", ["bert", "albert", "modernbert"])
def test_formulas_are_those_of_what_is_left(tmp_path: Path, family: str) -> None:
    config = {
        "bert": SIX,
        "albert": {**SIX, "model_type": "albert", "architectures": ["AlbertModel"], "embedding_size": 3},
        "modernbert": {**SIX, "model_type": "modernbert", "architectures": ["ModernBertModel"], **IDS},
    }[family]
    part = {"bert": "x.encoder.layer[2:]", "albert": "x.pooler", "modernbert": "x.layers[:2]"}[family]
    form = checked(tmp_path, f'backbone = "x"\nwithout = ["{part}"]', of(x=bert()), config).subject.form
    assert form is not None
    assert_formulas_count(form)
