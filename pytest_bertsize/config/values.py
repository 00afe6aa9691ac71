"""What the project's config says for each key of its family: sizes, switches, words, lists, labels."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeGuard

from pytest_bertsize.config.dims import Dims
from pytest_bertsize.config.handed_over import handed_over, unknown
from pytest_bertsize.config.keys import LABELS, Asks, Choice, ConfigKeys, Index, Listing, Size, Switch, Values
from pytest_bertsize.config.other_keys import (
    check_keys,
    note_what_is_read,
    note_what_is_unknown,
    note_what_no_config_says,
    without_effect,
)
from pytest_bertsize.config.sheet import Sheet
from pytest_bertsize.findings import Kind, Unusable
from pytest_bertsize.wording import did_you_mean, exact, number, shown

if TYPE_CHECKING:
    from pytest_bertsize.config.model_config import ModelConfig

LARGEST_SIZE = 10**9
MOST_LAYERS = 1_000
"""A layer takes 1.3 ms to build, so that 10⁵ of them would take minutes."""
LONGEST_LIST = 1_000
"""Entries of a list, and the sum of its numbers: each is a module that costs time to build."""
MOST_LABELS = 100_000
"""transformers makes a name for each label before it makes a model: 10⁸ of them end in a MemoryError."""
NOT_WHOLE = "{key} is {value}, which is not a whole number", "write one, as in {example}"
TOO_SMALL = "{key} is {value}: a size is at least {least}", "write one, as in {example}"
TOO_LARGE = "{key} is {value}, more than {most}", "write the size that the model has"
TOO_DEEP = "{key} is {value}: more than {most} layers are not built", "write the number of layers that the model has"
"""What is said of a size, and what to write."""


def resolve(keys: ConfigKeys, config: ModelConfig, overrides: Mapping[str, object], architecture: Asks) -> Values:
    """Read a family's keys from a config.

    :param overrides: the table's ``overrides``; they win over the file.
    :param architecture: whether it has labels to count, and what it asks for on top of its family's rules.
    :raises Unusable: with a finding for everything that is wrong, all at once.
    """
    sheet = Sheet(keys, config, overrides)
    if config.ignored:
        note_what_is_read(sheet)
    if config.unknown:
        note_what_is_unknown(sheet)
    values = None if sheet.wrong else _Reading(sheet, architecture).values()
    if sheet.wrong or values is None:
        raise Unusable(*sorted(sheet.findings, key=lambda finding: finding.severity != "error"))
    return values


class _Reading:
    """What one sheet says for each key of its family; findings gather on the sheet."""

    def __init__(self, sheet: Sheet, architecture: Asks) -> None:
        self.sheet = sheet
        self.keys = sheet.keys
        self.written = sheet.values
        self.architecture = architecture

    def values(self) -> Values:
        check_keys(self.sheet, labels=self.architecture.labels)
        sizes = {size.key: self._size(size) for size in self.keys.sizes}
        switches = self._all_switches()
        by_symbol = {size.symbol: sizes[size.key] for size in self.keys.sizes}
        found = {**sizes, **switches, **{index.key: self._index(index) for index in self.keys.indices}}
        if self.architecture.labels:
            by_symbol[LABELS] = found["num_labels"] = self._num_labels()
        else:
            self._bound_num_labels()
        self._check_needs(switches)
        self._check_rules(found)
        note_what_no_config_says(self.sheet)
        self._say_what_is_without_effect(None if self.sheet.wrong else Dims(by_symbol, switches))
        keys, config = self.keys, self.sheet.config
        for_build = handed_over(keys, config, self.sheet.as_overridden)
        assumed = {key: value for key, value in found.items() if value is not None}
        return Values(by_symbol, switches, for_build, tuple(self.sheet.findings), assumed, unknown(keys, config))

    def _say_what_is_without_effect(self, dims: Dims | None) -> None:
        sheet = self.sheet
        sheet.findings += without_effect(self.keys.all_ignored, sheet.config, dims, self.architecture.name)

    def _all_switches(self) -> dict[str, Any]:
        return {
            **{switch.key: self._switch(switch) for switch in self.keys.switches},
            **{choice.key: self._choice(choice) for choice in self.keys.choices},
            **{listing.key: self._listing(listing) for listing in self.keys.lists},
        }

    def _size(self, size: Size) -> int | None:
        if size.key not in self.written:
            if size.default is not None:
                self._say_missing(size.key, size.default)
            return size.default
        if size.default is None and self.written[size.key] is None:
            return None
        default = size.minimum if size.default is None else size.default
        value = self._whole_number(size.key, default, LARGEST_SIZE, size.minimum)
        if size.repeats and value > MOST_LAYERS:
            self._note(TOO_DEEP, "config-refused", key=size.key, value=exact(value), most=exact(MOST_LAYERS))
        return value

    def _say_missing(self, key: str, default: object) -> None:
        text = exact(default) if isinstance(default, int) else shown(default)
        written = self._in_the_file(key, default)
        if self.sheet.config.model_type is None:
            message = f"the key {key} is missing, and a file without model_type has to be complete"
            self.sheet.note(key, message, f"write {written}, if that is meant")
        else:
            message = f"the key {key} is missing: {text} is assumed"
            self.sheet.note(key, message, f"write {written}", "defaulted-key", "warning")

    def _in_the_file(self, key: str, value: object) -> str:
        """How a key is written where the config is; of a published one, in the table."""
        if self.sheet.config.origin:
            return f"overrides = {{ {key} = {shown(value)} }}"
        return self.sheet.config.pair.format(key, value if type(value) is int else shown(value))

    def _whole_number(self, key: str, default: int, largest: int, minimum: int = 1) -> int:
        value = self.written[key]
        if type(value) is not int:
            self._note(NOT_WHOLE, key=key, value=shown(value), example=default)
        elif value < minimum:
            self._note(TOO_SMALL, key=key, value=number(value), least=minimum, example=default)
        elif value > largest:
            self._note(TOO_LARGE, "config-refused", key=key, value=number(value), most=exact(largest))
        else:
            return value
        return default

    def _note(self, said: tuple[str, str], kind: Kind = "config-invalid", *, key: str, **values: object) -> None:
        message, fix = (each.format(key=key, **values) for each in said)
        self.sheet.note(key, message, fix, kind)

    def _index(self, index: Index) -> int | None:
        value = self.written.get(index.key, index.default)
        if value is None or (type(value) is int and abs(value) <= LARGEST_SIZE):
            return value
        self.sheet.note(
            index.key, f"{index.key} is {shown(value)}, which is no index", f"write one, as in {index.default}"
        )
        return index.default

    def _switch(self, switch: Switch) -> bool:
        value = self.written.get(switch.key, switch.default)
        if value is None and switch.null:
            return switch.default
        if type(value) is not bool:
            self.sheet.note(switch.key, f"{switch.key} is {shown(value)}, not true or false", "write true or false")
            return switch.default
        return value

    def _choice(self, choice: Choice) -> str | None:
        value = self.written.get(choice.key, choice.default)
        if value is None and (choice.null or choice.default is None):
            return None
        if isinstance(value, str) and value in choice.words:
            return choice.taken_for.get(value, value)
        fix = did_you_mean(value, choice.words, f"write {choice.default or min(choice.words)!r}, for example")
        self.sheet.note(choice.key, f"{choice.key} is {shown(value)}, which transformers does not know", fix)
        return choice.default

    def _listing(self, listing: Listing) -> tuple[Any, ...]:
        if listing.as_long_as and self.written.get(listing.key) is None:
            other = next(each for each in self.keys.lists if each.key == listing.as_long_as)
            return (1,) * len(self._listing(other))
        if listing.key not in self.written:
            return listing.default
        value = self.written[listing.key]
        if value is None and not listing.default:
            return ()
        entries = value.split(listing.separator) if listing.separator and isinstance(value, str) else value
        example = f"write {shown(list(listing.default) or list(listing.words))}, for example"
        if not _is_listing(entries, listing):
            words = "the words that there are" if listing.words else "words"
            what = "whole numbers, each at least 1" if listing.of is int else words
            self.sheet.note(listing.key, f"{listing.key} is {shown(value)}, not a list of {what}", example)
        elif len(entries) > LONGEST_LIST:
            message = f"{listing.key} has {len(entries):,} entries, more than {LONGEST_LIST:,}"
            self.sheet.note(listing.key, message, example, "config-refused")
        elif listing.of is int and sum(entries) > LARGEST_SIZE:
            message = f"the numbers of {listing.key} sum to {number(sum(entries))}, more than {LARGEST_SIZE:,}"
            self.sheet.note(listing.key, message, example, "config-refused")
        else:
            return tuple(entries)
        return listing.default

    def _num_labels(self) -> int:
        """``num_labels``, else the entries of ``id2label``, else two. An override replaces both of the file."""
        overridden = self.sheet.overrides.keys() & {"num_labels", "id2label"}
        place = self.sheet.overrides if overridden else self.sheet.config.data
        named = self._id2label(place["id2label"]) if place.get("id2label") is not None else None
        if "num_labels" not in place:
            if named is None:
                self._say_missing("num_labels", self.keys.labels)
            return named or self.keys.labels
        count = self._whole_number("num_labels", self.keys.labels, MOST_LABELS)
        if named not in {None, count} and "num_labels" not in self.sheet.wrong:
            message = f"num_labels is {count:,} and id2label names {named}: transformers 4 builds the one, 5 the other"
            self.sheet.note("num_labels", message, "make them agree")
        return count

    def _bound_num_labels(self) -> None:
        """The config class makes a name for each label, whether the model has an output for it or not."""
        count = self.written.get("num_labels")
        if type(count) is int and count > MOST_LABELS:
            self._whole_number("num_labels", self.keys.labels, MOST_LABELS)

    def _id2label(self, value: object) -> int | None:
        """The number of labels that have a name."""
        example = 'write {"0": "no", "1": "yes"}'
        if not isinstance(value, dict) or not value:
            self.sheet.note("id2label", f"id2label is {shown(value)}, which names no label", example)
        elif len(value) > MOST_LABELS:
            message = f"id2label names {len(value):,} labels, more than {MOST_LABELS:,}"
            self.sheet.note("id2label", message, "name fewer", "config-refused")
        elif wrong := next((key for key in value if not re.fullmatch(r"0|[1-9][0-9]{0,8}", key, re.ASCII)), None):
            self.sheet.note("id2label", f"id2label has the key {shown(wrong)}, which is not an index", example)
        else:
            return len(value)
        return None

    # how they go together

    def _check_needs(self, switches: Mapping[str, Any]) -> None:
        for switch in self.keys.switches:
            if switch.needs and switches[switch.key] and not switches[switch.needs]:
                message = f"{switch.key} is true without {switch.needs}: the class refuses that"
                self.sheet.note(switch.key, message, f'write "{switch.needs}": true')

    def _check_rules(self, values: Mapping[str, Any]) -> None:
        for rule in (*self.keys.all_rules, *self.architecture.rules):
            if not self.sheet.wrong.intersection(rule.keys) and not rule.holds(values):
                said = {key: shown(list(each)) if isinstance(each, tuple) else each for key, each in values.items()}
                self.sheet.note(rule.keys[0], rule.message.format_map(said), rule.fix.format_map(said))


def _is_listing(entries: object, listing: Listing) -> TypeGuard[list[Any] | tuple[Any, ...]]:
    if not isinstance(entries, list | tuple) or not (entries or listing.may_be_empty):
        return False
    return all(_is_entry(each, listing) for each in entries)


def _is_entry(entry: object, listing: Listing) -> bool:
    if listing.of is int:
        return type(entry) is int and entry > 0
    return isinstance(entry, str) and (
        entry in listing.words if listing.words else bool(re.fullmatch(r"\w{1,100}", entry))
    )
