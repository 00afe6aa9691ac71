"""Where a built model is not what its closed form says: each component once, each tensor by its name."""

from __future__ import annotations

import pytest

from pytest_bertsize.closed_forms.formula import Formula, Product
from pytest_bertsize.closed_forms.symbols import symbol
from pytest_bertsize.findings import Finding
from pytest_bertsize.inventory import Inventory, Tensor
from pytest_bertsize.review.off_closed_form import OWN, compare

NORM = Tensor("encoder.norm.weight", (768,), "encoder.norm")
FROZEN = Tensor("encoder.norm.weight", (768,), "encoder.norm", trainable=False)
FORMULAS = {"encoder.norm": Formula((Product(1, (symbol("D"),)),))}


def parts(count: int) -> tuple[Tensor, ...]:
    """Tensors of one component that do not fold: there is no layer's index in their names."""
    return tuple(Tensor(f"encoder.part{index}", (2,), "encoder") for index in range(count))


def layers(count: int) -> tuple[Tensor, ...]:
    return tuple(Tensor(f"encoder.layer.{index}.norm", (768,), "encoder.norm") for index in range(count))


def compared(expected: tuple[Tensor, ...], actual: tuple[Tensor, ...]) -> list[Finding]:
    return compare(Inventory(expected), Inventory(actual), FORMULAS, {"D": 768})


def message(expected: tuple[Tensor, ...], actual: tuple[Tensor, ...]) -> str:
    (found,) = compared(expected, actual)
    return found.message


def test_what_is_the_same_has_no_difference_in_whatever_order_it_stands() -> None:
    assert compared((NORM, *parts(3)), (*parts(3), NORM)) == []


def test_a_difference_names_both_counts_and_a_way_out() -> None:
    assert compared((NORM,), ()) == [
        Finding(
            "off-closed-form",
            "encoder.norm is -768 off the closed form D = 768: encoder.norm.weight (768) is missing from the built model",
            "the class does not build what the config says: check the class, and report it if it is the library's own",
            component="encoder.norm",
            expected=768,
            actual=0,
        )
    ]


def test_a_component_without_a_formula_has_its_count_alone() -> None:
    assert message((), parts(1)) == "encoder is +2 off the closed form 0: encoder.part0 (2) is not in the closed form"


def test_each_component_that_differs_is_found_once() -> None:
    found = compared((NORM, *parts(2)), layers(2))
    assert [(each.component, each.expected, each.actual) for each in found] == [
        ("encoder.norm", 768, 1_536),
        ("encoder", 772, 1_536),  # its norm's, and two parts of two
    ]


@pytest.mark.parametrize(("count", "rest"), [(4, ""), (5, "; and 1 more"), (7, "; and 3 more")])
def test_four_differences_are_named_and_the_rest_counted(count: int, rest: str) -> None:
    named = "; ".join(f"encoder.part{index} (2) is not in the closed form" for index in range(4))
    assert message((), parts(count)) == f"encoder is +{2 * count} off the closed form 0: {named}{rest}"


@pytest.mark.parametrize(
    ("count", "named"),
    [
        (1, "encoder.layer.0.norm (768)"),
        (2, "encoder.layer.*.norm (×2) (768)"),
        (12, "encoder.layer.*.norm (×12) (768)"),
    ],
)
def test_identical_layers_are_one_difference(count: int, named: str) -> None:
    assert message(layers(count), ()).endswith(f": {named} is missing from the built model")


def test_each_dimension_of_a_shape_is_shown() -> None:
    assert (
        message((), (Tensor("a", (21128, 768), "head"),))
        == (
            "head is +16,226,304 off the closed form 0: a (21,128, 768) is not in the closed form"  # Embedding-Token: SOURCES E
        )
    )


def test_a_resized_tensor_is_shown_with_both_its_shapes_even_where_the_count_is_the_same() -> None:
    same = "encoder.norm counts as the closed form D = 768 but differs within: encoder.norm.weight"
    resized = Tensor("encoder.norm.weight", (384, 2), "encoder.norm")
    assert message((NORM,), (resized,)) == f"{same} is (384, 2), by the closed form (768)"


def test_a_tensor_that_trains_where_it_should_not_differs_and_the_other_way_round() -> None:
    same = "encoder.norm counts as the closed form D = 768 but differs within: encoder.norm.weight"
    assert message((FROZEN,), (NORM,)) == f"{same} trains, by the closed form it is frozen"
    assert message((NORM,), (FROZEN,)) == f"{same} is frozen, by the closed form it trains"


SHARED = Tensor("b.weight", (768,), "encoder.norm", tied_to=NORM.name)


def test_a_class_of_the_project_may_have_more_names_for_a_tensor_or_fewer() -> None:
    """``self.ctx_model = self.question_model``; a BERT that was copied without ``cls.predictions.decoder.bias``."""
    mine = {"fix": OWN}
    assert compare(Inventory((NORM,)), Inventory((NORM, SHARED)), FORMULAS, {"D": 768}, **mine) == []
    assert compare(Inventory((NORM, SHARED)), Inventory((NORM,)), FORMULAS, {"D": 768}, **mine) == []
    lost = SHARED._replace(tied_to=None)
    (found,) = compare(Inventory((NORM, SHARED)), Inventory((NORM, lost)), FORMULAS, {"D": 768}, **mine)
    assert found.actual == 2 * 768


def test_a_class_of_the_library_has_its_names_one_by_one() -> None:
    end = "counts as the closed form D = 768 but differs within: b.weight (768) is"
    assert message((NORM,), (NORM, SHARED)) == f"encoder.norm {end} not in the closed form"
    assert message((NORM, SHARED), (NORM,)) == f"encoder.norm {end} missing from the built model"


def test_a_name_cannot_write_over_the_line_that_shows_it() -> None:
    hostile = Tensor("a\r\x1b[2K", (1,), "head")
    assert message((), (hostile,)) == r"head is +1 off the closed form 0: a\r\x1b[2K (1) is not in the closed form"
    tied = Tensor("b", (1,), "head", tied_to=hostile.name)
    assert message((Tensor("b", (1,), "head"),), (tied,)) == (
        r"head is -1 off the closed form 1: b shares a\r\x1b[2K, by the closed form it is a tensor of its own"
    )
