"""An untrusted YAML file as a config: the values that PyYAML reads, with the line of each key.

PyYAML reads it because training code nearly always reads the same file with PyYAML: ``1e-12`` is a string, ``no``
is false and ``010`` is 8. In a file that is marked as OmegaConf's, ``1e-12`` is a number, a date is a string, and
OmegaConf itself resolves ``${…}``. Only the requested object is read: a date or a tag elsewhere does no harm.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

import yaml

from pytest_bertsize.builder.confined import MEGABYTE
from pytest_bertsize.builder.messages import Allowed
from pytest_bertsize.builder.own_process import Lost, answer_of
from pytest_bertsize.config.model_config import (
    DEEPEST,
    LARGEST,
    MOST_CONTAINERS,
    ONE_MODEL,
    KeyPath,
    ModelConfig,
    config_at,
    fail,
    keys_of,
    nest,
    refuse_missing_key,
)
from pytest_bertsize.config.text_files import decode_text
from pytest_bertsize.config.vocabulary import NAMED_BY_LABELS
from pytest_bertsize.wording import printable, reason, shown

SUFFIXES = (".yaml", ".yml")
LONGEST_NUMBER = 4_300
"""The most characters of a number; Python reads no more digits from a text."""
MOST_EVENTS = 200_000
"""The most events in a file: keys, values, beginnings and ends of objects and lists; PyYAML takes 10 µs for each."""

_TAG = "tag:yaml.org,2002:"
_MAP, _SEQUENCE, _STRING, _MERGE = (f"{_TAG}{each}" for each in ("map", "seq", "str", "merge"))
_SCALARS = {f"{_TAG}{each}" for each in ("int", "float", "null", "bool", "str")}


def parse(content: bytes, file: str, inner: str) -> ModelConfig:
    """Return the object at ``inner`` in the bytes of a YAML file; raise :class:`Unusable` for the first mistake."""
    text = decode_text(content, file)
    document = _Document(file, is_omegaconf=_MARKS.search(text) is not None)
    key_path = keys_of(inner)
    root = document.compose(text)
    document.refuse_composed(root)
    value = document.read(document.find(root, key_path), key_path)
    unknown: Mapping[KeyPath, tuple[str, str]] = {}
    if document.is_omegaconf:
        value, unknown = resolve(text, value, key_path, file)
    return config_at(nest(value, key_path), file, key_path, document.lines.get, content, unknown=unknown)


def write_number(text: str) -> str:
    """Rewrite a text such as ``1e-12`` so that YAML 1.1 reads a number: ``1.0e-12``; ``""`` for any other text."""
    if not _NUMBER.fullmatch(text):
        return ""
    digits, _, power = text.lower().partition("e")
    return f"{digits if '.' in digits else f'{digits}.0'}e{power if power[0] in '+-' else f'+{power}'}"


class _Document:
    """The nodes of one file; aliases are written out, up to the size of the largest config."""

    def __init__(self, file: str, *, is_omegaconf: bool) -> None:
        self.file = file
        self.is_omegaconf = is_omegaconf
        self.lines: dict[KeyPath, int] = {}
        """The line of each key that was read, by its full path; keys of an alias have their lines at the anchor."""
        self._containers = self._characters = 0

    def compose(self, text: str) -> Any:
        """Return the root of the file's only document; too deep nesting is refused before C code composes it."""
        loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        try:
            self._check_events(yaml.parse(text, Loader=loader))
            node = yaml.compose(text, Loader=loader)
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line if error.problem_mark else 0
            if "nesting depth" in str(error.problem):  # a limit of libyaml's own, which is higher
                fail(self.file, f"nested more than {DEEPEST} deep", ONE_MODEL, line + 1)
            if re.match(r" *\t", (*text.split("\n"), "")[line]):
                fail(self.file, "not YAML: the line is indented by a tab", "indent it by spaces", line + 1)
            fail(self.file, f"not YAML: {printable(str(error.problem))}", "correct the file", line + 1)
        except yaml.reader.ReaderError as error:
            character, line = text[error.position], text.count("\n", 0, error.position) + 1
            fail(self.file, f"not YAML: it has the character U+{ord(character):04X}", "remove it", line)
        except (yaml.YAMLError, ValueError) as error:
            fail(self.file, f"not YAML: {reason(error)}", "correct the file")
        if node is None:
            fail(self.file, "the file is empty", "write the model's config")
        return node

    def _check_events(self, events: Iterator[Any]) -> None:
        depth = documents = 0
        for seen, event in enumerate(events):
            documents += isinstance(event, yaml.DocumentStartEvent)
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if seen > MOST_EVENTS:
                self._fail_at(event, f"more than {MOST_EVENTS:,} keys and values", ONE_MODEL)
            if documents > 1:
                self._fail_at(event, "the file holds more than one document", "keep one, without a second ---")
            if depth > DEEPEST:
                self._fail_at(event, f"nested more than {DEEPEST} deep", ONE_MODEL)

    def find(self, node: Any, key_path: KeyPath) -> Any:
        """Return the node to which ``key_path`` leads, or the node of a ``${…}`` on the way there."""
        for depth, key in enumerate(key_path):
            if self.is_omegaconf and node.id == "scalar" and "${" in node.value:
                return node
            entries = self._list_entries(node, key_path[:depth]) if node.tag == _MAP else None
            if not entries or key not in entries:
                refuse_missing_key(key_path[: depth + 1], entries, self.file)
            self.lines[key_path[: depth + 1]], node = entries[key]
        return node

    def read(self, node: Any, path: KeyPath) -> object:
        """Return the value of a node; ``path`` has the keys that lead to it, and ``[]`` for a list's items."""
        self._count(node, len(path), containers=node.id != "scalar", characters=1)
        if node.id == "scalar":
            return self._read_scalar(node, path)
        if node.tag == _SEQUENCE:
            return [self.read(each, (*path, "[]")) for each in node.value]
        if node.tag != _MAP:
            self._refuse_tag(node, path)
        found: dict[str, object] = {}
        for key, (line, inner) in self._list_entries(node, path).items():
            self.lines[*path, key] = line
            found[key] = self.read(inner, (*path, key))
        return found

    def refuse_composed(self, root: Any) -> None:
        """:raises Unusable: if hydra's list ``defaults`` in the file names another file."""
        entry = self._list_entries(root, ()).get("defaults") if root.tag == _MAP else None
        line, node = entry or (0, None)
        for each in node.value if node and node.tag == _SEQUENCE else ():
            value = self.read(each, ("defaults", "[]"))
            if isinstance(value, str | dict) and value != "_self_":
                message = f"its defaults name {shown(value)}, and only hydra composes such files"
                fail(self.file, message, COMPOSE, line)

    def _read_scalar(self, node: Any, path: KeyPath) -> object:
        tag = node.tag
        if self.is_omegaconf and not node.style:  # without quotes
            is_number = tag == _STRING and _NUMBER.fullmatch(node.value)
            tag = f"{_TAG}float" if is_number else tag.replace("timestamp", "str")
        if tag not in _SCALARS:
            self._refuse_tag(node, path)
        self._count(node, len(path), characters=len(node.value))
        if tag in {f"{_TAG}int", f"{_TAG}float"} and len(node.value) > LONGEST_NUMBER:
            self._fail_at(node, f"{_name_path(path)} is a number with thousands of digits", "write the number")
        try:
            return yaml.constructor.SafeConstructor().construct_object(yaml.ScalarNode(tag, node.value))
        except (ValueError, KeyError, IndexError):
            message = f"{_name_path(path)} is {shown(node.value)}, and its tag is {_shorten_tag(tag)}"
            self._fail_at(node, message, "remove the tag")

    def _list_entries(self, node: Any, path: KeyPath, merges: int = 0) -> dict[str, tuple[int, Any]]:
        """Return lines and values of a mapping by key: its own entries win over those that ``<<`` merges into it."""
        self._count(node, merges, containers=merges > 0)  # an anchor that merges itself as well
        own: dict[str, tuple[int, Any]] = {}
        merged: list[Any] | None = None
        for key_node, value_node in node.value:
            is_merge = key_node.tag == _MERGE
            key = "<<" if is_merge else self._read_key(key_node, path)
            if key in own or (is_merge and merged is not None):
                self._fail_at(key_node, f"one object has the key {shown(key)} twice", "keep one of them")
            if is_merge:
                merged = value_node.value if value_node.tag == _SEQUENCE else [value_node]
            else:
                own[key] = (key_node.start_mark.line + 1, value_node)
        found: dict[str, tuple[int, Any]] = {}
        for each in reversed(merged or []):  # the first of a list wins
            if each.tag != _MAP:
                self._fail_at(each, f"<< in {_name_path(path)} is not an object", "write an alias of an object")
            found |= self._list_entries(each, path, merges + 1)
        return found | own

    def _read_key(self, node: Any, path: KeyPath) -> str:
        is_label = node.tag == f"{_TAG}int" and bool(path) and path[-1] in NAMED_BY_LABELS
        if node.id != "scalar":
            self._fail_at(node, f"a key of {_name_path(path)} is an object or a list", "write a string")
        if node.tag != _STRING and not is_label:
            message = f"the key {printable(node.value)} is not a string in YAML, but {_shorten_tag(node.tag)}"
            self._fail_at(node, message, f"write {shown(node.value)}, in quotes")
        return str(self._read_scalar(node, path))

    def _refuse_tag(self, node: Any, path: KeyPath) -> NoReturn:
        if node.tag == f"{_TAG}timestamp":
            message = f"{_name_path(path)} is the date {printable(node.value)}, which JSON cannot hold"
            self._fail_at(node, message, f"write {shown(node.value)}, in quotes")
        message = f"{_name_path(path)} has the tag {_shorten_tag(node.tag)}, which is not read"
        self._fail_at(node, message, "write a plain value")

    def _count(self, place: Any, depth: int, *, containers: int = 0, characters: int = 0) -> None:
        """Refuse a file whose aliases make it larger than any config."""
        self._containers += containers
        self._characters += characters
        if depth > DEEPEST:
            self._fail_at(place, f"nested more than {DEEPEST} deep", ONE_MODEL)
        if self._containers > MOST_CONTAINERS:
            self._fail_at(place, f"more than {MOST_CONTAINERS:,} objects and lists", ONE_MODEL)
        if self._characters > LARGEST:
            self._fail_at(place, f"with every alias written out, this is larger than {LARGEST:,} bytes", ONE_MODEL)

    def _fail_at(self, place: Any, message: str, fix: str) -> NoReturn:
        fail(self.file, message, fix, place.start_mark.line + 1)


def _shorten_tag(tag: str) -> str:
    return printable(re.sub(f"^{re.escape(_TAG)}", "!!", tag))


def _name_path(path: Sequence[str]) -> str:
    return printable(".".join(path).replace(".[]", "[]")) or "the file"


# OmegaConf and hydra


ALLOWED = Allowed(seconds=10.0, memory=1024 * MEGABYTE, answer=2 * LARGEST)
FIX = 'write the value, set it by overrides, or name a function that composes the config, as in config = "module:make"'
COMPOSE = (
    'name a function of the project that does, as in config = "module:make": it returns '
    'OmegaConf.to_container(compose("config").model, resolve=True), with initialize("conf", version_base=None)'
)
_NUMBER = re.compile(r"[-+]?[0-9][0-9_]*+(?:\.[0-9_]*+)?[eE][-+]?[0-9]+")
"""A number with an exponent: to OmegaConf a float, to PyYAML a string if it lacks a point or the exponent's sign."""
_MARKS = re.compile(
    r"\$\{|^\s*+(?:-\s++)?_target_\s*+:|^\#\s*+@package\b|:[^\S\n]++\?\?\?[^\S\n]*+$|^defaults:[^\S\n]*+(?:\#.*+)?\n\s*+-\s",
    re.MULTILINE,
)
"""Marks that only OmegaConf or hydra understands."""


def resolve(
    text: str, value: object, key_path: Sequence[str], file: str
) -> tuple[object, Mapping[KeyPath, tuple[str, str]]]:
    """Return an object with each ``${…}`` resolved, and the problem and the fix of each that cannot be, by its path.

    :param text: the text of the file.
    :param value: the object as it is written; a string if ``${…}`` is at the keys or above them.
    :param key_path: the keys that lead to the object.
    :raises Unusable: if the object itself is a ``${…}`` that is not resolved.
    """
    if not key_path and isinstance(value, dict):
        value = {key: each for key, each in value.items() if key != "hydra"}  # how hydra itself runs
    written = dict(_find_unresolved(value))
    known: dict[KeyPath, object] = {}
    unknown: dict[KeyPath, tuple[str, str]] = {}
    asked = {"text": text, "paths": [[*key_path, *path] for path in written]}
    try:
        said = answer_of("pytest_bertsize.config.by_omegaconf", asked, None, ALLOWED) if written else {}
    except Lost as lost:
        said = {"why": str(lost)}
    answers: Sequence[dict[str, Any]] = said.get("answers", [said] * len(written))
    for path, answer in zip(written, answers, strict=True):
        if "value" in answer:
            known[path] = answer["value"]
            continue
        name = printable(".".join(path or key_path))
        why = f"{name} is {printable(written[path])}, which OmegaConf does not resolve: {printable(str(answer['why']))}"
        fix = f"{answer.get('first', '')}{FIX}"
        if not path:
            fail(file, why, fix)
        unknown[*key_path, *path] = why, fix
    return _put_values(value, known), unknown


def _find_unresolved(value: object, path: KeyPath = ()) -> Iterator[tuple[KeyPath, str]]:
    """Yield the path and the text of each string that has ``${…}`` or is ``???``."""
    if isinstance(value, str) and ("${" in value or value == "???"):
        yield path, value
    elif isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _find_unresolved(inner, (*path, str(key)))


def _put_values(value: object, known: Mapping[KeyPath, object], path: KeyPath = ()) -> object:
    if path in known:
        return known[path]
    if isinstance(value, dict):
        return {key: _put_values(inner, known, (*path, key)) for key, inner in value.items()}
    if isinstance(value, list):
        return [_put_values(inner, known, (*path, str(index))) for index, inner in enumerate(value)]
    return value
