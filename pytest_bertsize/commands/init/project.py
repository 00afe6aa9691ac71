"""Add the proposed tables to the project's pyproject.toml; everything else in the file stays byte for byte."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import tomli
from msgspec import Struct
from msgspec.structs import replace

from pytest_bertsize.table.model import FOUND, TABLE
from pytest_bertsize.table.settings import Settings, SettingsError, load, parse, tables_of_models
from pytest_bertsize.table.toml import CannotReplace, find_braces, key, line_in_toml, quoted, replace_keys
from pytest_bertsize.wording import shown

NEW = """\
# The BERT-family models of this project and their limits, for pytest-bertsize: pytest --bert-budget

[tool.pytest.ini_options]
minversion = "8.2"
"""
NEW_BESIDE_SETTINGS = NEW.partition("\n\n")[0] + "\n"
"""The start of a new pyproject.toml without settings of pytest, which could override those of another file."""
_OF_PYTEST = {
    "pytest.toml": "",
    ".pytest.toml": "",
    "pytest.ini": "",
    ".pytest.ini": "",
    "tox.ini": r"^\[pytest\]",
    "setup.cfg": r"^\[tool:pytest\]",
}
"""The section with pytest's settings in each file from which pytest reads them; ``""`` if it needs no section."""


class Project(Struct, frozen=True):
    """A project's pyproject.toml before init changes it."""

    path: Path
    text: str | None
    """The content of the file; ``None`` if there is no file."""
    settings: Settings
    is_root: bool = False
    """True if this folder has a file with settings of pytest, which makes it pytest's root."""

    @property
    def root(self) -> Path:
        return self.path.parent

    @property
    def is_here(self) -> bool:
        """Return whether init was started in this folder."""
        return os.path.realpath(self.root) == os.path.realpath(os.curdir)

    @property
    def is_new(self) -> bool:
        return self.text is None or not self.text.strip()

    @property
    def becomes_root(self) -> bool:
        """Return whether the file is new and gets settings of pytest, because no other file of this folder has any."""
        return self.is_new and not self.is_root

    def parse_beside(self, tables: str) -> Settings:
        """Parse proposed tables together with the file's keys for all models, such as ``python`` and ``hub``.

        :raises SettingsError: with a line for each mistake.
        """
        of_all = ("interpreter", "transformers", "hub", "python_path", "closed_forms")
        return replace(parse(tables, self.path), **{name: getattr(self.settings, name) for name in of_all})

    def add_tables(self, tables: Iterable[str], lock: str = "") -> str:
        """Return the file's text with the proposed tables at its end, in the file's line endings.

        :param lock: the lock to name in ``[tool.bertsize]``, if that names none yet.
        :raises SettingsError: with the text to paste, if no table can be added at the end.
        """
        return self._append(self.text or "", [*tables], lock)

    def _append(self, text: str, tables: list[str], lock: str) -> str:
        headed = [write_lock(lock), *tables] if lock else tables
        if self.is_new:
            return "\n".join((f"{text}{NEW if self.becomes_root else NEW_BESIDE_SETTINGS}", *headed))
        newline = "\r\n" if text.count("\r\n") > text.count("\n") / 2 else "\n"
        text += "" if text.endswith("\n") else newline
        for before, added in [(text, headed), *((each, tables) for each in _insert_lock(text, lock, newline))]:
            after = before + "".join(f"\n{each}" for each in added).replace("\n", newline)
            with suppress(tomli.TOMLDecodeError):
                if tomli.loads(after)["tool"]["bertsize"].get("lock") == lock or not lock:
                    parse(after, self.path)
                    return after
        rest = "run this again" if lock else "\n".join(("add\n", *tables))
        raise SettingsError(f"{self.path.name}: {_explain_what_is_in_the_way(text)}, then {rest}")

    def replace_table(self, name: str, keys: Mapping[str, str], lock: str = "") -> str:
        """Return the file's text with new values for the keys that init finds; the model's other keys and budget stay.

        :param keys: the keys of the proposed table, as TOML.
        :param lock: the lock to name in ``[tool.bertsize]``, if that names none yet.
        :raises SettingsError: with the text to paste, if the keys cannot be replaced.
        """
        names = ("factory", "kwargs", "config", *FOUND, "build", "lock")
        place = self.settings.models[name].table_key
        return self._append(
            self.replace_keys(self.text or "", place, {each: keys.get(each, "") for each in names}), [], lock
        )

    def replace_keys(self, text: str, table: tuple[str, ...], values: Mapping[str, str]) -> str:
        """Return the text of the file with other values for keys in one of its tables.

        :param values: the values as TOML, by key; ``""`` to remove a key.
        :raises SettingsError: with the text to write, if the keys cannot be replaced.
        """
        try:
            return replace_keys(text, table, values)
        except CannotReplace as error:
            lines = "\n".join(f"{key(name)} = {value}" for name, value in values.items() if value)
            raise SettingsError(f"{self.path.name}: {error}; write these lines into it yourself\n\n{lines}") from None


def write_table(name: str, keys: Iterable[str], limits: Iterable[tuple[str, str]]) -> str:
    """Write the table of a model; without limits, its budget is ``"report-only"``."""
    budget = [f"budget.{key(component)} = {limit}" for component, limit in limits] or ['budget = "report-only"']
    return "".join(f"{line}\n" for line in (write_heading(name), *keys, *budget))


def write_heading(name: str) -> str:
    return f"[{'.'.join((*TABLE, 'models', key(name)))}]"


def write_lock(file: str) -> str:
    return f"[{'.'.join(TABLE)}]\nlock = {quoted(file)}\n"


def _insert_lock(text: str, lock: str, newline: str) -> Iterator[str]:
    """Yield the text with a line for the lock, below the header of ``[tool.bertsize]`` or above a dotted key of it."""
    if lock and (line := line_in_toml(text, TABLE)) is not None:
        lines = re.split(r"(?<=\n)", text)
        for name, before in (("lock", 0), ("bertsize.lock", 1), ("tool.bertsize.lock", 1)):
            written = f"{name} = {quoted(lock)}{newline}"
            yield "".join((*lines[: line - before], written, *lines[line - before :]))


def read_project(root: Path, *, is_named: bool = True) -> Project:
    """Read the files of a project.

    :param is_named: whether the user named the folder; a folder that is part of another project has to be named.
    :raises SettingsError: if a folder has to be named and is not, and for a mistake in ``[tool.bertsize]``.
    """
    if not is_named and (above := _find_project_above(root)):
        folder = os.path.relpath(above)
        what = f"this folder is part of the project in {folder}, and a table here would make it a project of its own"
        whole = f"bertsize init --project {shlex.quote(folder)}"
        raise SettingsError(f"{what}: run {whole} for that project, or bertsize init --project . for this folder alone")
    path = root / "pyproject.toml"
    is_root = bool(find_settings_of_pytest(root))
    if not os.path.lexists(path):
        return Project(path, None, Settings(path, "", {}), is_root)
    settings = load(path, needs_models=False)
    return Project(path, settings.text, settings, is_root)


def _explain_what_is_in_the_way(text: str) -> str:
    """Explain why no table can be added at the end of a valid TOML file, with a fix."""
    path, here = (*TABLE, "models"), tomli.loads(text)
    for depth, part in enumerate(path, 1):
        here = here.get(part, {})
        if not isinstance(here, dict):
            return f"{'.'.join(path[:depth])} is {shown(here)}, where a table has to be: remove it"
    name = ".".join(outer := find_braces(text, path))
    heading = f"[{name}.NAME]" if outer == path else f"[{name}]"
    return f"{name} is in braces, and no table can be added to it: write it as {heading}"


def find_settings_of_pytest(folder: Path) -> str:
    """Return the name of the file in this folder that has pytest's settings; ``""`` if none has."""
    for name, section in _OF_PYTEST.items():
        text = _read_text(folder / name)
        if text is not None and re.search(section, text, re.MULTILINE):
            return name
    with suppress(tomli.TOMLDecodeError, RecursionError):
        tools: Any = tomli.loads(_read_text(folder / "pyproject.toml") or "").get("tool")
        return "pyproject.toml" if isinstance(tools, dict) and "pytest" in tools else ""
    return ""


def _find_project_above(folder: Path) -> Path | None:
    """Return the folder above, in the same repository, whose project probably includes this folder.

    That folder has a ``[tool.bertsize]``, settings of pytest, or a pyproject.toml while this folder has none.
    """
    here = folder.absolute()
    if find_settings_of_pytest(here) or tables_of_models(here / "pyproject.toml") is not None:
        return None
    is_bare = not (here / "pyproject.toml").exists()
    for inner, outer in pairwise((here, *here.parents)):
        if (inner / ".git").exists():
            return None
        file = outer / "pyproject.toml"
        if find_settings_of_pytest(outer) or tables_of_models(file) is not None or (is_bare and file.is_file()):
            return outer
    return None


def find_root_above(folder: Path) -> Path | None:
    """Find the nearest folder above with settings of pytest: pytest takes it as the root if this folder has none."""
    return next((above for above in folder.absolute().parents if find_settings_of_pytest(above)), None)


def _read_text(path: Path) -> str | None:
    try:
        return path.read_text("utf-8", errors="replace") if path.is_file() else None
    except OSError:
        return None
