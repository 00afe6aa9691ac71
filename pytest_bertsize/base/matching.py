"""Which model of the base each model of today was: names change, and files move."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from posixpath import join, normpath
from typing import TYPE_CHECKING

from pytest_bertsize.base.git import renamed
from pytest_bertsize.base.tree import Unreadable
from pytest_bertsize.config import source
from pytest_bertsize.findings import Unusable
from pytest_bertsize.table.model import NAMES

if TYPE_CHECKING:
    from pytest_bertsize.base.baseline import Former
    from pytest_bertsize.base.tree import Files
    from pytest_bertsize.config.model_config import ModelConfig
    from pytest_bertsize.table.model import Model
    from pytest_bertsize.table.settings import Settings

    Mark = Callable[["Candidate"], str | None]


@dataclass(frozen=True)
class Candidate:
    """A model of one of two sides, which may be one of the other."""

    model: Model
    is_file: Callable[[str], bool]
    """Whether the side has a file of that name."""
    content: Callable[[], str | None]
    """What tells its config from those of others, whatever the file is called."""

    @cached_property
    def file(self) -> str:
        """The file that its table means, and the object in it, however it spells them; else whatever it names."""
        if not self.model.file:
            return self.model.identity
        location, _, inner = self.model.config.partition("#")
        path = normpath(location)
        found = next(filter(self.is_file, (path, *(join(path, name) for name in NAMES))), path)
        return f"{found}#{inner}"


def matched(today: Settings, before: Mapping[str, Former], files: Files) -> dict[str, str]:
    """What each model of today was called at the base."""
    is_there, was_there = partial(_is_there, today.root), partial(_was_there, files)
    return paired(
        {
            name: Candidate(model, is_there, partial(_content_today, today, model))
            for name, model in today.models.items()
        },
        {
            name: Candidate(former.model, was_there, partial(content_of, former.model, former.config))
            for name, former in before.items()
        },
        partial(renamed, today.root, files.commit),
    )


def paired(
    now: Mapping[str, Candidate],
    before: Mapping[str, Candidate],
    renamed: Callable[[Iterable[str]], Mapping[str, str]],
) -> dict[str, str]:
    """What each model of one side was called on the other.

    A model is the one of its name, else the one of its file, of its content, of the file that git takes for a renamed
    one, or, where one table declares many, of its table.

    :param renamed: what some files were called, by their names now.
    """
    left = _Left({**now}, {**before})
    left.pair(lambda each: each.model.name)
    left.pair(lambda each: _marks(each.file, _how(each.model)))
    left.pair(lambda each: each.file)
    left.pair(lambda each: each.content())
    was = _renamed(left, renamed)
    left.pair(lambda each: each.file, lambda each: was.get(each.file))
    left.pair(lambda each: _marks(*each.model.table_key))
    return left.became


@dataclass
class _Left:
    """What has no other half yet."""

    now: dict[str, Candidate]
    before: dict[str, Candidate]
    became: dict[str, str] = field(default_factory=dict)

    def pair(self, mark: Mark, of_now: Mark | None = None) -> None:
        """Have those with the same mark be the same model, of several the first that is declared.

        :param of_now: of the later side, where it is another.
        """
        if not self.now or not self.before:
            return
        waiting: dict[str | None, list[str]] = {}
        for name, candidate in self.before.items():
            waiting.setdefault(mark(candidate), []).append(name)
        for name, candidate in [*self.now.items()]:
            found = (of_now or mark)(candidate)
            if found is not None and waiting.get(found):
                self.became[name] = waiting[found].pop(0)
                del self.now[name], self.before[self.became[name]]


def _marks(*parts: str) -> str:
    return json.dumps(parts)


def _how(model: Model) -> str:
    """What tells models of one file from each other."""
    return json.dumps(
        [model.architecture, model.factory, model.overrides, model.options, model.adapter], sort_keys=True, default=str
    )


def _is_there(root: Path, path: str) -> bool:
    try:
        return (root / path).is_file()
    except (OSError, ValueError):  # a name that is too long, a NUL byte
        return False


def _was_there(files: Files, path: str) -> bool:
    try:
        return files.read(path) is not None
    except Unreadable:
        return True


def _content_today(today: Settings, model: Model) -> str | None:
    if not model.config or model.is_made_by_code:
        return None
    try:
        return content_of(model, source.read(model, today))
    except Unusable:
        return None


def content_of(model: Model, config: ModelConfig | None) -> str | None:
    """What tells a config from others, whatever its file is called."""
    return None if config is None else json.dumps([model.factory, config.data], sort_keys=True, default=str)


def _renamed(left: _Left, renamed: Callable[[Iterable[str]], Mapping[str, str]]) -> Mapping[str, str]:
    """Files of now, and those of before that git takes for the same."""
    before, after = (
        {each.file.partition("#")[0]: each.file for each in side.values() if each.model.file}
        for side in (left.before, left.now)
    )
    if not before or not after:
        return {}
    found = renamed([*before, *after])
    return {after[new]: before[old] for new, old in found.items() if new in after and old in before}
