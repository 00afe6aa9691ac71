"""Read several models from one table: ``[tool.bertsize.models."bert-{stem}"]`` with ``config = "configs/*.json"``."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache, partial
from pathlib import Path, PurePosixPath

from pytest_bertsize.table.model import Model, check_model_name
from pytest_bertsize.table.reading import Mistake
from pytest_bertsize.wording import printable, reason, shown

# Keys whose strings may have placeholders, as the name of the model's table may.
FOLLOWING = ("checkpoint", "tokenizer", "adapter")
# The name of a folder that no wildcard matches. A wildcard matches a hidden folder only if a dot is before it.
LEFT_OUT = "node_modules"

_GLOB = re.compile(r"[*?]|\[[^/\]]+\]")
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


def expand_model(model: Model, matches: Callable[[str], list[str]]) -> Iterator[Model]:
    """Yield the model of a table; if its config is a pattern, yield one for each file that matches, sorted."""
    pattern, is_pattern = model.file, _GLOB.search(model.file) is not None
    config = f"config = {shown(pattern)}"
    if is_pattern != (_PLACEHOLDER.search(model.name) is not None):
        several = f"models.{shown(model.name if not is_pattern else f'{model.name}-{{stem}}')}"
        says = "can mean several files" if is_pattern else "is one file, and the model's name has a placeholder"
        fix = f'for several models, write {several} and a pattern, such as "configs/*.json"; for one, its file'
        raise Mistake(f"{config} {says}: {fix}", "config")
    if not is_pattern:
        yield model
        return
    try:
        files = sorted(matches(pattern))
    except Mistake as error:
        raise Mistake(f"{config}: {error}", "config") from None
    if not files:
        message = f"{config} matches no file, so nothing would be checked"
        raise Mistake(f"{message}: write a pattern that does, relative to pyproject.toml", "config")
    for file in files:
        name = _fill_in(model.name, file)
        try:
            check_model_name(name)
        except ValueError as error:
            raise Mistake(f"{shown(file)} gives the model name {shown(name)}: {error}") from None
        _, hash_sign, inner = model.config.partition("#")
        following = ((key, getattr(model, key)) for key in FOLLOWING)
        filled = {key: _fill_in(value, file, key) for key, value in following if isinstance(value, str)}
        yield model.replace(name=name, config=f"{file}{hash_sign}{inner}", **filled)


def refuse_same_name(model: Model, found: Mapping[str, Model], declared: Collection[str]) -> None:
    """Refuse a model of a pattern if another table, or an earlier model, has its name."""
    declared_as = model.table_key[-1]
    if model.name in found or (model.name != declared_as and model.name in declared):
        fix = f'write models."{printable(declared_as)}-{{folder}}", or rename a file'
        name = f"{shown(model.file)} gives the model name {shown(model.name)}"
        raise Mistake(f"{name}, which another file or table gives too: {fix}")


def _fill_in(text: str, file: str, *key: str) -> str:
    path = PurePosixPath(file)
    values = {"stem": path.stem, "folder": path.parent.name}
    for placeholder in _PLACEHOLDER.findall(text):
        if placeholder not in values:
            hint = "write {stem}, the file's name without its suffix, or {folder}"
            raise Mistake(f"there is no placeholder {{{printable(placeholder)}}}: {hint}", *key)
        if not values[placeholder]:
            message = f"{shown(file)} is in no folder whose name {{folder}} could mean: write {{stem}}"
            raise Mistake(message, *key)
    return _PLACEHOLDER.sub(lambda found: values[found[1]], text)


def find_matches(root: Path, pattern: str) -> list[str]:
    """Return the files below a folder that match a pattern, sorted; raise :class:`Mistake` if it leads elsewhere."""
    return find_matches_in(partial(_list_folder, root), pattern)


def find_matches_in(list_folder: Callable[[str], Iterable[tuple[str, bool, bool]]], pattern: str) -> list[str]:
    """Return the files that match a pattern, in anything that has folders, such as a commit.

    A symlink to a folder is followed where a part of the pattern matches its name. As in bash and pathlib, ``**``
    follows no symlink, so the search cannot run in a circle.

    :param list_folder: lists a folder, ``"configs/"``: each name, whether it is a folder, and whether it is a symlink.
    """

    @cache
    def search(folder: str, parts: tuple[str, ...]) -> set[str]:
        part, *rest = parts
        found = {*search(folder, parts[1:])} if part == "**" and rest else set()
        for name, is_folder, is_link in list_folder(folder):
            is_hidden = name == LEFT_OUT or (name.startswith(".") and not part.startswith("."))
            if (is_hidden or not fnmatchcase(name, part)) and not part == name == LEFT_OUT:
                continue
            if not is_folder and not rest:
                found.add(f"{folder}{name}")
            elif is_folder and part == "**" and not is_link:
                found |= search(f"{folder}{name}/", parts)
            elif is_folder and part != "**" and rest:
                found |= search(f"{folder}{name}/", parts[1:])
        return found

    return sorted(search("", _split_pattern(pattern)))


def _list_folder(root: Path, folder: str) -> list[tuple[str, bool, bool]]:
    try:
        with os.scandir(root / folder) as entries:
            return [(each.name, each.is_dir(), each.is_dir() and each.is_symlink()) for each in entries]
    except OSError as error:
        where = shown(folder) if folder else "the project"
        raise Mistake(f"{where} cannot be listed: {reason(error)}") from None


def _split_pattern(pattern: str) -> tuple[str, ...]:
    parts = tuple(part for part in pattern.split("/") if part not in {"", "."})
    leaves = pattern.startswith("/") or re.match(r"[A-Za-z]:", pattern) or ".." in parts
    if leaves or "\\" in pattern or any("**" in part and part != "**" for part in parts):
        raise Mistake(
            'write it relative to pyproject.toml, with / between folders, ** alone between two /, and no ".."'
        )
    return parts
