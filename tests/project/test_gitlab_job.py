"""gitlab/bertsize.yml: a job that other projects include."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.git_projects import GitProject, committed, git
from tests.support.paths import path_to, put_an_impostor_in, python_that

FILE = Path(__file__).parents[2] / "gitlab" / "bertsize.yml"
JOBS: dict[str, Any] = yaml.safe_load(FILE.read_text("utf-8"))
JOB = JOBS["bertsize"]
BASH, SH = ("bash", "-e", "-o", "pipefail"), ("sh", "-e")
"""What runs a job, as the image has the one or the other."""
SHELLS = pytest.mark.parametrize("shell", [BASH, SH], ids=["bash", "sh"])


@dataclass
class Runner:
    """A runner that has cloned a project."""

    project: GitProject
    path: str
    variables: dict[str, str] = field(default_factory=dict)
    """What GitLab and the project's own .gitlab-ci.yml say beside the job's variables."""

    @property
    def folder(self) -> Path:
        return self.project.folder

    def run(self, shell: Sequence[str] = BASH) -> subprocess.CompletedProcess[str]:
        """Run the job's script, its lines in one shell."""
        return subprocess.run(
            [*shell, "-c", "\n".join(JOB["script"])],
            cwd=self.folder,
            env={
                "PATH": self.path,
                "HOME": str(self.folder.parent),
                "GIT_CONFIG_GLOBAL": os.devnull,
                "GIT_CONFIG_NOSYSTEM": "1",
                "CI": "true",
                "GITLAB_CI": "true",
                "CI_PROJECT_DIR": str(self.folder),
                **JOB["variables"],
                **self.variables,
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )


@pytest.fixture
def runner(tmp_path: Path, tiny: dict[str, Any]) -> Runner:
    """A merge request that adds a layer to a model of three."""
    project = committed(tmp_path / "project", tiny)
    base = project.git("rev-parse", "main")
    project.write("config.json", {**tiny, "num_hidden_layers": 4})
    project.commit()
    path = path_to(python_that(tmp_path / "bin"))
    return Runner(project, path, {"CI_MERGE_REQUEST_DIFF_BASE_SHA": base})


# a run


@pytest.mark.process
def test_a_merge_request_within_its_budget_passes_and_is_compared_with_its_base(runner: Runner) -> None:
    done = runner.run(SH)
    assert done.returncode == 0, done.stdout
    assert "num_hidden_layers 3 → 4: +16,632" in done.stdout
    written = "bertsize.json written; bertsize.html written"
    counted, line = done.stdout.splitlines()[-2:]
    assert counted == f"1 configured, 1 checked, 0 failed; {written}"
    assert line == "fits: 59,549 → 76,181, +16,632 (+27.9%), num_hidden_layers 3 → 4; within its 90K"
    named = JOB["artifacts"]["paths"]
    assert sorted(runner.project.git("ls-files", "--others").split()) == sorted(named)


@pytest.mark.process
def test_a_model_over_its_budget_fails_at_its_line(runner: Runner, tiny: dict[str, Any]) -> None:
    (runner.folder / "all services").mkdir()
    runner.project.git("mv", "config.json", "pyproject.toml", "all services")
    runner.project.write("all services/config.json", {**tiny, "num_hidden_layers": 5})
    runner.project.commit()
    runner.variables["BERTSIZE_PROJECT"] = "all services"
    done = runner.run()
    assert done.returncode == 1
    told = "fits: 59,549 → 92,813, +33,264 (+55.9%), num_hidden_layers 3 → 5; over its 90K"
    assert done.stdout.endswith(f"\n{told}\n")
    assert "92,813" in (runner.folder / "bertsize.html").read_text("utf-8")
    (model,) = json.loads((runner.folder / "bertsize.json").read_text("utf-8"))["models"]
    (finding,) = (each for each in model["findings"] if each["severity"] == "error")
    assert (finding["kind"], finding["file"], finding["line"]) == ("over-budget", "pyproject.toml", 5)


@pytest.mark.process
@pytest.mark.parametrize(("shell", "before"), [(SH, ""), (BASH, "0" * 40), (SH, "main")])
def test_a_push_is_compared_with_the_push_before_it_and_a_schedule_with_itself(
    runner: Runner, shell: Sequence[str], before: str
) -> None:
    text = (runner.folder / "pyproject.toml").read_text("utf-8")
    runner.project.write("pyproject.toml", f'{text}budget.growth = "1%"\n')
    runner.project.commit()
    runner.variables = {"CI_COMMIT_BEFORE_SHA": runner.project.git("rev-parse", before) if before == "main" else before}
    done = runner.run(shell)
    assert done.returncode == (1 if before == "main" else 0), done.stdout
    assert ("growth 16,632, limit 595" in " ".join(done.stdout.split())) is (before == "main")  # 1% of 59,549


# what is no success


@pytest.mark.process
@SHELLS
def test_a_python_without_the_package_fails_and_says_what_to_write(
    runner: Runner, tmp_path: Path, shell: Sequence[str]
) -> None:
    runner.path = path_to(python_that(tmp_path / "bare", "-S"))
    done = runner.run(shell)
    assert done.returncode == 2
    first, second = done.stdout.splitlines()
    assert first.startswith("ERROR: pytest-bertsize is not installed in the Python of this job")
    assert second == 'Write under "bertsize:" in .gitlab-ci.yml: before_script: ["pip install pytest-bertsize[build]"]'


@pytest.mark.process
@SHELLS
def test_a_base_that_is_not_in_the_clone_fails_and_says_what_to_write(
    runner: Runner, tmp_path: Path, shell: Sequence[str]
) -> None:
    git(tmp_path, "clone", "--quiet", "--depth", "1", f"file://{runner.folder}", "shallow")
    runner.project = GitProject(tmp_path / "shallow")
    done = runner.run(shell)
    assert done.returncode == 2
    assert done.stdout.startswith("ERROR: --base=")
    assert "GitLab: GIT_DEPTH: 0" in done.stdout


@pytest.mark.process
@SHELLS
def test_a_project_without_a_table_fails_whatever_package_it_has(runner: Runner, shell: Sequence[str]) -> None:
    runner.project.write("pyproject.toml", "[tool.pytest.ini_options]\n")
    put_an_impostor_in(runner.folder)
    done = runner.run(shell)
    assert done.returncode == 2
    assert done.stdout.startswith(f"ERROR: {runner.folder}/pyproject.toml")


@pytest.mark.process
@SHELLS
def test_what_a_variable_says_is_not_run(runner: Runner, shell: Sequence[str]) -> None:
    hostile = ".$(touch pwned)`touch pwned`\"; touch pwned; \"'; touch pwned; '"
    runner.variables |= {"BERTSIZE_PROJECT": hostile, "CI_MERGE_REQUEST_DIFF_BASE_SHA": hostile}
    assert runner.run(shell).returncode == 2
    assert not [*runner.folder.glob("**/pwned")]
