"""``bertsize explain --page``: the model as a page that counts what it would be with other sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from pytest_bertsize.commands.console import GOOD, mistaken, say
from pytest_bertsize.commands.named_model import Named, explained
from pytest_bertsize.files import replace_file
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.reports.formats import WHAT_IF, may_be_replaced
from pytest_bertsize.wording import printable, reason

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_bertsize.commands.named_model import Explained


def page(named: Named, path: Path, out: TextIO, err: TextIO) -> int:
    """Write the page of one model, at once or not at all.

    :returns: the exit status.
    """
    try:
        _refuse(path)
        chosen = explained(named)
        _write(path, _rendered(chosen))
    except Unusable as unusable:
        return mistaken(unusable, err)
    say(f"{printable(str(path))}: what if {chosen.model.name or chosen.form.architecture.name}", out)
    return GOOD


def _rendered(chosen: Explained) -> str:
    from pytest_bertsize.reports.html.what_if import render

    return render(chosen.model, chosen.config, chosen.derivation)


def _refuse(path: Path) -> None:
    """:raises Unusable: for a file that is none of ours, and for what is no file."""
    try:
        wrong = _wrong(path)
    except (OSError, ValueError) as error:
        wrong = f"the path cannot be followed: {reason(error)}", "name another file"
    if wrong:
        message, fix = wrong
        raise Unusable(Finding("config-invalid", f"--page {printable(str(path))}: {message}", fix))


def _wrong(path: Path) -> tuple[str, str] | None:
    """Why a page may not stand there, and what to write."""
    if path.suffix != ".html":
        return "the file must end in .html", "write --page what-if.html"
    if path.is_symlink() or (path.exists() and not path.is_file()) or not path.parent.is_dir():
        return "not a file in an existing folder", "create the folder, or name another"
    if path.exists() and not may_be_replaced(path, WHAT_IF):
        return "there is a file, and it is no such page", "remove it, or name another"
    return None


def _write(path: Path, text: str) -> None:
    """:raises Unusable: where it cannot be written."""
    try:
        replace_file(path, text.encode(errors="backslashreplace"))
    except OSError as error:
        message = f"--page {printable(str(path))} could not be written: {reason(error)}"
        raise Unusable(Finding("config-invalid", message, "make its folder writable, or name another")) from None
