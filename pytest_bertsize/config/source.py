"""The sources of a model's config and adapter: JSON or YAML files, the table itself, or a function of the project."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from posixpath import join
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from pytest_bertsize.builder.confined import MEGABYTE
from pytest_bertsize.builder.published import BY_HUB, LARGEST, Found, find_in, find_published, is_name, suggest_fetching
from pytest_bertsize.config import parts
from pytest_bertsize.config.json_and_toml import parse_json, parse_toml
from pytest_bertsize.config.model_config import (
    IN_TOML,
    ModelConfig,
    TextThere,
    config_at,
    fail,
    keys_of,
    nest,
    rename_keys,
)
from pytest_bertsize.files import Place
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.table.model import ADAPTER, CODE, FILES, NAMES, TOML, YAML
from pytest_bertsize.wording import listed, printable, shown

if TYPE_CHECKING:
    from pytest_bertsize.builder.messages import Finished
    from pytest_bertsize.config.adapter import Adapter
    from pytest_bertsize.config.reader import Reader
    from pytest_bertsize.table.model import Model
    from pytest_bertsize.table.settings import Settings

ALLOWED = {"seconds": 30, "memory": 2048 * MEGABYTE, "longest": 2 * LARGEST}  # for code that makes a config
MEND = "fix the function, or name a file"
PLAIN = "make it a plain number, string, list or dict"


class Disk:
    """A reader of the project's files as they are on the disk; ``paths`` are folders of modules besides ``root``."""

    at = ""

    def __init__(self, root: Path, hub: Mapping[str, str] = MappingProxyType({}), paths: Sequence[str] = ()) -> None:
        self.root, self._hub, self._paths = root, hub, paths

    def config(self, location: str) -> Found:
        if is_name(location) and not os.path.lexists(self.root / location):
            if published := find_published_config(location, self._hub, self._read_file):
                return published
            folder, slash, _ = location.partition("/")
            if not (slash and os.path.lexists(self.root / folder)):  # only the hub can know it
                message = f"{shown(location)} is not a file, and neither the catalogue nor the hub cache has it"
                command, fix = suggest_fetching(location)
                elsewhere = (f"{command}, and name that file",)
                raise Unusable(Finding("config-invalid", message, fix, table_key=("config",), elsewhere=elsewhere))
        return self._read_file(location)

    def _read_file(self, location: str) -> Found:
        place = Place(self.root, location, "config", "config-invalid", "config-refused", "config").one_of(NAMES)
        return Found(place.file, _read_start(place))

    def file(self, location: str) -> bytes | None:
        place = Place(self.root, location, "config", "config-invalid", "config-refused")
        if not os.path.isfile(place.path):  # noqa: PTH113  (which takes a name that is too long for an answer)
            return None
        return _read_start(place)

    def adapter(self, location: str) -> bytes:
        place = Place(self.root, location, ADAPTER, "config-invalid", table_key="adapter")
        return place.content(LARGEST)

    def made_by_code(self, reference: str) -> ModelConfig:
        """Run the module of ``"pkg.cfg:make#key.path"`` in a process of its own."""
        from pytest_bertsize.builder.own_process import Lost, answer_of

        location, _, inner = reference.partition("#")
        folder, file, not_made = self.root.resolve(), printable(location), "the config was not made: "
        asked = {"root": str(folder), "paths": [*self._paths], "reference": location, "inner": [*keys_of(inner)]}
        try:
            said = answer_of("pytest_bertsize.config.by_code", asked, folder, **ALLOWED)
        except Lost as lost:
            fail(file, f"{not_made}{lost}", MEND)
        if not isinstance(said, dict) or not isinstance(said.get("config", {}), dict):
            fail(file, f"{not_made}its process sent an unreadable answer", MEND)
        if isinstance(name := said.get("name"), str):
            return _follow_name(name, self, printable(reference))
        if "config" not in said:
            fail(file, f"{not_made}{printable(str(said.get('message')))}", printable(str(said.get("fix"))))
        unknown = {key: (why, PLAIN) for key, why in said.get("odd", {}).items()}
        return config_at(said["config"], file, keys_of(inner), unknown=unknown)


def _read_start(place: Place) -> bytes:
    with place.opened_unread() as stream:
        return stream.read(LARGEST + 1)


def find_published_config(name: str, hub: Mapping[str, str], read: Callable[[str], Found]) -> Found | None:
    """Return the config of a name of the hub: from ``hub``, the catalogue or the hub cache; else ``None``."""
    if is_name(name) and (mapped := find_in(hub, name)) is not None:
        found = read(hub[mapped])
        return found._replace(origin=f"{found.name}, {BY_HUB}", by_hub=True)
    published = find_published(name)
    return published and published._replace(name=printable(name))


def read(model: Model, settings: Settings, reader: Reader | None = None) -> ModelConfig:
    """Read the config of a declared model; if code makes the config, it runs now.

    :param settings: today's table, also if the reader reads a commit.
    """
    reader = reader or Disk(settings.root, settings.hub, settings.import_paths)
    if model.has_config_of_build:
        message = "only the built model has the sizes of its backbone, and no lock has them"
        fix = "name the backbone's config in the table; or name a lock, and check the model with a build"
        raise Unusable(Finding("unknown-closed-form", message, fix, table_key=("factory",)))
    if model.backbones:
        return parts.of_backbones(model, partial(read, settings=settings, reader=reader))
    if not model.config:
        return config_at({}, settings.file)  # for a factory that takes no config
    if model.inline is not None:
        place, file = (*model.table_key, "config"), f"{settings.file}{reader.at}"
        line_of = settings.line if isinstance(reader, Disk) else lambda _: None  # the lines of the table are today's
        config = config_at(nest(dict(model.inline), place), file, place, line_of, pair=IN_TOML)
    elif model.is_made_by_code:
        refuse_code(model.config)
        config = reader.made_by_code(model.config)
    elif model.factory:
        config = in_file(reader, model.config)
    else:
        config = _read_file_or_modules(reader, model.config, model)
    config = rename_keys(config, model.keys) if model.keys else config
    _refuse_what_is_unknown(config, model)
    return replace(config, ignored=model.ignored) if model.ignored else config


def read_adapter(model: Model, config: ModelConfig, reader: Reader) -> Adapter | None:
    """Return the adapter of a declared model, ``None`` if it has none; raise :class:`Unusable` for a mistake in it."""
    if model.adapter is None:
        return None
    from pytest_bertsize.config.adapter import parse

    said = model.family or config.model_type
    family = said if isinstance(said, str) else ""
    if isinstance(model.adapter, dict):
        return parse(model.adapter, family=family, closed_form=model.closed_form)
    location = model.adapter_file or ""
    file = parse_json(reader.adapter(location), f"{printable(location)}{reader.at}")
    return parse(file.data, file=file, family=family, closed_form=model.closed_form)


def read_finished(model: Model, finished: Iterable[Finished]) -> ModelConfig:
    """Return the configs of a built model's backbones, which have to be in ``finished``, as one if they are several."""
    by_path = {each.path: each for each in finished}

    def read_one(each: Model) -> ModelConfig:
        backbone = each.backbone
        if (found := by_path.get(backbone)) is None:
            at = f"has no model of transformers at {printable(backbone)}"
            lack = at if backbone else "is not a model of transformers itself"
            there = listed([path or "the whole" for path in by_path], 4) or "none"
            message = f"the built model {lack}; there is {printable(there)}"
            key = "backbone" if backbone else "factory"
            fix = "correct the keys 'backbone' and 'architecture'"
            raise Unusable(Finding("unknown-closed-form", message, fix, table_key=(key,)))
        made_by = f"{model.factory}()" if model.factory and not model.command else "model"
        file = f"{made_by}{f'.{backbone}' if backbone else ''}.config"
        said = {key: value for key, value in found.config.items() if key != "architectures"}
        return config_at({**said, "model_type": found.family}, file)

    return parts.of_backbones(model, read_one)


def read_locked(model: Model, sizes: Mapping[str, Any]) -> ModelConfig:
    """Return the configs of a model's backbones, as one config if there are several, from the sizes in its lock."""

    def read_one(each: Model) -> ModelConfig:
        place = f"{each.backbone}." if model.backbones else ""
        own = {key.removeprefix(place): value for key, value in sizes.items() if key.startswith(place)}
        return config_at(own, "its lock")

    return parts.of_backbones(model, read_one)


def _refuse_what_is_unknown(config: ModelConfig, model: Model) -> None:
    """Refuse a value that is not plain data; if no project code gets it, only that of model_type or architectures."""
    is_handed_over = model.factory is not None or not model.closed_form
    for key in config.data if is_handed_over else ("model_type", "architectures"):
        if key not in model.overrides and (why := config.why_unknown(key)):
            fail(config.file, *why, config.line(key))


def read_file(root: Path, reference: str) -> ModelConfig:
    """Return the config of a file or a folder, also with ``#key.path``; raise :class:`Unusable` without one."""
    return _read_file_or_modules(Disk(root), reference)


def _read_file_or_modules(reader: Reader, reference: str, model: Model | None = None) -> ModelConfig:
    location, hash_sign, _ = reference.partition("#")
    is_file = hash_sign or location.lower().endswith((*FILES, *CODE))
    try:
        modules = None if is_file else reader.file(join(location, parts.MODULES))
    except Unusable:
        in_file(reader, reference)  # a mistake of the folder is reported for the folder
        raise
    return in_file(reader, reference) if modules is None else parts.of_folder(modules, location, reader, model)


def in_file(reader: Reader, reference: str) -> ModelConfig:
    """Return the config of a file that ``reader`` finds; raise :class:`Unusable` if no usable config is there."""
    refuse_code(reference)
    location, _, inner = reference.partition("#")
    found = reader.config(location)
    refuse_code(found.name)
    file = f"{found.name}{reader.at}"
    suffix = PurePosixPath(found.name.lower()).suffix
    try:
        parse = parse_toml if suffix == TOML else parse_json
        if suffix in YAML:
            from pytest_bertsize.config.yaml import parse
        parsed = parse(found.config, file, inner)
    except TextThere as there:
        return _follow_name(there.text, reader, f"{file}#{printable(inner)}")
    return replace(parsed, origin=found.origin, by_hub=found.by_hub)


def refuse_code(reference: str) -> None:
    """Refuse a Python file or a script, whose config only a run can make."""
    location, mark, _ = reference.partition("#")
    location = location if mark else location.partition(":")[0]  # train.py:CONFIG
    if location.lower().endswith(CODE):
        message = f"{shown(reference)} names a {PurePosixPath(location).suffix} file, and only a run knows its config"
        fix = 'write "module:NAME" to run it, or the name of the config on the hub'
        raise Unusable(Finding("config-invalid", message, fix, table_key=("config",)))


def _follow_name(name: str, reader: Reader, place: str) -> ModelConfig:
    """Read the config that a text in a file or a module names: a published one, or a file or folder of the project."""
    location, hash_sign, _ = name.partition("#")
    if not location or (hash_sign and not location.lower().endswith(CODE)):
        fail(place, f"it is {shown(name)}, which names no config", "name a place that has a config")
    try:
        config = in_file(reader, name)
    except Unusable as unusable:
        told = (each._replace(message=f"{place} is {shown(name)}: {each.message}") for each in unusable.findings)
        raise Unusable(*told) from None
    return replace(config, origin=f"{config.origin}, by the name {shown(name)}" if config.origin else shown(name))


def of_hub(settings: Settings) -> dict[str, dict[str, Any]]:
    """Return the configs of the table's ``hub``, with which the helper process answers ``from_pretrained``."""
    found: dict[str, dict[str, Any]] = {}
    for name, location in settings.hub.items():
        try:
            config = in_file(Disk(settings.root), location)
            folder = str((settings.root / config.file).parent.resolve())
            found[name] = {"config": config.data, "file": config.reference, "folder": folder}
        except Unusable as unusable:
            found[name] = {"error": unusable.findings[0].sentence}
    return found
