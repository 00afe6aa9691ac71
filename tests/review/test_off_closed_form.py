"""Differences of a built model from its closed form: one finding for each component, with what it probably is."""

from __future__ import annotations

import pytest

from pytest_bertsize.closed_forms.formula import Formula, Product
from pytest_bertsize.closed_forms.symbols import as_power
from pytest_bertsize.findings import Finding
from pytest_bertsize.inventory import Inventory, Tensor
from pytest_bertsize.review.tensors import compare_with_closed_form

V, D = 21_128, 768
NORM = Tensor("encoder.norm.weight", (768,), "encoder.norm")
FROZEN = NORM._replace(trainable=False)
SHARED = Tensor("b.weight", (768,), "encoder.norm", tied_to=NORM.name)
FORMULAS = {"encoder.norm": Formula((Product(1, (as_power("D"),)),))}
OWN = "bertsize init own:build"


def parts(count: int) -> tuple[Tensor, ...]:
    """Tensors of one component that do not fold: there is no layer's index in their names."""
    return tuple(Tensor(f"encoder.part{index}", (2,), "encoder") for index in range(count))


class Form(Inventory):
    """A closed form of these tensors."""

    def formulas(self) -> dict[str, Formula]:
        return FORMULAS


def compared(expected: tuple[Tensor, ...], actual: tuple[Tensor, ...], own: str | None = None) -> list[Finding]:
    return [*compare_with_closed_form(Form(expected), Inventory(actual), own)]  # type: ignore[arg-type]


def message(expected: tuple[Tensor, ...], actual: tuple[Tensor, ...]) -> str:
    (found,) = compared(expected, actual)
    return found.message


def test_what_is_the_same_in_any_order_is_no_finding() -> None:
    assert compared((NORM, *parts(3)), (*parts(3), NORM)) == []


def test_a_difference_names_both_counts_and_a_way_out() -> None:
    assert compared((NORM, *parts(1)), parts(1)) == [
        Finding(
            "off-closed-form",
            "encoder.norm is -768 off the closed form D = 768: encoder.norm is gone: 768 (weight 768)",
            "the class builds other tensors than its config declares: check the config, or report the library's class",
            component="encoder.norm",
            expected=768,
            actual=0,
        )
    ]


def test_each_component_that_differs_is_found_once() -> None:
    layers = tuple(Tensor(f"encoder.layer.{index}.norm", (768,), "encoder.norm") for index in range(2))
    found = compared((NORM, *parts(2)), (*layers, parts(1)[0]))
    assert {each.component: (each.expected, each.actual) for each in found} == {
        "encoder.norm": (768, 1_536),
        "encoder": (772, 1_538),  # its norm's, and parts of two
    }


@pytest.mark.parametrize(("count", "rest"), [(4, ""), (5, "; and 1 more")])
def test_four_differences_are_named_and_the_rest_counted(count: int, rest: str) -> None:
    named = "; ".join(f"encoder.part{index} is new: 2 (2)" for index in range(4))
    assert message((NORM,), (NORM, *parts(count))) == f"encoder is +{2 * count} off the closed form 768: {named}{rest}"


def test_tensors_that_differ_in_shape_or_in_what_trains_differ_even_where_the_count_is_the_same() -> None:
    same = "encoder.norm has as many parameters as the closed form D = 768, but its tensors differ: encoder"
    resized = Tensor("encoder.norm.weight", (384, 2), "encoder.norm")
    assert message((NORM,), (resized,)) == f"{same}.norm.weight: 768 → 384×2, no count changed"
    assert message((FROZEN,), (NORM,)) == f"{same} now trains: 768"
    assert message((NORM,), (FROZEN,)) == f"{same} no longer trains: 768"


def test_a_class_of_the_project_may_have_more_names_for_a_tensor_or_fewer() -> None:
    """``self.ctx_model = self.question_model``; a BERT that was copied without ``cls.predictions.decoder.bias``."""
    assert compared((NORM,), (NORM, SHARED), OWN) == []
    assert compared((NORM, SHARED), (NORM,), OWN) == []
    for expected, actual in (((NORM,), (NORM, SHARED)), ((NORM, SHARED), (NORM,))):  # of the library it has them all
        (found,) = compared(expected, actual)
        assert (found.component, found.expected, found.actual) == ("encoder.norm", 768, 768)
    (found,) = compared((NORM, SHARED), (NORM, SHARED._replace(tied_to=None)), OWN)
    assert found.actual == 2 * 768


def test_a_backbone_that_is_another_is_told_with_the_command_that_writes_the_row() -> None:
    two = tuple(Tensor(f"{name}.words.weight", (V, D), name) for name in ("question", "answer"))
    one = (two[0], two[1]._replace(tied_to=two[0].name))
    (found,) = compared(two, one, OWN)
    assert (found.component, found.expected, found.actual) == ("answer", V * D, 0)
    told = "correct the class; if that is intended, bertsize init own:build --write writes its table and its lock"
    assert found.fix.endswith(told)


def test_a_class_whose_table_no_command_writes_is_mended_by_hand() -> None:
    assert compared((NORM,), (NORM, SHARED), "") == []
    (found,) = compared((NORM,), (NORM, *parts(1)), "")
    assert found.fix == "correct the class, or its table"
