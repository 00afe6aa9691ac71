"""The layers in which base, closed form and built model differ; neighbours that differ alike are one row."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pytest_bertsize.closed_forms import ClosedForm
from pytest_bertsize.config.dims import Dims
from pytest_bertsize.inventory import Inventory, Tensor
from pytest_bertsize.reports.from_review import list_differing_layers
from tests.support.bert_reviews import SIZES, changed, chinese

LAYER = 7_087_872
STACK = "bert.encoder.layer"


def inventory(**sizes: int) -> Inventory:
    form = chinese()
    return ClosedForm(form.architecture, Dims({**SIZES, **sizes}, form.dims.switches))


def edited(edit: Callable[[Tensor], Tensor | None]) -> Inventory:
    return Inventory(tuple(filter(None, map(edit, chinese().tensors))))


def test_sides_that_are_the_same_and_what_is_in_no_layer_have_no_row() -> None:
    same, wider = inventory(), inventory(V=30522, P=1024)
    for sides in ((same, same, same), (None, same, same), (None, same, None), (None, None, None), (same, wider, wider)):
        assert [*list_differing_layers(*sides)] == []


WIDER = 4 * 832 * 832 + 2 * 832 * 3072 + 9 * 832 + 3072


@pytest.mark.parametrize(
    ("sizes", "rows"),
    [
        ({"L": 13}, [("12", 1, None, LAYER)]),
        ({"L": 14}, [("12-13", 2, None, LAYER)]),
        ({"L": 9}, [("9-11", 3, LAYER, None)]),
        ({"D": 832}, [("0-11", 12, LAYER, WIDER)]),
        ({"D": 832, "L": 14}, [("0-11", 12, LAYER, WIDER), ("12-13", 2, None, WIDER)]),
    ],
)
@pytest.mark.parametrize("built", [True, False])
def test_layers_that_differ_alike_are_one_row_with_the_counts_of_each_side(
    sizes: dict[str, int], rows: list[tuple[str, int, int | None, int | None]], *, built: bool
) -> None:
    now = inventory(**sizes)
    found = [*list_differing_layers(inventory(), now, now if built else None)]
    assert [(row.name, row.times, row.base, row.expected, row.actual) for row in found] == [
        (f"{STACK}.{name}", times, base, count, count if built else None) for name, times, base, count in rows
    ]


def test_tensors_that_a_built_layer_has_otherwise_lacks_or_has_more() -> None:
    odd, missing, extra = (f"{STACK}.3.{name}" for name in ("output.dense.weight", "output.dense.bias", "scale"))
    shorter = {odd: Tensor(odd, (767, 3072), "encoder"), missing: None, extra: Tensor(extra, (5,), "encoder")}
    (row,) = list_differing_layers(None, inventory(), changed(**shorter))
    assert (row.name, row.times, row.base, row.expected) == (f"{STACK}.3", 1, None, LAYER)
    assert row.actual == LAYER - 3072 - 768 + 5
    assert [(each.name, each.base, each.expected, each.actual) for each in row.tensors] == [
        ("output.dense.weight", None, [768, 3072], [767, 3072]),
        ("output.dense.bias", None, [768], None),
        ("scale", None, None, [5]),
    ]


def test_layers_apart_from_each_other_are_rows_of_their_own_in_their_numerical_order() -> None:
    odd = {f"{STACK}.{index}.output.dense.bias" for index in (2, 3, 5, 10, 11)}
    actual = edited(lambda tensor: None if tensor.name in odd else tensor)
    rows = [*list_differing_layers(None, inventory(), actual)]
    assert [row.name for row in rows] == [f"{STACK}.2-3", f"{STACK}.5", f"{STACK}.10-11"]
    assert [row.times for row in rows] == [2, 1, 2]
    odd = {f"{STACK}.2.output.dense.bias", f"{STACK}.3.intermediate.dense.bias"}  # neighbours, in different ways
    actual = edited(lambda tensor: None if tensor.name in odd else tensor)
    assert [row.name for row in list_differing_layers(None, inventory(), actual)] == [f"{STACK}.2", f"{STACK}.3"]


def test_a_tensor_that_is_tied_on_one_side_alone_differs() -> None:
    tied = f"{STACK}.1.output.dense.bias"
    actual = edited(
        lambda tensor: tensor._replace(tied_to=f"{STACK}.0.output.dense.bias") if tensor.name == tied else tensor
    )
    (row,) = list_differing_layers(None, inventory(), actual)
    assert (row.name, row.expected, row.actual) == (f"{STACK}.1", LAYER, LAYER - 768)
    assert [tensor.name for tensor in row.tensors] == ["output.dense.bias"]


def test_two_stacks_are_never_one_row() -> None:
    two = Inventory(tuple(Tensor(f"{stack}.0.weight", (3,), "encoder") for stack in ("a.layers", "b.layers")))
    assert [row.name for row in list_differing_layers(Inventory(()), two, two)] == ["a.layers.0", "b.layers.0"]
