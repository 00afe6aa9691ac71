"""Where the commands print: what an output can show, and what it can encode."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TextIO

from pytest_bertsize.reports.drawing import Style, can_show

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

    from pytest_bertsize.commands.named_model import Explained
    from pytest_bertsize.findings import Finding, Unusable

GOOD, FOUND, MISTAKEN = 0, 1, 2
"""Exit status: as it should be, or shown; a finding; a mistake in a table, in a config or on the command line."""


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


def mistaken(unusable: Unusable, err: TextIO) -> int:
    """A line for every mistake, and behind them for what is only odd."""
    for severity in ("error", "warning"):
        for finding in unusable.findings:
            if finding.severity == severity:
                say(f"{severity.upper()}: {finding.sentence}", err)
    return MISTAKEN


def heading(chosen: Explained) -> Text:
    """Class, file and sizes."""
    from rich.text import Text

    options = {key: str(value).lower() for key, value in chosen.asked.items()}
    sizes = {symbol: size for symbol, size in chosen.form.dims.sizes.items() if size is not None}
    said = " ".join(f"{name}={value}" for name, value in {**options, **sizes}.items())
    return Text.assemble(
        (chosen.form.architecture.name, "bold"), "  ", (chosen.config.reference, "cyan"), "  ", (said, "dim")
    )


def origin(chosen: Explained, style: Style) -> Iterator[RenderableType]:
    """Where a config is from that was named as the hub names it."""
    from pytest_bertsize.reports.drawing import hanging

    if chosen.config.origin:
        yield hanging("   from ", "dim", chosen.config.origin, style)


def warnings(findings: Iterable[Finding], style: Style) -> Iterator[RenderableType]:
    """Keys that are ignored, and keys that are missing."""
    from pytest_bertsize.reports.drawing import hanging

    for finding in findings:
        place = f" ({finding.place})" if finding.place else ""
        yield hanging("! ", "yellow", f"{finding.message}{place}", style)
        if finding.fix:
            yield hanging("  → ", "cyan", finding.fix, style)
