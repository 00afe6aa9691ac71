"""What is one change of code is one finding: a layer more, a second backbone, a module by another name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bertsize.inventory import Inventory, Tensor
from pytest_bertsize.review.off_closed_form import OWN, compare
from tests.support.bert_reviews import chinese

if TYPE_CHECKING:
    from pytest_bertsize.findings import Finding

LAYER = 7_087_872
"""Of BERT-base: 4·(768² + 768) + 2·768·3,072 + 3,072 + 768 + 4·768."""


def compared(actual: list[Tensor]) -> list[Finding]:
    return compare(chinese().inventory, Inventory(tuple(actual)), {}, {"D": 768, "V": 21_128}, OWN)


def built() -> list[Tensor]:
    return list(chinese().inventory.tensors)


def test_one_more_layer_is_said_once_and_like_the_others() -> None:
    last = "bert.encoder.layer.11."
    more = [e._replace(name=e.name.replace(last, "bert.encoder.layer.12.")) for e in built() if e.name.startswith(last)]
    (found,) = compared(built() + more)
    assert found.message == (
        f"encoder is +{LAYER:,} off the closed form {12 * LAYER:,}: "
        f"bert.encoder.layer.12 is new: {LAYER:,}, like the other 12"
    )
    assert (found.component, found.actual, found.expected) == ("encoder", 13 * LAYER, 12 * LAYER)
    assert "perhaps" not in found.fix


def test_layers_that_are_not_there_are_said_once() -> None:
    left = [each for each in built() if not each.name.startswith(("bert.encoder.layer.10.", "bert.encoder.layer.11."))]
    (found,) = compared(left)
    assert found.message.endswith(
        f": bert.encoder.layer[10:12] are gone: 2 × {LAYER:,} = {2 * LAYER:,}, and 10 are left"
    )


def test_a_second_backbone_is_called_one() -> None:
    more = [
        each._replace(name=f"context.{each.name.removeprefix('bert.')}", component="unexpected", tied_to=None)
        for each in built()
        if each.name.startswith("bert.")
    ]
    (found,) = compared(built() + more)
    count = sum(each.size for each in more)
    assert f"context is new: {count:,} (" in found.message
    assert found.message.endswith(", built like bert: a second backbone")
    assert found.fix == OWN


def test_a_module_by_another_name_is_no_loss_and_no_gain() -> None:
    renamed = [each._replace(name=each.name.replace("bert.encoder.layer.", "bert.encoder.layers.")) for each in built()]
    (found,) = compared(renamed)
    assert found.message.endswith(
        f": bert.encoder.layer is bert.encoder.layers now, of the same shapes: {12 * LAYER:,}"
    )


def test_what_differs_beside_it_is_said_as_ever() -> None:
    last = "bert.encoder.layer.11."
    more = [e._replace(name=e.name.replace(last, "bert.encoder.layer.12.")) for e in built() if e.name.startswith(last)]
    odd = Tensor("bert.encoder.odd", (3,), "encoder")
    one, other = compared([*built(), *more, odd])
    assert "bert.encoder.layer.12 is new" in one.message
    assert other.message.endswith(": bert.encoder.odd (3) is not in the closed form")


def test_layers_that_share_what_another_has_are_said_once() -> None:
    """As ALBERT's do; the same the other way round."""
    first, second = "bert.encoder.layer.0.", "bert.encoder.layer.1."
    shared = [
        each._replace(tied_to=first + each.name.removeprefix(second)) if each.name.startswith(second) else each
        for each in built()
    ]
    (found,) = compared(shared)
    assert (found.component, found.actual, found.expected) == ("encoder", 11 * LAYER, 12 * LAYER)
    assert found.message.count(";") == 0
    (back,) = compare(Inventory(tuple(shared)), chinese().inventory, {}, {"D": 768, "V": 21_128}, OWN)
    assert (back.component, back.actual, back.expected) == ("encoder", 12 * LAYER, 11 * LAYER)
    assert back.message.count(";") == 0
