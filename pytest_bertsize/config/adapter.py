"""Read a LoRA adapter of PEFT from PEFT's ``adapter_config.json``, or from a table with the same keys.

The fields of ``LoraConfig`` in peft 0.21.2 are of four kinds. Those of :class:`Adapter` change a count, a name, a shape
or the trained tensors. Those in :data:`INERT` change none of these. Those in :data:`WITHOUT_CLOSED_FORM` change some of
them in a way that no closed form describes. That in :data:`REFUSED` is not allowed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, get_type_hints

from msgspec import Meta, Struct

from pytest_bertsize.findings import Finding, Kind, Unusable
from pytest_bertsize.table.reading import Key, read_value
from pytest_bertsize.wording import did_you_mean, printable, shown

if TYPE_CHECKING:
    from pytest_bertsize.config.model_config import ModelConfig

ALL_LINEAR = "all-linear"
LARGEST_NUMBER = 10_000_000  # the largest whole number in an adapter of a method other than LoRA


def at_the_end(pattern: str) -> str:
    """Return the regular expression for a module's whole name that PEFT makes of a key of ``rank_pattern``."""
    return rf"(.*\.)?({pattern})$"


def check_pattern(pattern: str) -> None:
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"{shown(pattern)} is not a regular expression: {printable(str(error))}") from None


_Long: TypeAlias = Annotated[str, Meta(max_length=1_000), Key(says="is a pattern of more than 1,000 characters")]
_Pattern: TypeAlias = Annotated[_Long, check_pattern]
_End: TypeAlias = Annotated[_Long, lambda end: check_pattern(at_the_end(end))]
_Name: TypeAlias = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9_.-]{1,200}\Z"), Key(says="is not the name of a module")]
_List: TypeAlias = Annotated[str, Meta(pattern=r"\A[^\W\d]\w*\Z"), Key(says="is not the name of a list of layers")]
_Rank: TypeAlias = Annotated[int, Meta(ge=1, le=1_000_000)]
_Task: TypeAlias = Literal["SEQ_CLS", "SEQ_2_SEQ_LM", "CAUSAL_LM", "TOKEN_CLS", "QUESTION_ANS", "FEATURE_EXTRACTION"]


class Adapter(Struct, frozen=True):
    """The keys of a LoRA adapter that change a count, a name, a shape or the trained tensors."""

    r: _Rank = 8
    target_modules: _Pattern | tuple[_Name, ...] = ()  # ends of names, a pattern or ALL_LINEAR; empty: PEFT's default
    exclude_modules: _Pattern | tuple[_Name, ...] = ()
    modules_to_save: tuple[_Name, ...] = ()
    bias: Literal["none", "all", "lora_only"] = "none"
    use_dora: bool = False
    lora_bias: bool = False
    rank_pattern: dict[_End, _Rank] = {}  # ranks by a regular expression over a name's end; the first match wins
    task_type: _Task | None = None
    layers_to_transform: tuple[Annotated[int, Meta(ge=0, le=1_000_000)], ...] = ()  # empty: all layers
    layers_pattern: tuple[_List, ...] = ()  # the lists of layers to which layers_to_transform refers; empty: any
    start: str = ""  # the value of ``init_lora_weights`` if it affects ranks, else ``""``
    targets_of: str = ""  # the family whose default targets PEFT takes, if the adapter has no ``target_modules``
    method: str = "LORA"  # PEFT's name of the method. All keys of a method other than LORA are in ``passed_on``.
    passed_on: Mapping[str, object] = {}  # keys that PEFT gets and no closed form describes

    @property
    def for_build(self) -> dict[str, object]:
        """The arguments of PEFT's class, as JSON can hold them; for a method other than LoRA, ``peft_type`` names it.

        ``inference_mode`` is always false: ``save_pretrained`` writes true, which freezes the adapter itself, but a
        budget is for the model in training. Empty values are left out: PEFT before 0.14 lacks some of the keys.
        """
        if self.method != "LORA":
            return {"peft_type": self.method, **self.passed_on}
        start = self.start if self.start.startswith(HANDED_OVER) else ""
        given = {**{key: getattr(self, key) for key in COUNTED}, "init_lora_weights": start}
        plain = {key: list(value) if isinstance(value, tuple) else value for key, value in given.items() if value}
        return {**plain, "inference_mode": False, **self.passed_on}


_DEFAULT = Adapter()
_TYPES: Mapping[str, Any] = get_type_hints(Adapter, include_extras=True)
COUNTED = tuple(key for key in _TYPES if key not in {"start", "targets_of", "method", "passed_on"})  # keys of a file
SAID_BESIDE = ("peft_type", "init_lora_weights")
# keys whose values PEFT never gets, such as those for scaling, dropout and initial values
INERT = frozenset(
    {
        *("alpha_pattern", "lora_alpha", "lora_dropout", "use_rslora", "fan_in_fan_out", "alora_invocation_tokens"),
        *("loftq_config", "corda_config", "eva_config", "lora_ga_config", "megatron_core", "qalora_group_size"),
        *("auto_mapping", "base_model_name_or_path", "peft_version", "revision", "runtime_config"),
        "inference_mode",
    }
)
WITHOUT_CLOSED_FORM = (
    *("layer_replication", "target_parameters", "trainable_token_indices"),
    *("ensure_weight_tying", "use_qalora", "arrow_config", "kasa_config", "monteclora_config", "velora_config"),
    "use_bdlora",
)
REFUSED = "megatron_config"  # a key that makes PEFT run code that the file names
KNOWN = frozenset((*COUNTED, *SAID_BESIDE, *INERT, *WITHOUT_CLOSED_FORM, REFUSED))

_STARTS = re.compile("eva|pissa|corda|loftq|orthogonal|lora_ga|pissa_niter_[0-9]{1,9}|(?i:gaussian|olora|mica)")
CUTTING = ("pissa", "olora", "loftq")  # init_lora_weights that cut a rank to the weight's rows or columns
HANDED_OVER = ("pissa", "olora", "orthogonal")  # PEFT gets these, as ranks depend on them; loftq fails on meta
# PEFT's default targets by family (TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING), for an adapter that names none
TARGETS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("bert", "roberta", "xlm-roberta", "electra", "layoutlm"), ("query", "value")),
    **dict.fromkeys(("t5", "mt5"), ("q", "v")),
    **dict.fromkeys(("bart", "opt", "llama", "mistral", "qwen2", "qwen3"), ("q_proj", "v_proj")),
    **dict.fromkeys(("gemma", "gemma2", "gemma3_text"), ("q_proj", "v_proj")),
    "gpt2": ("c_attn",),
    "gpt_neox": ("query_key_value",),
    "deberta": ("in_proj",),
    "deberta-v2": ("query_proj", "value_proj"),
}
# methods without a closed form that PEFT builds from numbers and names alone: no other model, no file, no code
METHODS = (
    *("ADALORA", "BOFT", "FOURIERFT", "HRA", "IA3", "LN_TUNING", "LOHA", "LOKR", "OFT", "PREFIX_TUNING"),
    *("PROMPT_TUNING", "P_TUNING", "TRAINABLE_TOKENS", "VERA"),
)
# keys of another method than LoRA that set initial values, or name files, models or modes
NEVER_PASSED_ON = INERT | {
    *("prompt_tuning_init", "prompt_tuning_init_text", "tokenizer_name_or_path", "tokenizer_kwargs", "peft_type"),
}
BUDGET_ALONE = "write closed_form = false to check its budget alone"


def parse(
    data: Mapping[str, object], *, file: ModelConfig | None = None, family: str = "", closed_form: bool = True
) -> Adapter:
    """Read an adapter from its ``file`` or the project's own table; raise :class:`Unusable` with all mistakes.

    :param family: the ``model_type`` of the adapted model, for which PEFT may have default targets.
    :param closed_form: ``False`` if keys without a closed form are passed on to PEFT.
    """
    reading = _Reading(data, file, closed_form)
    if data.get(REFUSED) is not None:
        message = f"{REFUSED} makes PEFT import the module that megatron_core names"
        reading.note(REFUSED, message, "remove it: it changes the training, not the model", "config-refused")
    adapter = reading.read_lora(family) if data.get("peft_type") in (None, "LORA") else reading.read_other()
    if reading.findings:
        raise Unusable(*reading.findings)
    return adapter


class _Reading(Struct, eq=False):
    data: Mapping[str, object]
    file: ModelConfig | None
    closed_form: bool
    findings: list[Finding] = []

    def note(self, key: str, message: str, fix: str, kind: Kind = "config-invalid") -> None:
        written = (key,) if key in self.data else ()
        finding = Finding(kind, message, fix, component="adapters", table_key=("adapter", *written))
        if self.file:
            line = self.file.line(key) if written else None
            finding = finding._replace(table_key=None, file=self.file.file, line=line)
        self.findings.append(finding)

    def read_lora(self, family: str) -> Adapter:
        for key in self.data:
            if key not in KNOWN:
                fix = did_you_mean(key, KNOWN, "remove it", written=str)
                self.note(key, f"PEFT's LoRA has no key {shown(key)}", fix)
        values = {key: self._read_field(key) for key in COUNTED}
        if self.data.get("target_modules") is None and (family in TARGETS or not self.closed_form):
            values["target_modules"], values["targets_of"] = TARGETS.get(family, ()), family
        elif not values["target_modules"] and not self.findings:
            self.note("target_modules", "target_modules names no module", "name the modules that get an adapter")
        elif str(values["target_modules"]).lower() == ALL_LINEAR:
            values["target_modules"] = ALL_LINEAR
        start = str(self.data.get("init_lora_weights", ""))
        if start not in {"", "True", "False", "None"} and not _STARTS.fullmatch(start):
            message = f"init_lora_weights is {shown(start)}, which PEFT does not know"
            self.note("init_lora_weights", message, "write a value that PEFT takes")
        values["start"] = start.lower() if start.lower().startswith((*CUTTING, *HANDED_OVER)) else ""
        return Adapter(**values, passed_on=self._pass_on(start))

    def _read_field(self, key: str) -> Any:
        default, value = getattr(_DEFAULT, key), self.data.get(key)
        is_empty = value == "" and key in {"exclude_modules", "layers_pattern"}
        if key not in self.data or is_empty or (value is None and default in ((), {}, None)):
            return default
        is_one = key in {"layers_to_transform", "layers_pattern"} and not isinstance(value, list)
        try:
            return read_value(_TYPES[key], [value] if is_one else value)
        except ValueError as error:
            self.note(key, f"{key}: {error}", "write a value that PEFT takes")
            return default

    def _pass_on(self, start: str) -> dict[str, object]:
        """Return the keys that PEFT gets and no closed form describes; note each if there has to be a closed form."""
        found = {key: self.data[key] for key in WITHOUT_CLOSED_FORM if self.data.get(key) not in (None, False, [], {})}
        if start.lower() == "mica" or (start == "eva" and not self.data.get("rank_pattern")):
            found["init_lora_weights"] = start
        for key, value in found.items() if self.closed_form else ():
            message = f"there is no closed form for {key} = {shown(value)}"
            self.note(key, message, f"{BUDGET_ALONE}, or leave the key out", "unknown-closed-form")
        return found

    def read_other(self) -> Adapter:
        """Read an adapter of a method other than LoRA: PEFT builds it, and only the model's budget is checked."""
        kind = self.data["peft_type"]
        if not isinstance(kind, str) or kind not in METHODS:
            known = f"one of {', '.join(METHODS)} with closed_form = false"
            fix = f"write LORA, {known}, or a factory that applies it itself"
            self.note("peft_type", f"peft_type is {shown(kind)}, which is not known here", fix)
        elif self.closed_form:
            self.note("peft_type", f"there is no closed form for peft_type {kind}", BUDGET_ALONE, "unknown-closed-form")
        for key, value in self.data.items():
            if isinstance(value, int) and value > LARGEST_NUMBER:
                message = f"{key} is {shown(value)}, more than {LARGEST_NUMBER:,}"
                self.note(key, message, "write the number that the adapter has", "config-refused")
        given = {key: each for key, each in self.data.items() if key not in NEVER_PASSED_ON and each is not None}
        return Adapter(1, method=str(kind), passed_on=given)
