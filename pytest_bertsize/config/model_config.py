"""An untrusted config, read without transformers: bytes → one object of plain values, and the place of its keys."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from pytest_bertsize.config import file_signatures
from pytest_bertsize.config.json_lines import line_of_number, lines_in_json, repeated_in_json
from pytest_bertsize.files import Place, RepeatedKey, unique
from pytest_bertsize.findings import Finding, Kind, Unusable
from pytest_bertsize.table.model import NAMES
from pytest_bertsize.wording import printable, reason, shown

if TYPE_CHECKING:
    from pytest_bertsize.config.parts import Module

LARGEST = 1024 * 1024
"""Bytes; the largest config of a published model has a few hundred KB of label names."""
DEEPEST = 64
"""Nested objects and lists; transformers' own reader gives up in the hundreds."""
MOST_CONTAINERS = 20_000
"""Objects and lists, of which a config has a dozen."""
MOST_KEYS = 2_000
"""Keys in one object; the most that a published config has is about a hundred."""
LONGEST_KEY = 200
"""Characters."""
LONGEST_INTEGER = 14_280
"""Bits: the 4,300 decimal digits that Python writes."""
NAMED_BY_LABELS = ("id2label", "label2id")
"""Objects whose keys are a task's labels: only their number is limited, where they are counted."""
IN_TOML = "{} = {}"
OF_ALL = ("dtype", "torch_dtype", "quantization_config")
"""Keys that say something of the whole where all its parts say the same."""

_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
_NOT_A_BRACKET = re.compile(r"[^\[\]{}]++")


def _nowhere(_: str) -> str:
    return ""


@dataclass(frozen=True, eq=False, repr=False)
class ModelConfig:
    """One object of a config file, as it stands there. Two are equal if they are one."""

    file: str
    """Path relative to the project's root, as messages show it."""
    key_path: tuple[str, ...]
    """Keys that lead to the object; empty for the file itself."""
    data: dict[str, object]
    text: str
    sha256: str
    """Of the file's bytes; of canonical JSON, where there is no file."""
    line_of: Callable[[tuple[str, ...]], int | None] | None = None
    """The line of a key by its full path, for what is no JSON file."""
    by_own_names: dict[str, object] | None = None
    """The object as it stands in the file, where keys of :attr:`data` are renamed."""
    names_in_file: Mapping[tuple[str, ...], tuple[str, ...]] = field(default_factory=dict)
    """Full paths of keys, and the paths that stand in the file in their place."""
    pair: str = '"{}": {}'
    """How a key with its value is written there."""
    origin: str = ""
    """Of a config that is named as the hub names it: where it is from; ``""`` for a file, or what else is no name."""
    named_at: Callable[[str], str] = _nowhere
    """Where the project's own code names a key; ``""`` where it does not, or nobody has looked."""
    parts: Mapping[str, ModelConfig] = field(default_factory=dict)
    """Of a config that is put together: those of its parts, by their names."""
    primary: str = ""
    """The part whose keys are the whole's own, without its name before them."""
    whole: str = ""
    """What reports call a config that is put together."""
    modules: tuple[Module, ...] = ()
    """What a folder of sentence-transformers consists of."""
    unknown: Mapping[tuple[str, ...], tuple[str, str]] = field(default_factory=dict)
    """Full paths at which only other code can tell the value: what is wrong, and what to write instead."""
    ignored: tuple[str, ...] = ()
    """Keys of which the table says that other code reads them."""

    @property
    def flat(self) -> dict[str, object]:
        """Every key by its whole name: ``ctx_model.hidden_size`` of one of several backbones."""
        if not self.parts:
            return self.data
        said = {name: "" if name == self.primary else f"{name}." for name in self.parts}
        found = {f"{said[name]}{key}": value for name, each in self.parts.items() for key, value in each.data.items()}
        first, *others = self.parts.values()
        of_all = {key: first.data[key] for key in OF_ALL if key in first.data}
        return found | {key: value for key, value in of_all.items() if all(o.data.get(key) == value for o in others)}

    def line(self, *path: str) -> int | None:
        """The line on which a key of the object stands, or one of an object in it."""
        full = self._in_file(path)
        return self.line_of(full) if self.line_of else self._lines.get(full)

    def place(self, *path: str) -> tuple[str, int | None]:
        """Return the file and the line of a key."""
        return self.file, self.line(*path)

    def why_unknown(self, *path: str) -> tuple[str, str] | None:
        """Why a key of the object, or what it holds, cannot be told; ``None`` for what is plain."""
        full = self._in_file(path)
        return next((why for at, why in self.unknown.items() if at[: len(full)] == full), None)

    def written_as(self, *path: str) -> str:
        """What the file calls a key: ``"num_blks"``, where the table says that this is ``num_hidden_layers``."""
        return ".".join(self._in_file(path)[len(self._in_file(())) :])

    @property
    def is_shared(self) -> bool:
        """Whether other code than the library's reads it: an object in a training file, or one by names of its own."""
        return bool(self.key_path) or self.by_own_names is not None

    @property
    def as_written(self) -> dict[str, object]:
        """The object by the file's own names."""
        return self.data if self.by_own_names is None else self.by_own_names

    def said_as(self, key: str) -> str:
        """What a message adds about a key that the file calls otherwise."""
        written = self.written_as(key)
        return f" (in the file, {key} is {printable(written)})" if written != key else ""

    def inner(self, key: str, data: dict[str, object]) -> ModelConfig:
        """The config that one of the object's keys holds."""
        return replace(self, key_path=(*self.key_path, key), data=data, by_own_names=None)

    def _in_file(self, path: tuple[str, ...]) -> tuple[str, ...]:
        full = (*self.key_path, *path)
        for depth in range(len(full), 0, -1):
            if named := self.names_in_file.get(full[:depth]):
                return (*named, *full[depth:])
        return full

    @cached_property
    def _lines(self) -> Mapping[tuple[str, ...], int]:
        return lines_in_json(self.text)

    @property
    def reference(self) -> str:
        """``train.json#model.bert_config``: what the project's table says."""
        if self.whole:
            return self.whole
        return f"{self.file}#{printable('.'.join(self.key_path))}" if self.key_path else self.file

    @property
    def model_type(self) -> object:
        return self.data.get("model_type")

    @cached_property
    def architectures(self) -> tuple[str, ...]:
        """The file's ``architectures``.

        :raises Unusable: when it is anything but a list of names.
        """
        value = self.data.get("architectures")
        names = [] if value is None else value
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            self.refuse("architectures", f"architectures is {shown(value)}", 'write a list, as in ["BertModel"]')
        return tuple(names)

    def refuse(self, key: str, message: str, fix: str, kind: Kind = "config-invalid") -> NoReturn:
        """:raises Unusable: always, with a finding on the key's line."""
        file, line = self.place(key)
        raise Unusable(Finding(kind, message + self.said_as(key), fix, file=file, line=line))


def listed_in(content: bytes, file: str) -> list[object]:
    """The bytes of a file as a list.

    :raises Unusable: when they are none.
    """
    value = _parse(text_of(content, file), file)
    if not isinstance(value, list):
        fail(file, f"the file holds {_kind_of(value)}, not a list", "write a list of modules, as it is saved")
    return value


def contents(root: Path, location: str) -> tuple[bytes, str]:
    """The bytes of the config file that a table names, and the file's name in messages.

    :raises Unusable: when there is no such file in the project.
    """
    named = Place(root, location, "config", "config-invalid", "config-refused", "model's config.json")
    place = named.one_of(NAMES, there=Path.is_file)
    with place.opened_unread() as stream:
        return stream.read(LARGEST + 1), place.file


def parse(content: bytes, file: str, inner: str) -> ModelConfig:
    """The bytes of a config file as a config.

    :param inner: what stands behind the ``#`` of a reference.
    :raises Unusable: with one finding that says what is wrong with them.
    """
    text = text_of(content, file)
    key_path = keys_of(inner)
    data = descend(_parse(text, file), key_path, file)
    return ModelConfig(file, key_path, data, text, hashlib.sha256(content).hexdigest())


def keys_of(inner: str) -> tuple[str, ...]:
    """``"model.bert"`` → ``("model", "bert")``; what stands behind the ``#`` of a reference."""
    return tuple(inner.split(".")) if inner else ()


def made(data: dict[str, object], file: str, inner: str = "") -> ModelConfig:
    """A config that stands in no file, of values that JSON can say; its keys have no lines.

    :raises Unusable: when there is no object at ``inner``.
    """
    text = json.dumps(data, sort_keys=True)
    digest = hashlib.sha256(text.encode()).hexdigest()
    key_path = keys_of(inner)
    return ModelConfig(file, key_path, descend(data, key_path, file), text, digest, lambda _: None)


def text_of(content: bytes, file: str) -> str:
    """The text of a config file.

    :raises Unusable: when it is too large, or no UTF-8.
    """
    if len(content) > LARGEST:
        fail(file, f"the file is larger than {LARGEST:,} bytes", "name the config.json of one model")
    return _decode(content, file)


def fail(file: str, message: str, fix: str, line: int | None = None, kind: Kind = "config-invalid") -> NoReturn:
    raise Unusable(Finding(kind, message, fix, file=file, line=line))


def _decode(content: bytes, file: str) -> str:
    if mistaken := file_signatures.by_bytes(content):
        fail(file, *mistaken)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        fail(file, f"byte {error.start:,} is not UTF-8", "save the file as UTF-8", line)


# its JSON


class _NotANumber(ValueError):
    """``NaN``, ``Infinity``, or digits that are as little a number."""


def _parse(text: str, file: str) -> object:
    if not text.strip():
        fail(file, "the file is empty", "write the model's config")
    try:
        _check_nesting(text)
        value = json.loads(text, object_pairs_hook=unique, parse_constant=_no_constant, parse_float=_finite)
    except RepeatedKey as error:
        key, line = repeated_in_json(text) or (error.args[0], None)
        fail(file, f"the key {shown(key)} stands there twice in one object", "keep one of them", line)
    except _NotANumber as error:
        digits = error.args[0]
        line = line_of_number(text, digits)
        fail(file, f"not JSON: {printable(digits)} is not a number", "correct the file", line)
    except json.JSONDecodeError as error:
        fail(file, *file_signatures.by_text(text, error), line=error.lineno)
    except ValueError as error:
        fail(file, f"not JSON: {reason(error)}", "correct the file")
    if found := not_plain(value):
        fail(file, found.message, found.fix)
    return value


def _check_nesting(text: str) -> None:
    brackets = _NOT_A_BRACKET.sub("", _STRING.sub("", text))
    depth = 0
    for bracket in brackets[: 2 * MOST_CONTAINERS]:
        depth += (bracket in "{[") - (bracket in "}]")
        if depth > DEEPEST:
            raise ValueError(f"nested more than {DEEPEST} deep")
    if len(brackets) > 2 * MOST_CONTAINERS:
        raise ValueError(f"more than {MOST_CONTAINERS:,} objects and lists")


class NotPlain(NamedTuple):
    """Why a value is no config."""

    path: tuple[str, ...]
    """Of the key at which it is not; a list's items have no path of their own."""
    message: str
    fix: str


def not_plain(value: object) -> NotPlain | None:
    """The first thing in a value that JSON cannot say, or that is more than a config has; ``None`` for a config."""
    waiting: list[tuple[object, tuple[str, ...], int]] = [(value, (), 0)]
    containers = 0
    while waiting:
        node, path, depth = waiting.pop()
        if found := _odd_scalar(node, path) or _odd_keys(node, path):
            return found
        if isinstance(node, dict | list):
            containers += 1
            if depth >= DEEPEST:
                return NotPlain(path, f"nested more than {DEEPEST} deep", "name one model's config")
            if containers > MOST_CONTAINERS:
                return NotPlain(path, f"more than {MOST_CONTAINERS:,} objects and lists", "name one model's config")
        if isinstance(node, dict):
            waiting += [(inner, (*path, key), depth + 1) for key, inner in reversed(node.items())]
        elif isinstance(node, list):
            waiting += [(inner, path, depth + 1) for inner in reversed(node)]
    return None


def _odd_scalar(node: object, path: tuple[str, ...]) -> NotPlain | None:
    where = printable(".".join(path)) or "it"
    if type(node) is float and not math.isfinite(node):
        return NotPlain(path, f"{where} is {node}, which is no number", "write a number")
    if type(node) is int and node.bit_length() > LONGEST_INTEGER:
        return NotPlain(path, f"{where} is a number of thousands of digits", "write a number")
    if type(node) in {dict, list, str, int, float, bool, type(None)}:
        return None
    return NotPlain(path, f"{where} is {printable(str(node))}, which JSON cannot say", "write it as a string")


def _odd_keys(node: object, path: tuple[str, ...]) -> NotPlain | None:
    """Limit how many keys an object has, and how long they are."""
    if not isinstance(node, dict) or (path and path[-1] in NAMED_BY_LABELS):
        return None
    if len(node) > MOST_KEYS:
        return NotPlain(path, f"an object has {len(node):,} keys, more than {MOST_KEYS:,}", "name one model's config")
    long = next((key for key in node if len(key) > LONGEST_KEY), None)
    if long is None:
        return None
    start = f"{shown(long[:20])} and so on"
    message = f"the key {start} has {len(long):,} characters, more than {LONGEST_KEY}"
    return NotPlain((*path, long), message, "remove it")


def _finite(digits: str) -> float:
    """``1e999`` is as little a number as ``Infinity`` is."""
    value = float(digits)
    if not math.isfinite(value):
        raise _NotANumber(digits)
    return value


def _no_constant(name: str) -> NoReturn:
    raise _NotANumber(name)


def descend(value: object, key_path: Sequence[str], file: str) -> dict[str, object]:
    """The object at ``key_path``.

    :raises Unusable: when there is none.
    """
    for depth, key in enumerate(key_path):
        if not isinstance(value, dict) or key not in value:
            keys = (
                ", ".join(shown(each) for each in list(value)[:12]) or "an empty object"
                if isinstance(value, dict)
                else "no object"
            )
            where = ".".join(key_path[: depth + 1])
            fail(
                file,
                f"there is no {printable(where)} in the file; at that place there is {keys}",
                "correct what follows the #",
            )
        value = value[key]
    if not isinstance(value, dict):
        what = f"{'.'.join(key_path)} is" if key_path else "the file holds"
        fail(file, f"{printable(what)} {_kind_of(value)}, not an object", "name a model's config")
    return value


def _kind_of(value: object) -> str:
    names = {
        dict: "an object",
        list: "a list",
        str: "a string",
        bool: "true or false",
        int: "a number",
        float: "a number",
    }
    return names.get(type(value), "null")
