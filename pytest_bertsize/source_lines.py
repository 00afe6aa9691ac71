"""On which line of a TOML or JSON file a key stands. Only used on the way to an error."""

from __future__ import annotations

import re
from json import JSONDecodeError, loads
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MARK = "pytest-bertsize-looks-for-this-line"
_JSON_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+', re.DOTALL)


def line_in_toml(text: str, path: Sequence[str]) -> int | None:
    """The 1-based line of the deepest part of ``path`` that the text has; ``None`` if it cannot be told.

    tomlkit writes back losslessly what it read: mark the item, write, and count the line breaks before the mark.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document = tomlkit.parse(text)
        if not _mark(document, path):
            return None
        written = tomlkit.dumps(document)
    except (TOMLKitError, TypeError, ValueError, KeyError, AttributeError, IndexError):
        return None
    return written.count("\n", 0, written.index(_MARK)) + 1 if _MARK in written else None


def _mark(document: Any, path: Sequence[str]) -> bool:
    """Put the mark on the deepest item of ``path``; a table carries it as its comment."""
    parent, key, node = None, "", document
    for part in path:
        if not isinstance(node, dict) or part not in node:
            break
        parent, key, node = node, part, node[part]
    while _is_super_table(node):
        parent, key, node = node, next(iter(node)), next(iter(node.values()))
    if parent is None:
        return False
    if isinstance(node, dict) and not _is_inline(node):
        cast("Any", node).comment(_MARK)
    else:
        parent[key] = _MARK
    return True


def _is_super_table(node: Any) -> bool:
    return isinstance(node, dict) and bool(node) and getattr(node, "is_super_table", bool)()


def _is_inline(node: object) -> bool:
    return type(node).__name__ == "InlineTable"


def line_in_json(text: str, path: Sequence[str]) -> int | None:
    """The 1-based line of the key at ``path`` (the last one, where a key is repeated); ``None`` if it is not there."""
    return next(
        (text.count("\n", 0, at) + 1 for at, found in reversed(list(_json_keys(text))) if found == [*path]), None
    )


def _json_keys(text: str) -> Iterator[tuple[int, list[str]]]:
    """Offset and full path of every object key; ``[]`` stands for a list's items."""
    path: list[str] = []
    opened: list[str] = []
    previous: tuple[int, str] | None = None
    for token in _JSON_TOKEN.finditer(text):
        symbol = token[0]
        if symbol in "{[":
            opened.append(symbol)
            path.append("[]")
        elif symbol in "}]" and opened:
            opened.pop()
            path.pop()
        elif symbol == ":" and opened and opened[-1] == "{" and previous:
            path[-1] = _unquoted(previous[1])
            yield previous[0], path.copy()
        previous = (token.start(), symbol)


def _unquoted(token: str) -> str:
    try:
        return str(loads(token))
    except JSONDecodeError:
        return token
