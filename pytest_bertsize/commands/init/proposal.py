"""What is proposed for a project: a table for each of its configs that the gate would pass today, as TOML."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_bertsize.commands.init.copies import Copies, without_equal, without_saved
from pytest_bertsize.commands.init.counted import counted
from pytest_bertsize.commands.init.files import listed
from pytest_bertsize.commands.init.found import folded, search
from pytest_bertsize.commands.init.limits import budget
from pytest_bertsize.commands.init.naming import heading, model_name
from pytest_bertsize.config.other_keys import OWN_CLASS
from pytest_bertsize.findings import Unusable
from pytest_bertsize.review.check import conclude_unbuilt, examine
from pytest_bertsize.table.model import NAMES
from pytest_bertsize.table.toml import key, quoted
from pytest_bertsize.wording import printable

OF_TESTS = re.compile(r"(^|/)(tests?|testing|fixtures|test_data|testdata)/")
"""Folders whose configs are made up."""

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.commands.init.counted import Counted
    from pytest_bertsize.commands.init.found import Found
    from pytest_bertsize.commands.init.project import Project
    from pytest_bertsize.review.review import Review


@dataclass
class Proposal:
    """What is proposed for a project, and what is to be said beside it."""

    declared: int
    """Configs that the project has declared already."""
    tables: dict[str, str] = field(default_factory=dict)
    """TOML by the name of the model."""
    left_out: list[str] = field(default_factory=list)
    by_hand: list[str] = field(default_factory=list)
    """What is or may be a model, and is not proposed, with the reason."""


def propose(project: Project, registry: Registry) -> Proposal:
    """A table for every config of the project that is not declared yet and that passes its own limits."""
    root = project.root
    files = listed(root)
    seen = search(files, registry)
    seen.found.sort(key=lambda each: (each.file.count("/"), each.reference))
    places = _declared(project)
    references = (*(each.reference for each in seen.found), *(each.reference for each in seen.by_hand))
    declared = {each for each in references if _place(root, each) in places}
    copies = Copies(files)
    found = Proposal(len(declared), by_hand=[each.why for each in seen.by_hand if each.reference not in declared])
    of_tests = [each for each in seen.found if OF_TESTS.search(each.file) and each.reference not in declared]
    seen.found = [each for each in seen.found if each not in of_tests]
    found.left_out += [f"left out: {printable(each.reference)}, of a test" for each in of_tests]
    kept = without_equal(seen.found, declared, copies)
    those = [each for config in kept if (each := _counted(config, registry, declared, found.by_hand))]
    for each in without_saved(those, declared, copies, registry):
        if each.found.reference not in declared:
            _add(each, found, project, registry)
    found.left_out += [*copies.said(), *folded(seen.others), *files.said]
    return found


def _counted(found: Found, registry: Registry, declared: set[str], by_hand: list[str]) -> Counted | None:
    """``None`` for a config that cannot be used, and the first of its mistakes is told."""
    try:
        return counted(found, registry)
    except Unusable as unusable:
        first, *rest = unusable.findings
        named = first if first.file else first._replace(file=printable(found.reference))
        if found.reference not in declared:
            by_hand.append(named.sentence + (f" (and {len(rest)} more)" if rest else ""))
        return None


def _declared(project: Project) -> set[tuple[Path, str]]:
    """The files of declared models, and the places in them."""
    models = project.settings.models.values() if project.settings else ()
    named = ((file, model.config.partition("#")[2]) for model in models if (file := model.file))
    places = ((project.root / file, inner) for file, inner in named)
    return set(_resolved(places))


def _resolved(places: Iterator[tuple[Path, str]]) -> Iterator[tuple[Path, str]]:
    for path, inner in places:
        try:
            yield from ((each.resolve(), inner) for each in (path, *(path / name for name in NAMES)))
        except (OSError, RuntimeError, ValueError):  # a NUL byte, a symlink loop: its model's mistake
            continue


def _place(root: Path, reference: str) -> tuple[Path, str]:
    file, _, inner = reference.partition("#")
    return (root / file).resolve(), inner


def _add(proposed: Counted, found: Proposal, project: Project, registry: Registry) -> None:
    """A table that the gate would be red for is not proposed: whoever starts has to start from green."""
    taken = {*found.tables, *(project.settings.models if project.settings else ())}
    name = model_name(proposed.found.reference, proposed.derivation.family.name, taken)
    text = table(name, proposed)
    settings = project.beside(text)
    review = conclude_unbuilt(examine(settings.models[name], settings, registry), settings)
    if problem := _problem(review) or _of_another_class(review):
        found.by_hand.append(f"{printable(settings.models[name].config)}: {problem}")
    else:
        found.tables[name] = text


def _problem(review: Review) -> str:
    """Why the gate would fail a proposed model, ``""`` where it passes it and would notice one more layer."""
    wrong = [*review.errors, *(each for each in review.findings if each.kind == "insensitive-budget")]
    return f"{wrong[0].message}; {wrong[0].fix}" if wrong else ""


def _of_another_class(review: Review) -> str:
    """Where the project's own code reads a key that the library's class does not: it is another class that is run."""
    said = (f"{each.message}; {each.fix}" for each in review.findings if OWN_CLASS in each.fix)
    return next(said, "")


def table(name: str, proposed: Counted) -> str:
    """The table of one model, a line for each thing that it says."""
    found = proposed.found
    lines = [heading(name), f"config = {quoted(found.reference)}"]
    if found.family:
        lines.append(f"family = {quoted(found.family)}  # the file has no model_type")
    if proposed.architecture:
        lines.append(f"architecture = {quoted(proposed.architecture)}{_comment(proposed.because)}")
    limits = budget(proposed.derivation, any_class=proposed.is_a_guess)
    lines += [f"budget.{key(component)} = {limit}" for component, limit in limits]
    return "".join(f"{line}\n" for line in lines)


def _comment(text: str) -> str:
    return f"  # {text}" if text and text.isprintable() else ""
