"""GitLab's Code Quality report: a list of issues, which a merge request shows at their lines."""

from __future__ import annotations

import json
import posixpath
from collections import Counter
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from pytest_bertsize.findings import UNCHECKED
from pytest_bertsize.reports import sentences
from pytest_bertsize.reports.ci import prefix
from pytest_bertsize.wording import printable

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_bertsize.reports.shape import FindingRow, ModelReport, RunReport

Severity = Literal["info", "minor", "major", "critical", "blocker"]

TABLE = "pyproject.toml"
"""Where an issue stands that no line leads to."""
_SEVERITIES: dict[str, Severity] = {"error": "major", "warning": "minor", "note": "info"}
_LONGEST = 2_000
"""Characters of a description."""


class Lines(TypedDict):
    """Where an issue begins."""

    begin: int


class Location(TypedDict):
    """A line of a file of the repository."""

    path: str
    lines: Lines


class Issue(TypedDict):
    """One element of the report, with every key that GitLab asks for."""

    description: str
    check_name: str
    fingerprint: str
    severity: Severity
    location: Location


def render(report: RunReport, root: Path) -> str:
    return json.dumps(issues(report, prefix(root, "CI_PROJECT_DIR")), ensure_ascii=False, indent=2) + "\n"


def issues(report: RunReport, folder: str) -> list[Issue]:
    """The run's line, an issue for every finding, and one for a run that did not check everything.

    :param folder: the project's, inside the repository; ``""`` where it is the repository.
    """
    found = [_headline(report, folder)] if report["changed"] else []
    found += [_incomplete(report, folder)] if not report["complete"] else []
    left = sentences.left_without_a_word(report["base"]) if report["base"] else ()
    found += [_left(sentence, folder) for sentence in left]
    seen: Counter[tuple[str, ...]] = Counter()
    for model in report["models"]:
        for finding in model["findings"]:
            identity = (model["name"], finding["component"] or "", finding["kind"])
            found.append(_issue(model, finding, folder, _fingerprint(*identity, *_repeated(seen[identity]))))
            seen[identity] += 1
    return found


def is_ours(content: str) -> bool:
    """Whether it is what :func:`render` has made; a list without an issue has nothing to lose."""
    try:
        found: Any = json.loads(content)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, list) and all(
        isinstance(issue, dict) and str(issue.get("check_name")).startswith("bertsize/") for issue in found
    )


def _incomplete(report: RunReport, folder: str) -> Issue:
    names = ", ".join(report["not_checked"])
    return Issue(
        description=printable(f"incomplete: NOT CHECKED: {names}", _LONGEST),
        check_name="bertsize/incomplete",
        fingerprint=_fingerprint("", "", "incomplete"),
        severity="blocker",
        location=_location(None, None, folder),
    )


def _headline(report: RunReport, folder: str) -> Issue:
    """What a merge request changes is new to its target, which compares with nothing."""
    return Issue(
        description=printable(report["headline"], _LONGEST),
        check_name="bertsize/headline",
        fingerprint=_fingerprint("", "", "headline"),
        severity=_SEVERITIES["note"],
        location=_location(None, None, folder),
    )


def _left(sentence: str, folder: str) -> Issue:
    """A model that is gone has no line of its own, and its sentence has no number that changes."""
    return Issue(
        description=printable(sentence, _LONGEST),
        check_name="bertsize/budget-loosened",
        fingerprint=_fingerprint("", "removed", sentence),
        severity=_SEVERITIES["error"],
        location=_location(None, None, folder),
    )


def _issue(model: ModelReport, finding: FindingRow, folder: str, fingerprint: str) -> Issue:
    fix = f"; {finding['fix']}" if finding["fix"] else ""
    keeps_from_checking = finding["severity"] == "error" and finding["kind"] in UNCHECKED
    return Issue(
        description=printable(f"{model['name']}: {finding['message']}{fix}", _LONGEST),
        check_name=f"bertsize/{finding['kind']}",
        fingerprint=fingerprint,
        severity="blocker" if keeps_from_checking else _SEVERITIES[finding["severity"]],
        location=_location(finding["file"], finding["line"], folder),
    )


def _location(file: str | None, line: int | None, folder: str) -> Location:
    path = posixpath.normpath(posixpath.join(folder, file or TABLE))
    return Location(path=path, lines=Lines(begin=line or 1 if file else 1))


def _repeated(times: int) -> tuple[str, ...]:
    """What tells a finding from earlier ones of the same kind about the same component."""
    return (str(times),) if times else ()


def _fingerprint(*identity: str) -> str:
    """The same for the same finding with another number, so that GitLab sees one issue that stayed."""
    return sha256(json.dumps(identity).encode()).hexdigest()
