"""A table that stands elsewhere than in pytest's root: which is meant is not for us to guess."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import takewhile
from pathlib import Path

import pytest

from pytest_bertsize.table.settings import SettingsError, tables_of_models


def table_path(config: pytest.Config) -> Path:
    """Always the root's own pyproject.toml: pytest's settings may live in another file."""
    return config.rootpath / "pyproject.toml"


def refuse(config: pytest.Config) -> None:
    """Look where pytest was called, and where it was told to look.

    :raises SettingsError: when the folder in which pytest was called, one that it was given, or one between these and
        the root, has another table than the root.
    """
    here, root = config.invocation_params.dir, config.rootpath.resolve()
    given = config.args if config.args_source == pytest.Config.ArgsSource.ARGS else []
    named = [here / argument.partition("::")[0] for argument in given]
    inside = [here] if root in here.resolve().parents else []
    folders = (here, *(above for path in (*inside, *named) for above in _up_to(root, path)))
    if message := _another(config, folders):
        raise SettingsError(message)


def refuse_collected(config: pytest.Config, items: Iterable[pytest.Item]) -> None:
    """Look where pytest has found tests, whether it was given their folder, one around it, or ``testpaths``.

    :raises pytest.UsageError: when a folder between a test and the root has another table than the root.
    """
    root = config.rootpath.resolve()
    seen: set[Path] = set()
    first: dict[Path, pytest.Item] = {}
    for item in items:
        first.setdefault(item.path.parent, item)
    for folder, item in first.items():
        folders = [each for each in _up_to(root, folder) if each not in seen]
        seen.update(folders)
        if message := _another(config, folders):
            from pytest_bertsize.plugin import misspelt_marker

            misspelt_marker.stop(message, item, config)


def _another(config: pytest.Config, folders: Iterable[Path]) -> str:
    """What is wrong with the first of the folders that has another table than the root's."""
    read = table_path(config)
    for folder in folders:
        other = folder / "pyproject.toml"
        if other.is_file() and other.resolve() != read.resolve() and tables_of_models(other) is not None:
            too = "one too" if tables_of_models(read) is not None else "none"
            return (
                f"{other} has a [tool.bertsize], and pytest's root directory is {read.parent}, which has {too}; run "
                "pytest in the folder whose table you mean, and give its pyproject.toml a "
                '[tool.pytest.ini_options] with minversion = "8.2", which makes it a root'
            )
    return ""


def _up_to(root: Path, path: Path) -> Iterator[Path]:
    """A folder, or that of a file, and those above it, up to the root or to what the root is in as well."""
    path = path.resolve()
    above = takewhile(lambda folder: folder != root and folder not in root.parents, (path, *path.parents))
    yield from above if path.exists() else ()
