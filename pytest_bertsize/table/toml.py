"""On which line of a TOML or JSON file a key stands: for what is said of it, and for what is written there."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import count, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import tomli

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_STRING = re.compile(r"(\"\"\"|'''|\"|')(?s:.*)\1")


_MARK = "looked-for"
_DEEPEST = 20
_TOML_HEADER = re.compile(r"^[ \t]*+\[.*$", re.MULTILINE)


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


class CannotReplace(Exception):
    """A value cannot be told from what stands around it."""


def replaced(text: str, values: Mapping[tuple[str, ...], str]) -> str:
    """``text`` with other values, each in the author's own style: quotes, and digits in groups or not.

    :param values: by the path of its key, what to write: a TOML number, or a string in double quotes.
    :raises CannotReplace: when one of them has no value of its own in the text.
    """
    for path, value in values.items():
        start, end = _span(text, path)
        text = text[:start] + _in_style(value, text[start:end]) + text[end:]
    return text


def _span(text: str, path: Sequence[str]) -> tuple[int, int]:
    """Where the value of a key begins and ends."""
    for section in sections_of(text):
        inner = path[len(section.header) :]
        if inner and section.header == tuple(path[: len(section.header)]):
            found = _span_in(section.body, inner)
            if found:
                return section.start + found[0], section.start + found[1]
    raise CannotReplace(f"{'.'.join(path)} cannot be told from what stands around it")


def _span_in(body: str, path: Sequence[str]) -> tuple[int, int] | None:
    """The same below one header; ``None`` where it is not there.

    tomlkit writes back losslessly what it read: put a mark in place of the value, write, and look where it is.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    mark = next(mark for mark in (f'"value-{number}"' for number in count()) if mark not in body)
    try:
        document = tomlkit.parse(body)
        parent: Any = document
        for part in path[:-1]:
            parent = parent[part]
        old = parent[path[-1]].as_string()
        parent[path[-1]] = tomlkit.string(mark.strip('"'))
        written = tomlkit.dumps(document)
    except (TOMLKitError, AttributeError, KeyError, TypeError, ValueError):
        return None
    start = written.find(mark)
    before, after = written[:start], written[start + len(mark) :]
    return (start, start + len(old)) if start >= 0 and before + old + after == body else None


def _in_style(value: str, old: str) -> str:
    """``'"1_200M"'`` in place of ``"'1100M'"`` → ``"'1200M'"``; of a number of three digits none can be in groups."""
    bare = value.strip('"')
    if "_" not in old and len(re.sub(r"\D", "", old)) > len("999"):
        bare = bare.replace("_", "")
    quotes = match[1] if (match := _STRING.fullmatch(old)) else ""
    return f"{quotes}{bare}{quotes}"


def quoted(text: str) -> str:
    """A string in double quotes."""
    import tomlkit

    return tomlkit.string(text).as_string()


def key(name: str) -> str:
    """One part of a dotted key, bare where it can be."""
    import tomlkit

    return tomlkit.key(name).as_string()


def in_ascii(text: str) -> str:
    """The same TOML for an output that cannot show all of it.

    What is not ASCII stands in strings and keys in double quotes, where its escape is read as it, and in comments.
    """
    return re.sub(r"[^\x00-\x7f]", lambda found: f"\\U{ord(found[0]):08x}", text)
