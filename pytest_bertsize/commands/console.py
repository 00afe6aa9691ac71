"""Where the commands print: what an output can show, and what it can encode."""

from __future__ import annotations

import os
import shutil
from typing import TextIO

from pytest_bertsize.reports.terminal.drawing import Style, can_show


def style_of(out: TextIO, verbosity: int) -> Style:
    """Width, colour and characters that the output can show; NO_COLOR and FORCE_COLOR are honoured."""
    colour = not os.environ.get("NO_COLOR") and (bool(os.environ.get("FORCE_COLOR")) or out.isatty())
    return Style(shutil.get_terminal_size().columns, colour, can_show(out.encoding or "utf-8"), verbosity)


def say(text: str, out: TextIO) -> None:
    """Print what the output can encode; the rest, perhaps a letter of a path, as an escape."""
    encoding = out.encoding or "utf-8"
    try:
        print(text.encode(encoding, "backslashreplace").decode(encoding), file=out, flush=True)
    except BrokenPipeError:  # a reader such as head has seen enough; nor may Python's own last flush complain
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())
