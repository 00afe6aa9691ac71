"""Names of functions, modules and classes, as a table may write them."""

from __future__ import annotations

import re

from pytest_bertsize.wording import is_name, shown

DOTTED = r"[A-Za-z_]\w*(\.\w+)*"
"""A name in Python: a pattern, of ASCII."""


def function_name(name: str) -> str:
    is_file = name.partition(":")[0].endswith(".py")
    if is_file or not re.fullmatch(rf"{DOTTED}:{DOTTED}", name, re.ASCII):
        module = re.fullmatch(r"([\w/]+)\.py:(\w+)", name, re.ASCII)
        example = f"{module[1].replace('/', '.')}:{module[2]}" if module else "module:function"
        raise ValueError(f'{shown(name)} names no function: write factory = "{example}", importable from here')
    return name


def backbone_or_backbones(value: object) -> object:
    """The attribute of one, or of several each with its config."""
    if isinstance(value, str):
        return module_path(value)
    if not isinstance(value, dict):
        raise ValueError(f"{shown(value)} is not a string")  # noqa: TRY004  (what pydantic turns into its own)
    if not value:
        example = '"bert", or { question_model = "configs/q.json", ctx_model = "configs/c.json" }'
        raise ValueError(f"{shown(value)} is no backbone: write {example}")
    for name, config in value.items():
        module_path(name)
        if not isinstance(config, str) or not config:
            raise ValueError(f'{shown(config)} is no config of {name}: write {name} = "configs/q.json"')
    return value


def class_or_classes(value: object) -> object:
    """The class of all, or of several backbones each."""
    if isinstance(value, dict):
        if not value:
            raise ValueError("an empty table says nothing")
        return {module_path(name): _class(each) for name, each in value.items()}
    return value if value is None else _class(value)


def _class(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{shown(value)} is not a string")  # noqa: TRY004  (what pydantic turns into its own)
    if not value:
        raise ValueError("an empty string says nothing")
    return class_name(value)


def module_path(name: str) -> str:
    if not re.fullmatch(DOTTED, name, re.ASCII):
        raise ValueError(f'{shown(name)} is no path of a module: write backbone = "bert", the attribute that holds it')
    return name


def class_name(name: str) -> str:
    if not is_name(name):
        raise ValueError(f"{shown(name)} is no name: letters, digits and _ -, at most 100 of them")
    return name
