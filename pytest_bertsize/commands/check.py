"""The gate without pytest: no conftest, no plugin and no test of the project can have a say in its verdict."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from pytest_bertsize.base import baseline
from pytest_bertsize.closed_forms.registry import Registry
from pytest_bertsize.commands.console import say, style_of
from pytest_bertsize.reports import github
from pytest_bertsize.reports.ci import sign_of_ci
from pytest_bertsize.reports.files import ReportFiles, report_files
from pytest_bertsize.reports.model_report import count_failed, model_report, names_not_checked, run_base
from pytest_bertsize.reports.terminal import text as terminal
from pytest_bertsize.review.check import conclude, conclude_unbuilt, examine
from pytest_bertsize.table.settings import Settings, SettingsError, load

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_bertsize.base.baseline import Baseline
    from pytest_bertsize.builder.helper import Helper
    from pytest_bertsize.reports.shape import ModelReport

GOOD, FOUND, MISTAKEN = 0, 1, 2
"""Exit status: all within their budgets; a finding; a mistake in the table or on the command line."""


@dataclass(frozen=True, slots=True)
class Order:
    """What the command line asks for."""

    root: Path
    """The folder of the pyproject.toml."""
    reports: Sequence[str] = ()
    verbosity: int = 0
    base: str | None = None
    """The revision to compare with; ``None`` for that of the request that CI runs for."""
    builds: bool = True
    """Whether models are built, or budgets held against the closed form alone."""


@dataclass(frozen=True, slots=True)
class Gate:
    """What there is to check, and what with."""

    settings: Settings
    registry: Registry
    base: Baseline | None


def check(order: Order, out: TextIO = sys.stdout, err: TextIO = sys.stderr, helper: Helper | None = None) -> int:
    """Check every declared model, print what was found, write the reports.

    :param helper: the process that builds, where it was started before; whoever did that stops it.
    :returns: the exit status.
    """
    try:
        settings = load(order.root / "pyproject.toml")
        registry = Registry()
        base = baseline.of_run(settings, order.base, registry, "--base")
        asked = report_files(order.reports, Path.cwd(), settings, "--report")
        reports = replace(asked, base=run_base(base), builds=order.builds)
    except SettingsError as error:
        return _mistaken(str(error), err=err)
    reports.write([], {})
    if reports.problems:
        return _mistaken(*reports.problems, err=err)
    with contextlib.ExitStack() as stack:
        detail = bool(reports) or order.verbosity > 0
        building = (helper or _helper(stack)) if order.builds else None
        models = list(_checked(Gate(settings, registry, base), building, formulas=bool(reports), detail=detail))
    versions = building.versions if building else {}
    reports.finish(models, versions)
    _print(models, settings, reports, style_of(out, order.verbosity), out)
    if github.reads_the_log():
        for line in github.lines_for_log(reports.report(models, versions), settings.root):
            say(line, out)
    if reports.problems:
        return _mistaken(*reports.problems, err=err)
    return FOUND if count_failed(models) or names_not_checked(models, settings.names) else GOOD


def _helper(stack: contextlib.ExitStack) -> Helper:
    from pytest_bertsize.builder.helper import Helper

    helper = Helper()
    stack.callback(helper.stop)
    return helper


def _mistaken(*problems: str, err: TextIO) -> int:
    for problem in problems:
        print(f"ERROR: {problem}", file=err)
    return MISTAKEN


def _checked(gate: Gate, helper: Helper | None, *, formulas: bool, detail: bool) -> Iterator[ModelReport]:
    """Examine all, have built what the closed forms have bounded, and review it.

    :param helper: ``None`` where nothing is built.
    """
    settings, registry = gate.settings, gate.registry
    subjects = {
        name: examine(model, settings, registry, formulas=formulas, detail=detail)
        for name, model in settings.models.items()
    }
    if helper is None:
        yield from (model_report(conclude_unbuilt(each, settings, baseline=gate.base)) for each in subjects.values())
        return
    helper.ask([subject.request for subject in subjects.values() if subject.request])
    for name, subject in subjects.items():
        built = helper.result(name) if subject.request else None
        yield model_report(conclude(subject, built, settings, baseline=gate.base))


def _print(
    models: Sequence[ModelReport], settings: Settings, reports: ReportFiles, style: terminal.Style, out: TextIO
) -> None:
    for model in models:
        if model["verdict"] == "failed":
            say(f"{terminal.failure(model, style)}\n", out)
        elif style.verbosity > 0:
            say(f"{terminal.breakdown(model, style)}\n", out)
    say(terminal.overview(models, style), out)
    for model in models:
        if model["verdict"] == "passed" and style.verbosity <= 0 and (changed := terminal.against_base(model, style)):
            say(changed, out)
        if model["verdict"] == "passed" and (notes := terminal.notes(model, style)):
            say(notes, out)
    written = () if reports.problems else reports.paths
    if reports.base and (text := terminal.base_of_run(reports.base, models, style)):
        say(text, out)
    if (way := terminal.way_to_accept(models, style)) and not sign_of_ci():
        say(way, out)
    say(terminal.count(models, len(settings.names), written, builds=reports.builds), out)
