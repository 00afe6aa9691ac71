"""Several models by one table: ``[tool.bertsize.models."bert-{stem}"]`` with ``config = "configs/*.json"``."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from pytest_bertsize.table.model import check_model_name
from pytest_bertsize.wording import did_you_mean, printable, reason, shown

MOST_MATCHES = 2_000
MOST_FOLDERS = 20_000
"""Folders that one pattern looks through."""
PLACEHOLDERS = ("stem", "folder")
FOLLOWING = ("checkpoint", "tokenizer", "adapter")
"""Keys whose strings may have placeholders too."""
LEFT_OUT = "node_modules"
"""Like hidden files and folders, only found where a pattern names it."""

_GLOB = re.compile(r"[*?]|\[[^/\]]+\]")
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


class BadGlob(Exception):
    """A pattern, or a name with a placeholder, that declares no models."""

    def __init__(self, message: str, declared: str = "", key: str = "") -> None:
        super().__init__(message)
        self.declared = declared
        """The model's name as it is written."""
        self.key = key
        """Of its table; ``""`` where it is the name itself."""


class Expanded(NamedTuple):
    """One model of a table that may declare several."""

    name: str
    declared: str
    """The name of the table, with its placeholder."""
    table: Any
    """The table as it would be written for this model alone."""


def expand_models(models: Mapping[str, Any], matches: Callable[[str], list[str]]) -> list[Expanded]:
    """Return every model that a project's tables declare, in their order, those of one pattern sorted by file.

    :param models: the tables by name, as they were parsed.
    :param matches: finds the files that a pattern means.
    :raises BadGlob: where a table declares no model, or one that another declares too.
    """
    found: dict[str, Expanded] = {}
    for declared, table in models.items():
        for each in _models_of(declared, table, matches):
            other = found.get(each.name)
            if other is None and (each.name == declared or each.name not in models):
                found[each.name] = each
                continue
            message = f"{shown(_location(each.table))} gives the name {shown(each.name)}, which "
            same = other is not None and other.declared == declared
            message += f"{shown(_location(other.table))} gives too" if same and other else "another table has"
            unused = next((key for key in PLACEHOLDERS if f"{{{key}}}" not in declared), None)
            fix = f'write models."{printable(declared)}-{{{unused}}}"' if unused else "rename a file"
            raise BadGlob(f"{message}: {fix}", declared)
    return list(found.values())


def _location(table: Any) -> str:
    config = table.get("config")
    return config.partition("#")[0] if isinstance(config, str) else ""


def _models_of(declared: str, table: Any, matches: Callable[[str], list[str]]) -> Iterator[Expanded]:
    pattern = _location(table)
    placeholders = _PLACEHOLDER.findall(declared)
    if not _GLOB.search(pattern):
        _refuse_placeholders(declared, table, pattern)
        yield Expanded(declared, declared, table)
        return
    if not placeholders:
        message = f'config = {shown(pattern)} can mean several files: write models."{printable(declared)}-{{stem}}"'
        raise BadGlob(f"{message}, or the path of one", declared, "config")
    for file in _find_files(pattern, declared, matches):
        name = _fill_in(declared, file, declared)
        try:
            check_model_name(name)
        except ValueError as error:
            raise BadGlob(f"{shown(file)} gives the name {shown(name)}: {error}", declared) from None
        _, hash_sign, inner = table["config"].partition("#")
        filled = {
            key: _fill_in(table[key], file, declared, key) for key in FOLLOWING if isinstance(table.get(key), str)
        }
        yield Expanded(name, declared, {**table, **filled, "config": f"{file}{hash_sign}{inner}"})


def _refuse_placeholders(declared: str, table: Any, config: str) -> None:
    """Refuse placeholders in a table that declares one model."""
    if placeholders := _PLACEHOLDER.findall(declared):
        at = f"config = {shown(config)} names one file" if config else "config names no file"
        message = f"the name has {{{printable(placeholders[0])}}}, and {at}"
        raise BadGlob(f'{message}: write a pattern, as in config = "configs/*.json"', declared)
    for key in FOLLOWING:
        value = table.get(key)
        for placeholder in _PLACEHOLDER.findall(value) if isinstance(value, str) else ():
            if placeholder in PLACEHOLDERS:
                message = f"{key} has {{{placeholder}}}, and config is no pattern: write the path of one file"
                raise BadGlob(message, declared, key)


def _find_files(pattern: str, declared: str, matches: Callable[[str], list[str]]) -> list[str]:
    config = f"config = {shown(pattern)}"
    try:
        found = sorted(matches(pattern))
    except BadGlob as error:
        raise BadGlob(f"{config}: {error}", declared, "config") from None
    if not found:
        message = f"{config} matches no file, so nothing would be checked"
        raise BadGlob(f"{message}: write a pattern that does, relative to pyproject.toml", declared, "config")
    if len(found) > MOST_MATCHES:
        message = f"{config} matches {len(found):,} files, more than {MOST_MATCHES:,}"
        raise BadGlob(f"{message}: write a narrower pattern", declared, "config")
    return found


def _fill_in(text: str, file: str, declared: str, key: str = "") -> str:
    """Replace the placeholders of a text by what they mean for one file."""
    path = PurePosixPath(file)
    values = {"stem": path.stem, "folder": path.parent.name}
    for placeholder in _PLACEHOLDER.findall(text):
        if placeholder not in values:
            otherwise = "write {stem}, the file's name without its suffix, or {folder}"
            hint = did_you_mean(placeholder, values, otherwise, lambda name: f"{{{name}}}")
            raise BadGlob(f"there is no placeholder {{{printable(placeholder)}}}; {hint}", declared, key)
        if not values[placeholder]:
            message = f"{shown(file)} lies in no folder that {{folder}} could name: write {{stem}}"
            raise BadGlob(message, declared, key)
    return _PLACEHOLDER.sub(lambda found: values[found[1]], text)


# the files of a pattern


def find_matches(root: Path, pattern: str) -> list[str]:
    """Find the files below a folder that a pattern means, sorted.

    :raises BadGlob: when the pattern leads out of the folder, or through too many others.
    """
    return find_matches_in(partial(_list_folder, root), pattern)


def find_matches_in(list_folder: Callable[[str], Iterable[tuple[str, bool, bool]]], pattern: str) -> list[str]:
    """Find the same in whatever has folders, such as a commit.

    A symlink to a folder is looked through where a part of the pattern means it by name; ``**`` leads through none, as
    in bash and pathlib, and so there is no way round in a circle.

    :param list_folder: lists a folder (``""``, ``"configs/"``): names, whether each is a folder, and one by a symlink.
    :raises BadGlob: when the pattern leads out of the folder, or through too many others.
    """
    parts = _split_pattern(pattern)
    found: set[str] = set()
    listed: dict[str, list[tuple[str, bool, bool]]] = {}
    waiting, seen = [("", 0)], {("", 0)}
    while waiting:
        folder, index = waiting.pop()
        if folder not in listed:
            if len(listed) == MOST_FOLDERS:
                raise BadGlob(f"it leads through more than {MOST_FOLDERS:,} folders: write a narrower pattern")
            listed[folder] = list(list_folder(folder))
        part, is_last = parts[index], index == len(parts) - 1
        after = {(folder, index + 1)} if part == "**" and not is_last else set()
        for name, is_folder, is_link in listed[folder]:
            if not _is_match(part, name):
                continue
            if not is_folder and is_last:
                found.add(f"{folder}{name}")
            elif is_folder and part == "**" and not is_link:
                after.add((f"{folder}{name}/", index))
            elif is_folder and part != "**" and not is_last:
                after.add((f"{folder}{name}/", index + 1))
        waiting += after - seen
        seen |= after
    return sorted(found)


def _list_folder(root: Path, folder: str) -> list[tuple[str, bool, bool]]:
    try:
        with os.scandir(root / folder) as entries:
            return [(each.name, each.is_dir(), each.is_dir() and each.is_symlink()) for each in entries]
    except OSError as error:
        where = shown(folder) if folder else "the project"
        raise BadGlob(f"{where} cannot be looked through: {reason(error)}") from None


def _split_pattern(pattern: str) -> tuple[str, ...]:
    parts = tuple(part for part in pattern.split("/") if part not in {"", "."})
    if pattern.startswith("/") or re.match(r"[A-Za-z]:", pattern) or ".." in parts:
        raise BadGlob("it leads out of the project: write it relative to pyproject.toml, without ..")
    if "\\" in pattern:
        raise BadGlob("write / between folders, not \\")
    if any("**" in part and part != "**" for part in parts):
        raise BadGlob("** stands for folders, alone between two /")
    return parts


def _is_match(part: str, name: str) -> bool:
    if name == LEFT_OUT or (name.startswith(".") and not part.startswith(".")):
        return part == name == LEFT_OUT
    return fnmatchcase(name, part)
