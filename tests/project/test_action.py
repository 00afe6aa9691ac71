"""action.yml: what a job of GitHub Actions gets for one line."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.composite_action import ACTION, FILE, STEPS, Job, Use
from tests.support.git_projects import FITS, GitProject, committed, git
from tests.support.paths import liar, path_to, put_an_impostor_in, python_that

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
def test_a_package_of_the_project_does_not_stand_in_for_the_gate(job: Job, tiny: dict[str, Any]) -> None:
    lay(job, tiny).declare("")
    put_an_impostor_in(job.workspace)
    assert job.use().statuses == {CHECK: 2, COUNTS: 1}


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
def test_a_python_that_is_not_there_fails_and_says_what_to_write(job: Job, tiny: dict[str, Any]) -> None:
    lay(job, tiny)
    use = job.use(python=".venv/bin/python")
    assert use.statuses == {CHECK: 2}
    assert ".venv/bin/python: No such file or directory" in use.log
    assert len(errors_in(use)) == 1


@pytest.mark.process
def test_a_check_that_says_all_is_well_and_leaves_no_report_fails(
    job: Job, tmp_path: Path, tiny: dict[str, Any]
) -> None:
    lay(job, tiny)
    use = job.use(python=str(liar(tmp_path / "lies")))
    assert use.statuses == {CHECK: 0, COUNTS: 1}
    assert use.log == "There is no report to read.\n"


@pytest.mark.process
def test_the_report_of_an_earlier_use_is_not_taken_for_this_one(job: Job) -> None:
    job.workspace.mkdir()
    first = job.use()
    (Path(first.outputs["report"])).write_text("{}", encoding="utf-8")
    for step in job.temp.parent.glob("step*"):
        step.rename(step.with_name(f"earlier-{step.name}"))
    second = job.use()
    assert first.outputs["report"] != second.outputs["report"]
    assert not Path(second.outputs["report"]).exists()


@pytest.mark.process
@pytest.mark.parametrize("key", ["project", "base", "python", "artifact"])
def test_what_an_input_says_is_not_run(job: Job, tiny: dict[str, Any], key: str) -> None:
    lay(job, tiny)
    hostile = ".$(touch pwned)`touch pwned`\"; touch pwned; \"'; touch pwned; '\n::warning::pwned"
    use = job.use(**{"base": "unknown", key: hostile})
    assert use.statuses[CHECK] == 2
    assert not [*job.workspace.glob("**/pwned"), *job.temp.glob("**/pwned")]
    assert not [line for line in use.log.splitlines() if line.startswith("::warning")]


@pytest.mark.process
def test_an_unknown_base_fails(job: Job, tiny: dict[str, Any]) -> None:
    lay(job, tiny)
    use = job.use(base="--output=pwned")
    assert use.statuses[CHECK] == 2
    assert use.log.startswith('ERROR: --base=--output=pwned: git knows no revision "--output=pwned"')


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
def test_a_model_of_which_the_base_cannot_be_read_fails_and_says_what_to_write(job: Job, changed: GitProject) -> None:
    mistaken = FITS.replace("fits", "other").replace("budget", "budjet")
    changed.git("switch", "--quiet", "main")
    changed.declare(FITS + mistaken)
    changed.commit()
    changed.git("switch", "--quiet", "--create", "mended")
    changed.declare(FITS + mistaken.replace("budjet", "budget"))
    changed.commit()
    git(job.workspace.parent, "clone", "--quiet", f"file://{changed.folder}", job.workspace.name)
    job.event = {**PULL_REQUEST, "GITHUB_SHA": git(job.workspace, "rev-parse", "HEAD")}
    use = counts(job)
    assert use.statuses == {COUNTS: 1}
    (error,) = errors_in(use)
    assert "::a model was not compared with the base of the pull request, and a loosened budget would pass" in error


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


@pytest.mark.parametrize("step", SCRIPTS, ids=lambda step: str(step["name"]))
def test_a_script_has_no_expression_in_it_and_stops_at_what_fails(step: dict[str, Any]) -> None:
    assert "${{" not in step["run"]
    assert step["run"].startswith("set -euo pipefail\n")
    assert step["shell"] == "bash"
    assert "continue-on-error" not in step


@pytest.mark.parametrize("step", STEPS[1:], ids=lambda step: str(step["name"]))
def test_what_follows_the_check_is_done_whatever_it_found(step: dict[str, Any]) -> None:
    assert step["if"].split(" && ")[0] == "always()"


def test_what_it_uses_is_pinned_to_a_commit_that_a_comment_names() -> None:
    used = re.findall(r"uses: (.*)", TEXT)
    assert used
    for each in used:
        if "setup-python" not in each:  # in the message that says what to write
            assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each)


def test_every_input_has_a_default_that_needs_nothing_else() -> None:
    assert {name: said["default"] for name, said in ACTION["inputs"].items()} == {
        "project": ".",
        "base": "",
        "python": "python",
        "artifact": "bertsize",
    }
