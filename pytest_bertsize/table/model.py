"""``[tool.bertsize]``: its keys as structs, and the checks that concern several keys of a model.

Editors show the text below a key: ``docs/generate.py`` writes it into the JSON Schema.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta, Struct, structs

from pytest_bertsize.quantity import parse_bytes
from pytest_bertsize.release import parse_release
from pytest_bertsize.table.extra import Component, Extra
from pytest_bertsize.table.limits import REPORT_ONLY, Budget, Limit, read_budget
from pytest_bertsize.table.reading import Key, Mistake, read_keys, read_value
from pytest_bertsize.wording import shown

TABLE = ("tool", "bertsize")
TABLE_BY_HAND = '[tool.bertsize.models.encoder] with config = "config.json" and budget.total = "110M"'
EXAMPLE = f"run bertsize init, which proposes tables, or write {TABLE_BY_HAND}"
ADAPTER = "adapter_config.json"
NAMES = ("config.json", "bert_config.json")  # names of a config file in a folder; the folder may have only one of them
YAML = (".yaml", ".yml")
TOML = ".toml"
FILES = (".json", *YAML, TOML)  # suffixes of files that hold a config
CODE = (".py", ".sh", ".cfg")  # suffixes of files that hold no config themselves, but the code or settings of a run
_NAME = r"[^\W\d]\w*"
_CODE = re.compile(rf"{_NAME}(?:\.{_NAME})*:{_NAME}(?:\.{_NAME})*")

MOST_SECONDS = 600  # the most seconds that a table may allow for the build of one model
# The fewest and the most bytes of memory that a table may allow for a build; hosted CI runners have at most 16 GB.
LEAST_MEMORY, MOST_MEMORY = 10**6, 16 * 10**9
DOTTED = r"[A-Za-z_][0-9A-Za-z_]*(\.[0-9A-Za-z_]+)*"  # pattern of a dotted Python name in ASCII
_FILE = r"""([^\s:'"]+\.{0}|'[^':]+\.{0}'|"[^":]+\.{0}")"""
COMMAND = rf"""(python3? (-m {DOTTED}|{_FILE.format("py")})|bash {_FILE.format("sh")})( .*)?"""
FACTORY = {"pattern": rf"^({DOTTED}:{DOTTED}|{COMMAND})\Z", "not": {"pattern": r"^[^:\s]*\.py:"}}
NO_EFFECT = "with closed_form = false this key has no effect: remove one of the two"
OF_A_FACTORY = ("kwargs", "backbone", "extra", "without", "tied", "frozen")
OF_A_CLOSED_FORM = ("ignored", "backbone", "extra", "without", "tied", "frozen", "tokenizer")
# Keys that need a config; those of ``OF_A_FACTORY`` need a factory, those of ``OF_A_CLOSED_FORM`` a closed form.
OF_A_CONFIG = ("keys", "ignored", "overrides")
# Keys of a model whose values ``bertsize init`` finds in the built model.
FOUND = ("closed_form", "architecture", "backbone", "family", "options", "tied", "without", "frozen", "extra")


# values


def parse_memory(value: object) -> int:
    found = parse_bytes(value)
    if not LEAST_MEMORY <= found <= MOST_MEMORY:
        raise ValueError(f'{shown(value)} is not an amount of memory for a build: write "1MB" to "16GB"')
    return found


def check_model_name(name: str) -> None:
    if not re.fullmatch(r"\w[\w.+@-]{0,99}", name):
        raise ValueError("a model's name is its test id: use letters, digits and . _ - + @, at most 100 characters")


def split_command(factory: str) -> list[str]:
    """Return the words after ``python`` or ``bash``, none for a function; raise ValueError for an open quotation."""
    return shlex.split(factory)[1:] if re.fullmatch(COMMAND, factory) else []


def check_factory(written: str) -> None:
    try:
        if split_command(written):
            return
    except ValueError as error:
        raise ValueError(f"{shown(written)} is not a command: {error}") from None
    if written.partition(":")[0].endswith(".py") or not re.fullmatch(f"{DOTTED}:{DOTTED}", written):
        there = "in ASCII and importable from here"
        instead = f'write factory = "module:function", {there}, or a command such as "python train.py"'
        raise ValueError(f"{shown(written)} does not name a function: {instead}")


def check_argument(name: str) -> None:
    if not name.isidentifier():
        raise ValueError(f"{shown(name)} is not the name of an argument: write labels = 9, for example")


def check_plain(table: dict[str, Any]) -> None:
    """Check that the values of a table can be sent to another process, as JSON."""
    for name, each in table.items():
        try:
            json.dumps(each, allow_nan=False)
        except (TypeError, ValueError):
            raise Mistake(f"{shown(each)} cannot be written as JSON: write a number or a string", name) from None


def read_lock(value: object) -> Lock:
    found = read_value(LockName | Lock, value)
    return found if isinstance(found, Lock) else Lock(found)


Values = Annotated[dict[str, Any], check_plain]
Kwargs = Annotated[dict[Annotated[str, check_argument], Any], check_plain]
Text = Annotated[str, Meta(min_length=1)]
TextOrTable = Text | Annotated[dict[str, Any], Meta(min_length=1)]
ClassName = Annotated[
    str,
    Meta(min_length=1, pattern=r"^[A-Za-z_][0-9A-Za-z_-]{0,99}\Z"),
    Key(says="is not a name: use letters, digits, _ and -, at most 100 characters"),
]
ModulePath = Annotated[
    str,
    Meta(pattern=r"^[0-9A-Za-z_]+(\.[0-9A-Za-z_]+)*\Z"),
    Key(says='is not the path of a module: write backbone = "bert", the attribute that holds it'),
]
LockName = Annotated[
    str, Meta(pattern=r"[^\x00]\.lock\Z"), Key(says='is not the name of a lock file: write lock = "bertsize.lock"')
]
OneOrEach = ClassName | Annotated[dict[ModulePath, ClassName], Meta(min_length=1)]
OneOrSeveral = (
    ModulePath
    | Annotated[tuple[ModulePath, ...], Meta(min_length=1)]
    | Annotated[dict[ModulePath, Text], Meta(min_length=1)]
)
Components = dict[Component, Text | Annotated[tuple[Text, ...], Meta(min_length=1)]]


# tables


class Build(Struct, frozen=True):
    """``build``: the resources and the device of a build."""

    #: The seconds that the build may take, at most 600. Default: 30. Example: seconds = 120.
    seconds: Annotated[int, Meta(ge=1, le=MOST_SECONDS)] | None = None
    #: The memory that the build may take beyond that of its imports, at most "16GB". Default: 160 MiB; for a factory 1
    #: GiB; on the CPU 2 GiB. Example: memory = "4GB".
    memory: Annotated[int, Key(parse_memory)] | None = None
    #: The device of the build, "meta" or "cpu". The meta device has shapes but no values, so a class that reads values
    #: needs "cpu". Default: "meta". Example: device = "cpu".
    device: Literal["meta", "cpu"] = "meta"


class Lock(Struct, frozen=True):
    """``lock``: the lock file, and whether a difference from it is an error."""

    #: The file, relative to pyproject.toml and inside the project; its name ends in .lock. Example: file =
    #: "bertsize.lock".
    file: Annotated[LockName, Key(missing='it names no file: write file = "bertsize.lock"')]
    #: true makes every difference an error. Default: a note. Example: strict = true.
    strict: bool = False


class Model(Struct, frozen=True, kw_only=True):
    """A model. Its name is its test id: letters, digits and . _ - + @, at most 100 characters. A name with {stem} or
    {folder} declares one model for each file that config matches: [tool.bertsize.models."bert-{stem}"] with
    config = "configs/*.json".
    """

    #: The code that makes the model: a function or class of the project, importable from its root, pytest's
    #: ``pythonpath`` or ``src``; or the command that trains the model, such as "python train.py --width 256" or "bash
    #: run.sh", if the script calls check_model(model, "NAME"). A factory that takes an argument gets the config as a
    #: dict; a subclass of PreTrainedModel gets a config object. Example: factory = "classifier:build".
    factory: Annotated[str, Meta(min_length=1, extra_json_schema=FACTORY), check_factory] | None = None
    #: Keyword arguments of the factory, as JSON values. Sizes in ``extra`` may name these arguments. Example: kwargs =
    #: { labels = 9 }.
    kwargs: Kwargs = {}
    #: The model's config: a JSON, YAML or TOML file or its folder, relative to pyproject.toml; "train.yaml#model" for
    #: an object in a file; "configs/*.json" for one model per file; "acme.sizes:small" for a config that a function of
    #: the project returns; the config itself as a table; or a model's name on the hub. Example: config =
    #: "models/encoder/config.json".
    config: Annotated[str, Key(written=TextOrTable)] = ""
    #: Your own names of keys in the config, each with the family's name of the key. Example: keys = { num_blks =
    #: "num_hidden_layers" }.
    keys: dict[str, ClassName] = {}
    #: Keys of the config that the library ignores but your own code reads. A run does not warn of these keys. Example:
    #: ignored = ["fusion_layer"].
    ignored: tuple[Text, ...] = ()
    #: The family, for a config that has no model_type. Example: family = "bert".
    family: ClassName | None = None
    #: The class of the model or, if a factory makes the model, of its backbone; for several backbones, a table with the
    #: class of each. Default: the only class in the config's "architectures". Example: architecture =
    #: "BertForMaskedLM".
    architecture: Annotated[str | None, Key(written=OneOrEach)] = None
    #: Keys that replace those of the config. Example: overrides = { vocab_size = 21128 }.
    overrides: Values = {}
    #: Arguments of the class's constructor, each true or false. Example: options = { add_pooling_layer = false }.
    options: dict[str, bool] = {}
    #: The attribute of the built model that holds the library's model. For several backbones: a list of attributes, or
    #: a table with the config of each. Example: backbone = { question_model = "configs/q.json", ctx_model =
    #: "configs/c.json" }.
    backbone: Annotated[str, Key(written=OneOrSeveral)] = ""
    #: The modules that the factory's class has beside the backbone, each with a name and a key for its kind
    #: (``linear``, ``embedding`` …), whose value is its sizes. Example: extra = [{ name = "classifier", linear =
    #: ["hidden_size", 2] }].
    extra: tuple[Extra, ...] = ()
    #: Modules or components of the backbone that the factory's class has deleted or replaced. Example: without =
    #: ["bert.encoder.layer[6:]", "embeddings.position"].
    without: tuple[Text, ...] = ()
    #: Modules that are the same object as another module, each with the path of that other module. Such an object
    #: counts once. Example: tied = { ctx_model = "question_model" }.
    tied: dict[str, str] = {}
    #: Modules that the factory's class does not train. Example: frozen = ["bert.embeddings", "bert.encoder.layer[:6]"].
    frozen: tuple[Text, ...] = ()
    #: LoRA: the adapter_config.json that PEFT saves, or the same keys as a table. Example: adapter = { r = 8,
    #: target_modules = ["query", "value"], task_type = "SEQ_CLS" }.
    adapter: Annotated[str | dict[str, Any] | None, Key(written=TextOrTable)] = None
    #: The weights that belong to the config: a .safetensors file, its index, or a folder that holds either. Example:
    #: checkpoint = "released/model.safetensors".
    checkpoint: Text | None = None
    #: The tokenizer that belongs to the config. Default: tokenizer.json, vocab.txt or vocab.json beside config or
    #: checkpoint. Example: tokenizer = "released/tokenizer.json".
    tokenizer: Text | None = None
    #: Time, memory and device of the build, if the defaults do not fit. Example: build = { seconds = 120, memory =
    #: "4GB", device = "cpu" }.
    build: Build = Build()
    #: "strict" makes every difference from the lock (the file of accepted tensors) an error for this model. Example:
    #: lock = "strict".
    lock: Literal["strict"] | None = None
    #: ``false`` for a class without a closed form: a run then compares the model only with its budget and its lock, and
    #: every report says so. Example: closed_form = false.
    closed_form: bool = True
    #: Components of a class without a closed form. The value of each is a module's path, a pattern of tensor names, or
    #: a list of these. Example: components = { tower = "vision.*" }.
    components: Annotated[dict[str, tuple[str, ...]], Key(written=Components)] = {}
    #: The reason for the budget. A budget that was loosened needs a new reason. Example: reason = "ADR-12: Chinese
    #: vocabulary".
    reason: Text = ""
    #: Limits by component, or "report-only" for a model without limits. Example: budget.total = "110M".
    budget: Annotated[
        Budget,
        Key(read_budget, missing=f'the model has no budget: write budget.total = "…", or budget = "{REPORT_ONLY}"'),
    ]

    # beside the keys of the table
    BESIDE: ClassVar = ("name", "table_key", "inline", "backbones", "classes")

    name: str = ""
    table_key: tuple[str, ...] = ()  # the key of the table; empty if no table declares the model
    inline: dict[str, Any] | None = None  # the config itself if the table contains it; ``config`` is its place there
    #: The configs of several backbones by their attributes; ``config`` and ``backbone`` are empty if there are any.
    backbones: dict[str, str] = {}
    classes: dict[str, str] = {}  # the class of each backbone by its attribute, if they have several classes

    def replace(self, **changes: Any) -> Model:
        return structs.replace(self, **changes)

    @property
    def limits(self) -> tuple[Limit, ...]:
        return self.budget.limits

    @property
    def is_made_by_code(self) -> bool:
        """Tell whether a function of the project returns the config: ``"pkg.cfg:make"``."""
        location = self.config.partition("#")[0]
        is_file = self.inline is not None or location.lower().endswith(FILES)
        return not is_file and _CODE.fullmatch(location) is not None

    @property
    def file(self) -> str:
        """The file, the folder or the name on the hub in ``config``; ``""`` if code or the table has the config."""
        elsewhere = self.inline is not None or self.is_made_by_code
        return "" if elsewhere else self.config.partition("#")[0]

    @property
    def adapter_file(self) -> str | None:
        """The file of the adapter's config; in a folder that PEFT saved, the file inside it."""
        if not isinstance(self.adapter, str):
            return None
        return self.adapter if self.adapter.endswith(".json") else f"{self.adapter.rstrip('/')}/{ADAPTER}"

    @property
    def command(self) -> tuple[str, ...]:
        """The words after ``python`` or ``bash``, if a command makes the model."""
        return tuple(split_command(self.factory or ""))

    @property
    def init_command(self) -> str:
        """Return the ``bertsize init`` command for the factory; ``""`` without a factory, or if a key has no option."""
        if self.factory is None or self.adapter is not None or any(self.backbones.values()):
            return ""
        kwargs = json.dumps(self.kwargs) if self.kwargs else ""
        options = {"--name": self.name, "--config": self.config, "--kwargs": kwargs}
        words = (word for option, value in options.items() if value for word in (option, value))
        return shlex.join(("bertsize", "init", self.factory, *words))

    @property
    def has_config_of_build(self) -> bool:
        """Return whether the sizes of the backbones come from the configs inside the built model."""
        names_backbone = self.architecture or self.classes or self.family or self.backbone or self.backbones
        return bool(self.closed_form and names_backbone) and not self.has_config

    @property
    def has_config(self) -> bool:
        """Return whether the table names a config for the model or for each backbone."""
        return bool(self.config or any(self.backbones.values()))

    @property
    def identity(self) -> str:
        """Return a text that identifies the model's config, whatever the model's name is."""
        if self.inline is not None:
            return json.dumps(self.inline, sort_keys=True, default=str)
        return self.config or ", ".join(filter(None, self.backbones.values())) or self.factory or ""


# Keys whose value may be a table, each with the field of :class:`Model` that gets such a table.
SEVERAL = {"config": "inline", "backbone": "backbones", "architecture": "classes"}


def read_model(written: object) -> Model:
    """Read one model's table; raise :class:`Mistake` for the first mistake in it."""
    values = read_keys(Model, written)
    if isinstance(backbones := values.get("backbone"), tuple):
        values["backbone"] = dict.fromkeys(backbones, "")
    _check_together(values)
    for key in SEVERAL.keys() & values.keys():
        if isinstance(values[key], dict):
            values[SEVERAL[key]] = values.pop(key)
    for name, patterns in values.get("components", {}).items():
        values["components"][name] = (patterns,) if isinstance(patterns, str) else patterns
    if kwargs := values.get("kwargs"):
        values["extra"] = tuple(each.with_numbers(kwargs) for each in values.get("extra", ()))
    return Model(**values)


def _check_together(values: Mapping[str, Any]) -> None:
    config, factory, backbone, classes = map(values.get, ("config", "factory", "backbone", "architecture"))
    closed_form = values.get("closed_form", True)
    several = backbone if isinstance(backbone, dict) else {}
    if not config and not factory:
        raise Mistake('the model has no config: write config = "path/to/config.json"', "config")
    needs: tuple[tuple[object, tuple[str, ...], str], ...] = (
        (not split_command(factory or ""), ("kwargs",), "a command has no kwargs: write its options into the command"),
        (factory, OF_A_FACTORY, 'this key describes a class of your project: write factory = "module:function" too'),
        (closed_form, OF_A_CLOSED_FORM, NO_EFFECT),
        (closed_form or not factory, ("options",), NO_EFFECT),
        (not closed_form, ("components",), "the closed form already defines the components: remove this key"),
        (config or several, OF_A_CONFIG, "this key has no effect without a config: write config, or remove this key"),
        (
            config or closed_form,
            ("family", "architecture"),
            "this key has no effect without a closed form or a config: remove this key",
        ),
        (not several, ("config",), "each backbone has a config of its own: remove config"),
    )
    for needed, keys, message in needs:
        if key := next((key for key in keys if values.get(key) and not needed), ""):
            raise Mistake(message, key)
    for name in classes if isinstance(classes, dict) else ():
        if name not in several:
            message = f"{shown(name)} is not a backbone of this model: use the names of the key 'backbone'"
            raise Mistake(message, "architecture")


class BertsizeTable(Struct, frozen=True, kw_only=True):
    """BERT-family models and their budgets, component by component, for pytest-bertsize."""

    #: The models that are checked, one table each. Example: [tool.bertsize.models.encoder].
    models: dict[str, Model]
    #: TOML files with closed forms of the project's own, which every command reads. Example: closed_forms =
    #: ["sizes/forms.toml"].
    closed_forms: tuple[Text, ...] = ()
    #: Files of the project by the names of models on the hub. A file is read in place of the hub's config if config, or
    #: from_pretrained inside a factory, has the name. Example: hub = { "org/name" = "configs/x.json" }.
    hub: dict[str, Text] = {}
    #: A file that bertsize accept writes, with every model's tensors as last accepted. If a class has no closed form,
    #: the lock takes its place. Each difference is a note, or with strict = true an error. Example: lock =
    #: "bertsize.lock".
    lock: Annotated[Lock | None, Key(read_lock, LockName | Lock)] = None
    #: The interpreter that builds the models, relative to pyproject.toml; it needs torch, and for classes of
    #: transformers that library. Default: the interpreter that runs pytest. Example: python = ".venv/bin/python".
    python: Text | None = None
    #: Models of the base that are no longer declared, each with the reason; a later change may drop the entry. Example:
    #: removed = { encoder = "ADR-14: replaced by the small one" }.
    removed: dict[str, Text] = {}
    #: The release of transformers that the project uses, for --no-build where no release is installed; if one is
    #: installed, this key must name the same release. Example: transformers = "4.57".
    transformers: Annotated[str, Meta(min_length=1), parse_release] | None = None
