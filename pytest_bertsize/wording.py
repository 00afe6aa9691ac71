"""Write foreign text, numbers and near misses in messages."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence

LONGEST = 200  # the most characters of a foreign text that a message shows
LONGEST_WORD = 40  # the most characters of a word that is left out whole if it does not fit
LONGEST_NUMBER = 10**30
MOST_NAMED = 20  # the most models that one sentence names
_STEERING = {"::": r":\x3a", "##": r"#\x23", "```": r"``\x60"}
_STEERS = re.compile("|".join(_STEERING))
_PARTS = re.compile(rf"{'|'.join(_STEERING)}|.", re.DOTALL)
# Characters that show nothing: fillers, the empty pattern of Braille, variation selectors.
_EMPTY = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")


class BadValue(ValueError):
    """The error for a value that cannot be used; its fix says what to write instead."""

    def __init__(self, message: str, fix: str = "") -> None:
        super().__init__(f"{message}: {fix}" if fix else message)
        self.message = message
        self.fix = fix


def shown(value: object) -> str:
    """Write a foreign value for a message: as JSON, printable, on one line, of bounded length."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = f"<{type(value).__name__}>"
    return printable(text)


def number(value: int) -> str:
    """Write ``30522`` as ``'30,522'``; a number of more than 30 digits is only described."""
    return f"{value:,}" if abs(value) < LONGEST_NUMBER else "a number of more than 30 digits"


def printable(text: str, longest: int = LONGEST) -> str:
    """Make a text safe for any log: on one line, and at most ``longest`` characters, cut between words.

    The result has no control characters, nothing that changes the direction of writing, no command of a build server
    (``::error``, ``##[error]``), and no end of the code block that quotes the log.
    """
    if len(text) <= longest and text.isprintable() and not _STEERS.search(text):
        return text
    found = (_STEERING.get(part, part) for part in _PARTS.findall(text[: longest + 1]))
    parts = [part if part.isprintable() else part.encode("unicode_escape").decode() for part in found]
    if sum(map(len, parts)) <= longest:
        return "".join(parts)
    room = (longest - 1 - sum(map(len, parts[: index + 1])) for index in range(len(parts)))
    cut = "".join(part for part, left in zip(parts, room) if left >= 0)
    words = cut.rpartition(" ")[0]
    return f"{words if words and len(cut) - len(words) < LONGEST_WORD else cut}…"


def visible(text: str) -> str:
    """Return the characters of a text that a reader sees: no blanks, nothing without width."""
    return "".join(char for char in _EMPTY.sub("", text) if unicodedata.category(char)[0] not in "CZ")


def reason(error: Exception) -> str:
    """Return the message of the system or of a parser, without the path and without advice on Python."""
    if "integer string conversion" in str(error):
        return "a number with thousands of digits"
    return printable((isinstance(error, OSError) and error.strerror) or str(error))


def is_name(text: str) -> bool:
    """Return whether a text can be the name of a family or of a class: ``"deberta-v2"``, ``"BertModel"``."""
    return re.fullmatch(r"[A-Za-z_][\w-]{0,99}", text, re.ASCII) is not None


def nearest_to(name: object, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """Return the known name that is nearest in spelling to ``name``, or ``""`` if none is near."""
    if not isinstance(name, str):
        return ""
    from difflib import get_close_matches

    by_lower = {each.lower(): each for each in known}
    found = get_close_matches(name[:LONGEST].lower(), list(by_lower), n=1, cutoff=cutoff)
    return by_lower[found[0]] if found else ""


def did_you_mean(name: object, known: Iterable[str], otherwise: str, written: Callable[[str], str] = repr) -> str:
    """Return ``did you mean 'hidden_size'?``, or ``otherwise`` if no known name is near in spelling."""
    found = nearest_to(name, known)
    return f"did you mean {written(found)}?" if found else otherwise


def listed(names: Sequence[str], most: int, separator: str = ", ", *, last: str = " and ") -> str:
    """Write the first names, and how many more there are: ``a, b and 3 more``."""
    rest = len(names) - most
    return separator.join(names[:most]) + (f"{last}{exact(rest)} more" if rest > 0 else "")


def plural(count: int, one: str, many: str = "") -> str:
    """Write a count and its noun, whose plural may be irregular: ``1 model``, ``2,000 models``."""
    return f"{number(count)} {one if count == 1 else many or f'{one}s'}"


def exact(count: int) -> str:
    """Write ``109482240`` as ``'109,482,240'``."""
    return f"{count:,}"


def signed(delta: int) -> str:
    """Write ``30522`` as ``'+30,522'``, and zero as ``'0'``."""
    return f"{delta:+,}" if delta else "0"
