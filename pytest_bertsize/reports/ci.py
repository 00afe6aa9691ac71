"""CI services: the variables that they set, and GitHub's annotations and step summary."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_bertsize.wording import printable

if TYPE_CHECKING:
    from pytest_bertsize.reports.report import FindingRow, RunReport

# Variables that CI services set; pytest itself looks for the first two.
VARIABLES = (
    *("CI", "BUILD_NUMBER"),
    *("GITHUB_ACTIONS", "GITLAB_CI", "TF_BUILD", "JENKINS_URL", "TEAMCITY_VERSION", "BUILDKITE", "CODEBUILD_BUILD_ID"),
)
MOST = 10  # the most annotations of one level that GitHub shows for one step
TITLE: Mapping[str, str] = {"title": "bertsize"}
_LONGEST = 2_000  # the most characters of an annotation's message; its fix may have as many


def sign_of_ci(environment: Mapping[str, str] = os.environ) -> str:
    """Return the first set variable of a CI service with its value, as in ``"CI=true"``; ``""`` outside CI."""
    name = next((name for name in VARIABLES if environment.get(name, "").lower() not in {"", "0", "false"}), None)
    return f"{name}={printable(environment[name])}" if name else ""


def refuse_ci(option: str) -> None:
    """Refuse to change budgets in CI: raise a SettingsError that names the variable of the CI service."""
    if sign := sign_of_ci():
        from pytest_bertsize.table.settings import SettingsError

        fix = "run it on your own machine, and commit pyproject.toml"
        raise SettingsError(f"{option}: this runs in CI ({sign}), where nobody reviews the new limits: {fix}")


def append_to_summary(path: Path, report: RunReport) -> None:
    """Append the report to the step summary; raise OSError if it cannot be written."""
    if path.is_symlink():
        raise OSError("it is a symlink")
    from pytest_bertsize.reports.markdown import render_page

    text = render_page(report).encode("utf-8", "backslashreplace")
    with path.open("ab") as stream:
        stream.write((b"\n\n" if stream.tell() else b"") + text)


def find_folder(root: Path) -> str:
    """Return the project's folder inside GitHub's checkout; ``""`` elsewhere."""
    outer = os.environ.get("GITHUB_WORKSPACE")
    try:
        return root.resolve().relative_to(Path(outer).resolve()).as_posix() if outer else ""
    except (OSError, ValueError, RuntimeError):  # the project is not in the checkout
        return ""


def list_commands(report: RunReport, folder: str) -> list[str]:
    """Return GitHub's workflow commands, at most ten of a level; ``folder`` is the project's, inside the workspace."""
    from pytest_bertsize.reports.sentences import describe_unchecked, list_problems

    news = ". ".join(filter(None, (report.headline, report.news)))
    problems = [("error", describe_unchecked(report)), *list_problems(report.base)]
    commands = [_write_command("notice", news)] if report.changed else []
    for level in ("error", "warning"):
        written = [_write_command(level, said) for severity, said in problems if said and severity == level]
        rows = [(row, model.name) for model in report.models for row in model.findings if row.severity == level]
        for row, name in sorted(rows, key=lambda each: _rank_finding(each[0])):
            file = posixpath.normpath(posixpath.join(folder, row.file)) if row.file else ""
            place = {"file": file, "line": str(row.line or 1)} if file else {}
            written.append(_write_command(level, row.message, row.fix, {**place, "title": f"bertsize: {name}"}))
        if len(written) > MOST:  # GitHub would drop them silently
            written[MOST - 1 :] = [_write_command(level, f"{len(written) - MOST + 1:,} more {level}s are in the log")]
        commands += written
    return commands


def _rank_finding(finding: FindingRow) -> tuple[int, int]:
    """Rank errors without a count first, then errors on the total, then on components; larger excesses come first."""
    bound = finding.expected if finding.limit is None else finding.limit
    if finding.actual is None:
        return 0, 0
    return 1 if finding.component == "total" else 2, -abs(finding.actual - (bound or 0))


def _write_command(level: str, message: str, fix: str = "", properties: Mapping[str, str] = TITLE) -> str:
    def escape(text: str) -> str:
        return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")

    said = "\n→ ".join(printable(each, _LONGEST) for each in (message, fix) if each)
    escaped = {key: escape(value).replace(":", "%3A").replace(",", "%2C") for key, value in properties.items()}
    return f"::{level} {','.join(f'{key}={value}' for key, value in escaped.items())}::{escape(said)}"
