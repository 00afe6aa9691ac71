"""Several models by one table: ``[tool.bertsize.models."bert-{stem}"]`` with ``config = "configs/*.json"``."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import translate
from functools import lru_cache, partial
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from pytest_bertsize.table.schema import model_name
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
    """A pattern, or a name with a placeholder, that cannot be meant."""

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
    """What the table says of this model."""


def expanded(models: Mapping[str, Any], matches: Callable[[str], list[str]]) -> list[Expanded]:
    """Every model that a project's tables declare, in their order, those of one pattern sorted by file.

    :param models: the tables by name, as they were parsed; what is no table is left as it is.
    :param matches: the files that a pattern means.
    :raises BadGlob: when a table cannot be taken for any, or for exactly these.
    """
    found: dict[str, Expanded] = {}
    for declared, table in models.items():
        for each, file in _models_of(declared, table, matches):
            other = found.get(each.name)
            if other is None and (each.name == declared or each.name not in models):
                found[each.name] = each
                continue
            message = f"{shown(file)} gives the name {shown(each.name)}, which "
            same = other is not None and other.declared == declared
            message += f"{shown(_location(other.table))} gives too" if same and other else "another table has"
            raise BadGlob(f"{message}: {_write_other_names(declared)}", declared)
    return list(found.values())


def _write_other_names(declared: str) -> str:
    unused = next((each for each in PLACEHOLDERS if f"{{{each}}}" not in declared), None)
    return f'write models."{printable(declared)}-{{{unused}}}"' if unused else "rename a file"


def _location(table: Any) -> str:
    config = table.get("config") if isinstance(table, dict) else None
    return config.partition("#")[0] if isinstance(config, str) else ""


def _models_of(declared: str, table: Any, matches: Callable[[str], list[str]]) -> Iterator[tuple[Expanded, str]]:
    """The models of one table, and the file of each."""
    pattern = _location(table)
    placeholders = _placeholders(declared)
    if not _GLOB.search(pattern):
        _refuse_placeholders(declared, placeholders, table, pattern)
        yield Expanded(declared, declared, table), pattern
        return
    if not placeholders:
        message = f'config = {shown(pattern)} can mean several files: write models."{printable(declared)}-{{stem}}"'
        raise BadGlob(f"{message}, or the path of one", declared, "config")
    for key in placeholders:
        if key not in PLACEHOLDERS:
            raise BadGlob(_unknown(key), declared)
    for file in _files(pattern, declared, matches):
        values = _values(file, placeholders, declared)
        name = _filled(declared, values)
        try:
            model_name(name)
        except ValueError as error:
            raise BadGlob(f"{shown(file)} gives the name {shown(name)}: {error}", declared) from None
        yield Expanded(name, declared, _table_of(table, file, values, declared)), file


def _placeholders(text: object) -> list[str]:
    return _PLACEHOLDER.findall(text) if isinstance(text, str) else []


def _unknown(key: str) -> str:
    otherwise = "write {stem}, the file's name without its suffix, or {folder}"
    hint = did_you_mean(key, PLACEHOLDERS, otherwise, lambda name: f"{{{name}}}")
    return f"there is no placeholder {{{printable(key)}}}; {hint}"


def _refuse_placeholders(declared: str, placeholders: Sequence[str], table: Any, config: str) -> None:
    """Where one file is named, there is nothing to tell apart."""
    if placeholders:
        at = f"config = {shown(config)} names one file" if config else "config names no file"
        message = f"the name has {{{printable(placeholders[0])}}}, and {at}"
        raise BadGlob(f'{message}: write a pattern, as in config = "configs/*.json"', declared)
    for key in FOLLOWING:
        value = table.get(key) if isinstance(table, dict) else None
        if stands := [each for each in _placeholders(value) if each in PLACEHOLDERS]:
            message = f"{key} has {{{stands[0]}}}, and config is no pattern: write the path of one file"
            raise BadGlob(message, declared, key)


def _files(pattern: str, declared: str, matches: Callable[[str], list[str]]) -> list[str]:
    try:
        found = sorted(matches(pattern))
    except BadGlob as error:
        raise BadGlob(f"config = {shown(pattern)}: {error}", declared, "config") from None
    if not found:
        message = f"config = {shown(pattern)} matches no file, so nothing would be checked"
        raise BadGlob(f"{message}: write a pattern that does, relative to pyproject.toml", declared, "config")
    if len(found) > MOST_MATCHES:
        message = f"config = {shown(pattern)} matches {len(found):,} files, more than {MOST_MATCHES:,}"
        raise BadGlob(f"{message}: write a narrower pattern", declared, "config")
    return found


def _values(file: str, placeholders: Sequence[str], declared: str) -> dict[str, str]:
    path = PurePosixPath(file)
    if "folder" in placeholders and not path.parent.name:
        raise BadGlob(f"{shown(file)} lies in no folder that {{folder}} could name: write {{stem}}", declared)
    return {"stem": path.stem, "folder": path.parent.name}


def _filled(text: str, values: Mapping[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda found: values[found[1]], text)


def _table_of(table: Mapping[str, Any], file: str, values: Mapping[str, str], declared: str) -> dict[str, Any]:
    """The table as it would be written for one file."""
    _, hash_sign, inner = table["config"].partition("#")
    made = {**table, "config": f"{file}{hash_sign}{inner}"}
    for key in FOLLOWING:
        for placeholder in _placeholders(table.get(key)):
            if placeholder not in PLACEHOLDERS:
                raise BadGlob(f"{key}: {_unknown(placeholder)}", declared, key)
            if not values[placeholder]:
                raise BadGlob(f"{key}: {shown(file)} lies in no folder that {{folder}} could name", declared, key)
        if _placeholders(table.get(key)):
            made[key] = _filled(table[key], values)
    return made


# the files of a pattern


def matching(root: Path, pattern: str) -> list[str]:
    """The files below a folder that a pattern means, sorted.

    :raises BadGlob: when the pattern leads out of the folder, or through too many others.
    """
    return matching_in(partial(_listed, root), pattern)


def matching_in(listed: Callable[[str], Iterable[tuple[str, bool, bool]]], pattern: str) -> list[str]:
    """The same of whatever has folders, such as a commit.

    A symlink to a folder is looked through where a part of the pattern means it by name; ``**`` leads through none, as
    in bash and pathlib, and so there is no way round in a circle.

    :param listed: what a folder (``""``, ``"configs/"``) holds: names, whether each is a folder, and one by a symlink.
    :raises BadGlob: when the pattern leads out of the folder, or through too many others.
    """
    parts = _parts(pattern)
    found: list[str] = []
    waiting = [("", _from_start(parts))]
    looked_through = 0
    while waiting:
        folder, states = waiting.pop()
        looked_through += 1
        if looked_through > MOST_FOLDERS:
            raise BadGlob(f"it leads through more than {MOST_FOLDERS:,} folders: write a narrower pattern")
        for name, is_folder, is_link in listed(folder):
            named = [state for state in states if not is_link or parts[state : state + 1] != ("**",)]
            if after := _step(parts, named, name):
                if is_folder:
                    waiting.append((f"{folder}{name}/", after))
                elif len(parts) in after:
                    found.append(f"{folder}{name}")
    return sorted(found)


def _listed(root: Path, folder: str) -> list[tuple[str, bool, bool]]:
    """What a folder holds, whether it is a folder, and whether it is one by a symlink."""
    try:
        with os.scandir(root / folder) as entries:
            return [(each.name, each.is_dir(), each.is_dir() and each.is_symlink()) for each in entries]
    except OSError as error:
        where = shown(folder) if folder else "the project"
        raise BadGlob(f"{where} cannot be looked through: {reason(error)}") from None


def _parts(pattern: str) -> tuple[str, ...]:
    parts = tuple(part for part in pattern.split("/") if part not in {"", "."})
    if pattern.startswith("/") or re.match(r"[A-Za-z]:", pattern) or ".." in parts:
        raise BadGlob("it leads out of the project: write it relative to pyproject.toml, without ..")
    if "\\" in pattern:
        raise BadGlob("write / between folders, not \\")
    if any("**" in part and part != "**" for part in parts):
        raise BadGlob("** stands for folders, alone between two /")
    return parts


def _from_start(parts: Sequence[str]) -> frozenset[int]:
    return _without_folders(parts, {0})


def _without_folders(parts: Sequence[str], states: Iterable[int]) -> frozenset[int]:
    """Positions in a pattern, and those that ``**`` reaches as no folder at all."""
    found = set(states)
    for state in range(len(parts) - 1):  # a last ** stands for files as well
        if state in found and parts[state] == "**":
            found.add(state + 1)
    return frozenset(found)


def _step(parts: Sequence[str], states: Iterable[int], name: str) -> frozenset[int]:
    """Where in the pattern one more part of a path leads."""
    after = set()
    for state in states:
        if state < len(parts) and _fits(parts[state], name):
            after.add(state + 1)
            if parts[state] == "**":
                after.add(state)
    return _without_folders(parts, after)


def _fits(part: str, name: str) -> bool:
    if name == LEFT_OUT:
        return part == LEFT_OUT
    if name.startswith(".") and not part.startswith("."):
        return False
    return _compiled(part).match(name) is not None


@lru_cache(256)
def _compiled(part: str) -> re.Pattern[str]:
    return re.compile(translate(part))
