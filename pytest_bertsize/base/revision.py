"""Which revision a run is compared with: the one that the option names, else the base of the pull request."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from pytest_bertsize.files import regular

LARGEST_EVENT = 32 * 1024 * 1024
"""Bytes; GitHub sends no event of more than 25 MB."""
NONE = "none"
"""``--bert-budget-base=none``: compare with nothing, not even in a pull request."""


OF_GITLAB = ("CI_MERGE_REQUEST_TARGET_BRANCH_SHA", "CI_MERGE_REQUEST_DIFF_BASE_SHA")
"""What a request is merged into, where that is what is checked out (merged results), else where it left its target."""


class BaseRevision(NamedTuple):
    """A revision to compare with."""

    name: str
    """As it was asked for: ``origin/main``."""
    commit: str | None
    """``None``: it cannot be read, and :attr:`problem` says why."""
    problem: str = ""


def base_revision(folder: Path, asked: str | None, environment: Mapping[str, str] = os.environ) -> BaseRevision | None:
    """The revision that was asked for, else that of the pull or merge request that CI runs for, else ``None``.

    Of a line that has moved on since, it is the commit in which today's left it: what others have done there meanwhile
    is no change of today's.

    :param asked: what the option says, ``None`` where it is not given.
    """
    if asked == NONE:
        return None
    if asked is not None:
        return _where_it_was_left(folder, _resolved(folder, asked))
    problem: BaseRevision | None = None
    if environment.get("GITHUB_EVENT_NAME") == "merge_group" and not _of_the_queue(environment):
        said = "the event's file (GITHUB_EVENT_PATH) does not say it; name the base by the option, or none"
        problem = BaseRevision("merge_group.base_sha", None, said)
    for name in _of_the_request(folder, environment):
        found = _resolved(folder, name, f"refs/remotes/{name}" if name.startswith("origin/") else None)
        if found.commit:
            return _where_it_was_left(folder, found)
        problem = problem or found
    return problem


def _where_it_was_left(folder: Path, found: BaseRevision) -> BaseRevision:
    if found.commit is None:
        return found
    from pytest_bertsize.base.git import merge_base

    return found._replace(commit=merge_base(folder, found.commit) or found.commit)


def _resolved(folder: Path, name: str, reference: str | None = None) -> BaseRevision:
    """The commit that a name means, or why there is none. git is loaded here: most runs compare with nothing."""
    from pytest_bertsize.base.git import NoRevision, resolve

    try:
        return BaseRevision(name, resolve(folder, name, reference))
    except NoRevision as error:
        return BaseRevision(name, None, str(error))


def _of_the_request(folder: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """What GitLab and GitHub say of the branch that a request goes into, the surest first.

    What GitHub checks out is the merge into the base, whose first parent the base is; a workflow may check out the
    request's own head instead, and what comes before that is the request's too.
    """
    for name in OF_GITLAB:
        if commit := environment.get(name):
            yield commit
    if queued := _of_the_queue(environment):
        yield queued
    if branch := environment.get("GITHUB_BASE_REF"):
        yield f"origin/{branch}"
        is_merge = environment.get("GITHUB_REF", "").endswith("/merge")
        if is_merge and _is_checked_out(folder, environment.get("GITHUB_SHA")):
            yield "HEAD^1"


def _is_checked_out(folder: Path, commit: str | None) -> bool:
    from pytest_bertsize.base import git

    return git.commit(folder) == commit


def _of_the_queue(environment: Mapping[str, str]) -> str:
    """What GitHub's merge queue merges into: ``merge_group.base_sha`` of the event's file, as no variable says it."""
    if environment.get("GITHUB_EVENT_NAME") != "merge_group":
        return ""
    try:
        with regular(os.path.realpath(environment.get("GITHUB_EVENT_PATH", ""))) as stream:
            said = json.loads(stream.read(LARGEST_EVENT))["merge_group"]["base_sha"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return ""
    return said if isinstance(said, str) and re.fullmatch(r"[0-9a-f]{40}(?:[0-9a-f]{24})?", said) else ""
