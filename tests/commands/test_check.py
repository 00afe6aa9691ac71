"""``bertsize check``: the same gate, where no code of the project has a say."""

from __future__ import annotations

import io
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_bertsize.builder.helper import Helper
from pytest_bertsize.commands.check import check
from pytest_bertsize.commands.console import FOUND, GOOD, MISTAKEN
from tests.conftest import FITS, TABLE
from tests.support.warm_helper import command

if TYPE_CHECKING:
    from tests.conftest import Project
    from tests.support.warm_helper import Warm


Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(warm: Warm) -> Run:
    """As CI runs it: a fresh interpreter in the project's folder."""

    def check(*arguments: str) -> subprocess.CompletedProcess[str]:
        line = command(warm, "-m", "pytest_bertsize", "check", *arguments, flags=["-I"])
        return subprocess.run(line, capture_output=True, text=True, check=False)

    return check


def test_a_finding_is_printed_as_pytest_prints_it(project: Project) -> None:
    pytester = project(TABLE)
    out = io.StringIO()
    assert check(Path(), Helper(), out=out) == FOUND
    inside = pytester.runpytest("--bert-budget").stdout.str()
    text = out.getvalue()
    assert "bursts: head 2,549, limit 2,548 (+1)" in text
    assert text.partition("\n\n   model")[0] in inside
    assert text.endswith(
        "2 configured, 2 checked, 1 failed\n1 of 2 models failed: bursts; head 2,549, limit 2,548 (+1)\n"
    )


# nobody else's code


@pytest.mark.process
def test_no_conftest_and_no_module_of_the_project_is_run(
    project: Project, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    burglar = "from pathlib import Path\nPath(__file__).with_suffix('.was_here').touch()\n"
    names = ("conftest", "sitecustomize", "torch", "transformers", "pytest_bertsize", "json")
    project(TABLE, None, **dict.fromkeys(names, burglar))
    monkeypatch.setenv("PYTHONPATH", str(Path.cwd()))
    done = run()
    assert done.returncode == FOUND
    assert "2 configured, 2 checked, 1 failed" in done.stdout
    assert list(Path.cwd().glob("*.was_here")) == []


# models that cannot be read


def test_a_model_that_cannot_be_read_fails_and_the_others_are_checked(project: Project) -> None:
    project(TABLE + '\n    [tool.bertsize.models.lost]\n    config = "lost.json"\n    budget = "report-only"\n')
    out = io.StringIO()
    assert check(Path(), Helper(), out=out) == FOUND
    assert re.search(r"lost: pyproject\.toml:\d+: lost\.json: there is no such file", out.getvalue())
    line = "2 of 3 models failed: bursts, lost; worst: lost, config-invalid"
    assert out.getvalue().endswith(f"3 configured, 3 checked, 2 failed\n{line}\n")


# one model of several, several projects


def test_a_model_that_is_named_is_checked_alone(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project(TABLE)
    for ci, status in ("", GOOD), ("true", FOUND):
        monkeypatch.setenv("CI", ci)
        out, err = io.StringIO(), io.StringIO()
        assert check(Path(), None, names=["fits"], out=out, err=err) == status
        assert "2 configured, 1 checked, 0 failed" in out.getvalue()
        assert "NOT CHECKED: bursts" in (err if ci else out).getvalue().splitlines()[-1]
    assert check(Path(), None, names=["bursts"], out=out, err=err) == FOUND


def test_several_projects_are_checked_one_after_the_other_and_a_model_by_its_test_id(
    project: Project, run: Run
) -> None:
    project(TABLE)
    for folder, table in ("a", TABLE), ("b", FITS):
        Path(folder).mkdir()
        Path(folder, "config.json").write_text(Path("config.json").read_text())
        Path(folder, "pyproject.toml").write_text(table)
    done = run("--no-build", "--project", "a", "--project", "b")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (FOUND, "2 projects, failed: a")
    assert "bursts: head 2,549" in done.stdout
    done = run("--no-build", "--project", "a", "--project", "b", "--report", "size.json")
    assert done.returncode == MISTAKEN
    assert "--report is for one project" in done.stderr
    done = run("pyproject.toml::fits", "--no-build")
    assert (done.returncode, done.stderr) == (GOOD, "")
    assert "✓  fits   BertForMaskedLM      59,549     60K  +451" in done.stdout
    assert "2 configured, 1 checked, 0 failed" in done.stdout
