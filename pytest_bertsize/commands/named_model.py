"""The model that a command line, or a line of Python, names: a config of any place on the disk, and its closed form."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_bertsize.builder.published import is_name as is_hub_name
from pytest_bertsize.closed_forms.contributed import registry_of
from pytest_bertsize.closed_forms.derive import choose, derive
from pytest_bertsize.config import source
from pytest_bertsize.config.adapter import adapter_of
from pytest_bertsize.config.model_config import rename_keys
from pytest_bertsize.config.parts import MODULES
from pytest_bertsize.config.source import Disk, read_file, refuse_code
from pytest_bertsize.config.which_release import asked_about
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.table.model import NAMES, Model
from pytest_bertsize.table.settings import SettingsError, load, tables_of_models
from pytest_bertsize.wording import MOST_NAMED, did_you_mean, listed, printable, shown

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.derive import Chosen, Derivation
    from pytest_bertsize.closed_forms.family import ClosedForm
    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.config.adapter import Adapter
    from pytest_bertsize.config.model_config import ModelConfig
    from pytest_bertsize.table.settings import Settings


TABLE = "pyproject.toml"
DECLARED = "::"
"""Between a pyproject.toml and the name of a model that it declares."""


@dataclass(frozen=True, slots=True)
class Named:
    """What the command line says about one model."""

    config: str
    """A file or a folder, from the current folder, perhaps with ``REV:`` before it and ``#key.path`` behind it; a name
    of the hub; what a module has, ``module:NAME``; or a model that is declared, ``pyproject.toml::NAME`` or its name
    alone, here or with ``REV:`` before it."""
    architecture: str | None = None
    family: str | None = None
    options: Sequence[str] = ()
    """Constructor arguments as they are written: ``add_pooling_layer=false``."""
    keys: Sequence[str] = ()
    """Names of the file's own, with what they stand for: ``num_blks=num_hidden_layers``."""
    is_python: bool = False
    """Whether a line of Python names it, and no command."""


@dataclass(frozen=True, slots=True)
class Explained:
    """A config and what the closed form makes of it."""

    model: Model
    """As the table or the command line declares it."""
    config: ModelConfig
    derivation: Derivation
    declared: tuple[Settings, Model] | None = None
    """The table that declares it, and what that says; ``None`` for a config by its place."""

    @property
    def asked(self) -> Mapping[str, bool]:
        """The constructor arguments that are named."""
        return self.model.options

    @property
    def form(self) -> ClosedForm:
        return self.derivation.form


def closed_form(
    config: str | Path,
    *,
    architecture: str | None = None,
    family: str | None = None,
    options: Mapping[str, bool] | None = None,
) -> ClosedForm:
    """What a config alone says that a model consists of, without torch or transformers.

    ``closed_form("config.json")["encoder"]`` is a number of parameters, of ``"total"`` and ``"trainable"`` too, and 0
    of a component that the model has not; ``.formulas()["encoder"].text`` is where it comes from. The source of each
    family's formulas, a paper or the code of the class, is in its module in ``closed_forms/families``.

    :param config: as for ``bertsize explain``: a file or a folder, from the current folder, perhaps with ``#key.path``;
        or ``pyproject.toml::NAME``, a model that it declares.
    :param architecture: the class; by default the only one that the file names.
    :param family: the ``model_type`` of a file that has none.
    :param options: constructor arguments: ``{"add_pooling_layer": False}``.
    :raises ValueError: with a sentence for each mistake in the config.
    """
    written = [f"{name}={str(value).lower()}" for name, value in (options or {}).items()]
    try:
        return explained(Named(str(config), architecture, family, written, is_python=True)).form
    except Unusable as unusable:
        mistakes = (finding.sentence for finding in unusable.findings if finding.severity == "error")
        raise ValueError("\n".join(mistakes)) from None


def explained(named: Named) -> Explained:
    """Read the config and derive the closed form, by the same steps as a check.

    :raises Unusable: in the words of the command line.
    """
    if _is_declared_at(named.config):
        return _declared_at(named)
    if DECLARED in named.config:
        return _declared(named)
    if _is_a_declared_name(named.config):
        return _declared(replace(named, config=f"{TABLE}{DECLARED}{named.config}"))
    registry = _registry(_settings_with_closed_forms())
    try:
        model = Model("", named.config, named.family, named.architecture, {}, _options(named.options), (), ())
        config = _read(model)
        config = rename_keys(config, renaming) if (renaming := _renaming(named.keys)) else config
        chosen = choose(model, config, registry)
        return Explained(model, config, derive(model, config, chosen))
    except Unusable as unusable:
        found = unusable.findings
        raise Unusable(*(each.in_python() if named.is_python else each.in_command() for each in found)) from None
    except Exception as error:
        message = printable(f"explain itself failed on this config: {type(error).__name__}: {error}")
        finding = Finding("config-invalid", message, "report it, with the config", file=printable(named.config))
        raise Unusable(finding) from error


def _registry(settings: Settings | None) -> Registry:
    """:raises Unusable: in the words of the table."""
    try:
        return registry_of(settings, asked_about(settings).release)
    except SettingsError as error:
        raise Unusable(Finding("config-invalid", str(error))) from None


def _settings_with_closed_forms() -> Settings | None:
    """The table of the folder, where it names closed forms of the project's own; any other has no say in a file."""
    try:
        settings = load(Path(TABLE)) if os.path.lexists(TABLE) else None
    except SettingsError:
        return None
    return settings if settings and settings.closed_forms else None


def _declared(named: Named) -> Explained:
    """A model of a project's table, by the name that its test has: ``pyproject.toml::classifier``.

    :raises Unusable: in the words of the table.
    """
    settings, model = _table_of(named)
    config = source.read(model, settings)
    registry = _registry(settings)
    chosen = _choose_declared(model, config, registry, adapter_of(model, settings, config))
    return Explained(model, config, derive(model, config, chosen), (settings, model))


def _declared_at(named: Named) -> Explained:
    """A model of a table as a commit has it: ``main:pyproject.toml::classifier``.

    :raises Unusable: in the words of the table.
    """
    from pytest_bertsize.commands.at_revision import read_model_at

    _refuse_what_the_table_says(named)
    revision, _, inside = named.config.partition(":")
    model, config, adapter = read_model_at(revision, inside.removeprefix(f"{TABLE}{DECLARED}"))
    chosen = _choose_declared(model, config, _registry(_settings_with_closed_forms()), adapter)
    return Explained(model, config, derive(model, config, chosen))


def _choose_declared(model: Model, config: ModelConfig, registry: Registry, adapter: Adapter | None) -> Chosen:
    """Choose the closed form of a declared model.

    :raises Unusable: where there is none; a model with ``closed_form = false`` is not told to declare it again.
    """
    try:
        return choose(model, config, registry, adapter)
    except Unusable as unusable:
        if model.closed_form or unusable.findings[0].kind != "unknown-closed-form":
            raise
        message = f"{printable(model.name)} has no closed form, as closed_form = false in its table says"
        fix = "run bertsize check, which builds it and compares its count with its budget and its lock"
        raise Unusable(Finding("unknown-closed-form", message, fix)) from None


def _refuse_what_the_table_says(named: Named) -> None:
    if named.architecture or named.family or named.options or named.keys:
        name = printable(named.config.rpartition(DECLARED)[2])
        message = f"{name} is a declared model: its table says family, architecture and options"
        raise Unusable(Finding("config-invalid", message, "name its config in place of it, or leave the options out"))


def _table_of(named: Named) -> tuple[Settings, Model]:
    """:raises Unusable: where there is no such model, or the command line says what its table does."""
    file, _, name = named.config.partition(DECLARED)
    _refuse_what_the_table_says(named)
    try:
        settings = load(Path(file))
    except SettingsError as error:
        raise Unusable(Finding("config-invalid", str(error))) from None
    model = settings.models.get(name)
    if model is None:
        fix = did_you_mean(name, settings.names, f"there are {listed(settings.names, MOST_NAMED)}")
        raise Unusable(Finding("config-invalid", f"{printable(file)} declares no model {shown(name)}", fix))
    return settings, model


def _options(written: Sequence[str]) -> dict[str, bool]:
    """``add_pooling_layer=false`` → ``{"add_pooling_layer": False}``."""
    found = {}
    for each in written:
        key, _, value = each.partition("=")
        if not key.isidentifier() or value not in {"true", "false"}:
            message = f"--option {shown(each)} is not NAME=true or NAME=false"
            raise Unusable(Finding("config-invalid", message, "write --option add_pooling_layer=false, for example"))
        found[key] = value == "true"
    return found


def _is_declared_at(written: str) -> bool:
    """Whether it is a model that the table of a revision declares."""
    revision, _, inside = written.partition(":")
    if not revision or not inside or inside.startswith(":") or os.path.lexists(written) or os.path.lexists(revision):
        return False
    if inside.startswith(f"{TABLE}{DECLARED}"):
        return True
    from pytest_bertsize.commands.at_revision import is_declared_at

    return is_declared_at(revision, inside)


def _is_a_declared_name(written: str) -> bool:
    """Whether the table declares it, by a table of its own that may have mistakes, and nothing here has that name.

    A folder without a config, as that of the model's own code, is nothing.
    """
    table, path = Path(TABLE), Path(written)
    is_folder = os.path.isdir(path)  # noqa: PTH112  (pathlib's raises, where it may not look)
    is_folder = is_folder and not any(os.path.lexists(path / name) for name in (*NAMES, MODULES))
    if (os.path.lexists(path) and not is_folder) or not os.path.lexists(table):
        return False
    try:
        return written in load(table).models
    except SettingsError:
        return written in (tables_of_models(table) or ())


def _renaming(written: Sequence[str]) -> dict[str, str]:
    """``num_blks=num_hidden_layers`` → ``{"num_blks": "num_hidden_layers"}``."""
    found = {}
    for each in written:
        own, _, key = each.partition("=")
        if not own or not key.isidentifier():
            message = f"--keys {shown(each)} is not NAME=KEY"
            raise Unusable(Finding("config-invalid", message, "write --keys num_blks=num_hidden_layers, for example"))
        found[own] = key
    return found


def _read(model: Model) -> ModelConfig:
    """What the command line names, of whatever kind."""
    location = model.config.partition("#")[0]
    if not os.path.lexists(location):
        if ":" in location:
            from pytest_bertsize.commands.at_revision import is_revision, read_config_at

            if not model.is_made_by_code or is_revision(location.partition(":")[0]):
                return read_config_at(model.config)
        if model.is_made_by_code:
            return Disk(Path.cwd()).made_by_code(model.config)
    return _on_disk(model.config)


def _on_disk(reference: str) -> ModelConfig:
    """The config of any place: its own folder is the one that it has to lie in, and messages show the path as given.

    A symlink is followed first, because that is what the files of a downloaded model are.
    """
    refuse_code(reference)
    location, hash_sign, inner = reference.partition("#")
    path = Path(location)
    if is_hub_name(location) and not os.path.lexists(path):
        return read_file(Path(), reference)
    try:
        inside = [path / name for name in NAMES if (path / name).is_file()]
        path = inside[0] if len(inside) == 1 and not (path / MODULES).is_file() else path
        real = path.resolve()
    except (OSError, RuntimeError, ValueError):
        real = path
    given = printable(str(path))
    is_file = real.is_file()
    root, name = (real.parent, real.name) if is_file or not real.is_dir() else (real, ".")
    try:
        config = read_file(root, f"{name}{hash_sign}{inner}")
    except Unusable as unusable:
        raise Unusable(*(each._replace(file=given) for each in unusable.findings)) from None
    whole = f"{given}/{MODULES}" if config.modules else config.whole
    return replace(config, file=given, whole=whole)
