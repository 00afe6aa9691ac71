"""Read JSON and TOML as configs; PyYAML, which is loaded only then, finds the lines of a JSON file's keys."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import tomli

from pytest_bertsize.config.model_config import (
    DEEPEST,
    IN_TOML,
    ONE_MODEL,
    KeyPath,
    ModelConfig,
    config_at,
    decode_text,
    fail,
    keys_of,
)
from pytest_bertsize.files import RepeatedKey, refuse_repeated_keys
from pytest_bertsize.findings import Unusable
from pytest_bertsize.table.toml import line_in_toml
from pytest_bertsize.wording import printable, reason


def parse_json(content: bytes, file: str, inner: str = "") -> ModelConfig:
    """Return the object at ``inner`` in the bytes of a JSON file; raise :class:`Unusable` for the first mistake."""
    text = decode_text(content, file)
    compose = cache(lambda: _compose(text))

    def line_of(path: KeyPath) -> int | None:
        from pytest_bertsize.config.yaml import find_line

        return find_line(root, path) if (root := compose()) else None

    return config_at(load_json(content, file), file, keys_of(inner), line_of, content)


def _compose(text: str) -> Any:
    """Return PyYAML's node of a JSON text, which knows all lines; ``None`` for one of the few that are no YAML."""
    from pytest_bertsize.config import yaml

    try:
        return yaml.compose(text.replace("\t", " "), "")
    except Unusable:
        return None


def load_json(content: bytes, file: str) -> object:
    """Parse the bytes of a JSON file; raise :class:`Unusable` for the first mistake."""
    text = decode_text(content, file)
    if not text.strip():
        fail(file, "the file is empty", "write the model's config")
    try:
        return json.loads(text, object_pairs_hook=refuse_repeated_keys)
    except RepeatedKey as error:
        from pytest_bertsize.config.yaml import Constructor

        if root := _compose(text):
            Constructor(file).read(root)  # which names the line
        fail(file, str(error), "keep one of them")
    except json.JSONDecodeError as error:
        if text.startswith(("//", "/*", "#"), error.pos):
            fail(file, "not JSON: it has a comment", "remove it", error.lineno)
        fail(file, f"not JSON: {error.msg} at column {error.colno}", "correct the file", error.lineno)
    except RecursionError:
        fail(file, f"nested more than {DEEPEST} deep", ONE_MODEL)
    except ValueError as error:
        fail(file, f"not JSON: {reason(error)}", "correct the file")


def parse_toml(content: bytes, file: str, inner: str) -> ModelConfig:
    """Return the object at ``inner`` in a TOML file, and nothing else; raise :class:`Unusable` for a mistake."""
    text = decode_text(content, file)
    try:
        whole = tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        fail(file, f"not TOML: {printable(error.msg)}", "correct the file", error.lineno)
    except (ValueError, RecursionError) as error:
        fail(file, f"not TOML: {printable(str(error))}", "correct the file")
    return config_at(whole, file, keys_of(inner), lambda path: line_in_toml(text, path), content, pair=IN_TOML)
