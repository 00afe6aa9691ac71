"""Find the places of keys and values in a TOML file, for messages and for changes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, reduce
from operator import getitem
from typing import Any, NamedTuple, TypeAlias, cast

import tomli

# The tokens of a valid TOML file that tell where a statement ends.
_TOKEN = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*+"{3,5}'  # a multi-line string may end with two more quotes
    r"|'''(?:[^']|'(?!''))*+'{3,5}"
    r'|"(?:[^"\\]|\\.)*+"'
    r"|'[^']*+'"
    r"|\#[^\n]*+"
    r"|[\[\]{}\n]",
    re.DOTALL,
)
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_STRING = re.compile(r"(\"\"\"|'''|\"|')(?s:.*)\1")

Path: TypeAlias = tuple[str, ...]


class CannotReplace(Exception):
    """The error for a value that cannot be replaced without a change of the text around it."""


class _Statement(NamedTuple):
    """A header, or a key with its value."""

    start: int
    end: int
    line: int
    is_header: bool
    table: Path  # the path of the table above the key; for a header, of the table that it opens


def line_in_toml(text: str, path: Sequence[str]) -> int | None:
    """Return the 1-based line of ``path``, or of its longest beginning that the text has; ``None`` if it has none.

    A table without a header, which dotted keys define, has the line of its first key.
    """
    places = _locate_keys(text)
    known = (tuple(path[:depth]) for depth in range(len(path), 0, -1))
    return next((places[each].line for each in known if each in places), None)


def replace_values(text: str, values: Mapping[Path, str]) -> str:
    """Return ``text`` with new values, numbers or strings in double quotes, in the author's style.

    :raises CannotReplace: if a path has no value in the text.
    """
    import tomlkit

    for path, value in values.items():
        found = _locate_keys(text).get(path)
        if found is None or found.is_header:
            raise CannotReplace(f"{'.'.join(path)} cannot be changed without changing the text around it")
        document, wanted = tomlkit.parse(text[found.start : found.end]), tomli.loads(text, parse_float=str)
        table: Any = reduce(getitem, path[len(found.table) : -1], cast("Any", document))
        written = _in_style(value, table[path[-1]].as_string())
        table[path[-1]] = tomlkit.value(written)
        reduce(getitem, path[:-1], wanted)[path[-1]] = tomli.loads(f"x = {written}")["x"]
        text = text[: found.start] + tomlkit.dumps(document) + text[found.end :]
        _refuse_other(text, wanted, path)
    return text


def replace_keys(text: str, table: Path, values: Mapping[str, str]) -> str:
    """Return ``text`` with new values for keys of one table, which it may not have yet, and everything else unchanged.

    :param values: by key, the new value as TOML, perhaps with a comment after it; ``""`` removes the key.
    :raises CannotReplace: if the table cannot be changed in place.
    """
    import tomlkit
    from tomlkit.items import Table

    is_crlf = "\r\n" in text and text.count("\r\n") == text.count("\n")
    text = text.replace("\r\n", "\n") if is_crlf else text
    document, wanted = tomlkit.parse(text), tomli.loads(text, parse_float=str)
    here, wanted_here = reduce(getitem, table, cast("Any", document)), reduce(getitem, table, wanted)
    items = here.value if isinstance(here, Table) else None
    body: list[Any] = items.body if items else []
    behind: list[Any] = []
    while body and body[-1][0] is None:  # a comment above the next table
        behind.insert(0, body.pop())
    for name, value in values.items():
        here = reduce(getitem, table, cast("Any", document))  # with dotted keys, each change makes a new table
        if value:
            written: Any = tomlkit.parse(f"x = {value}\n").item("x")
            comment = (written.trivia.comment_ws, written.trivia.comment)
            plain = tomli.loads(f"x = {value}", parse_float=str)["x"]
            if name in here and wanted_here[name] == plain and not any(comment):
                continue
            here[name], wanted_here[name] = written, plain
            if items:  # remove the comment of the old value too
                item: Any = items.item(name)
                item.trivia.comment_ws, item.trivia.comment = comment
        elif name in here:
            del here[name], wanted_here[name]
    body += behind
    after = tomlkit.dumps(document)
    _refuse_other(after, wanted, table)
    return after.replace("\n", "\r\n") if is_crlf else after


def _refuse_other(text: str, wanted: Mapping[str, Any], path: Path) -> None:
    if tomli.loads(text, parse_float=str) != wanted:
        raise CannotReplace(f"{'.'.join(path)} cannot be changed without changing the text around it")


def _in_style(value: str, old: str) -> str:
    """Return a value in the style of the old one: with its kind of quotes, and without ``_`` if it has none."""
    bare = value.strip('"')
    if "_" not in old and len(re.sub(r"\D", "", old)) > len("999"):
        bare = bare.replace("_", "")
    quotes = match[1] if (match := _STRING.fullmatch(old)) else ""
    return f"{quotes}{bare}{quotes}"


@lru_cache(4)
def _locate_keys(text: str) -> Mapping[Path, _Statement]:
    """Return the header of each table, else the first statement that defines it, and the statement of each value.

    Of a list of tables, only the first table has places.
    """
    try:
        tomli.loads(text)
    except (ValueError, RecursionError):
        return {}
    found: dict[Path, _Statement] = {}
    table: Path = ()
    start, line, depth = 0, 1, 0
    for token in _TOKEN.finditer(f"{text}\n"):
        mark = token[0]
        depth += (mark in "[{") - (mark in "]}")
        if mark != "\n" or depth:
            continue
        written = text[start : token.end()]
        paths = [*list_paths(tomli.loads(written))]
        is_header = written.lstrip().startswith("[")
        if is_header:
            table = paths[-1]
        statement = _Statement(start, token.end(), line, is_header, table)
        for each in paths:
            path = each if is_header else (*table, *each)
            if path not in found or (is_header and path == table != found[path].table):
                found[path] = statement
        start, line = token.end(), line + written.count("\n")
    return found


def list_paths(value: object, above: Path = ()) -> Iterator[Path]:
    """Yield the path of every key in nested tables, that of a table before those in it."""
    for key, inner in value.items() if isinstance(value, dict) else ():
        yield (*above, key)
        yield from list_paths(inner, (*above, key))


def inline(value: object) -> str:
    """Write a value on one line: ``{ num_hidden_layers = 12 }``."""
    import tomlkit

    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key(name)} = {inline(each)}' for name, each in value.items())} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(inline, value))}]"
    return tomlkit.item(value).as_string()


def key(name: str) -> str:
    """Write one part of a dotted key, without quotes if possible."""
    return name if _BARE.fullmatch(name) else quote(name)


def quote(text: str) -> str:
    """Write a string in double quotes."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", r"\u007f")
