"""Find the model that a command line or a call in Python names, read its config, and derive its closed form."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from pytest_bertsize.base import NoRevision
from pytest_bertsize.base.commit_files import CommitFiles, Unreadable
from pytest_bertsize.base.declared import derive_declared, read_declared
from pytest_bertsize.base.git import resolve_commit
from pytest_bertsize.base.lock import find_sizes, read_lock, read_lock_at
from pytest_bertsize.base.project_at_commit import AtCommit, Missing, read_table
from pytest_bertsize.builder.published import is_name as is_hub_name
from pytest_bertsize.closed_forms.derive import choose, derive
from pytest_bertsize.closed_forms.registry import registry_of
from pytest_bertsize.commands.console import refuse
from pytest_bertsize.config import source
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
    from pytest_bertsize.closed_forms.derive import Derivation
    from pytest_bertsize.closed_forms.family import ClosedForm
    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.config.model_config import ModelConfig

ALWAYS_REVISIONS = ("HEAD", "main", "master")  # an error if there is no such revision, and no name of a model
DECLARED = "::"  # between a pyproject.toml and the name of a model that it declares


class Explained(Struct, frozen=True):
    """A config and its closed form."""

    model: Model  # the model that the table or the command line declares
    config: ModelConfig
    derivation: Derivation

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
        kind = type(config).__name__
        raise TypeError(f"config is the path of a file, not a {kind}; pass a model in hand to check_model")
    given = dict(options or {})
    named = Model(config=str(config), architecture=architecture, family=family, options=given, budget=Budget())
    try:
        return explain_model(named, Finding.in_python).form
    except Unusable as unusable:
        mistakes = (finding.sentence for finding in unusable.findings if finding.severity == "error")
        raise ValueError("\n".join(mistakes)) from None


def explain_model(named: Model, in_words: Callable[[Finding], Finding] = Finding.in_command) -> Explained:
    """Read the config of a model named in a command or a call, and derive the closed form, as a check does.

    :param named: the model with what was given beside its config, which is the path of a file or folder from the
        current folder, also as ``REV:FILE`` and ``FILE#key.path``; a name of the hub; ``module:NAME``; or a declared
        model, as ``NAME``, ``pyproject.toml::NAME`` or ``REV:NAME``.
    :param in_words: rewrites fixes, for the command line or for Python.
    """
    revision, inside = _split_revision(named)
    if declared := _explain_at_commit(revision, inside) if revision else _explain_declared(inside):
        if named.architecture or named.family or named.options or named.keys:
            given = printable(named.config.rpartition(DECLARED)[2])
            message = f"{given} is a declared model: its table has the family, architecture and options"
            raise refuse(message, "name the path of its config in place of its name, or leave the options out")
        return declared
    try:
        config = rename_keys(_read_at_commit(revision, inside) if revision else _read_config(named), named.keys)
        return Explained(named, config, derive(named, config, choose(named, config, _read_registry(None))))
    except Unusable as unusable:
        raise Unusable(*map(in_words, unusable.findings)) from None
    except Exception as error:
        message = printable(f"pytest-bertsize itself failed on this config: {type(error).__name__}: {error}")
        finding = Finding("config-invalid", message, "report it, with the config", file=printable(named.config))
        raise Unusable(finding) from error


def _read_registry(declaring: Settings | None) -> Registry:
    """Read the closed forms of the table that declares a model; without one, those that the nearest table names."""
    settings = declaring
    with suppress(SettingsError):
        there = declaring or load(find_table(Path()))
        settings = there if there.closed_forms else declaring
    with _refusing():
        return registry_of(settings, asked_about(settings).release)


@contextmanager
def _refusing(where_else: str = "") -> Iterator[None]:
    """Refuse what a table or a commit does not allow; ``where_else`` is the fix for a path that does not exist."""
    try:
        yield
    except (SettingsError, NoRevision) as error:
        raise refuse(str(error)) from None
    except Missing as missing:
        raise refuse(str(missing), where_else) from None
    except Unreadable as unread:
        raise refuse(str(unread), unread.fix) from None


# declared models


def _explain_declared(written: str) -> Explained | None:
    """Explain the model of ``pyproject.toml::NAME``, or of ``NAME`` in the nearest table; ``None`` for a path."""
    file, mark, name = written.partition(DECLARED)
    table = Path(file) if mark else find_table(Path())
    if not mark:
        name, is_folder = written, os.path.isdir(written)  # noqa: PTH112  (pathlib's raises, where it may not look)
        has_config = any(os.path.lexists(Path(written, each)) for each in (*NAMES, MODULES))
        is_path = os.path.lexists(written) and (has_config or not is_folder)  # else the folder of the model's own code
        if is_path or name not in _list_declared(table):
            return None
    with _refusing():
        settings = load(table)
        if (model := settings.models.get(name)) is None:
            fix = did_you_mean(name, settings.models, f"it declares {listed([*settings.models], MOST_NAMED)}")
            raise refuse(f"{printable(str(table))} declares no model {shown(name)}", fix)
        locked = find_sizes(read_lock(settings), model) if model.has_config_of_build else None
    config = read_declared(model, settings, locked)
    try:
        derivation = derive_declared(model, config, _read_registry(settings), locked, Disk(settings.root))
    except Unusable as unusable:
        if model.closed_form or unusable.findings[0].kind != "unknown-closed-form":
            raise
        message = f"{printable(name)} has no closed form: its table has closed_form = false"
        fix = "run bertsize check, which builds it and compares its count with its budget and its lock"
        raise Unusable(Finding("unknown-closed-form", message, fix)) from None
    return Explained(model, config, derivation)


def _list_declared(table: Path) -> Sequence[str]:
    """List the models of a table, also of one with mistakes."""
    try:
        return [*load(table).models]
    except SettingsError:
        return [*(tables_of_models(table) or ())]


# a config by its path


def _read_config(model: Model) -> ModelConfig:
    """Read a config anywhere on the disk, or one that code makes; messages have its path as the user wrote it."""
    refuse_code(model.config)
    location, hash_sign, inner = model.config.partition("#")
    if not os.path.lexists(location):
        if model.is_made_by_code:  # by code at the nearest table's root or import paths, or in this folder
            settings = Settings(find_table(Path.cwd()), "", {})
            with suppress(SettingsError):
                settings = load(settings.path, needs_models=False)
            paths = (*settings.import_paths, str(Path.cwd()))
            return Disk(settings.root, settings.hub, paths).made_by_code(model.config)
        if is_hub_name(location):
            try:
                return read_file(Path(), model.config)
            except Unusable as unusable:
                if "/" in location:
                    raise
                table, unfound = find_table(Path()), unusable.findings[0]
                names = _list_declared(table)
                declared = listed(names, MOST_NAMED) or "nothing; run bertsize init, which proposes tables"
                there = f"no table declares it ({printable(str(table))} declares {declared})"
                raise refuse(f"{unfound.message}, and {there}", did_you_mean(location, names, unfound.fix)) from None
    path = Path(location)
    inside = [path / name for name in NAMES if os.path.isfile(path / name)]  # noqa: PTH113  (pathlib's raises)
    path = inside[0] if len(inside) == 1 and not os.path.lexists(path / MODULES) else path
    real = Path(os.path.realpath(path))
    root, name = (real, ".") if real.is_dir() else (real.parent, real.name)
    given, named = printable(str(path)), f"{printable(name)}: "  # in a run, the table's line stands before it
    try:
        config = read_file(root, f"./{name}{hash_sign}{inner}")  # a path, and no name of the hub
    except Unusable as unusable:
        found = (each._replace(file=given, message=each.message.removeprefix(named)) for each in unusable.findings)
        raise Unusable(*found) from None
    return replace(config, file=given, whole=f"{given}/{MODULES}" if config.modules else config.whole)


# at a git revision


def _split_revision(named: Model) -> tuple[str, str]:
    """Return the revision of ``main:config.json`` and the rest; ``""`` for a path, and for ``module:NAME``."""
    written = named.config
    revision, _, inside = written.partition(":")
    is_path = os.path.lexists(written.partition("#")[0]) or os.path.lexists(revision)
    if is_path or not revision or not inside or inside.startswith(":"):
        return "", written
    if named.is_made_by_code:
        top, is_commit = revision.partition(".")[0], revision in ALWAYS_REVISIONS
        with suppress(NoRevision):
            is_commit = is_commit or bool(resolve_commit(Path.cwd(), revision))
        if not is_commit or os.path.lexists(f"{top}.py") or os.path.lexists(top):
            return "", written
    return revision, inside


def _explain_at_commit(revision: str, inside: str) -> Explained | None:
    """Explain a model that the nearest table declares at a commit; ``None`` if ``inside`` is no name of a model."""
    here = Settings(find_table(Path.cwd()), "", {})
    name = inside.removeprefix(f"pyproject.toml{DECLARED}")
    with _refusing(), CommitFiles(here.root, resolve_commit(here.root, revision)) as files:
        try:
            then = read_table(files, here, revision, is_base=False)
        except Unreadable:
            if name == inside:
                return None
            raise
        if name in then.wrong:
            raise refuse(f"at {printable(revision)}, {then.wrong[name]}")
        if (model := then.models.get(name)) is None:
            if name == inside:
                return None
            names = f"it declares {', '.join(then.models) or 'none'}"
            message = f"{here.file} at {printable(revision)} declares no model {shown(name)}"
            raise refuse(message, did_you_mean(name, then.models, names))
        reader = AtCommit(files, revision, then.hub)
        locked = find_sizes(read_lock_at(files, then.lock), model)
        config = read_declared(model, here, locked, reader)
        return Explained(model, config, derive_declared(model, config, _read_registry(None), locked, reader))


def _read_at_commit(revision: str, inside: str) -> ModelConfig:
    """Read a config at a commit; its path is relative to the current folder."""
    location, hash_sign, inner = inside.partition("#")
    folder, parts = Path.cwd(), posixpath.normpath(location).split("/")
    while parts[1:] and parts[0] == "..":
        folder, parts = folder.parent, parts[1:]
    where_else = "write its path from the current folder, or the name of a declared model"
    with _refusing(where_else), CommitFiles(folder, resolve_commit(folder, revision)) as files:
        return source.in_file(AtCommit(files, revision), f"{'/'.join(parts)}{hash_sign}{inner}")
