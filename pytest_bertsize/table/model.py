"""What a project declares: a model, its limits, and what its own class has beside a backbone."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from pytest_bertsize import quantity
from pytest_bertsize.wording import exact

if TYPE_CHECKING:
    from pytest_bertsize.quantity import Quantity

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
