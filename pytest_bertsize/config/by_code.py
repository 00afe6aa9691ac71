"""The process in which the project's own code makes a config; it sends plain values.

If the named object is a function or a class, it is called, and its result is the config. Any other object is the config
itself: a dict, a dataclass, a Namespace, a CfgNode, a DictConfig, a config of transformers, an object with attributes.
A string is the name of a config.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

from pytest_bertsize.builder.confined import Refused, answer_one_question, describe_error, hide_secrets, limit_memory
from pytest_bertsize.config.model_config import nest
from pytest_bertsize.wording import printable, reason

MAKERS = ("to_dict", "model_dump")
NAMESPACES = (argparse.Namespace, types.SimpleNamespace)
INSTALLED = {"site-packages", "dist-packages"}
CORRECT = "correct it, or write module:FUNCTION of a module in the project's root, its src or the pythonpath of pytest"


def _answer_question(asked: Any) -> dict[str, Any]:
    root = asked["root"]
    try:
        sys.path[:0] = [root, *asked["paths"]]
        return _make_config(asked["reference"], asked["inner"])
    except Refused as error:
        return {"message": describe_error(error, root), "fix": error.fix}
    except BaseException as error:  # noqa: BLE001  (whatever the project's code raises)
        return {"message": f"it raised {describe_error(error, root)}", "fix": CORRECT}


def _make_config(reference: str, inner: list[str]) -> dict[str, Any]:
    """Return the config that ``reference`` names or makes; only the part to which ``inner`` leads is converted."""
    module, _, path = reference.partition(":")
    made = attrgetter(path)(importlib.import_module(module))
    limit_memory()
    if callable(made) and _list_items(made) is None:
        made = made()
    for depth, key in enumerate(inner):
        within = _list_items(made) or {}
        if key not in within:  # the reader of the answer says what is there
            return {"config": nest({str(name): None for name in within}, inner[:depth])}
        made = within[key]
    if isinstance(made, str):
        return {"name": str.__str__(made)}
    items = _list_items(made)
    if items is None:
        fix = "return a dict with the keys of config.json, or a name of the hub"
        raise Refused(f"it is {_name_kind(made)}, not a config", fix)
    found, odd = {}, {}
    for key, value in items.items():
        try:
            found[str(key)] = json.loads(json.dumps(value, default=_to_dict))
        except (TypeError, ValueError, RecursionError) as error:
            found[str(key)] = _name_kind(value)
            odd[str(key)] = f"{key} cannot be written as JSON: {hide_secrets(reason(error))}"
    return {"config": nest(found, inner), "odd": odd}


def _list_items(value: Any) -> Mapping[Any, Any] | None:
    """Return the named values of a config, or of an object in it; ``None`` for any other value.

    Attributes count, without methods of the class, if the class is the project's own.
    """
    if isinstance(value, Mapping):
        return value
    if isinstance(value, type):
        return None
    for method in MAKERS:
        if callable(make := getattr(value, method, None)):
            made = make()
            return made if isinstance(made, Mapping) else None
    if is_dataclass(value):
        return {each.name: getattr(value, each.name) for each in fields(value)}
    kind = type(value)
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    is_standard = kind.__module__.partition(".")[0] in sys.stdlib_module_names
    is_own = file and not is_standard and INSTALLED.isdisjoint(Path(file).parts)
    if not (is_own or isinstance(value, NAMESPACES)):
        return None
    own = getattr(value, "__dict__", {})
    names = dict.fromkeys(name for each in reversed(kind.__mro__[:-1]) for name in vars(each)) | own
    public = {name: getattr(value, name, None) for name in names if isinstance(name, str) and not name.startswith("_")}
    return {name: each for name, each in public.items() if name in own or not callable(each)} or None


def _to_dict(value: object) -> dict[Any, Any]:
    """Convert an object inside a config for JSON, which knows only dicts, lists, texts and numbers."""
    if (items := _list_items(value)) is None:
        raise TypeError(f"{_name_kind(value)} is not plain data")
    return dict(items)


def _name_kind(value: object) -> str:
    """Return the type of a value with its article, as in ``a numpy.int64``; ``None`` stays ``None``."""
    if value is None:
        return "None"
    kind = type(value)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    return f"{'an' if name[:1].lower() in {*'aeio'} else 'a'} {printable(name)}"


if __name__ == "__main__":
    answer_one_question(_answer_question)
