"""What git says of the project: which commit this is, and what files held at another. Nothing of it is executed."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Self

from pytest_bertsize.wording import did_you_mean, printable, shown

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SECONDS = 10.0
_SAFELY = ("-c", "core.fsmonitor=", "-c", f"core.hooksPath={os.devnull}")
"""Settings of a repository that would run a program of its choice."""
_OF_ANOTHER_REPOSITORY = {
    *("GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE", "GIT_IMPLICIT_WORK_TREE", "GIT_PREFIX", "GIT_INDEX_FILE"),
    *("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_SHALLOW_FILE", "GIT_GRAFT_FILE"),
    *("GIT_NO_REPLACE_OBJECTS", "GIT_REPLACE_REF_BASE"),
}
"""What git sets for a hook, and would look for another repository by (``git rev-parse --local-env-vars``)."""


class NoRevision(Exception):
    """A revision that cannot be read; the message has the command that mends it."""


def commit(folder: Path) -> str | None:
    """The full name of the commit that is checked out, ``None`` where git does not know of one."""
    return _first_line(git(folder, *_verified("HEAD")))


def resolve(folder: Path, revision: str) -> str:
    """The full name of the commit that a revision means.

    :raises NoRevision: where there is none.
    """
    inside = git(folder, "rev-parse", "--is-shallow-repository")
    if inside is None:
        raise NoRevision("git is not installed; install it")
    if inside.returncode != 0:
        raise NoRevision(_no_repository(inside, folder))
    try:
        found = _first_line(git(folder, *_verified(revision)))
    except ValueError:  # a NUL byte
        found = None
    if found is None:
        raise NoRevision(_unknown(revision, folder, shallow=_first_line(inside) == "true"))
    return found


def _no_repository(asked: subprocess.CompletedProcess[bytes], folder: Path) -> str:
    said = asked.stderr.decode("utf-8", "replace")
    if "safe.directory" in said:
        return (
            f"the repository of {folder} belongs to another user; run git config --global --add safe.directory {folder}"
        )
    return f"{folder} is in no git repository; run it in a clone of the project"


def _unknown(revision: str, folder: Path, *, shallow: bool) -> str:
    """Why there is no such revision, and the command that brings it."""
    name = shown(revision)
    if not revision or revision.startswith("-"):
        return f"git knows no revision {name}; git branch --all lists what there is"
    remote, _, branch = revision.partition("/")
    fetched = (
        f" origin +refs/heads/{printable(branch)}:refs/remotes/{printable(revision)}" if remote == "origin" else ""
    )
    if shallow:
        full = f"git fetch --unshallow{fetched} (GitHub: fetch-depth: 0 under actions/checkout, GitLab: GIT_DEPTH: 0)"
        return f"this clone is shallow and does not reach {name}; run {full}"
    references = git(folder, "for-each-ref", "--format=%(refname:short)")
    known = references.stdout.decode("utf-8", "replace").split() if references else []
    fetch = f"run git fetch{fetched or f' origin {printable(revision)}'}"
    return f"git knows no revision {name}; {fetch if fetched else did_you_mean(revision, known, fetch)}"


def merge_base(folder: Path, revision: str) -> str | None:
    """Where the commit that is checked out has left another's line; ``None`` where git has no answer."""
    return _first_line(git(folder, "merge-base", "--end-of-options", revision, "HEAD"))


def _verified(revision: str) -> tuple[str, ...]:
    return ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")


def git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes] | None:
    """Ask git; ``None`` where there is none, or where it does not answer."""
    try:
        return subprocess.run(  # noqa: S603  (arguments of our own, and revisions behind --end-of-options)
            ["git", *_SAFELY, *arguments],  # noqa: S607  (the git that the user has)
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=False,
            env=_environment(),
        )
    except (OSError, subprocess.TimeoutExpired):
        return None


def _environment() -> Mapping[str, str]:
    own = {key: value for key, value in os.environ.items() if key not in _OF_ANOTHER_REPOSITORY}
    return {**own, "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}


def _first_line(answer: subprocess.CompletedProcess[bytes] | None) -> str | None:
    if answer is None or answer.returncode != 0:
        return None
    return answer.stdout.decode("utf-8", "replace").strip() or None


class Files:
    """The files of a commit below one folder: one process reads them all."""

    def __init__(self, folder: Path, revision: str) -> None:
        self._folder = folder
        self._revision = revision
        self._process = subprocess.Popen(  # noqa: S603
            ["git", *_SAFELY, "cat-file", "--batch", "--follow-symlinks"],  # noqa: S607
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_environment(),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=SECONDS)

    def names(self) -> list[str]:
        """The paths of all files, relative to the folder; none where git does not answer."""
        answer = git(self._folder, "ls-tree", "-r", "--name-only", "-z", "--end-of-options", self._revision)
        if answer is None or answer.returncode != 0:
            return []
        return [os.fsdecode(name) for name in answer.stdout.split(b"\0") if name]

    def read(self, path: str) -> bytes | None:
        """The content of a file, symlinks followed inside the repository; ``None`` where there is no file.

        :param path: relative to the folder, with ``/``.
        """
        source, answers = self._process.stdin, self._process.stdout
        inside = os.path.normpath(path)  # what leads above the folder would end git's process
        if "\n" in path or inside.startswith(("..", "/")) or source is None or answers is None:
            return None
        try:
            source.write(f"{self._revision}:./{inside}\n".encode())
            source.flush()
        except OSError:  # git has died, of a damaged repository
            return None
        header = answers.readline().split()
        if len(header) < 2 or not header[-1].isdigit():  # noqa: PLR2004  (a kind and a size)
            return None
        content = answers.read(int(header[-1]) + 1)[:-1]
        return content if header[-2] == b"blob" else None
