"""A difference that the config does not explain is given a name as a hypothesis, with its tensors (SOURCES D)."""

from __future__ import annotations

import pytest

from pytest_bertsize.inventory import Inventory, Tensor
from pytest_bertsize.review.off_closed_form import compare, looks_like, unexpected
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


@pytest.mark.parametrize(
    ("rows", "said"), [(522, "10 rows more"), (513, "1 row more"), (511, "1 row fewer"), (500, "12 rows fewer")]
)
def test_a_table_of_other_rows(rows: int, said: str) -> None:
    name = "bert.embeddings.position_embeddings.weight"
    found = only(reviewed(changed(**{name: tensor(name)._replace(shape=(rows, D))})))
    k = abs(rows - 512)
    assert f"perhaps {said}: {name}, {k}·D = {k * D:,};" in found.fix


def test_a_table_of_another_width_is_counted_in_numbers() -> None:
    then, now = (Inventory((Tensor("shapes.weight", (rows, 77), "embeddings"),)) for rows in (4, 6))
    assert looks_like("embeddings", then, now, {"D": D}) == "perhaps 2 rows more: shapes.weight, 2·77 = 154"


def test_a_table_that_is_factorised_is_of_its_own_width() -> None:
    """ALBERT's: V·E, and not V·D."""
    symbols = {"V": V, "D": D, "E": 128}
    words = Tensor("embeddings.words.weight", (V, 128), "embeddings")
    decoder = Tensor("decoder.weight", (V, 128), "head", tied_to=words.name)
    tied, untied = Inventory((words, decoder)), Inventory((words, decoder._replace(tied_to=None)))
    assert looks_like("head", tied, untied, symbols) == (
        f"perhaps an untied decoder: decoder.weight is V·E = {V * 128:,}"
    )
    assert looks_like("head", untied, tied, symbols) == (
        f"perhaps a decoder that is tied after all: decoder.weight is V·E = {V * 128:,}"
    )
    assert looks_like("embeddings", tied, Inventory((words._replace(shape=(V + 2, 128)), decoder)), symbols) == (
        "perhaps 2 rows more: embeddings.words.weight, 2·E = 256"
    )


def test_all_that_comes_to_mind_is_said_of_what_is_not_told_already() -> None:
    table = Tensor("positions.weight", (512, D), "encoder")
    dense = (Tensor("dense.weight", (D, D), "encoder"), Tensor("dense.bias", (D,), "encoder"))
    odd = Tensor("norm.weight", (5,), "encoder")  # of one axis: no table, and not the last
    then = Inventory((odd, table))
    now = Inventory((odd._replace(shape=(6,)), table._replace(shape=(514, D)), *dense))
    rows = "2 rows more: positions.weight, 2·D = 1,536"
    assert looks_like("encoder", then, now, {"D": D}) == (
        f"perhaps a pooler or a dense layer more: dense is D² + D = 590,592; perhaps {rows}"
    )
    assert looks_like("encoder", then, now, {"D": D}, {"dense.weight", "dense.bias"}) == f"perhaps {rows}"
    assert looks_like("head", then, now, {"D": D}) == ""


def test_two_dense_layers_are_said_with_how_many_they_are() -> None:
    more = [
        Tensor(f"layers.{at}.extra.{name}", shape, "encoder")
        for at in range(2)
        for name, shape in {"weight": (D, D), "bias": (D,)}.items()
    ]
    said = looks_like("encoder", Inventory(()), Inventory((*more,)), {"D": D})
    assert said == "perhaps a pooler or a dense layer more: layers.*.extra (×2) is D² + D = 590,592"


def test_what_a_class_has_and_its_table_does_not_say_are_tensors_of_its_own() -> None:
    crf = Tensor("crf.transitions", (18, 18), "unexpected")
    alias = Tensor("crf.words", (V, D), "unexpected", tied_to="bert.embeddings.word_embeddings.weight")
    assert unexpected(chinese().inventory, changed(crf=crf, alias=alias)) == [crf]


def test_what_does_not_differ_is_no_finding() -> None:
    assert compare(chinese().inventory, chinese().inventory, {}, {}) == []


def test_a_total_alone_is_no_hypothesis() -> None:
    """D² + D parameters that are no dense layer: as many, in one vector."""
    built = changed(odd=Tensor("bert.odd", (D * D + D,), "encoder"))
    assert "perhaps" not in only(reviewed(built)).fix


def test_a_square_without_its_bias_is_no_hypothesis() -> None:
    built = changed(odd=Tensor("bert.odd.weight", (D, D), "encoder"))
    assert "perhaps" not in only(reviewed(built)).fix
