"""What ``[tool.bertsize]`` may say: its keys, their types, and what does not go together."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationInfo,
    model_validator,
)

from pytest_bertsize.byte_sizes import bits_of, parse_limit
from pytest_bertsize.extra_table import ExtraTable  # noqa: TC001  (pydantic looks it up)
from pytest_bertsize.findings import is_name, shown
from pytest_bertsize.inventory import TOTAL, levels
from pytest_bertsize.quantity import parse_count, parse_flops

TABLE = ("tool", "bertsize")
REPORT_ONLY = "report-only"
EXAMPLE = (
    """write, for example, [tool.bertsize.models.encoder] with config = "config.json" and budget.total = "110M\""""
)


class MistakeAt(ValueError):
    """Keys of one table that do not go together; told at one of them."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


def limit_from_shorthand(value: object) -> object:
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


def model_name(name: str) -> str:
    if not re.fullmatch(r"\w[\w.+@-]{0,99}", name):
        raise ValueError("a model's name is its test id: letters, digits and . _ - + @, at most 100 of them")
    return name


def _declared_name(name: str) -> str:
    """A model's name, or that of several: with a placeholder for what tells their files apart."""
    model_name(re.sub(r"\{\w*\}", "_", name))
    return name


def _text_or_table(value: object) -> object:
    if value == "":
        raise ValueError("an empty string says nothing")
    if value == {}:
        raise ValueError("an empty table says nothing")
    if not isinstance(value, str | dict):
        raise ValueError(f"{shown(value)} is not a string, nor a table")  # noqa: TRY004  (what pydantic turns into its own)
    return value


def _config(value: object, said: ValidationInfo) -> object:
    """Of what there is no config for, a function has to say: it is looked at before."""
    if value is None and "factory" in said.data and said.data["factory"] is None:
        raise ValueError('the model has no config: write config = "path/to/config.json"')
    return value if value is None else _text_or_table(value)


def _factory(name: str) -> str:
    is_file = name.partition(":")[0].endswith(".py")
    if is_file or not re.fullmatch(r"[A-Za-z_]\w*(\.\w+)*:[A-Za-z_]\w*(\.\w+)*", name, re.ASCII):
        module = re.fullmatch(r"([\w/]+)\.py:(\w+)", name, re.ASCII)
        example = f"{module[1].replace('/', '.')}:{module[2]}" if module else "module:function"
        raise ValueError(f'{shown(name)} names no function: write factory = "{example}", importable from here')
    return name


def _module_path(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z_]\w*(\.\w+)*", name, re.ASCII):
        raise ValueError(f'{shown(name)} is no path of a module: write backbone = "bert", the attribute that holds it')
    return name


def _class_name(name: str) -> str:
    if not is_name(name):
        raise ValueError(f"{shown(name)} is no name: letters, digits and _ -, at most 100 of them")
    return name


def _dtype(name: str) -> str:
    bits_of(name)
    return name


Count = Annotated[int, BeforeValidator(parse_count)]
Bytes = Annotated[int, BeforeValidator(parse_limit)]
Flops = Annotated[int, BeforeValidator(parse_flops)]
Text = Annotated[str, Field(min_length=1)]
ClassName = Annotated[Text, AfterValidator(_class_name)]
Name = Annotated[str, AfterValidator(_declared_name)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, defer_build=True)  # the whole table is built at once


class _Bounds(_Strict):
    """Bounds of a number, whatever it counts."""

    _example: ClassVar[str]

    min: int | None = None
    max: int | None = None
    exact: int | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.exact is not None and (self.min is not None or self.max is not None):
            raise ValueError("exact stands alone: remove min and max")
        if self.exact is None and self.min is None and self.max is None:
            raise ValueError(f"an empty limit holds nothing: write {self._example}")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min {self.min:,} is more than max {self.max:,}: no model can pass")
        return self


class LimitTable(_Bounds):
    """``budget.COMPONENT``: bounds of a parameter count."""

    _example = 'a count, or { max = "29M", min = "28M" }'

    min: Count | None = None
    max: Count | None = None
    exact: Count | None = None


class BytesTable(_Bounds):
    """``budget.bytes``: bounds of what the parameters take in a file or in memory."""

    _example = 'a size, or { max = "440MB", dtype = "float16" }'

    min: Bytes | None = None
    max: Bytes | None = None
    exact: Bytes | None = None
    dtype: Annotated[str, AfterValidator(_dtype)] | None = None
    count: Literal["unique", "stored", "unrolled"] = "unique"


class FlopsTable(_Bounds):
    """``budget.flops``: bounds of one forward pass."""

    _example = '{ max = "22G", seq_len = 128 }'

    min: Flops | None = None
    max: Flops | None = None
    exact: Flops | None = None
    seq_len: Annotated[int, Field(ge=1, le=1_000_000)]


class BudgetTable(BaseModel):
    """``budget``: limits by component, and of what the parameters take and do."""

    model_config = ConfigDict(extra="allow", strict=True, defer_build=True)

    __pydantic_extra__: dict[str, Annotated[LimitTable, BeforeValidator(limit_from_shorthand)]]

    bytes: Annotated[BytesTable, BeforeValidator(limit_from_shorthand)] | None = None
    flops: Annotated[FlopsTable, BeforeValidator(limit_from_shorthand)] | None = None

    @property
    def counts(self) -> dict[str, LimitTable]:
        """The limits of parameter counts, by component."""
        return self.__pydantic_extra__

    @model_validator(mode="after")
    def _can_be_kept(self) -> Self:
        """Refuse a part that has to be larger than a whole may be."""
        bounds = {component: low_and_high(limit) for component, limit in self.counts.items()}
        for part, (least, _) in bounds.items():
            for whole in (*levels(part), TOTAL):
                _, most = bounds.get(whole, (None, None))
                if whole != part and least is not None and most is not None and least > most:
                    at_most = f"{shown(whole)}, which contains it, at most {most:,}"
                    raise ValueError(f"{shown(part)} is to be at least {least:,}, and {at_most}: no model can pass")
        return self


class ModelTable(_Strict):
    """``[tool.bertsize.models.NAME]``."""

    factory: Annotated[Text, AfterValidator(_factory)] | None = None
    config: Annotated[str | dict[str, Any] | None, PlainValidator(_config), Field(validate_default=True)] = None
    keys: dict[str, ClassName] = {}
    family: ClassName | None = None
    architecture: ClassName | None = None
    overrides: dict[str, Any] = {}
    options: dict[str, bool] = {}
    backbone: Annotated[str, AfterValidator(_module_path)] = ""
    extra: list[ExtraTable] = []
    frozen: list[Text] = []
    adapter: Annotated[str | dict[str, Any] | None, PlainValidator(_text_or_table)] = None
    checkpoint: Text | None = None
    tokenizer: Text | None = None
    closed_form: bool = True
    reason: Text = ""
    budget: Annotated[BudgetTable | None, BeforeValidator(_budget_or_report_only)]

    @model_validator(mode="after")
    def _go_together(self) -> Self:
        for key in ("backbone", "extra", "frozen"):
            if self.factory is None and getattr(self, key):
                raise MistakeAt(key, 'this is about a class of the project\'s own: write factory = "module:function"')
        for key in ("backbone", "extra", "frozen", "tokenizer"):
            if not self.closed_form and getattr(self, key):
                raise MistakeAt(key, "closed_form = false compares nothing with it: remove it, or closed_form")
        if not self.closed_form and self.factory is not None and self.options:
            raise MistakeAt(
                "options", "a factory is not given them, and closed_form = false compares nothing with them"
            )
        for key in ("keys", "family", "architecture", "overrides", "backbone"):
            if self.config is None and getattr(self, key):
                raise MistakeAt(key, "this says something of a config, and there is none: write config, or remove it")
        return self


class BertsizeTable(_Strict):
    """``[tool.bertsize]``."""

    models: Annotated[dict[Name, ModelTable], Field(min_length=1)]


def low_and_high(limit: _Bounds) -> tuple[int | None, int | None]:
    """The least and the most that a limit lets pass."""
    return (limit.min, limit.max) if limit.exact is None else (limit.exact, limit.exact)
