"""Compare a built model with its closed form, tensor by tensor: a finding for each component that differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pytest_bertsize.differences import Difference, compare_inventories
from pytest_bertsize.findings import Finding
from pytest_bertsize.inventory import TOTAL, Inventory, Tensor, common
from pytest_bertsize.table.toml import inline
from pytest_bertsize.wording import exact, listed, signed

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.family import ClosedForm
    from pytest_bertsize.closed_forms.formula import Formula

LIBRARY = "the class builds other tensors than its config declares: check the config, or report the library's class"
MOST_NAMED = 4
"""The most differences that a sentence names; further ones are counted."""


def compare_with_closed_form(form: ClosedForm, actual: Inventory, command: str | None = None) -> list[Finding]:
    """Return a finding for each component whose tensors differ in name, shape, tie or trainability.

    :param command: the command that writes the table of a project's class, or ``""``; ``None`` for a class of the
        library, where (unlike in a project's class) another name for a tied tensor counts as a changed tie.
    """
    by_component: dict[str, list[Difference]] = {}
    sides = (actual.by_name, form.by_name)
    lost = [
        Difference("untied", each.name, 0, (each.name,), "there is no such tensor", each.tied_to)
        for each in form.tensors
        if each.tied_to and each.tied_to not in form.by_name
    ]
    for each in (*compare_inventories(form, actual), *lost):
        if not (command is not None and _is_other_name(each, *sides)):
            components = {next(side[name].component for side in sides if name in side) for name in each.tensors}
            by_component.setdefault(common(components, TOTAL), []).append(each)
    found: list[Finding] = []
    formulas = form.formulas() if by_component else {}
    for component, differences in by_component.items():
        fix = LIBRARY if command is None else _describe_in_table(differences, command, is_first=not found)
        found.append(_make_finding(component, differences, form, actual, formulas.get(component))._replace(fix=fix))
    return found


def _is_other_name(difference: Difference, *sides: Mapping[str, Tensor]) -> bool:
    """Return whether the only difference is another name for a tensor that both sides have."""
    tensors = [side[name] for side in sides for name in difference.tensors if name in side]
    return difference.is_name_alone and all(each.tied_to in side for each in tensors for side in sides)


def _make_finding(
    component: str, differences: Sequence[Difference], expected: Inventory, actual: Inventory, formula: Formula | None
) -> Finding:
    delta, count = actual.count_of(component) - expected.count_of(component), exact(expected.count_of(component))
    is_number = formula is None or str(formula).isdigit()
    by = f"the closed form {count}" if is_number else f"the closed form {formula} = {count}"
    if not delta:
        off = f"{component} has as many parameters as {by}, but its tensors differ"
    elif not expected.count_of(component):
        off = f"{component} is {signed(delta)}, and the closed form has none"
    else:
        off = f"{component} is {signed(delta)} off {by}"
    named = listed([each.sentence for each in differences], MOST_NAMED, "; ", last="; and ")
    counts = {"component": component, "expected": expected.count_of(component), "actual": actual.count_of(component)}
    return Finding("off-closed-form", f"{off}: {named}", **counts)  # type: ignore[arg-type]


def _describe_in_table(differences: Sequence[Difference], command: str, *, is_first: bool) -> str:
    """Return the fix for a project's class; only the first finding names the command that writes its table."""
    for each in differences:
        if each.kind == "tied":
            return f"write tied = {inline({each.name: each.other})}, or correct the class"
    if not command:
        return "correct the class, or its table"
    intended = f"if that is intended, {command} --write writes its table and its lock"
    return f"correct the class; {intended}" if is_first else ""
