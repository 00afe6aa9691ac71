"""What ``[tool.bertsize]`` may say: its keys, their types, and what does not go together."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from pytest_bertsize.findings import is_name, shown
from pytest_bertsize.inventory import TOTAL, levels
from pytest_bertsize.quantity import parse_count

TABLE = ("tool", "bertsize")
REPORT_ONLY = "report-only"
EXAMPLE = (
    """write, for example, [tool.bertsize.models.encoder] with config = "config.json" and budget.total = "110M\""""
)


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


def _model_name(name: str) -> str:
    if not re.fullmatch(r"\w[\w.+@-]{0,99}", name):
        raise ValueError("a model's name is its test id: letters, digits and . _ - + @, at most 100 of them")
    return name


def _class_name(name: str) -> str:
    if not is_name(name):
        raise ValueError(f"{shown(name)} is no name: letters, digits and _ -, at most 100 of them")
    return name


Count = Annotated[int, BeforeValidator(parse_count)]
Text = Annotated[str, Field(min_length=1)]
ClassName = Annotated[Text, AfterValidator(_class_name)]
Name = Annotated[str, AfterValidator(_model_name)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class LimitTable(_Strict):
    """``budget.COMPONENT``: bounds of a parameter count."""

    min: Count | None = None
    max: Count | None = None
    exact: Count | None = None

    @model_validator(mode="after")
    def _consistent(self) -> LimitTable:
        if self.exact is not None and (self.min is not None or self.max is not None):
            raise ValueError("exact stands alone: remove min and max")
        if self.exact is None and self.min is None and self.max is None:
            raise ValueError('an empty limit holds nothing: write a count, or { max = "29M", min = "28M" }')
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min {self.min:,} is more than max {self.max:,}: no model can pass")
        return self


def _can_be_kept(budget: dict[str, LimitTable] | None) -> dict[str, LimitTable] | None:
    """Refuse a part that has to be larger than a whole may be."""
    bounds = {component: low_and_high(limit) for component, limit in (budget or {}).items()}
    for part, (least, _) in bounds.items():
        for whole in (*levels(part), TOTAL):
            _, most = bounds.get(whole, (None, None))
            if whole != part and least is not None and most is not None and least > most:
                at_most = f"{shown(whole)}, which contains it, at most {most:,}"
                raise ValueError(f"{shown(part)} is to be at least {least:,}, and {at_most}: no model can pass")
    return budget


class ModelTable(_Strict):
    """``[tool.bertsize.models.NAME]``."""

    config: Text
    family: ClassName | None = None
    architecture: ClassName | None = None
    overrides: dict[str, Any] = {}
    options: dict[str, bool] = {}
    closed_form: bool = True
    reason: Text = ""
    budget: Annotated[
        dict[str, Annotated[LimitTable, BeforeValidator(limit_from_shorthand)]] | None,
        BeforeValidator(_budget_or_report_only),
        AfterValidator(_can_be_kept),
    ]


class BertsizeTable(_Strict):
    """``[tool.bertsize]``."""

    models: Annotated[dict[Name, ModelTable], Field(min_length=1)]


def low_and_high(limit: LimitTable) -> tuple[int | None, int | None]:
    """The least and the most that a limit lets pass."""
    return (limit.min, limit.max) if limit.exact is None else (limit.exact, limit.exact)
