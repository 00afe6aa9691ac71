"""Print to a terminal or a file, with characters that its encoding has; print each mistake as a line of its own."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable
from typing import TextIO

from pytest_bertsize.base import NoRevision
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.reports.drawing import Style, can_show
from pytest_bertsize.table.settings import SettingsError

GOOD, FOUND, MISTAKEN = 0, 1, 2  # success; a finding; a mistake in a table, a config or the command line


def read_style(out: TextIO, verbosity: int = 0) -> Style:
    """Return width, colour and characters of the output; NO_COLOR and FORCE_COLOR are honoured."""
    colour = not os.environ.get("NO_COLOR") and (bool(os.environ.get("FORCE_COLOR")) or out.isatty())
    return Style(shutil.get_terminal_size().columns, colour, can_show(out.encoding or "utf-8"), verbosity)


def say(text: str, out: TextIO) -> None:
    """Print a text; characters that the output cannot encode, such as a letter of a path, become escapes."""
    encoding = out.encoding or "utf-8"
    try:
        print(text.encode(encoding, "backslashreplace").decode(encoding), file=out, flush=True)
    except BrokenPipeError:  # a reader such as head has seen enough; nor may Python's own last flush complain
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())


def show(make_text: Callable[[], str]) -> int:
    """Print a text, or the mistakes that prevent it: the errors, then the warnings."""
    try:
        text = make_text()
    except Unusable as unusable:
        for finding in sorted(unusable.findings, key=lambda each: each.severity):  # errors first
            if finding.severity != "note":
                say(f"{finding.severity.upper()}: {finding.sentence}", sys.stderr)
        return MISTAKEN
    except (SettingsError, NoRevision) as error:
        return print_mistakes([str(error)], sys.stderr)
    say(text, sys.stdout)
    return GOOD


def print_mistakes(mistakes: Iterable[str], err: TextIO) -> int:
    for mistake in mistakes:
        say(f"ERROR: {mistake}", err)
    return MISTAKEN


def refuse(message: str, fix: str = "") -> Unusable:
    """Make the error for a mistake on the command line."""
    return Unusable(Finding("config-invalid", message, fix))
