"""The outcome of a run of pytest or a command: checked models, status, and summary lines."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec import Struct

from pytest_bertsize.reports import ci, sentences, terminal
from pytest_bertsize.reports.drawing import to_terminal
from pytest_bertsize.wording import MOST_NAMED, listed

if TYPE_CHECKING:
    from pytest_bertsize.reports.drawing import Style
    from pytest_bertsize.reports.files import ReportFiles
    from pytest_bertsize.reports.report import ModelReport, RunReport


class Outcome(Struct, frozen=True, dict=True):
    """A run with its results."""

    checked: Sequence[ModelReport]  # the reports of the checked models, in the order of declaration
    versions: Mapping[str, str]  # releases of the libraries that built the models
    reports: ReportFiles
    excuse: str  # the reason why unchecked models are no error; ``""`` if they are one

    @cached_property
    def report(self) -> RunReport:
        return self.reports.report_run(self.checked, self.versions)

    @property
    def status(self) -> int:
        """Return the status of a command: 2 for an unwritten report, 1 for a failed or unchecked model, else 0."""
        is_red = self.report.failed or (self.report.not_checked and not self.excuse)
        return 2 if self.reports.problems else int(bool(is_red))


class Line(NamedTuple):
    """One line of a summary, red or yellow for a problem of the run itself, not of a model; it may wrap."""

    text: str
    colour: Literal["", "red", "yellow"] = ""


def name_unchecked(outcome: Outcome) -> Iterator[Line]:
    """Yield a line that names the models not counted, and a line that names those not checked."""
    if named := listed(outcome.report.not_counted, MOST_NAMED):
        why = "nothing is built, and neither a closed form nor a lock counts them"
        yield Line(f"NOT COUNTED: {named}: {why}", "yellow")
    if named := listed(outcome.report.not_checked, MOST_NAMED):
        said = f"NOT CHECKED: {named}{outcome.excuse and f': {outcome.excuse}'}"
        yield Line(said, "yellow" if outcome.excuse else "red")


def summarize_run(outcome: Outcome, style: Style, *, accepting: bool) -> Iterator[Line]:
    """Yield the last lines of a run; ``accepting`` is a run that changes budgets itself."""
    models, reports, base, report = outcome.checked, outcome.reports, outcome.reports.base, outcome.report
    if models and style.verbosity >= 0:
        yield from map(Line, filter(None, _describe_models(outcome, style)))
    yield from (Line(problem, "red") for problem in reports.problems)
    if base:
        yield from (Line(said, "red") for severity, said in sentences.list_problems(base) if severity == "error")
        yield from map(Line, terminal.draw_base(base, models, style))
    if os.environ.get("GITHUB_ACTIONS") == "true":
        yield from map(Line, ci.list_commands(report, ci.find_folder(reports.settings.root)))
    way = terminal.draw_way_to_accept(models, base, reports.settings.root, style)
    if not accepting and way and not ci.sign_of_ci():
        yield Line(way)
    if style.verbosity == 0 and any(model.verdict == "failed" and model.components for model in models):
        yield Line("-v shows every component, what would fit, and what the next change costs")
    if reports.asked and reports.asked.because and not reports.builds and style.verbosity >= 0:
        yield Line(f"closed forms are those of transformers {reports.asked}")
    written = "" if reports.problems else "".join(f"; {path.name} written" for path in reports.paths)
    yield Line(f"{sentences.describe_run(report)}{written}")
    if base or report.failed:  # in any other run the table has it
        yield Line("\n".join(to_terminal(each, style) for each in (report.headline, report.news) if each))


def _describe_models(outcome: Outcome, style: Style) -> Iterator[str]:
    """Draw the overview, unless every model failed, then each model that did not fail, with ``-v`` its table."""
    others = [each for each in outcome.checked if each.verdict != "failed"]
    if others or style.verbosity > 0:
        yield terminal.draw_overview(outcome.checked, style)
    common, passed = terminal.take_common(others, style)
    for model in passed:
        if style.verbosity > 0 and model.components:
            yield f"\n{terminal.draw_model(model, style)}\n"
        else:
            yield terminal.draw_comparison(model, style)
        yield terminal.draw_notes(model, style)
    yield common
    yield terminal.draw_stand_ins(outcome.checked, style)
