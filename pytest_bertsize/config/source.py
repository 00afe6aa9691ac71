"""Where a model's config lives: a JSON or YAML file, the table itself, or a function of the project. The one door."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from pytest_bertsize.config import model_config
from pytest_bertsize.config.model_config import NAMES, ModelConfig, fail, made, not_plain
from pytest_bertsize.config.renamed_keys import renamed
from pytest_bertsize.findings import Finding, Unusable, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pytest_bertsize.base.git import Files
    from pytest_bertsize.table.model import Model
    from pytest_bertsize.table.settings import Settings

YAML = (".yaml", ".yml")
_NAME = r"[^\W\d]\w*"
_CODE = re.compile(rf"{_NAME}(?:\.{_NAME})*:{_NAME}(?:\.{_NAME})*")


def read(model: Model, settings: Settings) -> ModelConfig:
    """The config of a declared model; one that is made by code is made now.

    :raises Unusable: when there is none.
    """
    if not model.config:
        return made({}, settings.file)  # of a factory that is called without one
    if model.inline is not None:
        config = _inline(model.inline, model, settings.file, settings.line)
    elif is_made_by_code(model):
        from pytest_bertsize.config import config_by_code

        config = config_by_code.read(settings.root, model.config)
    else:
        config = read_file(settings.root, model.config)
    return renamed(config, model.keys) if model.keys else config


def read_at(model: Model, files: Files, settings: Settings, revision: str) -> ModelConfig | str:
    """The config of a model as it was declared at a revision; or why there is none, as ``config.json is no file``.

    :param settings: today's.
    :raises Unusable: when it is no config.
    """
    if not model.config:
        return made({}, settings.file)
    if model.inline is not None:
        config = _inline(model.inline, model, f"{settings.file} at {revision}", lambda _: None)
    elif is_made_by_code(model):
        return f"its config is made by code ({printable(model.config)}), which is not run"
    else:
        found = _file_at(model.config, files, revision)
        if isinstance(found, str):
            return found
        config = found
    return renamed(config, model.keys) if model.keys else config


def read_file(root: Path, reference: str) -> ModelConfig:
    """The config of a file, or of a folder that holds exactly one of :data:`NAMES`, perhaps with ``#key.path``.

    :raises Unusable: when there is none.
    """
    if not reference:
        raise Unusable(Finding("config-invalid", "no config is named", 'write config = "config.json"', table_key=()))
    location, _, inner = reference.partition("#")
    content, file = model_config.contents(root, location)
    return _parsed(content, location, file, inner)


def is_made_by_code(model: Model) -> bool:
    """Whether the config is what a function of the project returns: ``"pkg.cfg:make"``."""
    location = model.config.partition("#")[0]
    is_file = model.inline is not None or location.lower().endswith((".json", *YAML))
    return not is_file and _CODE.fullmatch(location) is not None


def file_named(model: Model) -> str:
    """The file or the folder that the table names, ``""`` where the config lives elsewhere."""
    elsewhere = model.inline is not None or is_made_by_code(model)
    return "" if elsewhere else model.config.partition("#")[0]


def identity(model: Model) -> str:
    """What tells a model's config from those of others, whatever the model is called."""
    if model.inline is not None:
        return json.dumps(model.inline, sort_keys=True, default=str)
    return model.config or model.factory or ""


def _parsed(content: bytes, location: str, file: str, inner: str) -> ModelConfig:
    if not location.lower().endswith(YAML):
        return model_config.parse(content, file, inner)
    from pytest_bertsize.config import yaml as yaml_config

    return yaml_config.parse(content, file, inner)


def _inline(
    data: Mapping[str, object], model: Model, file: str, line: Callable[[tuple[str, ...]], int | None]
) -> ModelConfig:
    place = (*model.table_key, "config")
    if found := not_plain(dict(data)):
        fail(file, found.message, found.fix, line((*place, *found.path)))
    return replace(made(dict(data), file), key_path=place, line_of=line)


def _file_at(reference: str, files: Files, revision: str) -> ModelConfig | str:
    """The config of a file, or of a folder that holds exactly one."""
    location, _, inner = reference.partition("#")
    path = PurePosixPath(location)
    candidates = {str(path): files.read(str(path))}
    if candidates[str(path)] is None:
        candidates = {str(path / name): files.read(str(path / name)) for name in NAMES}
    found = [(name, content) for name, content in candidates.items() if content is not None]
    if len(found) != 1:
        return f"{printable(location)} {'holds both ' + ' and '.join(NAMES) if found else 'is no file'}"
    name, content = found[0]
    return _parsed(content, name, f"{printable(name)} at {revision}", inner)
