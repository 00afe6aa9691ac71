"""``[tool.bertsize]``: its keys as structs, and their conversion, which stops at the first mistake of each model.

The text below a key is what editors show of it: ``validate_pyproject`` makes the JSON Schema from it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache, partial
from types import MappingProxyType, NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import FieldInfo, fields

from pytest_bertsize.dtypes import TRAINED, bits_of
from pytest_bertsize.inventory import TOTAL, TRAINABLE, levels
from pytest_bertsize.quantity import parse_bytes, parse_count, parse_flops
from pytest_bertsize.release import parsed
from pytest_bertsize.table.extra import NO_COMPONENTS, ExtraTable, is_component
from pytest_bertsize.table.model import (
    ALREADY_OVER,
    BYTES,
    FLOPS,
    GROWTH,
    TRAINING,
    AsBytes,
    Flops,
    Measure,
    Training,
    parse_byte_limit,
    parse_growth,
)
from pytest_bertsize.wording import did_you_mean, is_name, nearest_to, printable, shown

Table = TypeVar("Table", bound=Struct)

TABLE = ("tool", "bertsize")
EXAMPLE = (
    """write, for example, [tool.bertsize.models.encoder] with config = "config.json" and budget.total = "110M\""""
)
REPORT_ONLY = "report-only"
LONGEST_NUMBER = 14_000
"""Bits: of no more than the 4,300 decimal digits that Python writes."""
MOST_SECONDS = 600
"""The longest that building one model may take; the models of a table are built one after the other."""
LEAST_MEMORY, MOST_MEMORY = 10**6, 16 * 10**9
"""Bytes that building one model may take; a hosted runner of CI has no more."""
DOTTED = r"[A-Za-z_]\w*(\.\w+)*"
"""A dotted name in Python: a pattern, of ASCII."""
OF_A_FACTORY = ("backbone", "extra", "without", "tied", "frozen")
OF_A_CLOSED_FORM = ("ignored", "backbone", "extra", "without", "tied", "frozen", "tokenizer")
OF_A_CONFIG = ("keys", "ignored", "family", "architecture", "overrides", "backbone")
"""Keys of a model that are about another key."""
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
"""Descriptions of the components that all families share."""


class Mistake(ValueError):
    """A mistake in a table, and the path of its key below that table."""

    def __init__(self, message: str, *path: str) -> None:
        super().__init__(message)
        self.path = path


class Mistakes(Exception):
    """All tables of a project that have a mistake: the first of each."""

    def __init__(self, found: list[Mistake]) -> None:
        super().__init__(*found)
        self.found = found


class Reads(NamedTuple):
    """A reader of a written value, in place of msgspec; a function alone checks what msgspec has converted."""

    read: Callable[[Any], Any]


# values


def parse_memory(value: object) -> int:
    found = parse_bytes(value)
    if not LEAST_MEMORY <= found <= MOST_MEMORY:
        raise ValueError(f'{shown(value)} is no memory to build in: write between "1MB" and "16GB"')
    return found


def check_trained_dtype(name: str) -> None:
    bits_of(name)
    if name not in TRAINED:
        raise ValueError(f"{shown(name)} is no dtype that AdamW trains: write one of {', '.join(TRAINED)}")


def check_model_name(name: str) -> None:
    if not re.fullmatch(r"\w[\w.+@-]{0,99}", name):
        raise ValueError("a model's name is its test id: letters, digits and . _ - + @, at most 100 of them")


def check_class_name(name: str) -> None:
    if not is_name(name):
        raise ValueError(f"{shown(name)} is no name: letters, digits and _ -, at most 100 of them")


def check_module_path(name: str) -> None:
    if not re.fullmatch(DOTTED, name, re.ASCII):
        raise ValueError(f'{shown(name)} is no path of a module: write backbone = "bert", the attribute that holds it')


def check_function_name(name: str) -> None:
    is_file = name.partition(":")[0].endswith(".py")
    if is_file or not re.fullmatch(rf"{DOTTED}:{DOTTED}", name, re.ASCII):
        module = re.fullmatch(r"([\w/]+)\.py:(\w+)", name, re.ASCII)
        example = f"{module[1].replace('/', '.')}:{module[2]}" if module else "module:function"
        raise ValueError(f'{shown(name)} names no function: write factory = "{example}", importable from here')


def check_lock_name(name: str) -> None:
    if not name.endswith(".lock") or name == ".lock":
        raise ValueError(f'{shown(name)} is no name of a lock: write lock = "bertsize.lock"')


def check_components(written: dict[str, Any]) -> None:
    for name, value in written.items():
        if not is_component(name):
            raise ValueError(f'{shown(name)} is no component: write components = {{ tower = "vision.*" }}, for example')
        patterns = value if isinstance(value, list) else [value]
        if not patterns or not all(isinstance(each, str) and each for each in patterns):
            raise ValueError(f'{name} is {shown(value)}: write {name} = "vision.*", a path or a pattern, or several')


def read_text_or_table(value: object) -> object:
    if value == {}:
        raise ValueError("an empty table says nothing")
    if not isinstance(value, str | dict):
        raise Mistake(f"{shown(value)} is not a string, nor a table")
    return value if isinstance(value, dict) else read_value(Text, value)


def read_backbone(value: object) -> object:
    """Read the attribute of one backbone, or those of several, each with its config."""
    if not isinstance(value, dict):
        return read_value(ModulePath, value)
    if not value:
        example = '"bert", or { question_model = "configs/q.json", ctx_model = "configs/c.json" }'
        raise ValueError(f"{shown(value)} is no backbone: write {example}")
    for name, config in value.items():
        check_module_path(name)
        if not isinstance(config, str) or not config:
            raise ValueError(f'{shown(config)} is no config of {name}: write {name} = "configs/q.json"')
    return value


def read_architecture(value: object) -> object:
    """Read the class of all backbones, or of each."""
    if not isinstance(value, dict):
        return read_value(ClassName, value)
    if not value:
        raise ValueError("an empty table says nothing")
    return {read_value(ModulePath, name): read_value(ClassName, each) for name, each in value.items()}


def read_growth(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        return {TOTAL: parse_growth(value)}
    if not value:
        return {TOTAL: parse_growth({})}
    for name, written in value.items():
        if name in NO_COMPONENTS - {TOTAL, TRAINABLE}:
            raise ValueError(f"growth is one of parameters, and {shown(name)} has none: name a component, or total")
        with placed(name):
            parse_growth(written)
    return value


def read_lock(value: object) -> LockTable:
    if value is True or value == "strict":
        raise ValueError(f'{shown(value)} names no file: write lock = {{ file = "bertsize.lock", strict = true }}')
    return read_table(LockTable, value) if not isinstance(value, str) else LockTable(read_value(LockName, value))


Text = Annotated[str, Meta(min_length=1)]
ClassName = Annotated[str, Meta(min_length=1), check_class_name]
ModulePath = Annotated[str, check_module_path]
LockName = Annotated[str, check_lock_name]
Count = Annotated[int, Reads(parse_count)]
Bytes = Annotated[int, Reads(parse_byte_limit)]
TrainingBytes = Annotated[int, Reads(parse_bytes)]
Operations = Annotated[int, Reads(parse_flops)]


# limits


class Bounds(Struct, frozen=True):
    """Bounds of a number, whatever it counts."""

    example: ClassVar[str]

    min: int | None = None
    max: int | None = None
    exact: int | None = None

    def __post_init__(self) -> None:
        if self.exact is not None and (self.min is not None or self.max is not None):
            raise ValueError("exact stands alone: remove min and max")
        if self.exact is None and self.min is None and self.max is None:
            raise ValueError(f"an empty limit holds nothing: write {self.example}")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min {self.min:,} is more than max {self.max:,}: no model can pass")

    @property
    def low_and_high(self) -> tuple[int | None, int | None]:
        """The least and the most that pass."""
        return (self.min, self.max) if self.exact is None else (self.exact, self.exact)

    @property
    def measure(self) -> Measure | None:
        """``None`` for a limit of parameters."""
        return None


class LimitTable(Bounds, frozen=True):
    """The most parameters that pass in this component: 17_000_000, "17M" or "1.2B" (K, M, B, T are powers of 1,000), or
    a table with min, max or exact; 0 keeps it out. Quote the dot.
    Example: budget."encoder.attention" = "29M".
    """

    example = 'a count, or { max = "29M", min = "28M" }'

    min: Count | None = None
    """The fewest parameters that pass: 28_000_000, or "28M"."""
    max: Count | None = None
    """The most parameters that pass: 29_000_000, or "29M"."""
    exact: Count | None = None
    """The only count that passes, without min and max: 109_482_240, or "110M"; 0 keeps it out."""


class BytesTable(Bounds, frozen=True):
    """``budget.bytes``: bounds of what the parameters take in a file or in memory."""

    example = 'a size, or { max = "440MB", dtype = "float16" }'

    min: Bytes | None = None
    """The fewest bytes that pass: 400_000_000, or "400MB"."""
    max: Bytes | None = None
    """The most bytes that pass: 440_000_000, "440MB", "420MiB", or a limit by name: "github-file"."""
    exact: Bytes | None = None
    """The only number of bytes that passes, without min and max: 437_928_960, or "440MB"."""
    dtype: Annotated[str, bits_of] | None = None
    """What a parameter is stored as. Default: the config's dtype, else float32. Example: dtype = "float16"."""
    count: Literal["unique", "stored", "unrolled"] = "unique"
    """What is counted: every parameter once (unique), ties written out (stored), or a copy of a shared layer for
    each pass as well (unrolled). Example: count = "stored"."""

    @property
    def measure(self) -> Measure:
        return AsBytes(self.dtype, self.count)


class FlopsTable(Bounds, frozen=True, kw_only=True):
    """``budget.flops``: bounds of one forward pass."""

    example = '{ max = "22G", seq_len = 128 }'

    min: Operations | None = None
    """The fewest FLOPs that pass: 20_000_000_000, or "20G"."""
    max: Operations | None = None
    """The most FLOPs that pass: 22_000_000_000, or "22G" (a multiply-add is 2 FLOPs)."""
    exact: Operations | None = None
    """The only number of FLOPs that passes, without min and max: 22_350_000_000, or "22.35G"."""
    seq_len: Annotated[int, Meta(ge=1, le=1_000_000)]
    """Tokens of the one forward pass that is counted. Example: seq_len = 128."""

    @property
    def measure(self) -> Measure:
        return Flops(self.seq_len)


class TrainingTable(Bounds, frozen=True):
    """``budget.training_bytes``: bounds of what training keeps of the parameters."""

    example = 'a size, or { max = "4GB", dtype = "bfloat16" }'

    min: TrainingBytes | None = None
    """The fewest bytes that pass: 1_700_000_000, or "1.7GB"."""
    max: TrainingBytes | None = None
    """The most bytes that pass: 1_800_000_000, "1.8GB", or "1.7GiB"."""
    exact: TrainingBytes | None = None
    """The only number of bytes that passes, without min and max: 1_751_718_336."""
    dtype: Annotated[str, check_trained_dtype] | None = None
    """What parameters that train are kept as, and with them gradients and moments; autocast keeps float32. Default:
    float32. Example: dtype = "bfloat16"."""
    frozen: Annotated[str, bits_of] | None = None
    """What parameters that do not train are kept as. Default: dtype. Example: frozen = "bfloat16"."""

    @property
    def measure(self) -> Measure:
        return Training(self.dtype, self.frozen)


class BudgetTable(Struct, frozen=True):
    """``budget``: limits by component, and of what the parameters take and do."""

    counts: dict[str, LimitTable] = {}
    """Limits of parameters, by component; their keys are those of the budget itself."""
    bytes: Annotated[BytesTable | None, Reads(partial(read_limit, BytesTable))] = None
    """What the parameters, and buffers that are saved, may take in a file or in memory: a size such as "440MB" or
    "420MiB", a limit by name such as "github-file", or a table.
    Example: budget.bytes = { max = "220MB", dtype = "float16" }."""
    flops: Annotated[FlopsTable | None, Reads(partial(read_limit, FlopsTable))] = None
    """What one forward pass may cost, 2 for a multiply-add, by torch's own counter.
    Example: budget.flops = { max = "22.4G", seq_len = 128 }."""
    training_bytes: Annotated[TrainingTable | None, Reads(partial(read_limit, TrainingTable))] = None
    """What training may keep of the parameters: themselves, gradients and the states of AdamW, without activations; a
    size or a table. Example: budget.training_bytes = "4GB"."""
    growth: Annotated[dict[str, str | int], Reads(read_growth)] = {}
    """What the total may grow by against the base that the run then needs: a share of it such as "1%", a count such as
    "500K", or 0; or a table by component. Example: budget.growth = { total = "1%", head = 0 }."""
    already_over: Literal["fail", "pass"] = "fail"
    """What becomes of an overrun that the base had already, by as much or more: "fail", or "pass" with a warning.
    Example: budget.already_over = "pass"."""

    def __post_init__(self) -> None:
        bounds = {component: limit.low_and_high for component, limit in self.counts.items()}
        for part, (least, _) in bounds.items():
            for whole in (*levels(part), TOTAL):
                _, most = bounds.get(whole, (None, None))
                if whole != part and least is not None and most is not None and least > most:
                    at_most = f"{shown(whole)}, which contains it, at most {most:,}"
                    raise ValueError(f"{shown(part)} is to be at least {least:,}, and {at_most}: no model can pass")


def read_budget(written: object) -> BudgetTable | None:
    """Read a budget, in which every key that is not one of :class:`BudgetTable` is a component."""
    if written == REPORT_ONLY:
        return None
    if written == {}:
        raise ValueError(f'an empty budget holds nothing: write budget.total = "110M", or budget = "{REPORT_ONLY}"')
    if not isinstance(written, dict):
        try:
            parse_count(written)
        except ValueError:
            total = '"110M"'
        else:
            total = shown(written)
        raise Mistake(f'{shown(written)} is not a budget: write budget.total = {total}, or budget = "{REPORT_ONLY}"')
    keys = {name: each for name, each in keys_of(BudgetTable).items() if name != "counts"}
    values, counts = {}, {}
    for key, value in written.items():
        with placed(key):
            if key in keys:
                values[key] = read_value(keys[key].type, value)
            else:
                counts[key] = read_component(key, value)
    if ALREADY_OVER in written and not (counts or {BYTES, FLOPS, TRAINING} & values.keys()):
        raise ValueError('already_over is about limits, and there is none: write budget.total = "110M"')
    return BudgetTable(counts, **values)


def read_component(component: str, value: object) -> LimitTable:
    """Read the limit of a component, whose name may be meant for a key of the budget."""
    try:
        return read_limit(LimitTable, value, component)
    except ValueError as error:
        meant = nearest_to(component, [BYTES, FLOPS, TRAINING, GROWTH, ALREADY_OVER], cutoff=0.75)
        hint = f"; or did you mean {meant!r}?" if meant and meant != component else ""
        raise Mistake(f"{error}{hint}", *(error.path if isinstance(error, Mistake) else ())) from None


def read_limit(kind: type[Table], value: object, component: str = "") -> Table:
    """Read a limit, of which a value alone is the most that passes."""
    if not isinstance(value, dict):
        try:
            return read_table(kind, {"max": value})
        except Mistake as mistake:
            raise Mistake(str(mistake)) from None
    for key in value:
        if kind is LimitTable and key not in keys_of(kind):
            has = "unknown key; a limit has min, max or exact"
            if component not in {TOTAL, TRAINABLE} and key:
                has += f". To limit the component, write budget.{shown(f'{component}.{key}')} = …"
            meant = did_you_mean(key, keys_of(kind), "")
            raise Mistake(f"unknown key; {meant}" if meant else has, key)
    return read_table(kind, value)


# tables


class BuildTable(Struct, frozen=True):
    """``build``: what building a model may take, and where."""

    seconds: Annotated[int, Meta(ge=1, le=MOST_SECONDS)] | None = None
    """Seconds that it may take, at most 600. Default: 30. Example: seconds = 120."""
    memory: Annotated[int, Reads(parse_memory)] | None = None
    """Memory that it may take beside its imports, at most "16GB". Default: 160 MiB, for a factory 1 GiB, on the CPU
    2 GiB. Example: memory = "4GB"."""
    device: Literal["meta", "cpu"] = "meta"
    """Where: on the meta device there are shapes and no values, which a class that asks for values needs the CPU for.
    Example: device = "cpu"."""


class LockTable(Struct, frozen=True):
    """``lock``: the file, and whether a difference from it is an error."""

    file: LockName
    """The file, relative to pyproject.toml and inside the project; its name ends in .lock.
    Example: file = "bertsize.lock"."""
    strict: bool = False
    """true makes every difference an error, which --bert-budget-update accepts. Default: a note.
    Example: strict = true."""


class ModelTable(Struct, frozen=True, kw_only=True):
    """A model, by the name that is its test id: letters, digits and . _ - + @, at most 100 of them. With {stem} or
    {folder} in it, a model for each file that config means: [tool.bertsize.models."bert-{stem}"] with
    config = "configs/*.json".
    """

    factory: Annotated[str, Meta(min_length=1), check_function_name] | None = None
    """A function of the project that returns the model, importable from the project's root. It is called with the
    config as a dict, or with nothing where there is no config.
    Example: factory = "classifier:build"."""
    config: Annotated[str | dict[str, Any] | None, Reads(read_text_or_table)] = None
    """The model's config, relative to pyproject.toml and inside the project: a config.json, Google's bert_config.json,
    a YAML or TOML file, a folder that holds exactly one config.json or bert_config.json, or all modules of a
    modules.json; "train.yaml#model" for an object in a file, "configs/*.json" for a model of each file,
    "acme.sizes:small" for what a function, a class or a constant of the project makes, has or names, a table for the
    config itself, or a name of the hub, as "bert-base-uncased".
    Example: config = "models/encoder/config.json"."""
    keys: dict[str, ClassName] = {}
    """The config's own names, each with the one that the family has.
    Example: keys = { num_blks = "num_hidden_layers" }."""
    ignored: list[Text] = []
    """Keys of the config that the library ignores and your own code reads: no warning is given of them.
    Example: ignored = ["fusion_layer"]."""
    family: ClassName | None = None
    """The family, only where the config has no model_type. Example: family = "bert"."""
    architecture: Annotated[str | dict[str, str] | None, Reads(read_architecture)] = None
    """The class that is built, or whose closed form is that of the backbone; of several backbones, perhaps one each.
    Default: the one entry of the config's "architectures".
    Example: architecture = "BertForMaskedLM"."""
    overrides: dict[str, Any] = {}
    """Keys that win over those of the config. Example: overrides = { vocab_size = 21128 }."""
    options: dict[str, bool] = {}
    """Arguments of the class's constructor, true or false. Example: options = { add_pooling_layer = false }."""
    backbone: Annotated[str | dict[str, str], Reads(read_backbone)] = ""
    """The attribute of what the factory returns that holds the library's own class; of several, each with its config.
    Example: backbone = { question_model = "configs/q.json", ctx_model = "configs/c.json" }."""
    extra: list[ExtraTable] = []
    """What the factory's class has beside the backbone, each by one block: linear, embedding, layer_norm, rms_norm,
    parameter, conv1d, conv2d, lstm, gru, multihead_attention, transformer_encoder_layer or transformer_decoder_layer.
    Example: extra = [{ name = "classifier", linear = ["hidden_size", 2] }]."""
    without: list[Text] = []
    """Modules or components of the backbone that the factory's class has deleted or replaced.
    Example: without = ["bert.encoder.layer[6:]", "embeddings.position"]."""
    tied: dict[str, str] = {}
    """Modules of the backbones that are others of them, and count once.
    Example: tied = { ctx_model = "question_model" }."""
    frozen: list[Text] = []
    """Modules that the factory's class does not train.
    Example: frozen = ["bert.embeddings", "bert.encoder.layer[:6]"]."""
    adapter: Annotated[str | dict[str, Any] | None, Reads(read_text_or_table)] = None
    """LoRA: the adapter_config.json that PEFT saves, or what it says as a table.
    Example: adapter = { r = 8, target_modules = ["query", "value"], task_type = "SEQ_CLS" }."""
    checkpoint: Text | None = None
    """The weights that belong to the config, of which names and shapes are read: a .safetensors file, its index,
    or a folder with one of them.
    Example: checkpoint = "released/model.safetensors"."""
    tokenizer: Text | None = None
    """The tokenizer that belongs to the config. Default: tokenizer.json, vocab.txt or vocab.json beside config or
    checkpoint.
    Example: tokenizer = "released/tokenizer.json"."""
    build: BuildTable | None = None
    """What building the model may take, where it needs more than others, or values.
    Example: build = { seconds = 120, memory = "4GB", device = "cpu" }."""
    closed_form: bool = True
    """false holds the model to its budget alone, because there is no closed form for its class; every
    report says so. Example: closed_form = false."""
    components: Annotated[dict[str, Any], check_components] = {}
    """Names for parts of a class without a closed form, each with the modules that it holds: a path, or a pattern of
    the names of tensors. Example: components = { tower = "vision.*" }."""
    reason: Text = ""
    """Why the budget is what it is; one that changes with the budget explains why it was loosened.
    Example: reason = "ADR-12: Chinese vocabulary"."""
    budget: Annotated[BudgetTable | None, Reads(read_budget)]
    """What the model may cost: limits by component, or "report-only" for a model that is counted, compared with its
    closed form and held to no limit.
    Example: budget.total = "110M"."""

    def __post_init__(self) -> None:
        several = isinstance(self.backbone, dict)
        if self.config is None and self.factory is None:
            raise Mistake('the model has no config: write config = "path/to/config.json"', "config")
        self._need(
            OF_A_FACTORY, 'this is about a class of the project\'s own: write factory = "module:function"', self.factory
        )
        remove = "closed_form = false compares nothing with it: remove it, or closed_form"
        self._need(OF_A_CLOSED_FORM, remove, self.closed_form)
        if self.closed_form and self.components:
            raise Mistake("the closed form says what the components are: remove it", "components")
        if not self.closed_form and self.factory is not None and self.options:
            message = "a factory is not given them, and closed_form = false compares nothing with them"
            raise Mistake(message, "options")
        remove = "this says something of a config, and there is none: write config, or remove it"
        self._need(OF_A_CONFIG, remove, self.config is not None or several)
        if several and self.config is not None:
            raise Mistake("each backbone has a config of its own: remove config", "config")
        if isinstance(self.architecture, dict):
            for name in self.architecture:
                if not isinstance(self.backbone, dict) or name not in self.backbone:
                    message = f"{shown(name)} is no backbone of this model: name those of backbone"
                    raise Mistake(message, "architecture")

    def _need(self, keys: Iterable[str], message: str, needed: object) -> None:
        """Refuse the first of some keys that is written without what it needs."""
        for key in keys:
            if not needed and getattr(self, key):
                raise Mistake(message, key)


class BertsizeTable(Struct, frozen=True, kw_only=True):
    """Budgets that pytest-bertsize holds BERT-family models to, component by component."""

    models: dict[str, ModelTable]
    """The models that are checked, one table each. Example: [tool.bertsize.models.encoder]."""
    closed_forms: list[Text] = []
    """TOML files with closed forms of the project's own, which every command reads.
    Example: closed_forms = ["sizes/forms.toml"]."""
    hub: dict[str, Text] = {}
    """Configs of the project by the names that models have on the hub: what config means by such a name, and what
    from_pretrained is answered with while a factory runs. Example: hub = { "org/name" = "configs/x.json" }."""
    lock: Annotated[LockTable | None, Reads(read_lock)] = None
    """A file with the tensors of every model as they were last accepted, which --bert-budget-update writes: the base of
    classes without a closed form, and a note of every difference; with strict = true an error.
    Example: lock = "bertsize.lock"."""
    python: Text | None = None
    """The interpreter of the environment that models are built in, relative to pyproject.toml; it needs torch, and
    transformers for its classes. Default: that of the gate. Example: python = ".venv/bin/python"."""
    removed: dict[str, Text] = {}
    """Why models that a base holds to a budget are declared no more, by their names; a later change may drop it.
    Example: removed = { encoder = "ADR-14: replaced by the small one" }."""
    transformers: Annotated[str, Meta(min_length=1), parsed] | None = None
    """The release of transformers that the project runs, for --no-build where none is installed beside the gate; where
    one is, that one counts, and this may say nothing else. Example: transformers = "4.57"."""


def read_declarations(table: dict[str, Any]) -> BertsizeTable:
    """Convert ``[tool.bertsize]``: each model on its own, and each other key.

    :raises Mistakes: with the first mistake of each.
    """
    if long := find_long_number(table):
        raise Mistakes([Mistake("a number of thousands of digits; write the number that is meant", *long)])
    keys, values, mistakes = keys_of(BertsizeTable), {}, []
    models: dict[str, ModelTable] = {}
    for key, value in table.items():
        named = value.items() if key == "models" and isinstance(value, dict) else ()
        try:
            if not named:
                values[key] = read_key(keys, key, value)
        except Mistake as mistake:
            mistakes.append(mistake)
        for name, written in named:
            try:
                with placed("models", name):
                    check_model_name(re.sub(r"\{\w*\}", "_", name))
                    models[name] = read_table(ModelTable, written)
            except Mistake as mistake:
                mistakes.append(mistake)
    if table.get("models", {}) == {}:
        nearest = nearest_to("models", table.keys() - {"models"})
        where = f"where it says [tool.bertsize.{printable(nearest)}]"
        meant = f"; did you mean [tool.bertsize.models] {where}?" if nearest else ""
        mistakes.append(Mistake(f"no model is declared{meant}; {EXAMPLE}", "models"))
    if mistakes:
        raise Mistakes(mistakes)
    return BertsizeTable(**{**values, "models": models})


def find_long_number(value: object, key: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The key of the first number too long to be written, which TOML has as ``0x…``; empty where there is none."""
    if isinstance(value, dict | list):
        inner = value.items() if isinstance(value, dict) else enumerate(value)
        return next(filter(None, (find_long_number(each, (*key, str(name))) for name, each in inner)), ())
    return key if type(value) is int and value.bit_length() > LONGEST_NUMBER else ()


# conversion


@contextmanager
def placed(*path: str) -> Iterator[None]:
    """Give a mistake the key in which it was made."""
    try:
        yield
    except Mistake as mistake:
        raise Mistake(str(mistake), *path, *mistake.path) from None
    except ValueError as error:
        raise Mistake(str(error), *path) from None


@lru_cache
def keys_of(kind: type[Struct]) -> Mapping[str, FieldInfo]:
    return {field.name: field for field in fields(kind)}


def read_table(kind: type[Table], written: object) -> Table:
    """Convert a table, key by key in the author's order.

    :raises Mistake: for the first that cannot be converted.
    """
    if not isinstance(written, dict):
        raise Mistake(f"{shown(written)} is not a table")
    keys = keys_of(kind)
    values = {key: read_key(keys, key, value) for key, value in written.items()}
    for key, field in keys.items():
        if field.required and key not in written:
            raise Mistake(_MISSING[key], key)
    return kind(**values)


def read_key(keys: Mapping[str, FieldInfo], key: str, value: object) -> Any:
    with placed(key):
        if key not in keys:
            there_are = f"there are {', '.join(keys)}"
            raise ValueError(f"unknown key; {did_you_mean(key, keys, there_are)}")
        return read_value(keys[key].type, value)


def read_value(kind: Any, value: Any) -> Any:
    """Convert one value.

    :raises ValueError: naming what is written, and what to write.
    """
    if get_origin(kind) in {Union, UnionType}:  # a type or None; unions of two types have a reader
        kind = next(each for each in get_args(kind) if each is not NoneType)
    beside = getattr(kind, "__metadata__", ())
    for each in beside:
        if isinstance(each, Reads):
            return each.read(value)
    plain = get_args(kind)[0] if beside else kind
    if isinstance(plain, type) and issubclass(plain, Struct):
        return read_table(plain, value)
    of_each = get_args(plain)[-1:] or (Any,)
    if isinstance(value, dict) and get_origin(plain) is dict and of_each[0] is not Any:
        return {key: _read_placed(of_each[0], each, key) for key, each in value.items()}
    if isinstance(value, list) and get_origin(plain) is list:
        return [_read_placed(of_each[0], each, str(index)) for index, each in enumerate(value)]
    try:
        found = msgspec.convert(value, kind)
    except msgspec.ValidationError:
        raise ValueError(_name_expected(plain, beside, value)) from None
    for check in filter(callable, beside):
        check(found)
    return found


def _read_placed(kind: Any, value: object, key: str) -> Any:
    with placed(key):
        return read_value(kind, value)


def _name_expected(plain: Any, beside: tuple[Any, ...], value: object) -> str:
    if value == "":
        return "an empty string says nothing"
    if get_origin(plain) is Literal:
        return f"{shown(value)} is not one of {', '.join(map(shown, get_args(plain)))}"
    limits = next((each for each in beside if isinstance(each, Meta) and each.le), None)
    if limits and type(value) is int:
        return f"{shown(value)} is not a number from {limits.ge:,} to {limits.le:,}"
    expected = _EXPECTED[get_origin(plain) or plain]
    return f"{shown(value)} is not {expected}{' of tables' if get_args(plain) == (ExtraTable,) else ''}"


_EXPECTED = {str: "a string", bool: "true or false", int: "a whole number", list: "a list", dict: "a table"}
_MISSING = {
    "name": 'it has no name: write name = "classifier", the path of the module in the class',
    "file": 'it names no file: write file = "bertsize.lock"',
    "seq_len": "it says no length: write seq_len = 128, the tokens of one forward pass",
    "budget": f'the model has no budget: write budget.total = "110M", or budget = "{REPORT_ONLY}"',
}
