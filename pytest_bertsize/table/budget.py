"""``budget``: limits by component, and of what the parameters take and do, as the table may say them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    model_validator,
)

from pytest_bertsize.inventory import TOTAL, TRAINABLE, levels
from pytest_bertsize.quantity import parse_bytes, parse_count, parse_flops
from pytest_bertsize.table.byte_sizes import TRAINED, bits_of, parse_limit
from pytest_bertsize.table.growth import growth_from_shorthand, parse_growth
from pytest_bertsize.table.model import (
    ALREADY_OVER,
    BYTES,
    FLOPS,
    GROWTH,
    TRAINING,
    AsBytes,
    Flops,
    Growth,
    Limit,
    Measure,
    Training,
)
from pytest_bertsize.wording import shown

REPORT_ONLY = "report-only"

COMPONENTS: Mapping[str, str] = MappingProxyType(
    {
        TOTAL: 'The most parameters that pass in all, a tied tensor counted once. Example: budget.total = "110M".',
        TRAINABLE: 'The most parameters that pass of those that are trained. Example: budget.trainable = "300K".',
        "embeddings": 'The most parameters that pass in the embeddings. Example: budget.embeddings = "24M".',
        "encoder": 'The most parameters that pass in all layers of the encoder. Example: budget.encoder = "86M".',
        "decoder": "The most parameters that pass in the layers of GPT, or in the second stack of BART and T5. "
        'Example: budget.decoder = "86M".',
        "pooler": "The most parameters that pass in the pooler; 0 keeps it out. Example: budget.pooler = 0.",
        "head": 'The most parameters that pass in the head. Example: budget.head = "1M".',
        "adapters": 'The most parameters that pass in the adapters. Example: budget.adapters = "300K".',
    }
)
"""What the components that all families share are, for whoever writes a budget."""


def limit_from_shorthand(value: object) -> object:
    """``"110M"`` is the most that passes; ``None``, which only a marker can say, is no limit at all."""
    limit = value if isinstance(value, dict) else {"max": value}
    return {bound: parse_count(count) if count is None else count for bound, count in limit.items()}


def budget_or_report_only(value: object) -> object:
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


def dtype_name(name: str) -> str:
    bits_of(name)
    return name


def trained_dtype(name: str) -> str:
    bits_of(name)
    if name not in TRAINED:
        raise ValueError(f"{shown(name)} is no dtype that AdamW trains: write one of {', '.join(TRAINED)}")
    return name


Count = Annotated[int, BeforeValidator(parse_count)]
Bytes = Annotated[int, BeforeValidator(parse_limit)]
TrainingBytes = Annotated[int, BeforeValidator(parse_bytes)]
Operations = Annotated[int, BeforeValidator(parse_flops)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, defer_build=True)  # the whole table is built at once


class _Bounds(_Strict):
    """Bounds of a number, whatever it counts."""

    _example: ClassVar[str]

    min: int | None
    max: int | None
    exact: int | None

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
    """The most parameters that pass in this component: 17_000_000, "17M" or "1.2B" (K, M, B, T are powers of 1,000), or
    a table with min, max or exact; 0 keeps it out. Quote the dot.
    Example: budget."encoder.attention" = "29M".
    """

    _example = 'a count, or { max = "29M", min = "28M" }'

    min: Count | None = None
    """The fewest parameters that pass: 28_000_000, or "28M"."""
    max: Count | None = None
    """The most parameters that pass: 29_000_000, or "29M"."""
    exact: Count | None = None
    """The only count that passes, without min and max: 109_482_240, or "110M"; 0 keeps it out."""


class BytesTable(_Bounds):
    """``budget.bytes``: bounds of what the parameters take in a file or in memory."""

    _example = 'a size, or { max = "440MB", dtype = "float16" }'

    min: Bytes | None = None
    """The fewest bytes that pass: 400_000_000, or "400MB"."""
    max: Bytes | None = None
    """The most bytes that pass: 440_000_000, "440MB", "420MiB", or a limit by name: "github-file"."""
    exact: Bytes | None = None
    """The only number of bytes that passes, without min and max: 437_928_960, or "440MB"."""
    dtype: Annotated[str, AfterValidator(dtype_name)] | None = None
    """What a parameter is stored as. Default: the config's dtype, else float32. Example: dtype = "float16"."""
    count: Literal["unique", "stored", "unrolled"] = "unique"
    """What is counted: every parameter once (unique), ties written out (stored), or a copy of a shared layer for
    each pass as well (unrolled). Example: count = "stored"."""


class FlopsTable(_Bounds):
    """``budget.flops``: bounds of one forward pass."""

    _example = '{ max = "22G", seq_len = 128 }'

    min: Operations | None = None
    """The fewest FLOPs that pass: 20_000_000_000, or "20G"."""
    max: Operations | None = None
    """The most FLOPs that pass: 22_000_000_000, or "22G" (a multiply-add is 2 FLOPs)."""
    exact: Operations | None = None
    """The only number of FLOPs that passes, without min and max: 22_350_000_000, or "22.35G"."""
    seq_len: Annotated[int, Field(ge=1, le=1_000_000)]
    """Tokens of the one forward pass that is counted. Example: seq_len = 128."""


class TrainingTable(_Bounds):
    """``budget.training_bytes``: bounds of what training keeps of the parameters."""

    _example = 'a size, or { max = "4GB", dtype = "bfloat16" }'

    min: TrainingBytes | None = None
    """The fewest bytes that pass: 1_700_000_000, or "1.7GB"."""
    max: TrainingBytes | None = None
    """The most bytes that pass: 1_800_000_000, "1.8GB", or "1.7GiB"."""
    exact: TrainingBytes | None = None
    """The only number of bytes that passes, without min and max: 1_751_718_336."""
    dtype: Annotated[str, AfterValidator(trained_dtype)] | None = None
    """What parameters that train are kept as, and with them gradients and moments; autocast keeps float32. Default:
    float32. Example: dtype = "bfloat16"."""
    frozen: Annotated[str, AfterValidator(dtype_name)] | None = None
    """What parameters that do not train are kept as. Default: dtype. Example: frozen = "bfloat16"."""


class BudgetTable(BaseModel):
    """``budget``: limits by component, and of what the parameters take and do."""

    model_config = ConfigDict(extra="allow", strict=True, defer_build=True)

    __pydantic_extra__: dict[str, Annotated[LimitTable, BeforeValidator(limit_from_shorthand)]]

    bytes: Annotated[BytesTable, BeforeValidator(limit_from_shorthand)] | None = None
    """What the parameters, and buffers that are saved, may take in a file or in memory: a size such as "440MB" or
    "420MiB", a limit by name such as "github-file", or a table.
    Example: budget.bytes = { max = "220MB", dtype = "float16" }."""
    flops: Annotated[FlopsTable, BeforeValidator(limit_from_shorthand)] | None = None
    """What one forward pass may cost, 2 for a multiply-add, by torch's own counter.
    Example: budget.flops = { max = "22.4G", seq_len = 128 }."""
    training_bytes: Annotated[TrainingTable, BeforeValidator(limit_from_shorthand)] | None = None
    """What training may keep of the parameters: themselves, gradients and the states of AdamW, without activations; a
    size or a table. Example: budget.training_bytes = "4GB"."""
    growth: Annotated[
        dict[str, Annotated[str | int, PlainValidator(parse_growth)]], BeforeValidator(growth_from_shorthand)
    ] = {}
    """What the total may grow by against the base that the run then needs: a share of it such as "1%", a count such as
    "500K", or 0; or a table by component. Example: budget.growth = { total = "1%", head = 0 }."""
    already_over: Literal["fail", "pass"] = "fail"
    """What becomes of an overrun that the base had already, by as much or more: "fail", or "pass" with a warning.
    Example: budget.already_over = "pass"."""

    @property
    def counts(self) -> dict[str, LimitTable]:
        """The limits of parameter counts, by component."""
        return self.__pydantic_extra__

    @model_validator(mode="after")
    def _holds(self) -> Self:
        """Refuse a budget that only lets pass."""
        limits = self.counts or self.bytes or self.flops or self.training_bytes
        if ALREADY_OVER in self.model_fields_set and not limits:
            raise ValueError('already_over is about limits, and there is none: write budget.total = "110M"')
        return self

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


# what it says, as limits


def low_and_high(limit: _Bounds) -> tuple[int | None, int | None]:
    """The least and the most that a limit lets pass."""
    return (limit.min, limit.max) if limit.exact is None else (limit.exact, limit.exact)


def limits_of(budget: BudgetTable, written: Mapping[str, Any], file: str, key: tuple[str, ...]) -> Iterator[Limit]:
    """Every limit of a model's budget, in the author's order.

    :param written: the budget as it was parsed.
    :param key: of the model's table.
    """
    tables = {**budget.counts, BYTES: budget.bytes, FLOPS: budget.flops, TRAINING: budget.training_bytes}
    for component in written:
        place = (*key, "budget", component)
        if component == GROWTH:
            yield from _growth(budget, written[GROWTH], file, place)
        elif table := tables.get(component):
            bounds = low_and_high(table)
            yield Limit(component, *bounds, written[component], file, table_key=place, measure=measure_of(table))


def _growth(budget: BudgetTable, written: object, file: str, place: tuple[str, ...]) -> Iterator[Limit]:
    """Without their maximum: the base says what a share is of, and whether there is anything to hold."""
    for part, most in budget.growth.items():
        name = GROWTH if part == TOTAL else f"{GROWTH}.{part}"
        key = (*place, part) if isinstance(written, dict) else place
        yield Limit(name, None, None, most, file, table_key=key, measure=Growth(part))


def measure_of(table: LimitTable | BytesTable | FlopsTable | TrainingTable) -> Measure | None:
    """``None`` for a table that limits parameters."""
    if isinstance(table, BytesTable):
        return AsBytes(table.dtype, table.count)
    if isinstance(table, TrainingTable):
        return Training(table.dtype, table.frozen)
    return Flops(table.seq_len) if isinstance(table, FlopsTable) else None
