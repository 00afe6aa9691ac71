"""Which revision a run is compared with: the one that the option names, else the base of the pull request."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_bertsize.base import git as repository

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

NONE = "none"
"""``--bert-budget-base=none``: compare with nothing, not even in a pull request."""


@dataclass(frozen=True, slots=True)
class BaseRevision:
    """A revision to compare with."""

    name: str
    """As it was asked for: ``origin/main``."""
    commit: str | None
    """``None``: it cannot be read, and :attr:`problem` says why."""
    problem: str = ""


def base_revision(folder: Path, asked: str | None, environment: Mapping[str, str] = os.environ) -> BaseRevision | None:
    """The revision that was asked for, else that of the pull or merge request that CI runs for, else ``None``.

    :param asked: what the option says, ``None`` where it is not given.
    :raises NoRevision: when the one that was asked for cannot be read. A default that cannot be read is a
        :class:`BaseRevision` that says so: nobody has asked for it.
    """
    if asked == NONE:
        return None
    if asked is not None:
        return BaseRevision(asked, repository.resolve(folder, asked))
    problem: BaseRevision | None = None
    for name in _of_the_request(folder, environment):
        try:
            tip = repository.resolve(folder, name)
        except repository.NoRevision as error:
            problem = problem or BaseRevision(name, None, str(error))
        else:
            return BaseRevision(name, repository.merge_base(folder, tip) or tip)
    return problem


def _of_the_request(folder: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """What GitLab and GitHub say of the branch that a request goes into, the surest first.

    What GitHub checks out is the merge into the base, whose first parent the base is; a workflow may check out the
    request's own head instead, and what comes before that is the request's too.
    """
    if merge_base := environment.get("CI_MERGE_REQUEST_DIFF_BASE_SHA"):
        yield merge_base
    if branch := environment.get("GITHUB_BASE_REF"):
        yield f"origin/{branch}"
        is_merge = environment.get("GITHUB_REF", "").endswith("/merge")
        if is_merge and repository.commit(folder) == environment.get("GITHUB_SHA"):
            yield "HEAD^1"
