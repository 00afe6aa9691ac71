"""What a project's Python gives to propose: functions that make its own classes, and tables of published models."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_bertsize.commands.init.python.library_classes import LibraryClasses
from pytest_bertsize.commands.init.python.own_classes import OwnClasses
from pytest_bertsize.commands.init.python.reading import Reading
from pytest_bertsize.commands.init.python.signs import NAMED_SO, signs

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from pytest_bertsize.builder.helper import Helper
    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.commands.init.files import Listed
    from pytest_bertsize.commands.init.found import Found
    from pytest_bertsize.commands.init.project import Project

MOST_SAID = 12
"""Lines of what cannot be decided."""
FEW_SAID = 3
"""With fewer, what is only a sign of a model is told as well."""


@dataclass
class FromPython:
    """What is proposed."""

    tables: dict[str, str] = field(default_factory=dict)
    """TOML by the name of the model."""
    factories: str = ""
    """The file with the functions; ``""`` where none is needed."""
    by_hand: list[str] = field(default_factory=list)
    is_without_library: bool = False
    """Whether there are classes of models, and no file imports transformers."""
    declared: set[str] = field(default_factory=set)
    """Places that a table names already."""


def from_python(
    project: Project,
    files: Listed,
    registry: Registry,
    configs: tuple[Sequence[Found], Sequence[Found]],
    taken: Collection[str],
    helper: Helper | None,
) -> FromPython:
    """Read the project's Python, and propose what it says.

    :param configs: files of the project that hold one, and those that only a class of the project can read.
    :param taken: names that models have.
    :param helper: which builds the project's own classes; ``None``: none of them is.
    """
    found, names = FromPython(), {*taken}

    def named(wanted: str, file: str = "") -> str:
        second = (f"{wanted}-{file}",) if file else ()
        tried = (wanted, *second, *(f"{wanted}-{number}" for number in range(2, 1_000)))
        name: str = next(each for each in tried if each not in names)
        names.add(name)
        return name

    reading = Reading(project, files, registry, *configs)
    found.is_without_library = reading.is_without_library
    own = OwnClasses(reading, found, named).propose(helper)
    LibraryClasses(reading, found, named).propose(own)
    if not (found.tables or found.declared or configs[0]):
        found.by_hand += signs(reading) if len(found.by_hand) < FEW_SAID else []
        if not any(NAMED_SO.search(each) for each in found.by_hand):
            found.by_hand = [*signs(reading, of_last=True), *found.by_hand]
    if len(found.by_hand) > MOST_SAID:
        found.by_hand[MOST_SAID:] = [f"and {len(found.by_hand) - MOST_SAID} more of the same kinds"]
    return found
