"""action.yml: what a job of GitHub Actions gets for one line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.composite_action import FILE, STEPS, Job, Use
from tests.support.git_projects import FITS, GitProject, committed, git
from tests.support.paths import liar, path_to, python_that

TEXT = FILE.read_text("utf-8")
CHECK, COUNTS, UPLOAD = (step["name"] for step in STEPS)
SCRIPTS = [step for step in STEPS if "run" in step]
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
    line = "fits: 59,549 → 76,181, +16,632 (+27.9 %), num_hidden_layers 3 → 4; within its 90K"  # a layer of conftest's model
    assert f"<!-- pytest-bertsize report -->\n\n## ✓ {line}\n" in use.summary
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
    assert "## ✗ fits: total 92,813, limit 90,000 (+2,813)" in use.summary
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
    use = job.use(python=str(liar(tmp_path / "lies")))
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


# the file


def test_it_has_the_form_of_an_action() -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-actions", str(FILE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
