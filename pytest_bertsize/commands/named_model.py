"""Find the model that a command line or a call in Python names, read its config, and derive its closed form."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from pytest_bertsize.base import NoRevision
from pytest_bertsize.base.commit_files import CommitFiles, Unreadable
from pytest_bertsize.base.git import resolve_commit
from pytest_bertsize.base.lock import find_sizes, read_lock, read_lock_at, refuse_untrue
from pytest_bertsize.base.project_at_commit import AtCommit, Missing, read_table
from pytest_bertsize.builder.published import is_name as is_hub_name
from pytest_bertsize.closed_forms.derive import choose, derive
from pytest_bertsize.closed_forms.registry import registry_of
from pytest_bertsize.commands.console import refuse
from pytest_bertsize.config import source
from pytest_bertsize.config.adapter import adapter_of
from pytest_bertsize.config.model_config import rename_keys
from pytest_bertsize.config.parts import MODULES
from pytest_bertsize.config.source import Disk, read_file, refuse_code
from pytest_bertsize.config.which_release import asked_about
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.table.limits import Budget
from pytest_bertsize.table.model import NAMES, Model
from pytest_bertsize.table.settings import Settings, SettingsError, find_table, load, tables_of_models
from pytest_bertsize.wording import MOST_NAMED, did_you_mean, listed, printable, shown

if TYPE_CHECKING:
    from pytest_bertsize.base.lock import Locked
    from pytest_bertsize.closed_forms.derive import Derivation
    from pytest_bertsize.closed_forms.family import ClosedForm
    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.config.adapter import Adapter
    from pytest_bertsize.config.model_config import ModelConfig


TABLE = "pyproject.toml"
ALWAYS_REVISIONS = ("HEAD", "main", "master")
"""Names that are always taken for a revision: if there is no such revision, an error says so."""
DECLARED = "::"
"""The separator between a pyproject.toml and the name of a model that it declares."""


class Named(NamedTuple):
    """A model named on the command line, or in Python."""

    config: str
    """The path of a file or folder from the current folder, also as ``REV:FILE`` and ``FILE#key.path``; a name of the
    hub; ``module:NAME``; or a declared model, as ``NAME``, ``pyproject.toml::NAME`` or ``REV:NAME``."""
    architecture: str | None = None
    family: str | None = None
    options: Mapping[str, bool] = {}
    """Constructor arguments."""
    keys: Mapping[str, str] = {}
    """The family's keys by the names that the file has in their place."""


class Explained(Struct, frozen=True):
    """A config and its closed form."""

    model: Model
    """The model that the table or the command line declares."""
    config: ModelConfig
    derivation: Derivation
    settings: Settings | None = None
    """Today's pyproject.toml that declares the model; ``None`` if only one at a revision does, or none."""

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
    """Derive the tensors of a model from its config alone, without torch or transformers.

    ``closed_form("config.json")["encoder"]`` is the number of parameters of the component ``encoder``, 0 if the model
    lacks it; ``"total"`` and ``"trainable"`` work as well. ``.formulas()["encoder"].text`` is the component's formula.
    Each family's module in ``closed_forms/families`` names the source of its formulas: a paper or the class's code.

    :param config: as for ``bertsize explain``: the path of a file or folder from the current folder, also as
        ``FILE#key.path``; or a declared model, as ``pyproject.toml::NAME``.
    :param architecture: the class; by default the only one that the file names.
    :param family: the ``model_type`` for a file that has none.
    :param options: constructor arguments: ``{"add_pooling_layer": False}``.
    :raises ValueError: with a sentence for each mistake in the config.
    :raises TypeError: if ``config`` is neither a string nor a path.
    """
    if not isinstance(config, (str, Path)):
        raise TypeError(
            f"config is the path of a file, not a {type(config).__name__}; pass a model in hand to check_model"
        )
    try:
        return explain_model(Named(str(config), architecture, family, options or {}), Finding.in_python).form
    except Unusable as unusable:
        mistakes = (finding.sentence for finding in unusable.findings if finding.severity == "error")
        raise ValueError("\n".join(mistakes)) from None


def parse_options(written: Sequence[str]) -> dict[str, bool]:
    """Return ``{"add_pooling_layer": False}`` for ``add_pooling_layer=false``."""
    form = "NAME=true or NAME=false", "add_pooling_layer=false"
    pairs = _split_pairs("--option", written, r"[^\W\d]\w*=(true|false)", *form)
    return {name: value == "true" for name, value in pairs.items()}


def parse_keys(written: Sequence[str]) -> dict[str, str]:
    """Return ``{"num_blks": "num_hidden_layers"}`` for ``num_blks=num_hidden_layers``."""
    return _split_pairs("--keys", written, r"[^=]+=[^\W\d]\w*", "NAME=KEY", "num_blks=num_hidden_layers")


def _split_pairs(option: str, written: Sequence[str], pattern: str, form: str, example: str) -> dict[str, str]:
    if (wrong := next((each for each in written if not re.fullmatch(pattern, each)), None)) is not None:
        raise refuse(f"{option} {shown(wrong)} is not {form}", f"write {option} {example}, for example")
    return dict(each.split("=") for each in written)


def explain_model(named: Named, in_words: Callable[[Finding], Finding] = Finding.in_command) -> Explained:
    """Read the config and derive the closed form, by the same steps as a check.

    :param in_words: a function that rewrites a fix: in place of a key of the table, it names an option or an argument.
    :raises Unusable: with fixes that ``in_words`` rewrote or, for a declared model, with fixes for its table.
    """
    if declaration := _find_declaration(named.config):
        return _explain_declared(named, *declaration)
    registry = _read_registry(None)
    try:
        model = Model(
            config=named.config,
            family=named.family,
            architecture=named.architecture,
            options=dict(named.options),
            budget=Budget(),
        )
        config = rename_keys(_read_config(model), named.keys)
        return Explained(model, config, derive(model, config, choose(model, config, registry)))
    except Unusable as unusable:
        raise Unusable(*map(in_words, unusable.findings)) from None
    except Exception as error:
        message = printable(f"pytest-bertsize itself failed on this config: {type(error).__name__}: {error}")
        finding = Finding("config-invalid", message, "report it, with the config", file=printable(named.config))
        raise Unusable(finding) from error


# declared models


def _find_declaration(written: str) -> tuple[str, str, str] | None:
    """Return revision (``""`` for the present), table and name of the declaration that a text names, else ``None``.

    The text is like ``tagger``, ``pyproject.toml::tagger``, ``main:tagger`` or ``main:pyproject.toml::tagger``.
    """
    revision, _, inside = written.partition(":")
    is_path = os.path.lexists(written) or os.path.lexists(revision)
    if revision and inside and not inside.startswith(":") and not is_path:
        name = inside.removeprefix(f"{TABLE}{DECLARED}")
        if name != inside or (_is_revision(revision) and _is_declared_at(revision, name)):
            return revision, TABLE, name
    file, mark, name = written.partition(DECLARED)
    if mark:
        return "", file, name
    table, path = find_table(Path()), Path(written)
    is_bare = os.path.isdir(path)  # noqa: PTH112  (pathlib's raises, where it may not look)
    is_bare = is_bare and not any(os.path.lexists(path / each) for each in (*NAMES, MODULES))
    if (os.path.lexists(path) and not is_bare) or not os.path.lexists(table):
        return None  # the name of a config here; a folder without one, as of the model's own code, has no say
    return ("", str(table), written) if written in _list_declared(table) else None


def _list_declared(table: Path) -> Sequence[str]:
    """List the models of a table, also of one with mistakes."""
    try:
        return load(table).names
    except SettingsError:
        return [*(tables_of_models(table) or ())]


def _explain_declared(named: Named, revision: str, file: str, name: str) -> Explained:
    if named.architecture or named.family or named.options or named.keys:
        given = printable(named.config.rpartition(DECLARED)[2])
        message = f"{given} is a declared model: its table has the family, architecture and options"
        raise refuse(message, "name the path of its config in place of its name, or leave the options out")
    settings = None
    if revision:
        model, config, adapter, locked = _read_model_at(revision, name)
    else:
        try:
            settings = load(Path(file))
            if (found := settings.models.get(name)) is None:
                fix = did_you_mean(name, settings.names, f"it declares {listed(settings.names, MOST_NAMED)}")
                raise refuse(f"{printable(file)} declares no model {shown(name)}", fix)
            model = found
            locked = find_sizes(read_lock(settings), model) if model.has_config_of_build else None
        except SettingsError as error:
            raise refuse(str(error)) from None
        config = source.read_locked(model, locked.sizes) if locked else source.read(model, settings)
        adapter = adapter_of(model, settings, config)
    registry = _read_registry(settings)
    try:
        chosen = choose(model, config, registry, adapter)
    except Unusable as unusable:
        if model.closed_form or unusable.findings[0].kind != "unknown-closed-form":
            raise
        message = f"{printable(model.name)} has no closed form: its table has closed_form = false"
        fix = "run bertsize check, which builds it and compares its count with its budget and its lock"
        raise Unusable(Finding("unknown-closed-form", message, fix)) from None
    derivation = derive(model, config, chosen)
    if locked:
        refuse_untrue(locked, model, adapter, derivation.form.tensors)
    return Explained(model, config, derivation, settings)


def _read_registry(declaring: Settings | None) -> Registry:
    """Read the closed forms of the table that declares a model.

    For a model that no present table declares, read the closed forms that the current folder's table names.
    """
    settings = declaring
    with suppress(SettingsError):
        there = None if declaring else load(find_table(Path()))
        settings = there if there and there.closed_forms else declaring
    try:
        return registry_of(settings, asked_about(settings).release)
    except SettingsError as error:
        raise refuse(str(error)) from None


# a config by its path


def _read_config(model: Model) -> ModelConfig:
    """Read the config that the command line names: a file, a file at a revision, code that makes it, a hub name."""
    location = model.config.partition("#")[0]
    if not os.path.lexists(location):
        if ":" in location and (not model.is_made_by_code or _is_revision(location.partition(":")[0])):
            return _read_config_at(model.config)
        if model.is_made_by_code:  # by code at the nearest table's root or import paths, or in this folder
            table = find_table(Path.cwd())
            settings = Settings(table, "", {})
            with suppress(SettingsError):
                settings = load(table, needs_models=False)
            paths = (*settings.import_paths, str(Path.cwd()))
            return Disk(settings.root, settings.hub, paths).made_by_code(model.config)
    return _read_on_disk(model.config)


def _read_on_disk(reference: str) -> ModelConfig:
    """Read a config anywhere on the disk; messages show its path as the user wrote it.

    Files that the config refers to have to be in its folder; symlinks, as in a downloaded model, are resolved first.
    """
    refuse_code(reference)
    location, hash_sign, inner = reference.partition("#")
    path = Path(location)
    if not os.path.lexists(path):
        if is_hub_name(location):
            try:
                return read_file(Path(), reference)
            except Unusable as unusable:
                raise _suggest_declared(location, unusable) from None
        Disk(Path()).refuse_near(location, "config", NAMES)
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
        config = read_file(root, f"./{name}{hash_sign}{inner}")  # a path, and no name of the hub
    except Unusable as unusable:
        named = f"{printable(name)}: "  # the beginning of a message that has the table's line in a run
        found = [each._replace(file=given, message=each.message.removeprefix(named)) for each in unusable.findings]
        raise Unusable(*found) from None
    if "model_type" not in config.data and is_file and (real.parent.parent / MODULES).is_file():
        folder = printable(str(path.parent.parent))
        raise refuse(f"{given} is one module of a sentence-transformers model", f"name the model's folder, {folder}")
    return replace(config, file=given, whole=f"{given}/{MODULES}" if config.modules else config.whole)


def _suggest_declared(name: str, unknown: Unusable) -> Unusable:
    """Return the error for an unknown name; without a slash, its message adds that no table declares such a model."""
    if "/" in name:
        return unknown
    table = find_table(Path())
    names, unfound = _list_declared(table), unknown.findings[0]
    if not names:
        message = f"{unfound.message}, and no pyproject.toml from here upwards declares a model"
        return refuse(message, f"{unfound.fix}; or run bertsize init, which proposes tables")
    known = f"it declares {listed(names, MOST_NAMED)}"
    message = f"{unfound.message}, and {printable(str(table))} declares no such model: {known}"
    return refuse(message, did_you_mean(name, names, unfound.fix))


# at a git revision


def _is_revision(written: str) -> bool:
    """Return whether a name means a git revision; it does not if a Python module or a folder here has the same name."""
    top = written.partition(".")[0]
    if Path(f"{top}.py").exists() or Path(top).is_dir():
        return False
    if written in ALWAYS_REVISIONS:
        return True
    try:
        resolve_commit(Path.cwd(), written)
    except NoRevision:
        return False
    return True


@contextmanager
def _open_files(folder: Path, revision: str, where_else: str = "") -> Iterator[CommitFiles]:
    """Open the files of a commit.

    :param where_else: the fix for a path that does not exist.
    :raises Unusable: for a revision or a file that is missing or cannot be read.
    """
    try:
        with CommitFiles(folder, resolve_commit(folder, revision)) as files:
            yield files
    except NoRevision as error:
        raise refuse(str(error)) from None
    except Missing as missing:
        raise refuse(str(missing), where_else) from None
    except Unreadable as unread:
        raise refuse(str(unread), unread.fix) from None


def _read_config_at(reference: str) -> ModelConfig:
    """Read a config at a commit, as in ``main:models/config.json``; the path is relative to the current folder."""
    revision, _, inside = reference.partition(":")
    location, hash_sign, inner = inside.partition("#")
    folder, parts = Path.cwd(), posixpath.normpath(location).split("/")
    while parts[1:] and parts[0] == "..":
        folder, parts = folder.parent, parts[1:]
    where_else = "write its path from the current folder, or the name of a declared model"
    with _open_files(folder, revision, where_else) as files:
        return source.in_file(AtCommit(files, revision), f"{'/'.join(parts)}{hash_sign}{inner}")


def _is_declared_at(revision: str, name: str) -> bool:
    here = Settings(find_table(Path.cwd()), "", {})
    try:
        with _open_files(here.root, revision) as files:
            return name in read_table(files, here, revision, is_base=False).models
    except Unusable:
        return False


def _read_model_at(revision: str, name: str) -> tuple[Model, ModelConfig, Adapter | None, Locked | None]:
    """Read a model as the table of the current folder declares it at a commit.

    The last value is the model's block in that commit's lock; ``None`` if it has no sizes, or the table names a config.
    """
    here = Settings(find_table(Path.cwd()), "", {})
    with _open_files(here.root, revision) as files:
        then = read_table(files, here, revision, is_base=False)
        if name in then.wrong:
            raise refuse(f"at {printable(revision)}, {then.wrong[name]}")
        if name not in then.models:
            names = f"it declares {', '.join(then.models) or 'none'}"
            message = f"{here.file} at {printable(revision)} declares no model {shown(name)}"
            raise refuse(message, did_you_mean(name, then.models, names))
        reader = AtCommit(files, revision, then.values.get("hub", {}))
        model = then.models[name]
        locked = find_sizes(read_lock_at(files, then.values.get("lock")), model)
        config = source.read_locked(model, locked.sizes) if locked else source.read(model, here, reader)
        return model, config, adapter_of(model, here, config, reader), locked
