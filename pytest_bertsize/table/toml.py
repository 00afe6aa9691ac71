"""On which line of a TOML or JSON file a key stands: for what is said of it, and for what is written there."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import count, islice, pairwise
from json import JSONDecodeError, loads
from typing import TYPE_CHECKING, Any, NamedTuple

import tomli

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_MARK = "looked-for"
_DEEPEST = 20
_TOML_HEADER = re.compile(r"^[ \t]*+\[.*$", re.MULTILINE)
MOST_TOKENS = 50_000
"""Brackets and strings of a JSON file that are looked at; what stands behind them has no line."""
_JSON_STRING = r'"(?:[^"\\]|\\.)*+"?'
_JSON_TOKEN = re.compile(rf"{_JSON_STRING}(?:\s*+:)?+|[{{}}\[\]]", re.DOTALL)
_JSON_WORD = re.compile(rf"{_JSON_STRING}|[^\s{{}}\[\]:,\"]++", re.DOTALL)


def line_in_toml(text: str, path: Sequence[str]) -> int | None:
    """The 1-based line of the deepest part of ``path`` that the text has; ``None`` if it cannot be told.

    What has no line of its own, such as the table that dotted keys make, stands where its first key does.
    """
    document, sections = _layout(text)
    found = _there_is(document, path)
    if not found:
        return None
    for section in sections:
        if section.header == found:
            return section.line
    return min(_lines_that_make(found, sections), default=None)


def _lines_that_make(path: tuple[str, ...], sections: Iterable[Section]) -> Iterator[int]:
    """The lines of a value, or of all that a table without a header of its own is made by."""
    for section in sections:
        inner = path[len(section.header) :]
        if section.header[: len(path)] == path:
            yield section.line
        elif section.header == path[: len(section.header)] and (line := _line_in(section.body, inner)):
            yield section.line + line


class Section(NamedTuple):
    """A table of a TOML file as it is written: what stands below one header."""

    header: tuple[str, ...]
    """``("tool", "x")`` for ``[tool.x]`` and for ``[[tool.x]]``; empty for what stands above the first."""
    line: int
    """Of the header."""
    body: str
    start: int
    """Where the body begins in the text."""


def sections_of(text: str) -> tuple[Section, ...]:
    """Every table of a TOML file in the order of the file, what stands above the first included."""
    return _layout(text)[1]


@lru_cache(1)
def _layout(text: str) -> tuple[dict[str, Any], tuple[Section, ...]]:
    """What a file says, and every table in the order of the file; nothing of what is not TOML."""
    document = _parsed(text)
    if document is None:
        return {}, ()
    starts = [match.start() for match in _TOML_HEADER.finditer(text)]
    found = [Section((), 0, text[: starts[0]] if starts else text, 0)]
    for start, end in pairwise([*starts, len(text)]):
        header, _, body = text[start:end].partition("\n")
        line = text.count("\n", 0, start) + 1
        named = _parsed(header.strip())
        if named is None or _parsed(found[-1].body) is None:  # it only looks like one, in a list or text of many lines
            found[-1] = found[-1]._replace(body=found[-1].body + text[start:end])
        else:
            found.append(Section(_names(named), line, body, end - len(body)))
    return document, tuple(found)


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        return tomli.loads(text)
    except (ValueError, RecursionError):
        return None


def _names(table: Any) -> tuple[str, ...]:
    """``{"tool": {"x": [{}]}}`` → ``("tool", "x")``."""
    names: list[str] = []
    while table and isinstance(table, dict | list):
        if isinstance(table, dict):
            names.extend(table)
            table = table[names[-1]]
        else:
            table = table[0]
    return tuple(names)


def _there_is(node: Any, path: Sequence[str]) -> tuple[str, ...]:
    """The deepest part of a path that there is; of a list of tables, the first counts."""
    for depth, part in enumerate(path):
        while isinstance(node, list) and node:
            node = node[0]
        if not isinstance(node, dict) or part not in node:
            return tuple(path[:depth])
        node = node[part]
    return tuple(path)


def _line_in(body: str, path: Sequence[str]) -> int | None:
    """The 1-based line of a path below one header.

    tomlkit writes back losslessly what it read: mark the item, write, and count the line breaks before the mark.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    if len(_there_is(_parsed(body) or {}, path)) < len(path):
        return None
    mark = next(mark for mark in (f"{_MARK}-{number}" for number in count()) if mark not in body)
    found: list[Any] = list(path)
    for _ in range(_DEEPEST):
        try:
            document = tomlkit.parse(body)
            found, parent, node = _deepest(document, found)
            written = _with_mark(document, parent, found, node, mark)
        except (TOMLKitError, TypeError, ValueError, KeyError, AttributeError, IndexError):
            return None
        if mark in written:
            return written.count("\n", 0, written.index(mark)) + 1
        if not isinstance(node, dict | list) or not node:
            return None
        found.append(next(iter(node)) if isinstance(node, dict) else 0)
    return None


def _deepest(document: Any, path: Sequence[Any]) -> tuple[list[Any], Any, Any]:
    """A path that there is with the index of every list on it, the container of its last item, and that item."""
    found: list[Any] = []
    parent: Any = None
    node = document
    for part in path:
        if isinstance(node, list) and not isinstance(part, int):
            found.append(0)
            parent, node = node, node[0]
        inner = node[part]
        if type(node).__name__ == "InlineTable" and type(inner).__name__ == "Table":
            break  # made by dotted keys: of these, tomlkit does not write back what it read
        found.append(part)
        parent, node = node, inner
    return found, parent, node


def _with_mark(document: Any, parent: Any, path: Sequence[Any], node: Any, mark: str) -> str:
    """The document with the mark at an item: a table carries it as its comment, a value gives way to it."""
    import tomlkit

    if isinstance(node, dict) and type(node).__name__ != "InlineTable":
        getattr(node, "comment", str)(mark)
    elif parent is not None and not _is_array_of_tables(node):
        parent[path[-1]] = mark
    return tomlkit.dumps(document)


def _is_array_of_tables(node: object) -> bool:
    return type(node).__name__ == "AoT"


def lines_in_json(text: str) -> dict[tuple[str, ...], int]:
    """The 1-based line of every key by its full path (the last one, where a key is repeated); a list is ``"[]"``."""
    return {path: line for line, path, _ in _json_keys(text)}


def repeated_in_json(text: str) -> tuple[str, int] | None:
    """The first key that stands in its object for the second time, and the 1-based line on which it does."""
    seen = set()
    for line, path, opened_at in _json_keys(text):
        if (opened_at, path[-1]) in seen:
            return path[-1], line
        seen.add((opened_at, path[-1]))
    return None


def line_of_number(text: str, digits: str) -> int | None:
    """The 1-based line of the first value that is written so, such as ``NaN``."""
    found = (token for token in _JSON_WORD.finditer(text) if token[0] == digits)
    return next((text.count("\n", 0, token.start()) + 1 for token in found), None)


def _json_keys(text: str) -> Iterator[tuple[int, tuple[str, ...], int]]:
    """Line and full path of every object key, and where its object opens; ``[]`` stands for a list's items."""
    path: list[str] = []
    opened: list[int] = []
    line, counted = 1, 0
    for token in islice(_JSON_TOKEN.finditer(text), MOST_TOKENS):
        symbol = token[0]
        if symbol in {"{", "["}:
            opened.append(token.start())
            path.append("[]")
        elif symbol in {"}", "]"}:
            if opened:
                opened.pop()
                path.pop()
        elif symbol[-1] == ":" and opened and text[opened[-1]] == "{":
            line += text.count("\n", counted, token.start())
            counted = token.start()
            path[-1] = _unquoted(symbol[:-1].rstrip())
            yield line, tuple(path), opened[-1]


def _unquoted(token: str) -> str:
    if "\\" not in token:
        return token[1:-1]
    try:
        return str(loads(token))
    except JSONDecodeError:
        return token
