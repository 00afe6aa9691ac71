"""Which model of a commit each model of a later one was: names change, and files move."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from posixpath import join, normpath
from typing import TYPE_CHECKING

from pytest_bertsize.table.model import NAMES

if TYPE_CHECKING:
    from pytest_bertsize.config.model_config import ModelConfig
    from pytest_bertsize.table.model import Model

GIT_RENAME = "git rename"


@dataclass(frozen=True)
class Candidate:
    """A model of one of two sides, which may be one of the other."""

    model: Model
    is_file: Callable[[str], bool]
    """Whether the side has a file of that name."""
    read_config: Callable[[], ModelConfig | None]

    @cached_property
    def file(self) -> str:
        """The file that its table means, and the object in it, however it spells them; else whatever it names."""
        if not self.model.file:
            return self.model.identity
        location, _, inner = self.model.config.partition("#")
        path = normpath(location)
        found = next(filter(self.is_file, (path, *(join(path, name) for name in NAMES))), path)
        return f"{found}#{inner}"

    @property
    def how(self) -> str:
        """What tells models of one file from each other."""
        model = self.model
        return _join(model.architecture, model.factory, model.overrides, model.options, model.adapter)

    @cached_property
    def content(self) -> str | None:
        """What tells its config from others, whatever its file is called."""
        config = self.read_config()
        return None if config is None else _join(self.model.factory, config.data)


KEYS: Mapping[str, Callable[[Candidate], str | None]] = {
    "name": lambda each: each.model.name,
    "file and options": lambda each: _join(each.file, each.how),
    "file": lambda each: each.file,
    "content": lambda each: each.content,
    GIT_RENAME: lambda each: each.file,
    "table": lambda each: _join(*each.model.table_key),
}
"""The keys by which a model of one side is one of the other, the surest first; by table, where that has many models."""


def match_models(
    now: Mapping[str, Candidate],
    before: Mapping[str, Candidate],
    find_renames: Callable[[Iterable[str]], Mapping[str, str]],
) -> dict[str, str]:
    """Return the name that each model of one side had on the other; of several with one key, the first declared.

    :param find_renames: returns what some files were called, by their names now.
    """
    now, before = dict(now), dict(before)
    became: dict[str, str] = {}
    for kind, key in KEYS.items():
        if not now or not before:
            break
        waiting: dict[str | None, list[str]] = {}
        for name, candidate in before.items():
            waiting.setdefault(key(candidate), []).append(name)
        renamed = _rename_files(now, before, find_renames) if kind == GIT_RENAME else None
        for name, candidate in [*now.items()]:
            found = key(candidate) if renamed is None else renamed.get(candidate.file)
            if found is not None and waiting.get(found):
                became[name] = waiting[found].pop(0)
                del now[name], before[became[name]]
    return became


def _rename_files(
    now: Mapping[str, Candidate],
    before: Mapping[str, Candidate],
    find_renames: Callable[[Iterable[str]], Mapping[str, str]],
) -> Mapping[str, str]:
    """Return files of before, by those of now that git takes for the same."""
    was, became = (
        {each.file.partition("#")[0]: each.file for each in side.values() if each.model.file} for side in (before, now)
    )
    found = find_renames([*was, *became]) if was and became else {}
    return {became[new]: was[old] for new, old in found.items() if new in became and old in was}


def _join(*parts: object) -> str:
    return json.dumps(parts, sort_keys=True, default=str)
