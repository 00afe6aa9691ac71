"""An untrusted config.json, read without transformers: bytes → one JSON object and its place."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import stat
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn

from pytest_bertsize import not_json
from pytest_bertsize.findings import Finding, Kind, Unusable, printable, reason, shown
from pytest_bertsize.source_lines import line_of_number, lines_in_json, repeated_in_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

NAMES = ("config.json", "bert_config.json")
"""What a folder may hold one of."""
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
NAMED_BY_LABELS = ("id2label", "label2id")
"""Objects whose keys are a task's labels: only their number is limited, where they are counted."""

_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
_NOT_A_BRACKET = re.compile(r"[^\[\]{}]++")


@dataclass(frozen=True)
class ModelConfig:
    """One JSON object of a config file, as it stands there."""

    file: str
    """Path relative to the project's root, as messages show it."""
    key_path: tuple[str, ...]
    """Keys that lead to the object; empty for the file itself."""
    data: dict[str, object]
    text: str
    sha256: str
    """Of the file's bytes."""

    def line(self, *path: str) -> int | None:
        """The line on which a key of the object stands, or one of an object in it."""
        return self._lines.get((*self.key_path, *path))

    @cached_property
    def _lines(self) -> Mapping[tuple[str, ...], int]:
        return lines_in_json(self.text)

    @property
    def reference(self) -> str:
        """``train.json#model.bert_config``: what the project's table says."""
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
        raise Unusable(Finding(kind, message, fix, file=self.file, line=self.line(key)))


def read(root: Path, reference: str) -> ModelConfig:
    """Read the config that a table names, relative to the project's root.

    :param reference: a file, a folder that holds exactly one of :data:`NAMES`, either with ``#key.path`` behind it.
    :raises Unusable: with one finding that says what is wrong with the file.
    """
    location, _, inner = reference.partition("#")
    path, file = _config_file(root, location)
    return parse(_read_bytes(path, file), file, inner)


def parse(content: bytes, file: str, inner: str) -> ModelConfig:
    """The bytes of a config file as a config.

    :param inner: what stands behind the ``#`` of a reference.
    :raises Unusable: with one finding that says what is wrong with them.
    """
    if len(content) > LARGEST:
        _fail(file, f"the file is larger than {LARGEST:,} bytes", "name the config.json of one model")
    text = _decode(content, file)
    key_path = tuple(inner.split(".")) if inner else ()
    data = _descend(_parse(text, file), key_path, file)
    return ModelConfig(file, key_path, data, text, hashlib.sha256(content).hexdigest())


def _fail(file: str, message: str, fix: str, line: int | None = None, kind: Kind = "config-invalid") -> NoReturn:
    raise Unusable(Finding(kind, message, fix, file=file, line=line))


# the file


def _config_file(root: Path, location: str) -> tuple[Path, str]:
    """The one file that ``location`` means, symlinks resolved, and its name in messages.

    Never asks a hub: what is not on disk is missing.
    """
    named = root / location
    try:
        if not _inside(root, named).is_dir():
            return _inside(root, named), _relative(named, root)
        found = [named / name for name in NAMES if (named / name).is_file()]
        if len(found) == 1:
            return _inside(root, found[0]), _relative(found[0], root)
    except (OSError, RuntimeError, ValueError) as error:  # a symlink loop, a NUL byte, a name that is too long
        _fail(printable(location), f"the path cannot be followed: {reason(error)}", "write the path of a file")
    folder = _relative(named, root)
    if found:
        _fail(folder, f"the folder holds both {NAMES[0]} and {NAMES[1]}", f'name one: config = "{folder}/{NAMES[0]}"')
    _fail(folder, f"the folder holds neither {NAMES[0]} nor {NAMES[1]}", "name the file itself")


def _inside(root: Path, path: Path) -> Path:
    """The path without symlinks: what they lead to counts, not where they stand."""
    real = path.resolve()
    if not real.is_relative_to(root.resolve()):
        message = "the config lies outside the project"
        _fail(_relative(path, root), message, "copy it into the project", kind="config-refused")
    return real


def _relative(path: Path, root: Path) -> str:
    return printable(str(path.relative_to(root) if path.is_relative_to(root) else path))


def _read_bytes(path: Path, file: str) -> bytes:
    """The whole of a regular file, opened once."""
    try:
        with open(path, "rb", opener=_open_as_it_is) as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                _fail(file, "this is not a regular file", "name a file")
            content = stream.read(LARGEST + 1)
    except FileNotFoundError:
        _fail(file, "there is no such file", "write the path of the model's config.json, relative to pyproject.toml")
    except (OSError, ValueError) as error:
        _fail(file, f"the file cannot be read: {reason(error)}", "make it readable")
    return content


def _open_as_it_is(path: str, flags: int) -> int:
    """A named pipe must not hold the run up, and no symlink come in between."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))


def _decode(content: bytes, file: str) -> str:
    if mistaken := not_json.by_bytes(content):
        _fail(file, *mistaken)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        _fail(file, f"byte {error.start:,} is not UTF-8", "save the file as UTF-8", line)


# its JSON


class _RepeatedKey(ValueError):
    """An object says one thing twice; ``json`` would silently keep the last."""


class _NotANumber(ValueError):
    """``NaN``, ``Infinity``, or digits that are as little a number."""


def _parse(text: str, file: str) -> object:
    if not text.strip():
        _fail(file, "the file is empty", "write the model's config")
    try:
        _check_nesting(text)
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite)
    except _RepeatedKey as error:
        key, line = repeated_in_json(text) or (error.args[0], None)
        _fail(file, f"the key {shown(key)} stands there twice in one object", "keep one of them", line)
    except _NotANumber as error:
        digits = error.args[0]
        line = line_of_number(text, digits)
        _fail(file, f"not JSON: {printable(digits)} is not a number", "correct the file", line)
    except json.JSONDecodeError as error:
        _fail(file, *not_json.by_text(text, error), line=error.lineno)
    except ValueError as error:
        _fail(file, f"not JSON: {reason(error)}", "correct the file")
    _check_keys(value, file)
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


def _check_keys(value: object, file: str) -> None:
    """Limit how many keys an object has, and how long they are."""
    waiting = [value]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += [each for each in node if isinstance(each, dict | list)]
        elif isinstance(node, dict):
            if len(node) > MOST_KEYS:
                _fail(file, f"an object has {len(node):,} keys, more than {MOST_KEYS:,}", "name one model's config")
            for key, inner in node.items():
                if len(key) > LONGEST_KEY:
                    start = f"{shown(key[:20])} and so on"
                    _fail(file, f"the key {start} has {len(key):,} characters, more than {LONGEST_KEY}", "remove it")
                if isinstance(inner, dict | list) and key not in NAMED_BY_LABELS:
                    waiting.append(inner)


def _unique(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            raise _RepeatedKey(key)
        found[key] = value
    return found


def _finite(digits: str) -> float:
    """``1e999`` is as little a number as ``Infinity`` is."""
    value = float(digits)
    if not math.isfinite(value):
        raise _NotANumber(digits)
    return value


def _no_constant(name: str) -> NoReturn:
    raise _NotANumber(name)


def _descend(value: object, key_path: Sequence[str], file: str) -> dict[str, object]:
    """The object at ``key_path``."""
    for depth, key in enumerate(key_path):
        if not isinstance(value, dict) or key not in value:
            keys = (
                ", ".join(shown(each) for each in list(value)[:12]) or "an empty object"
                if isinstance(value, dict)
                else "no object"
            )
            where = ".".join(key_path[: depth + 1])
            _fail(
                file,
                f"there is no {printable(where)} in the file; at that place there is {keys}",
                "correct what follows the #",
            )
        value = value[key]
    if not isinstance(value, dict):
        what = f"{'.'.join(key_path)} is" if key_path else "the file holds"
        _fail(file, f"{printable(what)} {_kind_of(value)}, not an object", "name a model's config")
    return value


def _kind_of(value: object) -> str:
    names = {list: "a list", str: "a string", bool: "true or false", int: "a number", float: "a number"}
    return names.get(type(value), "null")
