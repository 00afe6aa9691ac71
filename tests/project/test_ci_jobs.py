"""action.yml and gitlab/bertsize.yml: what a job of GitHub Actions or GitLab gets for a line, run as their runners do."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from pytest_bertsize.commands.check import check
from tests.support.git_projects import FITS, GitProject, committed, git
from tests.support.paths import HOSTILE, path_to, put_an_impostor_in, python_that, run_as_job
from tests.support.warm_helper import programs

if TYPE_CHECKING:
    from tests.support.warm_helper import Warm

pytestmark = pytest.mark.process

ACTION: dict[str, Any] = yaml.safe_load((Path(__file__).parents[2] / "action.yml").read_text("utf-8"))
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
CHECK, COUNTS, UPLOAD = (step["name"] for step in STEPS)
GITHUB_BASH = ("bash", "--noprofile", "--norc", "-eo", "pipefail")
"""What ``shell: bash`` means."""
EVENT = {"GITHUB_EVENT_NAME": "pull_request", "GITHUB_BASE_REF": "main", "GITHUB_HEAD_REF": "change"}


@dataclass
class Job:
    """A job of a workflow that has come to the step that uses the action, and what that step does."""

    workspace: Path
    temp: Path
    path: str
    """The PATH that the steps before have made."""
    event: Mapping[str, str] = field(default_factory=dict)
    """GITHUB_ variables of the event."""
    inputs: Mapping[str, str] = field(default_factory=dict)
    log: str = ""
    summary: str = ""
    statuses: dict[str, int] = field(default_factory=dict)
    """How the steps that were run ended, by their names."""
    uploads: list[dict[str, str]] = field(default_factory=list)
    """What the step that uses another action gives it."""
    step_outputs: dict[str, dict[str, str]] = field(default_factory=dict)

    def use(self, **inputs: str) -> Job:
        """Run the action, with inputs as ``with:`` names them."""
        self.inputs = {name: str(said["default"]) for name, said in ACTION["inputs"].items()} | inputs
        for step in STEPS:
            if self._is_due(step.get("if")):
                self.run(step)
        return self

    def run(self, step: Mapping[str, Any]) -> None:
        """Run the script of a step; note what a step gives to another action."""
        if "uses" in step:
            self.uploads.append({key: self.resolved(value) for key, value in step["with"].items()})
            return
        files = {"GITHUB_STEP_SUMMARY": self.temp / "summary.md", "GITHUB_OUTPUT": self.temp / f"{step['id']}.out"}
        for file in files.values():
            file.touch()
        given = {name: self.resolved(value) for name, value in step["env"].items()}
        done = run_as_job(
            [*GITHUB_BASH, "-c", step["run"]],
            self.workspace,
            self.path,
            GITHUB_ACTIONS="true",
            GITHUB_WORKSPACE=str(self.workspace),
            RUNNER_TEMP=str(self.temp),
            **{name: str(file) for name, file in files.items()},
            **self.event,
            **given,
        )
        self.log += done.stdout
        self.statuses[step["name"]] = done.returncode
        self.summary = files["GITHUB_STEP_SUMMARY"].read_text("utf-8")
        lines = files["GITHUB_OUTPUT"].read_text("utf-8").splitlines()
        self.step_outputs[step["id"]] = dict(line.split("=", 1) for line in lines)

    @property
    def outputs(self) -> dict[str, str]:
        return {name: self.resolved(said["value"]) for name, said in ACTION["outputs"].items()}

    @property
    def errors(self) -> list[str]:
        return [line for line in self.log.splitlines() if line.startswith("::error")]

    def _is_due(self, condition: str | None) -> bool:
        if condition is None:
            return not any(self.statuses.values())
        always, *terms = condition.split(" && ")
        assert always == "always()"
        return all(self._value(term.removesuffix(" != ''")) for term in terms)

    def resolved(self, text: object) -> str:
        """A text of the action with its expressions replaced by what they mean."""
        return re.sub(r"\$\{\{\s*([\w.-]+)\s*\}\}", lambda found: self._value(found[1]), str(text))

    def _value(self, name: str) -> str:
        match name.split("."):
            case ["runner", "temp"]:
                return str(self.temp)
            case ["inputs", key]:
                return self.inputs[key]
            case ["steps", step, "outputs", key] if any(step == each.get("id") for each in STEPS):
                return self.step_outputs.get(step, {}).get(key, "")  # of a step that was not run, GitHub says nothing
        raise ValueError(f"not an expression that is known here: {name}")


@pytest.fixture
def changed(tmp_path: Path, tiny: dict[str, Any]) -> GitProject:
    project = committed(tmp_path / "project", tiny)
    project.write("config.json", {**tiny, "num_hidden_layers": 4})
    project.commit()
    return project


@pytest.fixture
def path(tmp_path: Path, warm: Warm) -> str:
    """A PATH with programs whose helpers are forked."""
    (tmp_path / "bin").mkdir()
    return path_to(programs(warm, tmp_path / "bin"))


@pytest.fixture
def job(tmp_path: Path, path: str) -> Job:
    """A job whose checkout is not there yet."""
    (tmp_path / "temp").mkdir()
    return Job(tmp_path / "workspace", tmp_path / "temp", path)


def check_out(job: Job, project: GitProject, depth: int) -> None:
    """Check out what actions/checkout does in a pull request: the merge into the base, so many commits deep."""
    project.git("switch", "--quiet", "--create", "merge", "main")
    project.git("merge", "--quiet", "--no-ff", "--no-edit", "change")
    source, into = f"file://{project.folder}", job.workspace
    git(into.parent, "clone", "--quiet", "--depth", str(depth), "--branch", "merge", source, into.name)
    git(into, "checkout", "--quiet", "--detach")
    job.event = {**EVENT, "GITHUB_REF": "refs/pull/7/merge", "GITHUB_SHA": git(into, "rev-parse", "HEAD")}


# a run in GitHub Actions


def test_a_pull_request_within_its_budget_passes_and_is_compared_with_its_base(job: Job, changed: GitProject) -> None:
    check_out(job, changed, depth=2)
    assert job.use().statuses == {CHECK: 0, COUNTS: 0}, job.log
    assert "num_hidden_layers 3 → 4: +16,632" in job.log
    line = "fits: 59,549 → 76,181, +16,632 (+27.9%), num_hidden_layers 3 → 4; within its 90K"  # a layer of conftest's model
    assert f"<!-- pytest-bertsize report -->\n\n## ✅ {line}\n" in job.summary
    assert line in job.log
    outputs = job.outputs
    assert [outputs[key] for key in ("configured", "checked", "failed", "changed")] == ["1", "1", "0", "true"]
    assert Path(outputs["markdown"]).read_text("utf-8") == job.summary
    report = json.loads(Path(outputs["report"]).read_text("utf-8"))
    assert (report["base"]["commit"], report["complete"]) == (changed.git("rev-parse", "main"), True)
    folder = Path(outputs["page"]).parent
    assert job.uploads == [{"name": "bertsize", "path": str(folder), "if-no-files-found": "ignore"}]
    assert sorted(each.name for each in folder.iterdir()) == ["bertsize.html", "bertsize.json", "bertsize.md"]


def test_a_model_over_its_budget_fails_and_its_page_is_kept(job: Job, tiny: dict[str, Any]) -> None:
    project = committed(job.workspace, {**tiny, "num_hidden_layers": 5})
    (job.workspace / "all services").mkdir()
    project.git("mv", "config.json", "pyproject.toml", "all services")
    project.commit()
    job.use(project="all services", artifact="size of services")
    assert job.statuses == {CHECK: 1, COUNTS: 0}, job.log
    (error,) = job.errors
    assert error.startswith("::error file=all services/pyproject.toml,line=5,title=bertsize%3A fits::total is 92,813")
    assert "## ❌ fits: total 92,813, limit 90,000 (+2,813)" in job.summary
    assert [job.outputs[key] for key in ("configured", "checked", "failed")] == ["1", "1", "1"]
    (upload,) = job.uploads
    assert upload["name"] == "size of services"
    assert "92,813" in (Path(upload["path"]) / "bertsize.html").read_text("utf-8")


# what is no success


def test_a_python_without_the_package_fails_and_says_what_to_write(job: Job, tmp_path: Path) -> None:
    job.workspace.mkdir()
    job.path = path_to(python_that(tmp_path / "bare", "-S").parent)
    assert job.use().statuses == {CHECK: 2}
    assert job.uploads == []
    (line,) = job.log.splitlines()
    assert line.startswith("::error title=bertsize::pytest-bertsize is not installed in the Python of this job")
    assert '"- run: pip install pytest-bertsize[build]"' in line


def test_a_check_that_says_all_is_well_and_leaves_no_report_fails(job: Job, tmp_path: Path) -> None:
    job.workspace.mkdir()
    liar = python_that(tmp_path / "lies")
    liar.write_text(liar.read_text("utf-8").replace("exec ", '[ "$4" = check ] && exit 0\nexec '), encoding="utf-8")
    job.use(python=str(liar))
    assert job.statuses == {CHECK: 0, COUNTS: 1}
    assert job.log == "There is no report to read.\n"


@pytest.mark.parametrize("key", ["project", "base", "python"])
def test_what_an_input_says_is_not_run(job: Job, tiny: dict[str, Any], key: str) -> None:
    committed(job.workspace, tiny)
    job.use(**{"base": "unknown", "artifact": HOSTILE, key: f"{HOSTILE}\n::warning::pwned"})
    assert job.statuses[CHECK] == 2
    assert not [*job.workspace.parent.glob("**/pwned")]
    assert not [line for line in job.log.splitlines() if line.startswith("::warning")]


# what was compared


def count(job: Job, base: str | None = None) -> int:
    report = job.temp / "bertsize.json"
    with pytest.MonkeyPatch.context() as patch:
        for name, value in job.event.items():
            patch.setenv(name, value)
        assert check(job.workspace, None, [str(report)], base=base) == 0
    job.inputs, job.step_outputs = {"python": "python"}, {"check": {"report": str(report)}}
    job.run(STEPS[1])
    return job.statuses[COUNTS]


@pytest.mark.parametrize("is_head", [False, True], ids=["the merge alone", "the head and the commit before it"])
def test_a_pull_request_that_could_not_be_compared_fails_and_says_what_to_write(
    job: Job, changed: GitProject, *, is_head: bool
) -> None:
    changed.declare(FITS.replace("90K", "95K"))
    changed.commit()
    changed.write("README.md", "Nothing of a model.")
    changed.commit()
    check_out(job, changed, depth=2 if is_head else 1)
    if is_head:
        git(job.workspace, "fetch", "--quiet", "--depth", "2", "origin", "change")
        git(job.workspace, "checkout", "--quiet", "FETCH_HEAD")
    assert count(job) == 1
    (error,) = job.errors
    assert "::this was not compared with the base of the pull request, which is not in the clone" in error
    assert '"with: { fetch-depth: 2 }" under actions/checkout' in error
    assert job.outputs["configured"] == "1"
    assert count(job, "none") == 0


def test_a_pull_request_that_brings_the_first_table_passes(job: Job, tmp_path: Path, tiny: dict[str, Any]) -> None:
    project = committed(tmp_path / "project", tiny, "")
    project.declare(FITS)
    project.commit()
    check_out(job, project, depth=2)
    assert count(job) == 0


GITLAB: dict[str, Any] = yaml.safe_load((Path(__file__).parents[2] / "gitlab/bertsize.yml").read_text("utf-8"))[
    "bertsize"
]
BASH, SH = ("bash", "-e", "-o", "pipefail"), ("sh", "-e")
"""What runs a job, as the image has the one or the other."""


@dataclass
class Runner:
    project: GitProject
    path: str
    variables: dict[str, str] = field(default_factory=dict)
    """What GitLab and the project's own .gitlab-ci.yml say beside the job's variables."""

    @property
    def folder(self) -> Path:
        return self.project.folder

    def run(self, shell: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
        """Run the job's script, its lines in one shell."""
        own = {"GITLAB_CI": "true", "CI_PROJECT_DIR": str(self.folder), **GITLAB["variables"], **self.variables}
        return run_as_job([*shell, "-c", "\n".join(GITLAB["script"])], self.folder, self.path, **own)


@pytest.fixture
def runner(tmp_path: Path, tiny: dict[str, Any], path: str) -> Runner:
    """A merge request that adds a layer to a model of three."""
    project = committed(tmp_path / "project", tiny)
    base = project.git("rev-parse", "main")
    project.write("config.json", {**tiny, "num_hidden_layers": 4})
    project.commit()
    return Runner(project, path, {"CI_MERGE_REQUEST_DIFF_BASE_SHA": base})


def test_a_merge_request_within_its_budget_passes_and_is_compared_with_its_base(runner: Runner) -> None:
    done = runner.run(SH)
    assert done.returncode == 0, done.stdout
    assert "num_hidden_layers 3 → 4: +16,632" in done.stdout
    counted, line = done.stdout.splitlines()[-2:]
    assert counted == "1 configured, 1 checked, 0 failed; bertsize.json written; bertsize.html written"
    assert line == "fits: 59,549 → 76,181, +16,632 (+27.9%), num_hidden_layers 3 → 4; within its 90K"
    assert sorted(runner.project.git("ls-files", "--others").split()) == sorted(GITLAB["artifacts"]["paths"])


def test_a_model_over_its_budget_fails_at_its_line(runner: Runner, tiny: dict[str, Any]) -> None:
    (runner.folder / "all services").mkdir()
    runner.project.git("mv", "config.json", "pyproject.toml", "all services")
    runner.project.write("all services/config.json", {**tiny, "num_hidden_layers": 5})
    runner.project.commit()
    runner.variables["BERTSIZE_PROJECT"] = "all services"
    done = runner.run(BASH)
    assert done.returncode == 1
    told = "fits: 59,549 → 92,813, +33,264 (+55.9%), num_hidden_layers 3 → 5; total 92,813, limit 90,000 (+2,813)"
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
