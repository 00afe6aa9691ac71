"""Strings and keys as TOML writes them."""

from __future__ import annotations

import re


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
