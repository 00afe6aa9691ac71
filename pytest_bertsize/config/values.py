"""The values of a family's keys in config and overrides, and the keys that are passed to the class.

The class gets the written values under their written names, and nothing else: no defaults. A wrong assumption
of the closed form would otherwise change both sides of the comparison in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pytest_bertsize.config.dims import Dims
from pytest_bertsize.config.keys import (
    LABELS,
    MOST_LABELS,
    NAMED_BY_LABELS,
    PASSED,
    Asks,
    ConfigKeys,
    Ignored,
    Index,
    Key,
    Size,
    Values,
    WrongValue,
    explain_refusal,
    find_synonym,
    is_withheld,
    to_snake_case,
    withhold_steering_keys,
)
from pytest_bertsize.findings import Finding, Kind, Unusable
from pytest_bertsize.wording import exact, listed, nearest_to, number, plural, printable, shown

if TYPE_CHECKING:
    from pytest_bertsize.config.model_config import ModelConfig

_INDEX = re.compile("0|[1-9][0-9]{0,8}")
MOST_NAMED = 8  # the most keys that one sentence names
LABEL_KEYS = frozenset({"num_labels", *NAMED_BY_LABELS})  # an override of one replaces all in the file


def resolve(keys: ConfigKeys, config: ModelConfig, overrides: Mapping[str, object], architecture: Asks) -> Values:
    """Read a family's keys from config and overrides, which win; raise :class:`Unusable` with all mistakes."""
    reading = _Reading(keys, config, overrides, architecture)
    reading.check_values_as_written()
    values = None if reading.wrong else reading.read_values()
    if reading.wrong or values is None:
        raise Unusable(*sorted(reading.findings, key=lambda finding: finding.severity != "error"))
    return values


def merge_overrides(
    config: ModelConfig, overrides: Mapping[str, object], aliases: Mapping[str, str] = MappingProxyType({})
) -> dict[str, object]:
    """Return the file's values with the table's overrides; an override replaces its key and the key's aliases."""
    replaced = {aliases.get(key, key) for key in overrides}
    if replaced & LABEL_KEYS:
        replaced |= LABEL_KEYS
    left = {key: value for key, value in config.data.items() if aliases.get(key, key) not in replaced}
    return {**left, **overrides}


def select_for_build(keys: ConfigKeys, written: Mapping[str, object]) -> dict[str, object]:
    """Return the written keys that the family knows and that do not steer the library, in the file's order."""
    return withhold_steering_keys({key: value for key, value in written.items() if key in keys.known})


class _Reading:
    def __init__(
        self, keys: ConfigKeys, config: ModelConfig, overrides: Mapping[str, object], architecture: Asks
    ) -> None:
        self.keys, self.config, self.architecture = keys, config, architecture
        self.findings: dict[Finding, None] = {}
        self.wrong: set[str] = set()  # keys that have an error
        self._written = merge_overrides(config, overrides, keys.aliases)
        self._overridden = {keys.aliases.get(key, key) for key in overrides}
        self._handed_over = keys.meaningful | PASSED | keys.inert
        # the alias that the file or the table has in place of a key, by the key's own name
        self._aliases = {keys.aliases[alias]: alias for alias in self._written if alias in keys.aliases}
        self.values = {key: value for key, value in self._written.items() if key not in keys.aliases}  # an alias wins
        for key, alias in self._aliases.items():
            value = self._written[alias]
            if self.values.setdefault(key, value) != value:
                also = f"{alias}, another name of the same key, is {shown(value)}"
                self.note(key, f"{key} is {shown(self.values[key])}, and {also}", "keep one of them")
            self.values[key] = value

    def note(self, key: str, message: str, fix: str, kind: Kind = "config-invalid", **more: Any) -> None:
        """Add a finding at the place of the key: the table if that overrides the key, else the file."""
        written = self._aliases.get(key, key)
        if key in self._overridden:
            more.setdefault("table_key", ("overrides", written))
        elif "table_key" not in more:
            message += self.config.say_name_in_file(written)
            more |= {"file": self.config.file, "line": self.config.line(written)}
        finding = Finding(kind, message, fix, **more)
        self.findings[finding] = None
        if finding.severity == "error":
            self.wrong.add(key)

    def check_values_as_written(self) -> None:
        """Note wrong entries of the table's ``ignored``, and values that are not known."""
        config = self.config
        inner = {key for value in config.data.values() if isinstance(value, dict) for key in value}
        for key in config.ignored:
            message, fix, place = f"ignored names {printable(key)}, which", "remove it from ignored", ("ignored",)
            if key in config.data and key in self._handed_over:
                self.note(key, f"{message} this family reads", fix, table_key=place)
            elif key not in config.data and key not in inner:
                message += f" is not in {config.reference}"
                self.note(key, message, fix, "ignored-key", severity="warning", table_key=place)
        for key in config.data if config.unknown else ():
            own = self.keys.aliases.get(key, key)
            is_read = self.keys.open or key in self._handed_over
            if own not in self._overridden and is_read and (why := config.why_unknown(key)):
                self.note(key, *why)

    def _check_other_keys(self) -> None:
        """Note every key of file and table that the family does not read, with the key that is probably meant."""
        if ignored := [key for key, value in self._written.items() if self._is_ignored(key, value)]:
            message = f"the key {shown(ignored[0])} is ignored: it changes no count"
            if ignored[1:]:
                named = listed([*map(shown, ignored)], MOST_NAMED)
                message = f"{len(ignored):,} keys are ignored: they change no count: {named}"
            self.note(ignored[0], message, _say_how_to_leave(ignored), "ignored-key", severity="warning")

    def _is_ignored(self, key: str, value: object) -> bool:
        """Return whether a key of the file is unknown and ignored; note a key that is refused or misspelt."""
        keys, in_table = self.keys, key in self._overridden
        if key in keys.meaningful or (key in keys.all_ignored and not in_table):
            return False
        name = f"overrides.{printable(key)}" if in_table else f"the key {shown(key)}"
        if refusal := self._find_refusal(key, value, name):
            self.note(key, *refusal)
        elif key in self._handed_over or key in keys.refused:
            return False
        elif in_table:
            known = sorted(keys.meaningful)
            meant = find_synonym(key, keys.key_of_symbol) or nearest_to(to_snake_case(key), known)
            if meant or not keys.open:
                fix = f"did you mean {meant}?" if meant else f"overrides can set {', '.join(known)}"
                self.note(key, f"{name} changes nothing in this family", fix)
        elif key in keys.known or is_withheld(key) or key in self.config.ignored:
            return False
        elif meant := self._find_key_meant(key):
            fix = f'write "{meant}"'
            is_read_by_others = self.config.key_path or self.config.names_in_file
            if is_read_by_others and meant not in self.values:  # the file keeps its names
                fix = f"write keys = {{ {key if key.isidentifier() else shown(key)} = {shown(meant)} }} in the table"
            self.note(key, f"{shown(key)} is not a key of this family and would be ignored", fix)
        else:
            return not keys.open
        return False

    def _find_refusal(self, key: str, value: object, name: str) -> tuple[str, str, Kind] | None:
        refused, own = self.keys.refused.get(key), self.keys.unread.get(key)
        if refused and value not in refused.harmless:
            return f"{key} = {shown(value)} is refused: {refused.because}", refused.fix, "config-refused"
        if own and own not in self.values:
            message = f"this release of transformers does not read {shown(key)} for {own} yet"
            return message, f'write "{own}"', "config-invalid"
        reason = explain_refusal(key, value)
        return (f"{name} is refused: {reason}", "remove it", "config-refused") if reason else None

    def _find_key_meant(self, key: str) -> str:
        """Return the family's key that ``key`` probably means; another library's name stands only for a missing key."""
        if own := find_synonym(key, self.keys.key_of_symbol):
            return own if (self.architecture.labels or own != "num_labels") and own not in self.values else ""
        return nearest_to(to_snake_case(key), sorted(self.keys.meaningful), cutoff=0.87)

    def read_values(self) -> Values:
        keys, config = self.keys, self.config
        self._check_other_keys()
        for size in keys.sizes:
            if size.key not in self.values and size.default is not None:
                self._note_missing(size.key, size.default)
        found = {key: self._read(each) for key, each in keys.own.items()}
        for each in keys.lists:
            if each.as_long_as and self.values.get(each.key) is None:
                found[each.key] = (1,) * len(found[each.as_long_as])
        by_symbol = {size.symbol: found[size.key] for size in keys.sizes}
        switches = {key: found[key] for key, each in keys.own.items() if not isinstance(each, Size | Index)}
        labels = Size("num_labels", LABELS, keys.labels)
        if self.architecture.labels:
            by_symbol[LABELS] = found[labels.key] = self._count_labels(labels)
        elif type(count := self.values.get(labels.key)) is int and count > MOST_LABELS:
            self._read(labels)  # the class names each label
        self._check_rules(found)
        dims = None if self.wrong else Dims(by_symbol, switches)
        self.findings |= dict.fromkeys(find_keys_without_effect(keys.all_ignored, config, dims, self.architecture.name))
        assumed = {key: value for key, value in found.items() if value is not None}
        unknown = () if keys.open else (key for key in config.data if key not in keys.known and not is_withheld(key))
        for_build = select_for_build(keys, self._written)
        return Values(by_symbol, switches, for_build, tuple(self.findings), assumed, tuple(unknown))

    def _read(self, key: Key) -> Any:
        """Return the value of a key, or its default if the key is missing or its value wrong."""
        try:
            return key.read(self.values[key.key]) if key.key in self.values else key.default
        except WrongValue as wrong:
            self.note(key.key, wrong.message, wrong.fix, wrong.kind)
            return key.default

    def _note_missing(self, key: str, default: int) -> None:
        config = self.config
        pair = f"overrides = {{ {key} = {default} }}" if config.origin else config.pair.format(key, default)
        if config.model_type is None:
            message = f"the key {key} is missing, and a file without model_type has to be complete"
            self.note(key, message, f"write {pair}, if that is intended")
        else:
            message = f"the key {key} is missing: {exact(default)} is assumed"
            self.note(key, message, f"write {pair}", "defaulted-key", severity="warning")

    def _count_labels(self, labels: Size) -> Any:
        """Return ``num_labels``, else the length of ``id2label``, else a default."""
        names, named = self._written.get("id2label"), None
        if isinstance(names, dict) and len(names) > MOST_LABELS:
            message = f"id2label names {len(names):,} labels, more than {MOST_LABELS:,}"
            self.note("id2label", message, "name fewer", "config-refused")
        elif isinstance(names, dict) and names and all(map(_INDEX.fullmatch, names)):
            named = len(names)
        elif names is not None:
            message = f"id2label is {shown(names)}, which does not name a label by each index"
            self.note("id2label", message, 'write {"0": "no", "1": "yes"}')
        if labels.key not in self.values:
            if names is None:
                self._note_missing(labels.key, self.keys.labels)
            return named or labels.default
        count = self._read(labels)
        if named not in {None, count} and labels.key not in self.wrong:
            builds = f"transformers 4 builds {named:,}, and transformers 5 builds {count:,}"
            message = f"num_labels is {count:,}, and id2label names {plural(named or 0, 'label')}: {builds}"
            self.note(labels.key, message, "make the two keys agree")
        return count

    def _check_rules(self, values: Mapping[str, Any]) -> None:
        for switch in self.keys.switches:
            if switch.needs and values[switch.key] and not values[switch.needs]:
                message = f"{switch.key} is true without {switch.needs}: the class refuses that"
                self.note(switch.key, message, f'write "{switch.needs}": true')
        for rule in (*self.keys.all_rules, *self.architecture.rules):
            if not self.wrong.intersection(rule.keys) and not rule.holds(values):
                said = {key: shown(list(each)) if isinstance(each, tuple) else each for key, each in values.items()}
                self.note(rule.keys[0], rule.message.format_map(said), rule.fix.format_map(said))


def find_keys_without_effect(
    ignored: Mapping[str, Ignored], config: ModelConfig, dims: Dims | None, architecture: str
) -> Iterator[Finding]:
    """Yield a warning for each key that looks as if it changed a count, with its cost if the sizes are known."""
    for key, known in ignored.items():
        if key not in config.data or config.data[key] in known.harmless or key in config.ignored:
            continue
        value = config.data[key]
        concerns = not known.only or architecture.endswith(known.only)
        cost = known.cost(value, dims) if known.cost and dims and concerns else None
        verb = "cost" if cost is None or cost >= 0 else "saved"
        would = f"; it would have {verb} {number(abs(cost))} parameters" if cost is not None else ""
        message = f"{key} = {shown(value)} is ignored: {known.because}{would}"
        fix = _say_how_to_leave([key], known.fix)
        yield Finding("ignored-key", message, fix, "warning", file=config.file, line=config.line(key))


def _say_how_to_leave(keys: list[str], otherwise: str = "") -> str:
    it = "them" if keys[1:] else "it"
    entries = ", ".join(map(shown, keys[:MOST_NAMED])) + (", …" if len(keys) > MOST_NAMED else "")
    return f"if your code reads {it}, write ignored = [{entries}], else {otherwise or f'remove {it}'}"
