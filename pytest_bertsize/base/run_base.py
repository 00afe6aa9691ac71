"""Open the project of a run: find its base, and refuse a change of the interpreter that only the table makes.

The modules for git and base are imported only for a run with a base: most runs have none.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from pytest_bertsize.closed_forms.registry import Registry, registry_of
from pytest_bertsize.config.which_release import AskedAbout, asked_about
from pytest_bertsize.files import read_regular
from pytest_bertsize.table.interpreter import Interpreter
from pytest_bertsize.table.settings import Settings, SettingsError, load
from pytest_bertsize.wording import printable, shown

if TYPE_CHECKING:
    from pytest_bertsize.base.baseline import Baseline

LARGEST_EVENT = 32 * 1024 * 1024  # the most bytes of an event that are read; GitHub sends none of more than 25 MB
NONE = "none"  # the value of --bert-budget-base that compares with nothing, not even in a pull request
NOT_IN_EVENT = "refs/merge_group.base_sha"  # no commit has this name, which a message shows if the event has none
# GitLab's variables for the target branch's head (only in a pipeline of merged results) and for the merge base
OF_GITLAB = ("CI_MERGE_REQUEST_TARGET_BRANCH_SHA", "CI_MERGE_REQUEST_DIFF_BASE_SHA")


class Project(NamedTuple):
    """A project as a run reads it before anything is built."""

    settings: Settings
    about: AskedAbout
    registry: Registry
    base: Baseline | None


def open_project(table: Path, base: str | None, python: str | None, prefix: str, *, builds: bool) -> Project:
    """Read the table and the base of a run; raise SettingsError for a mistake.

    :param base: the value of the option ``base``, whose name begins with ``prefix``; ``None`` if it is not given.
    :param python: the interpreter that the option ``python`` names in place of the table's.
    """
    settings = load(table)
    if python is not None:
        settings = replace(settings, interpreter=Interpreter(Path.cwd() / python, python))
    about = asked_about(settings)
    registry = registry_of(settings, about.release)
    former = read_base(settings, base, registry, f"{prefix}base")
    _check_interpreter(settings, python, former, f"{prefix}python", builds=builds)
    return Project(settings, about, registry, former)


def read_base(today: Settings, asked: str | None, registry: Registry, option: str) -> Baseline | None:
    """Return the project as it was at the base; ``None`` if the run has none.

    :param asked: the value of ``option``; ``None`` if it is not given.
    :raises SettingsError: if the revision that was asked for, or its table, cannot be read.
    """
    found = find_base(today.root, asked)
    if found is None:
        return None
    from pytest_bertsize.base.baseline import read_baseline

    found = read_baseline(found, today, registry)
    if asked is not None and found.problem:
        raise SettingsError(f"{option}={printable(asked)}: {found.problem}")
    return found


def read_last_commit(today: Settings, registry: Registry) -> Baseline | None:
    """Return the project as it was last committed; ``None`` if there is no commit, or git does not answer."""
    from pytest_bertsize.base.baseline import read_baseline

    found = read_baseline(replace(_resolve_name(today.root, "HEAD"), is_asked_for=False), today, registry)
    return found if found.commit else None


def find_base(folder: Path, asked: str | None, environment: Mapping[str, str] = os.environ) -> Baseline | None:
    """Find the base that is asked for, else the base of the pull or merge request in CI; it is not read yet.

    If the branch of the base has moved on, the base is the commit where today's branch left it: later commits there
    are not today's changes.
    """
    if asked is not None:
        return None if asked == NONE else _resolve_name(folder, asked)
    unread: Baseline | None = None
    for name in _list_request_names(folder, environment):
        reference = f"refs/remotes/{name}" if name.startswith("origin/") else None
        found = replace(_resolve_name(folder, name, reference), is_asked_for=False)
        if found.commit:
            return found
        unread = unread or found
    return unread


def _resolve_name(folder: Path, name: str, reference: str | None = None) -> Baseline:
    """Return the commit where today's branch left a named revision, or the reason why there is none."""
    from pytest_bertsize.base import NoRevision
    from pytest_bertsize.base.baseline import Baseline
    from pytest_bertsize.base.git import find_merge_base, resolve_commit

    try:
        commit = resolve_commit(folder, name, reference)
    except NoRevision as error:
        return Baseline(name, None, str(error))
    return Baseline(name, find_merge_base(folder, commit) or commit)


def _list_request_names(folder: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """Yield the revisions that GitLab and GitHub name for the target of a request, the surest first.

    GitHub checks out a merge commit, whose first parent is the base. A workflow may check out the request's own head
    instead, whose parents belong to the request.
    """
    yield from filter(None, map(environment.get, OF_GITLAB))
    if environment.get("GITHUB_EVENT_NAME") == "merge_group":
        yield _read_queue(environment)
    if branch := environment.get("GITHUB_BASE_REF"):
        yield f"origin/{branch}"
        if environment.get("GITHUB_REF", "").endswith("/merge"):
            from pytest_bertsize.base.git import find_commit

            if find_commit(folder) == environment.get("GITHUB_SHA"):
                yield "HEAD^1"


def _read_queue(environment: Mapping[str, str]) -> str:
    """Return the commit into which GitHub's merge queue merges, from the event's file, because no variable has it."""
    from pytest_bertsize.base.git import COMMIT

    try:
        content = read_regular(os.path.realpath(environment.get("GITHUB_EVENT_PATH", "")), LARGEST_EVENT)
        said = json.loads(content)["merge_group"]["base_sha"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return NOT_IN_EVENT
    is_commit = isinstance(said, str) and COMMIT.fullmatch(said)
    return said if is_commit else NOT_IN_EVENT


def _check_interpreter(
    today: Settings, asked: str | None, baseline: Baseline | None, option: str, *, builds: bool
) -> None:
    """Refuse an interpreter of the table alone that the base does not have, or one that is asked for and cannot be run.

    The interpreter decides the count of every model, so a change of the table alone must not replace it.
    """
    place = today.place("python")
    now = today.interpreter.written if today.interpreter else ""
    then = baseline.project.read_text("python") if baseline else ""
    declares = baseline and (baseline.project.models or baseline.project.declared.wrong)
    if asked is None and baseline and declares and now != then:
        said = f"it is {shown(now)}" if now else "there is none"
        before = f"{baseline.revision} has {shown(then) if then else 'none'}"
        raise SettingsError(
            f"{place}: {said}, and {before}: a change of the table alone does not replace the interpreter; "
            f"name it in the command until the base has it, as in {option}={printable(now or then)}"
        )
    if today.interpreter and (builds or asked is not None) and not today.interpreter.can_be_run:
        fix = "create its environment, or name the interpreter in it"
        asks = place if asked is None else option
        raise SettingsError(f"{asks}: {shown(now)} is not a program that can be run; {fix}")
