"""action.yml and gitlab/bertsize.yml: what a job of GitHub Actions or GitLab gets for a line, run as their runners do."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import CompletedProcess
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from pytest_bertsize.commands.check import check
from tests.support.git_projects import FITS, GitProject, committed, git
from tests.support.paths import path_to, put_an_impostor_in, python_that, run_apart
from tests.support.warm_helper import programs

if TYPE_CHECKING:
    from tests.support.warm_helper import Warm

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
GITLAB: dict[str, Any] = yaml.safe_load((ROOT / "gitlab/bertsize.yml").read_text("utf-8"))["bertsize"]
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
CHECK, COUNTS, _ = (step["name"] for step in STEPS)
GITHUB_BASH = ("bash", "--noprofile", "--norc", "-eo", "pipefail")
"""What ``shell: bash`` means."""
EVENT = {"GITHUB_EVENT_NAME": "pull_request", "GITHUB_BASE_REF": "main", "GITHUB_HEAD_REF": "change"}
HOSTILE = ".$(touch pwned)`touch pwned`\"; touch pwned; \"'; touch pwned; '"
"""A value that a careless shell would run."""


@pytest.fixture
def changed(tmp_path: Path, tiny: dict[str, Any]) -> GitProject:
    """A request that adds a layer to a model of three."""
    project = committed(tmp_path / "project", tiny)
    project.write("config.json", {**tiny, "num_hidden_layers": 4})
    project.commit()
    return project


@pytest.fixture
def path(tmp_path: Path, warm: Warm) -> str:
    """A PATH with programs whose helpers are forked."""
    (tmp_path / "bin").mkdir()
    return path_to(programs(warm, tmp_path / "bin"))


# a run in GitHub Actions


@dataclass
class Job:
    """A job of a workflow that has come to the step that uses the action, and what that step does."""

    workspace: Path
    temp: Path
    path: str
    event: Mapping[str, str] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=dict)
    """Of the action's expressions."""
    log: str = ""
    summary: str = ""
    statuses: dict[str, int] = field(default_factory=dict)
    uploads: list[dict[str, str]] = field(default_factory=list)

    def use(self, **inputs: str) -> Job:
        """Run the action, with inputs as ``with:`` names them."""
        given = {name: str(said["default"]) for name, said in ACTION["inputs"].items()} | inputs
        self.values = {"runner.temp": str(self.temp), **{f"inputs.{name}": value for name, value in given.items()}}
        for step in STEPS:
            always, *needed = step.get("if", "always()").split(" && ")
            assert always == "always()"
            if all(self.value_of(each.removesuffix(" != ''")) for each in needed):
                self.run(step)
        return self

    def run(self, step: Mapping[str, Any]) -> None:
        """Run the script of a step; note what a step gives to another action."""
        if "uses" in step:
            self.uploads.append({key: self.resolve(value) for key, value in step["with"].items()})
            return
        summary, output = self.temp / "summary.md", self.temp / f"{step['id']}.out"
        summary.touch()
        output.touch()
        own = {"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": str(self.workspace), "RUNNER_TEMP": str(self.temp)}
        files = {"GITHUB_STEP_SUMMARY": str(summary), "GITHUB_OUTPUT": str(output)}
        given = {name: self.resolve(value) for name, value in step["env"].items()}
        command = [*GITHUB_BASH, "-c", step["run"]]
        done = run_apart(command, self.workspace, self.path, **own, **files, **self.event, **given)
        self.log += done.stdout
        self.statuses[step["name"]] = done.returncode
        self.summary = summary.read_text("utf-8")
        lines = (line.split("=", 1) for line in output.read_text("utf-8").splitlines())
        self.values |= {f"steps.{step['id']}.outputs.{name}": value for name, value in lines}

    def resolve(self, text: object) -> str:
        return re.sub(r"\$\{\{\s*([\w.-]+)\s*\}\}", lambda found: self.value_of(found[1]), str(text))

    def value_of(self, name: str) -> str:
        """Return the value of an expression; of a step that was not run, GitHub says nothing."""
        assert name in self.values or re.fullmatch(r"steps\.(check|counts)\.outputs\.\w+", name), name
        return self.values.get(name, "")

    @property
    def outputs(self) -> dict[str, str]:
        return {name: self.resolve(said["value"]) for name, said in ACTION["outputs"].items()}

    @property
    def errors(self) -> list[str]:
        return [line for line in self.log.splitlines() if line.startswith("::error")]


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
    job.use(project="all services", artifact="size of services")
    assert job.statuses == {CHECK: 1, COUNTS: 0}, job.log
    (error,) = job.errors
    assert error.startswith("::error file=all services/pyproject.toml,line=5,title=bertsize%3A fits::total is 92,813")
    assert "## ❌ fits: total 92,813, limit 90,000 (+2,813)" in job.summary
    assert [job.outputs[key] for key in ("configured", "checked", "failed")] == ["1", "1", "1"]
    (upload,) = job.uploads
    assert upload["name"] == "size of services"
    assert "92,813" in (Path(upload["path"]) / "bertsize.html").read_text("utf-8")


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
    assert job.use(python=str(liar)).statuses == {CHECK: 0, COUNTS: 1}
    assert job.log == "There is no report to read.\n"


@pytest.mark.parametrize("key", ["project", "base", "python"])
def test_what_an_input_says_is_not_run(job: Job, tiny: dict[str, Any], key: str) -> None:
    committed(job.workspace, tiny)
    job.use(**{"base": "unknown", "artifact": HOSTILE, key: f"{HOSTILE}\n::warning::pwned"})
    assert job.statuses[CHECK] == 2
    assert not [*job.workspace.parent.glob("**/pwned")]
    assert not [line for line in job.log.splitlines() if line.startswith("::warning")]


def count(job: Job, base: str | None = None) -> int:
    """Check without a build, run the step that reads the report, and return the step's status."""
    report = str(job.temp / "bertsize.json")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in job.event.items():
            patch.setenv(name, value)
        assert check(job.workspace, None, [report], base=base) == 0
    job.values = {"inputs.python": "python", "steps.check.outputs.report": report}
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


# a run in GitLab

BASH, SH = ("bash", "-e", "-o", "pipefail"), ("sh", "-e")
"""What runs a job, as the image has the one or the other."""


def run_gitlab(project: GitProject, path: str, shell: tuple[str, ...], **variables: str) -> CompletedProcess[str]:
    """Run the job's script, its lines in one shell; the variables are GitLab's, and the project's own."""
    own = {"GITLAB_CI": "true", "CI_PROJECT_DIR": str(project.folder), **GITLAB["variables"], **variables}
    return run_apart([*shell, "-c", "\n".join(GITLAB["script"])], project.folder, path, **own)


def test_a_merge_request_is_compared_with_its_base_passes_within_its_budget_and_fails_over_it(
    changed: GitProject, path: str, tiny: dict[str, Any]
) -> None:
    base = changed.git("rev-parse", "main")
    done = run_gitlab(changed, path, SH, CI_MERGE_REQUEST_DIFF_BASE_SHA=base)
    assert done.returncode == 0, done.stdout
    assert "num_hidden_layers 3 → 4: +16,632" in done.stdout
    counted, line = done.stdout.splitlines()[-2:]
    assert counted == "1 configured, 1 checked, 0 failed; bertsize.json written; bertsize.html written"
    assert line == "fits: 59,549 → 76,181, +16,632 (+27.9%), num_hidden_layers 3 → 4; within its 90K"
    assert sorted(changed.git("ls-files", "--others").split()) == sorted(GITLAB["artifacts"]["paths"])

    (changed.folder / "all services").mkdir()
    changed.git("mv", "config.json", "pyproject.toml", "all services")
    changed.write("all services/config.json", {**tiny, "num_hidden_layers": 5})
    done = run_gitlab(changed, path, BASH, CI_MERGE_REQUEST_DIFF_BASE_SHA=base, BERTSIZE_PROJECT="all services")
    assert done.returncode == 1
    told = "fits: 59,549 → 92,813, +33,264 (+55.9%), num_hidden_layers 3 → 5; total 92,813, limit 90,000 (+2,813)"
    assert done.stdout.endswith(f"\n{told}\n")
    assert "92,813" in (changed.folder / "bertsize.html").read_text("utf-8")


@pytest.mark.parametrize(("shell", "before"), [(SH, ""), (BASH, "0" * 40), (SH, "main")])
def test_a_push_is_compared_with_the_push_before_it_and_a_schedule_with_itself(
    changed: GitProject, path: str, shell: tuple[str, ...], before: str
) -> None:
    changed.declare(f'{FITS}budget.growth = "1%"\n')
    changed.commit()
    commit = changed.git("rev-parse", before) if before == "main" else before
    done = run_gitlab(changed, path, shell, CI_COMMIT_BEFORE_SHA=commit)
    assert done.returncode == (1 if before == "main" else 0), done.stdout
    assert ("growth 16,632, limit 595" in " ".join(done.stdout.split())) is (before == "main")  # 1% of 59,549


@pytest.mark.parametrize("shell", [BASH, SH], ids=["bash", "sh"])
def test_what_is_no_success_fails_and_says_what_to_write(
    changed: GitProject, path: str, tmp_path: Path, shell: tuple[str, ...]
) -> None:
    request = {"CI_MERGE_REQUEST_DIFF_BASE_SHA": changed.git("rev-parse", "main")}
    bare = run_gitlab(changed, path_to(python_that(tmp_path / "bare", "-S").parent), shell)
    assert bare.returncode == 2
    first, second = bare.stdout.splitlines()
    assert first.startswith("ERROR: pytest-bertsize is not installed in the Python of this job")
    assert second == 'Write under "bertsize:" in .gitlab-ci.yml: before_script: ["pip install pytest-bertsize[build]"]'

    git(tmp_path, "clone", "--quiet", "--depth", "1", f"file://{changed.folder}", "shallow")
    shallow = run_gitlab(GitProject(tmp_path / "shallow"), path, shell, **request)
    assert shallow.returncode == 2
    assert shallow.stdout.startswith("ERROR: --base=")
    assert "GitLab: GIT_DEPTH: 0" in shallow.stdout

    hostile = dict.fromkeys(("BERTSIZE_PROJECT", *request), HOSTILE)
    assert run_gitlab(changed, path, shell, **hostile).returncode == 2
    assert not [*changed.folder.glob("**/pwned")]

    changed.write("pyproject.toml", "[tool.pytest.ini_options]\n")
    put_an_impostor_in(changed.folder)
    without = run_gitlab(changed, path, shell, **request)
    assert without.returncode == 2
    assert without.stdout.startswith(f"ERROR: {changed.folder}/pyproject.toml")
