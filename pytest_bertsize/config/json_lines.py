"""On which line of a JSON text a key stands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from json import JSONDecodeError, loads


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


MOST_TOKENS = 50_000
"""Brackets and strings of a JSON file that are looked at; what stands behind them has no line."""
_JSON_STRING = r'"(?:[^"\\]|\\.)*+"?'
_JSON_TOKEN = re.compile(rf"{_JSON_STRING}(?:\s*+:)?+|[{{}}\[\]]", re.DOTALL)
_JSON_WORD = re.compile(rf"{_JSON_STRING}|[^\s{{}}\[\]:,\"]++", re.DOTALL)
