"""On which line of a TOML or JSON file a key stands: for what is said of it, and for what is written there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import count
from typing import Any, NamedTuple, TypeAlias

import tomli

_STRING = re.compile(r"(\"\"\"|'''|\"|')(?s:.*)\1")
_TOKEN = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*+"{3,5}'  # a text of several lines may end with two quotes of its own
    r"|'''(?:[^']|'(?!''))*+'{3,5}"
    r'|"(?:[^"\\]|\\.)*+"'
    r"|'[^']*+'"
    r"|\#[^\n]*+"
    r"|[\[\]{}=,.\n]"
    r"|[^\s\"'\#\[\]{}=,.]++",
    re.DOTALL,
)
"""What a valid TOML file consists of, but for blanks."""

Path: TypeAlias = tuple[str, ...]


def line_in_toml(text: str, path: Sequence[str]) -> int | None:
    """The 1-based line of the deepest part of ``path`` that the text has; ``None`` if it cannot be told.

    What has no line of its own, such as the table that dotted keys make, stands where its first key does.
    """
    layout = _layout(text)
    found = _there_is(layout.document, path)
    return layout.headers.get(found) or layout.lines.get(found)


class Section(NamedTuple):
    """A table of a TOML file as it is written: what stands below one header."""

    header: Path
    """``("tool", "x")`` for ``[tool.x]`` and for ``[[tool.x]]``; empty for what stands above the first."""
    body: str
    start: int
    """Where the body begins in the text."""


def sections_of(text: str) -> tuple[Section, ...]:
    """Every table of a TOML file in the order of the file, what stands above the first included."""
    return _layout(text).sections


class _Key(NamedTuple):
    """A key, or the header of a table, where it is written."""

    path: Path
    start: int
    line: int
    is_header: bool = False


class _Layout(NamedTuple):
    """What a file says, and where; nothing of what is not TOML."""

    document: dict[str, Any]
    headers: Mapping[Path, int]
    """The first line of each that is written."""
    lines: Mapping[Path, int]
    """The first line that makes a table or a value."""
    sections: tuple[Section, ...]


@lru_cache(4)
def _layout(text: str) -> _Layout:
    """One pass, whatever is asked of it: a table may have thousands of keys, each with a mistake to place.

    Kept of a few texts: today's, that of the base, and the lock.
    """
    try:
        document = tomli.loads(text)
    except (ValueError, RecursionError):
        return _Layout({}, {}, {}, ())
    headers: dict[Path, int] = {}
    lines: dict[Path, int] = {}
    above: list[tuple[Path, int, int]] = [((), 0, 0)]
    for key in _Reading().keys(text):
        for depth in range(len(key.path), 0, -1):
            if lines.setdefault(key.path[:depth], key.line) != key.line:
                break  # whatever is above it has a line already
        if key.is_header:
            headers.setdefault(key.path, key.line)
            above.append((key.path, text.rfind("\n", 0, key.start) + 1, text.find("\n", key.start) + 1 or len(text)))
    ends = [*(start for _, start, _ in above[1:]), len(text)]
    sections = (Section(header, text[body:end], body) for (header, _, body), end in zip(above, ends, strict=True))
    return _Layout(document, headers, lines, tuple(sections))


class _Reading:
    """One pass over a valid TOML file: every key in the order of the file; of the tables in a list, the first's."""

    def __init__(self) -> None:
        self.table: Path = ()
        self.key: list[str] = []
        self.start, self.line = 0, 1
        """Of the key."""
        self.expects = "key"
        """``"value"`` behind one."""
        self.value_of: Path | None = ()
        self.around: list[tuple[str, Path | None]] = []
        """Brackets that are open: how each closes, and whose value it is; ``None`` behind the first of a list."""

    def keys(self, text: str) -> Iterator[_Key]:
        line = 1
        for found in _TOKEN.finditer(text):
            mark = found[0]
            if mark == "\n" and not self.around:
                self.expects, self.key = "key", []
            elif mark[0] not in "#\n":
                if not self.key:
                    self.start, self.line = found.start(), line
                yield from self._behind_a_key(mark) if self.expects == "value" else self._in_a_key(mark)
            line += mark.count("\n")

    def _in_a_key(self, mark: str) -> Iterator[_Key]:
        if mark == "]" and self.key:
            self.table = tuple(self.key)
            yield _Key(self.table, self.start, self.line, is_header=True)
            self.key = []
        elif mark == "=":
            inside = self.around[-1][1] if self.around else self.table
            self.value_of = None if inside is None else (*inside, *self.key)
            if self.value_of is not None:
                yield _Key(self.value_of, self.start, self.line)
            self.expects, self.key = "value", []
        elif mark == "}":
            self._close()
        elif mark not in "[.,":
            self.key.append(_unquoted(mark))

    def _behind_a_key(self, mark: str) -> Iterator[_Key]:
        if mark in "[{":
            self.around.append(("]" if mark == "[" else "}", self.value_of))
            self.expects = "value" if mark == "[" else "key"
        elif mark in "]}":
            self._close()
        elif mark == ",":
            self.expects = "key" if self.around[-1][0] == "}" else "value"
            self.value_of = None
        yield from ()

    def _close(self) -> None:
        self.around.pop()
        self.expects = "value"


def _unquoted(key: str) -> str:
    """One part of a dotted key as it is meant."""
    if key[0] == '"' and "\\" in key:
        return next(iter(tomli.loads(f"{key} = 0")))
    return key[1:-1] if key[0] in "\"'" else key


def _there_is(node: Any, path: Sequence[str]) -> Path:
    """The deepest part of a path that there is; of a list of tables, the first counts."""
    for depth, part in enumerate(path):
        while isinstance(node, list) and node:
            node = node[0]
        if not isinstance(node, dict) or part not in node:
            return tuple(path[:depth])
        node = node[part]
    return tuple(path)


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


def inline(value: object) -> str:
    """A value on one line: ``{ num_hidden_layers = 12 }``."""
    import tomlkit

    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key(name)} = {inline(each)}' for name, each in value.items())} }}"
    return tomlkit.item(value).as_string()


def key(name: str) -> str:
    """One part of a dotted key, bare where it can be."""
    import tomlkit

    return tomlkit.key(name).as_string()


def in_ascii(text: str) -> str:
    """The same TOML for an output that cannot show all of it.

    What is not ASCII stands in strings and keys in double quotes, where its escape is read as it, and in comments.
    """
    return re.sub(r"[^\x00-\x7f]", lambda found: f"\\U{ord(found[0]):08x}", text)
