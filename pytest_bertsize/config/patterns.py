"""Regular expressions that somebody else wrote: matched by Python's own, in a process of its own, under a clock.

PEFT matches with Python's ``re``, so nothing else says the same of every name. It goes back and tries again, and so
some expressions take longer than anybody waits; which ones, nobody can tell by looking at them.
"""

from __future__ import annotations

import contextlib
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

from pytest_bertsize.builder.confined import MEGABYTE, answer_one_question, limit_memory
from pytest_bertsize.builder.messages import LONGEST_ANSWER
from pytest_bertsize.builder.own_process import Allowed, Lost, answer_of
from pytest_bertsize.wording import printable

SECONDS = 5
"""Of computing, for all names of a model and all expressions of one key."""
ALLOWED = Allowed(seconds=60.0, memory=512 * MEGABYTE, answer=LONGEST_ANSWER)
MOST_AT_ONCE = 20_000
"""Pairs of a name and an expression without operators that are compared here."""


class TooLong(Exception):
    """They take longer than :data:`SECONDS`; said as the rest of a sentence."""

    def __init__(self) -> None:
        super().__init__(f"takes more than {SECONDS} s to match")


def is_plain(expression: str) -> bool:
    """Whether it is a module's name, of which each dot may be anything: that is matched at once."""
    return re.fullmatch(r"[\w.-]{1,200}", expression, re.ASCII) is not None


@lru_cache(64)
def wrong_in(expressions: tuple[str, ...]) -> dict[str, str]:
    """Of each that is no regular expression, why.

    :raises TooLong: when that takes too long to tell.
    """
    found: dict[str, str] = _asked({"compile": expressions, "seconds": SECONDS})
    return found


@lru_cache(64)
def first_matches(expressions: tuple[str, ...], names: tuple[str, ...], *, plain: bool = False) -> dict[str, int]:
    """Of each name that matches one of them as a whole: which is the first that it matches.

    :param plain: whether all of them are made of names.
    :raises TooLong: when they take too long.
    """
    if plain and len(expressions) * len(names) <= MOST_AT_ONCE:
        return _first_matches(expressions, names)
    found: dict[str, int] = _asked({"match": expressions, "names": names, "seconds": SECONDS})
    return found


def _first_matches(expressions: tuple[str, ...], names: tuple[str, ...]) -> dict[str, int]:
    compiled = [re.compile(each).fullmatch for each in expressions]
    first = {name: next((index for index, match in enumerate(compiled) if match(name)), None) for name in names}
    return {name: index for name, index in first.items() if index is not None}


def _wrong_in(expressions: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for each in expressions:
        try:
            re.compile(each)
        except (re.error, RecursionError, OverflowError) as error:
            found[each] = printable(str(error))
    return found


def _asked(about: dict[str, Any]) -> Any:
    try:
        return answer_of("pytest_bertsize.config.patterns", about, Path("/"), ALLOWED)
    except Lost as lost:
        raise TooLong from lost


def _limit_computing(seconds: int) -> None:
    with contextlib.suppress(ImportError):  # on Windows there is the time that it takes alone, of :data:`ALLOWED`
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))


def _answer_question(asked: Any) -> dict[str, Any]:
    limit_memory(ALLOWED.memory)
    _limit_computing(asked["seconds"])
    return _first_matches(asked["match"], asked["names"]) if "match" in asked else _wrong_in(asked["compile"])


if __name__ == "__main__":
    answer_one_question(_answer_question)
