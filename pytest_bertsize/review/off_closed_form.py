"""Tensor by tensor: where a built model is not what its closed form says."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_bertsize.findings import Finding, printable
from pytest_bertsize.inventory import Inventory, Tensor, fold
from pytest_bertsize.quantity import exact, signed
from pytest_bertsize.review.fingerprints import looks_like

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

LIBRARY = "the class does not build what the config says: check the class, and report it if it is the library's own"
OWN = "mend the class, or say in the table what it has: extra, options, frozen"
MOST_NAMED = 4
"""Tensors that one sentence names before it counts the rest."""


def compare(
    expected: Inventory, actual: Inventory, formulas: Mapping[str, str], symbols: Mapping[str, int], fix: str = LIBRARY
) -> list[Finding]:
    """A finding for each component whose tensors differ in name, shape, tie or trainability; ``[]`` if none does.

    :param fix: what to write, by whose class it is: :data:`LIBRARY` or :data:`OWN`.
    """
    reasons: dict[str, list[str]] = {}
    for component, reason in _reasons(expected, actual):
        reasons.setdefault(component, []).append(reason)
    found = []
    for component, why in reasons.items():
        guess = looks_like(component, expected, actual, symbols)
        finding = _finding(component, why, expected, actual, formulas)
        found.append(replace(finding, fix=f"{guess}; {fix}" if guess else fix))
    return found


def _reasons(expected: Inventory, actual: Inventory) -> Iterable[tuple[str, str]]:
    missing = [tensor for tensor in expected.tensors if tensor.name not in actual.by_name]
    unexpected = [tensor for tensor in actual.tensors if tensor.name not in expected.by_name]
    yield from _by_component(missing, "missing from the built model")
    yield from _by_component(unexpected, "not in the closed form")
    for tensor in actual.tensors:
        if tensor.name in expected.by_name and (change := _change(expected.by_name[tensor.name], tensor)):
            yield tensor.component, change


def _by_component(tensors: list[Tensor], what: str) -> Iterable[tuple[str, str]]:
    for each in fold(tensors):
        times = f" (×{each.times})" if each.times > 1 else ""
        yield each.component, f"{printable(each.pattern)}{times} {_dimensions(each.shape)} is {what}"


def _change(expected: Tensor, actual: Tensor) -> str:
    name = printable(actual.name)
    if expected.shape != actual.shape:
        return f"{name} is {_dimensions(actual.shape)}, by the closed form {_dimensions(expected.shape)}"
    if expected.tied_to != actual.tied_to:
        return f"{name} {_tie(actual)}, by the closed form it {_tie(expected)}"
    if expected.trainable != actual.trainable:
        now, then = ("trains", "is frozen") if actual.trainable else ("is frozen", "trains")
        return f"{name} {now}, by the closed form it {then}"
    return ""


def _tie(tensor: Tensor) -> str:
    return f"shares {printable(tensor.tied_to)}" if tensor.tied_to else "is a tensor of its own"


def _dimensions(shape: tuple[int, ...]) -> str:
    return f"({', '.join(exact(size) for size in shape)})"


def _finding(
    component: str, reasons: list[str], expected: Inventory, actual: Inventory, formulas: Mapping[str, str]
) -> Finding:
    delta = actual[component] - expected[component]
    formula = formulas.get(component)
    by = (
        f"the closed form {formula} = {exact(expected[component])}"
        if formula
        else f"the closed form {exact(expected[component])}"
    )
    count = f"{component} is {signed(delta)} off {by}" if delta else f"{component} counts as {by} but differs within"
    named = "; ".join(reasons[:MOST_NAMED]) + (
        f"; and {len(reasons) - MOST_NAMED} more" if reasons[MOST_NAMED:] else ""
    )
    return Finding(
        "off-closed-form",
        f"{count}: {named}",
        component=component,
        expected=expected[component],
        actual=actual[component],
    )
