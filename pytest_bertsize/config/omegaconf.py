"""YAML of OmegaConf and hydra: the marks of such a file, and its ``${…}``, which OmegaConf itself resolves."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from pytest_bertsize.builder.confined import MEGABYTE
from pytest_bertsize.builder.own_process import Allowed, Lost, answer_of
from pytest_bertsize.config.model_config import LARGEST, fail
from pytest_bertsize.wording import printable, shown

Path: TypeAlias = tuple[str, ...]

ALLOWED = Allowed(seconds=10.0, memory=1024 * MEGABYTE, answer=2 * LARGEST)
FIX = 'write the value, say it by overrides, or name a function that composes the config, as in config = "module:make"'
COMPOSE = (
    'name a function of the project that does, as in config = "module:make": it returns '
    'OmegaConf.to_container(compose("config").model, resolve=True), with initialize("conf", version_base=None)'
)
NUMBER = re.compile(r"[-+]?[0-9][0-9_]*+(?:\.[0-9_]*+)?[eE][-+]?[0-9]+")
"""A float to OmegaConf, and a string to PyYAML unless it has both a point and a sign of the exponent."""
_NUMBER_IN_TEXT = re.compile(rf"(?<![\w.'\"]){NUMBER.pattern}")
_MARKS = re.compile(
    r"\$\{|^\s*+(?:-\s++)?_target_\s*+:|^\#\s*+@package\b|:[^\S\n]++\?\?\?[^\S\n]*+$|^defaults:[^\S\n]*+(?:\#.*+)?\n\s*+-\s",
    re.MULTILINE,
)


def is_marked(content: bytes) -> bool:
    """Return whether a file says what only OmegaConf or hydra understands."""
    return _MARKS.search(content.decode("utf-8", "replace")) is not None


def has_other_numbers(content: bytes) -> bool:
    """Return whether a file without such a mark may mean something else to OmegaConf: ``1e-12``."""
    return _NUMBER_IN_TEXT.search(content.decode("utf-8", "replace")) is not None


def refuse_composed(defaults: object, file: str, line: int) -> None:
    """Refuse a file whose list of ``defaults`` names others: any of them may replace any of its values.

    :raises Unusable: when the list is hydra's, and names more than the file itself.
    """
    listed = defaults if isinstance(defaults, list) else []
    for each in listed:
        if isinstance(each, str | dict) and each != "_self_":
            fail(file, f"its defaults name {shown(each)}, and only hydra composes such files", COMPOSE, line)


def resolve(
    text: str, value: object, key_path: Sequence[str], file: str, allowed: Allowed = ALLOWED
) -> tuple[object, Mapping[Path, tuple[str, str]]]:
    """Return an object of a file with its ``${…}`` resolved, and by their full paths why others are not.

    :param text: of the file.
    :param value: the object as it is written; a string, where ``${…}`` is at the keys or above them.
    :param key_path: the keys that lead to it.
    :raises Unusable: when the object itself is not known.
    """
    if not key_path and isinstance(value, dict):
        value = {key: each for key, each in value.items() if key != "hydra"}  # how hydra itself runs
    written = dict(_find_unresolved(value))
    known: dict[Path, object] = {}
    unknown: dict[Path, tuple[str, str]] = {}
    for path, said in zip(written, _answers_of(text, [[*key_path, *path] for path in written], allowed), strict=True):
        if "value" in said:
            known[path] = said["value"]
            continue
        name = printable(".".join(path or key_path))
        why = f"{name} is {printable(written[path])}, which OmegaConf does not resolve: {printable(str(said['why']))}"
        fix = f"{said.get('first', '')}{FIX}"
        if not path:
            fail(file, why, fix)
        unknown[*key_path, *path] = why, fix
    return _replace(value, known), unknown


def _find_unresolved(value: object, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Yield each string that OmegaConf takes for something else, by its path."""
    if isinstance(value, str) and ("${" in value or value == "???"):
        yield path, value
    elif isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _find_unresolved(inner, (*path, str(key)))


def _answers_of(text: str, paths: list[list[str]], allowed: Allowed) -> list[dict[str, Any]]:
    """Ask OmegaConf for what is at some paths of a file."""
    if not paths:
        return []
    try:
        said = answer_of("pytest_bertsize.config.by_omegaconf", {"text": text, "paths": paths}, None, allowed)
    except Lost as lost:
        return [{"why": str(lost)}] * len(paths)
    return list(said.get("answers", [said] * len(paths)))


def _replace(value: object, known: Mapping[Path, object], path: Path = ()) -> object:
    if path in known:
        return known[path]
    if isinstance(value, dict):
        return {key: _replace(inner, known, (*path, key)) for key, inner in value.items()}
    if isinstance(value, list):
        return [_replace(inner, known, (*path, str(index))) for index, inner in enumerate(value)]
    return value
