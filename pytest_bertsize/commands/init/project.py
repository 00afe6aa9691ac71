"""The project's pyproject.toml: add the proposed tables; everything else in the file stays byte for byte."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import tomli
from msgspec import Struct
from msgspec.structs import replace

from pytest_bertsize.table.model import FOUND, TABLE
from pytest_bertsize.table.settings import Settings, SettingsError, load, parse, tables_of_models
from pytest_bertsize.table.toml import CannotReplace, key, replace_keys

NEW = "# The BERT-family models of this project and their limits, for pytest-bertsize: pytest --bert-budget\n"
# Settings that make the folder of a new pyproject.toml pytest's root, if no other file of the folder has settings.
ROOT = '\n[tool.pytest.ini_options]\nminversion = "8.2"\n'
# The section with pytest's settings in each file from which pytest reads them; ``""`` if it needs no section.
_OF_PYTEST = {
    "pytest.toml": "",
    ".pytest.toml": "",
    "pytest.ini": "",
    ".pytest.ini": "",
    "tox.ini": r"^\[pytest\]",
    "setup.cfg": r"^\[tool:pytest\]",
    "pyproject.toml": r"^\s*\[+\s*tool\s*\.\s*pytest\b",
}


class Project(Struct, frozen=True):
    """A project's pyproject.toml before init changes it."""

    text: str | None  # the content of the file; ``None`` if there is no file
    settings: Settings
    is_root: bool = False  # true if this folder has a file with settings of pytest, which makes it pytest's root

    @property
    def option(self) -> str:
        """The option that names this folder in a command; ``""`` if init was started in it."""
        is_here = os.path.realpath(self.settings.root) == os.path.realpath(os.curdir)
        return "" if is_here else f" --project {shlex.quote(os.path.relpath(self.settings.root))}"

    @property
    def is_new(self) -> bool:
        return not (self.text or "").strip()

    @property
    def becomes_root(self) -> bool:
        return self.is_new and not self.is_root

    @property
    def next_command(self) -> str:
        """The command to run next, which reads the table if the user starts it where init was started."""
        is_read = self.is_root or self.becomes_root or not _find_root_above(self.settings.root)
        return "pytest --bert-budget pyproject.toml" if is_read and not self.option else f"bertsize check{self.option}"

    def warn_of_roots(self) -> Iterator[str]:
        """Yield a warning if the table makes its folder pytest's root, in place of a folder above."""
        if self.becomes_root and (above := _find_root_above(self.settings.root)):
            paths = map(os.path.relpath, (self.settings.root, above))
            here, there = ("this folder" if path == os.curdir else path for path in paths)
            no_longer = f"pytest's settings in {there} then no longer apply to {here}"
            yield f"the new [tool.pytest.ini_options] makes {here} pytest's root: {no_longer}"

    def parse_beside(self, tables: str) -> Settings:
        """Parse proposed tables together with the file's keys for all models, such as ``python`` and ``hub``."""
        of_all = ("interpreter", "transformers", "hub", "python_path", "closed_forms")
        return replace(parse(tables, self.settings.path), **{name: getattr(self.settings, name) for name in of_all})

    def add_tables(self, tables: Iterable[str], keys: Mapping[str, str] | None = None) -> str:
        """Return the file's text with proposed tables at its end, and with ``keys`` of ``[tool.bertsize]`` as TOML."""
        head = f"{NEW}{ROOT if self.becomes_root else ''}" if self.is_new else ""
        return self._add(f"{self.text or ''}{head}", [*tables], keys or {})

    def replace_model(self, name: str, keys: Mapping[str, str], of_all: Mapping[str, str]) -> str:
        """Return the file's text with new values for the keys that init finds; other keys and the budget stay."""
        names = ("factory", "kwargs", "config", *FOUND, "build", "lock")
        place = self.settings.models[name].table_key
        text = self.replace_keys(self.text or "", place, {each: keys.get(each, "") for each in names})
        return self._add(text, [], of_all)

    def replace_keys(self, text: str, table: tuple[str, ...], values: Mapping[str, str]) -> str:
        """Return the text with other values, as TOML, for keys in one of its tables; ``""`` removes a key."""
        try:
            return replace_keys(text, table, values)
        except CannotReplace as bad:
            lines = "\n".join(f"{key(name)} = {value}" for name, value in values.items() if value)
            raise SettingsError(f"{self.settings.file}: {bad}; write these lines into it yourself\n\n{lines}") from None

    def _add(self, text: str, tables: list[str], keys: Mapping[str, str]) -> str:
        """Add keys to ``[tool.bertsize]``, in its own table if it has a header or keys, else in a new one."""
        headed = "".join((write_heading(), *(f"{name} = {value}\n" for name, value in keys.items())))
        ways = [(text, [headed, *tables] if keys else tables)]
        with suppress(SettingsError, KeyError):
            ways += [(self.replace_keys(text, TABLE, keys), tables)] if keys else []
        newline = "\r\n" if text.count("\r\n") > text.count("\n") / 2 else "\n"
        for before, added in ways:
            gap = "" if before.endswith("\n") or not added else newline
            after = before + gap + "".join(f"\n{each}" for each in added).replace("\n", newline)
            with suppress(tomli.TOMLDecodeError):
                tomli.loads(after)
                parse(after, self.settings.path)
                return after
        what = "[tool.bertsize] cannot be extended: write it, and the tables in it, with a header each, then add"
        raise SettingsError("\n".join((f"{self.settings.file}: {what}\n", *ways[0][1])))


def write_table(name: str, keys: Iterable[str], limits: Iterable[tuple[str, str]]) -> str:
    """Write the table of a model; without limits, its budget is ``"report-only"``."""
    budget = [f"budget.{key(component)} = {limit}" for component, limit in limits] or ['budget = "report-only"']
    return "".join((write_heading("models", name), *(f"{line}\n" for line in (*keys, *budget))))


def write_heading(*below: str) -> str:
    return f"[{'.'.join((*TABLE, *map(key, below)))}]\n"


def read_project(root: Path, *, is_named: bool = True) -> Project:
    """Read the files of a project; raise SettingsError for mistakes, or for a part of another without its name."""
    if not is_named and (above := _find_project_above(root)):
        folder = os.path.relpath(above)
        what = f"this folder is part of the project in {folder}, and a table here would make it a project of its own"
        whole = f"bertsize init --project {shlex.quote(folder)}"
        raise SettingsError(f"{what}: run {whole} for that project, or bertsize init --project . for this folder alone")
    path = root / "pyproject.toml"
    is_there = os.path.lexists(path)
    settings = load(path, needs_models=False) if is_there else Settings(path, "", {})
    return Project(settings.text if is_there else None, settings, _has_settings_of_pytest(root))


def _has_settings_of_pytest(folder: Path) -> bool:
    for name, section in _OF_PYTEST.items():
        with suppress(OSError):
            path = folder / name
            if path.is_file() and re.search(section, path.read_text("utf-8", errors="replace"), re.MULTILINE):
                return True
    return False


def _find_project_above(folder: Path) -> Path | None:
    """Return the folder above, in the same repository, whose project probably includes this folder."""
    here = folder.absolute()
    is_bare = not (here / "pyproject.toml").exists()
    for each in (here, *here.parents):
        table = each / "pyproject.toml"
        is_project = _has_settings_of_pytest(each) or tables_of_models(table) is not None
        if is_project or (is_bare and table.is_file()):
            return None if each == here else each
        if (each / ".git").exists():
            return None
    return None


def _find_root_above(folder: Path) -> Path | None:
    """Find the nearest folder above with settings of pytest: pytest takes it as the root if this folder has none."""
    return next(filter(_has_settings_of_pytest, folder.absolute().parents), None)
