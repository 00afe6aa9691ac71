"""Strings and keys as TOML writes them."""

from __future__ import annotations

import json
import re

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_DELETE = "\x7f"
"""The one control character that JSON does not escape and TOML does."""


def quoted(text: str) -> str:
    """A basic string: what JSON escapes, TOML reads the same."""
    return json.dumps(text, ensure_ascii=False).replace(_DELETE, r"\u007f")


def key(name: str) -> str:
    """One part of a dotted key, bare where it can be."""
    return name if _BARE.fullmatch(name) else quoted(name)


def in_ascii(text: str) -> str:
    """The same TOML for an output that cannot show all of it: what is not ASCII stands in strings alone."""
    return re.sub(r"[^\x00-\x7f]", lambda found: f"\\U{ord(found[0]):08x}", text)
