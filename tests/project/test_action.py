"""action.yml: what a job of GitHub Actions gets for one line."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.git_projects import FITS, GitProject, committed, git
from tests.support.paths import path_to, python_that

# the steps of the action, run as GitHub's runner runs them; what a step uses is noted, and not run

FILE = Path(__file__).parents[2] / "action.yml"
ACTION: dict[str, Any] = yaml.safe_load(FILE.read_text("utf-8"))
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
_BASH = ("bash", "--noprofile", "--norc", "-eo", "pipefail")
"""What ``shell: bash`` means."""
_EXPRESSION = re.compile(r"\$\{\{\s*([\w.-]+)\s*\}\}")
_IS_NOT_EMPTY = re.compile(r"([\w.-]+) != ''")


@dataclass
class Job:
    """A job of a workflow that has come to the step that uses the action."""

    workspace: Path
    temp: Path
    path: str
    """The PATH that the steps before have made."""
    event: Mapping[str, str] = field(default_factory=dict)
    """GITHUB_ variables of the event."""

    def use(self, **inputs: str) -> Use:
        """Run the action, with inputs as ``with:`` names them."""
        used = Use(self, {name: str(said["default"]) for name, said in ACTION["inputs"].items()} | inputs)
        for number, step in enumerate(STEPS):
            used.come_to(step, number)
        return used


@dataclass
class Use:
    """One run of the action."""

    job: Job
    inputs: Mapping[str, str]
    log: str = ""
    summary: str = ""
    statuses: dict[str, int] = field(default_factory=dict)
    """How the steps that were run ended, by their names."""
    uploads: list[dict[str, str]] = field(default_factory=list)
    """What the steps that use another action give it."""
    step_outputs: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        return any(self.statuses.values())

    @property
    def outputs(self) -> dict[str, str]:
        return {name: self.resolved(said["value"]) for name, said in ACTION["outputs"].items()}

    def come_to(self, step: Mapping[str, Any], number: int) -> None:
        if not self._is_due(step.get("if")):
            return
        if "uses" in step:
            self.uploads.append({key: self.resolved(value) for key, value in step["with"].items()})
            return
        self.run(step, self.job.temp.parent / f"step{number}")

    def run(self, step: Mapping[str, Any], files: Path) -> int:
        """Run the script of a step.

        :param files: a new folder for the files in which it leaves outputs and its page.
        """
        files.mkdir()
        (files / "script.sh").write_text(step["run"], encoding="utf-8")
        done = subprocess.run(
            [*_BASH, str(files / "script.sh")],
            cwd=self.job.workspace,
            env=self._environment(step, files),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        self.log += done.stdout
        self.statuses[step["name"]] = done.returncode
        self.summary += read_text(files / "summary")
        lines = read_text(files / "output").splitlines()
        self.step_outputs[step.get("id", step["name"])] = dict(line.split("=", 1) for line in lines)
        return done.returncode

    def _environment(self, step: Mapping[str, Any], files: Path) -> dict[str, str]:
        job = self.job
        return {
            "PATH": job.path,
            "HOME": str(job.temp.parent),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_WORKSPACE": str(job.workspace),
            "GITHUB_STEP_SUMMARY": str(files / "summary"),
            "GITHUB_OUTPUT": str(files / "output"),
            "RUNNER_TEMP": str(job.temp),
            **job.event,
            **{name: self.resolved(value) for name, value in step["env"].items()},
        }

    def _is_due(self, condition: str | None) -> bool:
        if condition is None:
            return not self.failed
        terms = condition.split(" && ")
        if "always()" not in terms:
            raise ValueError(f"not a condition that is known here: {condition}")
        return all(self._is_not_empty(term) for term in terms if term != "always()")

    def _is_not_empty(self, term: str) -> bool:
        if not (found := _IS_NOT_EMPTY.fullmatch(term)):
            raise ValueError(f"not a condition that is known here: {term}")
        return self._value(found[1]) != ""

    def resolved(self, text: object) -> str:
        """A text of the action with its expressions replaced by what they mean."""
        return _EXPRESSION.sub(lambda found: self._value(found[1]), str(text))

    def _value(self, name: str) -> str:
        match name.split("."):
            case ["runner", "temp"]:
                return str(self.job.temp)
            case ["inputs", key]:
                return self.inputs[key]
            case ["steps", step, "outputs", key] if any(step == each.get("id") for each in STEPS):
                return self.step_outputs.get(step, {}).get(key, "")  # of a step that was not run, GitHub says nothing
        raise ValueError(f"not an expression that is known here: {name}")


def read_text(path: Path) -> str:
    return path.read_text("utf-8") if path.exists() else ""


CHECK, COUNTS, UPLOAD = (step["name"] for step in STEPS)
PULL_REQUEST = {
    "GITHUB_EVENT_NAME": "pull_request",
    "GITHUB_BASE_REF": "main",
    "GITHUB_HEAD_REF": "change",
    "GITHUB_REF": "refs/pull/7/merge",
}


@pytest.fixture
def changed(tmp_path: Path, tiny: dict[str, Any]) -> GitProject:
    """A project whose branch ``change`` adds a layer."""
    project = committed(tmp_path / "project", tiny)
    project.write("config.json", {**tiny, "num_hidden_layers": 4})
    project.commit()
    return project


@pytest.fixture
def job(tmp_path: Path) -> Job:
    """A job whose checkout is not there yet."""
    (tmp_path / "temp").mkdir()
    return Job(tmp_path / "workspace", tmp_path / "temp", path_to(python_that(tmp_path / "bin")))


def check_out(job: Job, project: GitProject, depth: int) -> None:
    """Check out what actions/checkout does in a pull request: the merge into the base, so many commits deep."""
    project.git("switch", "--quiet", "--create", "merge", "main")
    project.git("merge", "--quiet", "--no-ff", "--no-edit", "change")
    source = f"file://{project.folder}"
    git(
        job.workspace.parent, "clone", "--quiet", "--depth", str(depth), "--branch", "merge", source, job.workspace.name
    )
    git(job.workspace, "checkout", "--quiet", "--detach")
    job.event = {**PULL_REQUEST, "GITHUB_SHA": git(job.workspace, "rev-parse", "HEAD")}


def lay(job: Job, config: dict[str, Any]) -> GitProject:
    """Check out what a push brings: a project of one commit."""
    return committed(job.workspace, config)


def errors_in(use: Use) -> list[str]:
    return [line for line in use.log.splitlines() if line.startswith("::error")]


def report_of(use: Use) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(use.outputs["report"]).read_text("utf-8"))
    return found


# a run


@pytest.mark.process
def test_a_pull_request_within_its_budget_passes_and_is_compared_with_its_base(job: Job, changed: GitProject) -> None:
    check_out(job, changed, depth=2)
    use = job.use()
    assert use.statuses == {CHECK: 0, COUNTS: 0}, use.log
    assert "num_hidden_layers 3 → 4: +16,632" in use.log
    line = "fits: 59,549 → 76,181, +16,632 (+27.9%), num_hidden_layers 3 → 4; within its 90K"  # a layer of conftest's model
    assert f"<!-- pytest-bertsize report -->\n\n## ✅ {line}\n" in use.summary
    assert line in use.log
    outputs = use.outputs
    assert [outputs[key] for key in ("configured", "checked", "failed", "changed")] == ["1", "1", "0", "true"]
    assert Path(outputs["markdown"]).read_text("utf-8") == use.summary
    assert report_of(use)["base"]["commit"] == changed.git("rev-parse", "main")
    assert report_of(use)["complete"] is True
    assert "<title>" in Path(outputs["page"]).read_text("utf-8")
    folder = str(Path(outputs["page"]).parent)
    assert use.uploads == [{"name": "bertsize", "path": folder, "if-no-files-found": "ignore"}]
    assert sorted(each.name for each in Path(folder).iterdir()) == ["bertsize.html", "bertsize.json", "bertsize.md"]


@pytest.mark.process
def test_a_model_over_its_budget_fails_and_its_page_is_kept(job: Job, tiny: dict[str, Any]) -> None:
    project = lay(job, {**tiny, "num_hidden_layers": 5})
    (job.workspace / "all services").mkdir()
    project.git("mv", "config.json", "pyproject.toml", "all services")
    project.commit()
    use = job.use(project="all services", artifact="size of services")
    assert use.statuses == {CHECK: 1, COUNTS: 0}, use.log
    (error,) = errors_in(use)
    assert error.startswith("::error file=all services/pyproject.toml,line=5,title=bertsize%3A fits::total is 92,813")
    assert "## ❌ fits: total 92,813, limit 90,000 (+2,813)" in use.summary
    assert [use.outputs[key] for key in ("configured", "checked", "failed")] == ["1", "1", "1"]
    (upload,) = use.uploads
    assert upload["name"] == "size of services"
    assert "92,813" in (Path(upload["path"]) / "bertsize.html").read_text("utf-8")


# what is no success


@pytest.mark.process
def test_a_project_without_a_table_fails(job: Job) -> None:
    job.workspace.mkdir()
    use = job.use()
    assert use.statuses == {CHECK: 2, COUNTS: 1}
    assert f"ERROR: {job.workspace}/pyproject.toml" in use.log
    assert use.outputs["failed"] == ""


@pytest.mark.process
def test_a_python_without_the_package_fails_and_says_what_to_write(
    job: Job, tmp_path: Path, tiny: dict[str, Any]
) -> None:
    lay(job, tiny)
    job.path = path_to(python_that(tmp_path / "bare", "-S"))
    use = job.use()
    assert use.statuses == {CHECK: 2}
    assert use.uploads == []
    (line,) = use.log.splitlines()
    assert line.startswith("::error title=bertsize::pytest-bertsize is not installed in the Python of this job")
    assert '"- run: pip install pytest-bertsize[build]"' in line


@pytest.mark.process
def test_a_check_that_says_all_is_well_and_leaves_no_report_fails(
    job: Job, tmp_path: Path, tiny: dict[str, Any]
) -> None:
    lay(job, tiny)
    liar = python_that(tmp_path / "lies")
    text = liar.read_text("utf-8").replace("exec ", '[ "$4" = check ] && exit 0\nexec ')
    liar.write_text(text, encoding="utf-8")
    use = job.use(python=str(liar))
    assert use.statuses == {CHECK: 0, COUNTS: 1}
    assert use.log == "There is no report to read.\n"


@pytest.mark.process
@pytest.mark.parametrize("key", ["project", "base", "python", "artifact"])
def test_what_an_input_says_is_not_run(job: Job, tiny: dict[str, Any], key: str) -> None:
    lay(job, tiny)
    hostile = ".$(touch pwned)`touch pwned`\"; touch pwned; \"'; touch pwned; '\n::warning::pwned"
    use = job.use(**{"base": "unknown", key: hostile})
    assert use.statuses[CHECK] == 2
    assert not [*job.workspace.glob("**/pwned"), *job.temp.glob("**/pwned")]
    assert not [line for line in use.log.splitlines() if line.startswith("::warning")]


# what was compared


def counts(job: Job, *arguments: str) -> Use:
    """Run the step that reads the report of a check that built nothing."""
    folder = job.temp / "bertsize"
    folder.mkdir()
    command = [sys.executable, "-I", "-m", "pytest_bertsize", "check", "--no-build", *arguments]
    report = folder / "bertsize.json"
    environment = {"PATH": job.path, **job.event}
    subprocess.run([*command, "--report", str(report)], cwd=job.workspace, env=environment, check=True)
    use = Use(job, {"python": "python"}, step_outputs={"check": {"folder": str(folder), "report": str(report)}})
    use.come_to(next(step for step in STEPS if step["name"] == COUNTS), 0)
    return use


@pytest.mark.process
def test_a_pull_request_that_could_not_be_compared_fails_and_says_what_to_write(job: Job, changed: GitProject) -> None:
    check_out(job, changed, depth=1)
    use = counts(job)
    assert use.statuses == {COUNTS: 1}
    (error,) = errors_in(use)
    assert "::this was not compared with the base of the pull request, which is not in the clone" in error
    assert '"with: { fetch-depth: 2 }" under actions/checkout' in error
    assert use.outputs["configured"] == "1"


@pytest.mark.process
def test_a_pull_request_whose_head_is_checked_out_is_not_compared_with_the_commit_before_it(
    job: Job, changed: GitProject
) -> None:
    changed.declare(FITS.replace("90K", "95K"))
    changed.commit()
    changed.write("README.md", "Nothing of a model.")
    changed.commit()
    check_out(job, changed, depth=2)
    git(job.workspace, "fetch", "--quiet", "--depth", "2", "origin", "change")
    git(job.workspace, "checkout", "--quiet", "FETCH_HEAD")
    use = counts(job)
    assert use.statuses == {COUNTS: 1}
    assert "::this was not compared with the base of the pull request" in use.log


@pytest.mark.process
def test_a_pull_request_that_shall_be_compared_with_nothing_passes(job: Job, changed: GitProject) -> None:
    check_out(job, changed, depth=1)
    assert counts(job, "--base", "none").statuses == {COUNTS: 0}


@pytest.mark.process
def test_a_pull_request_that_brings_the_first_table_passes(job: Job, tmp_path: Path, tiny: dict[str, Any]) -> None:
    project = committed(tmp_path / "project", tiny, "")
    project.declare(FITS)
    project.commit()
    check_out(job, project, depth=2)
    assert counts(job).statuses == {COUNTS: 0}
