"""Which keys of a config mean something to a family, and what the project's config says for each of them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pytest_bertsize.config_vocabulary import ACTIVATIONS, ALIASES, INERT, PASSED, REFUSED
from pytest_bertsize.findings import Finding, Kind, Severity, Unusable, did_you_mean, number, printable, shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_bertsize.model_config import ModelConfig

LARGEST_SIZE = 10**9
MOST_LABELS = 100_000
"""transformers makes a name for each label before it makes a model: 10⁸ of them end in a MemoryError."""
LABELS = "C"
"""The symbol of ``num_labels``."""
DEFAULT_LABELS = 2


@dataclass(frozen=True, slots=True)
class Size:
    """A key that holds a dimension."""

    key: str
    symbol: str
    default: int
    """What the library uses when the file does not say."""
    repeats: bool = False
    """Whether it is a number of layers, which costs time to build."""


@dataclass(frozen=True, slots=True)
class Switch:
    """A key that turns part of the model on or off."""

    key: str
    default: bool
    needs: str = ""
    """Another switch, without which the class refuses this one."""


@dataclass(frozen=True, slots=True)
class ConfigKeys:
    """What a family reads from its config."""

    sizes: tuple[Size, ...]
    switches: tuple[Switch, ...]
    activation: str
    """Default of ``hidden_act``."""
    divisible: tuple[tuple[str, str], ...] = ()
    """Pairs of size keys, of which the first must be a multiple of the second."""
    without_effect: Mapping[str, Sequence[object]] = field(default_factory=lambda: MappingProxyType({}))
    """Keys that look as if they changed a count and do not, with the values that are no reason to say so."""

    @property
    def shape_keys(self) -> list[str]:
        return [*(size.key for size in self.sizes), "num_labels"]

    @property
    def meaningful(self) -> set[str]:
        return {*self.shape_keys, *(switch.key for switch in self.switches), "hidden_act", "id2label"}


@dataclass(frozen=True, slots=True)
class Values:
    """What a config says for a family's keys, the table's overrides included."""

    sizes: dict[str, int]
    """By symbol."""
    switches: dict[str, Any]
    """By key, ``hidden_act`` among them."""
    for_build: dict[str, object]
    """Keyword arguments for the family's config class, and nothing else."""
    findings: tuple[Finding, ...]
    """Warnings: nothing that kept the values from being read."""


def resolve(keys: ConfigKeys, config: ModelConfig, overrides: Mapping[str, object], *, labels: bool) -> Values:
    """Read a family's keys from a config.

    :param overrides: the table's ``overrides``; they win over the file.
    :param labels: whether the architecture has a head with ``num_labels`` outputs.
    :raises Unusable: with a finding for everything that is wrong, all at once.
    """
    reading = _Reading(keys, config, overrides, labels=labels)
    values = reading.values()
    if any(finding.severity == "error" for finding in reading.findings):
        raise Unusable(*reading.findings)
    return values


class _Reading:
    """One pass over one config; findings gather on the way."""

    def __init__(self, keys: ConfigKeys, config: ModelConfig, overrides: Mapping[str, object], *, labels: bool) -> None:
        self.keys = keys
        self.config = config
        self.overrides = overrides
        self.labels = labels
        self.merged = {**config.data, **overrides}
        self.findings: list[Finding] = []
        self.wrong: set[str] = set()

    def values(self) -> Values:
        for key in self.config.data:
            self._check_key_of_file(key)
        for key in self.overrides:
            self._check_key_of_table(key)
        sizes = {size.key: self._size(size) for size in self.keys.sizes}
        switches = {switch.key: self._switch(switch) for switch in self.keys.switches}
        activation = self._activation()
        by_symbol = {size.symbol: sizes[size.key] for size in self.keys.sizes}
        shape: dict[str, object] = {**sizes, **switches, "hidden_act": activation}
        if self.labels:
            by_symbol[LABELS] = shape["num_labels"] = self._num_labels()
        self._check_relations(sizes, switches)
        passed = {key: value for key, value in self.merged.items() if key in PASSED}
        return Values(by_symbol, {**switches, "hidden_act": activation}, {**passed, **shape}, tuple(self.findings))

    def _found(
        self, key: str, message: str, fix: str, kind: Kind = "config-invalid", severity: Severity = "error"
    ) -> None:
        """Add a finding at the place where the key stands: the table if it overrides, else the file."""
        if severity == "error":
            self.wrong.add(key)
        if key in self.overrides:
            finding = Finding(kind, message, fix, severity, table_key=("overrides", key))
        else:
            finding = Finding(kind, message, fix, severity, file=self.config.file, line=self.config.line(key))
        self.findings.append(finding)

    # which keys there are

    def _check_key_of_file(self, key: str) -> None:
        if key in self.keys.meaningful | PASSED | INERT:
            return None
        if reason := "it is a name of Python's own" if key.startswith("__") else REFUSED.get(key):
            return self._found(key, f"the key {shown(key)} is refused: {reason}", "remove it", "config-refused")
        if key in self.keys.without_effect:
            return self._say_without_effect(key)
        if meant := self._key_meant(key):
            return self._found(
                key, f"{shown(key)} is not a key of this family and would be ignored", f'write "{meant}"'
            )
        return self._found(
            key, f"the key {shown(key)} is ignored: it changes no count", "remove it", "ignored-key", "warning"
        )

    def _say_without_effect(self, key: str) -> None:
        value = self.config.data[key]
        if value in self.keys.without_effect[key]:
            return
        message = f"{key} = {shown(value)} is ignored: transformers ≥ 5 builds the same model without it"
        fix = "write options = { add_pooling_layer = … } in the table" if key == "add_pooling_layer" else "remove it"
        self._found(key, message, fix, "ignored-key", "warning")

    def _key_meant(self, key: str) -> str:
        """The key that a name was probably meant for; another library's name only counts where ours is missing."""
        shape_key = self._by_another_name(key)
        if shape_key:
            counts = self.labels or shape_key != "num_labels"
            return shape_key if counts and shape_key not in self.merged else ""
        return did_you_mean(_snake(key), sorted(self.keys.meaningful), cutoff=0.87)

    def _by_another_name(self, key: str) -> str:
        """The shape key that other libraries call by this name."""
        known = (shape_key for shape_key in self.keys.shape_keys if _snake(key) in ALIASES.get(shape_key, ()))
        return next(known, "")

    def _check_key_of_table(self, key: str) -> None:
        if key in self.keys.meaningful | PASSED:
            return
        known = sorted(self.keys.meaningful)
        nearest = self._by_another_name(key) or did_you_mean(_snake(key), known)
        fix = f"did you mean {nearest}?" if nearest else f"it can override {', '.join(known)}"
        self._found(key, f"overrides.{printable(key)} changes nothing in this family", fix)

    # what they say

    def _size(self, size: Size) -> int:
        if size.key not in self.merged:
            self._say_missing(size.key, size.default)
            return size.default
        return self._whole_number(size.key, size.default, LARGEST_SIZE)

    def _say_missing(self, key: str, default: int) -> None:
        if self.config.model_type is None:
            message = f"the key {key} is missing, and a file without model_type has to be complete"
            self._found(key, message, f'write "{key}": {default}, if that is meant')
        else:
            message = f"the key {key} is missing: the library uses {default:,}"
            self._found(key, message, f'write "{key}": {default}', "defaulted-key", "warning")

    def _whole_number(self, key: str, default: int, largest: int) -> int:
        value = self.merged[key]
        if type(value) is not int:
            self._found(key, f"{key} is {shown(value)}, which is not a whole number", f"write one, as in {default}")
        elif value < 1:
            self._found(key, f"{key} is {number(value)}: a size is at least 1", f"write one, as in {default}")
        elif value > largest:
            self._found(
                key,
                f"{key} is {number(value)}, more than {largest:,}",
                "write the size that the model has",
                "config-refused",
            )
        else:
            return value
        return default

    def _switch(self, switch: Switch) -> bool:
        value = self.merged.get(switch.key, switch.default)
        if type(value) is not bool:
            self._found(switch.key, f"{switch.key} is {shown(value)}, not true or false", "write true or false")
            return switch.default
        return value

    def _activation(self) -> str:
        value = self.merged.get("hidden_act", self.keys.activation)
        if isinstance(value, str) and value in ACTIVATIONS:
            return value
        nearest = did_you_mean(str(value), ACTIVATIONS)
        fix = f"did you mean {nearest!r}?" if nearest else f"write {self.keys.activation!r}, for example"
        self._found("hidden_act", f"hidden_act is {shown(value)}, which transformers does not know", fix)
        return self.keys.activation

    def _num_labels(self) -> int:
        """``num_labels``, else the entries of ``id2label``, else two. An override replaces both of the file."""
        overridden = self.overrides.keys() & {"num_labels", "id2label"}
        place = self.overrides if overridden else self.config.data
        named = self._id2label(place["id2label"]) if place.get("id2label") is not None else None
        if "num_labels" not in place:
            if named is None:
                self._say_missing("num_labels", DEFAULT_LABELS)
            return named or DEFAULT_LABELS
        count = self._whole_number("num_labels", DEFAULT_LABELS, MOST_LABELS)
        if named not in {None, count} and "num_labels" not in self.wrong:
            message = f"num_labels is {count:,} and id2label names {named}: transformers 4 builds the one, 5 the other"
            self._found("num_labels", message, "make them agree")
        return count

    def _id2label(self, value: object) -> int | None:
        """The number of labels that have a name."""
        example = 'write {"0": "no", "1": "yes"}'
        if not isinstance(value, dict) or not value:
            self._found("id2label", f"id2label is {shown(value)}, which names no label", example)
        elif not all(re.fullmatch(r"0|[1-9][0-9]{0,8}", str(key), re.ASCII) for key in value):
            self._found("id2label", "id2label has a key that is not an index", example)
        elif len(value) > MOST_LABELS:
            message = f"id2label names {len(value):,} labels, more than {MOST_LABELS:,}"
            self._found("id2label", message, "name fewer", "config-refused")
        else:
            return len(value)
        return None

    # how they go together

    def _check_relations(self, sizes: Mapping[str, int], switches: Mapping[str, bool]) -> None:
        for key, divisor in self.keys.divisible:
            if sizes[key] % sizes[divisor] and not self.wrong & {key, divisor}:
                message = f"{key} {sizes[key]:,} is not a multiple of {divisor} {sizes[divisor]:,}"
                self._found(key, message, f"write a multiple of {sizes[divisor]:,}")
        for switch in self.keys.switches:
            if switch.needs and switches[switch.key] and not switches[switch.needs]:
                message = f"{switch.key} is true without {switch.needs}: the class refuses that"
                self._found(switch.key, message, f'write "{switch.needs}": true')


def _snake(key: str) -> str:
    """``numHiddenLayers`` and ``num-hidden-layers`` → ``num_hidden_layers``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key).lower().replace("-", "_")
