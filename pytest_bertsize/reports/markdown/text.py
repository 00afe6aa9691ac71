"""Pieces of Markdown as GitHub reads it. No text that is put in has an effect on what stands around it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from pytest_bertsize.wording import printable

LONGEST = 1_000
"""Characters of a text that is put in."""
_PUNCTUATION = re.compile(r"[\\`*{}\[\]<>|~&^]|(?<![^\W_])_|_(?![^\W_])")
_NOTHING = "<!-- -->"
"""Is not shown, and keeps apart what GitHub would join to a mention, a reference, an address or a picture."""
_DOLLAR = "<span>$</span>"
"""What GitHub's documentation says to write for one that begins no mathematics."""
_JOINED = re.compile(
    r"(?<=@)(?=\w)|(?<=#)(?=\d)|(?<=:)(?=//)|(?<=\bwww)(?=\.)|(?<=:)(?=[\w+-]+:)|(?<=\bGH-)(?=\d)",
    re.IGNORECASE,
)
_PLAIN_CODE = re.compile(r"[^`|$\\\s](?:[^`|$\\]*[^`|$\\\s])?")


def text(foreign: str, longest: int = LONGEST) -> str:
    """A text as it stands: on one line, without Markdown, HTML, mentions, references, addresses and emoji."""
    parts = _JOINED.split(printable(foreign, longest))
    return _NOTHING.join(_PUNCTUATION.sub(r"\\\g<0>", part) for part in parts).replace("$", _DOLLAR)


def code(foreign: str, longest: int = 200) -> str:
    """A path, a key or a value, in a table too."""
    shown = printable(foreign, longest)
    if _PLAIN_CODE.fullmatch(shown):
        return f"`{shown}`"
    return f"<code>{text(shown, LONGEST)}</code>"


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """Columns of which all but the first are of numbers.

    :param rows: cells that are Markdown already.
    :param left: how many columns are of words.
    """
    aligned = [":--"] * left + ["--:"] * (len(columns) - left)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (columns, aligned, *rows))


def details(summary: str, content: str) -> str:
    """Folded away. GitHub reads Markdown between the tags where empty lines are around it."""
    return f"<details><summary>{escape(summary, quote=False)}</summary>\n\n{content}\n\n</details>"
