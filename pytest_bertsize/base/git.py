"""Ask git for commits, renames, and the files of a commit. Nothing of the repository is executed.

The author of a change controls the work tree, and git accepts any folder with ``HEAD``, ``objects`` and ``refs`` as a
repository and runs programs that its ``config`` names. So this module finds the ``.git`` itself, passes it to git by
name, and overrides every setting that can name a program for a command used here.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from pytest_bertsize.base import NoRevision
from pytest_bertsize.files import read_regular
from pytest_bertsize.wording import printable, shown

SECONDS = 10.0
LONGEST_WALK = 120.0  # the most seconds for a list of commits; git lists a million commits in a quarter of that time
LONGEST_PATH = 4096  # the most bytes of a .git file, and of a path that can be checked out
_SAFELY = (
    *("--no-pager", "--no-replace-objects", "--literal-pathspecs"),
    *("-c", "safe.bareRepository=explicit"),
    *("-c", "protocol.allow=never"),
    *("-c", "core.fsmonitor="),
    *("-c", f"core.hooksPath={os.devnull}"),
)
"""Options that override each setting of a repository with which a command of this module could run a program: no
command here writes, asks another repository, hashes files of the work tree, or shows a difference as text."""
_OF_ANOTHER_REPOSITORY = {
    *("GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE", "GIT_IMPLICIT_WORK_TREE", "GIT_PREFIX", "GIT_INDEX_FILE"),
    *("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_SHALLOW_FILE", "GIT_GRAFT_FILE"),
    *("GIT_NO_REPLACE_OBJECTS", "GIT_REPLACE_REF_BASE"),
}
"""Variables that git sets for a hook, and that lead to another repository (``git rev-parse --local-env-vars``)."""
_SAFE_ENVIRONMENT = {
    "GIT_NO_LAZY_FETCH": "1",  # git fetches no object that a partial clone lacks
    "GIT_ALLOW_PROTOCOL": "none",  # the same for git before 2.45; unlike protocol.allow, no setting overrides it
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "LC_ALL": "C",
}
COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
# a revision that means one commit, whatever tags and branches the repository has
_MEANS_ONE = re.compile(rf"(?:{COMMIT.pattern}|HEAD|refs/[^~^@:]+)(?:[~^@:].*)?", re.DOTALL)
_STEPS = ("~", "^", "@{", ":", "..")  # signs in a revision that is more than a name; git can fetch only a name
Answer = subprocess.CompletedProcess[bytes]


class Repository(NamedTuple):
    """A work tree and its repository, by their real paths."""

    root: Path  # the folder that has the .git
    git_dir: Path  # the .git, or the folder that it names

    @property
    def arguments(self) -> tuple[str, ...]:
        """Arguments that keep git from searching for a repository."""
        return (f"--git-dir={self.git_dir}", f"--work-tree={self.root}")


def find_repository(folder: Path) -> Repository:
    """Return the repository whose work tree contains a folder; raise NoRevision without one that git trusts."""
    real = folder.resolve()
    ceilings = {*filter(None, os.environ.get("GIT_CEILING_DIRECTORIES", "").split(os.pathsep))}
    for root in (real, *real.parents):
        if root != real and str(root) in ceilings:
            break
        if git_dir := _read_git_dir(root / ".git"):
            found = Repository(root, git_dir)
            _require_trust(found)
            return found
    raise NoRevision(f"{folder} is not in a git repository; run this in a clone of the project")


def _read_git_dir(entry: Path) -> Path | None:
    """Return a ``.git`` folder, or the one that a ``.git`` file names, as in a submodule or a linked work tree."""
    try:
        real = entry.resolve()
        if real.is_dir():
            return real
        before, named, path = read_regular(real, LONGEST_PATH).decode().partition("gitdir: ")
        return (entry.parent / path.rstrip("\r\n")).resolve() if named and not before else None
    except (OSError, ValueError, RuntimeError):
        return None


@lru_cache
def _require_trust(found: Repository) -> None:
    """Refuse a repository that git, which checks the owner only after a search, does not find or does not trust."""
    answer = _run(found.root, "rev-parse", "--absolute-git-dir", above=found.root.parent)
    if answer.returncode != 0 and b"safe.directory" in answer.stderr:
        mend = f"run git config --global --add safe.directory {found.root}"
        raise NoRevision(f"the repository of {found.root} belongs to another user; {mend}")
    line = os.fsdecode(answer.stdout).rstrip("\r\n")
    if answer.returncode != 0 or Path(line).resolve() != found.git_dir:
        raise NoRevision(f"git finds no repository at {found.root / '.git'}; run this in a clone of the project")


def resolve_commit(folder: Path, revision: str, reference: str | None = None) -> str:
    """Resolve a revision to the full name of one commit; raise NoRevision if there is none, or may be more than one.

    If a branch and a tag have the same name, git takes the tag, whose name the author of a change may have chosen.

    :param reference: the full name of the branch, if CI and not a person names the revision.
    """
    find_repository(folder)
    found = find_commit(folder, reference or revision)
    if found is None:
        raise NoRevision(_explain_unknown(revision, folder))
    if not _MEANS_ONE.fullmatch(reference or revision):
        verify = ("rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}")
        answer = ask_git(folder, "-c", "core.warnAmbiguousRefs=true", *verify)
        if answer is None or b"is ambiguous" in answer.stderr:
            mend = "write its full name, as in refs/remotes/origin/main, refs/heads/main, refs/tags/v1 or a full hash"
            raise NoRevision(f"{shown(revision)} may name more than one branch, tag or commit; {mend}")
    return found


def find_commit(folder: Path, revision: str = "HEAD") -> str | None:
    """Return the full name of the commit that a revision means; ``None`` if git does not know of one."""
    line = _ask_line(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    return line if line and COMMIT.fullmatch(line) else None  # for ^main, rev-parse prints ^ and a commit


def _explain_unknown(revision: str, folder: Path) -> str:
    """Explain why there is no such revision, and name a command that fetches it or lists others."""
    name, branch = shown(revision), revision.removeprefix("origin/")
    is_of_origin = branch not in {revision, ""} and not any(each in branch for each in _STEPS)
    fetched = f" origin +refs/heads/{printable(branch)}:refs/remotes/{printable(revision)}" if is_of_origin else ""
    if _ask_line(folder, "rev-parse", "--is-shallow-repository") == "true":
        full = f"git fetch --unshallow{fetched} (GitHub: fetch-depth: 0 under actions/checkout, GitLab: GIT_DEPTH: 0)"
        return f"this clone is shallow and does not reach {name}; run {full}"
    if fetched:
        return f"git knows no revision {name}; run git fetch{fetched}"
    return f"git knows no revision {name}; write one commit: git branch --all and git log --oneline --all list them"


def find_merge_base(folder: Path, revision: str) -> str | None:
    """Return the merge base of ``revision`` and the commit that is checked out; ``None`` if git has no answer."""
    return _ask_line(folder, "merge-base", "--end-of-options", revision, "HEAD")


def find_renames(folder: Path, before: str, paths: Iterable[str], after: str | None = None) -> dict[str, str]:
    """Return the old name of each file that git detects as renamed between two commits, by its new name.

    :param paths: the old and new paths to look at, relative to the folder; empty for all.
    :param after: the full name of the later commit; ``None`` for the index (``git mv``).
    """
    how = ("-z", "--name-status", "--find-renames", "--diff-filter=R", "--relative", "--no-ext-diff", "--no-textconv")
    asked = ("diff-tree", "-r", *how, before, after) if after else ("diff-index", "--cached", *how, before)
    answer = ask_git(folder, *asked, "--", *paths)
    if answer is None or answer.returncode != 0:
        return {}
    names = [os.fsdecode(each) for each in answer.stdout.split(b"\0")]
    return dict(zip(names[2::3], names[1::3], strict=False))


def list_lines(folder: Path, *arguments: str) -> list[str]:
    """Return the lines of ``git rev-list`` or a similar command; raise NoRevision if git does not answer."""
    found = find_repository(folder)
    answer = _run(found.root, *found.arguments, *arguments, seconds=LONGEST_WALK)
    if answer.returncode != 0:
        why = printable(answer.stderr.decode("utf-8", "replace").strip().removeprefix("fatal: "))
        raise NoRevision(f"git cannot list the commits: {why}; clone without --filter, or run git fsck")
    return answer.stdout.decode("utf-8", "surrogateescape").split("\n")[:-1]


def ask_git(folder: Path, *arguments: str) -> Answer | None:
    """Run git in a folder; return ``None`` if there is no repository, or git does not answer."""
    try:
        return _run(folder, *find_repository(folder).arguments, *arguments)
    except NoRevision:
        return None


def _ask_line(folder: Path, *arguments: str) -> str | None:
    answer = ask_git(folder, *arguments)
    if answer is None or answer.returncode != 0:
        return None
    return answer.stdout.decode("utf-8", "replace").strip() or None


def _run(folder: Path, *arguments: str, above: Path | None = None, seconds: float | None = None) -> Answer:
    """:raises NoRevision: if there is no git, or if it does not answer."""
    patience = SECONDS if seconds is None else seconds
    try:
        return subprocess.run(  # noqa: S603  (arguments of our own, and revisions behind --end-of-options)
            make_command(*arguments),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=patience,
            check=False,
            env={**make_environment(), **({"GIT_CEILING_DIRECTORIES": str(above)} if above else {})},
        )
    except OSError:
        raise NoRevision("git is not installed; install it") from None
    except subprocess.TimeoutExpired:
        raise NoRevision(f"git did not answer within {patience:g} seconds; try again") from None
    except ValueError:  # no argument can have a NUL byte
        raise NoRevision("no name in git has a NUL byte; write another name") from None


def make_command(*arguments: str) -> list[str]:
    """Return a command for git; raise FileNotFoundError without one.

    Only absolute folders of ``PATH`` are searched: a relative one may be in the project.
    """
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    program = shutil.which("git", path=os.pathsep.join(filter(os.path.isabs, folders)))
    if program is None:
        raise FileNotFoundError
    return [program, *_SAFELY, *arguments]


def make_environment() -> Mapping[str, str]:
    """Return the environment variables for git."""
    own = {key: value for key, value in os.environ.items() if key not in _OF_ANOTHER_REPOSITORY}
    return {**own, **_SAFE_ENVIRONMENT}
