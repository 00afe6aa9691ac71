"""Read the text of a JSON or TOML file as a config, or explain in one sentence what is wrong."""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from functools import cache
from itertools import islice

import tomli

from pytest_bertsize.config.model_config import (
    DEEPEST,
    IN_TOML,
    LARGEST,
    ONE_MODEL,
    KeyPath,
    ModelConfig,
    config_at,
    describe_kind,
    fail,
    keys_of,
    not_plain,
    value_at,
)
from pytest_bertsize.files import LFS_POINTER, RepeatedKey, refuse_repeated_keys
from pytest_bertsize.table.toml import line_in_toml
from pytest_bertsize.wording import printable, reason, shown


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


# JSON


def parse_json(content: bytes, file: str, inner: str = "") -> ModelConfig:
    """Return the object at ``inner`` in the bytes of a JSON file; raise :class:`Unusable` for the first mistake."""
    text = decode_text(content, file)
    lines = cache(lambda: lines_in_json(text))
    return config_at(_load_json(text, file), file, keys_of(inner), lambda path: lines().get(path), content)


def parse_json_list(content: bytes, file: str) -> list[object]:
    """Return the bytes of a JSON file as a list; raise :class:`Unusable` if they are not one."""
    value = _load_json(decode_text(content, file), file)
    if not isinstance(value, list):
        fail(file, f"the file holds {describe_kind(value)}, not a list", "write a list of modules")
    return value


def _load_json(text: str, file: str) -> object:
    if not text.strip():
        fail(file, "the file is empty", "write the model's config")
    try:
        value = json.loads(text, object_pairs_hook=refuse_repeated_keys)
    except RepeatedKey as error:
        key, line = repeated_in_json(text) or (error.args[0], None)
        fail(file, f"one object has the key {shown(key)} twice", "keep one of them", line)
    except json.JSONDecodeError as error:
        if text.startswith(("//", "/*", "#"), error.pos):
            fail(file, "not JSON: it has a comment", "remove it", error.lineno)
        fail(file, f"not JSON: {error.msg} at column {error.colno}", "correct the file", error.lineno)
    except RecursionError:
        fail(file, f"nested more than {DEEPEST} deep", ONE_MODEL)
    except ValueError as error:
        fail(file, f"not JSON: {reason(error)}", "correct the file")
    if found := not_plain(value):
        fail(file, found.message, found.fix, lines_in_json(text).get(found.path))
    return value


MOST_TOKENS = 50_000
"""The most brackets and strings of a JSON file to search for keys; later keys have no line."""
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"?(?:\s*+:)?+|[{}\[\]]', re.DOTALL)


def lines_in_json(text: str) -> dict[KeyPath, int]:
    """Return the 1-based line of every key by its path (``"[]"`` for a list); for a repeated key, its last line."""
    return {path: line for line, path, _ in _list_keys(text)}


def repeated_in_json(text: str) -> tuple[str, int] | None:
    """Return the first key that an object has twice, and the 1-based line of its repetition."""
    seen: set[tuple[int, str]] = set()
    for line, (*_, key), opened_at in _list_keys(text):
        if (opened_at, key) in seen:
            return key, line
        seen.add((opened_at, key))
    return None


def _list_keys(text: str) -> Iterator[tuple[int, KeyPath, int]]:
    """Yield line and full path of every key, and the position of its object; ``[]`` stands for a list's items."""
    path: list[str] = []
    opened: list[int] = []
    line, counted = 1, 0
    for token in islice(_TOKEN.finditer(text), MOST_TOKENS):
        symbol = token[0]
        if symbol in {"{", "["}:
            opened.append(token.start())
            path.append("[]")
        elif symbol in {"}", "]"}:
            if opened:
                opened.pop()
                path.pop()
        elif symbol[-1] == ":" and opened and text[opened[-1]] == "{":
            line += text.count("\n", counted, token.start())
            counted = token.start()
            path[-1] = _unquote_key(symbol[:-1].rstrip())
            yield line, tuple(path), opened[-1]


def _unquote_key(token: str) -> str:
    try:
        return str(json.loads(token)) if "\\" in token else token[1:-1]
    except json.JSONDecodeError:
        return token


# TOML


def parse_toml(content: bytes, file: str, inner: str) -> ModelConfig:
    """Return the object at ``inner`` in a TOML file, and nothing else; raise :class:`Unusable` for a mistake."""
    text = decode_text(content, file)
    try:
        whole = tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        fail(file, f"not TOML: {printable(error.msg)}", "correct the file", error.lineno)
    except (ValueError, RecursionError) as error:
        fail(file, f"not TOML: {printable(str(error))}", "correct the file")

    def line_of(path: KeyPath) -> int | None:
        try:
            value_at(whole, path)
        except KeyError:
            return None
        return line_in_toml(text, path)

    return config_at(whole, file, keys_of(inner), line_of, content, pair=IN_TOML)
