"""Find the places of keys and values in a TOML file, for messages and for changes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache, reduce
from operator import getitem
from typing import Any, NamedTuple, TypeAlias, cast

import tomli

_STRING = re.compile(r"(\"\"\"|'''|\"|')(?s:.*)\1")
_TOKEN = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*+"{3,5}'  # a multi-line string may end with two more quotes
    r"|'''(?:[^']|'(?!''))*+'{3,5}"
    r'|"(?:[^"\\]|\\.)*+"'
    r"|'[^']*+'"
    r"|\#[^\n]*+"
    r"|[\[\]{}=,.\n]"
    r"|[^\s\"'\#\[\]{}=,.]++",
    re.DOTALL,
)
"""Tokens of a valid TOML file, without blanks."""

Path: TypeAlias = tuple[str, ...]


class CannotReplace(Exception):
    """The error for a value that cannot be replaced without a change of the text around it."""


class _Layout(NamedTuple):
    """The places of the keys and values of a file; of a list of tables, only the first table has places."""

    document: dict[str, Any]
    headers: dict[Path, int]
    """Line of each table's header."""
    lines: dict[Path, int]
    """First line that defines each table or value."""
    spans: dict[Path, tuple[int, int]]
    """Start and end of each number or string."""


def line_in_toml(text: str, path: Sequence[str]) -> int | None:
    """Return the 1-based line of ``path``, or of its longest beginning that the text has; ``None`` if it has none.

    A table without a header, which dotted keys define, has the line of its first key.
    """
    layout = _scan_layout(text)
    node: Any = layout.document
    found: Path = ()
    for part in path:
        while isinstance(node, list) and node:
            node = node[0]
        if not isinstance(node, dict) or part not in node:
            break
        node, found = node[part], (*found, part)
    return layout.headers.get(found) or layout.lines.get(found)


def replace_values(text: str, values: Mapping[Path, str]) -> str:
    """Return ``text`` with new values, in the author's style: the same quotes, digits grouped or not.

    :param values: by path, the new value: a TOML number, or a string in double quotes.
    :raises CannotReplace: if a path has no number or string in the text.
    """
    spans = _scan_layout(text).spans
    for path in values:
        if path not in spans:
            raise CannotReplace(f"{'.'.join(path)} cannot be changed without changing the text around it")
    for path in sorted(values, key=lambda path: spans[path], reverse=True):
        start, end = spans[path]
        text = text[:start] + _in_style(values[path], text[start:end]) + text[end:]
    return text


def replace_keys(text: str, table: Path, values: Mapping[str, str]) -> str:
    """Return ``text`` with new values for keys of one table, which it may not have yet, and everything else unchanged.

    :param values: by key, the new value as TOML, perhaps with a comment after it; ``""`` removes the key.
    :raises CannotReplace: if the table cannot be changed in place.
    """
    import tomlkit
    from tomlkit.items import Table

    document, wanted = tomlkit.parse(text), tomli.loads(text)
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
            comment, plain = (written.trivia.comment_ws, written.trivia.comment), written.unwrap()
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
    if "\r\n" in text:
        after = re.sub(r"(?<!\r)\n", "\r\n", after)
    if tomli.loads(after) != wanted:
        raise CannotReplace(f"{'.'.join(table)} cannot be changed without changing the text around it")
    return after


def _in_style(value: str, old: str) -> str:
    """Return a value in the style of the old one: with its kind of quotes, and without ``_`` if it has none."""
    bare = value.strip('"')
    if "_" not in old and len(re.sub(r"\D", "", old)) > len("999"):
        bare = bare.replace("_", "")
    quotes = match[1] if (match := _STRING.fullmatch(old)) else ""
    return f"{quotes}{bare}{quotes}"


@lru_cache(4)
def _scan_layout(text: str) -> _Layout:
    """Scan a file once: a table may have thousands of keys, each with a mistake to locate."""
    layout = _Layout({}, {}, {}, {})
    try:
        layout.document.update(tomli.loads(text))
    except (ValueError, RecursionError):
        return layout
    scan, line = _Scan(layout), 1
    for token in _TOKEN.finditer(text):
        mark = token[0]
        if mark == "\n" and not scan.brackets:
            scan.is_value, scan.key = False, []
        elif mark[0] not in "#\n":
            if scan.is_value:
                scan.read_value(mark, token.span())
            else:
                scan.read_key(mark, line)
        line += mark.count("\n")
    return layout


class _Scan:
    def __init__(self, layout: _Layout) -> None:
        self.layout = layout
        self.table: Path = ()
        self.key: list[str] = []
        self.line = 1
        """Line of the current key."""
        self.is_value = False
        self.owner: Path | None = None
        """Path of the current value; ``None`` after the first item of a list."""
        self.brackets: list[tuple[str, Path | None]] = []
        """Open brackets, each with the path of its value."""

    def read_key(self, mark: str, line: int) -> None:
        if mark == "]" and self.key:
            self.table, self.key = tuple(self.key), []
            self.layout.headers.setdefault(self.table, self.line)
            self._note_line(self.table)
        elif mark == "=":
            inside = self.brackets[-1][1] if self.brackets else self.table
            self.owner = None if inside is None else (*inside, *self.key)
            self.key, self.is_value = [], True
            if self.owner in self.layout.spans:  # a later table of a list
                self.owner = None
            elif self.owner:
                self._note_line(self.owner)
        elif mark == "}":
            self.brackets.pop()
            self.is_value = True
        elif mark not in "[.,":
            self.line = self.line if self.key else line
            self.key.append(_unquote_key(mark))

    def read_value(self, mark: str, span: tuple[int, int]) -> None:
        if mark in "[{":
            self.brackets.append((mark, self.owner))
            self.is_value = mark == "["
        elif mark in "]}":
            self.brackets.pop()
        elif mark == ",":
            self.is_value, self.owner = self.brackets[-1][0] == "[", None
        elif self.owner and not (self.brackets and self.brackets[-1][0] == "["):
            start, _ = self.layout.spans.get(self.owner, span)
            self.layout.spans[self.owner] = start, span[1]

    def _note_line(self, path: Path) -> None:
        for depth in range(len(path), 0, -1):
            if self.layout.lines.setdefault(path[:depth], self.line) != self.line:
                break  # the tables above it already have a line


def _unquote_key(key: str) -> str:
    if key[0] == '"' and "\\" in key:
        return next(iter(tomli.loads(f"{key} = 0")))
    return key[1:-1] if key[0] in "\"'" else key


# writing


def quoted(text: str) -> str:
    """Write a string in double quotes."""
    import tomlkit

    return tomlkit.string(text).as_string()


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
    import tomlkit

    return tomlkit.key(name).as_string()


def in_ascii(text: str) -> str:
    """Escape TOML for an output that cannot show every character.

    Our TOML has non-ASCII characters only in comments and between double quotes, where an escape means the same.
    """
    return re.sub(r"[^\x00-\x7f]", lambda found: f"\\U{ord(found[0]):08x}", text)
