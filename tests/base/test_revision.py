"""The revision that a run is compared with, and what is said of one that git does not have."""

from __future__ import annotations

import io
import json
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bertsize.__main__ import make_parser
from pytest_bertsize.base import NoRevision
from pytest_bertsize.base.baseline import Baseline
from pytest_bertsize.base.commit_files import CommitFiles
from pytest_bertsize.base.git import resolve_commit
from pytest_bertsize.base.run_base import find_base
from pytest_bertsize.builder.helper import Helper
from pytest_bertsize.commands.check import check
from pytest_bertsize.commands.console import MISTAKEN
from tests.support.git_projects import FITS, GitProject, committed, git, repository

if TYPE_CHECKING:
    from tests.conftest import Project


@pytest.fixture
def origin(tmp_path: Path, tiny: dict[str, Any]) -> GitProject:
    """``main`` has gone on since ``change`` left it; ``refs/pull/1/merge`` is the merge of the two."""
    found = committed(tmp_path / "origin", tiny)
    found.write("of_the_change", "1")
    found.commit()
    found.git("switch", "--quiet", "main")
    found.write("of_main", "1")
    found.commit()
    found.git("switch", "--quiet", "--detach", "main")
    found.git("merge", "--quiet", "--no-ff", "--message", "merge", "change")
    found.git("update-ref", "refs/pull/1/merge", "HEAD")
    found.git("switch", "--quiet", "change")
    return found


def why_not(folder: Path, revision: str) -> str:
    with pytest.raises(NoRevision) as caught:
        resolve_commit(folder, revision)
    return str(caught.value)


# what was asked for


@pytest.mark.parametrize(
    ("revision", "called"), [("main~0", "refs/tags/main"), ("origin/main", "refs/heads/origin/main")]
)
def test_a_name_that_a_tag_has_too_is_refused(origin: GitProject, revision: str, called: str) -> None:
    origin.git("update-ref", "refs/remotes/origin/main", "main")
    main = resolve_commit(origin.folder, revision)
    origin.git("update-ref", called, "change")
    origin.git("config", "core.warnAmbiguousRefs", "false")
    mend = "write its full name, as in refs/remotes/origin/main, refs/heads/main, refs/tags/v1 or a full hash"
    assert why_not(origin.folder, revision) == (f'"{revision}" may name more than one branch, tag or commit; {mend}')
    for name in ("refs/heads/main", "refs/remotes/origin/main", main):
        assert resolve_commit(origin.folder, name) == main
    origin.git("tag", main[:10], "change")
    assert f'"{main[:10]}" may name more than one branch, tag or commit' in why_not(origin.folder, main[:10])


# the request that CI runs for

MERGE = "refs/pull/1/merge"
OF_GITLAB = {"CI_MERGE_REQUEST_DIFF_BASE_SHA": "{left}"}
OF_QUEUE = {
    "GITHUB_EVENT_NAME": "merge_group",
    "GITHUB_EVENT_PATH": "{event}",
    "GITHUB_BASE_REF": "",
    "GITHUB_REF": "refs/heads/gh-readonly-queue/main/pr-1-abc",
}
"""Of the branch that a merge group goes into, GitHub sets nothing."""
BASES: dict[str, tuple[str, str | None, dict[str, str], tuple[str, str]]] = {
    "a branch that has moved on is compared where this one left it": ("change", "main", {}, ("main", "{left}")),
    "a branch that is ahead, too": ("{left}", "change", {}, ("change", "{left}")),
    "what is merged already is compared with its target itself": (MERGE, "{main}", {}, ("{main}", "{main}")),
    "gitlab names the merge base itself": ("change", None, OF_GITLAB, ("{left}", "{left}")),
    "gitlab's merged results are compared with the target itself": (
        *(MERGE, None),
        {**OF_GITLAB, "CI_MERGE_REQUEST_TARGET_BRANCH_SHA": "{main}"},
        ("{main}", "{main}"),
    ),
    "github's branch, and no tag of its name": ("change", None, {"GITHUB_BASE_REF": "main"}, ("origin/main", "{left}")),
    "a merge group is compared with what it merges into": (MERGE, None, OF_QUEUE, ("{main}", "{main}")),
}
"""What is checked out, what the option and CI say, and the base; ``{left}`` is where the change left ``main``."""


def words_of(origin: GitProject) -> dict[str, str]:
    """Write an event of GitHub's merge queue, and return what stands for its file, and for two commits."""
    main, left = origin.git("rev-parse", "main"), origin.git("merge-base", "main", "change")
    event = origin.folder.with_name("event.json")
    event.write_text(json.dumps({"merge_group": {"base_sha": main, "base_ref": "refs/heads/main"}}))
    return {"main": main, "left": left, "event": str(event)}


def test_the_base_is_where_the_change_left_what_it_goes_into(origin: GitProject) -> None:
    origin.git("update-ref", "refs/remotes/origin/main", "main")
    origin.git("tag", "origin/main", "change")
    words = words_of(origin)
    for case, (checked_out, asked, environment, base) in BASES.items():
        origin.git("switch", "--quiet", "--detach", checked_out.format(**words))
        said = {key: value.format(**words) for key, value in environment.items()}
        revision, commit = (each.format(**words) for each in base)
        found = find_base(origin.folder, asked and asked.format(**words), said)
        assert found == Baseline(revision, commit, is_asked_for=bool(asked)), case
    assert find_base(origin.folder, "none", {"GITHUB_BASE_REF": "main"}) is None


def test_only_the_parent_of_github_s_merge_commit_is_a_base(origin: GitProject, tmp_path: Path) -> None:
    """actions/checkout fetches the merge commit alone, without any branch of origin's."""
    found, main = repository(tmp_path / "clone"), origin.git("rev-parse", "main")
    found.git("fetch", "--quiet", "--depth", "3", f"file://{origin.folder}", MERGE)
    head = found.git("rev-parse", "FETCH_HEAD")
    for checked_out, reference, base in (
        (head, MERGE, ("HEAD^1", main)),
        (f"{head}^2", MERGE, ("origin/main", None)),  # ref: ${{ github.event.pull_request.head.sha }}
        (head, "refs/pull/1/head", ("origin/main", None)),
        (head, "", ("origin/main", None)),
    ):
        found.git("switch", "--quiet", "--detach", checked_out)
        environment = {"GITHUB_BASE_REF": "main", "GITHUB_REF": reference, "GITHUB_SHA": head}
        read = find_base(found.folder, None, environment)
        assert read is not None
        assert (read.revision, read.commit) == base


# the merge queue of GitHub


def test_an_event_that_does_not_name_its_base_is_said(origin: GitProject) -> None:
    words = words_of(origin)
    queued = {key: value.format(**words) for key, value in OF_QUEUE.items()}
    for event in ("", "{", '{"merge_group": null}', '{"merge_group": {"base_sha": "main"}}', "[" * 100_000):
        Path(words["event"]).write_text(event, encoding="utf-8")
        found = find_base(origin.folder, None, queued)
        assert found
        assert (found.commit, found.is_asked_for) == (None, False)
        assert found.problem.startswith('git knows no revision "refs/merge_group.base_sha"; ')


# what cannot be compared with


def refusal(project: GitProject, revision: str) -> str:
    """Return what ``check`` says, less the name of the option."""
    out, err = io.StringIO(), io.StringIO()
    given = make_parser().parse_args(["check", f"--base={revision}"])
    assert check(project.folder, Helper(), base=given.base, out=out, err=err) == MISTAKEN
    assert out.getvalue() == ""
    return err.getvalue().rstrip().removeprefix("ERROR: --base=")


REFUSED = [
    ("mian", 'mian: git knows no revision "mian"; write one commit: git branch --all and git log *'),
    ("--output=x", '--output=x: git knows no revision "--output=x"; *git branch*'),
    ("", ': git knows no revision ""; *git branch*'),
    ("main\0", r"main\x00: git knows no revision *; *"),
    ("main^!", "main^!: git knows no revision *; *"),
    ("main..change", 'main..change: git knows no revision "main..change"; write one commit: *'),
    ("\x1b[31m", r"\x1b[[]31m: git knows no revision *; *"),
    ("x" * 10_000, "xxx*…: git knows no revision *; *"),
]


def test_a_revision_that_is_none_is_refused(tmp_path: Path, tiny: dict[str, Any]) -> None:
    project = committed(tmp_path, tiny)
    for revision, said in REFUSED:
        pytest.LineMatcher([refusal(project, revision)]).fnmatch_lines([said])
    assert not Path("x").exists()


def test_pytest_refuses_as_the_command_does_and_an_empty_variable_in_the_option_disarms_nothing(
    project: Project, tiny: dict[str, Any]
) -> None:
    pytester = project("")
    found = committed(pytester.path, tiny)
    for arguments, said in (
        (("--bert-budget", "--bert-budget-base=mian"), f"--bert-budget-base={refusal(found, 'mian')}"),
        (("--bert-budget", "--bert-budget-base="), f"--bert-budget-base={refusal(found, '')}"),
        (("-q", "--bert-budget-base="), "--bert-budget-base needs --bert-budget: *"),
    ):
        result = pytester.runpytest(*arguments)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines([f"ERROR: {said}"])


def test_outside_of_a_repository_and_without_git_it_says_so(
    tmp_path: Path, tiny: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = GitProject(tmp_path / "project")
    found.write("config.json", tiny)
    found.declare(FITS)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    said = f"main: {found.folder} is not in a git repository; run this in a clone of the project"
    assert refusal(found, "main") == said
    committed(found.folder, tiny)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert refusal(found, "main") == "main: git is not installed; install it"


def do_as_told(folder: Path, message: str) -> None:
    """Run the one command that a message names."""
    told = re.search(r"run (git fetch[^(;]*)", message)
    assert told, message
    git(folder, *shlex.split(told[1])[1:])


@pytest.mark.parametrize(
    ("revision", "options"),
    [
        ("origin/main", ["--single-branch"]),
        ("origin/main", ["--depth", "1"]),
        ("change~1", ["--depth", "1", "--no-single-branch"]),
    ],
)
def test_what_the_message_says_mends_it(origin: GitProject, tmp_path: Path, revision: str, options: list[str]) -> None:
    found = GitProject(tmp_path / "clone")
    origin.git("clone", "--quiet", *options, f"file://{origin.folder}", str(found.folder))
    for _ in range(2):  # a shallow clone of one branch lacks two things
        try:
            resolve_commit(found.folder, revision)
        except NoRevision as error:
            do_as_told(found.folder, str(error))
    assert resolve_commit(found.folder, revision) == origin.git("rev-parse", revision.removeprefix("origin/"))


# no other repository, and no program of this one


LEADS = {
    "GIT_DIR": ".git",
    "GIT_WORK_TREE": "",
    "GIT_COMMON_DIR": ".git",
    "GIT_INDEX_FILE": ".git/index",
    "GIT_OBJECT_DIRECTORY": ".git/objects",
    "GIT_NAMESPACE": "elsewhere",
}


def test_what_a_hook_sets_leads_to_no_other_repository(
    tmp_path: Path, tiny: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    own = committed(tmp_path / "own", tiny)
    other = committed(tmp_path / "other", {**tiny, "num_hidden_layers": 2})
    expected = own.git("rev-parse", "main")
    for name, inner in LEADS.items():
        with monkeypatch.context() as patch:
            patch.setenv(name, str(other.folder / inner))
            assert resolve_commit(own.folder, "main") == expected != other.git("rev-parse", "main")
            with CommitFiles(own.folder, expected) as files:
                assert files.read("config.json") == (own.folder / "config.json").read_bytes()
