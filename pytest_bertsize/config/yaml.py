"""An untrusted YAML file as a config: what PyYAML reads, of the few types that a config has, with the line of each key.

PyYAML, because the training code that reads the same file does so with it nearly always: ``1e-12`` is a string to both,
``no`` is false and ``010`` is 8. In a file of OmegaConf's, ``1e-12`` is a number, a date is a string, and OmegaConf
resolves ``${…}`` itself. Of the file's values only the object that is asked for is read: a date or a tag that stands
elsewhere in a training file is none of our business.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn

import yaml

from pytest_bertsize.config import omegaconf
from pytest_bertsize.config.model_config import (
    DEEPEST,
    LARGEST,
    MOST_CONTAINERS,
    NAMED_BY_LABELS,
    ModelConfig,
    descend,
    fail,
    keys_of,
    not_plain,
    text_of,
)
from pytest_bertsize.wording import printable, reason, shown

SUFFIXES = (".yaml", ".yml")
LONGEST_NUMBER = 4_300
"""Digits; as many as Python reads from text."""
MOST_EVENTS = 200_000
"""Keys, values, beginnings and ends; of those that JSON takes a microsecond for, YAML takes ten."""
MOST_MERGED = 100_000
"""Keys that ``<<`` brings in, over a whole file."""

LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG = "tag:yaml.org,2002:"
_NUMBERS = {f"{_TAG}int", f"{_TAG}float"}
_SCALARS = {*_NUMBERS, f"{_TAG}null", f"{_TAG}bool", f"{_TAG}str"}
_CONTAINERS = {f"{_TAG}map", f"{_TAG}seq"}
_WHAT_IT_IS = {"null": "null", "bool": "true or false", "int": "a number", "float": "a number", "timestamp": "a date"}


def parse(content: bytes, file: str, inner: str, *, by_omegaconf: bool = False) -> ModelConfig:
    """The bytes of a YAML file as a config.

    :param inner: what stands behind the ``#`` of a reference.
    :param by_omegaconf: whether the project reads the file with OmegaConf.
    :raises Unusable: with one finding that says what is wrong with them.
    """
    text = text_of(content, file)
    document = Document(file, by_omegaconf)
    key_path = keys_of(inner)
    root = document.composed(text)
    document.refuse_composed(root)
    node = document.at(root, key_path)
    value: object = document.value(node, key_path).value
    unknown: Mapping[tuple[str, ...], tuple[str, str]] = {}
    if by_omegaconf:
        value, unknown = omegaconf.resolve(text, value, key_path, file)

    def line_of(path: tuple[str, ...]) -> int | None:
        return document.line_of(root, path)

    if found := not_plain(value):
        fail(file, found.message, found.fix, line_of((*key_path, *found.path)))
    data = descend(_wrapped(value, key_path), key_path, file)
    return ModelConfig(file, key_path, data, text, hashlib.sha256(content).hexdigest(), line_of, unknown=unknown)


def _wrapped(value: object, key_path: Sequence[str]) -> object:
    for key in reversed(key_path):
        value = {key: value}
    return value


class _Value(NamedTuple):
    """A value, and how much it would be with its aliases written out."""

    value: object
    depth: int
    containers: int
    size: int
    """Characters, about."""


class _Entry(NamedTuple):
    line: int
    """Of the key."""
    node: Any


@dataclass
class Document:
    """The nodes of one file, each read once however many aliases it has."""

    file: str
    by_omegaconf: bool = False
    _values: dict[int, _Value] = field(default_factory=dict)
    _entries: dict[int, dict[str, _Entry]] = field(default_factory=dict)
    _being_read: set[int] = field(default_factory=set)
    _merged_keys: int = 0

    def composed(self, text: str) -> Any:
        """The file's one document."""
        try:
            self._look_through(yaml.parse(text, Loader=LOADER))
            node = yaml.compose(text, Loader=LOADER)
        except yaml.MarkedYAMLError as error:
            at = error.problem_mark.line if error.problem_mark else 0
            if "nesting depth" in str(error.problem):  # a limit of libyaml's own, which is higher
                fail(self.file, f"nested more than {DEEPEST} deep", "name one model's config", at + 1)
            if re.match(r" *\t", (*text.split("\n"), "")[at]):
                fail(self.file, "not YAML: the line is indented by a tab", "indent it by spaces", at + 1)
            fail(self.file, f"not YAML: {printable(str(error.problem))}", "correct the file", at + 1)
        except yaml.reader.ReaderError as error:
            character, line = text[error.position], text.count("\n", 0, error.position) + 1
            fail(self.file, f"not YAML: it has the character U+{ord(character):04X}", "remove it", line)
        except (yaml.YAMLError, ValueError) as error:
            fail(self.file, f"not YAML: {reason(error)}", "correct the file")
        if node is None:
            fail(self.file, "the file is empty", "write the model's config")
        return node

    def _look_through(self, events: Iterator[Any]) -> None:
        """Refuse what is nested too deep before it is composed: that is recursive, and in C."""
        depth = containers = documents = 0
        for seen, event in enumerate(events):
            kind = type(event).__name__
            if seen > MOST_EVENTS:
                self._fail(event, f"more than {MOST_EVENTS:,} keys and values", "name one model's config")
            if kind == "DocumentStartEvent":
                documents += 1
                if documents > 1:
                    self._fail(event, "the file holds more than one document", "keep one, without a second ---")
            elif kind in {"MappingStartEvent", "SequenceStartEvent"}:
                depth, containers = depth + 1, containers + 1
                self._limit(event, depth, containers, 0)
            elif kind in {"MappingEndEvent", "SequenceEndEvent"}:
                depth -= 1

    def at(self, node: Any, key_path: Sequence[str]) -> Any:
        """The node to which keys lead; ``${…}`` on the way, which stands for another."""
        for depth, key in enumerate(key_path):
            if self.by_omegaconf and node.id == "scalar" and "${" in node.value:
                return node
            entries = self._entries_of(node, key_path[:depth]) if node.tag == f"{_TAG}map" else {}
            if key not in entries:
                keys = ", ".join(map(shown, list(entries)[:12])) or "no object"
                where = printable(".".join(key_path[: depth + 1]))
                message = f"there is no {where} in the file; at that place there is {keys}"
                fail(self.file, message, "correct what follows the #")
            node = entries[key].node
        return node

    def line_of(self, root: Any, path: tuple[str, ...]) -> int | None:
        """The line of a key; what an alias stands for has its lines at the anchor."""
        node, line = root, None
        for key in path:
            entry = self._entries.get(id(node), {}).get(key)
            if entry is None:
                return None
            line, node = entry
        return line

    def value(self, node: Any, path: Sequence[str]) -> _Value:
        """What a node says.

        :param path: of the keys and list items that lead to it, as messages show it.
        """
        if id(node) in self._values:
            return self._values[id(node)]
        if id(node) in self._being_read:
            self._fail(node, f"{_name(path)} holds itself, by an anchor and an alias", "write it out")
        self._limit(node, len(path), 0, 0)
        self._being_read.add(id(node))
        found = self._scalar(node, path) if node.id == "scalar" else self._container(node, path)
        self._being_read.discard(id(node))
        self._limit(node, found.depth, found.containers, found.size)
        self._values[id(node)] = found
        return found

    def refuse_composed(self, root: Any) -> None:
        """:raises Unusable: for a file that hydra composes of others."""
        entry = self._entries_of(root, ()).get("defaults") if root.tag == f"{_TAG}map" else None
        if entry and entry.node.tag == f"{_TAG}seq":
            omegaconf.refuse_composed(self.value(entry.node, ("defaults",)).value, self.file, entry.line)

    def _scalar(self, node: Any, path: Sequence[str]) -> _Value:
        if self.by_omegaconf and not node.style:  # without quotes
            is_number = node.tag == f"{_TAG}str" and omegaconf.NUMBER.fullmatch(node.value)
            node.tag = f"{_TAG}float" if is_number else node.tag.replace("timestamp", "str")
        if node.tag not in _SCALARS:
            self._refuse_tag(node, path)
        if node.tag in _NUMBERS and len(node.value) > LONGEST_NUMBER:
            self._fail(node, f"{_name(path)} is a number of thousands of digits", "write the number")
        constructor = yaml.constructor.SafeConstructor()
        try:
            value = getattr(constructor, f"construct_yaml_{node.tag.removeprefix(_TAG)}")(node)
        except (ValueError, KeyError, IndexError):
            what = _WHAT_IT_IS[node.tag.removeprefix(_TAG)]
            self._fail(node, f"{_name(path)} is {shown(node.value)}, and its tag says {what}", "remove the tag")
        return _Value(value, 0, 0, len(node.value) + 1)

    def _container(self, node: Any, path: Sequence[str]) -> _Value:
        if node.tag not in _CONTAINERS:
            self._refuse_tag(node, path)
        if node.tag == f"{_TAG}map":
            parts = {key: self.value(entry.node, (*path, key)) for key, entry in self._entries_of(node, path).items()}
            return _together({key: part.value for key, part in parts.items()}, parts.values(), sum(map(len, parts)))
        items = [self.value(each, (*path, "[]")) for each in node.value]
        return _together([item.value for item in items], items, 0)

    def _entries_of(self, node: Any, path: Sequence[str], merges: int = 0) -> dict[str, _Entry]:
        """What a mapping says by key: its own entries win over those that ``<<`` merges into it."""
        if id(node) in self._entries:
            return self._entries[id(node)]
        self._limit(node, merges, 0, 0)  # an anchor that merges itself as well
        own: dict[str, _Entry] = {}
        merged: list[Any] | None = None
        for key_node, value_node in node.value:
            is_merge = key_node.tag == f"{_TAG}merge"
            key = "<<" if is_merge else self._key(key_node, path)
            if key in own or (is_merge and merged is not None):
                self._fail(key_node, f"the key {shown(key)} stands there twice in one object", "keep one of them")
            if is_merge:
                merged = self._merged(value_node, path)
            else:
                own[key] = _Entry(key_node.start_mark.line + 1, value_node)
        found: dict[str, _Entry] = {}
        for each in reversed(merged or []):  # the first of a list wins
            inherited = self._entries_of(each, path, merges + 1)
            found.update(inherited)
            self._merged_keys += len(inherited)
            if self._merged_keys > MOST_MERGED:
                self._fail(node, f"<< merges more than {MOST_MERGED:,} keys", "write the config out")
        self._entries[id(node)] = {**found, **own}
        return self._entries[id(node)]

    def _merged(self, node: Any, path: Sequence[str]) -> list[Any]:
        nodes = list(node.value) if node.tag == f"{_TAG}seq" else [node]
        for each in nodes:
            if each.tag != f"{_TAG}map":
                self._fail(each, f"what << merges into {_name(path)} is no object", "write an alias of one")
        return nodes

    def _key(self, node: Any, path: Sequence[str]) -> str:
        is_label = node.tag == f"{_TAG}int" and bool(path) and path[-1] in NAMED_BY_LABELS
        if node.tag != f"{_TAG}str" and not is_label:
            self._refuse_key(node, path)
        return str(self._scalar(node, path).value)

    def _refuse_key(self, node: Any, path: Sequence[str]) -> NoReturn:
        if node.id != "scalar":
            self._fail(node, f"a key of {_name(path)} is an object or a list", "write a string")
        what = _WHAT_IT_IS.get(node.tag.removeprefix(_TAG), "no string")
        self._fail(
            node,
            f"the key {printable(node.value)} is {what} in YAML, not a string",
            f"write {shown(node.value)}, in quotes",
        )

    def _refuse_tag(self, node: Any, path: Sequence[str]) -> NoReturn:
        if node.tag == f"{_TAG}timestamp":
            message = f"{_name(path)} is the date {printable(node.value)}, which JSON cannot say"
            self._fail(node, message, f"write {shown(node.value)}, in quotes")
        tag = printable(re.sub(f"^{re.escape(_TAG)}", "!!", node.tag))
        self._fail(node, f"{_name(path)} has the tag {tag}, which is not read", "write a plain value")

    def _limit(self, place: Any, depth: int, containers: int, size: int) -> None:
        if depth > DEEPEST:
            self._fail(place, f"nested more than {DEEPEST} deep", "name one model's config")
        if containers > MOST_CONTAINERS:
            self._fail(place, f"more than {MOST_CONTAINERS:,} objects and lists", "name one model's config")
        if size > LARGEST:
            message = f"with every alias written out, this is larger than {LARGEST:,} bytes"
            self._fail(place, message, "name one model's config")

    def _fail(self, place: Any, message: str, fix: str) -> NoReturn:
        fail(self.file, message, fix, place.start_mark.line + 1)


def _together(value: object, parts: Iterable[_Value], size: int) -> _Value:
    found = list(parts)
    depth = 1 + max((part.depth for part in found), default=0)
    return _Value(value, depth, 1 + sum(p.containers for p in found), size + 1 + sum(p.size for p in found))


def _name(path: Sequence[str]) -> str:
    return printable(".".join(path).replace(".[]", "[]")) or "the file"
