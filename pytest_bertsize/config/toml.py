"""A TOML file as a config, with the line of each key."""

from __future__ import annotations

import hashlib
from functools import cache, partial

import tomli

from pytest_bertsize.config.model_config import IN_TOML, ModelConfig, descend, fail, keys_of, not_plain, text_of
from pytest_bertsize.table.toml import line_in_toml
from pytest_bertsize.wording import printable


def parse(content: bytes, file: str, inner: str) -> ModelConfig:
    """The bytes of a TOML file as a config.

    :param inner: what stands behind the ``#`` of a reference.
    :raises Unusable: with one finding that says what is wrong with them.
    """
    text = text_of(content, file)
    key_path = keys_of(inner)
    try:
        whole = tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        fail(file, f"not TOML: {printable(error.msg)}", "correct the file", error.lineno)
    except (ValueError, RecursionError) as error:
        fail(file, f"not TOML: {printable(str(error))}", "correct the file")
    data = descend(whole, key_path, file)
    line_of = cache(partial(_line, text, whole))
    if found := not_plain(data):
        path = (*key_path, *found.path)
        fail(file, found.message, found.fix, line_of(path))
    return ModelConfig(file, key_path, data, text, hashlib.sha256(content).hexdigest(), line_of, pair=IN_TOML)


def _line(text: str, value: object, path: tuple[str, ...]) -> int | None:
    """The line of a key itself; ``None`` for one that is not there."""
    for key in path:
        if not isinstance(value, dict) or key not in value:
            return None
        value = value[key]
    return line_in_toml(text, path)
