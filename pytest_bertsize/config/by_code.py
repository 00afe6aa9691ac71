"""The process in which the project's own code makes a config: it imports the code, and answers with plain values.

If the named object is a function or a class, it is called, and its result is the config. Any other object is the config
itself: a dict, a dataclass, a Namespace, a CfgNode, a DictConfig, a config of transformers, an object with attributes.
A string is the name of a config.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import os
import sys
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from pytest_bertsize.builder.confined import (
    NetworkRefused,
    answer_one_question,
    describe_error,
    find_place,
    limit_memory,
)
from pytest_bertsize.config.model_config import DEEPEST, LARGEST, LONGEST_INTEGER, nest
from pytest_bertsize.wording import BadValue, did_you_mean, printable, shown

MAKERS = ("to_dict", "model_dump")
NAMESPACES = (argparse.Namespace, types.SimpleNamespace)
RETURN = "return a dict with the keys of config.json, or a name of the hub"


class NoConfig(BadValue):
    """The error for code that makes no config."""


def main() -> None:
    answer_one_question(_answer_question)


def _answer_question(asked: Any) -> dict[str, Any]:
    try:
        sys.path[:0] = [asked["root"], *asked["paths"]]
        return _make_config(asked["reference"], asked["root"], asked["inner"])
    except NoConfig as refused:
        return {"message": refused.message, "fix": refused.fix}
    except NetworkRefused as error:
        return {"message": f"{error}{find_place(error, asked['root'])}", "fix": "read it from a file of the project"}
    except BaseException as error:  # noqa: BLE001  (whatever the project's code raises)
        return {"message": f"it raised {describe_error(error, asked['root'])}", "fix": "fix the function"}


def _make_config(reference: str, root: str, inner: list[str]) -> dict[str, Any]:
    """Return the config that ``reference`` names or makes; only the part to which ``inner`` leads is converted."""
    path = reference.partition(":")[2]
    found = _find_named(reference)
    limit_memory()
    if not inspect.isclass(found) and not inspect.isroutine(found) and _is_config_or_name(found):
        return _describe_config(found, inner, root, is_strict=False)
    if not callable(found):
        raise NoConfig(f"{path} is {_name_kind(found)}, which is not a config and cannot be called", RETURN)
    _refuse_arguments(found, path)
    made = found()
    if not _is_config_or_name(made):
        raise NoConfig(f"it returned {_name_kind(made)}, not a config", RETURN)
    return _describe_config(made, inner, root, is_strict=isinstance(made, Mapping))


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


def _describe_config(made: Any, inner: list[str], root: str, *, is_strict: bool) -> dict[str, Any]:
    """Return the config at ``inner``, or a text there that names one; if ``is_strict``, all values have to be plain."""
    node = made
    for depth, key in enumerate(inner):
        within = _as_mapping(node, "", root) if _is_config(node) else {}
        if key not in within:
            return {"config": nest({str(name): None for name in within}, inner[:depth])}
        node = within[key]
    if isinstance(node, str):
        return {"name": _read_scalar(node, "")}
    if not _is_config(node):
        return {"config": nest(_Plain(root).of(node, ".".join(inner)), inner)}
    if is_strict:
        return {"config": nest(_Plain(root).of(node), inner)}
    plain, found, odd = _Plain(root), {}, {}
    for key, value in _as_mapping(node, "", root).items():
        name = _read_key(key, "")
        try:
            found[name] = plain.of(value, name, 1)
        except NoConfig as refused:
            found[name], odd[name] = _name_kind(value), [refused.message, refused.fix]
    return {"config": nest(found, inner), "odd": odd}


def _is_config(value: Any) -> bool:
    """Return whether an object has named values: a mapping, or an object with attributes of its own."""
    if isinstance(value, Mapping) or (is_dataclass(value) and not isinstance(value, type)):
        return True
    kind = type(value)
    if isinstance(value, type) or inspect.ismodule(value) or inspect.isroutine(value) or kind.__module__ == "builtins":
        return False
    if any(callable(getattr(value, method, None)) for method in MAKERS) or isinstance(value, NAMESPACES):
        return True
    return kind.__module__.partition(".")[0] not in sys.stdlib_module_names and bool(_list_attributes(value))


def _is_config_or_name(value: Any) -> bool:
    return isinstance(value, str) or _is_config(value)


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


class _Plain:
    def __init__(self, root: str) -> None:
        self._root = root
        self._values = 0

    def of(self, value: Any, path: str = "", depth: int = 0) -> Any:
        self._values += 1
        if self._values > LARGEST:
            raise NoConfig(f"it has more than {LARGEST:,} values", RETURN)
        if depth > DEEPEST:
            raise NoConfig(f"it is nested more than {DEEPEST} deep", RETURN)
        if value is None or isinstance(value, str | int | float):
            return _read_scalar(value, path)
        if isinstance(value, list | tuple):
            return [self.of(each, f"{path}[{index}]", depth + 1) for index, each in enumerate(value)]
        found: dict[str, Any] = {}
        for key, inner in _as_mapping(value, path, self._root).items():
            name = _read_key(key, path)
            if name in found:
                raise NoConfig(f"{path or 'it'} has the key {shown(name)} as a string and as a number", "keep one")
            found[name] = self.of(inner, f"{path}.{name}" if path else name, depth + 1)
        return found


def _read_key(key: Any, path: str) -> str:
    """Return a key as a string, also if it is a whole number, such as the id of a label."""
    if isinstance(key, bool) or not isinstance(key, str | int):
        raise NoConfig(f"{path or 'it'} has the key {shown(str(key))}, which is {_name_kind(key)}", "make it a string")
    return str(_read_scalar(key, path))


def _read_scalar(value: Any, path: str) -> Any:
    """Return a scalar as Python's own type, without the additions of a subclass such as an enumeration."""
    if isinstance(value, int) and int(value).bit_length() > LONGEST_INTEGER:
        raise NoConfig(f"{path or 'it'} is a number with thousands of digits", "return a number")
    for kind in (bool, int, float):
        if isinstance(value, kind):
            return kind(value)
    return value if value is None else str.__str__(value)


def _as_mapping(value: Any, path: str, root: str) -> Mapping[Any, Any]:
    if isinstance(value, Mapping):
        return value
    for method in MAKERS:
        if not isinstance(value, type) and callable(getattr(value, method, None)):
            made = getattr(value, method)()
            if not isinstance(made, Mapping):
                raise NoConfig(f"{method}() of {_name_kind(value)} returned {_name_kind(made)}", RETURN)
            return made
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: getattr(value, each.name) for each in fields(value)}
    file = os.path.realpath(getattr(sys.modules.get(type(value).__module__), "__file__", None) or "/")
    is_namespace, is_own = isinstance(value, NAMESPACES), file.startswith(f"{root}{os.sep}")
    if is_namespace or ((not path or is_own) and _list_attributes(value)):
        return _list_attributes(value)
    fix = "make it a plain number, string, list or dict"
    raise NoConfig(f"{path} is {_name_kind(value)}, which JSON cannot hold", fix)


def _name_kind(value: object) -> str:
    """Return the type of a value with its article, as in ``a numpy.int64``; ``None`` stays ``None``."""
    if value is None:
        return "None"
    kind = type(value)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    return f"{'an' if name[:1].lower() in {*'aeio'} else 'a'} {printable(name)}"


if __name__ == "__main__":
    main()
