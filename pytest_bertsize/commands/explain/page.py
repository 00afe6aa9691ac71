"""``bertsize explain --page``: the model as a page that counts what it would be with other sizes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from pytest_bertsize.commands.console import GOOD, MISTAKEN, mistaken, say
from pytest_bertsize.commands.named_model import Named, explained
from pytest_bertsize.findings import Unusable
from pytest_bertsize.reports.files import WHAT_IF, page_path, write_page
from pytest_bertsize.table.settings import SettingsError
from pytest_bertsize.wording import printable

if TYPE_CHECKING:
    from pytest_bertsize.commands.named_model import Explained


def page(named: Named, given: str, out: TextIO, err: TextIO) -> int:
    """Write the page of one model, at once or not at all.

    :returns: the exit status.
    """
    try:
        path = page_path(given, Path.cwd(), WHAT_IF, "what-if.html")
        chosen = explained(named)
        write_page(path, _rendered(chosen))
    except Unusable as unusable:
        return mistaken(unusable, err)
    except SettingsError as error:
        say(f"ERROR: {error}", err)
        return MISTAKEN
    say(f"{printable(given)}: what if {chosen.model.name or chosen.form.architecture.name}", out)
    return GOOD


def _rendered(chosen: Explained) -> str:
    from pytest_bertsize.reports.html.what_if import render

    return render(chosen.model, chosen.config, chosen.derivation)
