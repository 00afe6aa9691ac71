"""What a LoRA adapter of PEFT consists of: PEFT's ``adapter_config.json``, or a table that says the same.

Each field of peft 0.21.2's ``LoraConfig`` is one of four: it changes what is counted here (:class:`Adapter`), it never
changes a count, a name, a shape or what trains (:data:`INERT`), it changes them in a way that has no closed form
(:data:`WITHOUT_CLOSED_FORM`), or it makes PEFT run code that the file names (:data:`REFUSED`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from pytest_bertsize.config.peft_methods import METHODS, TARGETS, given, wrong
from pytest_bertsize.config.source import Disk
from pytest_bertsize.config.text_files import parse_json
from pytest_bertsize.findings import Finding, Kind, Unusable
from pytest_bertsize.wording import did_you_mean, number, printable, shown

if TYPE_CHECKING:
    from pytest_bertsize.config.model_config import ModelConfig
    from pytest_bertsize.config.source import Reader
    from pytest_bertsize.table.model import Model
    from pytest_bertsize.table.settings import Settings

    Place: TypeAlias = Callable[[str], Mapping[str, Any]]
    """Where a key stands, as keyword arguments of a :class:`~pytest_bertsize.findings.Finding`."""

Bias: TypeAlias = Literal["none", "all", "lora_only"]

ALL_LINEAR = "all-linear"
LARGEST_RANK = 1_000_000
MOST_NAMES = 1_000
"""Module names in one list."""
LONGEST_PATTERN = 1_000
"""Characters."""

INERT = frozenset(
    {
        *("alpha_pattern", "lora_alpha", "lora_dropout", "use_rslora", "fan_in_fan_out", "alora_invocation_tokens"),
        *("loftq_config", "corda_config", "eva_config", "lora_ga_config", "megatron_core", "qalora_group_size"),
        *("auto_mapping", "base_model_name_or_path", "peft_version", "revision", "runtime_config"),
    }
)
"""Never given to PEFT: scaling, dropout and initial values, and what says where the file comes from."""
WITHOUT_CLOSED_FORM = (
    *("layer_replication", "target_parameters", "trainable_token_indices"),
    *("ensure_weight_tying", "use_qalora", "arrow_config", "kasa_config", "monteclora_config", "velora_config"),
    "use_bdlora",
)
REFUSED = ("megatron_config",)
COUNTED = (
    *("r", "target_modules", "exclude_modules", "modules_to_save", "bias", "use_dora", "lora_bias", "rank_pattern"),
    *("layers_to_transform", "layers_pattern", "task_type", "peft_type", "inference_mode", "init_lora_weights"),
)
KNOWN = frozenset((*COUNTED, *INERT, *WITHOUT_CLOSED_FORM, *REFUSED))

TASKS = ("SEQ_CLS", "SEQ_2_SEQ_LM", "CAUSAL_LM", "TOKEN_CLS", "QUESTION_ANS", "FEATURE_EXTRACTION")
BIASES = ("none", "all", "lora_only")
STARTS = ("gaussian", "eva", "olora", "pissa", "corda", "loftq", "orthogonal", "mica", "lora_ga")
"""What ``init_lora_weights`` may say beside true, false and ``pissa_niter_N``."""
CUTTING = ("pissa", "olora", "loftq")
"""Those that take a weight apart, which has no more parts than it has rows, or columns: a rank above that is cut."""
HANDED_OVER = ("pissa", "olora", "orthogonal")
"""Those that PEFT is told: they cut a rank, or need an even one. LoftQ cannot be had on the meta device."""


@dataclass(frozen=True, slots=True)
class Adapter:
    """What of a LoRA adapter changes a count, a name, a shape or what trains."""

    r: int
    target_modules: tuple[str, ...] | str
    """Ends of module names, a regular expression over the whole name, or :data:`ALL_LINEAR`; empty: PEFT's own."""
    exclude_modules: tuple[str, ...] | str = ()
    modules_to_save: tuple[str, ...] = ()
    bias: Bias = "none"
    use_dora: bool = False
    lora_bias: bool = False
    rank_pattern: Mapping[str, int] = field(default_factory=dict)
    """Regular expressions over the end of a module's name, and the rank of what they match; the first one wins."""
    task_type: str | None = None
    start: str = ""
    """``init_lora_weights`` where it says something of ranks: it begins with one of CUTTING or HANDED_OVER."""
    targets_of: str = ""
    """The family whose targets PEFT takes, where the adapter leaves them out."""
    layers_to_transform: tuple[int, ...] = ()
    """Indices of layers; empty: all of them."""
    layers_pattern: tuple[str, ...] = ()
    """Names of the lists that these indices are of; empty: of any."""
    method: str = "LORA"
    """PEFT's name of it. Of any other, all is in :attr:`passed_on`."""
    passed_on: Mapping[str, object] = field(default_factory=dict)
    """Keys without a closed form, for a model that is held to its budget alone."""

    @property
    def for_build(self) -> dict[str, object]:
        """Arguments for PEFT's class of the method, as JSON can carry them, and ``peft_type`` where it is not LoRA.

        ``inference_mode`` is always false: every file that ``save_pretrained`` wrote says true, which freezes the
        adapter itself, and what a budget is about is the model in training. What PEFT has not always had (before 0.14)
        is left out where nothing is said of it.
        """
        if self.method != "LORA":
            return {"peft_type": self.method, **self.passed_on}
        listed = self.target_modules if isinstance(self.target_modules, str) else list(self.target_modules)
        excluded = self.exclude_modules if isinstance(self.exclude_modules, str) else list(self.exclude_modules)
        return {
            "r": self.r,
            "target_modules": listed or None,
            "layers_to_transform": list(self.layers_to_transform) or None,
            "layers_pattern": list(self.layers_pattern) or None,
            "modules_to_save": list(self.modules_to_save) or None,
            "bias": self.bias,
            "use_dora": self.use_dora,
            "rank_pattern": dict(self.rank_pattern),
            "task_type": self.task_type,
            "inference_mode": False,
            **({"exclude_modules": excluded} if excluded else {}),
            **({"lora_bias": True} if self.lora_bias else {}),
            **({"init_lora_weights": self.start} if self.start.startswith(HANDED_OVER) else {}),
            **self.passed_on,
        }


def in_table(key: str) -> Mapping[str, Any]:
    """The place of a key that stands in the project's own table; ``""`` for the table itself."""
    return {"table_key": ("adapter", key) if key else ("adapter",)}


def in_file(config: ModelConfig) -> Place:
    """The places of the keys of an ``adapter_config.json``."""
    return lambda key: {"file": config.file, "line": config.line(key) if key else None}


def parse(
    data: Mapping[str, object], *, place: Place = in_table, family: str = "", closed_form: bool = True
) -> Adapter:
    """Read an adapter.

    :param place: where a key stands: :func:`in_table`, or :func:`in_file` of the file's config.
    :param family: the ``model_type`` that it goes on, for which PEFT may have targets of its own.
    :param closed_form: ``False`` where the model is held to its budget alone: keys without a closed form are then
        passed on to PEFT.
    :raises Unusable: with a finding for everything that is wrong, all at once.
    """
    reading = _Reading(data, place)
    is_lora = data.get("peft_type") in (None, "LORA")
    adapter = reading.adapter(family, closed_form=closed_form) if is_lora else reading.other(closed_form=closed_form)
    if reading.findings:
        raise Unusable(*reading.findings)
    return adapter


class _Reading:
    """One adapter's keys; findings gather here."""

    def __init__(self, data: Mapping[str, object], place: Place) -> None:
        self.data = data
        self.place = place
        self.findings: list[Finding] = []
        self.patterns: list[tuple[str, str]] = []
        """Regular expressions, and the keys that they stand at."""

    def note(self, key: str, message: str, fix: str, kind: Kind = "config-invalid") -> None:
        written = key if key in self.data else ""
        self.findings.append(Finding(kind, message, fix, component="adapters", **self.place(written)))

    def adapter(self, family: str, *, closed_form: bool) -> Adapter:
        self._check_keys()
        passed_on = self._without_closed_form(closed_form=closed_form)
        self._switch("inference_mode")
        adapter = Adapter(
            r=self._rank("r", self.data.get("r", 8)),
            target_modules=self._targets(family, closed_form=closed_form),
            targets_of=family if self.data.get("target_modules") is None else "",
            layers_to_transform=self._layers(),
            layers_pattern=self._lists(),
            exclude_modules=self._names_or_pattern("exclude_modules"),
            modules_to_save=self._names("modules_to_save", 'write a list, as in ["classifier"]'),
            bias=cast("Bias", self._word("bias", BIASES, "none")),
            use_dora=self._switch("use_dora"),
            lora_bias=self._switch("lora_bias"),
            rank_pattern=self._rank_pattern(),
            task_type=self._word("task_type", TASKS, None),
            start=self._start(),
            passed_on=passed_on,
        )
        self._check_patterns()
        if adapter.use_dora and adapter.lora_bias:
            self.note(
                "lora_bias", "lora_bias is true beside use_dora: PEFT refuses that", "write false for one of them"
            )
        if adapter.layers_to_transform and isinstance(adapter.target_modules, str):
            said = f"layers_to_transform stands beside target_modules = {shown(adapter.target_modules)}"
            self.note("layers_to_transform", f"{said}: PEFT refuses that", "write a list of targets, or leave it out")
        if adapter.layers_pattern and not adapter.layers_to_transform:
            message = "layers_pattern says which list layers_to_transform counts in, and there is none"
            self.note("layers_pattern", message, "write layers_to_transform too, or leave it out")
        start = self.data.get("init_lora_weights", True)
        if adapter.lora_bias and start not in (True, False):
            message = f"lora_bias is true beside init_lora_weights = {shown(start)}: PEFT refuses that"
            self.note("lora_bias", message, "write false, or leave init_lora_weights out")
        return adapter

    def _check_keys(self) -> None:
        for key in self.data:
            if key not in KNOWN:
                fix = did_you_mean(key, KNOWN, "remove it", written=str)
                self.note(key, f"the key {shown(key)} is none of LoRA's in PEFT", fix)
            elif key in REFUSED and self.data[key] is not None:
                message = f"{key} makes PEFT import the module that megatron_core names"
                self.note(key, message, "remove it: it says how to train, not what", "config-refused")

    def other(self, *, closed_form: bool) -> Adapter:
        """A method that PEFT builds, and that nothing is held against but the budget."""
        kind = self.data["peft_type"]
        if not isinstance(kind, str) or kind not in METHODS:
            fix = (
                f"write LORA, one of {', '.join(METHODS)} with closed_form = false, or a factory that applies it itself"
            )
            self.note("peft_type", f"peft_type is {shown(kind)}, which is not known here", fix)
        elif closed_form:
            fix = "write closed_form = false to hold the model to its budget alone"
            self.note("peft_type", f"there is no closed form for peft_type {kind}", fix, "unknown-closed-form")
        for key, message, fix in wrong(self.data):
            self.note(key, message, fix, "config-refused")
        return Adapter(1, (), method=str(kind), passed_on=given(self.data))

    def _without_closed_form(self, *, closed_form: bool) -> dict[str, object]:
        """The keys that PEFT has to be given where there is no closed form to compare with."""
        found = {key: self.data[key] for key in WITHOUT_CLOSED_FORM if self.data.get(key) not in (None, False, [], {})}
        start = self.data.get("init_lora_weights")
        is_mica = isinstance(start, str) and start.lower() == "mica"
        if is_mica or (start == "eva" and not self.data.get("rank_pattern")):
            found["init_lora_weights"] = start
        if closed_form:
            because = {"mica": ", which freezes lora_B", "eva": ", which chooses ranks by the training data"}
            for key, value in found.items():
                message = f"there is no closed form for {key} = {shown(value)}{because.get(str(value).lower(), '')}"
                fix = "write closed_form = false to hold the model to its budget alone, or leave the key out"
                self.note(key, message, fix, "unknown-closed-form")
        return found

    # single values

    def _start(self) -> str:
        """PEFT compares some of these names in small letters, and others as they are written."""
        value = self.data.get("init_lora_weights")
        if value is None or isinstance(value, bool):
            return ""
        if not isinstance(value, str) or not (
            value in STARTS
            or value.lower() in ("gaussian", "olora", "mica")
            or re.fullmatch(r"pissa_niter_[0-9]{1,9}", value)
        ):
            fix = did_you_mean(value, STARTS, f"write one of {', '.join(STARTS)}, or true")
            self.note("init_lora_weights", f"init_lora_weights is {shown(value)}, which PEFT does not know", fix)
            return ""
        return value.lower() if value.lower().startswith((*CUTTING, *HANDED_OVER)) else ""

    def _rank(self, key: str, value: object) -> int:
        what = key if key == "r" else f"the rank of {shown(key)}"
        place = key if key == "r" else "rank_pattern"
        if type(value) is not int or value < 1:
            self.note(place, f"{what} is {shown(value)}, which is no rank", "write a whole number from 1 on, as in 8")
        elif value > LARGEST_RANK:
            message = f"{what} is {number(value)}, more than {LARGEST_RANK:,}"
            self.note(place, message, "write the rank that the adapter has", "config-refused")
        else:
            return value
        return 1

    def _switch(self, key: str) -> bool:
        value = self.data.get(key, False)
        if type(value) is not bool:
            self.note(key, f"{key} is {shown(value)}, not true or false", "write true or false")
        return value is True

    def _word(self, key: str, words: tuple[str, ...], default: str | None) -> str | None:
        value = self.data.get(key, default)
        if value == default or (isinstance(value, str) and value in words):
            return value
        fix = did_you_mean(value, words, f"write one of {', '.join(words)}")
        self.note(key, f"{key} is {shown(value)}, which PEFT does not know", fix)
        return default

    # names of modules

    def _targets(self, family: str, *, closed_form: bool) -> tuple[str, ...] | str:
        value = self.data.get("target_modules")
        known = TARGETS.get(family, ())
        if value is None and (known or not closed_form):
            return known
        if value is None or value == []:
            fix = f"write target_modules = {shown(list(known))}" if known else "name the modules that get an adapter"
            self.note("target_modules", "target_modules names no module", fix)
            return ()
        if isinstance(value, str) and value.lower() == ALL_LINEAR:
            return ALL_LINEAR
        return self._names_or_pattern("target_modules")

    def _names_or_pattern(self, key: str) -> tuple[str, ...] | str:
        value = self.data.get(key)
        if isinstance(value, str):
            self.patterns.append((key, value))
            return value
        return self._names(key, 'write a list, as in ["query", "value"]')

    def _names(self, key: str, example: str) -> tuple[str, ...]:
        value = self.data.get(key)
        if value is None:
            return ()
        if not isinstance(value, list):
            self.note(key, f"{key} is {shown(value)}, not a list of module names", example)
        elif len(value) > MOST_NAMES:
            message = f"{key} has {len(value):,} names, more than {MOST_NAMES:,}"
            self.note(key, message, "name the ends that they share", "config-refused")
        elif odd := [each for each in value if not (isinstance(each, str) and is_plain(each))]:
            self.note(key, f"{key} has {shown(odd[0])}, which is no module's name", example)
        else:
            return tuple(value)
        return ()

    def _layers(self) -> tuple[int, ...]:
        value = self.data.get("layers_to_transform")
        found = value if isinstance(value, list) else [] if value is None else [value]
        if len(found) <= MOST_NAMES and all(type(each) is int and each >= 0 for each in found):
            return tuple(found)
        message = f"layers_to_transform is {shown(value)}, neither an index of a layer nor a list of them"
        self.note("layers_to_transform", message, "write a list, as in [0, 1, 2]")
        return ()

    def _lists(self) -> tuple[str, ...]:
        value = self.data.get("layers_pattern")
        found = [value] if isinstance(value, str) and value else value or []
        if isinstance(found, list) and all(isinstance(each, str) and each.isidentifier() for each in found):
            return tuple(found)
        message = f"layers_pattern is {shown(value)}, neither the name of a list of layers nor a list of names"
        self.note("layers_pattern", message, 'write the last part of its name, as in "layer"')
        return ()

    def _rank_pattern(self) -> dict[str, int]:
        value = self.data.get("rank_pattern")
        if value is None:
            return {}
        if not isinstance(value, dict) or len(value) > MOST_NAMES:
            message = f"rank_pattern is {shown(value)}, not an object of module names and their ranks"
            self.note("rank_pattern", message, 'write { "output.dense" = 16 }, for example')
            return {}
        self.patterns += [("rank_pattern", pattern) for pattern in value]
        return {pattern: self._rank(pattern, rank) for pattern, rank in value.items()}

    def _check_patterns(self) -> None:
        for key, each in self.patterns:
            said = f"{key}: the regular expression {shown(each)}"
            if is_plain(each):
                continue
            if len(each) > LONGEST_PATTERN:
                longer = f"{said} has {len(each):,} characters, more than {LONGEST_PATTERN:,}"
                self._note_pattern(key, longer, "config-refused")
                continue
            try:
                re.compile(at_the_end(each) if key == "rank_pattern" else each)
            except (re.error, RecursionError, OverflowError) as error:
                self._note_pattern(key, f"{said} is none: {printable(str(error))}", "config-invalid")

    def _note_pattern(self, key: str, message: str, kind: Kind) -> None:
        ends = "write the end of a module's name" if key == "rank_pattern" else "write the ends of the names as a list"
        self.note(key, message, ends, kind)


def is_plain(expression: str) -> bool:
    """Return whether it is a module's name, in which each dot may be anything."""
    return re.fullmatch(r"[\w.-]{1,200}", expression, re.ASCII) is not None


def at_the_end(pattern: str) -> str:
    """What PEFT makes of a key of ``rank_pattern``."""
    return rf"(.*\.)?({pattern})$"


def adapter_of(model: Model, settings: Settings, config: ModelConfig, reader: Reader | None = None) -> Adapter | None:
    """The adapter of a declared model, ``None`` where it has none.

    :param config: of what it goes on.
    :param reader: ``None`` for the project's folder.
    :raises Unusable: for a file that cannot be read, or for what it says.
    """
    if model.adapter is None:
        return None
    said = model.family or config.model_type
    family = said if isinstance(said, str) else ""
    if not isinstance(model.adapter, str):
        return parse(model.adapter, place=in_table, family=family, closed_form=model.closed_form)
    reader = reader or Disk(settings.root)
    file = parse_json(reader.adapter(model.adapter), f"{printable(model.adapter)}{reader.at}")
    return parse(file.data, place=in_file(file), family=family, closed_form=model.closed_form)
