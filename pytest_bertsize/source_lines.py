"""On which line of a TOML or JSON file a key stands. Only used on the way to an error."""

from __future__ import annotations

import re
from json import JSONDecodeError, loads
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MARK = "pytest-bertsize-looks-for-this-line"
_DEEPEST = 20
_JSON_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+', re.DOTALL)


def line_in_toml(text: str, path: Sequence[str]) -> int | None:
    """The 1-based line of the deepest part of ``path`` that the text has; ``None`` if it cannot be told.

    tomlkit writes back losslessly what it read: mark the item, write, and count the line breaks before the mark. What
    has no line of its own, such as the table that dotted keys make, stands where its first key does.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    found: list[Any] = list(path)
    for _ in range(_DEEPEST):
        try:
            document = tomlkit.parse(text)
            found, parent, node = _deepest(document, found)
            if not found:
                return None
            written = _with_mark(document, parent, found, node)
        except (TOMLKitError, TypeError, ValueError, KeyError, AttributeError, IndexError):
            return None
        if _MARK in written:
            return written.count("\n", 0, written.index(_MARK)) + 1
        if not isinstance(node, dict | list) or not node:
            return None
        found.append(next(iter(node)) if isinstance(node, dict) else 0)
    return None


def _deepest(document: Any, path: Sequence[Any]) -> tuple[list[Any], Any, Any]:
    """The part of a path that is there, the container of its last item, and that item."""
    found: list[Any] = []
    parent: Any = None
    node = document
    for part in path:
        if isinstance(node, list) and not isinstance(part, int):
            found.append(0)
            parent, node = node, node[0]
        if not isinstance(node, dict | list) or (isinstance(node, dict) and part not in node):
            break
        found.append(part)
        parent, node = node, node[part]
    return found, parent, node


def _with_mark(document: Any, parent: Any, path: Sequence[Any], node: Any) -> str:
    """The document with the mark at an item: a table carries it as its comment, a value gives way to it."""
    import tomlkit

    if isinstance(node, dict) and type(node).__name__ != "InlineTable":
        getattr(node, "comment", str)(_MARK)
    elif parent is not None and not _is_array_of_tables(node):
        parent[path[-1]] = _MARK
    return tomlkit.dumps(document)


def _is_array_of_tables(node: object) -> bool:
    return type(node).__name__ == "AoT"


def line_in_json(text: str, path: Sequence[str]) -> int | None:
    """The 1-based line of the key at ``path`` (the last one, where a key is repeated); ``None`` if it is not there."""
    found = [at for at, keys, _ in _json_keys(text) if keys == [*path]]
    return text.count("\n", 0, found[-1]) + 1 if found else None


def repeated_in_json(text: str) -> tuple[str, int] | None:
    """The first key that stands in its object for the second time, and the 1-based line on which it does."""
    seen = set()
    for at, keys, opened_at in _json_keys(text):
        if (opened_at, keys[-1]) in seen:
            return keys[-1], text.count("\n", 0, at) + 1
        seen.add((opened_at, keys[-1]))
    return None


def _json_keys(text: str) -> Iterator[tuple[int, list[str], int]]:
    """Offset and full path of every object key, and where its object opens; ``[]`` stands for a list's items."""
    path: list[str] = []
    opened: list[tuple[str, int]] = []
    previous: tuple[int, str] | None = None
    for token in _JSON_TOKEN.finditer(text):
        symbol = token[0]
        if symbol in "{[":
            opened.append((symbol, token.start()))
            path.append("[]")
        elif symbol in "}]" and opened:
            opened.pop()
            path.pop()
        elif symbol == ":" and opened and opened[-1][0] == "{" and previous:
            path[-1] = _unquoted(previous[1])
            yield previous[0], path.copy(), opened[-1][1]
        previous = (token.start(), symbol)


def _unquoted(token: str) -> str:
    try:
        return str(loads(token))
    except JSONDecodeError:
        return token
