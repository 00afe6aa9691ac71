"""``[tool.bertsize]`` in pyproject.toml → :class:`Settings`; every error names key, file and line."""

from __future__ import annotations

import hashlib
import json
import os
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import tomli
from pydantic import ValidationError

from pytest_bertsize.files import NotRegular, regular
from pytest_bertsize.table.budget import (
    REPORT_ONLY,
    BytesTable,
    LimitTable,
    TrainingTable,
    limit_from_shorthand,
    limits_of,
    low_and_high,
    measure_of,
)
from pytest_bertsize.table.globs import BadGlob, Expanded, expanded, matching
from pytest_bertsize.table.interpreter import LARGEST, Interpreter, in_folder
from pytest_bertsize.table.mistakes import all_mistakes, dotted, key_of_long_number, sentence
from pytest_bertsize.table.model import (
    ALREADY_OVER,
    BYTES,
    FLOPS,
    GROWTH,
    TRAINING,
    Build,
    Extra,
    Limit,
    LockFile,
    Model,
)
from pytest_bertsize.table.schema import EXAMPLE, TABLE, BertsizeTable, ModelTable
from pytest_bertsize.table.toml import line_in_toml
from pytest_bertsize.wording import nearest_to, printable, reason

if TYPE_CHECKING:
    from pydantic import BaseModel

    from pytest_bertsize.table.extra import ExtraTable

MOST_PARTS = 100
"""Of one dotted key; the time that a parser takes for it grows with their square."""
PLUGINS = "PYDANTIC_DISABLE_PLUGINS"
"""The variable of pydantic's that says which of its plugins it leaves out."""
Table = TypeVar("Table", bound="BaseModel")
_LONG_KEY = re.compile(rf"(?<![\w\"'-])(?:[\w\"'-]++[ \t]*+\.[ \t]*+){{{MOST_PARTS}}}")


class SettingsError(Exception):
    """The project's table, an option or a marker cannot be used: a mistake to correct, not a model that is too big."""


class NothingDeclared(SettingsError):
    """There is no table of ours, or it declares no model."""

    def __init__(self, message: str, *, misspelt: bool = False) -> None:
        super().__init__(message)
        self.misspelt = misspelt
        """Whether there is a table that was probably meant to be ours."""


@dataclass(frozen=True)
class Settings:
    """The project's table, valid throughout."""

    path: Path
    """The pyproject.toml that was read."""
    text: str
    models: Mapping[str, Model]
    table: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """As it was parsed."""
    removed: Mapping[str, str] = field(default_factory=dict)
    """Why models have left the table, by their names."""
    interpreter: Interpreter | None = None
    """What builds in place of the gate's own interpreter: of the table, or of an option."""
    transformers: str | None = None
    """The release that the project runs, where none is installed beside the gate."""
    hub: Mapping[str, str] = field(default_factory=dict)
    """Files with configs, by names of the hub."""
    lock: LockFile | None = None
    closed_forms: tuple[str, ...] = ()
    """Files with closed forms, relative to the root."""

    @property
    def root(self) -> Path:
        return self.path.parent

    @cached_property
    def real_root(self) -> Path:
        """The root without symlinks, followed once in a run."""
        return self.root.resolve()

    @property
    def file(self) -> str:
        return self.path.name

    def line(self, key: Sequence[str]) -> int | None:
        """The line of a key such as ``("tool", "bertsize", "models", "encoder")``."""
        return line_in_toml(self.text, key)

    def place(self, key: str) -> str:
        """Where a key of the whole table stands, for a mistake in it: ``pyproject.toml:7: tool.bertsize.lock``."""
        line = self.line((*TABLE, key))
        return f"{self.file}:{line}: {dotted((*TABLE, key))}" if line else self.file

    @cached_property
    def limits(self) -> Mapping[tuple[str, ...], Limit]:
        """Every limit by its key in the table; one that several models have is the same for all of them."""
        return {limit.table_key: limit for model in self.models.values() for limit in model.limits if limit.table_key}

    def declared_by(self, table_key: tuple[str, ...]) -> list[str]:
        """The models of one table: several, where its config is a pattern."""
        return [name for name, model in self.models.items() if model.table_key == table_key]

    @cached_property
    def table_sha256(self) -> str:
        """Of what the table says, however it is laid out."""
        return hashlib.sha256(json.dumps(self.table, sort_keys=True, default=str).encode()).hexdigest()

    @cached_property
    def patterns(self) -> Mapping[str, str]:
        """The name of its table, ``"bert-{stem}"``, by that of each model of a table which may declare several."""
        keys = {name: model.table_key[-1:] for name, model in self.models.items()}
        return {name: key[0] for name, key in keys.items() if key not in {(), (name,)}}

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(self.models)


def load(path: Path) -> Settings:
    """Read and check the table of a pyproject.toml.

    :raises SettingsError: with a line for every mistake.
    """
    return parse(_read(path), path)


def parse(text: str, path: Path, matches: Callable[[str], list[str]] | None = None) -> Settings:
    """Check the table that the text of a pyproject.toml has.

    :param matches: the files of the project that a pattern means; ``None`` to look at those on disk.
    :raises SettingsError: with a line for every mistake.
    """
    return _settings(_find_table(_parse(text, path), path), text, path, matches)


def load_without_models(path: Path) -> Settings:
    """What a table says for all models where it declares none yet.

    :raises SettingsError: with a line for every mistake.
    """
    text = _read(path)
    table = _ours(_parse(text, path))
    said = {key: value for key, value in table.items() if key != "models"} if isinstance(table, dict) else {}
    stand_in = {"models": {"none": {"config": "config.json", "budget": "report-only"}}}
    return replace(_settings({**said, **stand_in}, text, path, None), models={}, table=said)


class Apart(NamedTuple):
    """A project's table, each model's by itself."""

    table: Mapping[str, Any]
    """As it was parsed."""
    models: Mapping[str, Model]
    wrong: Mapping[str, str]
    """By the names of tables that have mistakes, which these are."""


def parse_apart(text: str, path: Path, matches: Callable[[str], list[str]], *, limits: bool = True) -> Apart:
    """Check each model's table by itself: the mistake of one says nothing of the others.

    :param limits: whether budgets are read; nobody's count depends on them.
    :raises SettingsError: where there are no tables of models to tell apart.
    """
    table = _find_table(_parse(text, path), path)
    declared = table.get("models")
    if not isinstance(declared, dict):
        _settings(table, text, path, matches)
    models: dict[str, Model] = {}
    wrong: dict[str, str] = {}
    for name, said in (declared or {}).items():
        each = said if limits or not isinstance(said, dict) else {**said, "budget": REPORT_ONLY}
        try:
            models |= _settings({**table, "models": {name: each}}, text, path, matches).models
        except SettingsError as error:
            wrong[name] = " ".join(str(error).split())
    return Apart(table, models, wrong)


def _settings(table: dict[str, Any], text: str, path: Path, matches: Callable[[str], list[str]] | None) -> Settings:
    if long := key_of_long_number(table):
        raise _mistake((*TABLE, *long), "a number of thousands of digits; write the number that is meant", text, path)
    try:
        checked = _valid(BertsizeTable, table)
        found = expanded(table["models"], matches or partial(matching, path.parent))
    except ValidationError as error:
        raise SettingsError(all_mistakes(error, table, text, path)) from None
    except BadGlob as error:
        key = (*TABLE, "models", error.declared, *([error.key] if error.key else []))
        raise _mistake(key, str(error), text, path) from None
    models = {each.name: _declared(each, _checked(each, checked), path) for each in found}
    interpreter = in_folder(path.parent, checked.python) if checked.python else None
    lock = LockFile(checked.lock.file, checked.lock.strict) if checked.lock else None
    forms = tuple(checked.closed_forms)
    return Settings(
        path, text, models, table, checked.removed, interpreter, checked.transformers, checked.hub, lock, forms
    )


def _mistake(key: Sequence[str], message: str, text: str, path: Path) -> SettingsError:
    return SettingsError(f"{path.name}:{line_in_toml(text, key) or 1}: {dotted(key)}: {message}")


def _valid(kind: type[Table], said: object) -> Table:
    """What is said, checked by pydantic alone: to look for plugins of it takes as long as all else that it does here.

    :raises ValidationError: with every mistake.
    """
    before = os.environ.get(PLUGINS)
    os.environ[PLUGINS] = "__all__"
    try:
        return kind.model_validate(said)
    finally:
        if before is None:
            del os.environ[PLUGINS]
        else:
            os.environ[PLUGINS] = before


def _checked(each: Expanded, checked: BertsizeTable) -> ModelTable:
    """The table of one model: that of its own, or one like it for a file of the pattern."""
    return checked.models[each.name] if each.name == each.declared else _valid(ModelTable, each.table)


def tables_of_models(path: Path) -> Collection[str] | None:
    """Names of the tables for models, right or wrong, of a pyproject.toml; ``None`` where it has no table of ours."""
    try:
        table = _ours(_parse(_read(path), path))
    except SettingsError:
        return None
    models = table.get("models") if isinstance(table, dict) else None
    return models if isinstance(models, dict) else None if table is None else ()


_OF_THE_TABLE = {FLOPS: "limit FLOPs", GROWTH: "limit growth", ALREADY_OVER: "let anything pass"}
_OF_A_MARKER: Mapping[str, type[LimitTable | BytesTable | TrainingTable]] = {BYTES: BytesTable, TRAINING: TrainingTable}


def limits_from(written: Mapping[str, object], *, file: str, line: int | None = None) -> tuple[Limit, ...]:
    """Limits of a marker's keywords.

    :raises SettingsError: naming the component whose limit is no limit.
    """
    limits = []
    for component, value in written.items():
        place = f"{file}:{line}: {printable(component)}"
        if of_the_table := _OF_THE_TABLE.get(component):
            raise SettingsError(f"{place}: a marker cannot {of_the_table}: write budget.{component} in the table")
        table = _OF_A_MARKER.get(component, LimitTable)
        try:
            checked = _valid(table, limit_from_shorthand(value))
        except ValidationError as error:
            found = error.errors()[0]
            location = ("models", "", "budget", component, *map(str, found["loc"]))
            raise SettingsError(f"{place}: {sentence(found, {}, location)}") from None
        except ValueError as error:
            raise SettingsError(f"{place}: {error}") from None
        limits.append(Limit(component, *low_and_high(checked), value, file, line, measure=measure_of(checked)))
    return tuple(limits)


def _declared(each: Expanded, model: ModelTable, path: Path) -> Model:
    key = (*TABLE, "models", each.declared)
    inline = model.config if isinstance(model.config, dict) else None
    place = f"{path.name}#{'.'.join((*key, 'config'))}"
    return Model(
        name=each.name,
        config=model.config if isinstance(model.config, str) else place if inline is not None else "",
        family=model.family,
        architecture=None if isinstance(model.architecture, dict) else model.architecture,
        overrides=model.overrides,
        options=model.options,
        limits=tuple(limits_of(model.budget, each.table["budget"], path.name, key)) if model.budget else (),
        table_key=key,
        closed_form=model.closed_form,
        reason=model.reason,
        passes_already_over=model.budget is not None and model.budget.already_over == "pass",
        inline=inline,
        keys=model.keys,
        ignored=tuple(model.ignored),
        factory=model.factory,
        backbone="" if isinstance(model.backbone, dict) else model.backbone,
        backbones=model.backbone if isinstance(model.backbone, dict) else {},
        classes=model.architecture if isinstance(model.architecture, dict) else {},
        tied=model.tied,
        extra=tuple(_extra(each) for each in model.extra),
        without=tuple(model.without),
        frozen=tuple(model.frozen),
        adapter=model.adapter,
        checkpoint=model.checkpoint,
        tokenizer=model.tokenizer,
        build=Build(**model.build.model_dump()) if model.build else Build(),
        components={name: (said,) if isinstance(said, str) else (*said,) for name, said in model.components.items()},
    )


def _extra(table: ExtraTable) -> Extra:
    component = table.component or f"head.{re.split(r'[.[]', table.name)[0]}"
    return Extra(table.name, table.block, tuple(table.sizes), component, table.arguments, table.tied, table.count)


def _read(path: Path) -> str:
    try:
        with regular(os.path.realpath(path)) as stream:
            return decoded(stream.read(LARGEST + 1), str(path))
    except (NotRegular, IsADirectoryError):
        raise SettingsError(f"{path}: this is not a regular file") from None
    except FileNotFoundError:
        if path.is_symlink():
            raise SettingsError(f"{path}: it is a symlink that leads nowhere") from None
        raise SettingsError(f"{path}: there is no such file, so no model is declared; {EXAMPLE}") from None
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {printable(str(error))}") from None


def decoded(content: bytes, file: str) -> str:
    """The text of a pyproject.toml.

    :param content: its bytes, or more than :data:`LARGEST` of them.
    :raises SettingsError: for what is none.
    """
    if len(content) > LARGEST:
        raise SettingsError(f"{file}: the file is larger than {LARGEST:,} bytes")
    if content.startswith(BOM_UTF8):
        raise SettingsError(f"{file}: it begins with a byte order mark, which no TOML has; save it without one")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SettingsError(f"{file}: cannot be read: {printable(str(error))}") from None


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
    """A table that was probably meant to be ours: ``tool.bert-size``, ``tool.bert-budget``, ``tools.bertsize``."""
    for name, inner in document.items():
        of_tools = inner if isinstance(inner, dict) and nearest_to("tool", [name]) else ()
        if nearest := nearest_to("bertsize", of_tools) or nearest_to("bert-budget", of_tools, cutoff=0.8):
            return f"{name}.{nearest}"
    return nearest_to("bertsize", document)


def _ours(document: dict[str, Any]) -> object:
    """What stands at ``[tool.bertsize]``, right or wrong; ``None`` where nothing does."""
    tools = document.get("tool")
    return tools.get("bertsize") if isinstance(tools, dict) else None


def _find_table(document: dict[str, Any], path: Path) -> dict[str, Any]:
    table = _ours(document)
    if table is None:
        meant = _meant_for(document)
        hint = f"did you mean [tool.bertsize] where it says [{printable(meant)}]?" if meant else EXAMPLE
        raise NothingDeclared(
            f"{path}: no model is declared, so nothing would be checked; {hint}", misspelt=bool(meant)
        )
    no_other = BertsizeTable.model_fields.keys()  # a name that the table cannot have may be meant for its models
    if not isinstance(table, dict) or (table.get("models", {}) == {} and table.keys() <= no_other):
        raise NothingDeclared(f"{path}: [tool.bertsize] declares no model, so nothing would be checked; {EXAMPLE}")
    return table
