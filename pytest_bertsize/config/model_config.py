"""An untrusted config, read without transformers: one object of plain values, and the place of each of its keys."""

from __future__ import annotations

import hashlib
import json
import math
from codecs import BOM_UTF8
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from pytest_bertsize.builder.published import LARGEST
from pytest_bertsize.config.keys import NAMED_BY_LABELS
from pytest_bertsize.files import LFS_POINTER
from pytest_bertsize.findings import Finding, Kind, Unusable
from pytest_bertsize.wording import printable, shown

KeyPath: TypeAlias = tuple[str, ...]

DEEPEST = 64  # the most levels of nested objects and lists; transformers' own reader gives up at some hundreds
MOST_CONTAINERS = 20_000  # the most objects and lists in a config; a usual one has a dozen
MOST_KEYS = 2_000  # the most keys in one object; published configs have up to about a hundred
LONGEST_INTEGER = 14_280  # the most bits of a whole number: Python writes at most 4,300 digits
IN_TOML = "{} = {}"
ONE_MODEL = "name one model's config"
OF_ALL = ("dtype", "torch_dtype", "quantization_config")  # keys that a composed config has if all its parts agree
TRANSFORMERS = ("Transformer", "MLMTransformer")  # modules of sentence-transformers that hold a model of the library


class Module(NamedTuple):
    """One module of a model that sentence-transformers saved."""

    part: str  # the module's name in components and keys, made from the name of its folder: ``2_Dense``
    kind: str  # the name of the module's class: ``Dense``
    at: str  # the module's name in ``modules.json``: ``2``
    config: ModelConfig
    settings: Mapping[str, Any] = MappingProxyType({})  # keys that sentence-transformers writes beside a config

    @property
    def is_transformer(self) -> bool:
        return self.kind in TRANSFORMERS


class ModelConfig(Struct, frozen=True, eq=False, dict=True):
    """One object of a config file, with the values as in the file. Instances are compared by identity."""

    file: str  # the path relative to the project's root, as messages show it
    key_path: KeyPath  # the keys that lead to the object; empty for the file's top level
    data: dict[str, object]
    sha256: str  # the hash of the file's bytes; without a file, of canonical JSON
    line_of: Callable[[KeyPath], int | None] = lambda _: None  # returns the line of a key by its path in the file
    by_own_names: dict[str, object] = {}  # the object with the names in the file, if keys of data are renamed
    names_in_file: Mapping[str, KeyPath] = {}  # each renamed key's path below the object in the file, by its new name
    pair: str = '"{}": {}'  # the format string for a key and its value, in the syntax of the file
    origin: str = ""  # the source of a config that is named by a name of the hub; ``""`` for any other config
    by_hub: bool = False  # true if the table's ``hub`` maps a name of the hub to this config
    parts: Mapping[str, ModelConfig] = {}  # the configs in a composed config, by name; empty for any other
    primary: str = ""  # the part whose keys have no prefix in flat; "" if the keys of all parts have one
    whole: str = ""  # the name of a composed config in reports
    modules: tuple[Module, ...] = ()  # the modules of a folder of sentence-transformers
    unknown: Mapping[str, tuple[str, str]] = {}  # problem and fix of each value that only a run knows, by key
    ignored: tuple[str, ...] = ()  # the table's ``ignored``: keys that only the project's own code reads

    @property
    def flat(self) -> dict[str, object]:
        """Every value by the whole name of its key, as in ``ctx_model.hidden_size`` for one of several backbones."""
        if not self.parts:
            return self.data
        found: dict[str, object] = {}
        for name, part in self.parts.items():
            before = "" if name == self.primary else f"{name}."
            found |= {f"{before}{key}": value for key, value in part.data.items()}
        first, *others = self.parts.values()
        of_all = {key: first.data[key] for key in OF_ALL if key in first.data}
        return found | {key: value for key, value in of_all.items() if all(o.data.get(key) == value for o in others)}

    def line(self, *path: str) -> int | None:
        """Return the line in the file of the key to which ``path`` leads from this object, never empty."""
        key, *below = path
        return self.line_of((*self.key_path, *self.name_in_file(key), *below))

    def why_unknown(self, key: str) -> tuple[str, str] | None:
        """Return the problem and the fix if the value of a key is not known."""
        return self.unknown.get(self.name_in_file(key)[0])

    @property
    def as_written(self) -> dict[str, object]:
        """The object with the names that the file has."""
        return self.by_own_names or self.data

    def name_in_file(self, key: str) -> KeyPath:
        """Return the path of a key in the file, below this object."""
        return self.names_in_file.get(key, (key,))

    def say_name_in_file(self, key: str) -> str:
        """Return the end of a message about ``key`` with its name in the file; ``""`` if that is the same."""
        written = ".".join(self.name_in_file(key))
        return f" (in the file, {key} is {printable(written)})" if written != key else ""

    def inner(self, key: str, data: dict[str, object]) -> ModelConfig:
        """Return ``data``, the value of a key, as a config of its own."""
        path = (*self.key_path, *self.name_in_file(key))
        return replace(self, key_path=path, data=data, by_own_names={}, names_in_file={})

    @property
    def reference(self) -> str:
        """The name of the config in the project's table: ``train.json#model.bert_config``."""
        if self.whole:
            return self.whole
        return f"{self.file}#{printable('.'.join(self.key_path))}" if self.key_path else self.file

    @property
    def model_type(self) -> object:
        return self.data.get("model_type")

    @cached_property
    def architectures(self) -> tuple[str, ...]:
        """The file's ``architectures``; :class:`Unusable` is raised for anything but a list of names."""
        value = self.data.get("architectures")
        names = [] if value is None else value
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            self.refuse("architectures", f"architectures is {shown(value)}", 'write a list, as in ["BertModel"]')
        return tuple(names)

    def refuse(self, key: str, message: str, fix: str, kind: Kind = "config-invalid", **more: Any) -> NoReturn:
        """:raises Unusable: always, with a finding on the key's line."""
        fail(self.file, message + self.say_name_in_file(key), fix, self.line(key), kind, **more)


class TextThere(Unusable):
    """The error for keys that lead to a text in place of an object; the text may name a config."""

    def __init__(self, text: str, finding: Finding) -> None:
        super().__init__(finding)
        self.text = text


def fail(
    file: str, message: str, fix: str, line: int | None = None, kind: Kind = "config-invalid", **more: Any
) -> NoReturn:
    raise Unusable(Finding(kind, message, fix, file=file, line=line, **more))


def keys_of(inner: str) -> KeyPath:
    """Split the part of a reference after its ``#``: ``"model.bert"`` → ``("model", "bert")``."""
    return tuple(inner.split(".")) if inner else ()


def nest(value: object, key_path: Sequence[str]) -> Any:
    """Return nested objects in which the keys of ``key_path`` lead to ``value``."""
    for key in reversed(key_path):
        value = {key: value}
    return value


def config_at(
    value: object,
    file: str,
    key_path: KeyPath = (),
    line_of: Callable[[KeyPath], int | None] = lambda _: None,
    content: bytes | None = None,
    **more: Any,
) -> ModelConfig:
    """Return the config at ``key_path`` in a value, or in a file of this content; raise :class:`Unusable` for none."""
    data = descend(value, key_path, file)
    if found := not_plain(data):
        fail(file, found.message, found.fix, line_of((*key_path, *found.path)))
    if content is None:
        content = json.dumps(data, sort_keys=True).encode()
    return ModelConfig(file, key_path, data, hashlib.sha256(content).hexdigest(), line_of, **more)


class NotPlain(NamedTuple):
    """The reason why a value is not a config."""

    path: KeyPath  # the path of the offending key; a list's items have the path of the list
    message: str
    fix: str


def not_plain(value: object) -> NotPlain | None:
    """Return why a value is not a config: it is too large, or JSON cannot hold it; ``None`` if it is one."""
    waiting: list[tuple[object, KeyPath, int]] = [(value, (), 0)]
    containers = size = 0
    while waiting:
        node, path, depth = waiting.pop()
        is_container = isinstance(node, dict | list)
        containers += is_container
        size += 1 + (len(node) if isinstance(node, str) else 0)
        if is_container and depth == DEEPEST:
            return NotPlain(path, f"nested more than {DEEPEST} deep", ONE_MODEL)
        if containers > MOST_CONTAINERS:
            return NotPlain(path, f"more than {MOST_CONTAINERS:,} objects and lists", ONE_MODEL)
        if size > LARGEST:  # YAML's aliases repeat what stands once
            return NotPlain(path, f"the config is larger than {LARGEST:,} bytes", ONE_MODEL)
        if odd := _find_odd(node, path):
            return NotPlain(path, *odd)
        if isinstance(node, dict):
            waiting += [(inner, (*path, key), depth + 1) for key, inner in reversed(node.items())]
        elif isinstance(node, list):
            waiting += [(inner, path, depth + 1) for inner in reversed(node)]
    return None


def _find_odd(node: object, path: KeyPath) -> tuple[str, str] | None:
    """Return the problem of one value, and the fix."""
    where = printable(".".join(path)) or "it"
    if isinstance(node, dict) and len(node) > MOST_KEYS and not (path and path[-1] in NAMED_BY_LABELS):
        return f"an object has {len(node):,} keys, more than {MOST_KEYS:,}", ONE_MODEL
    if type(node) is int and node.bit_length() > LONGEST_INTEGER:
        return f"{where} is a number with thousands of digits", "write a number"
    is_odd = type(node) is float and (not math.isfinite(node) or str(node) == "-0.0")  # -0.0 equals 0 and false
    if is_odd or type(node) not in {dict, list, str, int, float, bool, type(None)}:
        return f"{where} is {printable(str(node))}, which JSON cannot hold", "write a plain value"
    return None


def descend(value: object, key_path: Sequence[str], file: str) -> dict[str, object]:
    """Return the object at ``key_path``; raise :class:`Unusable` if no object is there."""
    for depth, key in enumerate(key_path):
        if not isinstance(value, dict) or key not in value:
            where = shown(".".join(key_path[:depth])) if depth else "the file"
            there = ", ".join(map(shown, [*value][:12])) if isinstance(value, dict) else ""
            has = f"; it has {there}" if there else ""
            fail(file, f"{where} has no key {shown(key)}{has}", "correct the keys after the #")
        value = value[key]
    if isinstance(value, dict):
        return value
    what = f"{printable('.'.join(key_path))} is" if key_path else "the file holds"
    message = f"{what} {shown(value)}, not an object"
    finding = Finding("config-invalid", message, "name a model's config", file=file)
    raise TextThere(value, finding) if isinstance(value, str) and key_path else Unusable(finding)


# training files with other names: ``keys = { num_blks = "num_hidden_layers" }``


def rename_keys(config: ModelConfig, keys: Mapping[str, str]) -> ModelConfig:
    """Rename keys of a config, by name or path in the file; raise :class:`Unusable` for each that cannot be renamed."""
    left = config.data
    found: dict[str, object] = {}
    paths = {alias: (alias,) if alias in config.data else tuple(alias.split(".")) for alias in keys}
    wrong: dict[str, tuple[str, str]] = {}
    for alias, target in keys.items():
        try:
            value, left = _take_value(left, paths[alias])
        except KeyError:
            message = f'"keys" has {shown(alias)}, which {config.reference} has not, or another of "keys" has already'
            wrong[alias] = message, "write the name that the file has"
        else:
            found.setdefault(target, value)
    for alias, target in keys.items():
        if alias not in wrong and (target in left or [*keys.values()].count(target) > 1):
            there = f'which {config.reference} or another of "keys" has too'
            wrong[alias] = f"{printable(alias)} stands for {printable(target)}, {there}", "keep one of them"
    if wrong:
        raise Unusable(*(Finding("config-invalid", *why, table_key=("keys", alias)) for alias, why in wrong.items()))
    names = {target: paths[alias] for alias, target in keys.items()}
    return replace(config, data={**left, **found}, by_own_names=config.data, names_in_file=names)


def _take_value(data: object, path: KeyPath) -> tuple[object, dict[str, object]]:
    """Return the value at a path, and a copy without it and without the objects that this leaves empty.

    :raises KeyError: if no value is at ``path``.
    """
    key, *below = path
    if not isinstance(data, dict):
        raise KeyError(key)
    value, rest = _take_value(data[key], (*below,)) if below else (data[key], {})
    return value, {name: rest if name == key else each for name, each in data.items() if name != key or rest}


def decode_text(content: bytes, file: str) -> str:
    """Return the text of a config file; raise :class:`Unusable` if it is too large, or not UTF-8."""
    if len(content) > LARGEST:
        fail(file, f"the file is larger than {LARGEST:,} bytes", "name the config.json of one model")
    if content.startswith(LFS_POINTER):
        fail(file, "this is a git-LFS pointer, not the config", "run git lfs pull")
    if content.startswith(BOM_UTF8):
        fail(file, "the file starts with a byte order mark, which transformers refuses", "save it as UTF-8 without BOM")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        fail(file, f"byte {error.start:,} is not UTF-8", "save the file as UTF-8", line)
