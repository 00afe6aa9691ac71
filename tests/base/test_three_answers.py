"""A file of a base is there, is not there, or could not be read; and then it is never taken for nothing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from pytest_bertsize.base import commit_files
from pytest_bertsize.base.commit_files import CommitFiles, Unreadable
from pytest_bertsize.base.git import resolve_commit
from pytest_bertsize.builder.published import LARGEST
from pytest_bertsize.commands.console import FOUND, GOOD, MISTAKEN
from tests.support.git_projects import FITS, GitProject, committed, repository

LOOSE = FITS.replace("90K", "999K")
OTHER = FITS.replace("fits", "other").replace("config.json", "other.json")
PATTERN = '\n[tool.bertsize.models."gen-{stem}"]\nconfig = "gen/*.json"\nbudget.total = "90K"\n'
LOOSENED = "the limit of total was 90K at main and is 999K now"
MEND = "clone without --filter (GitHub: no filter under actions/checkout), or first run git "


@pytest.fixture
def project(tmp_path: Path, tiny: dict[str, Any]) -> GitProject:
    """``main`` limits a model to 90K, and the change lets 999K pass."""
    found = committed(tmp_path / "project", tiny)
    found.write("other.json", tiny)
    found.base_on(FITS)
    found.declare(LOOSE)
    return found


def main_declares(project: GitProject, table: str | bytes) -> None:
    """Have ``main`` say something else, and the change what it said."""
    change = (project.folder / "pyproject.toml").read_text()
    if isinstance(table, bytes):
        (project.folder / "pyproject.toml").write_bytes(table)
        project.commit()
        project.git("branch", "--force", "main")
    else:
        project.base_on(table)
    project.write("pyproject.toml", change)


# the table


@pytest.mark.parametrize("lost", ["main:pyproject.toml", "main^{tree}"])
def test_a_table_that_the_clone_lacks_is_a_mistake(project: GitProject, lost: str) -> None:
    main = project.git("rev-parse", "main")
    project.lose(lost)
    assert project.check() == (
        MISTAKEN,
        (
            "ERROR: --base=main: pyproject.toml cannot be read, because this clone lacks it or is damaged; "
            f"{MEND}show {main[:10]}:pyproject.toml, which fetches it from the remote"
        ),
    )


BROKEN: dict[str, tuple[str | bytes, str]] = {
    "no TOML": ("[tool.bertsize", "pyproject.toml:2: not TOML: "),
    "a byte order mark": (b"\xef\xbb\xbf" + FITS.encode(), "it begins with a byte order mark"),
    "UTF-16": (FITS.encode("utf-16"), "'utf-8' codec can't decode byte 0xff in position 0"),
    "no models": ("[tool.bertsize]\nmodel = 1\n", "unknown key; did you mean 'models'?"),
    "a megabyte": (b"#" * (LARGEST + 1), "the file is larger than 1,048,576 bytes"),
}


@pytest.mark.parametrize(("table", "said"), BROKEN.values(), ids=BROKEN)
def test_a_table_that_is_none_is_a_mistake(project: GitProject, table: str | bytes, said: str) -> None:
    main_declares(project, table)
    status, text = project.check()
    assert status == MISTAKEN
    assert text.startswith("ERROR: --base=main: the table at main cannot be read: ")
    assert said in text
    assert text.endswith("; compare with a commit in which it can be read, as in --base=main~1")


@pytest.mark.parametrize("target", ["../outside.toml", "pyproject.toml"])
def test_a_table_behind_a_symlink_that_leads_out_is_a_mistake(project: GitProject, target: str) -> None:
    table = project.folder / "pyproject.toml"
    table.unlink()
    table.symlink_to(target)
    project.commit()
    project.git("branch", "--force", "main")
    table.unlink()
    project.declare(LOOSE)
    status, said = project.check()
    assert status == MISTAKEN
    assert "pyproject.toml at main is a symlink that leads to no file of the repository; compare with " in said


def test_a_base_that_nobody_has_asked_for_is_said_not_to_be_compared(
    project: GitProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    main_declares(project, "[tool.bertsize")
    project.git("update-ref", "refs/remotes/origin/main", "main")
    monkeypatch.setenv("GITHUB_BASE_REF", "main")
    status, said = project.check(base=None)
    assert status == GOOD
    assert "! not compared with origin/main: the table at origin/main cannot be read: " in said


# one model of it


def test_a_mistake_in_one_table_is_no_excuse_for_another(project: GitProject) -> None:
    main_declares(project, FITS + OTHER.replace("budget", "budjet"))
    project.declare(LOOSE + OTHER)
    status, said = project.check()
    assert status == FOUND
    assert f"fits: 59,549 parameters, as at main, by the closed form, not built; pyproject.toml:5: {LOOSENED}" in said
    unread = "its table at main cannot be read"
    assert f"other: 59,549 parameters, {unread}, by the closed form, not built; pyproject.toml:7: {unread}: " in said
    assert '→ compare with a commit in which it can be read, or say why in the same change: reason = "…"' in said
    assert "! not compared with main: other" in said
    project.declare(FITS)
    status, said = project.check()
    assert status == FOUND
    assert "ERROR: removed: main declares other (its table there cannot be read: pyproject.toml:" in said
    give = "if you meant to remove it, give the reason in the same change"
    assert f'and this table does not; {give}: [tool.bertsize.removed] other = "…"' in said


def test_a_reason_of_the_same_change_explains_a_table_that_could_not_be_read(project: GitProject) -> None:
    main_declares(project, f'{FITS}    reason = "was"\n    colour = 1\n')
    for reason, severity in (("was", "error"), ("mended", "note")):
        project.declare(f'{FITS}    reason = "{reason}"\n')
        (found,) = [finding for finding in project.review().findings if finding.kind == "not-compared"]
        assert found.severity == severity
        assert found.message.startswith("its table at main cannot be read: pyproject.toml:")


# a config


def test_a_config_that_the_clone_lacks_fails_its_model_alone(project: GitProject, tiny: dict[str, Any]) -> None:
    project.write("other.json", {**tiny, "num_hidden_layers": 2})
    main_declares(project, FITS + OTHER)
    project.declare(FITS + OTHER)
    project.commit()
    main = project.git("rev-parse", "main")[:10]
    project.lose("main:other.json")
    assert project.errors() == []
    lacks = "at main it cannot be counted: other.json cannot be read, because this clone lacks it or is damaged"
    assert project.errors("other") == [f"{lacks}; {MEND}show {main}:other.json, which fetches it from the remote"]
    assert project.said("other") == (lacks,)


@pytest.mark.parametrize("is_lost", [True, False], ids=["a config that the clone lacks", "a table with a mistake"])
def test_what_cannot_be_compared_is_an_error_where_somebody_has_asked_for_the_base(
    project: GitProject, monkeypatch: pytest.MonkeyPatch, tiny: dict[str, Any], *, is_lost: bool
) -> None:
    main_declares(project, FITS + ("" if is_lost else "    colour = 1\n"))
    project.git("update-ref", "refs/remotes/origin/main", "main")
    monkeypatch.setenv("GITHUB_BASE_REF", "main")
    if is_lost:
        project.lose("main:config.json")
        project.write("config.json", tiny)
    for asked, severity in (("main", "error"), (None, "warning")):
        found = project.review(asked=asked).findings
        (lacks,) = [finding for finding in found if finding.kind == "not-compared"]
        assert (lacks.severity, bool(lacks.fix)) == (severity, True)
        assert any(LOOSENED.partition(" at ")[0] in finding.message for finding in found) == is_lost


# the files of a pattern


@pytest.fixture
def generated(project: GitProject, tiny: dict[str, Any]) -> GitProject:
    """A model of each file that git ignores, beside one of a file that it knows."""
    project.write(".gitignore", "gen/\n")
    main_declares(project, FITS + PATTERN)
    project.write("gen/a.json", tiny)
    project.declare(FITS + PATTERN)
    return project


def test_a_pattern_of_files_that_git_ignores_is_no_excuse_for_another_model_and_its_limit_is_held(
    generated: GitProject,
) -> None:
    assert generated.errors("gen-a") == []
    generated.declare(FITS + PATTERN.replace("90K", "999K"))
    (error,) = generated.errors("gen-a")
    assert LOOSENED in error
    generated.declare(LOOSE + PATTERN)
    status, said = generated.check()
    assert status == FOUND
    assert f"fits: 59,549 parameters, as at main, by the closed form, not built; pyproject.toml:5: {LOOSENED}" in said
    main = generated.git("rev-parse", "main")[:10]
    assert f"→ gen-a against main ({main}) at main it cannot be counted: gen/a.json is not a file" in said
    assert "! not compared with main: gen-a" in said


def test_a_table_of_files_that_are_nowhere_cannot_be_read(generated: GitProject) -> None:
    generated.write("gen2/a.json", (generated.folder / "gen/a.json").read_text())
    (generated.folder / "gen/a.json").unlink()
    generated.declare(FITS + PATTERN.replace("gen/", "gen2/").replace("90K", "999K"))
    (error,) = generated.errors("gen-a")
    assert 'its table at main cannot be read: pyproject.toml:8: tool.bertsize.models."gen-{stem}".config: ' in error
    generated.declare(FITS)
    assert left_without_a_word(generated) == ["gen-{stem}"]


def left_without_a_word(project: GitProject) -> list[str]:
    found = project.baseline()
    assert found
    return [left.name for left in found.left if left.is_loosened]


def test_files_that_cannot_be_listed_are_no_files_that_are_not_there(generated: GitProject) -> None:
    generated.write("deep/er/file.json", "{}")
    main_declares(generated, FITS + PATTERN.replace("gen/", "**/"))
    generated.lose("main:deep/er")
    (error,) = generated.errors("gen-a")
    assert "deep/er cannot be read, because this clone lacks it" in error
    assert generated.errors() == []


ELSEWHERE = (
    *("nothing", "config.json/x", "folder", "folder/", ".", "", "../project/config.json", "/etc/passwd", "round"),
    *("out", "absolute", "dangling", "x" * 300, "inner", "inner/config.json"),
)


def test_what_is_no_file_of_the_commit_is_not_there(project: GitProject) -> None:
    project.write("folder/file", "x")
    for link, target in {"round": "round", "out": "../../x", "absolute": "/config.json", "dangling": "no"}.items():
        (project.folder / link).symlink_to(target)
    repository(project.folder / "inner").write("config.json", "{}")
    GitProject(project.folder / "inner").commit()
    with CommitFiles(project.folder, project.commit()) as files:
        there = [path for path in ELSEWHERE if files.read(path) is not None]
    assert there == []


def test_what_is_a_file_of_the_commit_is_read(tmp_path: Path) -> None:
    project = repository(tmp_path)
    for name in ("a file", "ü", "a\udcff"):
        (tmp_path / os.fsencode(name).decode("utf-8", "surrogateescape")).write_bytes(b"x\n")
    project.write("folder/inner/file", "x\n")
    for link, target in {"folder/up": "../a file", "linked": "folder/up", "link": "folder/inner"}.items():
        (tmp_path / link).symlink_to(target)
    (tmp_path / "far").symlink_to("link/../../linked")
    with CommitFiles(tmp_path, project.commit()) as files:
        for path in ("a file", "ü", "folder/../a file", "./a file", "a\udcff", "linked", "far", "folder/up"):
            assert files.read(path) == b"x\n", path


ANSWERS = (*("", "\n", "NAME missing\n", "NAME blob\n", "NAME blob x\n\n", "NAME blob 99\n", "NAME blob 1\nx"),)


def test_an_answer_of_git_that_is_cut_off_is_none(
    project: GitProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = resolve_commit(project.folder, "main")
    program = ["sh", "-c", 'read line; cat "$0"', str(tmp_path / "answer")]
    monkeypatch.setattr(commit_files, "make_command", lambda *_: program)
    for answer in ANSWERS:
        (tmp_path / "answer").write_text(answer.replace("NAME", commit))
        with CommitFiles(project.folder, commit) as files:
            for _ in range(2):  # then it has ended
                with pytest.raises(Unreadable, match=r"cannot be read, because this clone lacks it or is damaged"):
                    files.read("config.json")


# symlinks that a change lays in the way


def test_a_symlink_that_leads_elsewhere_takes_no_model_of_a_pattern_with_it(
    tmp_path: Path, tiny: dict[str, Any]
) -> None:
    project = repository(tmp_path / "project")
    for file in ("v1/a.json", "v1/b.json", "v2/a.json"):
        project.write(file, tiny)
    link = project.folder / "gen"
    link.symlink_to("v1")
    project.declare(PATTERN)
    project.commit()
    link.unlink()
    link.symlink_to("v2")
    assert left_without_a_word(project) == ["gen-b"]
    project.declare(PATTERN + LOOSE.replace("fits", "b").replace("config.json", "v1/b.json"))
    (error,) = project.errors("b")
    assert LOOSENED in error


@pytest.mark.parametrize(
    ("before", "now", "target"),
    [("services/tagger", "services/tagger", "other"), (".", "linked", ".")],
    ids=["in place of the project", "that no commit has"],
)
def test_a_symlink_to_the_project_makes_no_new_one(
    tmp_path: Path, tiny: dict[str, Any], before: str, now: str, target: str
) -> None:
    whole = repository(tmp_path / "project")
    found = GitProject(whole.folder / before)
    found.write("config.json", tiny)
    found.declare(FITS)
    whole.commit()
    if before == now:
        found.folder.rename(found.folder.with_name(target))
    (whole.folder / now).symlink_to(target)
    whole.git("add", "--all")
    linked = GitProject(whole.folder / now)
    linked.declare(LOOSE)
    (error,) = linked.errors()
    assert LOOSENED in error
