"""The named tensors of a model and their roll-up: whatever they are, every row adds up to the total."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_bertsize import closed_form
from pytest_bertsize.inventory import Fold, Inventory, Tensor, common, levels, parents_first, roll_up

WORD = st.sampled_from(["a", "b", "head", "encoder", "embeddings"])
PART = st.sampled_from(["layer", "layer.0", "layer.1", "layer.12", "dense", "weight", "bias"])
COMPONENTS, NAMES = (st.lists(each, min_size=1, max_size=most).map(".".join) for each, most in ((WORD, 3), (PART, 4)))


@st.composite
def inventories(draw: st.DrawFn) -> Inventory:
    """Any tensors of any components; some frozen, some tied to another."""
    names = draw(st.lists(NAMES, unique=True, max_size=12))
    shapes = st.lists(st.integers(0, 10**6), max_size=3).map(tuple)
    owners = st.none() | st.sampled_from(names or [""])
    tensors = (Tensor(name, draw(shapes), draw(COMPONENTS), draw(st.booleans()), draw(owners)) for name in names)
    return Inventory(tuple(tensors))


def layered(count: int) -> tuple[Tensor, ...]:
    """The two tensors of a norm in each of ``count`` layers."""
    names = (f"encoder.layer.{index}.norm.{name}" for index in range(count) for name in ("weight", "bias"))
    return tuple(Tensor(name, (768,), "encoder.norm") for name in names)


# of bert-base-chinese's BertForMaskedLM (SOURCES D): the matrix, the decoder that shares it, and two more
WORDS = Tensor("bert.embeddings.word_embeddings.weight", (21128, 768), "embeddings.word")
POSITIONS = Tensor("bert.embeddings.position_embeddings.weight", (512, 768), "embeddings.position", trainable=False)
DECODER = Tensor("cls.predictions.decoder.weight", (21128, 768), "head.decoder", tied_to=WORDS.name)
BIAS = Tensor("cls.predictions.bias", (21128,), "head.decoder")
MODEL = Inventory((WORDS, POSITIONS, DECODER, BIAS))


# an inventory


def test_a_tied_tensor_counts_once_and_is_stored_twice_and_a_component_counts_what_is_below_it() -> None:
    words, positions, bias = 21128 * 768, 512 * 768, 21128
    assert MODEL.unique == MODEL["total"] == words + positions + bias
    assert MODEL.trainable == MODEL["trainable"] == words + bias
    assert MODEL.stored == 2 * words + positions + bias
    assert MODEL.own == {"embeddings.word": words, "embeddings.position": positions, "head.decoder": bias}
    embeddings = {"embeddings": words + positions, "embeddings.word": words, "embeddings.position": positions}
    assert MODEL.components == {**embeddings, "head": bias, "head.decoder": bias}
    assert MODEL["embeddings"] == words + positions
    assert repr(MODEL) == "<Inventory of 16,640,648 parameters: embeddings: 16,619,520, head: 21,128>"


def test_a_component_that_nothing_has_is_no_zero() -> None:
    with pytest.raises(KeyError, match="there is no component 'embedings'; did you mean 'embeddings'"):
        MODEL["embedings"]
    with pytest.raises(KeyError, match=r"there is no component 'lstm'; the components are embeddings, embeddings.word"):
        MODEL["lstm"]
    form = closed_form(str(Path(__file__).parents[1] / "examples" / "d-bert-base-chinese" / "config.json"))
    assert form["pooler"] == 0  # BertForMaskedLM has none, and others of the family have one
    with pytest.raises(KeyError, match="there is no component 'haed'; did you mean 'head'"):
        form["haed"]


@given(inventories())
def test_own_counts_uppermost_components_and_folded_rows_sum_to_the_total(inventory: Inventory) -> None:
    assert sum(inventory.own.values()) == inventory.unique == inventory["total"]
    assert sum(count for name, count in inventory.components.items() if "." not in name) == inventory.unique
    rows = inventory.folded
    assert sum(row.owned for row in rows) == inventory.unique
    assert sum(row.times for row in rows) == len(inventory.tensors)


# levels and their order


def test_what_components_have_in_common_is_the_lowest_that_all_of_them_are_within() -> None:
    attention = {"encoder.layer.attention.query", "encoder.layer.attention.output"}
    assert common(attention, "encoder") == "encoder.layer.attention"
    assert common({*attention, "encoder.norm"}, "head") == "encoder"
    assert common({"encoder.attention", "embeddings.word"}, "head") == "head"


def test_components_stand_in_the_order_of_a_forward_pass_with_others_behind_as_they_come() -> None:
    encoder, last = ["encoder", "encoder.norm", "encoder.attention"], ["head", "adapters", "zoo", "ark"]
    found = parents_first(["zoo", "adapters", "head", "ark", "pooler", "decoder", *encoder, "embeddings"])
    assert found == ["embeddings", *encoder, "decoder", "pooler", *last]


@given(st.dictionaries(COMPONENTS, st.integers(0, 10**12)))
def test_a_component_stands_behind_its_parent_and_among_its_kin(own: dict[str, int]) -> None:
    ordered = list(roll_up(own))
    assert set(ordered) == {level for name in own for level in levels(name)}
    for index, name in enumerate(ordered):
        family = [each for each in ordered if each == name or each.startswith(f"{name}.")]
        assert ordered[index : index + len(family)] == family


# folding


def test_identical_layers_fold_into_one_row_and_a_frozen_one_has_a_row_of_its_own() -> None:
    assert Inventory(layered(12)).folded == [
        Fold("encoder.layer.*.norm.weight", "encoder.norm", (768,), 12, 9_216, None),  # 12 × 768
        Fold("encoder.layer.*.norm.bias", "encoder.norm", (768,), 12, 9_216, None),
    ]
    frozen = Tensor("encoder.layer.2.norm.weight", (768,), "encoder.norm", trainable=False)
    assert [(row.times, row.trainable) for row in Inventory((*layered(2), frozen)).folded] == [
        (2, True),
        (2, True),
        (1, False),
    ]


def test_tied_layers_fold_with_what_they_are_tied_to_and_count_nothing() -> None:
    name = "coder.layer.{}.weight".format
    copies = [Tensor(f"de{name(at)}", (5,), "decoder", tied_to=f"en{name(at)}") for at in range(3)]
    free = Tensor(f"de{name(3)}", (5,), "decoder")
    assert Inventory((*copies, free)).folded == [
        Fold("decoder.layer.*.weight", "decoder", (5,), 3, 0, "encoder.layer.*.weight"),
        Fold("decoder.layer.*.weight", "decoder", (5,), 1, 5, None),
    ]


def test_a_component_that_stands_once_in_each_layer_is_so_many_layers_and_any_other_is_one() -> None:
    assert [Inventory(layered(count)).layers("encoder") for count in (1, 2, 12)] == [1, 2, 12]
    final = Tensor("encoder.final_norm.weight", (768,), "encoder.norm")
    assert Inventory((final, *layered(12))).layers("encoder") == 1
    assert Inventory((*layered(12), WORDS)).layers("encoder") == 12
    frozen = (each._replace(trainable=".0." not in each.name) for each in layered(12))
    assert Inventory((*frozen,)).layers("encoder") == 12


def test_a_closed_form_is_of_a_file() -> None:
    said = "config is the path of a file, not a dict; pass a model in hand to check_model"
    with pytest.raises(TypeError, match=said):
        closed_form({"hidden_size": 48})  # type: ignore[arg-type]
