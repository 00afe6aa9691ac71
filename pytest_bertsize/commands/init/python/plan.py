"""A function of a few lines that makes a project's own class, and what its table says beside it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_bertsize.wording import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pytest_bertsize.commands.init.python.code import Module, Origin
    from pytest_bertsize.commands.init.python.made import Made

MODULE = "bertsize_models"
"""The file that has the functions."""
_START = '"""The models of this project as pytest-bertsize builds them: shapes alone, no weights."""\n'


_PLAIN = re.compile(r"[\w./ :+-]+")
"""Names of files that a docstring can have; a name may hold quotes and code."""


class Undecided(Exception):
    """What only a run of the project can tell; the message says what."""


@dataclass
class Plan:
    """A function, and its table."""

    name: str
    """Of the function."""
    made: Made
    module: Module
    """Where the class is defined."""
    config: str = ""
    """What the table names as config; ``""`` for a function that is called without one."""
    overrides: dict[str, object] = field(default_factory=dict)
    body: list[str] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    """From which the project imports its modules, beside its root."""
    imports: dict[str, set[str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    """What a comment says: what stands in for what is known only to a run."""
    copied: list[tuple[str, str]] = field(default_factory=list)
    """Where numbers stand that are written into the function as they are, and which."""

    @property
    def class_name(self) -> str:
        return self.made.class_name

    @property
    def where(self) -> str:
        """The class's own line."""
        node = self.module.classes.get(self.class_name)
        return f"{self.module.file}:{node.lineno}" if node is not None else self.made.where

    def as_it_is(self) -> tuple[object, ...]:
        """What a way that leads nowhere must leave as it was."""
        return [*self.folders], {key: {*names} for key, names in self.imports.items()}, [*self.notes], [*self.copied]

    def put_back(self, before: tuple[Any, ...]) -> None:
        self.folders, self.imports, self.notes, self.copied = before

    def needs(self, module: str, name: str) -> str:
        """Import a name."""
        self.imports.setdefault(module, set()).add(name)
        return name

    def needs_own(self, origin: Origin) -> str:
        """Import a name of the project, from where the project does.

        :raises Undecided: for a file that has no name in Python.
        """
        assert origin.module is not None
        path, folder = origin.module.file, origin.folder
        above = max((len(each) - len(each.lstrip(".")) for each in origin.module.imports.values()), default=0)
        is_package = above > path.removeprefix(f"{folder}/").count("/")
        if folder and path.startswith(f"{folder}/") and not is_package:
            path = path[len(folder) + 1 :]
            if folder not in self.folders:
                self.folders.append(folder)
        parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
        if not all(part.isidentifier() for part in parts):
            raise Undecided(f"{origin.module.file} cannot be imported by its name")
        return self.needs(".".join(parts), origin.name)

    @property
    def made_by(self) -> tuple[object, ...]:
        """What another way to make the class differs in."""
        return self.config, *self.body, *sorted(self.imports), *sorted(self.overrides)

    def makes(self, other: Plan) -> bool:
        """Whether another's class is an argument of this one's."""
        is_own = other.class_name != self.class_name
        return is_own and any(re.search(rf"\b{other.class_name}\(", line) for line in self.body)

    @property
    def _comments(self) -> Iterator[str]:
        yield from self.notes
        places: dict[str, list[str]] = {}
        for where, what in dict.fromkeys(self.copied):
            places.setdefault(where, []).append(what)
        for where, those in places.items():
            yield f"copied from {where}, to be changed here as there: {', '.join(those)}"

    @property
    def text(self) -> str:
        """The function."""
        imports = [f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(self.imports.items())]
        inside = [*(f"sys.path.insert(0, {_quoted(folder)})" for folder in self.folders), *imports]
        lines = [
            *inside,
            *([""] if inside else []),
            *(f"# {printable(note, 300)}" for note in self._comments),
            *self.body,
        ]
        where = self.made.where if _PLAIN.fullmatch(self.made.where) else "the project"
        said = f'"""{self.class_name}, as {where} makes it."""'
        start = f"def {self.name}({'config' if self.config else ''}):"
        return "\n".join([start, *(f"    {line}".rstrip() for line in (said, *lines))]) + "\n"


def _quoted(text: str) -> str:
    """As Python reads it back, whatever the name of a folder has."""
    return json.dumps(text)


def file_of(plans: Iterable[Plan]) -> str:
    """The file with the functions."""
    plans = [*plans]
    start = f"{_START}\nimport sys\n" if any(plan.folders for plan in plans) else _START
    return f"{start}\n\n" + "\n\n".join(plan.text for plan in plans)
