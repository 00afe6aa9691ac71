"""git is run over a folder that nobody trusts: no program of its is run, and no repository of its is taken for ours.

A change request may bring anything but a ``.git``. So it brings what git takes for a repository without one: ``HEAD``,
``config``, ``objects/`` and ``refs/`` in the folder of a project that is not the root of its repository.
"""

from __future__ import annotations

import io
import json
import os
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pytest_bertsize.base import NoRevision
from pytest_bertsize.base import git as git_module
from pytest_bertsize.base.git import ask_git, find_commit, find_renames, find_repository, resolve_commit
from pytest_bertsize.base.history import read_history
from pytest_bertsize.base.run_base import find_base
from pytest_bertsize.closed_forms.registry import Registry
from pytest_bertsize.commands.check import check
from pytest_bertsize.commands.console import FOUND
from pytest_bertsize.commands.init.files import Files
from pytest_bertsize.table.settings import load
from tests.conftest import TINY
from tests.support.git_projects import FITS, GitProject, repository

PROJECT = "services/search"
HOOKS = (
    *("post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc", "fsmonitor-watchman"),
    *("proc-receive", "pre-receive", "update", "post-update"),
)
SSH, GIT, FILE, EXT = "ssh://nowhere/x", "git://127.0.0.1:9/x", "file://{folder}/.git", "ext::{program}"
NAMES_A_PROGRAM = (
    *("core.fsmonitor", "core.pager", "core.editor", "interactive.diffFilter", "diff.external", "diff.trap.command"),
    *("merge.trap.driver", "pager.rev-parse", "pager.cat-file", "pager.merge-base", "pager.diff-tree"),
)
PROGRAMS: dict[str, dict[str, str]] = {
    # the remote that a lazy fetch asks
    "core.sshCommand": {"core.sshCommand": "{program}", "remote.origin.url": SSH},
    "core.gitProxy": {"core.gitProxy": "{program}", "remote.origin.url": GIT},
    "remote.uploadpack": {"remote.origin.uploadpack": "{program}", "remote.origin.url": FILE},
    "remote.vcs": {"remote.origin.vcs": "trap"},
    "protocol.ext.allow": {"protocol.ext.allow": "always", "remote.origin.url": EXT},
    "protocol.allow": {"protocol.allow": "always", "remote.origin.url": EXT},
    "url.insteadOf": {"protocol.ext.allow": "always", "url.{ext}.insteadOf": SSH, "remote.origin.url": SSH},
    "credential.helper": {"credential.helper": "!{program}", "remote.origin.url": "https://127.0.0.1:9/x"},
    "uploadpack.packObjectsHook": {"uploadpack.packObjectsHook": "{program}", "remote.origin.url": FILE},
    "core.alternateRefsCommand": {"core.alternateRefsCommand": "{program}", "remote.origin.url": FILE},
    "extensions.partialClone": {"extensions.partialClone": EXT, "protocol.ext.allow": "always"},
    # other files of settings
    "include.path": {"include.path": "{folder}/more", "remote.origin.url": SSH},
    "includeIf.path": {"includeIf.gitdir:/**.path": "{folder}/more", "remote.origin.url": SSH},
    # what is run over the work tree, or over what is shown of it
    "core.hooksPath": {"core.hooksPath": "{hooks}"},
    "diff.textconv": {"diff.trap.textconv": "{program}", "diff.trap.cachetextconv": "true"},
    "filter.clean": {"filter.trap.clean": "{program}", "filter.trap.required": "true"},
    "filter.smudge": {"filter.trap.smudge": "{program}", "filter.trap.required": "true"},
    "filter.process": {"filter.trap.process": "{program}", "filter.trap.required": "true"},
    "submodule.update": {"submodule.trap.update": "!{program}", "submodule.recurse": "true"},
    # who signs, and who answers
    "gpg.program": {"gpg.program": "{program}", "log.showSignature": "true", "commit.gpgSign": "true"},
    "gpg.ssh.program": {"gpg.ssh.program": "{program}", "gpg.format": "ssh", "log.showSignature": "true"},
    "gc.recentObjectsHook": {"gc.recentObjectsHook": "{program}", "gc.auto": "1"},
    # the name of what is called
    **{f"alias.{name}": {f"alias.{name}": "!{program}"} for name in ("rev-parse", "cat-file", "ls-tree", "ls-files")},
    **{key: {key: "{program}"} for key in NAMES_A_PROGRAM},
}
"""Keys by which git runs a program, in a command that reads, by what a repository would have to say."""
NO_REMOTE = {
    key: said for key, said in PROGRAMS.items() if not {"remote.origin.url", "remote.origin.vcs"} & said.keys()
}
AT_ONCE = [
    *({key: said} for key, said in PROGRAMS.items() if key not in NO_REMOTE or key == "extensions.partialClone"),
    {key: said for key, said in NO_REMOTE.items() if key != "extensions.partialClone"},
]
"""Those that do not contradict each other are set together: each of them would leave the same file behind."""
at_once = pytest.mark.parametrize("programs", AT_ONCE, ids=lambda programs: next(iter(programs)))


@dataclass(frozen=True)
class Place:
    """A repository with a project in one of its folders, and a program that leaves a file behind."""

    folder: Path

    @property
    def repository(self) -> GitProject:
        return GitProject(self.folder / "repository")

    @property
    def project(self) -> GitProject:
        return GitProject(self.repository.folder / PROJECT)

    @property
    def program(self) -> Path:
        return self.folder / "bin/git-remote-trap"

    @property
    def is_caught(self) -> bool:
        return (self.folder / "caught").exists()

    def set(self, file: Path, settings: dict[str, str]) -> None:
        """Write what settings say into a file of settings, which may not be the only one."""
        words = {"program": str(self.program), "hooks": str(self.folder / "hooks"), "folder": str(self.folder)}
        words["ext"] = EXT.format(**words)
        for key, value in settings.items():
            self.repository.git("config", "--file", str(file), key.format(**words), value.format(**words))

    def bring(self, where: str = PROJECT) -> Path:
        """Lay a repository without a ``.git`` into a folder of the project."""
        shutil.copytree(self.folder / "brought", self.repository.folder / where, dirs_exist_ok=True)
        return self.repository.folder / where / "config"


def with_its_history(folder: Path, tiny: dict[str, Any], limit: str) -> GitProject:
    """``HEAD^1`` has a limit, and ``HEAD`` lets 90K pass."""
    found = GitProject(folder)
    for total in (limit, "90K"):
        found.write("config.json", tiny)
        found.write(".gitattributes", "* filter=trap diff=trap merge=trap\n")
        found.declare(FITS.replace("90K", total))
        found.commit()
    return found


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Place:
    place = Place(tmp_path_factory.mktemp("git"))
    repository(place.repository.folder)
    with_its_history(place.project.folder, TINY, "60K")
    other = with_its_history(repository(place.folder / "other").folder, TINY, "1B")
    other.lose("HEAD^1:pyproject.toml")
    shutil.copytree(other.folder / ".git", place.folder / "brought")
    shutil.rmtree(other.folder)
    return place


@pytest.fixture
def place(template: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    found = Place(tmp_path / "place")
    shutil.copytree(template.folder, found.folder, symlinks=True)
    found.program.parent.mkdir()
    found.program.write_text(f"#!/bin/sh\ntouch {shlex.quote(str(found.folder / 'caught'))}\n")
    found.program.chmod(0o755)
    (found.folder / "hooks").mkdir()
    for name in HOOKS:
        (found.folder / "hooks" / name).symlink_to(found.program)
    found.set(found.folder / "more", {"core.sshCommand": "{program}"})
    monkeypatch.setenv("PATH", os.pathsep.join([str(found.program.parent), os.environ["PATH"]]))
    return found


def everything(project: GitProject, base: str = "HEAD^1") -> tuple[int, str]:
    """Ask git all that any of our commands does; return the status and the words of ``check``."""
    folder, out = project.folder, io.StringIO()
    for asked in (None, "mian"):
        find_base(folder, asked, {"GITHUB_BASE_REF": "main", "GITHUB_REF": "refs/pull/1/merge"})
    Files(folder)
    find_commit(folder)
    find_renames(folder, find_commit(folder) or "HEAD", ["config.json"])
    status = check(folder, None, [str(folder.parent / "report.json")], base=base, out=out, err=out)
    return status, " ".join(out.getvalue().split())


# a repository that the request brings


def test_no_program_is_run_that_a_repository_of_the_request_names(place: Place) -> None:
    """None of its settings is read, so that all of them can stand there together."""
    brought = place.bring()
    for settings in PROGRAMS.values():
        place.set(brought, settings)
    status, said = everything(place.project)
    assert not place.is_caught
    assert status == FOUND
    assert "the limit of total was 60K at HEAD^1 and is 90K now" in said
    report = json.loads((place.project.folder.parent / "report.json").read_text())
    assert report["commit"] == place.repository.git("rev-parse", "HEAD")


def test_no_repository_of_the_request_is_the_base(place: Place) -> None:
    for where in ("services", "."):
        place.bring(where)
        assert resolve_commit(place.project.folder, "HEAD^1") == place.repository.git("rev-parse", "HEAD^1")
        assert find_repository(place.project.folder).root == place.repository.folder


def test_without_a_git_folder_there_is_no_repository(place: Place) -> None:
    shutil.rmtree(place.repository.folder / ".git")
    brought = place.bring()
    bare = brought.read_text()
    for settings in ({}, {"core.bare": "true"}, {"core.bare": "false", "core.worktree": ".."}):
        brought.write_text(bare)
        place.set(brought, {**settings, **PROGRAMS["core.sshCommand"]})
        with pytest.raises(NoRevision, match="is not in a git repository"):
            resolve_commit(place.project.folder, "HEAD^1")
        assert find_commit(place.project.folder) is None
        assert ask_git(place.project.folder, "rev-parse", "HEAD") is None
    assert not place.is_caught


def test_a_git_folder_that_is_none_does_not_lead_to_what_lies_beside_it(place: Place) -> None:
    place.bring()
    (place.project.folder / ".git").mkdir()
    with pytest.raises(NoRevision, match="git finds no repository at"):
        resolve_commit(place.project.folder, "HEAD^1")


# the repository itself, whose settings a CI or an archive may bring


@at_once
def test_no_program_is_run_that_the_repository_itself_names(place: Place, programs: dict[str, dict[str, str]]) -> None:
    place.repository.lose(f"HEAD^1:{PROJECT}/pyproject.toml")
    for settings in programs.values():
        place.set(place.repository.folder / ".git/config", settings)
    shutil.copytree(place.folder / "hooks", place.repository.folder / ".git/hooks", symlinks=True, dirs_exist_ok=True)
    status, said = everything(place.project)
    assert not place.is_caught
    assert status != 0
    assert "pyproject.toml cannot be read, because this clone lacks it" in said


def test_no_program_is_run_over_a_history_whatever_the_repository_names(place: Place) -> None:
    place.repository.git("tag", "--annotate", "--message", "first", "v1", "HEAD^1")
    today = load(place.project.folder / "pyproject.toml")
    for settings in PROGRAMS.values():
        place.set(place.repository.folder / ".git/config", settings)
    for by_tag in (False, True):
        found = read_history(today, Registry(), "", by_tag=by_tag)
        assert [row.total for row in found.models[0].rows][:1] == [59_549]
    assert not place.is_caught


@pytest.mark.parametrize("unknown", ["GIT_NO_LAZY_FETCH", "GIT_ALLOW_PROTOCOL"])
def test_each_of_two_variables_keeps_a_git_that_does_not_know_the_other_from_the_remote(
    place: Place, monkeypatch: pytest.MonkeyPatch, unknown: str
) -> None:
    monkeypatch.delitem(git_module._SAFE_ENVIRONMENT, unknown)
    place.repository.lose(f"HEAD^1:{PROJECT}/pyproject.toml")
    place.set(place.repository.folder / ".git/config", PROGRAMS["core.sshCommand"])
    assert everything(place.project)[0] != 0
    assert not place.is_caught


def test_a_git_that_does_not_answer_is_not_waited_for(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    (place.program.parent / "git").write_text("#!/bin/sh\nexec sleep 60\n")
    (place.program.parent / "git").chmod(0o755)
    monkeypatch.setattr(git_module, "SECONDS", 0.05)
    with pytest.raises(NoRevision, match=r"^git did not answer within 0\.05 seconds; try again$"):
        resolve_commit(place.project.folder, "HEAD")
    assert find_commit(place.project.folder) is None


@pytest.mark.parametrize("key", ["protocol.ext.allow", "include.path"])
def test_git_alone_falls_into_the_trap(place: Place, key: str) -> None:
    place.set(place.bring(), PROGRAMS[key])
    arguments = ["git", "cat-file", "-p", "HEAD^1:pyproject.toml"]
    assert subprocess.run(arguments, cwd=place.project.folder, capture_output=True, check=False).returncode != 0
    assert place.is_caught


# which git, and whose repository


@pytest.mark.parametrize("entry", [".", "bin"])
def test_a_git_of_the_request_is_not_called(place: Place, monkeypatch: pytest.MonkeyPatch, entry: str) -> None:
    folder = place.project.folder
    own = folder / entry / "git"
    own.parent.mkdir(exist_ok=True)
    shutil.copy(place.program, own)
    monkeypatch.chdir(folder)
    expected = place.repository.git("rev-parse", "HEAD")
    monkeypatch.setenv("PATH", os.pathsep.join([entry, os.environ["PATH"]]))
    assert find_commit(folder) == expected
    assert not place.is_caught


def test_a_repository_of_somebody_else_is_not_trusted(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    with pytest.raises(NoRevision) as caught:
        resolve_commit(place.project.folder, "HEAD")
    root = place.repository.folder
    assert str(caught.value) == (
        f"the repository of {root} belongs to another user; run git config --global --add safe.directory {root}"
    )


def test_a_further_work_tree_is_that_of_its_repository(place: Place, tmp_path: Path) -> None:
    place.repository.git("worktree", "add", "--quiet", str(tmp_path / "tree"), "HEAD^1")
    place.bring()
    assert find_commit(tmp_path / "tree" / PROJECT) == place.repository.git("rev-parse", "HEAD^1")


def test_a_submodule_is_a_repository_of_its_own(place: Place, tmp_path: Path) -> None:
    outer = repository(tmp_path / "outer")
    add = ("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(place.repository.folder), "inner")
    outer.git(*add)
    outer.commit()
    assert find_commit(outer.folder / "inner" / PROJECT) == place.repository.git("rev-parse", "HEAD")
    assert find_repository(outer.folder / "inner").root == outer.folder / "inner"


def test_a_file_that_is_only_called_git_is_passed_over_and_one_that_names_no_repository_leads_to_none(
    place: Place,
) -> None:
    head, file = place.repository.git("rev-parse", "HEAD"), place.project.folder / ".git"
    for text in ("", "x gitdir: .git", "\xff"):
        file.write_text(text, encoding="latin-1")
        assert find_commit(place.project.folder) == head, text
    for text in ("gitdir: ", "gitdir: nowhere", "gitdir: ..", "gitdir: " + "x" * 9_999):
        file.write_text(text)
        assert find_commit(place.project.folder) is None, text


def test_a_replaced_commit_is_what_its_name_says(place: Place) -> None:
    head, before = (place.repository.git("rev-parse", name) for name in ("HEAD", "HEAD^1"))
    place.repository.git("replace", before, head)
    assert "60K at HEAD^1" in everything(place.project)[1]
