"""How foreign text, numbers and near misses are said."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence

LONGEST = 200
"""The most characters of a foreign text that a message shows."""
LONGEST_NUMBER = 10**30
MOST_NAMED = 20
"""Models that one sentence names."""
_STEERING = {"::": r":\x3a", "##": r"#\x23", "```": r"``\x60"}
_STEERS = re.compile("|".join(_STEERING))
_PARTS = re.compile(rf"{'|'.join(_STEERING)}|.", re.DOTALL)
_EMPTY = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
"""Letters, marks and symbols that show nothing: fillers, an empty pattern of Braille, selectors of a variant."""


class BadValue(ValueError):
    """A value that cannot be used, and what to write instead."""

    def __init__(self, message: str, fix: str = "") -> None:
        super().__init__(f"{message}: {fix}" if fix else message)
        self.message = message
        self.fix = fix


def shown(value: object) -> str:
    """A foreign value as a message shows it: as JSON writes it, printable, on one line, of bounded length."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = f"<{type(value).__name__}>"
    return printable(text)


def number(value: int) -> str:
    """``30522`` → ``'30,522'``; a number that would fill lines is described instead."""
    return f"{value:,}" if abs(value) < LONGEST_NUMBER else "a number of more than 30 digits"


def printable(text: str, longest: int = LONGEST) -> str:
    """``text`` as any log can take it: on one line, and at most ``longest`` characters.

    No control characters, nothing that turns the direction of writing, no command of a build server, which reads
    ``::error`` and ``##[error]`` in what it logs, and no end of the code block that a log is quoted in.
    """
    if len(text) <= longest and text.isprintable() and not _STEERS.search(text):
        return text
    parts = [_STEERING.get(part) or _escaped(part) for part in _PARTS.findall(text[: longest + 1])]
    if sum(map(len, parts)) <= longest:
        return "".join(parts)
    room = (longest - 1 - sum(map(len, parts[: index + 1])) for index in range(len(parts)))
    return "".join(part for part, left in zip(parts, room) if left >= 0) + "…"


def _escaped(char: str) -> str:
    return char if char.isprintable() else char.encode("unicode_escape").decode()


def visible(text: str) -> str:
    """Return the letters of a text that a reader sees: no blanks, nothing of no width."""
    return "".join(char for char in _EMPTY.sub("", text) if unicodedata.category(char)[0] not in "CZ")


def reason(error: Exception) -> str:
    """Return what the system or a parser says, without its path and without advice on Python."""
    if "integer string conversion" in str(error):
        return "a number of thousands of digits"
    return printable((isinstance(error, OSError) and error.strerror) or str(error))


def is_name(text: str) -> bool:
    """Tell whether it can be the name of a family or of a class: ``"deberta-v2"``, ``"BertModel"``."""
    return re.fullmatch(r"[A-Za-z_][\w-]{0,99}", text, re.ASCII) is not None


def nearest_to(name: object, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """The known name that is nearest to a misspelt one, or ``""``."""
    if not isinstance(name, str):
        return ""
    from difflib import get_close_matches

    by_lower = {each.lower(): each for each in known}
    found = get_close_matches(name[:LONGEST].lower(), list(by_lower), n=1, cutoff=cutoff)
    return by_lower[found[0]] if found else ""


def did_you_mean(name: object, known: Iterable[str], otherwise: str, written: Callable[[str], str] = repr) -> str:
    """``did you mean 'hidden_size'?``, or what to write ``otherwise``, where no known name is near.

    :param written: how to write the known name in the sentence.
    """
    found = nearest_to(name, known)
    return f"did you mean {written(found)}?" if found else otherwise


def listed(names: Sequence[str], most: int, separator: str = ", ", *, last: str = " and ") -> str:
    """``a, b and 3 more``: the first few, and how many there are behind them."""
    rest = len(names) - most
    return separator.join(names[:most]) + (f"{last}{exact(rest)} more" if rest > 0 else "")


def plural(count: int, one: str, many: str = "") -> str:
    """``1 model``, ``2,000 models``.

    :param many: if it is not ``one`` and an s.
    """
    return f"{number(count)} {one if count == 1 else many or f'{one}s'}"


def exact(count: int) -> str:
    """``109482240`` → ``'109,482,240'``."""
    return f"{count:,}"


def signed(delta: int) -> str:
    """``30522`` → ``'+30,522'``; zero is ``'0'``."""
    return f"{delta:+,}" if delta else "0"
