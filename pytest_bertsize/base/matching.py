"""Which model of the base each model of today was: names change, and files move."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import partial
from posixpath import join, normpath
from typing import TYPE_CHECKING

from pytest_bertsize.base.git import renamed
from pytest_bertsize.base.tree import Unreadable
from pytest_bertsize.config import source
from pytest_bertsize.findings import Unusable
from pytest_bertsize.table.model import NAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pytest_bertsize.base.baseline import Former
    from pytest_bertsize.base.tree import Files
    from pytest_bertsize.config.model_config import ModelConfig
    from pytest_bertsize.table.model import Model
    from pytest_bertsize.table.settings import Settings


def matched(today: Settings, before: Mapping[str, Former], files: Files) -> dict[str, str]:
    """What each model of today was called.

    A model is the one of its name, else the one of its file, of its content, of the file that git takes for a renamed
    one, or, where one table declares many, of its table.
    """
    left = _Left({**today.models}, {**before})
    left.pair(lambda model: model.name, lambda former: former.model.name)
    if not left.now or not left.before:
        return left.became
    now = {name: _file(model, partial(_is_there, today.root)) for name, model in left.now.items()}
    then = {name: _file(former.model, partial(_was_there, files)) for name, former in left.before.items()}
    left.pair(
        lambda model: _marks(now[model.name], _how(model)),
        lambda former: _marks(then[former.model.name], _how(former.model)),
    )
    left.pair(lambda model: now[model.name], lambda former: then[former.model.name])
    left.pair(partial(_content_today, today), lambda former: _content(former.model, former.config))
    was = _renamed(today.root, files.commit, left, now, then)
    left.pair(lambda model: was.get(now[model.name]), lambda former: then[former.model.name])
    left.pair(lambda model: _marks(*model.table_key), lambda former: _marks(*former.model.table_key))
    return left.became


@dataclass
class _Left:
    """What has no other half yet."""

    now: dict[str, Model]
    before: dict[str, Former]
    became: dict[str, str] = field(default_factory=dict)

    def pair(self, of_today: Callable[[Model], str | None], of_base: Callable[[Former], str | None]) -> None:
        """Have those with the same mark be the same model, of several the first that is declared."""
        waiting: dict[str | None, list[str]] = {}
        for name, former in self.before.items():
            waiting.setdefault(of_base(former), []).append(name)
        for name, model in [*self.now.items()]:
            mark = of_today(model)
            if mark is not None and waiting.get(mark):
                self.became[name] = waiting[mark].pop(0)
                del self.now[name], self.before[self.became[name]]


def _marks(*parts: str) -> str:
    return json.dumps(parts)


def _how(model: Model) -> str:
    """What tells models of one file from each other."""
    return json.dumps(
        [model.architecture, model.factory, model.overrides, model.options, model.adapter], sort_keys=True, default=str
    )


def _file(model: Model, is_file: Callable[[str], bool]) -> str:
    """The file that a table means, and the object in it, however it spells them; else whatever it names."""
    if not model.file:
        return model.identity
    location, _, inner = model.config.partition("#")
    path = normpath(location)
    found = next(filter(is_file, (path, *(join(path, name) for name in NAMES))), path)
    return f"{found}#{inner}"


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
        return _content(model, source.read(model, today))
    except Unusable:
        return None


def _content(model: Model, config: ModelConfig | None) -> str | None:
    return None if config is None else json.dumps([model.factory, config.data], sort_keys=True, default=str)


def _renamed(
    root: Path, commit: str, left: _Left, now: Mapping[str, str], then: Mapping[str, str]
) -> Mapping[str, str]:
    """Files of today, and those of the base that git takes for the same."""
    before = {then[name].partition("#")[0]: then[name] for name, former in left.before.items() if former.model.file}
    after = {now[name].partition("#")[0]: now[name] for name, model in left.now.items() if model.file}
    if not before or not after:
        return {}
    found = renamed(root, commit, [*before, *after])
    return {after[new]: before[old] for new, old in found.items() if new in after and old in before}
