"""Training files with names of their own: ``keys = { num_blks = "num_hidden_layers" }``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.wording import did_you_mean, printable, shown

if TYPE_CHECKING:
    from pytest_bertsize.config.model_config import ModelConfig

MOST_HINTS = 20
"""Unknown names that are compared with each of the file's: it may have thousands of both."""


def renamed(config: ModelConfig, keys: Mapping[str, str]) -> ModelConfig:
    """The config under the names that a config has; its lines stay those of the file.

    :param keys: by the file's own name, or a path of names with dots, the config key that it stands for.
    :raises Unusable: with a finding for each of ``keys`` that cannot be.
    """
    paths = {alias: (alias,) if alias in config.data else tuple(alias.split(".")) for alias in keys}
    whole = {path: alias for alias, path in paths.items()}
    left = config.data
    found: dict[str, object] = {}
    wrong: list[Finding] = []
    for alias, target in keys.items():
        outer = (paths[alias][:depth] for depth in range(1, len(paths[alias])))
        if (path := next((each for each in outer if each in whole), None)) is not None:
            message = f"keys names both {printable(whole[path])} and {printable(alias)}, which is a part of it"
            wrong.append(_finding(alias, message, "keep one of them"))
            continue
        try:
            found[alias] = _value(config.data, paths[alias])
            left = _without(left, paths[alias])
        except KeyError:
            wrong.append(_not_there(alias, target, config, hint=len(wrong) < MOST_HINTS))
    wrong += _clashes(keys, left, config, found)
    if wrong:
        raise Unusable(*wrong)
    names = {(*config.key_path, target): (*config.key_path, *paths[alias]) for alias, target in keys.items()}
    data = {**left, **{target: found[alias] for alias, target in keys.items()}}
    return replace(config, data=data, by_own_names=config.data, names_in_file=names)


def _value(data: object, path: tuple[str, ...]) -> object:
    """:raises KeyError: when there is none."""
    for key in path:
        if not isinstance(data, dict):
            raise KeyError(key)
        data = data[key]
    return data


def _without(data: dict[str, object], path: tuple[str, ...]) -> dict[str, object]:
    """A copy that lacks one value, and the objects that have become empty by that."""
    key, *below = path
    inner = data[key]
    rest = _without(inner, tuple(below)) if below and isinstance(inner, dict) else {}
    return {name: rest if name == key else value for name, value in data.items() if name != key or rest}


def _not_there(alias: str, target: str, config: ModelConfig, *, hint: bool) -> Finding:
    names = [name for name in _names(config.data) if name != target] if hint else ()
    if target in config.data:
        message = f"keys names {printable(alias)}, which is not in {config.reference}, and {printable(target)} is"
        return _finding(alias, message, f"remove {printable(alias)} from keys")
    fix = did_you_mean(
        alias, names, "write the name that the file has", lambda name: f"{printable(name)} = {shown(target)}"
    )
    return _finding(alias, f"keys names {printable(alias)}, which is not in {config.reference}", fix)


def _names(data: Mapping[str, object]) -> Iterator[str]:
    """What an alias can be: the keys, and those of objects in the object."""
    for key, value in data.items():
        yield key
        if isinstance(value, dict):
            yield from (f"{key}.{inner}" for inner in value)


def _clashes(
    keys: Mapping[str, str], left: Mapping[str, object], config: ModelConfig, there: Mapping[str, object]
) -> Iterator[Finding]:
    """Aliases that stand for what is said already."""
    first: dict[str, str] = {}
    for alias, target in keys.items():
        if target in first:
            both = f"{printable(first[target])} and {printable(alias)}"
            yield _finding(alias, f"keys names both {both} for {printable(target)}", "keep one of them")
        elif target in left and alias in there:
            line = config.line(target)
            at = f", on line {line}" if line else ""
            message = f"{printable(alias)} stands for {printable(target)}, and {config.reference} has both{at}"
            yield _finding(alias, message, f"remove {printable(alias)} from keys, or one of them from the file")
        first.setdefault(target, alias)


def _finding(alias: str, message: str, fix: str) -> Finding:
    return Finding("config-invalid", message, fix, table_key=("keys", alias))
