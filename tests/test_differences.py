"""Differences of two inventories: changes of code, each with its sentences."""

from __future__ import annotations

import pytest

from pytest_bertsize.differences import compare_inventories, fold_modules
from pytest_bertsize.inventory import Inventory, Tensor
from tests.support.code_changes import Case, corpus


@pytest.mark.parametrize("case", corpus(), ids=lambda case: case.name)
def test_a_change_of_code_is_said_as_a_reviewer_would(case: Case) -> None:
    found = compare_inventories(case.before, case.after)
    assert [each.sentence for each in found] == [*case.says]
    assert sum(each.count for each in found) == case.after.unique - case.before.unique


def test_a_tie_that_another_name_owns_is_the_same_tie() -> None:
    one, other = Tensor("a.weight", (3, 2), ""), Tensor("b.weight", (3, 2), "", tied_to="a.weight")
    turned = Tensor("a.weight", (3, 2), "", tied_to="b.weight"), Tensor("b.weight", (3, 2), "")
    assert compare_inventories(Inventory((one, other)), Inventory(turned)) == []


def test_a_name_cannot_write_over_the_line_that_shows_it() -> None:
    (found,) = compare_inventories(Inventory(()), Inventory((Tensor("a\r\x1b[2K", (1,), ""),)))
    assert found.sentence == r"a\r\x1b[2K is new: 1 (1)"


def layered(count: int) -> Inventory:
    return Inventory(tuple(Tensor(f"x.{index}.w", (2, 3), "") for index in range(count)))


@pytest.mark.parametrize(("count", "others"), [(1, "the other"), (2, "the other 2"), (3, "the other 3")])
def test_a_new_layer_is_like_those_that_are_there(count: int, others: str) -> None:
    (found,) = compare_inventories(layered(count), layered(count + 1))
    assert (found.sentence, found.other) == (f"x.{count} is new: 6, like {others}", "")


def test_modules_are_folded_over_layers_with_what_they_own() -> None:
    assert fold_modules(layered(4), ["x.0.w", "x.1.w", "x.3.w"]) == {"x[0:2]": 12, "x.3": 6}


def test_a_module_of_which_a_part_is_a_name_of_another_tensor_is_new_with_what_it_owns() -> None:
    old = Tensor("a", (2,), "")
    parts = Tensor("m.a", (2,), "", tied_to="a"), Tensor("m.b", (3,), "")
    (found,) = compare_inventories(Inventory((old,)), Inventory((old, *parts)))
    assert found.sentence == "m is new: 3 (a 2, b 3)"


def test_of_two_modules_of_the_same_shapes_the_one_of_the_same_name_is_the_same() -> None:
    parts = [f"{module}.{name}" for module in ("self_attn", "cross_attn") for name in "qkvo"]
    before, after = (tuple(Tensor(f"{top}.{part}", (2,), "") for part in parts) for top in ("enc", "dec"))
    found = compare_inventories(Inventory(before), Inventory((*reversed(after), Tensor("dec.gate", (1,), ""))))
    renamed = [f"enc.{name} is now named dec.{name}, with the same shapes: 8" for name in ("self_attn", "cross_attn")]
    assert [each.sentence for each in found] == ["dec.gate is new: 1 (1)", *renamed]


def test_a_module_of_four_tensors_is_known_by_its_shapes_alone() -> None:
    for names in ("qkvo", "qkv"):
        before = Tensor("enc.w", (3,), ""), *(Tensor(f"enc.attn.{name}", (2,), "") for name in names)
        after = Tensor("dec.gate", (1,), ""), *(Tensor(f"dec.self.{name}", (2,), "") for name in names)
        kinds = {each.kind for each in compare_inventories(Inventory(before), Inventory(after))}
        assert ("renamed" in kinds) == (len(names) == 4)
