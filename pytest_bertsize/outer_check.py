"""The gate without pytest: no conftest, no plugin and no test of the project can have a say in its verdict."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from pytest_bertsize.build import Helper
from pytest_bertsize.check import conclude, examine
from pytest_bertsize.closed_forms.registry import Registry
from pytest_bertsize.report_files import ReportFiles, report_files
from pytest_bertsize.reports import ModelReport, count_failed, model_report, names_not_checked, terminal
from pytest_bertsize.reports.drawing import can_show
from pytest_bertsize.settings import Settings, SettingsError, load

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

GOOD, FOUND, MISTAKEN = 0, 1, 2
"""Exit status: all within their budgets; a finding; a mistake in the table or on the command line."""


@dataclass(frozen=True, slots=True)
class Order:
    """What the command line asks for."""

    root: Path
    """The folder of the pyproject.toml."""
    reports: Sequence[str] = ()
    verbosity: int = 0


def check(order: Order, out: TextIO = sys.stdout, err: TextIO = sys.stderr) -> int:
    """Check every declared model, print what was found, write the reports.

    :returns: the exit status.
    """
    try:
        settings = load(order.root / "pyproject.toml")
        reports = report_files(order.reports, Path.cwd(), settings, "--report")
    except SettingsError as error:
        return _mistaken(str(error), err=err)
    reports.write([], {})
    if reports.problems:
        return _mistaken(*reports.problems, err=err)
    helper = Helper()
    try:
        models = list(_checked(settings, helper, formulas=bool(reports)))
    finally:
        helper.stop()
    reports.write(models, helper.versions)
    _print(models, settings, reports, style_of(out, order.verbosity), out)
    if reports.problems:
        return _mistaken(*reports.problems, err=err)
    return FOUND if count_failed(models) or names_not_checked(models, settings.names) else GOOD


def _mistaken(*problems: str, err: TextIO) -> int:
    for problem in problems:
        print(f"ERROR: {problem}", file=err)
    return MISTAKEN


def _checked(settings: Settings, helper: Helper, *, formulas: bool) -> Iterator[ModelReport]:
    """Examine all, have built what the closed forms have bounded, and review it."""
    registry = Registry()
    subjects = {name: examine(model, settings, registry, formulas=formulas) for name, model in settings.models.items()}
    helper.ask([subject.request for subject in subjects.values() if subject.request])
    for name, subject in subjects.items():
        built = helper.result(name) if subject.request else None
        yield model_report(conclude(subject, built, settings))


def _print(
    models: Sequence[ModelReport], settings: Settings, reports: ReportFiles, style: terminal.Style, out: TextIO
) -> None:
    for model in models:
        if model["verdict"] == "failed":
            print(terminal.failure(model, style), end="\n\n", file=out)
        elif style.verbosity > 0:
            print(terminal.breakdown(model, style), end="\n\n", file=out)
    print(terminal.overview(models, style), file=out)
    for model in models:
        if model["verdict"] == "passed" and (notes := terminal.notes(model, style)):
            print(notes, file=out)
    written = () if reports.problems else reports.paths
    print(terminal.count(models, len(settings.names), written), file=out)


def style_of(out: TextIO, verbosity: int) -> terminal.Style:
    """Width, colour and characters that the output can show; NO_COLOR and FORCE_COLOR are honoured."""
    colour = not os.environ.get("NO_COLOR") and (bool(os.environ.get("FORCE_COLOR")) or out.isatty())
    return terminal.Style(shutil.get_terminal_size().columns, colour, can_show(out.encoding or "utf-8"), verbosity)
