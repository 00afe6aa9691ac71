"""``bertsize log``: how each declared model grew, commit by commit or tag by tag, from git alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from pytest_bertsize.base.commits import DOTS
from pytest_bertsize.base.git import NoRevision
from pytest_bertsize.base.growth import Line, grown
from pytest_bertsize.closed_forms.contributed import registry_of
from pytest_bertsize.commands.console import GOOD, MISTAKEN, say, style_of
from pytest_bertsize.config.which_release import asked_about
from pytest_bertsize.table.settings import Settings, SettingsError, load
from pytest_bertsize.wording import MOST_NAMED, did_you_mean, listed, shown


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line says."""

    root: Path
    """The folder of the pyproject.toml."""
    name: str = ""
    """A model, by any name that it had; ``""`` for all."""
    commits: str = ""
    """``v1..HEAD``; ``""`` for all up to the one that is checked out."""
    by_tag: bool = False
    form: str = "text"
    """``text``, ``md`` or ``json``."""


def log(asked: Asked, out: TextIO, err: TextIO) -> int:
    """Print the rows.

    :returns: the exit status; that a model could not be counted in some commit is a row of its own.
    """
    try:
        settings = load(asked.root / "pyproject.toml")
        name, span = _which(asked, settings)
        release = asked_about(settings)
        found = grown(settings, registry_of(settings, release.release), span, by_tag=asked.by_tag)
        lines = _named(found.lines, name)
    except (SettingsError, NoRevision) as error:
        say(f"ERROR: {error}", err)
        return MISTAKEN
    if asked.form == "text":
        from pytest_bertsize.commands.log.drawing import drawn

        say(drawn(found, lines, style_of(out, 0)), out)
    else:
        from pytest_bertsize.commands.log.quoting import quoted

        say(quoted(found, lines, asked.form, str(release)), out)
    return GOOD


def _which(asked: Asked, settings: Settings) -> tuple[str, str]:
    """The name and the range: a range may stand alone."""
    if asked.name and not asked.commits and DOTS in asked.name and asked.name not in settings.models:
        return "", asked.name
    return asked.name, asked.commits


def _named(lines: Sequence[Line], name: str) -> list[Line]:
    """:raises SettingsError: where no model was ever called so."""
    found = [line for line in lines if not name or name in line.names]
    if name and not found:
        names = [each for line in lines for each in line.names]
        fix = did_you_mean(name, names, f"there are {listed(names, MOST_NAMED)}" if names else "it declares none")
        raise SettingsError(f"no table of these commits declares a model {shown(name)}; {fix}")
    return found
