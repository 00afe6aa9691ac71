"""What ``[tool.bertsize]`` may say: its keys, their types, and what does not go together.

What stands below a key is what editors show of it: the schema is made of it, by
``python -m pytest_bertsize.table.validate_pyproject``.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Self

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

from pytest_bertsize.release import parsed
from pytest_bertsize.table.budget import BudgetTable, budget_or_report_only
from pytest_bertsize.table.build_and_lock import BuildTable, LockTable, component_patterns, lock_from_path
from pytest_bertsize.table.extra import ExtraTable  # noqa: TC001  (pydantic looks it up)
from pytest_bertsize.table.names import backbone_or_backbones, class_name, class_or_classes, function_name
from pytest_bertsize.wording import shown

TABLE = ("tool", "bertsize")
EXAMPLE = (
    """write, for example, [tool.bertsize.models.encoder] with config = "config.json" and budget.total = "110M\""""
)

OF_A_FACTORY = ("backbone", "extra", "without", "tied", "frozen")
OF_A_CLOSED_FORM = ("ignored", "backbone", "extra", "without", "tied", "frozen", "tokenizer")
OF_A_CONFIG = ("keys", "ignored", "family", "architecture", "overrides", "backbone")
"""Keys of a model that say something of what another key names."""


class MistakeAt(ValueError):
    """Keys of one table that do not go together; told at one of them."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


def model_name(name: str) -> str:
    if not re.fullmatch(r"\w[\w.+@-]{0,99}", name):
        raise ValueError("a model's name is its test id: letters, digits and . _ - + @, at most 100 of them")
    return name


def declared_name(name: str) -> str:
    """A model's name, or that of several: with a placeholder for what tells their files apart."""
    model_name(re.sub(r"\{\w*\}", "_", name))
    return name


def text_or_table(value: object) -> object:
    if value == "":
        raise ValueError("an empty string says nothing")
    if value == {}:
        raise ValueError("an empty table says nothing")
    if not isinstance(value, str | dict):
        raise ValueError(f"{shown(value)} is not a string, nor a table")  # noqa: TRY004  (what pydantic turns into its own)
    return value


def config_or_none(value: object, said: ValidationInfo) -> object:
    """Of what there is no config for, a function has to say: it is looked at before."""
    if value is None and "factory" in said.data and said.data["factory"] is None:
        raise ValueError('the model has no config: write config = "path/to/config.json"')
    return value if value is None else text_or_table(value)


def release_name(name: str) -> str:
    parsed(name)
    return name


Text = Annotated[str, Field(min_length=1)]
ClassName = Annotated[Text, AfterValidator(class_name)]
ReleaseName = Annotated[Text, AfterValidator(release_name)]
Name = Annotated[str, AfterValidator(declared_name)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, defer_build=True)  # the whole table is built at once


class ModelTable(_Strict):
    """A model, by the name that is its test id: letters, digits and . _ - + @, at most 100 of them. With {stem} or
    {folder} in it, a model for each file that config means: [tool.bertsize.models."bert-{stem}"] with
    config = "configs/*.json".
    """

    factory: Annotated[Text, AfterValidator(function_name)] | None = None
    """A function of the project that returns the model, importable from the project's root. It is called with the
    config as a dict, or with nothing where there is no config.
    Example: factory = "classifier:build"."""
    config: Annotated[str | dict[str, Any] | None, PlainValidator(config_or_none), Field(validate_default=True)] = None
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
    architecture: Annotated[str | dict[str, str] | None, PlainValidator(class_or_classes)] = None
    """The class that is built, or whose closed form is that of the backbone; of several backbones, perhaps one each.
    Default: the one entry of the config's "architectures".
    Example: architecture = "BertForMaskedLM"."""
    overrides: dict[str, Any] = {}
    """Keys that win over those of the config. Example: overrides = { vocab_size = 21128 }."""
    options: dict[str, bool] = {}
    """Arguments of the class's constructor, true or false. Example: options = { add_pooling_layer = false }."""
    backbone: Annotated[str | dict[str, str], PlainValidator(backbone_or_backbones)] = ""
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
    adapter: Annotated[str | dict[str, Any] | None, PlainValidator(text_or_table)] = None
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
    components: Annotated[dict[str, Any], AfterValidator(component_patterns)] = {}
    """Names for parts of a class without a closed form, each with the modules that it holds: a path, or a pattern of
    the names of tensors. Example: components = { tower = "vision.*" }."""
    reason: Text = ""
    """Why the budget is what it is; one that changes with the budget explains why it was loosened.
    Example: reason = "ADR-12: Chinese vocabulary"."""
    budget: Annotated[BudgetTable | None, BeforeValidator(budget_or_report_only)]
    """What the model may cost: limits by component, or "report-only" for a model that is counted, compared with its
    closed form and held to no limit.
    Example: budget.total = "110M"."""

    @model_validator(mode="after")
    def _go_together(self) -> Self:
        for key in OF_A_FACTORY:
            if self.factory is None and getattr(self, key):
                raise MistakeAt(key, 'this is about a class of the project\'s own: write factory = "module:function"')
        for key in OF_A_CLOSED_FORM:
            if not self.closed_form and getattr(self, key):
                raise MistakeAt(key, "closed_form = false compares nothing with it: remove it, or closed_form")
        if self.closed_form and self.components:
            raise MistakeAt("components", "the closed form says what the components are: remove it")
        if not self.closed_form and self.factory is not None and self.options:
            raise MistakeAt(
                "options", "a factory is not given them, and closed_form = false compares nothing with them"
            )
        several = isinstance(self.backbone, dict)
        for key in OF_A_CONFIG:
            if self.config is None and not several and getattr(self, key):
                raise MistakeAt(key, "this says something of a config, and there is none: write config, or remove it")
        self._of_several(several=several)
        return self

    def _of_several(self, *, several: bool) -> None:
        """Refuse what only several backbones can have, and what they cannot."""
        if several and self.config is not None:
            raise MistakeAt("config", "each backbone has a config of its own: remove config")
        if isinstance(self.architecture, dict):
            others = [name for name in self.architecture if name not in self.backbone or not several]
            if others:
                raise MistakeAt(
                    "architecture", f"{shown(others[0])} is no backbone of this model: name those of backbone"
                )


class BertsizeTable(_Strict):
    """Budgets that pytest-bertsize holds BERT-family models to, component by component."""

    models: Annotated[dict[Name, ModelTable], Field(min_length=1)]
    """The models that are checked, one table each. Example: [tool.bertsize.models.encoder]."""
    closed_forms: list[Text] = []
    """TOML files with closed forms of the project's own, which every command reads.
    Example: closed_forms = ["sizes/forms.toml"]."""
    hub: dict[str, Text] = {}
    """Configs of the project by the names that models have on the hub: what config means by such a name, and what
    from_pretrained is answered with while a factory runs. Example: hub = { "org/name" = "configs/x.json" }."""
    lock: Annotated[LockTable, BeforeValidator(lock_from_path)] | None = None
    """A file with the tensors of every model as they were last accepted, which --bert-budget-update writes: the base of
    classes without a closed form, and a note of every difference; with strict = true an error.
    Example: lock = "bertsize.lock"."""
    python: Text | None = None
    """The interpreter of the environment that models are built in, relative to pyproject.toml; it needs torch, and
    transformers for its classes. Default: that of the gate. Example: python = ".venv/bin/python"."""
    removed: dict[str, Text] = {}
    """Why models that a base holds to a budget are declared no more, by their names; a later change may drop it.
    Example: removed = { encoder = "ADR-14: replaced by the small one" }."""
    transformers: ReleaseName | None = None
    """The release of transformers that the project runs, for --no-build where none is installed beside the gate; where
    one is, that one counts, and this may say nothing else. Example: transformers = "4.57"."""
