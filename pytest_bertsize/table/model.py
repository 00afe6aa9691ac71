"""What a project declares: a model, its limits, and what its own class has beside a backbone."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias

from pytest_bertsize import quantity
from pytest_bertsize.files import regular
from pytest_bertsize.findings import Finding, Kind, Severity
from pytest_bertsize.quantity import PARAMETERS, Quantity, parse_count, restated
from pytest_bertsize.wording import did_you_mean, exact, shown

NAMES = ("config.json", "bert_config.json")
"""What a folder may hold one of."""
YAML = (".yaml", ".yml")
TOML = ".toml"
FILES = (".json", *YAML, TOML)
"""How the files end that a config is read from."""
CODE = (".py", ".sh", ".cfg")
"""How the files end that say something only to who runs them."""
_NAME = r"[^\W\d]\w*"
_CODE = re.compile(rf"{_NAME}(?:\.{_NAME})*:{_NAME}(?:\.{_NAME})*")

BYTES, FLOPS, TRAINING, GROWTH, ALREADY_OVER = "bytes", "flops", "training_bytes", "growth", "already_over"
"""Keys of a budget that are no component."""


def unit_of(component: str) -> Quantity:
    """What a limit of it is written in."""
    units = {BYTES: quantity.BYTES, TRAINING: quantity.BYTES, FLOPS: quantity.FLOPS}
    return units.get(component, quantity.PARAMETERS)


@dataclass(frozen=True, slots=True)
class AsBytes:
    """Parameters as bytes in a file, or in memory."""

    dtype: str | None
    """``None``: that of the config, else float32."""
    count: str
    """``unique``, ``stored`` (ties written out) or ``unrolled`` (a copy of a shared layer for each pass as well)."""

    def __str__(self) -> str:
        return f"{self.dtype or 'the dtype of the config'}, {self.count}"


@dataclass(frozen=True, slots=True)
class Flops:
    """The floating-point operations of one forward pass."""

    seq_len: int

    def __str__(self) -> str:
        return f"{self.seq_len:,} tokens"


@dataclass(frozen=True, slots=True)
class Training:
    """What AdamW keeps while a model is trained: parameters, gradients and its states."""

    dtype: str | None = None
    """Of what trains; ``None``: float32."""
    frozen: str | None = None
    """Of what does not; ``None``: as what trains."""

    @property
    def dtypes(self) -> tuple[str, str]:
        trained = self.dtype or "float32"
        return trained, self.frozen or trained

    def __str__(self) -> str:
        trained, frozen = self.dtypes
        return trained if frozen == trained else f"{trained}, frozen {frozen}"


@dataclass(frozen=True, slots=True)
class Growth:
    """What came to a component since the base; how much may is known where the base is."""

    part: str

    def __str__(self) -> str:
        return f"{self.part} against the base"


Measure: TypeAlias = AsBytes | Flops | Training | Growth
"""What a limit bounds where that is no parameter count."""


class Limit(NamedTuple):
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
    measure: Measure | None = None

    @property
    def is_exact(self) -> bool:
        return self.minimum is not None and self.minimum == self.maximum

    @property
    def bounds(self) -> tuple[object, object]:
        """The least and the most as they are written, ``None`` for one that is not."""
        if isinstance(self.written, dict):
            only = self.written.get("exact")
            return self.written.get("min", only), self.written.get("max", only)
        return None, self.written

    def bound(self, kind: str) -> Literal["min", "max", "exact"]:
        """The key that a finding of this kind is about: ``"over-budget"`` → ``"max"``."""
        if isinstance(self.written, dict) and "exact" in self.written:
            return "exact"
        return "max" if kind == "over-budget" else "min"

    def written_at(self, bound: str) -> object:
        """One of its bounds as the author wrote it."""
        return self.written.get(bound) if isinstance(self.written, dict) else self.written

    def make_finding(
        self, kind: Kind, message: str, fix: str, severity: Severity = "error", actual: int | None = None
    ) -> Finding:
        """Return a finding at the place where the limit is written."""
        place: dict[str, Any] = {"file": self.file, "line": self.line, "table_key": self.table_key}
        return Finding(kind, message, fix, severity, self.component, actual=actual, **place)

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
class Extra:
    """A module, or a parameter, that a project's own class has beside its backbone."""

    name: str
    """Its path in the class: ``"crf.transitions"``."""
    block: str
    """``linear``, ``embedding`` or another of :data:`~pytest_bertsize.table.extra.SIZES`."""
    sizes: tuple[int | str, ...]
    """As torch's own class takes them: numbers, keys of the config, or ``"2*hidden_size + 16"``."""
    component: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """``bias``, ``elementwise_affine``, ``layers`` and ``bidirectional``, where they are not torch's defaults."""
    tied: Mapping[str, str] = field(default_factory=dict)
    """Its tied parameters, and the full names of the tensors that own them."""
    count: int | str | None = None
    """How many there are in a list, as one of :attr:`sizes`; ``None`` for one that is in none."""

    @property
    def written(self) -> tuple[str, ...]:
        """Its sizes, as far as they are keys or sums of them."""
        return tuple(size for size in (*self.sizes, self.count) if isinstance(size, str))

    def __str__(self) -> str:
        """All that it says, for a comparison with what it was: ``out linear[768, 2] bias=False``."""
        also = {**self.arguments, **self.tied, **({} if self.count is None else {"count": self.count})}
        return " ".join(
            (f"{self.name} {self.block}{list(self.sizes)}", *(f"{key}={said}" for key, said in also.items()))
        )


@dataclass(frozen=True, slots=True)
class Build:
    """What building a model may take, and where."""

    seconds: int | None = None
    memory: int | None = None
    """Bytes; ``None``, here and for seconds: what every model may."""
    device: str = "meta"
    """``meta`` or ``cpu``."""


class LockFile(NamedTuple):
    """Where the tensors of every model stand as they were last accepted."""

    file: str
    """Relative to the project's root."""
    strict: bool
    """Whether a difference fails the model."""


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
    passes_already_over: bool = False
    """Whether a limit that was broken at the base may be broken now, by no more."""
    inline: Mapping[str, Any] | None = None
    """The config itself, where the table has it; :attr:`config` is then its place in the table."""
    keys: Mapping[str, str] = field(default_factory=dict)
    """A training file's own names, and the config keys that they stand for."""
    ignored: tuple[str, ...] = ()
    """Keys of the config that the library ignores, and the project's own code reads."""
    factory: str | None = None
    """The project's own function that builds the model: ``"tagger.model:build"``."""
    backbone: str = ""
    """The attribute that holds the architecture in what the factory builds; ``""`` for the module itself."""
    backbones: Mapping[str, str] = field(default_factory=dict)
    """Attributes that hold several, each with its config; :attr:`config` is then empty."""
    classes: Mapping[str, str] = field(default_factory=dict)
    """Of several backbones, the classes of those that do not all have one."""
    tied: Mapping[str, str] = field(default_factory=dict)
    """Modules and tensors of the backbones that are others of them: ``{"ctx_model": "question_model"}``."""
    extra: tuple[Extra, ...] = ()
    """What the factory puts beside the backbone."""
    without: tuple[str, ...] = ()
    """Modules and components of the backbone that the factory's class does not have: ``"bert.encoder.layer[6:]"``."""
    frozen: tuple[str, ...] = ()
    """Modules that the factory does not train: ``"bert.encoder.layer[:6]"``."""
    adapter: str | Mapping[str, Any] | None = None
    """PEFT's ``adapter_config.json``, or what it says."""
    checkpoint: str | None = None
    """The file that holds the weights, or the index of its parts."""
    tokenizer: str | None = None
    """The file that holds the vocabulary."""
    build: Build = Build()
    components: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Names for parts of a class without a closed form, and the paths or patterns of what they hold."""

    @property
    def is_made_by_code(self) -> bool:
        """Whether the config is what a function of the project returns: ``"pkg.cfg:make"``."""
        location = self.config.partition("#")[0]
        is_file = self.inline is not None or location.lower().endswith(FILES)
        return not is_file and _CODE.fullmatch(location) is not None

    @property
    def file(self) -> str:
        """The file or the folder that the table names, ``""`` where the config lives elsewhere."""
        elsewhere = self.inline is not None or self.is_made_by_code
        return "" if elsewhere else self.config.partition("#")[0]

    @property
    def identity(self) -> str:
        """What tells a model's config from those of others, whatever the model is called."""
        if self.inline is not None:
            return json.dumps(self.inline, sort_keys=True, default=str)
        return self.config or ", ".join(self.backbones.values()) or self.factory or ""


# what limits say


NAMED: Mapping[str, int] = MappingProxyType({"github-file": 100 * 2**20, "pypi-file": 100 * 2**20})
"""The largest file that GitHub takes in a push, and PyPI in an upload unless a project was granted more, in bytes.

Sources: "About large files on GitHub" in GitHub's documentation says 100 MiB. "Storage Limits" in PyPI's says 100.0 MB,
which PyPI enforces as ``100 * ONE_MIB`` (``MAX_FILESIZE`` in warehouse/constants.py).
"""
SHARE = re.compile(r"(?P<digits>[0-9]{1,9}(?:\.[0-9]{1,9})?)%")
_MEANT_AS_SHARE = re.compile(
    r"\s*\+?\s*(?P<digits>[0-9]{1,9}(?:\.[0-9]{1,9})?)\s*(?:%|percent|per cent|pct)\s*", re.IGNORECASE
)
_HOW_TO_WRITE_GROWTH = 'write a share such as "1%", a count of parameters such as "500K", or 0'


def parse_byte_limit(value: object) -> int:
    """Return the bytes of a limit: of one of :data:`NAMED`, or of a number with a unit.

    :raises ValueError: for anything else, saying what to write.
    """
    if isinstance(value, str) and value in NAMED:
        return NAMED[value]
    if isinstance(value, str) and value[:1].isalpha():
        hint = did_you_mean(value, NAMED, "", written=shown)
        instead = f"{quantity.BYTES.how_to_write}, or one of {', '.join(NAMED)}{hint and f'; {hint}'}"
        raise ValueError(f"{shown(value)} is not the name of a limit: {instead}")
    return quantity.parse_bytes(value)


def parse_growth(value: object) -> Any:
    """Return what a component may grow by, as it is written.

    :raises ValueError: for what is neither a share nor a count, saying what to write.
    """
    if value == {}:
        raise ValueError(f"an empty table limits nothing: {_HOW_TO_WRITE_GROWTH}")
    if share_of(value) is None:
        try:
            parse_count(value)
        except ValueError:
            hint = ""
            if isinstance(value, float) and 0 < value < 1:
                hint = f"; did you mean '{(100 * Decimal(repr(value))).normalize():f}%'?"
            elif isinstance(value, str) and (meant := _MEANT_AS_SHARE.fullmatch(value)):
                hint = f"; did you mean '{meant['digits']}%'?"
            raise ValueError(f"{shown(value)} is no growth: {_HOW_TO_WRITE_GROWTH}{hint}") from None
    return value


def share_of(written: object) -> Fraction | None:
    """``"1%"`` → 1/100; ``None`` for a count."""
    match = SHARE.fullmatch(written) if isinstance(written, str) else None
    return Fraction(match["digits"]) / 100 if match else None


def most_growth(written: object, before: int) -> int:
    """The most parameters that may be added to what there was, a share rounded down."""
    share = share_of(written)
    return parse_count(written) if share is None else share * before // 1


def growth_that_passes(added: int, before: int, like: object) -> str:
    """The growth that lets something pass, in its author's style: ``'"7%"'`` or ``'"7.1M"'``."""
    match = SHARE.fullmatch(like) if isinstance(like, str) else None
    if match is None:
        return restated(added, "max", like, PARAMETERS)
    places = len(match["digits"].partition(".")[2])
    steps = -(-Fraction(100 * added * 10**places, before) // 1) if before else 0
    share = f"{Decimal(steps).scaleb(-places):f}%"
    return f'"{share}"' if before and SHARE.fullmatch(share) else f"{added:_}"


# the interpreter that builds


LARGEST = 1024 * 1024
"""Bytes of a pyproject.toml; those of large projects have a tenth."""
_NAMES_PYTHON = re.compile(rb"""\bpython["']?\s*=""")


class NoInterpreter(Exception):
    """The path of an interpreter that cannot be run; the message has what is wrong and what to write."""


class Interpreter(NamedTuple):
    """An interpreter that is not the gate's own."""

    path: Path
    """Absolute, as it is named: Python knows a virtual environment by the symlink that leads out of it."""
    written: str
    """As the table or the option has it."""

    def check(self) -> None:
        """:raises NoInterpreter: for what cannot be run."""
        written = shown(self.written)
        make_one = "make that environment, or name the interpreter of another one"
        if "\0" in self.written:
            raise NoInterpreter(f"{written} is no path; write the path of an interpreter")
        if self.path.is_dir():
            example = shown(f"{self.written.rstrip('/')}/bin/python")
            raise NoInterpreter(f"{written} is a folder; name the interpreter in it, as in {example}")
        if not self.path.is_file():
            raise NoInterpreter(f"there is no file {written}; {make_one}")
        if not os.access(self.path, os.X_OK):
            raise NoInterpreter(f"{written} may not be executed; {make_one}")


def in_folder(folder: Path, written: str) -> Interpreter:
    """The interpreter that a path means, relative to the folder of the table; of an option, to the current one."""
    return Interpreter(folder.absolute() / written, written)


def may_be_named(table: Path) -> bool:
    """Return whether a table may name an interpreter: asked before the table is read.

    A wrong answer costs time alone: a helper process that has to be ended, or that starts later.
    """
    try:
        with regular(os.path.realpath(table)) as stream:
            return _NAMES_PYTHON.search(stream.read(LARGEST)) is not None
    except OSError:
        return False
