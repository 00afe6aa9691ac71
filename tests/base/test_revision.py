"""The revision that a run is compared with, and what is said of one that git does not have."""

from __future__ import annotations

import io
import json
import re
import shlex
from collections.abc import Mapping
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


def clone(origin: GitProject, folder: Path, *options: str) -> GitProject:
    git(origin.folder, "clone", "--quiet", *options, f"file://{origin.folder}", str(folder))
    return GitProject(folder)


def pull_request(origin: GitProject, folder: Path, depth: int) -> GitProject:
    """Fetch what actions/checkout does: the merge commit alone, without any branch of origin's."""
    found = repository(folder)
    found.git("fetch", "--quiet", "--depth", str(depth), f"file://{origin.folder}", "refs/pull/1/merge")
    found.git("switch", "--quiet", "--detach", "FETCH_HEAD")
    return found


def why_not(folder: Path, revision: str) -> str:
    with pytest.raises(NoRevision) as caught:
        resolve_commit(folder, revision)
    return str(caught.value)


# what was asked for


@pytest.mark.parametrize(
    ("revision", "called"),
    [("main", "refs/tags/main"), ("main~0", "refs/tags/main"), ("origin/main", "refs/heads/origin/main")],
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


def test_a_tag_that_is_called_like_an_abbreviated_commit_is_not_taken_for_it(origin: GitProject) -> None:
    main = origin.git("rev-parse", "main")
    origin.git("tag", main[:10], "change")
    assert f'"{main[:10]}" may name more than one branch, tag or commit' in why_not(origin.folder, main[:10])


def test_none_compares_with_nothing_not_even_in_a_request(origin: GitProject) -> None:
    assert find_base(origin.folder, "none", {"GITHUB_BASE_REF": "main"}) is None


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


@pytest.mark.parametrize(("checked_out", "asked", "environment", "base"), BASES.values(), ids=BASES)
def test_the_base_is_where_the_change_left_what_it_goes_into(
    origin: GitProject, checked_out: str, asked: str | None, environment: dict[str, str], base: tuple[str, str]
) -> None:
    origin.git("update-ref", "refs/remotes/origin/main", "main")
    origin.git("tag", "origin/main", "change")
    words = words_of(origin)
    origin.git("switch", "--quiet", "--detach", checked_out.format(**words))
    said = {key: value.format(**words) for key, value in environment.items()}
    found = find_base(origin.folder, asked and asked.format(**words), said)
    revision, commit = (each.format(**words) for each in base)
    assert found == Baseline(revision, commit, is_asked_for=bool(asked))


@pytest.mark.parametrize(
    ("checked_out", "reference", "name"),
    [
        ("HEAD", MERGE, "HEAD^1"),
        ("HEAD^2", MERGE, "origin/main"),  # ref: ${{ github.event.pull_request.head.sha }}
        *(("HEAD", reference, "origin/main") for reference in ("refs/heads/change", "refs/pull/1/head", "")),
    ],
)
def test_only_the_parent_of_github_s_merge_commit_is_a_base(
    origin: GitProject, tmp_path: Path, checked_out: str, reference: str, name: str
) -> None:
    found = pull_request(origin, tmp_path / "clone", 2)
    head = found.git("rev-parse", "HEAD")
    environment = {"GITHUB_BASE_REF": "main", "GITHUB_REF": reference, "GITHUB_SHA": head}
    found.git("switch", "--quiet", "--detach", checked_out)
    base = find_base(found.folder, None, environment)
    assert base is not None
    assert (base.revision, base.commit) == (name, origin.git("rev-parse", "main") if name == "HEAD^1" else None)


@pytest.mark.parametrize(
    "environment",
    [{"CI_MERGE_REQUEST_DIFF_BASE_SHA": "0" * 40}, {"GITHUB_BASE_REF": "gone"}, {"GITHUB_BASE_REF": "--help"}],
    ids=lambda environment: next(iter(environment.values())),
)
def test_a_default_that_git_does_not_have_is_no_mistake(origin: GitProject, environment: Mapping[str, str]) -> None:
    base = find_base(origin.folder, None, environment)
    assert base is not None
    assert base.commit is None
    assert base.problem.startswith("git knows no revision")


def test_a_run_says_that_it_was_not_compared_and_keeps_its_verdict(
    project: Project, tiny: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester = project("")
    committed(pytester.path, tiny)
    monkeypatch.setenv("GITHUB_BASE_REF", "main")
    result = pytester.runpytest("--bert-budget", "--bert-budget-report=report.json")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(
        ["! not compared with origin/main: git knows no revision*", "1 configured, 1 checked, 0 failed*"]
    )


# the merge queue of GitHub


@pytest.mark.parametrize(
    "event",
    [
        "",
        "{",
        '{"merge_group": null}',
        '{"merge_group": {"base_sha": "main"}}',
        '{"merge_group": {"base_sha": "--help"}}',
        "[" * 100_000,
    ],
    ids=lambda event: event[:40],
)
def test_an_event_that_does_not_name_its_base_is_said(origin: GitProject, event: str) -> None:
    words = words_of(origin)
    queued = {key: value.format(**words) for key, value in OF_QUEUE.items()}
    Path(words["event"]).write_text(event, encoding="utf-8", errors="surrogateescape")
    said = "the event's file (GITHUB_EVENT_PATH) does not have it; name the base with the option, or none"
    assert find_base(origin.folder, None, queued) == Baseline("merge_group.base_sha", None, said, is_asked_for=False)


def test_a_merge_group_that_loosens_a_budget_fails(
    project: Project, tiny: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester = project("")
    found = committed(pytester.path, tiny)
    found.declare(FITS.replace("90K", "999K"))
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"merge_group": {"base_sha": found.git("rev-parse", "main")}}))
    monkeypatch.setenv("GITHUB_EVENT_NAME", "merge_group")
    monkeypatch.setenv("GITHUB_EVENT_PATH", str(event))
    result = pytester.runpytest("--bert-budget", "--bert-budget-no-build")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "the limit of total was 90K at" in " ".join(result.stdout.str().split())


# what cannot be compared with: one line, and 4 from pytest, 2 from the command line


def refusal(pytester: pytest.Pytester, revision: str) -> str:
    """Return what both entries say, less the name of the option."""
    result = pytester.runpytest("--bert-budget", f"--bert-budget-base={revision}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    inside = [line for line in result.stderr.lines if line]
    given = make_parser().parse_args(["check", f"--base={revision}"])
    out, err = io.StringIO(), io.StringIO()
    assert check(pytester.path, Helper(), base=given.base, out=out, err=err) == MISTAKEN
    assert out.getvalue() == ""
    assert inside == [err.getvalue().rstrip().replace("--base", "--bert-budget-base")]
    return inside[0].removeprefix("ERROR: --bert-budget-base=")


@pytest.mark.parametrize(
    ("revision", "said"),
    [
        ("mian", "mian: git knows no revision \"mian\"; did you mean 'main'?"),
        ("HAED", "HAED: git knows no revision \"HAED\"; did you mean 'HEAD'?"),
        ("release", 'release: git knows no revision "release"; run git fetch origin *release*'),
        ("--output=x", '--output=x: git knows no revision "--output=x"; *git branch*'),
        ("", ': git knows no revision ""; *git branch*'),
        ("main\0", r"main\x00: git knows no revision *; did you mean 'main'?"),
        ("main:config.json", "main:config.json: git knows no revision *; *"),
        ("HEAD~9", 'HEAD~9: git knows no revision "HEAD~9"; git log --oneline --all lists the commits'),
        ("main^!", "main^!: git knows no revision *; *"),
        ("main..change", 'main..change: "main..change" is a range, not a single commit; write "main"'),
        ("\x1b[31m", r"\x1b[[]31m: git knows no revision *; *"),
        ("x" * 10_000, "xxx*…: git knows no revision *; *"),
    ],
)
def test_a_revision_that_is_none_is_refused(project: Project, tiny: dict[str, Any], revision: str, said: str) -> None:
    pytester = project("")
    committed(pytester.path, tiny)
    pytest.LineMatcher([refusal(pytester, revision)]).fnmatch_lines([said])
    assert not Path("x").exists()


def test_an_empty_variable_in_the_option_disarms_nothing(project: Project) -> None:
    pytester = project(FITS)
    for given, said in (
        ("--bert-budget", "--bert-budget-base=: *"),
        ("-q", "--bert-budget-base needs --bert-budget: *"),
    ):
        result = pytester.runpytest(given, "--bert-budget-base=")
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines([f"ERROR: {said}"])


def test_outside_of_a_repository_it_says_where_it_is(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    pytester = project(FITS)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(pytester.path.parent))
    said = refusal(pytester, "main")
    assert said == f"main: {pytester.path} is not in a git repository; run this in a clone of the project"


def test_without_git_it_says_so(project: Project, tiny: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    pytester = project("")
    committed(pytester.path, tiny)
    monkeypatch.setenv("PATH", str(pytester.path))
    assert refusal(pytester, "main") == "main: git is not installed; install it"


def do_as_told(folder: Path, message: str) -> None:
    """Run the one command that a message names."""
    told = re.search(r"run (git fetch[^(;]*)", message)
    assert told, message
    git(folder, *shlex.split(told[1])[1:])


@pytest.mark.parametrize("options", [["--single-branch"], ["--depth", "1"], ["--depth", "1", "--no-single-branch"]])
@pytest.mark.parametrize("revision", ["origin/main", "change~1"])
def test_what_the_message_says_mends_it(origin: GitProject, tmp_path: Path, options: list[str], revision: str) -> None:
    found = clone(origin, tmp_path / "clone", *options)
    for _ in range(2):  # a shallow clone of one branch lacks two things
        try:
            resolve_commit(found.folder, revision)
        except NoRevision as error:
            do_as_told(found.folder, str(error))
    assert resolve_commit(found.folder, revision) == origin.git("rev-parse", revision.removeprefix("origin/"))


# no other repository, and no program of this one


@pytest.mark.parametrize(
    ("name", "inner"),
    [
        ("GIT_DIR", ".git"),
        ("GIT_WORK_TREE", ""),
        ("GIT_COMMON_DIR", ".git"),
        ("GIT_INDEX_FILE", ".git/index"),
        ("GIT_OBJECT_DIRECTORY", ".git/objects"),
        ("GIT_NAMESPACE", "elsewhere"),
    ],
)
def test_what_a_hook_sets_leads_to_no_other_repository(
    tmp_path: Path, tiny: dict[str, Any], monkeypatch: pytest.MonkeyPatch, name: str, inner: str
) -> None:
    own = committed(tmp_path / "own", tiny)
    other = committed(tmp_path / "other", {**tiny, "num_hidden_layers": 2})
    expected = own.git("rev-parse", "main")
    monkeypatch.setenv(name, str(other.folder / inner))
    assert resolve_commit(own.folder, "main") == expected != other.git("rev-parse", "main")
    with CommitFiles(own.folder, expected) as files:
        assert files.read("config.json") == (own.folder / "config.json").read_bytes()
