"""gitlab/bertsize.yml: a job that other projects include."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.support.git_projects import GitProject, committed, git
from tests.support.paths import HOSTILE, path_to, put_an_impostor_in, python_that, run_as_job
from tests.support.warm_helper import programs

if TYPE_CHECKING:
    from tests.support.warm_helper import Warm

pytestmark = pytest.mark.process

JOB: dict[str, Any] = yaml.safe_load((Path(__file__).parents[2] / "gitlab/bertsize.yml").read_text("utf-8"))["bertsize"]
BASH, SH = ("bash", "-e", "-o", "pipefail"), ("sh", "-e")
"""What runs a job, as the image has the one or the other."""


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

    def run(self, shell: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
        """Run the job's script, its lines in one shell."""
        own = {"GITLAB_CI": "true", "CI_PROJECT_DIR": str(self.folder), **JOB["variables"], **self.variables}
        return run_as_job([*shell, "-c", "\n".join(JOB["script"])], self.folder, self.path, **own)


@pytest.fixture
def runner(tmp_path: Path, tiny: dict[str, Any], warm: Warm) -> Runner:
    """A merge request that adds a layer to a model of three."""
    project = committed(tmp_path / "project", tiny)
    base = project.git("rev-parse", "main")
    project.write("config.json", {**tiny, "num_hidden_layers": 4})
    project.commit()
    (tmp_path / "bin").mkdir()
    path = path_to(programs(warm, tmp_path / "bin"))
    return Runner(project, path, {"CI_MERGE_REQUEST_DIFF_BASE_SHA": base})


def test_a_merge_request_within_its_budget_passes_and_is_compared_with_its_base(runner: Runner) -> None:
    done = runner.run(SH)
    assert done.returncode == 0, done.stdout
    assert "num_hidden_layers 3 → 4: +16,632" in done.stdout
    counted, line = done.stdout.splitlines()[-2:]
    assert counted == "1 configured, 1 checked, 0 failed; bertsize.json written; bertsize.html written"
    assert line == "fits: 59,549 → 76,181, +16,632 (+27.9%), num_hidden_layers 3 → 4; within its 90K"
    assert sorted(runner.project.git("ls-files", "--others").split()) == sorted(JOB["artifacts"]["paths"])


def test_a_model_over_its_budget_fails_at_its_line(runner: Runner, tiny: dict[str, Any]) -> None:
    (runner.folder / "all services").mkdir()
    runner.project.git("mv", "config.json", "pyproject.toml", "all services")
    runner.project.write("all services/config.json", {**tiny, "num_hidden_layers": 5})
    runner.project.commit()
    runner.variables["BERTSIZE_PROJECT"] = "all services"
    done = runner.run(BASH)
    assert done.returncode == 1
    told = "fits: 59,549 → 92,813, +33,264 (+55.9%), num_hidden_layers 3 → 5; over its 90K"
    assert done.stdout.endswith(f"\n{told}\n")
    assert "92,813" in (runner.folder / "bertsize.html").read_text("utf-8")
    (model,) = json.loads((runner.folder / "bertsize.json").read_text("utf-8"))["models"]
    (finding,) = (each for each in model["findings"] if each["severity"] == "error")
    assert (finding["kind"], finding["file"], finding["line"]) == ("over-budget", "pyproject.toml", 5)


@pytest.mark.parametrize(("shell", "before"), [(SH, ""), (BASH, "0" * 40), (SH, "main")])
def test_a_push_is_compared_with_the_push_before_it_and_a_schedule_with_itself(
    runner: Runner, shell: tuple[str, ...], before: str
) -> None:
    text = (runner.folder / "pyproject.toml").read_text("utf-8")
    runner.project.write("pyproject.toml", f'{text}budget.growth = "1%"\n')
    runner.project.commit()
    runner.variables = {"CI_COMMIT_BEFORE_SHA": runner.project.git("rev-parse", before) if before == "main" else before}
    done = runner.run(shell)
    assert done.returncode == (1 if before == "main" else 0), done.stdout
    assert ("growth 16,632, limit 595" in " ".join(done.stdout.split())) is (before == "main")  # 1% of 59,549


@pytest.mark.parametrize("shell", [BASH, SH], ids=["bash", "sh"])
def test_what_is_no_success_fails_and_says_what_to_write(
    runner: Runner, tmp_path: Path, shell: tuple[str, ...]
) -> None:
    bare = Runner(runner.project, path_to(python_that(tmp_path / "bare", "-S").parent)).run(shell)
    assert bare.returncode == 2
    first, second = bare.stdout.splitlines()
    assert first.startswith("ERROR: pytest-bertsize is not installed in the Python of this job")
    assert second == 'Write under "bertsize:" in .gitlab-ci.yml: before_script: ["pip install pytest-bertsize[build]"]'

    git(tmp_path, "clone", "--quiet", "--depth", "1", f"file://{runner.folder}", "shallow")
    shallow = Runner(GitProject(tmp_path / "shallow"), runner.path, runner.variables).run(shell)
    assert shallow.returncode == 2
    assert shallow.stdout.startswith("ERROR: --base=")
    assert "GitLab: GIT_DEPTH: 0" in shallow.stdout

    hostile = dict.fromkeys(("BERTSIZE_PROJECT", "CI_MERGE_REQUEST_DIFF_BASE_SHA"), HOSTILE)
    assert Runner(runner.project, runner.path, hostile).run(shell).returncode == 2
    assert not [*runner.folder.glob("**/pwned")]

    runner.project.write("pyproject.toml", "[tool.pytest.ini_options]\n")
    put_an_impostor_in(runner.folder)
    without = runner.run(shell)
    assert without.returncode == 2
    assert without.stdout.startswith(f"ERROR: {runner.folder}/pyproject.toml")
