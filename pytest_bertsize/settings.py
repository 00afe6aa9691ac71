"""``[tool.bertsize]`` in pyproject.toml → :class:`Settings`; every error names key, file and line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

import tomli
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from pytest_bertsize.findings import did_you_mean, printable, shown
from pytest_bertsize.quantity import exact, parse_count
from pytest_bertsize.source_lines import line_in_toml

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

TABLE = ("tool", "bertsize")
REPORT_ONLY = "report-only"
EXAMPLE = (
    """write, for example, [tool.bertsize.models.encoder] with config = "config.json" and budget.total = "110M\""""
)


class SettingsError(Exception):
    """The project's table, an option or a marker cannot be used: a mistake to correct, not a model that is too big."""


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

    def __str__(self) -> str:
        """As a table cell: ``110M``, ``=23,837,184``, ``28M-29M`` or ``≥1M``."""
        if isinstance(self.written, str):
            return self.written
        low, high = (_as_written(bound) for bound in _bounds(self.written))
        if self.is_exact:
            return f"={high}"
        if self.minimum is None:
            return high
        return f"≥{low}" if self.maximum is None else f"{low}-{high}"


def _bounds(written: object) -> tuple[object, object]:
    if isinstance(written, dict):
        only = written.get("exact")
        return written.get("min", only), written.get("max", only)
    return None, written


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


@dataclass(frozen=True)
class Settings:
    """The project's table, valid throughout."""

    path: Path
    """The pyproject.toml that was read."""
    text: str
    models: Mapping[str, Model]

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
    def names(self) -> tuple[str, ...]:
        return tuple(self.models)


# what the table may say


def _limit_from_shorthand(value: object) -> object:
    """``"110M"`` is the most that passes; ``None``, which only a marker can say, is no limit at all."""
    limit = value if isinstance(value, dict) else {"max": value}
    return {bound: parse_count(count) if count is None else count for bound, count in limit.items()}


def _budget_or_report_only(value: object) -> object:
    if value == REPORT_ONLY:
        return None
    if isinstance(value, dict):
        if not value:
            raise ValueError(f'an empty budget holds nothing: write budget.total = "110M", or budget = "{REPORT_ONLY}"')
        return value
    total = shown(value) if _is_count(value) else '"110M"'
    raise ValueError(f'{shown(value)} is not a budget: write budget.total = {total}, or budget = "{REPORT_ONLY}"')


def _is_count(value: object) -> bool:
    try:
        parse_count(value)
    except ValueError:
        return False
    return True


def _model_name(name: str) -> str:
    if not re.fullmatch(r"\w[\w.+@-]{0,99}", name):
        raise ValueError("a model's name is its test id: letters, digits and . _ - + @, at most 100 of them")
    return name


Count = Annotated[int, BeforeValidator(parse_count)]
Text = Annotated[str, Field(min_length=1)]
Name = Annotated[str, AfterValidator(_model_name)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Limit(_Strict):
    min: Count | None = None
    max: Count | None = None
    exact: Count | None = None

    @model_validator(mode="after")
    def _consistent(self) -> _Limit:
        if self.exact is not None and (self.min is not None or self.max is not None):
            raise ValueError("exact stands alone: remove min and max")
        if self.exact is None and self.min is None and self.max is None:
            raise ValueError('an empty limit holds nothing: write a count, or { max = "29M", min = "28M" }')
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min {self.min:,} is more than max {self.max:,}: no model can pass")
        return self


class _Model(_Strict):
    config: Text
    family: Text | None = None
    architecture: Text | None = None
    overrides: dict[str, Any] = {}
    options: dict[str, bool] = {}
    closed_form: bool = True
    budget: Annotated[
        dict[str, Annotated[_Limit, BeforeValidator(_limit_from_shorthand)]] | None,
        BeforeValidator(_budget_or_report_only),
    ]


class _Table(_Strict):
    models: Annotated[dict[Name, _Model], Field(min_length=1)]


def load(path: Path) -> Settings:
    """Read and check the table of a pyproject.toml.

    :raises SettingsError: with a line for every mistake.
    """
    text = _read(path)
    table = _find_table(_parse(text, path), path)
    try:
        checked = _Table.model_validate(table)
    except ValidationError as error:
        raise SettingsError(_all_mistakes(error, table, text, path)) from None
    models = {name: _declared(name, model, table["models"][name], path) for name, model in checked.models.items()}
    return Settings(path, text, models)


def limits_from(written: Mapping[str, object], *, file: str, line: int | None = None) -> tuple[Limit, ...]:
    """Limits of a marker's keywords.

    :raises SettingsError: naming the component whose limit is no limit.
    """
    limits = []
    for component, value in written.items():
        try:
            checked = _Limit.model_validate(_limit_from_shorthand(value))
        except ValidationError as error:
            found = error.errors()[0]
            location = ("models", "", "budget", component, *map(str, found["loc"]))
            raise SettingsError(f"{file}:{line}: {component}: {_sentence(found, {}, location)}") from None
        except ValueError as error:
            raise SettingsError(f"{file}:{line}: {component}: {error}") from None
        limits.append(Limit(component, *_low_and_high(checked), value, file, line))
    return tuple(limits)


def _low_and_high(limit: _Limit) -> tuple[int | None, int | None]:
    return (limit.min, limit.max) if limit.exact is None else (limit.exact, limit.exact)


def _declared(name: str, model: _Model, written: Mapping[str, Any], path: Path) -> Model:
    key = (*TABLE, "models", name)
    limits = tuple(
        Limit(
            component,
            *_low_and_high(limit),
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
    )


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        raise SettingsError(f"{path}: there is no such file, so no model is declared; {EXAMPLE}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: cannot be read: {printable(str(error))}") from None


def _parse(text: str, path: Path) -> dict[str, Any]:
    try:
        return tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        raise SettingsError(f"{path.name}:{error.lineno}: not TOML: {error.msg} at column {error.colno}") from None
    except (RecursionError, ValueError) as error:
        raise SettingsError(f"{path.name}: not TOML: {printable(str(error))}") from None


def _find_table(document: dict[str, Any], path: Path) -> dict[str, Any]:
    tools = document.get("tool", {})
    table = tools.get("bertsize") if isinstance(tools, dict) else None
    if table is None:
        nearest = did_you_mean("bertsize", tools if isinstance(tools, dict) else ())
        hint = f"did you mean [tool.bertsize] where it says [tool.{printable(nearest)}]?" if nearest else EXAMPLE
        raise SettingsError(f"{path}: no model is declared, so nothing would be checked; {hint}")
    if not isinstance(table, dict) or not table or table.get("models") == {}:
        raise SettingsError(f"{path}: [tool.bertsize] declares no model, so nothing would be checked; {EXAMPLE}")
    return table


# what its mistakes are called


def _all_mistakes(error: ValidationError, table: Mapping[str, Any], text: str, path: Path) -> str:
    lines = []
    for each in error.errors(include_url=False):
        location = _as_in_the_table(tuple(str(part) for part in each["loc"] if part != "[key]"), table)
        line = line_in_toml(text, (*TABLE, *location)) or 1
        lines.append((line, f"{path.name}:{line}: {_dotted((*TABLE, *location))}: {_sentence(each, table, location)}"))
    found = [sentence for _, sentence in sorted(lines)]
    return found[0] if len(found) == 1 else "\n".join([f"{len(found)} mistakes in [tool.bertsize]", *found])


def _as_in_the_table(location: tuple[str, ...], table: Mapping[str, Any]) -> tuple[str, ...]:
    """Without the ``max`` that stands for a limit in short."""
    node: Any = table
    for depth, part in enumerate(location):
        if not isinstance(node, dict):
            return location[:depth]
        node = node.get(part)
    return location


def _dotted(path: Sequence[str]) -> str:
    return ".".join(part if re.fullmatch(r"[\w-]+", part, re.ASCII) else shown(part) for part in path)


def _sentence(error: Any, table: Mapping[str, Any], location: Sequence[str]) -> str:
    kind, value = error["type"], error["input"]
    if kind == "extra_forbidden":
        return _unknown_key(location)
    if kind == "missing":
        return _missing_key(location[-1], table)
    if kind == "value_error":
        return str(error["ctx"]["error"])
    expected = {
        "string_type": "a string",
        "bool_type": "true or false",
        "dict_type": "a table",
        "model_type": "a table",
    }
    if kind == "string_too_short":
        return "an empty string says nothing"
    return f"{shown(value)} is not {expected.get(kind, 'what belongs here')}"


def _unknown_key(location: Sequence[str]) -> str:
    if len(location) == len(("models", "NAME", "budget", "COMPONENT", "KEY")):
        inner = f"{location[3]}.{location[4]}"
        if nearest := did_you_mean(location[4], _Limit.model_fields):
            return f"unknown key; did you mean {nearest!r}?"
        return f'unknown key; a limit has min, max or exact. For the component {inner}, write budget."{inner}" = …'
    known = _Table.model_fields if len(location) == 1 else _Model.model_fields
    nearest = did_you_mean(location[-1], known)
    return f"unknown key; did you mean {nearest!r}?" if nearest else f"unknown key; there are {', '.join(known)}"


def _missing_key(key: str, table: Mapping[str, Any]) -> str:
    fixes = {
        "config": 'the model has no config: write config = "path/to/config.json"',
        "budget": f'the model has no budget: write budget.total = "110M", or budget = "{REPORT_ONLY}"',
        "models": f"no model is declared{_instead_of_models(table)}; {EXAMPLE}",
    }
    return fixes[key]


def _instead_of_models(table: Mapping[str, Any]) -> str:
    nearest = did_you_mean("models", table)
    return (
        f"; did you mean [tool.bertsize.models] where it says [tool.bertsize.{printable(nearest)}]?" if nearest else ""
    )
