"""The process in which the project's own code makes a config; it sends plain values.

If the named object is a function or a class, it is called, and its result is the config. Any other object is the config
itself: a dict, a dataclass, a Namespace, a CfgNode, a DictConfig, a config of transformers, an object with attributes.
A string is the name of a config.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import os
import sys
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from pytest_bertsize.builder.confined import Refused, answer_one_question, describe_error, hide_secrets, limit_memory
from pytest_bertsize.config.model_config import nest
from pytest_bertsize.wording import BadValue, did_you_mean, printable, reason

MAKERS = ("to_dict", "model_dump")
NAMESPACES = (argparse.Namespace, types.SimpleNamespace)
RETURN = "return a dict with the keys of config.json, or a name of the hub"
PLAIN = "make it a plain number, string, list or dict"


class NoConfig(BadValue):
    """The error for code that makes no config."""


def main() -> None:
    answer_one_question(_answer_question)


def _answer_question(asked: Any) -> dict[str, Any]:
    try:
        sys.path[:0] = [asked["root"], *asked["paths"]]
        return _make_config(asked["reference"], asked["root"], asked["inner"])
    except NoConfig as refused:
        return {"message": hide_secrets(refused.message), "fix": refused.fix}
    except Refused as error:
        return {"message": describe_error(error, asked["root"]), "fix": error.fix}
    except BaseException as error:  # noqa: BLE001  (whatever the project's code raises)
        return {"message": f"it raised {describe_error(error, asked['root'])}", "fix": "fix the function"}


def _make_config(reference: str, root: str, inner: list[str]) -> dict[str, Any]:
    """Return the config that ``reference`` names or makes; only the part to which ``inner`` leads is converted."""
    path = reference.partition(":")[2]
    made, is_strict = _find_named(reference), False
    limit_memory()
    if isinstance(made, type) or inspect.isroutine(made) or not _is_config_or_name(made, root):
        if not callable(made):
            raise NoConfig(f"{path} is {_name_kind(made)}, which is not a config and cannot be called", RETURN)
        _refuse_arguments(made, path)
        made = made()
        if not _is_config_or_name(made, root):
            raise NoConfig(f"it returned {_name_kind(made)}, not a config", RETURN)
        is_strict = isinstance(made, Mapping)
    return _describe_config(made, root, inner, is_strict=is_strict)


def _describe_config(made: Any, root: str, inner: list[str], *, is_strict: bool) -> dict[str, Any]:
    """:param is_strict: whether each value has to be plain data; else one that is not matters only where it is read."""
    for depth, key in enumerate(inner):
        within = _list_items(made, root, is_whole=True) or {}
        if key not in within:
            return {"config": nest({str(name): None for name in within}, inner[:depth])}
        made = within[key]
    if isinstance(made, str):
        return {"name": str.__str__(made)}
    items = _list_items(made, root, is_whole=True)
    if items is None:
        return {"config": nest(_to_plain(made, ".".join(inner), root), inner)}
    found, odd = {}, {}
    for key, value in items.items():
        try:
            found[str(key)] = _to_plain(value, str(key), root)
        except NoConfig as refused:
            if is_strict:
                raise
            found[str(key)], odd[str(key)] = _name_kind(value), [refused.message, refused.fix]
    return {"config": nest(found, inner), "odd": odd}


def _find_named(reference: str) -> Any:
    module_name, _, path = reference.partition(":")
    found: Any = _import_module(module_name)
    for depth, name in enumerate(path.split(".")):
        if not hasattr(found, name):
            at = ".".join([module_name, *path.split(".")[:depth]])
            public = [each for each in vars(found) if not each.startswith("_")]
            raise NoConfig(f"{at} has no {name}", did_you_mean(name, public, "write MODULE:FUNCTION", written=str))
        found = getattr(found, name)
    return found


def _is_config_or_name(value: Any, root: str) -> bool:
    return isinstance(value, str) or _list_items(value, root, is_whole=True) is not None


def _list_items(value: Any, root: str, *, is_whole: bool = False) -> Mapping[Any, Any] | None:
    """Return the named values of an object; ``None`` if it is no config, nor a part of one.

    :param is_whole: false for a value inside a config: its attributes count if its class is the project's own.
    """
    if isinstance(value, Mapping):
        return value
    if isinstance(value, type) or inspect.ismodule(value) or inspect.isroutine(value):
        return None
    for method in MAKERS:
        if callable(getattr(value, method, None)):
            made = getattr(value, method)()
            return made if isinstance(made, Mapping) else None
    if is_dataclass(value):
        return {each.name: getattr(value, each.name) for each in fields(value)}
    module = type(value).__module__
    file = os.path.realpath(getattr(sys.modules.get(module), "__file__", None) or "/")
    is_foreign = not is_whole or module.partition(".")[0] in sys.stdlib_module_names
    if is_foreign and not isinstance(value, NAMESPACES) and not file.startswith(f"{root}{os.sep}"):
        return None
    return _list_attributes(value) or None


def _list_attributes(value: Any) -> dict[str, Any]:
    """Return public attributes of an object and of its class, without methods of the class."""
    own = getattr(value, "__dict__", {})
    names = dict.fromkeys(name for kind in reversed(type(value).__mro__[:-1]) for name in vars(kind)) | own
    public = {name: getattr(value, name, None) for name in names if isinstance(name, str) and not name.startswith("_")}
    return {name: each for name, each in public.items() if name in own or not callable(each)}


def _refuse_arguments(function: Any, path: str) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a class of C
        return
    try:
        signature.bind()
    except TypeError:
        raise NoConfig(f"{path}{signature} is called without arguments", "write a function that needs none") from None


def _import_module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        where = "not in the folder of pyproject.toml or its src, not in the pythonpath of pytest, and not installed"
        raise NoConfig(f"there is no module {error.name}: {where}", "write MODULE:FUNCTION") from None


def _to_plain(value: Any, path: str, root: str) -> Any:
    """Return a value as JSON has it: whole numbers as keys become texts, tuples lists, members of an enum their values.

    :raises NoConfig: if JSON cannot hold it.
    """

    def convert(part: Any) -> Any:
        if (items := _list_items(part, root)) is None:
            raise TypeError(f"{_name_kind(part)} is not plain data")
        return dict(items)

    try:
        return json.loads(json.dumps(value, default=convert))
    except (TypeError, ValueError, RecursionError) as error:
        raise NoConfig(f"{path or 'it'} cannot be written as JSON: {reason(error)}", PLAIN) from None


def _name_kind(value: object) -> str:
    """Return the type of a value with its article, as in ``a numpy.int64``; ``None`` stays ``None``."""
    if value is None:
        return "None"
    kind = type(value)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    return f"{'an' if name[:1].lower() in {*'aeio'} else 'a'} {printable(name)}"


if __name__ == "__main__":
    main()
