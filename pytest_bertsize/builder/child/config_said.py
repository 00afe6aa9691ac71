"""The helper's question to a config object: what it says for each key that a closed form has taken a value for."""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pytest_bertsize.builder.child.making import config_of

LONGEST_TEXT = 200
"""Characters."""
LARGEST_NUMBER = 64
"""Bits."""
LONGEST_LIST = 1_000
"""Entries."""
_MISSING = object()


def config_said(request: Mapping[str, Any]) -> dict[str, Any]:
    """What a fresh config object says, before any model is built from it: classes change the one that they are given.

    :param request: the fields of a :class:`~pytest_bertsize.builder.messages.Request`.
    :return: the fields of a :class:`~pytest_bertsize.builder.messages.ConfigSaid`.
    """
    config = config_of(request)
    said = {path: _found(config, path) for path in request["asked"]}
    return {
        "said": {path: _sayable(value) for path, value in said.items() if value is not _MISSING},
        "read": [path for path in request["unknown"] if _is_read(config, path)],
        "by": _whose(type(config)),
    }


def _found(config: Any, path: str) -> Any:
    for key in path.split("."):
        config = getattr(config, key, _MISSING)
    return config


def _sayable(value: Any) -> Any:
    """The value, where it is one that a closed form may take; else what kind it is of."""
    if isinstance(value, (list, tuple)) and len(value) <= LONGEST_LIST:
        return [_sayable(each) for each in value]
    is_plain = value is None or isinstance(value, bool)
    is_number = isinstance(value, int) and value.bit_length() <= LARGEST_NUMBER
    is_fraction = isinstance(value, float) and math.isfinite(value)
    is_text = isinstance(value, str) and len(value) <= LONGEST_TEXT
    return value if is_plain or is_number or is_fraction or is_text else f"a {type(value).__name__}"


def _is_read(config: Any, path: str) -> bool:
    """Whether the config's class, and not that of every config, has the key."""
    *above, key = path.split(".")
    owner = _found(config, ".".join(above)) if above else config
    return owner is not _MISSING and key in set(_own_keys(type(owner)))


def _own_keys(config_class: type) -> Iterator[str]:
    from transformers import PretrainedConfig

    yield from getattr(config_class, "attribute_map", {})
    of_every_config = inspect.signature(PretrainedConfig).parameters
    for each in config_class.__mro__:
        if each is PretrainedConfig or not issubclass(each, PretrainedConfig):
            continue
        yield from _annotated(each)
        yield from (name for name in inspect.signature(each).parameters if name not in of_every_config)


def _annotated(each: type) -> Iterable[str]:
    """The names that a class itself annotates."""
    if sys.version_info < (3, 10):
        return list(vars(each).get("__annotations__", {}))
    return inspect.get_annotations(each)


def _whose(config_class: type) -> str:
    import transformers

    if config_class.__module__.partition(".")[0] == "transformers":
        return f"transformers {transformers.__version__}"
    return config_class.__name__
