"""Two backbones of a table that are one module in what was built: told once, and not tensor by tensor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pytest_bertsize.findings import Finding
from pytest_bertsize.inventory import is_within
from pytest_bertsize.wording import exact, printable

if TYPE_CHECKING:
    from pytest_bertsize.inventory import Inventory
    from pytest_bertsize.table.model import Model


def told_once(
    findings: tuple[Finding, ...], expected: Inventory, actual: Inventory, model: Model
) -> tuple[Finding, ...]:
    """The findings, with one in place of all that are about a module that is another."""
    shared = dict(_shared([*model.backbones], expected, actual))

    def is_told(finding: Finding) -> bool:
        component = finding.component or ""
        return finding.kind == "off-closed-form" and any(is_within(component, name) for name in shared)

    once = [_finding(name, other, expected) for name, other in shared.items()]
    return (*once, *(each for each in findings if not is_told(each))) if shared else findings


def _shared(names: Sequence[str], expected: Inventory, actual: Inventory) -> Iterator[tuple[str, str]]:
    """Each backbone that is another, though the table does not say so."""
    for name in names:
        inside = {each.name: each for each in actual.tensors if each.name.startswith(f"{name}.")}
        wanted = {each.name: each for each in expected.tensors if each.name.startswith(f"{name}.")}
        if not inside or inside.keys() != wanted.keys() or all(each.tied_to for each in wanted.values()):
            continue
        for other in names:
            twins = {each: f"{other}{each.removeprefix(name)}" for each in inside}
            there = {each: found for each, twin in twins.items() if (found := actual.by_name.get(twin))}
            owners = {each: found.tied_to or found.name for each, found in there.items()}
            if other != name and owners == {each: tensor.tied_to for each, tensor in inside.items()}:
                yield name, other
                break


def _finding(name: str, other: str, expected: Inventory) -> Finding:
    count = expected[name]
    is_one = f"{printable(name)} is {printable(other)} in what was built, and is counted once"
    return Finding(
        "off-closed-form",
        f"{is_one}; by the table they are two, and {printable(name)} has {exact(count)} of its own",
        f'write tied = {{ {name} = "{other}" }}, or mend the class',
        component=name,
        expected=count,
        actual=0,
    )
