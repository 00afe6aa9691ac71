"""The gate without pytest: no conftest, plugin or test of the project can change its verdict."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from msgspec.structs import replace

from pytest_bertsize.base.lock import read_lock
from pytest_bertsize.base.run_base import open_project
from pytest_bertsize.commands.console import print_mistakes, read_style, say
from pytest_bertsize.reports.ci import sign_of_ci
from pytest_bertsize.reports.files import report_files
from pytest_bertsize.reports.from_review import report_base, report_model
from pytest_bertsize.reports.outcome import Outcome, name_unchecked, summarize_run
from pytest_bertsize.reports.terminal import draw_failure, take_common
from pytest_bertsize.review.gate import Gate, Mode
from pytest_bertsize.table.settings import SettingsError, find_declared

if TYPE_CHECKING:
    from pytest_bertsize.base.lock import Lock
    from pytest_bertsize.base.run_base import Project
    from pytest_bertsize.builder.helper import Helper
    from pytest_bertsize.reports.drawing import Style
    from pytest_bertsize.reports.report import ModelReport
    from pytest_bertsize.table.settings import Settings

SELECTED = "the command names other models, which is an error in CI"


def check(  # noqa: PLR0913  (the options of the command)
    root: Path,
    helper: Helper | None,
    reports: Sequence[str] = (),
    *,
    names: Sequence[str] = (),
    base: str | None = None,
    python: str | None = None,
    strict: bool = False,
    verbosity: int = 0,
    out: TextIO = sys.stdout,
    err: TextIO = sys.stderr,
) -> int:
    """Check the declared models, print the findings, write the reports, and return the exit status.

    :param helper: the process that builds; it is stopped at the end. With ``None``, nothing is built.
    :param names: the models to check; all, if there are none.
    :param base: the revision to compare with; ``None`` for the base of the pull or merge request that CI runs for.
    :param strict: without a build, fail a model that nothing counts, and a factory's model that only its lock counts.
    """
    try:
        builds = helper is not None
        project = open_project(root / "pyproject.toml", base, python, "--", builds=builds)
        chosen = choose_models(names, project.settings, "bertsize check")
        lock = read_lock(project.settings)
        asked = report_files(reports, Path.cwd(), project.settings, "--report")
    except SettingsError as error:
        return print_mistakes([str(error)], err)
    files = replace(asked, base=report_base(project.base), builds=builds, asked=project.about)
    if files:
        files.write(files.report_run([], {}))
    if files.problems:
        return print_mistakes(files.problems, err)
    mode = Mode(formulas=bool(files), detail=bool(files) or verbosity > 0, strict=strict)
    _, models = review_all(project, chosen, helper, mode, lock)
    outcome = Outcome(models, helper.versions if helper else {}, files, SELECTED if names and not sign_of_ci() else "")
    files.write(outcome.report, is_final=True)
    _print_outcome(outcome, read_style(out, verbosity), out, err)
    return outcome.status


def choose_models(names: Sequence[str], settings: Settings, command: str) -> list[str]:
    """Return the declared models that a command names, all if it names none; raise SettingsError for another name."""
    for name in names:
        find_declared(name, settings, command, f"{command} NAME")
    return [each for each in settings.models if not names or each in names]


def review_all(
    project: Project, names: Sequence[str], helper: Helper | None, mode: Mode, lock: Lock | None
) -> tuple[Gate, list[ModelReport]]:
    """Build the models, and review them; without a helper, review them without a build."""
    gate = Gate(project, helper.result if helper else None, mode, lock)
    try:
        if helper:
            gate.request_builds(helper, gate.list_needed(names))
        return gate, [report_model(gate.review(name)) for name in names]
    finally:
        if helper:
            helper.stop()


def _print_outcome(outcome: Outcome, style: Style, out: TextIO, err: TextIO) -> None:
    """Print the failures and the summary."""
    common, failed = take_common([model for model in outcome.checked if model.verdict == "failed"], style)
    if common:
        say(f"{common}\n", out)
    for model in failed:
        if model.components or model.own_findings:
            say(f"{draw_failure(model, style)}\n", out)
    lines = [*summarize_run(outcome, style, accepting=False), *name_unchecked(outcome)]
    for line in lines:
        if line.colour != "red":
            say(f"\x1b[33m{line.text}\x1b[0m" if style.colour and line.colour else line.text, out)
    print_mistakes((line.text for line in lines if line.colour == "red"), err)
