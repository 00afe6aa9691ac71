"""A difference that the config does not explain is given a name as a hypothesis, with its tensors (SOURCES D)."""

from __future__ import annotations

import pytest

from pytest_bertsize.inventory import Inventory, Tensor
from tests.support.bert_reviews import changed, chinese, only, reviewed

V, D = 21_128, 768


def tensor(name: str) -> Tensor:
    return chinese().inventory.by_name[name]


def test_a_decoder_with_a_matrix_of_its_own() -> None:
    name = "cls.predictions.decoder.weight"
    built = changed(**{name: tensor(name)._replace(tied_to=None)})
    assert only(reviewed(built)).fix.startswith(
        f"perhaps an untied decoder: {name} is V·D = 16,226,304; the class does not build what the config says"
    )
    assert V * D == 16_226_304


def test_a_pooler_that_the_closed_form_does_not_have() -> None:
    built = changed(
        weight=Tensor("bert.pooler.dense.weight", (D, D), "pooler"),
        bias=Tensor("bert.pooler.dense.bias", (D,), "pooler"),
    )
    assert "perhaps a pooler or a dense layer more: bert.pooler.dense is D² + D = 590,592" in only(reviewed(built)).fix


def test_a_dense_layer_in_each_of_twelve_layers_is_said_once() -> None:
    more = [
        Tensor(f"bert.encoder.layer.{layer}.extra.{name}", shape, "encoder.attention")
        for layer in range(12)
        for name, shape in {"weight": (D, D), "bias": (D,)}.items()
    ]
    built = Inventory((*chinese().inventory.tensors, *more))
    said = only(reviewed(built)).fix
    assert "a dense layer more: bert.encoder.layer.*.extra (×12) is D² + D = 590,592" in said
    assert said.count("perhaps") == 1


def test_a_dense_layer_that_was_not_built() -> None:
    name = "cls.predictions.transform.dense"
    found = reviewed(changed(**{f"{name}.weight": None, f"{name}.bias": None}))
    assert f"perhaps no pooler, or a dense layer less: {name} is D² + D = 590,592" in only(found).fix


@pytest.mark.parametrize(("rows", "said"), [(522, "10 rows more"), (500, "12 rows fewer")])
def test_a_table_of_other_rows(rows: int, said: str) -> None:
    name = "bert.embeddings.position_embeddings.weight"
    found = only(reviewed(changed(**{name: tensor(name)._replace(shape=(rows, D))})))
    k = abs(rows - 512)
    assert f"perhaps {said}: {name}, {k}·D = {k * D:,};" in found.fix


def test_a_total_alone_is_no_hypothesis() -> None:
    """D² + D parameters that are no dense layer: as many, in one vector."""
    built = changed(odd=Tensor("bert.odd", (D * D + D,), "encoder"))
    assert "perhaps" not in only(reviewed(built)).fix


def test_a_square_without_its_bias_is_no_hypothesis() -> None:
    built = changed(odd=Tensor("bert.odd.weight", (D, D), "encoder"))
    assert "perhaps" not in only(reviewed(built)).fix
