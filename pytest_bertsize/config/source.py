"""Where a model's config lives: a JSON or YAML file, the table itself, or a function of the project. The one door."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

from pytest_bertsize.builder.confined import MEGABYTE
from pytest_bertsize.builder.own_process import Allowed, Lost, answer_of
from pytest_bertsize.config import model_config
from pytest_bertsize.config.model_config import LARGEST, ModelConfig, fail, made, not_plain
from pytest_bertsize.config.named_in_code import where_named
from pytest_bertsize.config.renamed_keys import renamed
from pytest_bertsize.files import Place
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.table.model import YAML
from pytest_bertsize.wording import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from pytest_bertsize.table.model import Model
    from pytest_bertsize.table.settings import Settings

ALLOWED = Allowed(seconds=30.0, memory=2048 * MEGABYTE, answer=2 * LARGEST)
"""Of which an import of torch and transformers takes 5 s and 400 MB."""
PYTHON, SHELL = ".py", ".sh"
MEND = "mend the function, or name a file"


class Found(NamedTuple):
    """A config file as a reader finds it."""

    name: str
    """Whose suffix says what it is written in."""
    file: str
    """What messages call it."""
    content: bytes


class Reader(Protocol):
    """Where the files of a project are read: the disk of today, or a commit."""

    at: str
    """What messages add to the name of a file: nothing, or ``" at main"``."""

    def config(self, location: str) -> Found:
        """The file that the table names, or the one config in the folder that it names.

        :raises Unusable: when it cannot be read.
        """

    def adapter(self, location: str) -> bytes:
        """The content of an adapter_config.json.

        :raises Unusable: when it cannot be read.
        """

    def made_by_code(self, reference: str) -> ModelConfig:
        """What a function of the project returns.

        :raises Unusable: when it is no config.
        """

    def line(self, key: Sequence[str], settings: Settings) -> int | None:
        """The line of a key in the project's table, where the reader has one."""


class Disk:
    """The project as it stands in a folder."""

    at = ""

    def __init__(self, root: Path) -> None:
        self.root = root

    def config(self, location: str) -> Found:
        content, file = model_config.contents(self.root, location)
        return Found(location, file, content)

    def adapter(self, location: str) -> bytes:
        return Place(self.root, location, "adapter_config.json", "config-invalid").content(LARGEST)

    def made_by_code(self, reference: str) -> ModelConfig:
        return _made_by_code(self.root, reference)

    def line(self, key: Sequence[str], settings: Settings) -> int | None:
        return settings.line(key)


def read(model: Model, settings: Settings, reader: Reader | None = None) -> ModelConfig:
    """The config of a declared model; one that is made by code is made now.

    :param settings: today's, whatever the reader reads.
    :param reader: ``None`` for the project's folder.
    :raises Unusable: when there is none.
    """
    if reader is None:
        return replace(read(model, settings, Disk(settings.root)), named_at=partial(where_named, settings.root))
    if not model.config:
        return made({}, settings.file)  # of a factory that is called without one
    if model.inline is not None:
        config = _inline(model.inline, model, settings, reader)
    elif model.is_made_by_code:
        config = reader.made_by_code(model.config)
    else:
        config = _in_file(reader, model.config, whole=model.factory is None)
    return renamed(config, model.keys) if model.keys else config


def read_file(root: Path, reference: str) -> ModelConfig:
    """The config of a file, or of a folder that holds one of :data:`~pytest_bertsize.table.model.NAMES`.

    :param reference: perhaps with ``#key.path`` behind it.
    :raises Unusable: when there is none.
    """
    if not reference:
        raise Unusable(Finding("config-invalid", "no config is named", 'write config = "config.json"', table_key=()))
    return _in_file(Disk(root), reference)


def _in_file(reader: Reader, reference: str, *, whole: bool = True) -> ModelConfig:
    """:param whole: whether every value of a Python file has to be readable."""
    location, _, inner = reference.partition("#")
    found = reader.config(location)
    file = f"{found.file}{reader.at}"
    if found.name.lower().endswith((PYTHON, SHELL)):
        from pytest_bertsize.config import in_python, in_shell

        is_python = found.name.lower().endswith(PYTHON)
        said = (
            in_python.parse(found.content, file, inner, whole=whole)
            if is_python
            else in_shell.parse(found.content, file, inner)
        )
        return said if isinstance(said, ModelConfig) else _named(said, reader, reference)
    parse = _parser(found.name)
    name = _text_at(parse, found.content, file, inner) if inner else ""
    return _named(name, reader, reference) if name else parse(found.content, file, inner)


def _parser(name: str) -> Callable[[bytes, str, str], ModelConfig]:
    if not name.lower().endswith(YAML):
        return model_config.parse
    from pytest_bertsize.config import yaml

    return yaml.parse


def _text_at(parse: Callable[[bytes, str, str], ModelConfig], content: bytes, file: str, inner: str) -> str:
    """The name of a published config, where a text stands at that place."""
    outer, _, last = inner.rpartition(".")
    try:
        found = parse(content, file, outer).data.get(last)
    except Unusable:
        return ""
    return found if isinstance(found, str) else ""


def _named(name: str, reader: Reader, reference: str) -> ModelConfig:
    """The published config that a place in a file names."""
    config = published(name, getattr(reader, "root", None))
    if config is None:
        fail(reference, f"it names {printable(name)}, whose config is not here", "map it: hub")
    return config


def published(name: str, root: Path | None) -> ModelConfig | None:
    from pytest_bertsize.builder.published import known

    found = known(name)
    return model_config.parse(found.config, found.name, "") if found else None


def _inline(data: Mapping[str, object], model: Model, settings: Settings, reader: Reader) -> ModelConfig:
    place = (*model.table_key, "config")
    file = f"{settings.file}{reader.at}"
    if found := not_plain(dict(data)):
        fail(file, found.message, found.fix, reader.line((*place, *found.path), settings))
    return replace(made(dict(data), file), key_path=place, line_of=partial(reader.line, settings=settings))


def _made_by_code(root: Path, reference: str, allowed: Allowed = ALLOWED) -> ModelConfig:
    """Call the function that a table names, and take what it returns.

    :param root: the project's folder, from which its module is imported.
    :param reference: ``"pkg.cfg:make"``, perhaps with ``#key.path`` behind it.
    :raises Unusable: when it has not made a config.
    """
    location, _, inner = reference.partition("#")
    file = printable(location)
    folder = root.resolve()
    try:
        said = answer_of(
            "pytest_bertsize.config.by_code", {"root": str(folder), "reference": location}, folder, allowed
        )
    except Lost as lost:
        fail(file, f"the config was not made: {lost}", MEND)
    if not isinstance(said, dict) or not isinstance(said.get("config", {}), dict):
        fail(file, "the config was not made: its process answered nonsense", MEND)
    if "config" not in said:
        fail(file, f"the config was not made: {printable(str(said.get('message')))}", printable(str(said.get("fix"))))
    if found := not_plain(said["config"]):
        fail(file, found.message, found.fix)
    config = made(said["config"], file, inner)
    if len(config.text) > LARGEST:
        fail(file, f"the config is larger than {LARGEST:,} bytes", "return the config of one model")
    return config
