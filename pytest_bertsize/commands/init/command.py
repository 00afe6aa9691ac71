"""``bertsize init``: propose a table for each config whose class is certain, and list the other configs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from pytest_bertsize.builder.confined import collector_paused
from pytest_bertsize.closed_forms.registry import registry_of
from pytest_bertsize.commands.console import FOUND, GOOD, print_mistakes, read_style, say
from pytest_bertsize.commands.init.configs import Proposal
from pytest_bertsize.commands.init.project import read_project
from pytest_bertsize.config.which_release import asked_about
from pytest_bertsize.reports.drawing import draw_marked
from pytest_bertsize.table import rewrite
from pytest_bertsize.table.model import TABLE_BY_HAND
from pytest_bertsize.table.settings import SettingsError
from pytest_bertsize.wording import plural, printable

MOST_LINES = 20  # the most lines to print for one group, such as ``model classes``
BY_COMMAND = (
    "bertsize init MODULE:CLASS builds a class, with the arguments of --kwargs, and proposes its table; if a script "
    "makes the model, call check_model(model, \"NAME\") in the script, and run bertsize init 'python train.py'"
)
NOT_IN = "init does not read tests, files that git ignores, or folders that are hidden, installed or built"


def start(root: Path, out: TextIO, err: TextIO, *, writes: bool = False, is_named: bool = True) -> int:
    """Propose a table for every config whose class is certain and that the project does not declare yet."""
    try:
        before = read_project(root, is_named=is_named)
        declared = plural(len(before.settings.models), "model") if before.settings.models else ""
        with collector_paused():
            found = Proposal(before, registry_of(before.settings, asked_about(before.settings).release))
            if declared and not found.tables:
                left = f", and init is not certain of {plural(len(found.by_hand), 'config')}" if found.by_hand else ""
                say_marked("", f"nothing to add: pyproject.toml declares {declared}{left}", err)
                return GOOD
            lines = [*_describe_rest(found, code=not declared)]
            for mark, line in lines:
                say_marked(mark, line, err)
            if not found.tables:
                why = f"no table is proposed: no JSON or YAML file names a class of a known family ({NOT_IN})"
                say_marked("", why if lines else f"ERROR: {why}; write, for example, {TABLE_BY_HAND}", err)
                return FOUND  # init cannot declare any model without the user
            after = before.add_tables(found.tables.values())
            if writes:
                rewrite.replace_pyproject(before.settings.path, before.text, after)
                made = ", a new file" if before.text is None else ""
                names = f"{plural(len(found.tables), 'model')} declared ({printable(', '.join(found.tables), 1_000)})"
                say_marked("", f"{before.settings.file}{made}: {names}", out)
                say(f"next: {before.next_command}", out)
            else:  # the file may lack a newline at its end
                say((after if before.is_new else "\n" + "\n".join(found.tables.values())).rstrip("\n"), out)
                paste = "nothing is written: add --write, or paste this into pyproject.toml"
                say_marked("", f"{paste}; then run {before.next_command}", err)
    except SettingsError as error:
        return print_mistakes([str(error)], err)
    for line in before.warn_of_roots():
        say_marked("", line, err)
    return GOOD


def _describe_rest(found: Proposal, *, code: bool) -> Iterator[tuple[str, str]]:
    """Yield lines, each with its mark: configs, and with ``code`` also classes, without a table, in groups."""
    classes, calls = (found.code.describe_classes(), found.code.describe_calls()) if code else ([], [])
    groups = {
        "model classes": classes,
        "models of the library": calls,
        "configs to declare by hand": found.describe_by_hand(),
        "left out": [*found.describe_left_out()],
    }
    for title, lines in groups.items():
        if lines:
            yield "", f"{title}:"
            yield from (("- ", line) for line in lines[:MOST_LINES])
            yield from [("- ", f"and {len(lines) - MOST_LINES:,} more")] if len(lines) > MOST_LINES else []
    if classes or calls:
        yield "", BY_COMMAND


def say_marked(mark: str, text: str, out: TextIO) -> None:
    """Print a sentence after its mark, wrapped for the terminal; TOML and commands to paste are not broken."""
    say(draw_marked(mark, text, read_style(out)), out)
