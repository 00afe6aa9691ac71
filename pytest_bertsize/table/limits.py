"""The limits of a budget: how they are written, and what they measure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeAlias

from msgspec import Meta, Struct, structs

from pytest_bertsize import quantity
from pytest_bertsize.dtypes import TRAINED, bits_of
from pytest_bertsize.findings import Finding, Kind, Severity
from pytest_bertsize.inventory import TOTAL, TRAINABLE
from pytest_bertsize.quantity import PARAMETERS, Quantity, parse_count, restated
from pytest_bertsize.table.reading import Key, Mistake, placed, read_keys, read_value
from pytest_bertsize.wording import did_you_mean, exact, shown

# Keys of a budget that are neither a component nor ``total`` or ``trainable``.
BYTES, FLOPS, TRAINING, GROWTH, ALREADY_OVER = "bytes", "flops", "training_bytes", "growth", "already_over"
OF_THE_TABLE = frozenset({FLOPS, GROWTH, ALREADY_OVER})  # keys of a budget that a marker cannot set
# Keys of a budget that do not name a component.
NO_COMPONENTS = frozenset({TOTAL, TRAINABLE, BYTES, FLOPS, TRAINING, GROWTH, ALREADY_OVER})
REPORT_ONLY = "report-only"
# Bytes of the largest file that GitHub accepts in a push, and of the largest that PyPI accepts by default.
#
# Sources: "About large files on GitHub" in GitHub's documentation says 100 MiB. "Storage Limits" in PyPI's says 100.0
# MB, which PyPI enforces as ``100 * ONE_MIB`` (``MAX_FILESIZE`` in warehouse/constants.py).
NAMED: Mapping[str, int] = {"github-file": 100 * 2**20, "pypi-file": 100 * 2**20}
OF_FILES = structs.replace(
    quantity.BYTES, named=NAMED, how_to_write=f"{quantity.BYTES.how_to_write}, or one of {', '.join(NAMED)}"
)


def check_trained_dtype(name: str) -> None:
    bits_of(name)
    if name not in TRAINED:
        raise ValueError(f"{shown(name)} is not a dtype that AdamW trains: write one of {', '.join(TRAINED)}")


class AsBytes(Struct, frozen=True):
    """``budget.bytes``: limits on the size of the parameters in a file or in memory."""

    unit: ClassVar = OF_FILES

    #: The dtype of the stored parameters. Default: the config's dtype, else "float32". Example: dtype = "float16".
    dtype: Annotated[str, bits_of] | None = None
    #: "unique" counts each parameter once; "stored" counts a tied tensor under each of its names; "unrolled" also
    #: counts a shared layer once for each pass. Example: count = "stored".
    count: Literal["unique", "stored", "unrolled"] = "unique"

    def __str__(self) -> str:
        return f"{self.dtype or 'the dtype of the config'}, {self.count}"


class Flops(Struct, frozen=True):
    """``budget.flops``: limits on the FLOPs of one forward pass."""

    unit: ClassVar = quantity.FLOPS

    #: The number of tokens in the forward pass. Example: seq_len = 128.
    seq_len: Annotated[
        int,
        Meta(ge=1, le=1_000_000),
        Key(missing="it has no length: write seq_len = 128, the tokens of one forward pass"),
    ]

    def __str__(self) -> str:
        return f"{self.seq_len:,} tokens"


class Training(Struct, frozen=True):
    """``budget.training_bytes``: limits on the memory that training keeps for the parameters."""

    unit: ClassVar = quantity.BYTES

    #: The dtype of trained parameters, of their gradients and of AdamW's moments. Under autocast all of these stay
    #: float32. Default: "float32". Example: dtype = "bfloat16".
    dtype: Annotated[str, check_trained_dtype] | None = None
    #: The dtype of frozen parameters. Default: the value of ``dtype``. Example: frozen = "bfloat16".
    frozen: Annotated[str, bits_of] | None = None

    @property
    def dtypes(self) -> tuple[str, str]:
        trained = self.dtype or "float32"
        return trained, self.frozen or trained

    def __str__(self) -> str:
        trained, frozen = self.dtypes
        return trained if frozen == trained else f"{trained}, frozen {frozen}"


class Growth(NamedTuple):
    """The measure of a limit on a component's growth since the base."""

    part: str

    def __str__(self) -> str:
        return f"{self.part} against the base"


class Parameters(Struct, frozen=True):
    """The most parameters that this component may have: 17_000_000, "17M" or "1.2B" (K, M, B, T are powers of 1,000),
    or a table with ``min``, ``max`` or, alone, ``exact``; 0 forbids the component. Quote a name that has a dot.
    Example: budget."encoder.attention" = "29M".
    """

    unit: ClassVar = PARAMETERS


# The measure of a limit on anything other than a parameter count.
Measure: TypeAlias = AsBytes | Flops | Training | Growth


class Limit(NamedTuple):
    """The bounds on the parameters of a component, ``total`` or ``trainable``, or on what its ``measure`` counts."""

    component: str
    minimum: int | None
    maximum: int | None
    written: object  # the value as the author wrote it, ``"110M"`` or ``110_000_000``
    file: str  # the file in which the limit is written
    line: int | None = None
    table_key: tuple[str, ...] | None = None
    measure: Measure | None = None

    @property
    def is_exact(self) -> bool:
        return self.minimum is not None and self.minimum == self.maximum

    def bound(self, kind: str) -> Literal["min", "max", "exact"]:
        """Return the bound that a finding of this kind concerns: ``"over-budget"`` → ``"max"``."""
        if isinstance(self.written, dict) and "exact" in self.written:
            return "exact"
        return "max" if kind == "over-budget" else "min"

    def written_at(self, bound: str) -> object:
        """Return one bound as the author wrote it; an exact limit is its own minimum and maximum."""
        table = self.written if isinstance(self.written, dict) else {"max": self.written}
        return table.get(bound, table.get("exact"))

    def make_finding(
        self, kind: Kind, message: str, fix: str, severity: Severity = "error", actual: int | None = None
    ) -> Finding:
        """Return a finding at the place where the limit is written."""
        place: dict[str, Any] = {"file": self.file, "line": self.line, "table_key": self.table_key}
        return Finding(kind, message, fix, severity, self.component, actual=actual, **place)

    def __str__(self) -> str:
        """Return the limit as a cell of a report: ``110M``, ``=23,837,184``, ``28M-29M`` or ``≥1M``."""
        bounds = map(self.written_at, ("min", "max"))
        low, high = (exact(bound) if isinstance(bound, int) else str(bound) for bound in bounds)
        if self.is_exact:
            return f"={high}"
        if self.minimum is None:
            return high
        return f"≥{low}" if self.maximum is None else f"{low}-{high}"


class Budget(NamedTuple):
    """All limits of a model, and whether a limit that the base already exceeded passes."""

    limits: tuple[Limit, ...] = ()  # all limits; empty for ``"report-only"``
    #: True if a limit that the base exceeded passes, provided that the excess is no larger than the base's.
    passes_already_over: bool = False


# reading


BOUNDS = ("min", "max", "exact")
# Structs by a key of a budget; their fields are the keys that such a limit's table may have besides its bounds.
MEASURES: Mapping[str, Any] = {BYTES: AsBytes, FLOPS: Flops, TRAINING: Training}


def unit_of(component: str) -> Quantity:
    """Return the unit in which the bounds of this component's limit are written."""
    unit: Quantity = MEASURES.get(component, Parameters).unit
    return unit


def read_limit(component: str, written: object) -> Limit:
    """Read one limit, of which a single value is the maximum, without its place; raise ValueError for anything else."""
    table = written if isinstance(written, dict) else {"max": written}
    kind = MEASURES.get(component, Parameters)
    if kind is Parameters and (other := next((key for key in table if key not in BOUNDS), None)) is not None:
        has = "a limit needs min, max or exact"
        if component not in {TOTAL, TRAINABLE} and other:
            has += f". To limit the component, write budget.{shown(f'{component}.{other}')} = …"
        raise Mistake(f"unknown key; {did_you_mean(other, BOUNDS, has)}", other)
    try:
        values = read_keys(kind, table, dict.fromkeys(BOUNDS, kind.unit.parse))
    except Mistake as mistake:  # a value that is no table has no keys
        raise Mistake(str(mistake), *(mistake.path if table is written else ())) from None
    bounds = {bound: values.pop(bound) for bound in BOUNDS if bound in values}
    if "exact" in bounds and len(bounds) > 1:
        raise ValueError("exact is the only bound of its limit: remove it, or min and max")
    if not bounds:
        raise ValueError("a limit without min, max or exact checks nothing: write one of them")
    low, high = (bounds.get(bound, bounds.get("exact")) for bound in ("min", "max"))
    if low is not None and high is not None and low > high:
        raise ValueError(f"min {low:,} is more than max {high:,}: no model can pass")
    measure = None if kind is Parameters else kind(**values)
    return Limit(component, low, high, written, "", table_key=(component,), measure=measure)


def read_budget(written: object) -> Budget:
    """Read a budget; the ``table_key`` of each limit has only the part below the budget, ``("encoder",)``."""
    if written == REPORT_ONLY:
        return Budget()
    if not isinstance(written, dict) or not written:
        raise Mistake(f'{shown(written)} is not a budget: write budget.total = "110M", or budget = "{REPORT_ONLY}"')
    limits: list[Limit] = []
    already_over = "fail"
    for key, value in written.items():
        with placed(key):
            if key == ALREADY_OVER:
                already_over = read_value(Literal["fail", "pass"], value)
            elif key == GROWTH:
                limits += _read_growth(value)
            else:
                limits.append(read_limit(key, value))
    if ALREADY_OVER in written and all(isinstance(limit.measure, Growth) for limit in limits):
        raise ValueError('already_over needs a limit other than growth: write budget.total = "…"')
    return Budget(tuple(limits), already_over == "pass")


def _read_growth(written: object) -> Iterator[Limit]:
    """Read limits on growth. They have no maximum yet, because it depends on the count at the base."""
    parts = written if isinstance(written, dict) and written else {TOTAL: written}
    for part, most in parts.items():
        if part in NO_COMPONENTS - {TOTAL, TRAINABLE}:
            raise ValueError(f"growth cannot limit {shown(part)}, which is not a component: name one, or total")
        key = (part,) if parts is written else ()
        try:
            most_growth(most, 0)
        except ValueError:
            raise Mistake(f"{shown(most)} is not a growth: {_HOW_TO_WRITE_GROWTH}", *key) from None
        name = GROWTH if part == TOTAL else f"{GROWTH}.{part}"
        yield Limit(name, None, None, most, "", table_key=(GROWTH, *key), measure=Growth(part))


# what limits say


SHARE = re.compile(r"(?P<digits>[0-9]{1,9}(?:\.[0-9]{1,9})?)%")
_HOW_TO_WRITE_GROWTH = 'write a share such as "1%", a count of parameters such as "500K", or 0'


def share_of(written: object) -> Fraction | None:
    """Return a share as a fraction, ``"1%"`` as 1/100; return ``None`` for a count."""
    match = SHARE.fullmatch(written) if isinstance(written, str) else None
    return Fraction(match["digits"]) / 100 if match else None


def most_growth(written: object, before: int) -> int:
    """Return how many parameters a limit on growth lets a change add to ``before``; a share is rounded down."""
    share = share_of(written)
    return parse_count(written) if share is None else share * before // 1


def growth_that_passes(added: int, before: int, like: object) -> str:
    """Return the limit on growth with which ``added`` passes, in the notation of ``like``: ``'"7%"'``, ``'"7.1M"'``."""
    match = SHARE.fullmatch(like) if isinstance(like, str) else None
    if match is None:
        return restated(added, "max", like, PARAMETERS)
    places = len(match["digits"].partition(".")[2])
    steps = -(-Fraction(100 * added * 10**places, before) // 1) if before else 0
    share = f"{Decimal(steps).scaleb(-places):f}%"
    return f'"{share}"' if before and SHARE.fullmatch(share) else f"{added:_}"
