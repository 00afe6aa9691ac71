"""Read ``[tool.bertsize]`` of a pyproject.toml as :class:`Settings`; every error names file, line and key."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
from codecs import BOM_UTF8
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import tomli
from msgspec import Struct
from msgspec.structs import replace

from pytest_bertsize.files import NotRegular, read_regular
from pytest_bertsize.table.globs import expand_model, find_matches, refuse_same_name
from pytest_bertsize.table.interpreter import LARGEST, Interpreter
from pytest_bertsize.table.limits import OF_THE_TABLE, AsBytes, Limit, Training, read_limit
from pytest_bertsize.table.model import EXAMPLE, TABLE, BertsizeTable, Lock, Model, check_model_name, read_model
from pytest_bertsize.table.reading import Mistake, keys_of, name_no_table, placed, read_value, refuse_unknown
from pytest_bertsize.table.toml import line_in_toml, list_paths
from pytest_bertsize.wording import MOST_NAMED, did_you_mean, listed, nearest_to, printable, reason, shown

MOST_PARTS = 100  # the most parts of one dotted key; the parser's time grows with the square of their number
_OF_PYTEST = (("tool", "pytest"), ("tool", "pytest", "ini_options"))  # the tables with pytest's options
_OF_A_MODEL = frozenset({"budget", "config", "factory"})  # keys that tell the table of a model
MOST_SHOWN = 20  # the most mistakes that are listed; a table with more usually has one mistake many times
NO_LOCK = 'the project has no lock to compare it with: write lock = "bertsize.lock" in [tool.bertsize]'
# A pattern of text that takes the parser, or whoever prints it, a time that grows with the square of its length.
_TOO_LONG = re.compile(
    rf"(?<![\w\"'-])(?:(?:[\w\"'-]++[ \t]*+\.[ \t]*+){{{MOST_PARTS}}}"
    r"|0(?:x[0-9a-fA-F_]{3500}|o[0-7_]{4600}|b[01_]{14000}))"
)


class SettingsError(Exception):
    """The project's table, an option or a marker has a mistake; no model has failed."""


class NothingDeclared(SettingsError):
    """The pyproject.toml has no ``[tool.bertsize]``, or it declares no model."""


class Settings(Struct, frozen=True, dict=True):
    """The project's table after all its checks."""

    path: Path  # the pyproject.toml that was read
    text: str
    models: Mapping[str, Model]
    table: Mapping[str, Any] = {}  # the parsed table
    removed: Mapping[str, str] = {}  # the reason for each model that is no longer in the table, by the model's name
    #: The interpreter that builds the models, from the table or an option; ``None`` for the one that runs pytest.
    interpreter: Interpreter | None = None
    #: The release of transformers that the project runs, for an environment without transformers.
    transformers: str | None = None
    #: The project's config files, by the names of the models on the hub whose configs they replace.
    hub: Mapping[str, str] = {}
    lock: Lock | None = None
    closed_forms: tuple[str, ...] = ()  # files with closed forms, relative to the root
    #: The ``pythonpath`` of pytest's options in the same file; ``src`` by default.
    python_path: tuple[str, ...] = ("src",)
    wrong: Mapping[str, str] = {}  # mistakes by the name of the model's table, if mistakes are kept apart

    @property
    def root(self) -> Path:
        return self.path.parent

    @cached_property
    def import_paths(self) -> tuple[str, ...]:
        """Folders besides the root from which modules are imported: those of pytest's ``pythonpath``, else ``src``."""
        folders = (self.real_root / name for name in self.python_path)
        return tuple(str(folder) for folder in folders if folder.is_dir())

    @cached_property
    def real_root(self) -> Path:
        """The root with its symlinks resolved, once per run."""
        return self.root.resolve()

    @property
    def file(self) -> str:
        return self.path.name

    def line(self, key: Sequence[str]) -> int | None:
        """The line of a key such as ``("tool", "bertsize", "models", "encoder")``."""
        return line_in_toml(self.text, key)

    def at(self, key: Sequence[str]) -> str:
        """Return the file and the line of a key: ``pyproject.toml:7``."""
        return f"{self.file}:{line}" if (line := self.line(key)) else self.file

    def place(self, key: str) -> str:
        """Return the place of a key of the whole table: ``pyproject.toml:7: tool.bertsize.lock``."""
        return f"{self.at((*TABLE, key))}: {dotted((*TABLE, key))}"

    @cached_property
    def limits(self) -> Mapping[tuple[str, ...], Limit]:
        """Every limit by its key in the table; models of one pattern share their limits."""
        return {limit.table_key: limit for model in self.models.values() for limit in model.limits if limit.table_key}

    def declared_by(self, table_key: tuple[str, ...]) -> list[str]:
        """Return the names of the models of one table; there may be several if its config is a pattern."""
        return [name for name, model in self.models.items() if model.table_key == table_key]

    @cached_property
    def table_sha256(self) -> str:
        """Return the digest of the table's content, which does not depend on its layout."""
        return hashlib.sha256(json.dumps(self.table, sort_keys=True, default=str).encode()).hexdigest()


def load(path: Path, *, needs_models: bool = True) -> Settings:
    """Read and check the table of a pyproject.toml, as :func:`parse` does."""
    return parse(_read_text(path), path, needs_models=needs_models)


def parse(
    text: str, path: Path, matches: Callable[[str], list[str]] | None = None, *, needs_models: bool = True
) -> Settings:
    """Check the table in the text of a pyproject.toml, of whose patterns ``matches`` finds the files.

    :raises SettingsError: with one line for each model and each key that has a mistake.
    """
    settings, mistakes = _read(text, path, matches or partial(find_matches, path.parent), needs_models=needs_models)
    if mistakes:
        raise SettingsError(_list_mistakes(mistakes, text, path))
    return settings


def parse_apart(text: str, path: Path, matches: Callable[[str], list[str]]) -> Settings:
    """Check each model's table separately, so that a mistake in one does not affect the others.

    :raises SettingsError: if there are no model tables.
    """
    settings, mistakes = _read(text, path, matches)
    if not isinstance(declared := settings.table.get("models"), dict):
        raise SettingsError(_list_mistakes(mistakes, text, path))
    wrong: dict[str, str] = {}
    for name in declared:
        if own := [each for each in mistakes if each.path[0] != "models" or each.path[1] == name]:
            wrong[name] = " ".join(_list_mistakes(own, text, path).split())
    right = {name: model for name, model in settings.models.items() if model.table_key[-1] not in wrong}
    return replace(settings, models=right, wrong=wrong)


def find_table(folder: Path) -> Path:
    """Return the nearest pyproject.toml, from ``folder`` upwards, with ``[tool.bertsize]``; else the one in ``folder``.

    A table whose name is misspelt counts too, and so does a file that cannot be read.
    """
    for each in (folder, *folder.absolute().parents):
        path = each / "pyproject.toml"
        try:
            document = _parse_toml(_read_text(path), path) if os.path.lexists(path) else {}
        except SettingsError:
            return path
        if value_at(document, *TABLE) is not None or _find_misspelt(document):
            return path
    return folder / "pyproject.toml"


def tables_of_models(path: Path) -> Collection[str] | None:
    """Return the names of all model tables, valid or not, of a pyproject.toml; ``None`` without ``[tool.bertsize]``."""
    try:
        document = _parse_toml(_read_text(path), path)
    except SettingsError:
        return None
    models = value_at(document, *TABLE, "models")
    return models if isinstance(models, dict) else None if value_at(document, *TABLE) is None else ()


def _read(
    text: str, path: Path, matches: Callable[[str], list[str]], *, needs_models: bool = True
) -> tuple[Settings, list[Mistake]]:
    """Return the settings without the keys and models that are wrong, and the first mistake in each of these."""
    document = _parse_toml(text, path)
    table = _require_table(document, text, path, needs_models=needs_models)
    declared = table.get("models", {})
    named = declared if isinstance(declared, dict) else {}
    written: dict[tuple[str, ...], object] = {(key,): value for key, value in table.items() if value is not named}
    written |= {("models", name): value for name, value in named.items()}
    keys = keys_of(BertsizeTable)
    values: dict[str, Any] = {}
    models: dict[str, Model] = {}
    mistakes: list[Mistake] = []
    for key, value in written.items():
        try:
            with placed(*key):
                if key[1:]:
                    read = _read_placed(key[1], value, path, has_lock="lock" in table)
                    for model in expand_model(read, matches):
                        refuse_same_name(model, models, named)
                        models[model.name] = model
                else:
                    refuse_unknown(key[0], keys)
                    values[key[0]] = read_value(keys[key[0]].type, value)
        except Mistake as mistake:
            mistakes.append(mistake)
    if python := values.pop("python", None):
        values["interpreter"] = Interpreter(path.parent.absolute() / python, python)
    return Settings(path, text, models, table, python_path=_read_python_path(document), **values), mistakes


def _read_placed(declared: str, written: object, path: Path, *, has_lock: bool) -> Model:
    """Read the table of one model, or of a pattern; add its name, its key and the places of its limits."""
    check_model_name(re.sub(r"\{\w*\}", "_", declared))
    model, key = read_model(written), (*TABLE, "models", declared)
    if model.lock and not has_lock:
        raise Mistake(NO_LOCK, "lock")
    below = (*key, "budget")
    limits = (each._replace(file=path.name, table_key=(*below, *(each.table_key or ()))) for each in model.limits)
    config = model.config if model.inline is None else f"{path.name}#{'.'.join((*key, 'config'))}"
    budget = model.budget._replace(limits=tuple(limits))
    return model.replace(name=declared, table_key=key, config=config, budget=budget)


def _list_mistakes(mistakes: Sequence[Mistake], text: str, path: Path) -> str:
    keys = [((*TABLE, *each.path), each) for each in mistakes[:MOST_SHOWN]]
    lines = sorted((line_in_toml(text, key) or 1, f"{dotted(key)}: {each}") for key, each in keys)
    found = [f"{path.name}:{line}: {said}" for line, said in lines]
    if len(found) == 1:
        return found[0]
    rest = [f"and {len(mistakes) - MOST_SHOWN} more"] if len(mistakes) > MOST_SHOWN else []
    return "\n".join([f"{len(mistakes)} mistakes in [tool.bertsize]", *found, *rest])


def dotted(path: Sequence[str]) -> str:
    """Return a path in TOML's notation: ``tool.bertsize.models."a b"``."""
    return ".".join(part if re.fullmatch(r"[\w-]{1,100}", part, re.ASCII) else shown(part) for part in path)


def limits_from(
    written: Mapping[str, object], *, file: str, line: int | None = None, by: str = "a marker"
) -> tuple[Limit, ...]:
    """Convert limits that are keyword arguments of ``by``, in words; raise SettingsError for a wrong one."""
    limits = []
    for component, value in written.items():
        place = f"{file}:{line}: {printable(component)}"
        if component in OF_THE_TABLE:
            raise SettingsError(f"{place}: {by} cannot set {component}: write budget.{component} in the table")
        try:
            limits.append(read_limit(component, value)._replace(file=file, line=line, table_key=None))
        except ValueError as error:
            raise SettingsError(f"{place}: {error}") from None
    return tuple(limits)


def tighten(limit: Limit, model: Model, settings: Settings, place: str, by: str = "a marker") -> Limit:
    """Return the limit of a marker or fixture; if the table limits the same component, with the measure of that limit.

    :raises SettingsError: if ``limit`` is looser than the table's, or has another measure; both limits are named.
    """
    declared = next((each for each in model.limits if each.component == limit.component), None)
    if declared is None:
        return limit
    if limit.measure != declared.measure and limit.measure not in {AsBytes(None, "unique"), Training()}:
        message = f"{place} limits {limit.component} as {limit.measure}, and {settings.file} as {declared.measure}"
        raise SettingsError(f"{message}: write the same measure as the table, or none")
    pairs = {"up": (limit.maximum, declared.maximum), "down": (declared.minimum, limit.minimum)}
    for way, (more, less) in pairs.items():
        if more is not None and less is not None and more > less:
            asked, allowed = (more, less) if way == "up" else (less, more)
            looser = f"{place} allows {limit.component} {way} to {asked:,}, where {settings.file} allows {allowed:,}"
            raise SettingsError(f"{looser}: {by} can only tighten a budget; change the table")
    return limit._replace(measure=declared.measure)


def find_declared(name: object, settings: Settings, place: str, example: str) -> str:
    """Return the name of a declared model; for ``None``, that of the only model; raise SettingsError with ``place``."""
    names = [*settings.models]
    known = listed(names, MOST_NAMED)
    if name is None and len(names) == 1:
        return names[0]
    if name is None:
        raise SettingsError(f"{place}: which model? {settings.file} declares {known}; write {example}")
    if not isinstance(name, str) or name not in settings.models:
        message = f"{place}: {settings.file} declares no model {shown(name)}, only {known}"
        raise SettingsError("; ".join(filter(None, (message, did_you_mean(str(name), names, "")))))
    return name


def _read_text(path: Path) -> str:
    try:
        return decoded(read_regular(os.path.realpath(path), LARGEST + 1), str(path))
    except (NotRegular, IsADirectoryError):
        raise SettingsError(f"{path}: this is not a regular file") from None
    except FileNotFoundError:
        raise NothingDeclared(f"{path}: there is no such file, so no model is declared; {EXAMPLE}") from None
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {printable(str(error))}") from None


def decoded(content: bytes, file: str) -> str:
    """Decode a pyproject.toml, or its first ``LARGEST + 1`` bytes; raise SettingsError if it is too large."""
    if len(content) > LARGEST:
        raise SettingsError(f"{file}: the file is larger than {LARGEST:,} bytes")
    if content.startswith(BOM_UTF8):
        raise SettingsError(f"{file}: it begins with a byte order mark, which TOML forbids; save it without one")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SettingsError(f"{file}: cannot be read: {printable(str(error))}") from None


def _parse_toml(text: str, path: Path) -> dict[str, Any]:
    if long := _TOO_LONG.search(text):
        line = text.count("\n", 0, long.start()) + 1
        raise SettingsError(
            f"{path.name}:{line}: a key has more than {MOST_PARTS} parts, or a number thousands of digits"
        )
    try:
        return tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        broken = text.split("\n")[error.lineno - 1]
        said = f"{printable(error.msg)} at column {error.colno} of {shown(broken)}"
        raise SettingsError(f"{path.name}:{error.lineno}: not TOML: {said}") from None
    except (RecursionError, ValueError) as error:
        raise SettingsError(f"{path.name}: not TOML: {reason(error)}") from None


def value_at(value: Any, *path: str) -> Any:
    """Return the value to which keys lead in nested tables, valid or not; ``None`` if there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _read_python_path(document: Mapping[str, Any]) -> tuple[str, ...]:
    written = (value_at(document, *table, "pythonpath") for table in _OF_PYTEST)
    found = next((each for each in written if isinstance(each, str | list)), "src")
    return tuple(shlex.split(found) if isinstance(found, str) else map(str, found))


def _require_table(document: Mapping[str, Any], text: str, path: Path, *, needs_models: bool = True) -> dict[str, Any]:
    """Return ``[tool.bertsize]``; raise :class:`NothingDeclared` if it is missing or without a model."""
    if meant := _find_misspelt(document):
        place = f"{path}:{line_in_toml(text, meant)}: [{printable('.'.join(meant))}]"
        raise SettingsError(f"{place} is not read: did you mean [tool.bertsize]?")
    table = value_at(document, *TABLE)
    if table is None and not needs_models:
        return {}
    if table is not None and not isinstance(table, dict):
        raise SettingsError(f"{path}:{line_in_toml(text, TABLE)}: {dotted(TABLE)}: {name_no_table(table)}")
    known = keys_of(BertsizeTable).keys()  # an unknown key in the table may be the name of a model
    if table is not None and (not needs_models or table.get("models", {}) != {} or table.keys() - known):
        return table
    nothing = "no model is declared" if table is None else "[tool.bertsize] declares no model"
    raise NothingDeclared(f"{path}: {nothing}, so nothing would be checked; {EXAMPLE}")


def _find_misspelt(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the path of a table with a model whose name is nearly ``bertsize``, such as ``tool.bert-size``."""
    of_models = (path for path in list_paths(document) if path[-1] in _OF_A_MODEL and path[:2] != TABLE)
    return next((path[:depth] for path in of_models for depth in range(1, len(path)) if _is_near(path[depth - 1])), ())


def _is_near(name: str) -> bool:
    bare = re.sub(r"[-_.]|pytest", "", name.lower())
    return bare.startswith("bertsize") or bool(nearest_to(bare, ("bertsize", "bertbudget"), cutoff=0.8))
