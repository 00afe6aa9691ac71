"""``[tool.bertsize]`` in pyproject.toml → :class:`Settings`; every error names key, file and line."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import tomli
from pydantic import ValidationError

from pytest_bertsize.findings import did_you_mean, printable, reason
from pytest_bertsize.quantity import exact
from pytest_bertsize.source_lines import line_in_toml
from pytest_bertsize.table import (
    EXAMPLE,
    TABLE,
    BertsizeTable,
    LimitTable,
    ModelTable,
    limit_from_shorthand,
    low_and_high,
)
from pytest_bertsize.table_mistakes import all_mistakes, sentence

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

LARGEST = 1024 * 1024
"""Bytes of a pyproject.toml; those of large projects have a tenth."""
MOST_PARTS = 100
"""Of one dotted key; the time that a parser takes for it grows with their square."""
_LONG_KEY = re.compile(rf"(?<![\w\"'-])(?:[\w\"'-]++[ \t]*+\.[ \t]*+){{{MOST_PARTS}}}")


class SettingsError(Exception):
    """The project's table, an option or a marker cannot be used: a mistake to correct, not a model that is too big."""


class NothingDeclared(SettingsError):
    """There is no table of ours, or it declares no model."""


@dataclass(frozen=True, slots=True)
class Limit:
    """What one component, ``total`` or ``trainable`` may count."""

    component: str
    minimum: int | None
    maximum: int | None
    written: object
    """The value as the author wrote it, ``"110M"`` or ``110_000_000``."""
    file: str
    """Where it was written."""
    line: int | None = None
    table_key: tuple[str, ...] | None = None

    @property
    def is_exact(self) -> bool:
        return self.minimum == self.maximum

    @property
    def bounds(self) -> tuple[object, object]:
        """The least and the most as they are written, ``None`` for one that is not."""
        if isinstance(self.written, dict):
            only = self.written.get("exact")
            return self.written.get("min", only), self.written.get("max", only)
        return None, self.written

    def __str__(self) -> str:
        """As a table cell: ``110M``, ``=23,837,184``, ``28M-29M`` or ``≥1M``."""
        low, high = map(_as_written, self.bounds)
        if self.is_exact:
            return f"={high}"
        if self.minimum is None:
            return high
        return f"≥{low}" if self.maximum is None else f"{low}-{high}"


def _as_written(bound: object) -> str:
    return exact(bound) if isinstance(bound, int) else str(bound)


@dataclass(frozen=True, slots=True)
class Model:
    """One declared model: ``[tool.bertsize.models.NAME]``."""

    name: str
    config: str
    family: str | None
    architecture: str | None
    overrides: Mapping[str, Any]
    options: Mapping[str, bool]
    limits: tuple[Limit, ...]
    """Empty when the budget is ``"report-only"``."""
    table_key: tuple[str, ...]
    closed_form: bool = True
    """``False``: held to its budget alone, because there is no closed form for it."""
    reason: str = ""
    """Why the budget is what it is."""


@dataclass(frozen=True)
class Settings:
    """The project's table, valid throughout."""

    path: Path
    """The pyproject.toml that was read."""
    text: str
    models: Mapping[str, Model]
    table: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """As it was parsed."""

    @property
    def root(self) -> Path:
        return self.path.parent

    @property
    def file(self) -> str:
        return self.path.name

    def line(self, key: Sequence[str]) -> int | None:
        """The line of a key such as ``("tool", "bertsize", "models", "encoder")``."""
        return line_in_toml(self.text, key)

    @cached_property
    def table_sha256(self) -> str:
        """Of what the table says, however it is laid out."""
        return hashlib.sha256(json.dumps(self.table, sort_keys=True, default=str).encode()).hexdigest()

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(self.models)


def load(path: Path) -> Settings:
    """Read and check the table of a pyproject.toml.

    :raises SettingsError: with a line for every mistake.
    """
    return parse(_read(path), path)


def parse(text: str, path: Path) -> Settings:
    """Check the table that the text of a pyproject.toml has.

    :raises SettingsError: with a line for every mistake.
    """
    table = _find_table(_parse(text, path), path)
    try:
        checked = BertsizeTable.model_validate(table)
    except ValidationError as error:
        raise SettingsError(all_mistakes(error, table, text, path)) from None
    models = {name: _declared(name, model, table["models"][name], path) for name, model in checked.models.items()}
    return Settings(path, text, models, table)


def declares_models(path: Path) -> bool:
    """Whether a pyproject.toml has a table of ours, right or wrong."""
    try:
        tools = _parse(_read(path), path).get("tool")
    except SettingsError:
        return False
    return isinstance(tools, dict) and "bertsize" in tools


def limits_from(written: Mapping[str, object], *, file: str, line: int | None = None) -> tuple[Limit, ...]:
    """Limits of a marker's keywords.

    :raises SettingsError: naming the component whose limit is no limit.
    """
    limits = []
    for component, value in written.items():
        place = f"{file}:{line}: {printable(component)}"
        try:
            checked = LimitTable.model_validate(limit_from_shorthand(value))
        except ValidationError as error:
            found = error.errors()[0]
            location = ("models", "", "budget", component, *map(str, found["loc"]))
            raise SettingsError(f"{place}: {sentence(found, {}, location)}") from None
        except ValueError as error:
            raise SettingsError(f"{place}: {error}") from None
        limits.append(Limit(component, *low_and_high(checked), value, file, line))
    return tuple(limits)


def _declared(name: str, model: ModelTable, written: Mapping[str, Any], path: Path) -> Model:
    key = (*TABLE, "models", name)
    limits = tuple(
        Limit(
            component,
            *low_and_high(limit),
            written["budget"][component],
            path.name,
            table_key=(*key, "budget", component),
        )
        for component, limit in (model.budget or {}).items()
    )
    return Model(
        name,
        model.config,
        model.family,
        model.architecture,
        model.overrides,
        model.options,
        limits,
        key,
        model.closed_form,
        model.reason,
    )


def _read(path: Path) -> str:
    try:
        if path.exists() and not path.is_file():
            raise SettingsError(f"{path}: this is not a regular file")
        with path.open("rb") as stream:
            content = stream.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise SettingsError(f"{path}: the file is larger than {LARGEST:,} bytes")
        return content.decode("utf-8")
    except FileNotFoundError:
        raise SettingsError(f"{path}: there is no such file, so no model is declared; {EXAMPLE}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: cannot be read: {printable(str(error))}") from None


def _parse(text: str, path: Path) -> dict[str, Any]:
    if long := _LONG_KEY.search(text):
        line = text.count("\n", 0, long.start()) + 1
        raise SettingsError(f"{path.name}:{line}: a key of more than {MOST_PARTS} parts")
    try:
        return tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        raise SettingsError(
            f"{path.name}:{error.lineno}: not TOML: {printable(error.msg)} at column {error.colno}"
        ) from None
    except (RecursionError, ValueError) as error:
        raise SettingsError(f"{path.name}: not TOML: {reason(error)}") from None


def _meant_for(document: dict[str, Any]) -> str:
    """A table that was probably meant to be ours: ``tool.bert-size``, ``tools.bertsize`` or ``bertsize``."""
    for name, inner in document.items():
        if isinstance(inner, dict) and did_you_mean("tool", [name]) and (nearest := did_you_mean("bertsize", inner)):
            return f"{name}.{nearest}"
    return did_you_mean("bertsize", document)


def _find_table(document: dict[str, Any], path: Path) -> dict[str, Any]:
    tools = document.get("tool")
    table = tools.get("bertsize") if isinstance(tools, dict) else None
    if table is None:
        meant = _meant_for(document)
        hint = f"did you mean [tool.bertsize] where it says [{printable(meant)}]?" if meant else EXAMPLE
        raise NothingDeclared(f"{path}: no model is declared, so nothing would be checked; {hint}")
    if not isinstance(table, dict) or not table or table.get("models") == {}:
        raise NothingDeclared(f"{path}: [tool.bertsize] declares no model, so nothing would be checked; {EXAMPLE}")
    return table
