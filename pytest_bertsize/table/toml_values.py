"""A value in a TOML file is replaced where it stands: every other character stays what it is."""

from __future__ import annotations

import re
from itertools import count
from typing import TYPE_CHECKING, Any

from pytest_bertsize.table.toml import sections_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


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


_STRING = re.compile(r"(\"\"\"|'''|\"|')(?s:.*)\1")


def _in_style(value: str, old: str) -> str:
    """``'"1_200M"'`` in place of ``"'1100M'"`` → ``"'1200M'"``; of a number of three digits none can be in groups."""
    bare = value.strip('"')
    if "_" not in old and len(re.sub(r"\D", "", old)) > len("999"):
        bare = bare.replace("_", "")
    quotes = match[1] if (match := _STRING.fullmatch(old)) else ""
    return f"{quotes}{bare}{quotes}"
