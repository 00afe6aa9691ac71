"""A failed review as pytest's own kind of failure text: drawn when the terminal is known, plain where it is not."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from rich.cells import cell_len

from pytest_bertsize.reports.terminal import text as terminal
from pytest_bertsize.reports.terminal.drawing import can_show

if TYPE_CHECKING:
    import pytest
    from _pytest._io import TerminalWriter  # the type of a documented argument; imported for no other reason

    from pytest_bertsize.reports.shape import ModelReport


@dataclass(frozen=True, slots=True)
class Crash:
    """What the short summary, JUnit and annotations show: one line, and where to look."""

    path: str
    lineno: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.lineno}: {self.message}"


class Failure:
    """Stands in for ``report.longrepr``."""

    def __init__(self, model: ModelReport, location: tuple[str, int | None, str], config: pytest.Config) -> None:
        self.model = model
        self.verbosity = config.get_verbosity()
        path, line, _ = location
        self.reprcrash = Crash(path, (line or 0) + 1, model["headline"])

    def fit(self, width: int) -> None:
        """Shorten the line for the short summary by whole words: pytest itself would cut through a number."""
        self.reprcrash = replace(
            self.reprcrash, message=textwrap.shorten(self.model["headline"], width, placeholder=" ...")
        )

    def toterminal(self, tw: TerminalWriter) -> None:
        tw.line(terminal.failure(self.model, style_of(tw, self.verbosity)))

    def __str__(self) -> str:
        return terminal.failure(self.model, terminal.Style(verbosity=self.verbosity))


def style_of(tw: TerminalWriter, verbosity: int) -> terminal.Style:
    """Width and colour as pytest sees them (so NO_COLOR, FORCE_COLOR and ``--color`` work), and what can be encoded."""
    return terminal.Style(tw.fullwidth, tw.hasmarkup, can_show(getattr(sys.__stdout__, "encoding", None)), verbosity)


def fit_into_short_summary(reports: Sequence[pytest.TestReport], terminalreporter: pytest.TerminalReporter) -> None:
    """Where pytest trims its summary lines to the terminal, trim ours first; it does not on CI, and neither do we."""
    if os.environ.get("CI") or os.environ.get("BUILD_NUMBER") or terminalreporter.verbosity > 1:
        return
    config = terminalreporter.config
    for report in reports:
        path, _, name = report.nodeid.partition("::")
        shown = os.path.relpath(config.rootpath / path, config.invocation_params.dir)
        room = terminalreporter._tw.fullwidth - cell_len(f"FAILED {shown}::{name} - ")  # noqa: SLF001  (no other way)
        cast("Failure", report.longrepr).fit(max(room, 0))
