"""What a run comes to, whichever door it came in by: what was checked, its status, and the lines of its summary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from pytest_bertsize.reports import github, json, sentences
from pytest_bertsize.reports.ci import sign_of_ci
from pytest_bertsize.reports.model_report import count_failed, names_not_checked
from pytest_bertsize.reports.terminal import text as terminal
from pytest_bertsize.wording import MOST_NAMED, listed

if TYPE_CHECKING:
    from pytest_bertsize.reports.files import ReportFiles
    from pytest_bertsize.reports.shape import ModelReport, RunReport

Status: TypeAlias = Literal["good", "found", "mistaken"]


class Outcome(NamedTuple):
    """What a run was to check, what it checked, and what became of it."""

    checked: Sequence[ModelReport]
    """In the order of their declaration."""
    versions: Mapping[str, str]
    """Of the libraries that built them."""
    reports: ReportFiles
    excuse: str
    """Why models may have been left unchecked; ``""`` where that is an error."""

    @property
    def declared(self) -> Sequence[str]:
        return self.reports.settings.names

    @property
    def failed(self) -> int:
        return count_failed(self.checked, self.reports.base)

    @property
    def not_checked(self) -> list[str]:
        return names_not_checked(self.checked, self.declared)

    @property
    def report(self) -> RunReport:
        """As a report file has it, but for the commit, which nothing here shows."""
        return json.document(
            self.checked, self.reports.settings, self.versions, None, self.reports.base, builds=self.reports.builds
        )

    @property
    def status(self) -> Status:
        """``good`` where all was checked and all is within, and every report could be written."""
        if self.reports.problems:
            return "mistaken"
        return "found" if self.failed or (self.not_checked and not self.excuse) else "good"


class Line(NamedTuple):
    """Of a summary; it may have several of the terminal's."""

    text: str
    colour: Literal["", "red", "yellow"] = ""
    """Red where it says what is wrong with the run itself, and not with a model."""


def summary(outcome: Outcome, style: terminal.Style, *, tables: bool, accepting: bool) -> Iterator[Line]:
    """The lines at the end of a run, the failures themselves told before.

    :param tables: whether models that passed are unfolded here, where that is asked for.
    :param accepting: whether the run changes budgets itself.
    """
    models, reports = outcome.checked, outcome.reports
    if models and style.verbosity >= 0:
        yield from map(Line, _about_models(outcome, style, tables=tables))
    yield from (Line(problem, "red") for problem in reports.problems)
    if outcome.not_checked:
        named = listed(outcome.not_checked, MOST_NAMED)
        said = ": ".join(["NOT CHECKED", named, *filter(None, [outcome.excuse])])
        yield Line(said, "yellow" if outcome.excuse else "red")
    if reports.base:
        yield from (Line(sentence, "red") for sentence in sentences.left_without_a_word(reports.base))
        if text := terminal.base_of_run(reports.base, models, style):
            yield Line(text)
    if github.reads_the_log():
        yield from map(Line, github.lines_for_log(outcome.report, reports.settings.root))
    if not accepting and (way := terminal.way_to_accept(models, style)) and not sign_of_ci():
        yield Line(way)
    written = () if reports.problems else reports.paths
    if reports.assumed and style.verbosity >= 0:
        yield Line(f"closed forms are those of transformers {reports.assumed}")
    yield Line(terminal.count(models, len(outcome.declared), outcome.failed, written, builds=reports.builds))
    if reports.base or outcome.failed:  # of any other run the table has said it
        yield Line(terminal.plain(outcome.report["headline"], style))


def _about_models(outcome: Outcome, style: terminal.Style, *, tables: bool) -> Iterator[str]:
    """The overview, each model that passed, and what stood in for something in any of them."""
    models = outcome.checked
    yield terminal.overview(models, style, outcome.reports.settings.patterns)
    for model in models:
        yield from _told(model, style, tables=tables) if model["verdict"] == "passed" else ()
    if stand_ins := terminal.stand_ins(models, style):
        yield stand_ins


def _told(model: ModelReport, style: terminal.Style, *, tables: bool) -> Iterator[str]:
    """Of a model that passed: its table where it is asked for, else what changed; warnings always."""
    if style.verbosity > 0:
        if tables:
            yield f"\n{terminal.breakdown(model, style)}\n"
    elif changed := terminal.against_base(model, style):
        yield changed
    if warnings := terminal.notes(model, style):
        yield warnings
