"""What the project's config says for each key of its family, and what is said about the rest of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pytest_bertsize.closed_forms.dims import Dims
from pytest_bertsize.config_keys import Asks, Choice, ConfigKeys, Ignored, Index, Listing, Size, Switch, Values
from pytest_bertsize.config_vocabulary import INERT, PASSED, REFUSED, SYNONYMS
from pytest_bertsize.findings import Finding, Kind, Severity, Unusable, did_you_mean, number, printable, shown
from pytest_bertsize.quantity import exact

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_bertsize.model_config import ModelConfig

LARGEST_SIZE = 10**9
MOST_LAYERS = 1_000
"""A layer takes 1.3 ms to build, so that 10⁵ of them would take minutes."""
LONGEST_LIST = 1_000
"""Entries of a list, and the sum of its numbers: each is a module that costs time to build."""
MOST_LABELS = 100_000
"""transformers makes a name for each label before it makes a model: 10⁸ of them end in a MemoryError."""
LABELS = "C"
"""The symbol of ``num_labels``."""


def resolve(keys: ConfigKeys, config: ModelConfig, overrides: Mapping[str, object], architecture: Asks) -> Values:
    """Read a family's keys from a config.

    :param overrides: the table's ``overrides``; they win over the file.
    :param architecture: whether it has labels to count, and what it asks for on top of its family's rules.
    :raises Unusable: with a finding for everything that is wrong, all at once.
    """
    reading = _Reading(keys, config, overrides, architecture)
    values = reading.values()
    if any(finding.severity == "error" for finding in reading.findings):
        raise Unusable(*reading.findings)
    return values


def without_effect(
    ignored: Mapping[str, Ignored], config: ModelConfig, dims: Dims | None, architecture: str
) -> list[Finding]:
    """A warning for each key of a config that looks as if it changed a count, with what it would have cost.

    :param dims: ``None`` where the sizes are not known.
    """
    findings = []
    for key, known in ignored.items():
        if key not in config.data or config.data[key] in known.harmless:
            continue
        value = config.data[key]
        concerns = not known.only or architecture.endswith(known.only)
        cost = known.cost(value, dims) if known.cost and dims and concerns else None
        verb = "cost" if cost is None or cost >= 0 else "saved"
        would = f"; it would have {verb} {exact(abs(cost))} parameters" if cost is not None else ""
        message = f"{key} = {shown(value)} is ignored: {known.because}{would}"
        findings.append(Finding("ignored-key", message, known.fix, "warning", file=config.file, line=config.line(key)))
    return findings


class _Reading:
    """One pass over one config; findings gather on the way."""

    def __init__(
        self, keys: ConfigKeys, config: ModelConfig, overrides: Mapping[str, object], architecture: Asks
    ) -> None:
        self.keys = keys
        self.config = config
        self.architecture = architecture
        self.findings: list[Finding] = []
        self.wrong: set[str] = set()
        self.written_as: dict[str, str] = {}
        """The name under which a key stands in its file or table, where that is an alias."""
        self.in_file = self._by_own_name(config.data)
        self.overrides = self._by_own_name(overrides)
        self.merged = {**self.in_file, **self.overrides}

    def values(self) -> Values:
        for key in self.config.data:
            self._check_key_of_file(key)
        for key in self.overrides:
            self._check_key_of_table(key)
        sizes = {size.key: self._size(size) for size in self.keys.sizes}
        switches = self._all_switches()
        by_symbol = {size.symbol: sizes[size.key] for size in self.keys.sizes}
        shape: dict[str, Any] = {key: value for key, value in {**sizes, **switches}.items() if value not in (None, ())}
        shape |= {listing.key: () for listing in self.keys.lists if self.merged.get(listing.key) in ([], ())}
        if self.architecture.labels:
            by_symbol[LABELS] = shape["num_labels"] = self._num_labels()
        self._check_needs(switches)
        shape |= {index.key: self._index(index) for index in self.keys.indices}
        self._check_rules({**sizes, **shape})
        self.findings += self._without_effect(None if self.wrong else Dims(by_symbol, switches))
        passed = {key: value for key, value in self.merged.items() if key in PASSED}
        for_build = {**passed, **{key: list(v) if isinstance(v, tuple) else v for key, v in shape.items()}}
        return Values(by_symbol, switches, for_build, tuple(self.findings))

    def _all_switches(self) -> dict[str, Any]:
        return {
            **{switch.key: self._switch(switch) for switch in self.keys.switches},
            **{choice.key: self._choice(choice) for choice in self.keys.choices},
            **{listing.key: self._listing(listing) for listing in self.keys.lists},
        }

    def _by_own_name(self, written: Mapping[str, object]) -> dict[str, object]:
        """What is written, aliases replaced by the keys that they stand for; an alias wins, as in the library."""
        aliases = self.keys.aliases
        own = {key: value for key, value in written.items() if key not in aliases}
        for alias in written.keys() & aliases.keys():
            key = aliases[alias]
            self.written_as[key] = alias
            if key in own and own[key] != written[alias]:
                message = f"{key} is {shown(own[key])} and {alias}, another name for it, {shown(written[alias])}"
                self._found(key, message, "keep one of them")
            own[key] = written[alias]
        return own

    def _found(
        self, key: str, message: str, fix: str, kind: Kind = "config-invalid", severity: Severity = "error"
    ) -> None:
        """Add a finding at the place where the key stands: the table if it overrides, else the file."""
        if severity == "error":
            self.wrong.add(key)
        written = self.written_as.get(key, key)
        if key in getattr(self, "overrides", ()):
            finding = Finding(kind, message, fix, severity, table_key=("overrides", written))
        else:
            finding = Finding(kind, message, fix, severity, file=self.config.file, line=self.config.line(written))
        self.findings.append(finding)

    # which keys there are

    def _check_key_of_file(self, key: str) -> None:
        if key in self.keys.meaningful | self.keys.all_ignored.keys():
            return None
        if reason := "it is a name of Python's own" if key.startswith("__") else REFUSED.get(key):
            return self._found(key, f"the key {shown(key)} is refused: {reason}", "remove it", "config-refused")
        if key in PASSED | INERT | self.keys.inert:
            return None
        if meant := self._key_meant(key):
            return self._found(
                key, f"{shown(key)} is not a key of this family and would be ignored", f'write "{meant}"'
            )
        return self._found(
            key, f"the key {shown(key)} is ignored: it changes no count", "remove it", "ignored-key", "warning"
        )

    def _without_effect(self, dims: Dims | None) -> list[Finding]:
        return without_effect(self.keys.all_ignored, self.config, dims, self.architecture.name)

    def _key_meant(self, key: str) -> str:
        """The key that a name was probably meant for; another library's name only counts where ours is missing."""
        shape_key = self._by_another_name(key)
        if shape_key:
            counts = self.architecture.labels or shape_key != "num_labels"
            return shape_key if counts and shape_key not in self.merged else ""
        return did_you_mean(_snake(key), sorted(self.keys.meaningful), cutoff=0.87)

    def _by_another_name(self, key: str) -> str:
        """The shape key that other libraries call by this name."""
        symbols = {**{size.symbol: size.key for size in self.keys.sizes}, LABELS: "num_labels"}
        name = _snake(key)
        known = (own for symbol, own in symbols.items() if name in SYNONYMS.get(symbol, ()) and name != own)
        return next(known, "")

    def _check_key_of_table(self, key: str) -> None:
        if key in self.keys.meaningful | PASSED:
            return
        known = sorted(self.keys.meaningful)
        nearest = self._by_another_name(key) or did_you_mean(_snake(key), known)
        fix = f"did you mean {nearest}?" if nearest else f"it can override {', '.join(known)}"
        self._found(key, f"overrides.{printable(key)} changes nothing in this family", fix)

    # what they say

    def _size(self, size: Size) -> int | None:
        if size.key not in self.merged:
            if size.default is not None:
                self._say_missing(size.key, size.default)
            return size.default
        if size.default is None and self.merged[size.key] is None:
            return None
        default = size.minimum if size.default is None else size.default
        value = self._whole_number(size.key, default, LARGEST_SIZE, size.minimum)
        if size.repeats and value > MOST_LAYERS:
            message = f"{size.key} is {value:,}: more than {MOST_LAYERS:,} layers are not built"
            self._found(size.key, message, "write the number of layers that the model has", "config-refused")
        return value

    def _say_missing(self, key: str, default: object) -> None:
        text = exact(default) if isinstance(default, int) else shown(default)
        written = default if isinstance(default, int) else shown(default)
        if self.config.model_type is None:
            message = f"the key {key} is missing, and a file without model_type has to be complete"
            self._found(key, message, f'write "{key}": {written}, if that is meant')
        else:
            message = f"the key {key} is missing: the library uses {text}"
            self._found(key, message, f'write "{key}": {written}', "defaulted-key", "warning")

    def _whole_number(self, key: str, default: int, largest: int, minimum: int = 1) -> int:
        value = self.merged[key]
        if type(value) is not int:
            self._found(key, f"{key} is {shown(value)}, which is not a whole number", f"write one, as in {default}")
        elif value < minimum:
            self._found(key, f"{key} is {number(value)}: a size is at least {minimum}", f"write one, as in {default}")
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

    def _index(self, index: Index) -> int | None:
        value = self.merged.get(index.key, index.default)
        if value is None or (type(value) is int and abs(value) <= LARGEST_SIZE):
            return value
        self._found(index.key, f"{index.key} is {shown(value)}, which is no index", f"write one, as in {index.default}")
        return index.default

    def _switch(self, switch: Switch) -> bool:
        value = self.merged.get(switch.key, switch.default)
        if value is None and switch.null:
            return switch.default
        if type(value) is not bool:
            self._found(switch.key, f"{switch.key} is {shown(value)}, not true or false", "write true or false")
            return switch.default
        return value

    def _choice(self, choice: Choice) -> str | None:
        value = self.merged.get(choice.key, choice.default)
        if value is None and choice.default is None:
            return None
        if isinstance(value, str) and value in choice.words:
            return value
        nearest = did_you_mean(str(value), choice.words)
        fix = f"did you mean {nearest!r}?" if nearest else f"write {choice.default or min(choice.words)!r}, for example"
        self._found(choice.key, f"{choice.key} is {shown(value)}, which transformers does not know", fix)
        return choice.default

    def _listing(self, listing: Listing) -> tuple[Any, ...]:
        if listing.as_long_as and self.merged.get(listing.key) is None:
            other = next(each for each in self.keys.lists if each.key == listing.as_long_as)
            return (1,) * len(self._listing(other))
        if listing.key not in self.merged:
            return listing.default
        value = self.merged[listing.key]
        if value is None and not listing.default:
            return ()
        entries = value.split(listing.separator) if listing.separator and isinstance(value, str) else value
        example = f"write {shown(list(listing.default) or list(listing.words))}, for example"
        if not isinstance(entries, list | tuple) or not all(_is_entry(each, listing) for each in entries):
            what = "whole numbers, each at least 1" if listing.of is int else "the words that there are"
            self._found(listing.key, f"{listing.key} is {shown(value)}, not a list of {what}", example)
        elif len(entries) > LONGEST_LIST or (listing.of is int and sum(entries) > LARGEST_SIZE):
            message = f"{listing.key} has {len(entries):,} entries, more than {LONGEST_LIST:,}"
            self._found(listing.key, message, example, "config-refused")
        else:
            return tuple(entries)
        return listing.default

    def _num_labels(self) -> int:
        """``num_labels``, else the entries of ``id2label``, else two. An override replaces both of the file."""
        overridden = self.overrides.keys() & {"num_labels", "id2label"}
        place = self.overrides if overridden else self.config.data
        named = self._id2label(place["id2label"]) if place.get("id2label") is not None else None
        if "num_labels" not in place:
            if named is None:
                self._say_missing("num_labels", self.keys.labels)
            return named or self.keys.labels
        count = self._whole_number("num_labels", self.keys.labels, MOST_LABELS)
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

    def _check_needs(self, switches: Mapping[str, Any]) -> None:
        for switch in self.keys.switches:
            if switch.needs and switches[switch.key] and not switches[switch.needs]:
                message = f"{switch.key} is true without {switch.needs}: the class refuses that"
                self._found(switch.key, message, f'write "{switch.needs}": true')

    def _check_rules(self, values: Mapping[str, Any]) -> None:
        for rule in (*self.keys.all_rules, *self.architecture.rules):
            if not self.wrong.intersection(rule.keys) and not rule.holds(values):
                self._found(rule.keys[0], rule.message.format_map(values), rule.fix.format_map(values))


def _is_entry(entry: object, listing: Listing) -> bool:
    if listing.of is int:
        return type(entry) is int and entry > 0
    return isinstance(entry, str) and (entry in listing.words if listing.words else bool(re.fullmatch(r"\w+", entry)))


def _snake(key: str) -> str:
    """``numHiddenLayers`` and ``num-hidden-layers`` → ``num_hidden_layers``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key).lower().replace("-", "_")
