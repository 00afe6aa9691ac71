"""What GitHub Actions reads of a run: annotations in its log, and the page of the step."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pytest_bertsize.reports import sentences
from pytest_bertsize.reports.ci import prefix
from pytest_bertsize.wording import printable

if TYPE_CHECKING:
    from pytest_bertsize.reports.shape import FindingRow, ModelReport, RunReport

MOST = 10
"""Errors, and warnings, that GitHub shows of a step."""
LARGEST_SUMMARY = 1024 * 1024
"""Bytes; of a longer one GitHub shows nothing."""
_LONGEST = 2_000
"""Characters of a message."""
_LAST = 2
"""Errors about a single component, after those that kept a model from being checked and those about its total."""


def workflow_commands(report: RunReport, folder: str) -> list[str]:
    """Workflow commands: the run's line, at most ten errors, the worst first, and at most ten warnings.

    :param folder: the project's, within the workspace; ``""`` where it is the workspace.
    """
    errors = sorted(_rows(report, "error"), key=_badness)
    told_errors = [*_not_checked(report), *_left(report), *(_annotation("error", *row, folder) for row in errors)]
    told_warnings = [
        *_not_compared(report),
        *(_annotation("warning", *row, folder) for row in _rows(report, "warning")),
    ]
    return [*_headline(report), *_at_most(told_errors, "error"), *_at_most(told_warnings, "warning")]


def lines_for_log(report: RunReport, root: Path) -> list[str]:
    """The annotations, where it is GitHub that reads the log."""
    return workflow_commands(report, prefix(root, "GITHUB_WORKSPACE"))


def reads_the_log() -> bool:
    return os.environ.get("GITHUB_ACTIONS") == "true"


def summary_path() -> Path | None:
    """The file to which this step may append Markdown."""
    named = os.environ.get("GITHUB_STEP_SUMMARY")
    return Path(named) if named else None


def append_to_summary(path: Path, report: RunReport) -> None:
    """Put the report behind what others have written there.

    :raises OSError: when it cannot be written, or when GitHub would not show it.
    """
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise OSError("it is no regular file")
    from pytest_bertsize.reports.markdown import page as markdown

    text = markdown.render(report).encode("utf-8", "backslashreplace")
    size = path.stat().st_size if path.exists() else 0
    between = b"\n\n" if size else b""
    if size + len(between) + len(text) > LARGEST_SUMMARY:
        raise OSError(f"it has {size:,} bytes already, and GitHub takes {LARGEST_SUMMARY:,}")
    with path.open("ab") as stream:
        stream.write(between + text)


# annotations


def _rows(report: RunReport, severity: str) -> list[tuple[ModelReport, FindingRow]]:
    return [(model, row) for model in report["models"] for row in model["findings"] if row["severity"] == severity]


def _badness(row: tuple[ModelReport, FindingRow]) -> tuple[int, int]:
    """What has no number, as what kept a model from being checked, then totals, then components, the largest first."""
    _, finding = row
    bound = finding["expected"] if finding["limit"] is None else finding["limit"]
    if finding["actual"] is None:
        return 0, 0
    return 1 if finding["component"] == "total" else _LAST, -abs(finding["actual"] - (bound or 0))


def _annotation(severity: Literal["error", "warning"], model: ModelReport, finding: FindingRow, folder: str) -> str:
    fix = f"\n→ {printable(finding['fix'], _LONGEST)}" if finding["fix"] else ""
    place = {}
    if finding["file"]:
        place["file"] = posixpath.normpath(posixpath.join(folder, finding["file"]))
        place["line"] = str(finding["line"] or 1)
    return _command(severity, f"{printable(finding['message'], _LONGEST)}{fix}", f"bertsize: {model['name']}", **place)


def _headline(report: RunReport) -> list[str]:
    """A notice, for what is wrong is an error of its own; nothing of a run that has nothing to say."""
    return [_command("notice", printable(report["headline"], _LONGEST), "bertsize")] if report["changed"] else []


def _not_checked(report: RunReport) -> list[str]:
    names = ", ".join(report["not_checked"])
    return (
        [_command("error", printable(f"NOT CHECKED: {names}", _LONGEST), "bertsize")] if not report["complete"] else []
    )


def _left(report: RunReport) -> list[str]:
    said = sentences.left_without_a_word(report["base"]) if report["base"] else ()
    return [_command("error", printable(each, _LONGEST), "bertsize") for each in said]


def _not_compared(report: RunReport) -> list[str]:
    base = report["base"]
    if not base or not base["problem"]:
        return []
    message = f"not compared with {base['revision']}: {base['problem']}"
    return [_command("warning", printable(message, _LONGEST), "bertsize")]


def _at_most(commands: Sequence[str], severity: Literal["error", "warning"]) -> list[str]:
    """GitHub drops what is too much without a word; the last that it shows says so."""
    if len(commands) <= MOST:
        return [*commands]
    rest = len(commands) - MOST + 1
    return [*commands[: MOST - 1], _command(severity, f"{rest:,} more {severity}s are in the log", "bertsize")]


def _command(severity: Literal["error", "warning", "notice"], message: str, title: str, **place: str) -> str:
    properties = ",".join(f"{key}={_property(value)}" for key, value in {**place, "title": title}.items())
    return f"::{severity} {properties}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
