"""The interpreter that counts every model is not changed by the table alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_bertsize.builder.helper import Helper
from pytest_bertsize.commands.console import FOUND, GOOD, MISTAKEN
from tests.support.git_projects import FITS, GitProject, committed

OURS = '[tool.bertsize]\npython = "ours/python"\n' + FITS
THEIRS = '[tool.bertsize]\npython = "theirs/python"\n' + FITS
SAID = "a change of the table alone does not replace the interpreter"


@pytest.fixture
def change(tmp_path: Path, tiny: dict[str, Any]) -> GitProject:
    return committed(tmp_path / "change", tiny)


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        (FITS, THEIRS, 'it is "theirs/python", and main has none'),
        (OURS, THEIRS, 'it is "theirs/python", and main has "ours/python"'),
        (OURS, FITS, 'there is none, and main has "ours/python"'),
    ],
    ids=["one that is new", "another", "none any more"],
)
def test_an_interpreter_that_the_base_does_not_name_is_not_run(
    change: GitProject, before: str, after: str, what: str
) -> None:
    change.base_on(before)
    change.declare(after)
    for name in ("ours", "theirs"):
        change.write(f"{name}/python", "#!/bin/sh\ntouch ran\n")
        (change.folder / name / "python").chmod(0o755)
    status, said = change.check(helper=Helper())
    assert status == MISTAKEN
    assert f"tool.bertsize.python: {what}: {SAID}" in said
    assert "name it in the command until the base has it, as in --python=" in said
    assert not (change.folder / "ran").exists()


def test_one_that_the_command_names_is_run_whatever_table_and_base_say(change: GitProject, tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\nexit 3\n")
    python.chmod(0o755)
    change.declare(THEIRS)
    status, said = change.check(helper=Helper(), python=str(python))
    assert (status, (tmp_path / "ran").exists()) == (FOUND, True)
    assert SAID not in said


def test_one_that_is_the_bases_is_no_change(change: GitProject) -> None:
    change.base_on(OURS)
    assert change.check()[0] == GOOD


def test_one_that_the_command_names_is_a_program_even_if_nothing_is_built(change: GitProject, tmp_path: Path) -> None:
    status, said = change.check(python=str(tmp_path))
    assert status == MISTAKEN
    assert f'--python: "{tmp_path}" is not a program that can be run' in said
