"""What the command line names at a git revision: a file, or a model that the table there declares."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_bertsize.base.baseline import AtCommit, Missing, hub_of, table_of
from pytest_bertsize.base.git import NoRevision, resolve
from pytest_bertsize.base.tree import Files, Unreadable
from pytest_bertsize.commands.named_model import DECLARED, TABLE
from pytest_bertsize.config import source
from pytest_bertsize.config.adapter import adapter_of
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.table.globs import find_matches_in
from pytest_bertsize.table.settings import Settings
from pytest_bertsize.wording import did_you_mean, printable, shown

if TYPE_CHECKING:
    from pytest_bertsize.config.adapter import Adapter
    from pytest_bertsize.config.model_config import ModelConfig
    from pytest_bertsize.table.model import Model
    from pytest_bertsize.table.settings import Apart


def config_at(reference: str) -> ModelConfig:
    """``main:models/config.json``: a file as a commit has it, its path from the current folder.

    :raises Unusable: in the words of the command line.
    """
    revision, _, inside = reference.partition(":")
    folder, inside = _above(inside)
    try:
        with Files(folder, resolve(folder, revision)) as files:
            return source.in_file(AtCommit(files, revision, root=folder), inside)
    except NoRevision as error:
        raise Unusable(Finding("config-invalid", str(error))) from None
    except Missing as error:
        raise Unusable(Finding("config-invalid", str(error), "write its path from the current folder")) from None
    except Unreadable as unread:
        raise Unusable(Finding("config-invalid", str(unread), unread.fix)) from None


def _above(inside: str) -> tuple[Path, str]:
    """The folder that ``../../models/config.json`` is read from, and its path from there."""
    location, hash_sign, inner = inside.partition("#")
    folder, parts = Path.cwd(), posixpath.normpath(location).split("/")
    while parts[1:] and parts[0] == "..":
        folder, parts = folder.parent, parts[1:]
    return folder, f"{'/'.join(parts)}{hash_sign}{inner}"


def is_declared_at(reference: str) -> bool:
    """Whether it is ``main:pyproject.toml::encoder``, or ``main:encoder`` where the table at ``main`` declares that.

    What may as well be what a module of the folder has, ``sizes:small``, is taken for that.
    """
    revision, colon, inside = reference.partition(":")
    if not colon or not revision or inside.startswith(":"):
        return False
    if inside.startswith(f"{TABLE}{DECLARED}"):
        return True
    if _is_module(revision):
        return False
    try:
        with Files(Path.cwd(), resolve(Path.cwd(), revision)) as files:
            return inside in _table(files, revision).models
    except (NoRevision, Unreadable):
        return False


def is_revision(written: str) -> bool:
    """Whether it is one in this folder, and no module of it."""
    if _is_module(written):
        return False
    try:
        resolve(Path.cwd(), written)
    except NoRevision:
        return False
    return True


def _is_module(written: str) -> bool:
    top = written.partition(".")[0]
    return Path(f"{top}.py").exists() or Path(top).is_dir()


def declared_at(reference: str) -> tuple[Model, ModelConfig, Adapter | None]:
    """A model as the table of a commit declares it, in the current folder.

    :raises Unusable: where there is none, or none that can be read.
    """
    revision, _, inside = reference.partition(":")
    name = inside.removeprefix(f"{TABLE}{DECLARED}")
    try:
        with Files(Path.cwd(), resolve(Path.cwd(), revision)) as files:
            then = _table(files, revision)
            model = then.models.get(name)
            if model is None:
                raise Unusable(*_undeclared(name, revision, then))
            reader = AtCommit(files, revision, hub_of(then.table), Path.cwd())
            config = source.read(model, _here(), reader)
            return model, config, adapter_of(model, _here(), config, reader)
    except (NoRevision, Missing) as error:
        raise Unusable(Finding("config-invalid", str(error))) from None
    except Unreadable as unread:
        raise Unusable(Finding("config-invalid", str(unread), unread.fix)) from None


def _here() -> Settings:
    return Settings(Path.cwd() / TABLE, "", {})


def _table(files: Files, revision: str) -> Apart:
    return table_of(files, _here(), revision, partial(find_matches_in, files.listed))


def _undeclared(name: str, revision: str, then: Apart) -> Iterator[Finding]:
    if name in then.wrong:
        yield Finding("config-invalid", f"at {printable(revision)}, {then.wrong[name]}")
        return
    fix = did_you_mean(name, then.models, f"there are {', '.join(then.models)}" if then.models else "it declares none")
    yield Finding("config-invalid", f"{TABLE} at {printable(revision)} declares no model {shown(name)}", fix)
