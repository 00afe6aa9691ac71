"""``bertsize accept``: raise the budgets that fail, with the reason, without pytest."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from rich.text import Text

from pytest_bertsize.base.run_base import check_interpreter, read_base, replace_interpreter
from pytest_bertsize.closed_forms.contributed import registry_of
from pytest_bertsize.commands.check import review_all
from pytest_bertsize.commands.console import FOUND, GOOD, print_mistakes, read_style, say
from pytest_bertsize.config.which_release import asked_about
from pytest_bertsize.reports.ci import refuse_ci
from pytest_bertsize.reports.drawing import draw, hanging
from pytest_bertsize.reports.terminal import draw_failure
from pytest_bertsize.review.gate import Gate, Mode
from pytest_bertsize.review.writer import Writer, check_reason, read_lock_to_change
from pytest_bertsize.table.settings import SettingsError, find_declared, load

if TYPE_CHECKING:
    from pytest_bertsize.builder.helper import Helper


def accept(  # noqa: PLR0913  (what the command line says)
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
    """Build the models, write limits, reasons and lock, and say what was written.

    :param names: of the models to accept; all of them where there is none.
    :param reason: why, which the tables of models whose budgets are raised then say.
    :returns: the exit status: found where a model that was named fails all the same.
    """
    try:
        refuse_ci("bertsize accept")
        check_reason(reason, "--reason")
        settings = replace_interpreter(load(root / "pyproject.toml"), python, "--python")
        for name in names:
            find_declared(name, settings, "bertsize accept", "bertsize accept NAME")
        registry = registry_of(settings, asked_about(settings).release)
        former = read_base(settings, base, registry, "--base")
        check_interpreter(settings, python, former, "--python", builds=True)
        lock = read_lock_to_change(settings, "update")
    except SettingsError as error:
        return print_mistakes([str(error)], err)
    if settings.interpreter:
        helper.build_with(settings.interpreter.path, settings.interpreter.written)
    gate = Gate(settings, registry, helper.result, former, Mode(detail=False, verb="update", reason=reason), lock)
    writer = Writer(settings, "update", lock, reason)
    asked = [each for each in settings.names if not names or each in names]
    models = review_all(gate, helper, asked)
    for name in asked:
        changes = gate.changes(name)
        block = {name: gate.to_lock(name)} if lock else {}
        writer.ask(name, changes.changes, changes.refused, block, why=changes.asks_why)
    writer.write()
    style = read_style(out)
    failed = [model for model in models if model.verdict == "failed"]
    for model in failed:
        say(f"{draw_failure(model, style)}\n", out)
    for line in writer.list_lines():
        if line.text != writer.problem:
            say(draw(style, hanging(line.mark, "", line.text, style) if line.mark else Text(line.text)), out)
    if writer.problem:
        return print_mistakes([writer.problem], err)
    return FOUND if failed else GOOD
