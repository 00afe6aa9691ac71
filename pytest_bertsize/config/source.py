"""Where a model's config lives: a JSON or YAML file, the table itself, or a function of the project. The one door."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple, Protocol

from pytest_bertsize.builder.confined import MEGABYTE
from pytest_bertsize.builder.own_process import Allowed, Lost, answer_of
from pytest_bertsize.config import model_config
from pytest_bertsize.config.model_config import LARGEST, ModelConfig, fail, made, not_plain
from pytest_bertsize.config.named_in_code import imports, where_named
from pytest_bertsize.config.renamed_keys import renamed
from pytest_bertsize.files import Place
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.table.model import JSONNET, TOML, YAML
from pytest_bertsize.wording import printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pytest_bertsize.table.model import Model
    from pytest_bertsize.table.settings import Settings

ALLOWED = Allowed(seconds=30.0, memory=2048 * MEGABYTE, answer=2 * LARGEST)
"""Of which an import of torch and transformers takes 5 s and 400 MB."""
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
    folder: Path | None
    """Where the files of a project lie; ``None`` for a commit."""

    def config(self, location: str) -> Found:
        """The file that the table names, or the one config in the folder that it names.

        :raises Unusable: when it cannot be read.
        """

    def beside(self, location: str) -> Found | None:
        """A file that a config names; ``None`` where there is none."""

    def imports(self, *modules: str) -> bool:
        """Whether the project's own Python imports one of some libraries."""

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
        self.folder: Path | None = root

    def config(self, location: str) -> Found:
        content, file = model_config.contents(self.root, location)
        return Found(location, file, content)

    def beside(self, location: str) -> Found | None:
        try:
            return self.config(location)
        except Unusable:
            return None

    def imports(self, *modules: str) -> bool:
        return imports(self.root, *modules)

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
        config = in_file(reader, model.config)
    config = renamed(config, model.keys) if model.keys else config
    _refuse_what_is_unknown(config, model)
    return replace(config, ignored=model.ignored) if model.ignored else config


def _refuse_what_is_unknown(config: ModelConfig, model: Model) -> None:
    """What only other code can tell may stand where nobody reads it; code of the project may read all of it."""
    if not config.unknown:
        return
    is_handed_over = model.factory is not None or not model.closed_form
    keys = [*config.data] if is_handed_over else ["model_type", "architectures"]
    wrong = {key: why for key in keys if key not in model.overrides and (why := config.why_unknown(key))}
    if wrong:
        places = {key: config.place(key) for key in wrong}
        findings = (
            Finding("config-invalid", *why, file=places[key][0], line=places[key][1]) for key, why in wrong.items()
        )
        raise Unusable(*findings)


def read_file(root: Path, reference: str) -> ModelConfig:
    """The config of a file, or of a folder that holds one of :data:`~pytest_bertsize.table.model.NAMES`.

    :param reference: perhaps with ``#key.path`` behind it.
    :raises Unusable: when there is none.
    """
    if not reference:
        raise Unusable(Finding("config-invalid", "no config is named", 'write config = "config.json"', table_key=()))
    return in_file(Disk(root), reference)


def in_file(reader: Reader, reference: str) -> ModelConfig:
    """The config of a file, wherever it is read.

    :raises Unusable: when there is none.
    """
    location, _, inner = reference.partition("#")
    found = reader.config(location)
    file = f"{found.file}{reader.at}"
    suffix = PurePosixPath(found.name.lower()).suffix
    if suffix in YAML:
        return _yaml(reader, found, file, inner)
    if suffix == TOML:
        from pytest_bertsize.config import toml

        return toml.parse(found.content, file, inner)
    if suffix in JSONNET:
        from pytest_bertsize.config import jsonnet

        return jsonnet.parse(found.content, file, inner, reader.folder)
    return model_config.parse(found.content, file, inner)


def _yaml(reader: Reader, found: Found, file: str, inner: str) -> ModelConfig:
    from pytest_bertsize.config import yaml

    content = found.content[: LARGEST + 1]
    from pytest_bertsize.config import omegaconf

    by_omegaconf = omegaconf.is_marked(content) or (
        omegaconf.is_read_otherwise(content) and reader.imports("omegaconf", "hydra")
    )
    if by_omegaconf:
        return omegaconf.parse(content, file, inner, found.name, reader.beside)
    return yaml.parse(content, file, inner)


def _inline(data: Mapping[str, object], model: Model, settings: Settings, reader: Reader) -> ModelConfig:
    place = (*model.table_key, "config")
    file = f"{settings.file}{reader.at}"
    if found := not_plain(dict(data)):
        fail(file, found.message, found.fix, reader.line((*place, *found.path), settings))
    return replace(made(dict(data), file), key_path=place, line_of=partial(reader.line, settings=settings))


def _asked(folder: Path, location: str, inner: str) -> dict[str, object]:
    return {"root": str(folder), "reference": location, "inner": list(model_config.keys_of(inner))}


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
        said = answer_of("pytest_bertsize.config.by_code", _asked(folder, location, inner), folder, allowed)
    except Lost as lost:
        fail(file, f"the config was not made: {lost}", MEND)
    if not isinstance(said, dict) or not isinstance(said.get("config", {}), dict):
        fail(file, "the config was not made: its process answered nonsense", MEND)
    if "config" not in said:
        fail(file, f"the config was not made: {printable(str(said.get('message')))}", printable(str(said.get("fix"))))
    if found := not_plain(said["config"]):
        fail(file, found.message, found.fix)
    config = made(said["config"], file, inner)
    odd = said.get("odd", {})
    config = replace(config, unknown={(*config.key_path, key): (why, fix) for key, (why, fix) in odd.items()})
    if len(config.text) > LARGEST:
        fail(file, f"the config is larger than {LARGEST:,} bytes", "return the config of one model")
    return config
