"""``bertsize accept``: raise the limits that models exceed, and write the reason; pytest is not needed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from pytest_bertsize.base.run_base import open_project, read_last_commit
from pytest_bertsize.commands.check import choose_models, review_all
from pytest_bertsize.commands.console import FOUND, GOOD, print_mistakes, read_style, say
from pytest_bertsize.reports.ci import refuse_ci
from pytest_bertsize.reports.drawing import draw_marked
from pytest_bertsize.reports.terminal import draw_failure
from pytest_bertsize.review.accept import Writer, check_reason, read_lock_to_change
from pytest_bertsize.review.gate import Mode
from pytest_bertsize.table.settings import SettingsError

if TYPE_CHECKING:
    from pytest_bertsize.builder.helper import Helper


def accept(  # noqa: PLR0913  (the options of the command)
    root: Path,
    helper: Helper,
    names: Sequence[str],
    reason: str,
    *,
    base: str | None = None,
    python: str | None = None,
    out: TextIO = sys.stdout,
    err: TextIO = sys.stderr,
) -> int:
    """Build the models of these names, or all; write limits, reasons and the lock; report the changes."""
    try:
        refuse_ci("bertsize accept")
        check_reason(reason, "--reason")
        project = open_project(root / "pyproject.toml", base, python, "--", builds=True)
        chosen = choose_models(names, project.settings, "bertsize accept")
        lock = read_lock_to_change(project.settings, "update")
        if base is None:  # budgets that are looser than at the base get the reason too
            project = project._replace(base=read_last_commit(project.settings, project.registry))
    except SettingsError as error:
        return print_mistakes([str(error)], err)
    writer = Writer(project.settings, "update", lock, reason)
    gate, models = review_all(project, chosen, helper, Mode(detail=False, verb="update", reason=reason), lock)
    for name in chosen:
        writer.ask(gate.changes_to_write(name))
    writer.write()
    style = read_style(out)
    failed = [model for model in models if model.verdict == "failed"]
    for model in failed:
        say(f"{draw_failure(model, style)}\n", out)
    for line in writer.list_lines():
        if line.text != writer.problem:
            say(draw_marked(line.mark, line.text, style), out)
    if writer.problem:
        return print_mistakes([writer.problem], err)
    return FOUND if failed else GOOD
