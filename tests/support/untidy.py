"""Sentences that have lost a word: a name that is empty leaves two blanks, or a bracket that begins with one."""

from __future__ import annotations

import re

_FOREIGN = re.compile(r"""\"(?:[^"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'""")
_LOST = re.compile(r"(?<=\S)  +(?=\S)|\( | \)|\(\)|(?<=\S) [,;:](?= |$)|: ;|, ,|,,|: $|; $")


def untidy(sentence: str) -> list[str]:
    """Where, with what stands around it; what is quoted is somebody else's."""
    text = _FOREIGN.sub("…", sentence)
    return [text[max(0, found.start() - 20) : found.end() + 20] for found in _LOST.finditer(text)]
